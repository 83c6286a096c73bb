// Selects elements of one of two arrays by a third: the operator Where along a row.
#pragma once

#include "cpu/simd/isa.h"

namespace lathe::cpu {

/// to[i] = condition[i] ? x[i] : y[i] for n elements of one size. An operand that does not move is one
/// element for all i. `to` overlaps none of them.
using ChooseRow = void (*)(const uint8_t* condition, const void* x, const void* y, void* to, int64_t n);

struct ChooseKernels {
  ChooseRow rows[5][2][2];  // by the logarithm of an element's bytes, whether x moves, and whether y does
};
const ChooseKernels& choose_kernels(Isa isa);

}  // namespace lathe::cpu
