// Elementwise functions of numbers of every type of C++, integers, float32 and double, and of truths. Loops
// without vectors of their own, compiled for each instruction set. The float32 functions that programs are
// made of are those of elementwise.h.
#pragma once

#include <string>

#include "kernel/kernel.h"

namespace lathe::cpu {

using lathe::PairOp, lathe::SingleOp;

/// Columns of tables: the types up to uint64, by their numbers.
inline constexpr size_t number_columns = 14;
inline size_t number_column(DataType t) {
  const auto column = static_cast<size_t>(t);
  return column < number_columns ? column : 0;
}

/// The result may be the memory of an operand.
using PairRow = void (*)(const void* x, const void* y, void* to, int64_t n);
using SingleRow = void (*)(const void* x, void* to, int64_t n);
using BoundedRow = void (*)(const void* x, void* to, int64_t n, const void* low, const void* high);

/// Null where an operation is none of the type's.
struct NumberKernels {
  PairRow pair[static_cast<size_t>(PairOp::count)][number_columns] = {};
  SingleRow single[static_cast<size_t>(SingleOp::count)][number_columns] = {};
  BoundedRow clip[number_columns] = {};
};
const NumberKernels& number_kernels(Isa isa);

/// Is there such a function for elements of the type?
bool computes(PairOp op, DataType type);
bool computes(SingleOp op, DataType type);
template <class Function>
Verdict ask_computes(Function op, DataType type) {
  return computes(op, type) ? Verdict::yes() : Verdict::no("not for " + std::string(name_of(type)));
}

/// Throws run_bad_value where one of n integers is 0, whether or not anything is divided by them.
void refuse_zeros(DataType type, const void* divisors, int64_t n);

/// to[i] = op(x[i], y[i]) with broadcasting, for elements of the same type.
void apply_pairs(Isa isa, PairOp op, const Tensor& x, const Tensor& y, Tensor& to, KernelContext& c);
void apply_single(Isa isa, SingleOp op, const Tensor& x, Tensor& to, KernelContext& c);
/// Bounds are elements of the type; NaN stays as it is.
void apply_clip(Isa isa, const Tensor& x, Tensor& to, const void* low, const void* high, KernelContext& c);

}  // namespace lathe::cpu
