// Loops that do one thing as fast as the processor can, for measuring it. Uses headers only.
#pragma once

#include <cstdint>

namespace lathe::cpu {

struct Probe {
  /// Multiplies and adds in registers; returns the number of floating-point operations. `out`: 16 floats.
  double (*arithmetic)(int64_t rounds, float* out);
  /// Reads `n` floats, a multiple of 128.
  float (*read)(const float* from, int64_t n);
};

}  // namespace lathe::cpu
