// From numbers of any type of C++ to those of any other, and to truths and back. Compiled for each
// instruction set.
#pragma once

#include "cpu/numbers.h"

namespace lathe::cpu {

/// What does not fit: integers wrap around; of a float it is what tensor/to_integer.h says.
struct CastKernels {
  SingleRow rows[number_columns][number_columns] = {};  // from, to; null: not between these
  /// Double to float32 that is rounded once more, as if that were the first time.
  SingleRow to_odd = nullptr;
};
const CastKernels& cast_kernels(Isa isa);

inline bool casts(DataType t) {
  return t == DataType::float32 || t == DataType::float64 || t == DataType::boolean ||
         (is_integer(t) && bits_of(t) >= 8);
}
inline SingleRow cast_row(Isa isa, DataType from, DataType to) {
  return cast_kernels(isa).rows[number_column(from)][number_column(to)];
}

}  // namespace lathe::cpu
