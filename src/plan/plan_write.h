#pragma once

#include <span>
#include <string>

#include "plan/plan.h"

namespace lathe {

/// The position of a weight's array in the file.
struct StoredArray {
  bool stored = false;
  uint64_t offset = 0, checksum = 0;
};

/// The plan without its arrays as a FlatBuffer; `arrays`: one for each weight.
std::string write_structure(const Plan& plan, std::span<const StoredArray> arrays);

}  // namespace lathe
