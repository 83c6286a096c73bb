// Conversions between all number types of C++, and to and from bools. Compiled for each instruction set.
#pragma once

#include "cpu/elementwise/typed_elementwise.h"
#include "kernel/elementwise_program.h"

namespace lathe::cpu {

/// Integers that do not fit wrap around; floats that do not fit are converted as in tensor/to_integer.h.
struct CastKernels {
  SingleRow rows[number_columns][number_columns] = {};  // from, to; null: there is none
  /// Rounds double to float32 such that rounding the result again, to fewer bits, rounds correctly.
  SingleRow to_odd = nullptr;
};
const CastKernels& cast_kernels(Isa isa);

inline bool casts(DataType t) { return is_program_type(t); }
inline SingleRow cast_row(Isa isa, DataType from, DataType to) {
  return cast_kernels(isa).rows[typed_column(from)][typed_column(to)];
}

}  // namespace lathe::cpu
