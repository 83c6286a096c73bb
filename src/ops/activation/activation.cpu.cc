// Activations of float32 elements, a vector at a time; some of them of other numbers.
#include "ops/activation/activation.h"

#include <limits>
#include <optional>
#include <utility>

#include "cpu/elementwise.h"
#include "cpu/support.h"
#include "tensor/element.h"

namespace lathe {
namespace {

using F = cpu::UnaryOp;

/// The function of an operator, with its constants.
struct Applied {
  F function;
  float a = 0, b = 0;
};
Applied applied(const Relu&) { return {F::relu}; }
Applied applied(const HardSwish&) { return {F::hard_swish}; }
Applied applied(const Mish&) { return {F::mish}; }
Applied applied(const Softplus&) { return {F::softplus}; }
Applied applied(const Softsign&) { return {F::softsign}; }
Applied applied(const Sigmoid&) { return {F::sigmoid}; }
Applied applied(const LeakyRelu& op) { return {F::leaky_relu, op.alpha}; }
Applied applied(const Elu& op) { return {F::elu, op.alpha}; }
Applied applied(const Celu& op) { return {F::celu, op.alpha}; }
Applied applied(const ThresholdedRelu& op) { return {F::thresholded_relu, op.alpha}; }
Applied applied(const Swish& op) { return {F::swish, op.alpha}; }
Applied applied(const Selu& op) { return {F::selu, op.alpha, op.gamma}; }
Applied applied(const Shrink& op) { return {F::shrink, op.bias, op.lambd}; }
Applied applied(const HardSigmoid& op) { return {F::hard_sigmoid, op.alpha, op.beta}; }
Applied applied(const Gelu& op) { return {op.by_tanh() ? F::gelu_tanh : F::gelu}; }

/// The same function of doubles, if there is one.
template <class Op>
constexpr cpu::SingleOp of_doubles = std::is_same_v<Op, Sigmoid>    ? cpu::SingleOp::sigmoid
                                     : std::is_same_v<Op, Softplus> ? cpu::SingleOp::softplus
                                                                    : cpu::SingleOp::count;

template <class Op>
Support supports(const Op& op, const KernelQuery& r) {
  if constexpr (of_doubles<Op> != cpu::SingleOp::count)
    if (r.inputs[0].type == DataType::float64)
      return cpu::supports_computes(of_doubles<Op>, DataType::float64);
  return cpu::supports_float32(op, r);
}

template <class Op, Isa isa>
void run(const Op& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  if constexpr (of_doubles<Op> != cpu::SingleOp::count)
    if (x.type() == DataType::float64) return cpu::apply_single(isa, of_doubles<Op>, x, c.out(0), c);
  const Applied f = applied(op);
  cpu::apply_unary(isa, f.function, cpu::floats(x), cpu::floats(c.out(0)), x.size(), f.a, f.b, c);
}

template <class Op>
std::optional<Pointwise> describe(const Op& op, const KernelQuery& r) {
  if constexpr (of_doubles<Op> != cpu::SingleOp::count)
    if (r.inputs[0].type == DataType::float64) return Pointwise::single(of_doubles<Op>, DataType::float64);
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  const Applied f = applied(op);
  return Pointwise::unary(f.function, f.a, f.b);
}

inline constexpr Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t, double>
    bounded_types;
template <class Op>
Support supports_bounded(const Op&, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  return type == DataType::float32 ? Support::yes() : cpu::supports_type(type, bounded_types);
}

/// The interval that Relu clamps to; infinity stays infinite.
template <class T>
constexpr std::pair<T, T> relu_bounds() {
  using Limits = std::numeric_limits<T>;
  return {0, Limits::has_infinity ? Limits::infinity() : Limits::max()};
}
/// The bounds that Clip uses if they are left out, as for float32.
template <class T>
constexpr std::pair<T, T> clip_bounds() {
  return {std::numeric_limits<T>::lowest(), std::numeric_limits<T>::max()};
}

std::optional<Pointwise> describe_relu(const Relu& op, const KernelQuery& r) {
  const DataType type = r.inputs[0].type;
  if (type == DataType::float32) return describe<Relu>(op, r);
  if (!supports_bounded(op, r).accepted) return std::nullopt;
  std::optional<Pointwise> p;
  for_type(type, bounded_types, [&]<class T> {
    const auto [low, high] = relu_bounds<T>();
    p = Pointwise::clip(type, &low, &high);
  });
  return p;
}

/// Returns whether the bounds are constants or left out.
bool has_constant_bounds(const KernelQuery& r) {
  for (size_t i : {1, 2})
    if (const Tensor* bound = cpu::constant_input(r, i);
        cpu::has_input(r, i) && (!bound || bound->size() != 1))
      return false;
  return true;
}
std::optional<Pointwise> describe_clip_of_others(const Clip& op, const KernelQuery& r) {
  if (!supports_bounded(op, r).accepted || !has_constant_bounds(r)) return std::nullopt;
  const DataType type = r.inputs[0].type;
  std::optional<Pointwise> p;
  for_type(type, bounded_types, [&]<class T> {
    const auto [low, high] = clip_bounds<T>();
    const auto bound = [&](size_t i, const T& fallback) {
      const Tensor* given = cpu::constant_input(r, i);
      return given ? given->data() : static_cast<const void*>(&fallback);
    };
    p = Pointwise::clip(type, bound(1, low), bound(2, high));
  });
  return p;
}
std::optional<Pointwise> describe_clip(const Clip& op, const KernelQuery& r) {
  constexpr float greatest = std::numeric_limits<float>::max();
  float bounds[] = {-greatest, greatest};
  if (r.inputs[0].type != DataType::float32) return describe_clip_of_others(op, r);
  if (!has_constant_bounds(r)) return std::nullopt;
  for (size_t i : {1, 2})
    if (const Tensor* bound = cpu::constant_input(r, i)) bounds[i - 1] = *cpu::floats(*bound);
  return Pointwise::unary(F::clip, bounds[0], bounds[1]);
}

/// Surely: a program would broadcast the input to the slope as well.
bool slope_broadcasts_to_input(const KernelQuery& r) {
  const auto &x = r.inputs[0].shape, &slope = r.inputs[1].shape;
  if (!x || !slope || slope->size() > x->size()) return false;
  const size_t ahead = x->size() - slope->size();
  for (size_t i = 0; i < slope->size(); ++i)
    if (!((*slope)[i] == Dim(1)) && !((*slope)[i] == (*x)[ahead + i])) return false;
  return true;
}

std::optional<Pointwise> describe_prelu(const PRelu&, const KernelQuery& r) {
  if (cpu::refuse_unless_float32(r) || !slope_broadcasts_to_input(r)) return std::nullopt;
  return Pointwise::binary(cpu::BinaryOp::parametric_relu);
}

template <Isa isa>
void relu_of_others(const Tensor& x, KernelContext& c) {
  for_type(x.type(), bounded_types, [&]<class T> {
    const auto [low, high] = relu_bounds<T>();
    cpu::apply_clip(isa, x, c.out(0), &low, &high, c);
  });
}
template <Isa isa>
void clip_others(const Tensor& x, KernelContext& c) {
  for_type(x.type(), bounded_types, [&]<class T> {
    const auto [low, high] = clip_bounds<T>();
    const auto bound = [&](size_t i, const T& fallback) {
      return cpu::has_input(c, i) ? c.in(i).data() : static_cast<const void*>(&fallback);
    };
    cpu::apply_clip(isa, x, c.out(0), bound(1, low), bound(2, high), c);
  });
}

template <Isa isa>
void relu(const Relu& op, KernelContext& c) {
  if (c.in(0).type() == DataType::float32) return run<Relu, isa>(op, c);
  relu_of_others<isa>(c.in(0), c);
}

template <Isa isa>
void clip(const Clip&, KernelContext& c) {
  if (c.in(0).type() != DataType::float32) return clip_others<isa>(c.in(0), c);
  constexpr float greatest = std::numeric_limits<float>::max();
  const float* low = cpu::floats(c, 1);
  const float* high = cpu::floats(c, 2);
  const Tensor& x = c.in(0);
  cpu::apply_unary(isa, F::clip, cpu::floats(x), cpu::floats(c.out(0)), x.size(), low ? *low : -greatest,
                   high ? *high : greatest, c);
}

template <Isa isa>
void parametric_relu(const PRelu&, KernelContext& c) {
  cpu::apply_binary(isa, cpu::BinaryOp::parametric_relu, c.in(0), c.in(1), c.out(0), c);
}

std::optional<Pointwise> describe_swiglu(const SwiGLU& op, const KernelQuery& r) {
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  return Pointwise{
      2,
      {{.op = static_cast<uint8_t>(F::swish), .a = op.alpha}, Pointwise::of(cpu::BinaryOp::multiply, 2, 1)}};
}
template <Isa isa>
void swiglu(const SwiGLU& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& to = c.out(0);
  cpu::apply_unary(isa, F::swish, cpu::floats(x), cpu::floats(to), x.size(), op.alpha, 0, c);
  cpu::apply_binary(isa, cpu::BinaryOp::multiply, to, c.in(1), to, c);
}

}  // namespace

void cpu_activation(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run<Op, isa>, .supports = supports<Op>});
      k.pointwise<Op>(op, describe<Op>);
    };
    k.add<Relu>({.op = "Relu", .name = cpu::kernel_name("relu", isa), .isa = isa, .overwrites = true},
                {.run = relu<isa>, .supports = supports_bounded<Relu>});
    add.template operator()<HardSwish>("HardSwish", "hard_swish");
    add.template operator()<Mish>("Mish", "mish");
    add.template operator()<Softplus>("Softplus", "softplus");
    add.template operator()<Softsign>("Softsign", "softsign");
    add.template operator()<Sigmoid>("Sigmoid", "sigmoid");
    add.template operator()<LeakyRelu>("LeakyRelu", "leaky_relu");
    add.template operator()<Elu>("Elu", "elu");
    add.template operator()<Celu>("Celu", "celu");
    add.template operator()<ThresholdedRelu>("ThresholdedRelu", "thresholded_relu");
    add.template operator()<Swish>("Swish", "swish");
    add.template operator()<Selu>("Selu", "selu");
    add.template operator()<HardSigmoid>("HardSigmoid", "hard_sigmoid");
    add.template operator()<Shrink>("Shrink", "shrink");
    add.template operator()<Gelu>("Gelu", "gelu");
    k.add<Clip>({.op = "Clip", .name = cpu::kernel_name("clip", isa), .isa = isa, .overwrites = true},
                {.run = clip<isa>, .supports = supports_bounded<Clip>});
    k.add<PRelu>({.op = "PRelu", .name = cpu::kernel_name("prelu", isa), .isa = isa},
                 {.run = parametric_relu<isa>, .supports = cpu::supports_float32<PRelu>});
    k.add<SwiGLU>({.op = "SwiGLU", .name = cpu::kernel_name("swiglu", isa), .isa = isa},
                  {.run = swiglu<isa>, .supports = cpu::supports_float32<SwiGLU>});
  });
  k.pointwise<Relu>("Relu", describe_relu);
  k.pointwise<Clip>("Clip", describe_clip);
  k.pointwise<PRelu>("PRelu", describe_prelu);
  k.pointwise<SwiGLU>("SwiGLU", describe_swiglu);
}

}  // namespace lathe
