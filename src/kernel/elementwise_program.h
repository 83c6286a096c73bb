// Pointwise programs in the words of plug-ins.
#pragma once

#include "kernel/pointwise.h"
#include "lathe/elementwise_program.h"

namespace lathe {

/// `program` is well-formed.
ElementwiseProgram elementwise_program(const Pointwise& program);

/// Returns whether programs have functions for this type besides conversions to float32.
inline bool is_program_type(DataType t) {
  return t == DataType::float32 || t == DataType::float64 || t == DataType::boolean ||
         (is_integer(t) && bits_of(t) >= 8);
}

}  // namespace lathe
