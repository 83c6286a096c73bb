// Groups of a convolution in the layout nChw16c.
#pragma once

#include <cstdint>

namespace lathe {

/// Neighboring groups are taken together until their channels and their filters fill whole blocks, with
/// zeros for the weights that none of them has. How many sets of weights that makes; 1 of a single group; 0
/// where groups never fill blocks, or more than eight would be one set.
inline int64_t weight_sets(int64_t channels, int64_t filters, int64_t group, int64_t block) {
  constexpr int64_t max_together = 8;
  if (group == 1) return 1;
  if (group < 1 || channels % group != 0 || filters % group != 0) return 0;
  for (int64_t together = 1; together <= max_together && group % together == 0; together *= 2)
    if (channels / group * together % block == 0 && filters / group * together % block == 0)
      return group / together;
  return 0;
}

}  // namespace lathe
