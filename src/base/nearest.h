// Known names that are similar to an unknown one, to suggest what was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace lathe {

/// Names of `known` nearest to `wanted` by edit distance, best first, at most `count`; none that are far off.
std::vector<std::string> nearest_names(std::string_view wanted, const std::vector<std::string>& known,
                                       size_t count = 3);

}  // namespace lathe
