// What a plan begins with: files are told apart by it, whatever their names end in.
#pragma once

#include <string_view>

namespace lathe {

constexpr std::string_view plan_magic = "LATHEPLN";

}  // namespace lathe
