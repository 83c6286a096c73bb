// Elementwise functions of all number types of C++ (integers, float32 and double) and of bools. Their loops
// are vectorized by the compiler, for each instruction set. The float32 functions of programs are those of
// elementwise.h.
#pragma once

#include <string>

#include "kernel/kernel.h"

namespace lathe::cpu {

using lathe::TypedBinaryOp, lathe::SingleOp;

/// Columns of tables: the types up to uint64, by their numbers.
inline constexpr size_t number_columns = 14;
inline size_t typed_column(DataType t) {
  const auto column = static_cast<size_t>(t);
  return column < number_columns ? column : 0;
}

/// The result may be the memory of an operand.
using TypedBinaryRow = void (*)(const void* x, const void* y, void* to, int64_t n);
using SingleRow = void (*)(const void* x, void* to, int64_t n);
using BoundedRow = void (*)(const void* x, void* to, int64_t n, const void* low, const void* high);

/// Null if the type does not have an operation.
struct TypedKernels {
  TypedBinaryRow pair[static_cast<size_t>(TypedBinaryOp::count)][number_columns] = {};
  SingleRow single[static_cast<size_t>(SingleOp::count)][number_columns] = {};
  BoundedRow clip[number_columns] = {};
};
const TypedKernels& typed_kernels(Isa isa);

/// Returns whether the function exists for elements of the type.
bool computes(TypedBinaryOp op, DataType type);
bool computes(SingleOp op, DataType type);
template <class Function>
Support supports_computes(Function op, DataType type) {
  return computes(op, type) ? Support::yes() : Support::no("not for " + std::string(name_of(type)));
}

/// Throws run_bad_value if one of n integers is 0, whether or not anything is divided by it.
void refuse_zeros(DataType type, const void* divisors, int64_t n);

/// to[i] = op(x[i], y[i]) with broadcasting, for elements of the same type.
void apply_typed_binary(Isa isa, TypedBinaryOp op, const Tensor& x, const Tensor& y, Tensor& to,
                        KernelContext& c);
void apply_single(Isa isa, SingleOp op, const Tensor& x, Tensor& to, KernelContext& c);
/// Bounds are elements of the type; NaN stays NaN.
void apply_clip(Isa isa, const Tensor& x, Tensor& to, const void* low, const void* high, KernelContext& c);

}  // namespace lathe::cpu
