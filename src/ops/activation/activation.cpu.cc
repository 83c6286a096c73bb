// Activations of float32 elements, a vector at a time.
#include "ops/activation/activation.h"

#include <limits>

#include "cpu/ask.h"
#include "cpu/elementwise.h"

namespace lathe {
namespace {

using F = cpu::UnaryOp;

/// The function an operator stands for, with its constants.
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
Applied applied(const HardSigmoid& op) { return {F::hard_sigmoid, op.alpha, op.beta}; }
Applied applied(const Gelu& op) { return {op.by_tanh() ? F::gelu_tanh : F::gelu}; }

template <class Op, Isa isa>
void run(const Op& op, KernelContext& c) {
  const Tensor& x = c.in(0);
  const Applied f = applied(op);
  cpu::apply_unary(isa, f.function, cpu::floats(x), cpu::floats(c.out(0)), x.size(), f.a, f.b, c);
}

template <class Op>
std::optional<Pointwise> describe(const Op& op, const KernelRequest& r) {
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  const Applied f = applied(op);
  return Pointwise::unary(f.function, f.a, f.b);
}

/// With bounds that are known beforehand.
std::optional<Pointwise> describe_clip(const Clip&, const KernelRequest& r) {
  constexpr float greatest = std::numeric_limits<float>::max();
  float bounds[] = {-greatest, greatest};
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  for (size_t i : {1, 2}) {
    if (!cpu::has_input(r, i)) continue;
    const Tensor* bound = r.inputs[i].constant;
    if (!bound || bound->size() != 1) return std::nullopt;
    bounds[i - 1] = *cpu::floats(*bound);
  }
  return Pointwise::unary(F::clip, bounds[0], bounds[1]);
}

std::optional<Pointwise> describe_prelu(const PRelu&, const KernelRequest& r) {
  if (cpu::refuse_unless_float32(r)) return std::nullopt;
  return Pointwise::binary(cpu::BinaryOp::parametric_relu);
}

template <Isa isa>
void clip(const Clip&, KernelContext& c) {
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

}  // namespace

void cpu_activation(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    auto add = [&]<class Op>(const char* op, const char* name) {
      k.add<Op>({.op = op, .name = cpu::kernel_name(name, isa), .isa = isa, .overwrites = true},
                {.run = run<Op, isa>, .ask = cpu::ask_float32<Op>});
      k.pointwise<Op>(op, describe<Op>);
    };
    add.template operator()<Relu>("Relu", "relu");
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
    add.template operator()<Gelu>("Gelu", "gelu");
    k.add<Clip>({.op = "Clip", .name = cpu::kernel_name("clip", isa), .isa = isa, .overwrites = true},
                {.run = clip<isa>, .ask = cpu::ask_float32<Clip>});
    k.add<PRelu>({.op = "PRelu", .name = cpu::kernel_name("prelu", isa), .isa = isa},
                 {.run = parametric_relu<isa>, .ask = cpu::ask_float32<PRelu>});
  });
  k.pointwise<Clip>("Clip", describe_clip);
  k.pointwise<PRelu>("PRelu", describe_prelu);
}

}  // namespace lathe
