// Gelu in the spellings of exporters, and Swish.
#include "passes/patterns.h"

namespace lathe {
namespace {

Attributes approximate(std::string how) {
  Attributes a;
  if (how != "none") a.set("approximate", std::move(how));
  return a;
}

/// x where v is x / sqrt(2), in either spelling.
ValueId over_sqrt_2(const View& view, ValueId v) {
  if (const Node* div = view.made_by(v, "Div")) {
    const auto c = view.uniform(div->inputs[1]);
    return c && about(*c, std::sqrt(2.0)) ? div->inputs[0] : no_id;
  }
  if (const Node* mul = view.made_by(v, "Mul"))
    if (const auto m = with_number(view, *mul); m && about(m->number, std::sqrt(0.5))) return m->x;
  return no_id;
}

/// x where v is sqrt(2/pi) * (x + 0.044715 x³).
ValueId tanh_argument(const View& view, ValueId v) {
  const Node* outer = view.made_by(v, "Mul");
  const auto scaled = outer ? with_number(view, *outer) : std::nullopt;
  if (!scaled || !about(scaled->number, std::sqrt(2.0 / M_PI))) return no_id;
  const Node* sum = view.made_by(scaled->x, "Add");
  if (!sum) return no_id;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const ValueId x = sum->inputs[i];
    const Node* term = view.made_by(sum->inputs[1 - i], "Mul");
    const auto cubic = term ? with_number(view, *term) : std::nullopt;
    if (!cubic || !about(cubic->number, 0.044715)) continue;
    if (const Node* pow = view.made_by(cubic->x, "Pow"))
      if (pow->inputs[0] == x && view.uniform(pow->inputs[1]) == 3.0) return x;
    if (const Node* mul = view.made_by(cubic->x, "Mul"))
      if (const ValueId square = other_input(*mul, x); square != no_id && squared(view, square) == x)
        return x;
  }
  return no_id;
}

struct Bell {
  ValueId x = no_id;
  std::string approximate;
};
/// x where v is 1 + erf(x / sqrt(2)), or its approximation by tanh.
std::optional<Bell> bell(const View& view, ValueId v) {
  const Node* plus = view.made_by(v, "Add");
  const auto one = plus ? with_number(view, *plus) : std::nullopt;
  if (!one || one->number != 1) return std::nullopt;
  if (const Node* erf = view.made_by(one->x, "Erf"))
    if (const ValueId x = over_sqrt_2(view, erf->inputs[0]); x != no_id) return Bell{x, "none"};
  if (const Node* tanh = view.made_by(one->x, "Tanh"))
    if (const ValueId x = tanh_argument(view, tanh->inputs[0]); x != no_id) return Bell{x, "tanh"};
  return std::nullopt;
}

/// x · 0.5 · bell(x), multiplied in any order; the anchor is the last Mul.
std::optional<Patch> gelu(const View& view, NodeId id) {
  const Node& n = view.node(id);
  // The three factors: two of this node, one of which is a product itself.
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* inner = view.made_by(n.inputs[i], "Mul");
    if (!inner || !view.read_once(n.inputs[i])) continue;
    const ValueId factors[3] = {n.inputs[1 - i], inner->inputs[0], inner->inputs[1]};
    for (int b = 0; b < 3; ++b) {
      const auto found = bell(view, factors[b]);
      if (!found) continue;
      const ValueId rest[2] = {factors[(b + 1) % 3], factors[(b + 2) % 3]};
      for (int h : {0, 1}) {
        if (view.uniform(rest[h]) != 0.5 || rest[1 - h] != found->x ||
            !view.same_type(found->x, n.outputs[0]))
          continue;
        Patch p("a product that spells Gelu");
        p.replace_uses(n.outputs[0], p.add("Gelu", {found->x}, approximate(found->approximate)));
        p.remove(id);
        return p;
      }
    }
  }
  return std::nullopt;
}

/// x · sigmoid(x).
std::optional<Patch> swish(const View& view, NodeId id) {
  const Node& n = view.node(id);
  for (size_t i : {size_t{0}, size_t{1}}) {
    const Node* sigmoid = view.made_by(n.inputs[i], "Sigmoid");
    if (!sigmoid || !view.read_once(n.inputs[i])) continue;
    ValueId x = sigmoid->inputs[0];
    float alpha = 1;
    if (x != n.inputs[1 - i]) {
      const Node* scaled = view.made_by(x, "Mul");
      const auto by = scaled && view.read_once(x) ? with_number(view, *scaled) : std::nullopt;
      if (!by || by->x != n.inputs[1 - i]) continue;
      x = by->x;
      alpha = static_cast<float>(by->number);
    }
    if (!view.same_type(x, n.outputs[0])) continue;
    Patch p("x times its sigmoid is Swish");
    Attributes a;
    if (alpha != 1) a.set("alpha", alpha);
    p.replace_uses(n.outputs[0], p.add("Swish", {x}, std::move(a)));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

}  // namespace

void pass_recognise_activation(PassList& all) {
  all.push_back({.name = "recognise-gelu",
                 .says = "finds Gelu, exact or by tanh, in its spellings",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Mul"},
                 .propose = gelu});
  all.push_back({.name = "recognise-swish",
                 .says = "finds x * sigmoid(alpha * x)",
                 .level = OptimizationLevel::extended,
                 .anchors = {"Mul"},
                 .propose = swish});
}

}  // namespace lathe
