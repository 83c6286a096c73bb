// Shapes of convolutions in channel blocks.
#pragma once

#include <string>

#include "cpu/nchw16c/blocked.h"

namespace lathe::test {

inline std::string text(const cpu::BlockedShape& s) {
  std::string t = std::to_string(s.batch) + " images, " + std::to_string(s.channels) + " -> " +
                  std::to_string(s.filters) + " channels" + (s.nchw ? ", NCHW" : "");
  for (int a = 0; a < 2; ++a)
    t += "; " + std::to_string(s.in[a]) + " -> " + std::to_string(s.out[a]) + " kernel " +
         std::to_string(s.kernel[a]) + " stride " + std::to_string(s.stride[a]) + " dilation " +
         std::to_string(s.dilation[a]) + " pad " + std::to_string(s.pad[a]);
  return t;
}

/// Sets the output sizes for so many zeros behind each axis.
inline cpu::BlockedShape sized(cpu::BlockedShape s, int64_t below, int64_t right) {
  const int64_t behind[2] = {below, right};
  for (int a : {0, 1}) s.out[a] = (s.in[a] + s.pad[a] + behind[a] - s.reach(a)) / s.stride[a] + 1;
  return s;
}

}  // namespace lathe::test
