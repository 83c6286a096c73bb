// The sources of the weights of Conv, ConvTranspose and DeformConv, and what the kernels require of them.
#pragma once

#include "cpu/simd/f16.h"
#include "cpu/support.h"

namespace lathe {

/// Packed constants of float32 or of 16 bits, or weights that only a run knows.
enum class WeightsFrom : uint8_t { packed, f16, given };

/// A refusal unless input 1 are weights of that kind, for one to three spatial axes, and all else is float32.
template <WeightsFrom kind>
std::optional<Support> refuse_weights(const KernelQuery& r) {
  constexpr bool constant = kind != WeightsFrom::given;
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  const KernelQuery::Operand& w = r.inputs[1];
  if (constant && !w.constant) return Support::no("the weights are not constant");
  if (!constant && w.constant) return Support::no("the weights are constant, better packed once");
  if (cpu::is_f16(w.type) != (kind == WeightsFrom::f16))
    return Support::no(kind == WeightsFrom::f16 ? "weights not of 16 bits" : "weights not of float32");
  if (!w.shape) return Support::no("weights of unknown rank");
  if (w.shape->size() < 3) return Support::no("no spatial axis");
  if (w.shape->size() > 5) return Support::no("more than three spatial axes");
  return std::nullopt;
}

/// Packs constant weights by pack_floats(from, to); those of 16 bits are widened first and narrowed again.
template <Isa isa, bool f16, class F>
void pack_weights(const Tensor& w, Tensor& to, Workers& workers, F&& pack_floats) {
  if constexpr (f16)
    cpu::pack_f16(isa, w, to, workers, pack_floats);
  else
    pack_floats(cpu::floats(w), cpu::floats(to));
}

/// Rounds a number of floats up to whole cache lines, because scratch memory follows.
inline int64_t whole_lines_of(int64_t floats) {
  constexpr int64_t line = 16;
  return (floats + line - 1) / line * line;
}

/// The shape of Y, for shapes of X and W.
template <class Op>
Shape output_shape(const Op& op, std::span<const Shape> inputs) {
  Fact<int64_t> in[2], out;
  for (size_t i = 0; i < 2; ++i) {
    in[i].present = in[i].ranked = true;
    in[i].shape.assign(inputs[i].begin(), inputs[i].end());
  }
  ShapeContext<int64_t> c(in, {&out, 1});
  op.shape(c);
  return Shape(out.shape.begin(), out.shape.end());
}

}  // namespace lathe
