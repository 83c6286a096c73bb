// Decomposed activations: a function of x (erf, tanh, a sigmoid, a Clip), and a polynomial of x and its
// result. The order of sums and products does not matter.
#include "passes/polynomial.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// f(argument) and the result: the factors of 1, x, x², x³ in the argument; the result is x f times `by`,
/// plus x times `rest`.
struct Variant {
  std::array<double, 4> argument;
  double by, rest;
};

Polynomial argument_of(const Variant& s) {
  Polynomial p;
  for (size_t i = 0; i < s.argument.size(); ++i) p.c[i][0] = s.argument[i];
  return p;
}
Polynomial result_of(const Variant& s) {
  Polynomial p;
  p.c[1][0] = s.rest;
  p.c[1][1] = s.by;
  return p;
}

/// Returns the node that makes `result` of x and f, if nothing else reads f or the values between.
NodeId reader_that_makes(const View& view, ValueId x, ValueId f, const Polynomial& result) {
  PolynomialReader reader(view, x, f);
  ValueId v = f;
  for (int steps = 0; steps < 6 && view.read_once(v); ++steps) {
    const NodeId id = view.uses(v)[0].node;
    v = view.node(id).outputs[0];
    const auto p = reader.read(v);
    if (!p) return no_id;
    if (p->is_about(result, view.type(x).elem)) return view.same_type(x, v) ? id : no_id;
  }
  return no_id;
}

/// Returns the node that makes x f of x and f.
NodeId product_of(const View& view, ValueId x, ValueId f) {
  return reader_that_makes(view, x, f, result_of({{}, 1, 0}));
}

struct Found {
  ValueId x = no_id;
  NodeId end = no_id;
};
/// Returns x and the node that makes the result, if `f` is a function of `argument`.
std::optional<Found> find(const View& view, ValueId argument, ValueId f, const Variant& s) {
  for (ValueId x : parts_of_expression(view, argument)) {
    const auto p = PolynomialReader(view, x).read(argument);
    if (!p || !p->is_about(argument_of(s), view.type(x).elem)) continue;
    if (const NodeId end = reader_that_makes(view, x, f, result_of(s)); end != no_id) return Found{x, end};
  }
  return std::nullopt;
}

Patch replaced(const View& view, NodeId end, std::string op, ValueId x, Attributes a = {}) {
  Patch p("arithmetic that computes " + op);
  p.replace_uses(view.node(end).outputs[0], p.add(op, {x}, std::move(a)));
  p.remove(end);
  return p;
}

constexpr double root_of_half = 0.70710678118654752, root_of_2_over_pi = 0.79788456080286536,
                 cubic = 0.044715 * root_of_2_over_pi;

/// The anchor is the Erf, the Tanh, or the equivalent Sigmoid.
std::optional<Patch> gelu(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Variant exact{{0, root_of_half, 0, 0}, 0.5, 0.5}, by_complement{{0, -root_of_half, 0, 0}, -0.5, 0.5},
      by_tanh{{0, root_of_2_over_pi, 0, cubic}, 0.5, 0.5},
      by_sigmoid{{0, 2 * root_of_2_over_pi, 0, 2 * cubic}, 1, 0};
  const bool erf = n.op == "Erf";
  auto found = find(view, n.inputs[0], n.outputs[0], erf ? exact : n.op == "Tanh" ? by_tanh : by_sigmoid);
  if (erf && !found) found = find(view, n.inputs[0], n.outputs[0], by_complement);
  if (!found) return std::nullopt;
  Attributes a;
  if (!erf) a.set("approximate", std::string("tanh"));
  return replaced(view, found->end, "Gelu", found->x, std::move(a));
}

/// x · sigmoid(alpha · x); the anchor is the Sigmoid.
std::optional<Patch> swish(const View& view, NodeId id) {
  const Node& n = view.node(id);
  double alpha = 1;
  ValueId x = n.inputs[0];
  NodeId end = product_of(view, x, n.outputs[0]);
  if (end == no_id) {
    x = without_factors(view, x, alpha);
    if (x == n.inputs[0] || !view.read_once(n.inputs[0])) return std::nullopt;
    end = product_of(view, x, n.outputs[0]);
  }
  if (end == no_id) return std::nullopt;
  Attributes a;
  if (alpha != 1) a.set("alpha", static_cast<float>(alpha));
  return replaced(view, end, "Swish", x, std::move(a));
}

/// x · clip(x + 3, 0, 6) / 6, or x times the HardSigmoid that this is; the anchor is the Clip or HardSigmoid.
std::optional<Patch> hard_swish(const View& view, NodeId id) {
  const Node& n = view.node(id);
  std::optional<Found> found;
  if (n.op == "HardSigmoid") {
    const bool sixth =
        about(n.attributes.get<float>("alpha", 0.2f), 1.0 / 6, rounding_of(DataType::float32)) &&
        n.attributes.get<float>("beta", 0.5f) == 0.5f;
    const NodeId end = sixth ? product_of(view, n.inputs[0], n.outputs[0]) : no_id;
    if (end != no_id) found = {n.inputs[0], end};
  } else if (n.inputs.size() == 3 && view.uniform(n.inputs[1]) == 0.0) {
    const auto most = view.uniform(n.inputs[2]);
    if (most == 6.0) found = find(view, n.inputs[0], n.outputs[0], {{3, 1, 0, 0}, 1.0 / 6, 0});
    if (most == 1.0) found = find(view, n.inputs[0], n.outputs[0], {{0.5, 1.0 / 6, 0, 0}, 1, 0});
  }
  return found ? std::optional(replaced(view, found->end, "HardSwish", found->x)) : std::nullopt;
}

/// x where `v` is log(1 + e^x).
ValueId softplus_argument(const View& view, ValueId v) {
  if (const Node* n = view.made_by(v, "Softplus")) return n->inputs[0];
  const Node* log = view.made_by(v, "Log");
  const Node* add = log ? view.made_by(log->inputs[0], "Add") : nullptr;
  const auto one = add ? with_number(view, *add) : std::nullopt;
  const Node* exp = one && one->number == 1 ? view.made_by(one->x, "Exp") : nullptr;
  return exp ? exp->inputs[0] : no_id;
}

/// x · tanh(softplus(x)), for which overflow of e^x does not matter; the anchor is the Tanh.
std::optional<Patch> mish(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const ValueId x = softplus_argument(view, n.inputs[0]);
  const NodeId end = x == no_id ? no_id : product_of(view, x, n.outputs[0]);
  return end == no_id ? std::nullopt : std::optional(replaced(view, end, "Mish", x));
}

/// 1 / (1 + e^-x) and y / (1 + e^-x); the anchor is the Reciprocal or Div.
std::optional<Patch> sigmoid(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const bool divides = n.op == "Div";
  const Node* sum = view.made_by(n.inputs[divides ? 1 : 0], "Add");
  const auto one = sum ? with_number(view, *sum) : std::nullopt;
  const Node* exp = one && one->number == 1 ? view.made_by(one->x, "Exp") : nullptr;
  if (!exp || !view.same_type(exp->inputs[0], sum->outputs[0])) return std::nullopt;
  double factor = 1;
  ValueId x = no_id;
  if (const Node* neg = view.made_by(exp->inputs[0], "Neg"))
    x = neg->inputs[0];
  else if (const ValueId scaled = without_factors(view, exp->inputs[0], factor); factor < 0)
    x = scaled;
  if (x == no_id) return std::nullopt;

  Patch p("1 / (1 + exp(-x)) is Sigmoid");
  if (factor < 0 && factor != -1) {
    Tensor by(view.type(x).elem, {});
    store_double(by, 0, -factor);
    x = p.add("Mul", {x, p.add_constant("factor", std::move(by))});
  }
  ValueId y = p.add("Sigmoid", {x});
  if (divides && !(view.uniform(n.inputs[0]) == 1.0 && view.same_type(sum->outputs[0], n.outputs[0])))
    y = p.add("Mul", {n.inputs[0], y});
  p.replace_uses(n.outputs[0], y);
  p.remove(id);
  return p;
}

}  // namespace

void pass_recognize_activation(PassList& all) {
  const auto level = OptimizationLevel::extended;
  all.push_back({.name = "recognize-gelu",
                 .description = "finds Gelu, exact or by tanh, in its variants",
                 .level = level,
                 .anchors = {"Erf", "Tanh", "Sigmoid"},
                 .propose = gelu});
  all.push_back({.name = "recognize-hard-swish",
                 .description = "finds x * clip(x + 3, 0, 6) / 6",
                 .level = level,
                 .anchors = {"Clip", "HardSigmoid"},
                 .propose = hard_swish});
  all.push_back({.name = "recognize-mish",
                 .description = "finds x * tanh(softplus(x))",
                 .level = level,
                 .anchors = {"Tanh"},
                 .propose = mish});
  all.push_back({.name = "recognize-sigmoid",
                 .description = "finds 1 / (1 + exp(-x)), and what is divided so",
                 .level = level,
                 .anchors = {"Div", "Reciprocal"},
                 .propose = sigmoid});
  all.push_back({.name = "recognize-swish",
                 .description = "finds x * sigmoid(alpha * x)",
                 .level = level,
                 .anchors = {"Sigmoid"},
                 .propose = swish});
}

}  // namespace lathe
