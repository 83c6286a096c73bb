#include "ops/activation/activation.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "schema/downgrade.h"
#include "schema/node_builder.h"

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
  u.node().inputs.set(1, u.insert("Unsqueeze", {u.node().inputs[1], where}, {})[0]);
}

/// A bound that is left out is that of float32 in the older version.
bool clip_6_from_11(RewriteContext& c) {
  Node& n = c.node();
  for (size_t i = 1; i <= 2; ++i) {
    if (i >= n.inputs.size() || n.inputs[i] == no_id) {
      if (c.input_type(0).elem != DataType::float32)
        return c.cannot("in older ones a bound that is left out is that of float");
      continue;
    }
    const auto bound = constant_float(c, i);
    if (!bound && c.constant(n.inputs[i])) return c.cannot("in older ones bounds are numbers of float");
    if (!bound) return cannot_be_computed(c, i == 1 ? "min" : "max");
    n.attributes.set(i == 1 ? "min" : "max", *bound);
  }
  n.inputs.resize(1);
  return true;
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Inserts `f` of the input, computed in a wider type and rounded once.
template <class F>
std::vector<ValueId> of_one_input(DecomposeContext& c, F&& f) {
  const ValueId x = input(c, 0);
  return {cast(c, f(widened(c, x)), elem_of(c, x))};
}

std::vector<ValueId> relu(DecomposeContext& c) {
  const ValueId x = input(c, 0);
  return {one(c, "Max", {x, number(c, 0, elem_of(c, x))})};
}

double greatest_number(DataType t) {
  return t == DataType::float16   ? 65504.0
         : t == DataType::float64 ? std::numeric_limits<double>::max()
                                  : static_cast<double>(std::numeric_limits<float>::max());
}

/// Bounds that are left out are the least and the greatest number of the type.
std::vector<ValueId> clip(DecomposeContext& c) {
  ValueId x = input(c, 0);
  const DataType type = elem_of(c, x);
  if (c.opset() >= 12 || type == DataType::bfloat16) return in_wider_types(c);
  for (size_t i = 1; i <= 2; ++i) {
    ValueId bound = input(c, i);
    if (bound == no_id && is_integer(type)) continue;
    bound = bound == no_id ? number(c, greatest_number(type) * (i == 1 ? -1 : 1), type) : as_scalar(c, bound);
    x = one(c, i == 1 ? "Max" : "Min", {x, bound});
  }
  return {x};
}

/// Whatever is not beyond lambd, nor a number, is 0.
std::vector<ValueId> shrink(DecomposeContext& c) {
  if (c.opset() >= 9) unsupported({}, {});
  const auto op = decode<Shrink>(c.node().attributes);
  const ValueId given = input(c, 0), x = widened(c, given);
  const DataType type = elem_of(c, x);
  if (!is_float(type)) unsupported({}, {});
  const auto lambd = static_cast<double>(op.lambd), bias = static_cast<double>(op.bias);
  const ValueId below = one(c, "Less", {x, number(c, -lambd, type)}),
                above = one(c, "Greater", {x, number(c, lambd, type)});
  const ValueId rest = one(c, "Where", {above, plus(c, x, -bias), number(c, 0, type)});
  return {cast(c, one(c, "Where", {below, plus(c, x, bias), rest}), elem_of(c, given))};
}

std::vector<ValueId> thresholded_relu(DecomposeContext& c) {
  if (c.opset() >= 10) return in_wider_types(c);
  const auto alpha = static_cast<double>(decode<ThresholdedRelu>(c.node().attributes).alpha);
  return of_one_input(c, [&](ValueId x) {
    const DataType type = elem_of(c, x);
    return one(c, "Where", {one(c, "Greater", {x, number(c, alpha, type)}), x, number(c, 0, type)});
  });
}

std::vector<ValueId> hard_swish(DecomposeContext& c) {
  return of_one_input(c, [&](ValueId x) {
    Attributes sixth = with("alpha", 1.0f / 6);
    sixth.set("beta", 0.5f);
    return one(c, "Mul", {x, one(c, "HardSigmoid", {x}, std::move(sixth))});
  });
}

std::vector<ValueId> mish(DecomposeContext& c) {
  return of_one_input(c, [&](ValueId x) {
    return one(c, "Mul", {x, one(c, "Tanh", {one(c, "Softplus", {x})})});
  });
}

ValueId swish_of(InsertContext& c, ValueId x, float alpha) {
  return one(c, "Mul", {x, one(c, "Sigmoid", {alpha == 1 ? x : times(c, x, static_cast<double>(alpha))})});
}

std::vector<ValueId> swish(DecomposeContext& c) {
  return of_one_input(c, [&](ValueId x) { return swish_of(c, x, c.node().attributes.get("alpha", 1.0f)); });
}

std::vector<ValueId> swiglu(DecomposeContext& c) {
  const ValueId a = widened(c, input(c, 0)), b = widened(c, input(c, 1));
  const ValueId gate = swish_of(c, a, c.node().attributes.get("alpha", 1.0f));
  return {cast(c, one(c, "Mul", {gate, b}), elem_of(c, input(c, 0)))};
}

std::vector<ValueId> gelu(DecomposeContext& c) {
  const bool by_tanh = decode<Gelu>(c.node().attributes).by_tanh();
  return of_one_input(c, [&](ValueId x) {
    ValueId share;
    if (by_tanh) {
      const ValueId cube = one(c, "Mul", {one(c, "Mul", {x, x}), x});
      const ValueId sum = one(c, "Add", {x, times(c, cube, 0.044715)});
      share = one(c, "Tanh", {times(c, sum, std::sqrt(2 / std::numbers::pi))});
    } else {
      share = one(c, "Erf", {times(c, x, std::numbers::sqrt2 / 2)});
    }
    return one(c, "Mul", {times(c, x, 0.5), plus(c, share, 1)});
  });
}

/// alpha times Elu of x / alpha; if alpha is negative, by the definition.
std::vector<ValueId> celu(DecomposeContext& c) {
  const auto alpha = static_cast<double>(c.node().attributes.get("alpha", 1.0f));
  return of_one_input(c, [&](ValueId x) {
    const ValueId part = one(c, "Div", {x, number(c, alpha, elem_of(c, x))});
    if (alpha > 0) return times(c, one(c, "Elu", {part}), alpha);
    const ValueId zero = number(c, 0, elem_of(c, x));
    const ValueId below = times(c, plus(c, one(c, "Exp", {part}), -1), alpha);
    return one(c, "Add", {one(c, "Max", {x, zero}), one(c, "Min", {below, zero})});
  });
}

}  // namespace
}  // namespace decomposition

void declare_activation(SchemaCatalog& c) {
  c.add("Relu")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .version(14, "(X: T) -> (Y: T) [T: @float_13 int32 int8 int16 int64]")
      .rule<Relu>()
      .decompose(decomposition::relu)
      .tolerance({.exact = true});
  c.add("LeakyRelu")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints, alpha: float = 0.009999999776482582} [T: @float]")
      .version(6, "(X: T) -> (Y: T) {alpha: float = 0.009999999776482582} [T: @float]")
      .version(16, "(X: T) -> (Y: T) {alpha: float = 0.009999999776482582} [T: @float_13]")
      .rule<LeakyRelu>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Elu")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints, alpha: float = 1} [T: @float]")
      .version(6, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float]")
      .version(22, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<Elu>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
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
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Celu")
      .version(12, "(X: T) -> (Y: T) {alpha: float = 1} [T: float]")
      .version(28, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<Celu>()
      .decompose(decomposition::celu)
      .tolerance({.epsilons = 4});
  c.add("ThresholdedRelu")
      .version(10, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float]")
      .version(22, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<ThresholdedRelu>()
      .decompose(decomposition::thresholded_relu)
      .tolerance({.epsilons = 4});
  c.add("HardSigmoid")
      .version(1,
               "(X: T) -> (Y: T) {consumed_inputs: ints, beta: float = 0.5, alpha: float = "
               "0.20000000298023224} [T: @float]")
      .version(6, "(X: T) -> (Y: T) {beta: float = 0.5, alpha: float = 0.20000000298023224} [T: @float]")
      .version(22, "(X: T) -> (Y: T) {beta: float = 0.5, alpha: float = 0.20000000298023224} [T: @float_13]")
      .rule<HardSigmoid>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("HardSwish")
      .version(14, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<HardSwish>()
      .decompose(decomposition::hard_swish)
      .tolerance({.epsilons = 4});
  c.add("Mish")
      .version(18, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Mish>()
      .decompose(decomposition::mish)
      .tolerance({.epsilons = 4});
  c.add("Softplus")
      .version(1, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Softplus>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Softsign")
      .version(1, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Softsign>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("Sigmoid")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Sigmoid>()
      .tolerance({.epsilons = 4});
  c.add("Swish")
      .version(24, "(X: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<Swish>()
      .decompose(decomposition::swish)
      .tolerance({.epsilons = 4});
  c.add("Gelu")
      .version(20, "(X: T) -> (Y: T) {approximate: string = 'none'} [T: @float_13]")
      .rule<Gelu>()
      .decompose(decomposition::gelu)
      .tolerance({.epsilons = 4});
  c.add("Shrink")
      .version(9, "(input: T) -> (output: T) {bias: float = 0, lambd: float = 0.5} [T: @number]")
      .rule<Shrink>()
      .decompose(decomposition::shrink)
      .tolerance({.epsilons = 4});
  c.add("Clip")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints, max: float, min: float} [T: @float]")
      .version(6,
               "(input: T) -> (output: T) {max: float = 3.4028234663852886e+38, min: float = "
               "-3.4028234663852886e+38} [T: @float]")
      .version(11, "(input: T, min?: T, max?: T) -> (output: T) [T: @float]", clip_11_from_6, clip_6_from_11)
      .version(12, "(input: T, min?: T, max?: T) -> (output: T) [T: @number]")
      .version(13, "(input: T, min?: T, max?: T) -> (output: T) [T: @number_13]")
      .rule<Clip>()
      .decompose(decomposition::clip)
      .tolerance({.exact = true});
  c.add("PRelu")
      .version(1, "(X: T, slope: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T, slope: T) -> (Y: T) [T: @float]")
      .version(7, "(X: T, slope: T) -> (Y: T) [T: @float]", prelu_7_from_6)
      .version(9, "(X: T, slope: T) -> (Y: T) [T: @wide]")
      .version(16, "(X: T, slope: T) -> (Y: T) [T: @wide_13]")
      .rule<PRelu>()
      .decompose(node_builder::in_wider_types)
      .tolerance({.epsilons = 4});
  c.add("SwiGLU")
      .version(28, "(A: T, B: T) -> (Y: T) {alpha: float = 1} [T: @float_13]")
      .rule<SwiGLU>()
      .decompose(decomposition::swiglu)
      .tolerance({.epsilons = 4});
}

}  // namespace lathe
