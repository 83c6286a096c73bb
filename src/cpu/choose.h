// Elements of one array or of another, as a third says: what Where does along a row.
#pragma once

#include "cpu/isa.h"

namespace lathe::cpu {

/// to[i] = condition[i] ? x[i] : y[i] for n elements of one size; an operand that does not move is one
/// element that is taken again and again. `to` overlaps none of them.
using ChooseRow = void (*)(const uint8_t* condition, const void* x, const void* y, void* to, int64_t n);

struct ChooseKernels {
  ChooseRow rows[5][2][2];  // by the logarithm of the bytes of an element; does x move? does y?
};
const ChooseKernels& choose_kernels(Isa isa);

}  // namespace lathe::cpu
