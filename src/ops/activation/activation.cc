#include "ops/activation/activation.h"

#include <limits>

#include "schema/downgrade.h"
#include "schema/upgrade.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// The first version spoke of other constants.
void selu_6_from_1(UpgradeContext& u) {
  pin_attribute(u, "alpha", 1.6732f);
  pin_attribute(u, "gamma", 1.0507f);
}

/// Bounds became inputs of the data's type; one that is left out was that of float32.
void clip_11_from_6(UpgradeContext& u) {
  const DataType known = u.input_type(0).elem;
  const DataType type = known == DataType::undefined ? DataType::float32 : known;
  constexpr float greatest = std::numeric_limits<float>::max();
  for (size_t i = 1; i <= 2; ++i) {
    const char* name = i == 1 ? "min" : "max";
    if (!u.node().attributes.has(name) && type == DataType::float32) continue;
    Tensor t(type, Shape{});
    store_double(t, 0, u.node().attributes.get<float>(name, i == 1 ? -greatest : greatest));
    set_input(u, i, u.add_constant(t, name));
    u.node().attributes.erase(name);
  }
}

/// A slope of rank 1 belonged to the channels, axis 1.
void prelu_7_from_6(UpgradeContext& u) {
  const auto x = u.input_type(0).shape, slope = u.input_type(1).shape;
  if (!slope || slope->size() != 1 || (*slope)[0] == Dim(1)) return;
  if (!x)
    throw Error(Code::node_cannot_convert, "import", "an input of known rank", "an unknown one",
                "convert the model to opset 7 or newer");
  std::vector<int64_t> axes;
  for (int64_t a = 1; a + 1 < static_cast<int64_t>(x->size()); ++a) axes.push_back(a);
  if (axes.empty()) return;
  const ValueId where = u.add_constant(int64_vector(axes), "axes");
  u.node().inputs[1] = u.insert("Unsqueeze", {u.node().inputs[1], where}, {})[0];
}

/// Without a bound the older version has those of float32.
bool clip_6_from_11(RewriteContext& c) {
  Node& n = c.node();
  for (size_t i = 1; i <= 2; ++i) {
    if (i >= n.inputs.size() || n.inputs[i] == no_id) {
      if (c.input_type(0).elem != DataType::float32) return false;
      continue;
    }
    const auto bound = constant_float(c, i);
    if (!bound) return false;
    n.attributes.set(i == 1 ? "min" : "max", *bound);
  }
  n.inputs.resize(1);
  return true;
}

}  // namespace

void declare_activation(SchemaCatalog& c) {
  c.add("Relu")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .version(14, "(X: T) -> (Y: T) [T: @float_13 int32 int8 int16 int64]")
      .rule<Relu>()
      .contract({.exact = true});
  c.add("LeakyRelu")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints, alpha: float = 0.009999999776482582} [T: @float]")
      .version(6, "(X: T) -> (Y: T) {alpha: float = 0.009999999776482582} [T: @float]")
      .version(16, "(X: T) -> (Y: T) {alpha: float = 0.009999999776482582} [T: @float_13]")
      .rule<LeakyRelu>()
      .contract({.epsilons = 4});
  c.add("Elu")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints, alpha: float = 1} [T: @float]")
      .version(6, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float]")
      .version(22, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<Elu>()
      .contract({.epsilons = 4});
  c.add("Selu")
      .version(1,
               "(X: T) -> (Y: T) {consumed_inputs: ints, gamma: float = 1.0506999492645264, alpha: float = "
               "1.673200011253357} [T: @float]")
      .version(6,
               "(X: T) -> (Y: T) {gamma: float = 1.0507010221481323, alpha: float = 1.6732631921768188} [T: "
               "@float]",
               selu_6_from_1)
      .version(22,
               "(X: T) -> (Y: T) {gamma: float = 1.0507010221481323, alpha: float = 1.6732631921768188} [T: "
               "@float_13]")
      .rule<Selu>()
      .contract({.epsilons = 4});
  c.add("Celu")
      .version(12, "(X: T) -> (Y: T) {alpha: float = 1} [T: float]")
      .version(28, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<Celu>()
      .contract({.epsilons = 4});
  c.add("ThresholdedRelu")
      .version(10, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float]")
      .version(22, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<ThresholdedRelu>()
      .contract({.epsilons = 4});
  c.add("HardSigmoid")
      .version(1,
               "(X: T) -> (Y: T) {consumed_inputs: ints, beta: float = 0.5, alpha: float = "
               "0.20000000298023224} [T: @float]")
      .version(6, "(X: T) -> (Y: T) {beta: float = 0.5, alpha: float = 0.20000000298023224} [T: @float]")
      .version(22, "(X: T) -> (Y: T) {beta: float = 0.5, alpha: float = 0.20000000298023224} [T: @float_13]")
      .rule<HardSigmoid>()
      .contract({.epsilons = 4});
  c.add("HardSwish")
      .version(14, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<HardSwish>()
      .contract({.epsilons = 4});
  c.add("Mish")
      .version(18, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Mish>()
      .contract({.epsilons = 4});
  c.add("Softplus")
      .version(1, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Softplus>()
      .contract({.epsilons = 4});
  c.add("Softsign")
      .version(1, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Softsign>()
      .contract({.epsilons = 4});
  c.add("Sigmoid")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Sigmoid>()
      .contract({.epsilons = 4});
  c.add("Swish")
      .version(24, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<Swish>()
      .contract({.epsilons = 4});
  c.add("Gelu")
      .version(20, "(X: T) -> (Y: T) {approximate: string = 'none'} [T: @float_13]")
      .rule<Gelu>()
      .contract({.epsilons = 4});
  c.add("Shrink")
      .version(9, "(input: T) -> (output: T) {bias: float = 0, lambd: float = 0.5} [T: @number]")
      .rule<Shrink>()
      .contract({.epsilons = 4});
  c.add("Clip")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints, max: float, min: float} [T: @float]")
      .version(6,
               "(input: T) -> (output: T) {max: float = 3.4028234663852886e+38, min: float = "
               "-3.4028234663852886e+38} [T: @float]")
      .version(11, "(input: T, min?: T, max?: T) -> (output: T) [T: @float]", clip_11_from_6, clip_6_from_11)
      .version(12, "(input: T, min?: T, max?: T) -> (output: T) [T: @number]")
      .version(13, "(input: T, min?: T, max?: T) -> (output: T) [T: @number_13]")
      .rule<Clip>()
      .contract({.exact = true});
  c.add("PRelu")
      .version(1, "(X: T, slope: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T, slope: T) -> (Y: T) [T: @float]")
      .version(7, "(X: T, slope: T) -> (Y: T) [T: @float]", prelu_7_from_6)
      .version(9, "(X: T, slope: T) -> (Y: T) [T: @wide]")
      .version(16, "(X: T, slope: T) -> (Y: T) [T: @wide_13]")
      .rule<PRelu>()
      .contract({.epsilons = 4});
  c.add("SwiGLU")
      .version(28, "(A: T, B: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<SwiGLU>()
      .contract({.epsilons = 4});
}

}  // namespace lathe
