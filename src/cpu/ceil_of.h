#pragma once

#include <cstdint>

namespace lathe::cpu {

/// a / b rounded up, for sizes: b > 0. Kernels use this in loops, where the checks of ceil_div() would take
/// time.
constexpr int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace lathe::cpu
