#pragma once

#include <span>
#include <string>

#include "plan/plan.h"

namespace lathe {

/// The plan without its arrays as a FlatBuffer; `offsets`: where in the file each weight lies.
std::string write_structure(const Plan& plan, std::span<const uint64_t> offsets);

}  // namespace lathe
