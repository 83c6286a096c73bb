#include "cpu/elementwise/elementwise.h"

#include <algorithm>
#include <atomic>

#include "base/cpu.h"
#include "cpu/elementwise/pointwise.h"
#include "cpu/simd/isa.h"
#include "cpu/support.h"

#define LATHE_ISA_BODY "cpu/elementwise/elementwise_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

namespace {
LATHE_SELECT_ISA(ElementwiseKernels, usual_kernels)

enum class Preferred : uint8_t { nothing, yes, no };
std::atomic<Preferred> division{Preferred::nothing};
[[maybe_unused]] bool divides() {  // used for AVX-512 only
  const Preferred preferred = division.load(std::memory_order_relaxed);
  return preferred == Preferred::nothing ? cpu_features().avx512_divides : preferred == Preferred::yes;
}
}  // namespace

const ElementwiseKernels& elementwise_kernels(Isa isa) {
  LATHE_AVX512(if (isa == Isa::avx512 && divides()) return avx512::dividing_table;)
  return usual_kernels(isa);
}

void use_division(bool yes) {
  division.store(yes ? Preferred::yes : Preferred::no, std::memory_order_relaxed);
}

void apply_unary(Isa isa, UnaryOp op, const float* x, float* y, int64_t n, float a, float b,
                 KernelContext& c) {
  const UnaryRow row = elementwise_kernels(isa).unary[static_cast<size_t>(op)];
  c.parallel(n, elements_a_piece, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i += elements_a_piece) {
      c.poll();
      row(x + i, y + i, std::min(elements_a_piece, end - i), a, b);
    }
  });
}

void apply_test(Isa isa, UnaryOp op, const float* x, bool* to, int64_t n, float a, float b,
                KernelContext& c) {
  const ElementwiseKernels& k = elementwise_kernels(isa);
  const UnaryRow row = k.unary[static_cast<size_t>(op)];
  constexpr int64_t block = PointwiseCode::block;
  c.parallel(n, elements_a_piece, [&](int64_t begin, int64_t end) {
    c.poll();
    alignas(64) float bools[block];
    for (int64_t i = begin; i < end; i += block) {
      const int64_t length = std::min(block, end - i);
      row(x + i, bools, length, a, b);
      k.store_bools(bools, reinterpret_cast<uint8_t*>(to + i), length);
    }
  });
}

Broadcast::Broadcast(const Shape& l, const Shape& r) {
  const size_t rank = std::max(l.size(), r.size());
  int64_t left_stride = 1, right_stride = 1;
  // From the last axis to the first: an axis is merged with the one behind it if both operands continue with
  // the same strides.
  for (size_t i = 1; i <= rank; ++i) {
    const int64_t x = i <= l.size() ? l[l.size() - i] : 1, y = i <= r.size() ? r[r.size() - i] : 1;
    const int64_t size = x == 1 ? y : x;
    if (size != 1) {
      const int64_t step_x = x == 1 ? 0 : left_stride, step_y = y == 1 ? 0 : right_stride;
      if (!sizes.empty() && step_x == left.back() * sizes.back() && step_y == right.back() * sizes.back() &&
          (step_x == 0) == (left.back() == 0) && (step_y == 0) == (right.back() == 0)) {
        sizes.back() *= size;
      } else {
        sizes.push_back(size);
        left.push_back(step_x);
        right.push_back(step_y);
      }
    }
    left_stride *= x;
    right_stride *= y;
  }
  if (sizes.empty()) {
    sizes.push_back(1);
    left.push_back(1);
    right.push_back(1);
  }
  for (Shape* s : {&sizes, &left, &right}) std::reverse(s->begin(), s->end());
  row = sizes.back();
  for (size_t i = 0; i + 1 < sizes.size(); ++i) rows *= sizes[i];
  if (left.back() == 0)
    form = RowForm::left_single;
  else if (right.back() == 0)
    form = RowForm::right_single;
}

void for_each_row(const Broadcast& b, KernelContext& c,
                  FunctionRef<void(int64_t, int64_t, int64_t, int64_t)> f) {
  const size_t outer = b.sizes.size() - 1;
  c.parallel(b.rows * b.row, elements_a_piece, [&](int64_t begin, int64_t end) {
    int64_t since_poll = elements_a_piece;
    for (int64_t i = begin; i < end;) {
      if (since_poll >= elements_a_piece) {
        c.poll();
        since_poll = 0;
      }
      const int64_t within = i % b.row;
      int64_t index = i / b.row, left = within * b.left.back(), right = within * b.right.back();
      for (size_t a = outer; a-- > 0;) {
        left += index % b.sizes[a] * b.left[a];
        right += index % b.sizes[a] * b.right[a];
        index /= b.sizes[a];
      }
      const int64_t n = std::min({b.row - within, end - i, elements_a_piece});
      f(left, right, i, n);
      i += n;
      since_poll += n;
    }
  });
}

namespace {

/// Programs of one function with this number of operands, made once.
const PointwiseCode& code_of(Isa isa, BinaryOp op, size_t operands) {
  constexpr size_t functions = static_cast<size_t>(BinaryOp::count), counts = Pointwise::max_operands - 1;
  static const auto codes = [] {
    std::vector<PointwiseCode> all;
    for (Isa i : {Isa::generic, Isa::avx2, Isa::avx512})
      for (size_t f = 0; f < functions; ++f)
        for (size_t n = 2; n < 2 + counts; ++n)
          all.emplace_back(i, Pointwise::folded(static_cast<BinaryOp>(f), n));
    return all;
  }();
  return codes[(static_cast<size_t>(isa) * functions + static_cast<size_t>(op)) * counts + operands - 2];
}

}  // namespace

void apply_binary(Isa isa, BinaryOp op, const Tensor& x, const Tensor& y, Tensor& to, KernelContext& c) {
  const Broadcast b(x.shape(), y.shape());
  if (b.rows > 1 && b.row <= OperandAxes::short_row && b.sizes.size() <= OperandAxes::max_axes) {
    const std::array<const Tensor*, 2> operands{&x, &y};
    PointwiseRun all(code_of(isa, op, 2), operands, to);
    return run_pointwise(all, to.size(), c);
  }
  const BinaryRow row = elementwise_kernels(isa).binary[static_cast<size_t>(op)][static_cast<size_t>(b.form)];
  for_each_row(b, c, [&](int64_t left, int64_t right, int64_t at, int64_t n) {
    row(floats(x) + left, floats(y) + right, floats(to) + at, n);
  });
}

void apply_folded(Isa isa, BinaryOp op, KernelContext& c) {
  std::array<const Tensor*, Pointwise::max_operands> operands;
  for (size_t i = 0; i < c.inputs(); ++i) operands[i] = &c.in(i);
  PointwiseRun all(code_of(isa, op, c.inputs()), {operands.data(), c.inputs()}, c.out(0));
  run_pointwise(all, c.out(0).size(), c);
}

}  // namespace lathe::cpu
