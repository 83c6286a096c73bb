// Where the kernels of Conv and ConvTranspose have their weights from, and what they ask of them.
#pragma once

#include "cpu/ask.h"
#include "cpu/half.h"

namespace lathe {

/// Packed constants of float32 or of 16 bits, or what a run brings.
enum class WeightsFrom : uint8_t { packed, half, given };

/// A refusal unless input 1 are weights of that kind, for one to three spatial axes, and all else is float32.
template <WeightsFrom kind>
std::optional<Verdict> refuse_weights(const KernelRequest& r) {
  constexpr bool constant = kind != WeightsFrom::given;
  if (auto refusal = cpu::refuse_unless_float32_with_weights(r, 1)) return *refusal;
  const KernelRequest::Operand& w = r.inputs[1];
  if (constant && !w.constant) return Verdict::no("the weights are not constant");
  if (!constant && w.constant) return Verdict::no("the weights are constant, better packed once");
  if (cpu::is_half(w.type) != (kind == WeightsFrom::half))
    return Verdict::no(kind == WeightsFrom::half ? "weights not of 16 bits" : "weights not of float32");
  if (!w.shape) return Verdict::no("weights of unknown rank");
  if (w.shape->size() < 3) return Verdict::no("no spatial axis");
  if (w.shape->size() > 5) return Verdict::no("more than three spatial axes");
  return std::nullopt;
}

/// Packs constant weights by pack_floats(from, to), widened before and narrowed again where they are halves.
template <Isa isa, bool half, class F>
void pack_weights(const Tensor& w, Tensor& to, Workers& workers, F&& pack_floats) {
  if constexpr (half)
    cpu::pack_narrow(isa, w, to, workers, pack_floats);
  else
    pack_floats(cpu::floats(w), cpu::floats(to));
}

/// Floats in whole cache lines: scratch memory follows.
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
