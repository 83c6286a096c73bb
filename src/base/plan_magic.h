// The first bytes of a plan, which distinguish it from other files, whatever their names end in.
#pragma once

#include <string_view>

namespace lathe {

constexpr std::string_view plan_magic = "LATHEPLN";

}  // namespace lathe
