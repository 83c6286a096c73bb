// Elementwise mathematics for float32, and loops over broadcast operands.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

using lathe::BinaryOp, lathe::TernaryOp, lathe::UnaryOp;

/// The operands of a row of a binary operation: one of them may be a single element.
enum class RowForm : uint8_t { both, left_single, right_single, count };

using UnaryRow = void (*)(const float* x, float* y, int64_t n, float a, float b);
using BinaryRow = void (*)(const float* x, const float* y, float* to, int64_t n);
using TernaryRow = void (*)(const float* x, const float* y, const float* z, float* to, int64_t n);
/// As floats, bools are 0 and 1. As bytes, all values but 0 are true, and true is written as 1.
using LoadBools = void (*)(const uint8_t* from, float* to, int64_t n);
using StoreBools = void (*)(const float* from, uint8_t* to, int64_t n);
struct ElementwiseKernels {
  UnaryRow unary[static_cast<size_t>(UnaryOp::count)] = {};
  BinaryRow binary[static_cast<size_t>(BinaryOp::count)][static_cast<size_t>(RowForm::count)] = {};
  TernaryRow ternary[static_cast<size_t>(TernaryOp::count)][8] = {};  // bit i: operand i is a single element
  LoadBools load_bools = nullptr;
  StoreBools store_bools = nullptr;
};
const ElementwiseKernels& elementwise_kernels(Isa isa);
/// Selects whether AVX-512 divides instead of multiplying with an inverse; by default it does on processors
/// that divide fast. Results differ in their rounding.
void use_division(bool yes);

/// The bounds of Relu and Clip, which have the same bits as keeping within these bounds; null for other
/// functions.
inline std::optional<Bounds> bounds_of(UnaryOp op, float a, float b) {
  if (op == UnaryOp::relu) return Bounds{.least = 0};
  if (op == UnaryOp::clip) return Bounds{a, b};
  return std::nullopt;
}

/// y = op(x); x and y may be the same memory.
void apply_unary(Isa isa, UnaryOp op, const float* x, float* y, int64_t n, float a, float b,
                 KernelContext& c);
/// The same for a function whose results are bools.
void apply_test(Isa isa, UnaryOp op, const float* x, bool* to, int64_t n, float a, float b, KernelContext& c);

/// Two operands broadcast to one shape, with axes merged as far as both allow. The last axis has stride 0 or
/// 1.
struct Broadcast {
  Broadcast(const Shape& left, const Shape& right);
  Shape sizes, left, right;  // strides in elements
  int64_t rows = 1;          // product of all sizes but the last
  int64_t row = 1;           // the last
  RowForm form = RowForm::both;
};

/// Calls f(left offset, right offset, to offset, n) for pieces of rows, in parallel.
void for_each_row(const Broadcast& b, KernelContext& c,
                  FunctionRef<void(int64_t, int64_t, int64_t, int64_t)> f);

/// to[i] = f(x[i], y[i]) with broadcasting, in loops that compilers vectorize.
template <class T, class U, class R, class F>
void map_binary(const T* x, const Shape& x_shape, const U* y, const Shape& y_shape, R* to, KernelContext& c,
                F f) {
  const Broadcast b(x_shape, y_shape);
  for_each_row(b, c, [&](int64_t left, int64_t right, int64_t at, int64_t n) {
    const T* const l = x + left;
    const U* const r = y + right;
    R* const out = to + at;
    if (b.form == RowForm::both)
      for (int64_t i = 0; i < n; ++i) out[i] = f(l[i], r[i]);
    else if (b.form == RowForm::left_single)
      for (int64_t i = 0; i < n; ++i) out[i] = f(*l, r[i * b.right.back()]);
    else
      for (int64_t i = 0; i < n; ++i) out[i] = f(l[i], *r);
  });
}

/// to = op(x, y) for float32 tensors with broadcasting.
void apply_binary(Isa isa, BinaryOp op, const Tensor& x, const Tensor& y, Tensor& to, KernelContext& c);
/// to = op(… op(op(x0, x1), x2) …) for all inputs, from 2 to Pointwise::max_operands of them.
void apply_folded(Isa isa, BinaryOp op, KernelContext& c);

/// The elements of a piece of parallel work, and between polls.
inline constexpr int64_t elements_a_piece = 16384;

}  // namespace lathe::cpu
