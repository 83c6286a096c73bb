#pragma once

#include <memory>
#include <string_view>

#include "plan/plan.h"

namespace lathe {

/// Reads the output of write_structure. Weights become views of `arrays`, the file's bytes before the
/// structure, kept alive by `owner`. Throws plan_malformed.
Plan read_structure(std::string_view structure, std::string_view arrays,
                    const std::shared_ptr<const void>& owner);

}  // namespace lathe
