#pragma once

#include <cstdint>

namespace lathe::cpu {

/// a / b rounded up, of sizes: b > 0. In the midst of kernels, where ceil_div() asks too many questions.
constexpr int64_t ceil_of(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace lathe::cpu
