// Element by element: activations, unary and binary functions, scale, select, casts.
#include "network/family.h"
#include "network/maker.h"

namespace lathe {
namespace {

ValueId times(LayerMaker& m, ValueId x, double factor) {
  return factor == 1 ? x : m.op("Mul", {x, m.scalar(m.type(x), factor)});
}

/// Integers: what truncation gives, less one where it rounded up. Mod has the divisor's sign and fmod the
/// dividend's: they differ just where the quotient is negative and not exact.
ValueId floor_div(LayerMaker& m, ValueId a, ValueId b) {
  const ValueId quotient = m.op("Div", {a, b});
  const DataType t = m.type(a);
  if (is_float(t)) return m.op("Floor", {quotient});
  if (is_unsigned_integer(t)) return quotient;
  const ValueId exact = m.op("Equal", {m.op("Mod", {a, b}), m.op("Mod", {a, b}, Attrs().number("fmod", 1))});
  return m.op("Sub", {quotient, m.op("Cast", {m.op("Not", {exact})}, Attrs().type("to", t))});
}

ValueId activate(LayerMaker& m, ValueId x, ActivationType type, const ActivationOptions& o) {
  using A = ActivationType;
  const double a = o.alpha.value_or(1), b = o.beta.value_or(1);
  auto with = [&](std::initializer_list<std::pair<const char*, std::optional<double>>> list) {
    Attrs attributes;
    for (const auto& [name, value] : list)
      if (value) attributes.with(name, static_cast<float>(*value));
    return attributes;
  };
  auto plain = [&](const char* op) {
    if (o.alpha || o.beta)
      m.fail(Code::node_bad_attribute, std::string("no alpha and beta of ") + op, "some");
    return m.op(op, {x});
  };
  auto only_alpha = [&](const char* op) {
    if (o.beta) m.fail(Code::node_bad_attribute, std::string("no beta of ") + op, "one");
    return m.op(op, {x}, with({{"alpha", o.alpha}}));
  };
  auto limit = [&](const std::optional<double>& v) { return v ? m.scalar(m.type(x), *v) : no_id; };
  switch (type) {
    case A::relu:
      return plain("Relu");
    case A::sigmoid:
      return plain("Sigmoid");
    case A::tanh:
      return plain("Tanh");
    case A::softsign:
      return plain("Softsign");
    case A::leaky_relu:
      return only_alpha("LeakyRelu");
    case A::elu:
      return only_alpha("Elu");
    case A::thresholded_relu:
      return only_alpha("ThresholdedRelu");
    case A::selu:
      return m.op("Selu", {x}, with({{"alpha", o.alpha}, {"gamma", o.beta}}));
    case A::hard_sigmoid:
      return m.op("HardSigmoid", {x}, with({{"alpha", o.alpha}, {"beta", o.beta}}));
    case A::softplus:
      return times(m, m.op("Softplus", {times(m, x, b)}), a);
    case A::scaled_tanh:
      return times(m, m.op("Tanh", {times(m, x, b)}), a);
    case A::clip:
      return m.op("Clip", {x, limit(o.alpha), limit(o.beta)});
    case A::gelu_erf:
    case A::gelu_tanh:
      if (o.alpha || o.beta) m.fail(Code::node_bad_attribute, "no alpha and beta of Gelu", "some");
      return m.op("Gelu", {x}, type == A::gelu_erf ? Attrs() : Attrs().text("approximate", "tanh"));
  }
  m.fail(Code::bad_argument, "an ActivationType", std::to_string(static_cast<int>(type)));
}

}  // namespace

Layer Network::add_activation(const TensorRef& x, ActivationType type, const ActivationOptions& o) {
  LayerMaker m(*this, "activation", o.name);
  m.made_by("add_activation", x, type, o);
  return m.finish(activate(m, m.use(x), type, o));
}

Layer Network::add_unary(const TensorRef& x, UnaryOperation op, const std::string& name) {
  LayerMaker m(*this, "unary", name);
  m.made_by("add_unary", x, op, m.name());
  return m.finish(m.op(std::string(operator_of(op)), {m.use(x)}));
}

Layer Network::add_elementwise(const TensorRef& a, const TensorRef& b, ElementWiseOperation op,
                               const std::string& name) {
  LayerMaker m(*this, "elementwise", name);
  m.made_by("add_elementwise", a, b, op, m.name());
  const ValueId x = m.use(a), y = m.use(b);
  if (op == ElementWiseOperation::floor_div) return m.finish(floor_div(m, x, y));
  return m.finish(m.op(std::string(operator_of(op)), {x, y}));
}

Layer Network::add_scale(const TensorRef& x, const ScaleOptions& o) {
  LayerMaker m(*this, "scale", o.name);
  m.made_by("add_scale", x, o);
  ValueId v = m.use(x);
  const size_t rank = m.rank(v), axis = m.axis(o.axis, rank);
  // A list stands along the axis: trailing axes of size 1 bring it there.
  auto aligned = [&](const TensorRef& t) {
    const ValueId w = m.use(t);
    const SymShape& s = m.shape(w);
    if (s.size() != 1 || s[0] == Dim(1) || axis + 1 == rank) return w;
    std::vector<int64_t> axes;
    for (size_t i = 1; i < rank - axis; ++i) axes.push_back(static_cast<int64_t>(i));
    return m.op("Unsqueeze", {w, m.ints(axes)});
  };
  if (o.scale) v = m.op("Mul", {v, aligned(o.scale)});
  if (o.shift) v = m.op("Add", {v, aligned(o.shift)});
  if (o.power) v = m.op("Pow", {v, aligned(o.power)});
  return m.finish(v);
}

Layer Network::add_parametric_relu(const TensorRef& x, const TensorRef& slope, const std::string& name) {
  LayerMaker m(*this, "parametric_relu", name);
  m.made_by("add_parametric_relu", x, slope, m.name());
  return m.finish(m.op("PRelu", {m.use(x), m.use(slope)}));
}

Layer Network::add_select(const TensorRef& condition, const TensorRef& a, const TensorRef& b,
                          const std::string& name) {
  LayerMaker m(*this, "select", name);
  m.made_by("add_select", condition, a, b, m.name());
  return m.finish(m.op("Where", {m.use(condition), m.use(a), m.use(b)}));
}

Layer Network::add_identity(const TensorRef& x, const std::string& name) {
  LayerMaker m(*this, "identity", name);
  m.made_by("add_identity", x, m.name());
  return m.finish(m.op("Identity", {m.use(x)}));
}

Layer Network::add_cast(const TensorRef& x, DataType to, const std::string& name) {
  LayerMaker m(*this, "cast", name);
  m.made_by("add_cast", x, to, m.name());
  return m.finish(m.op("Cast", {m.use(x)}, Attrs().type("to", to)));
}

}  // namespace lathe
