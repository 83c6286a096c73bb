// A change of shape between a product and an elementwise operator is moved behind the operator, and so is a
// Transpose in front of a function of one operand: then the operator can be fused into the product, and
// changes of shape meet.
#include <algorithm>
#include <array>

#include "passes/patterns.h"

namespace lathe {
namespace {

bool is_product(const Node& n) { return View::is(n, "Gemm") || View::is(n, "MatMul") || View::is(n, "Conv"); }

bool combines_two(const Node& n) {
  static const std::set<std::string_view> ops = {"Add", "Sub", "Mul", "Div", "Max", "Min", "PRelu"};
  return n.domain.empty() && n.inputs.size() == 2 && ops.contains(n.op);
}

/// Returns whether v is the same for every element, or every row, in both shapes. `before` and `after` are
/// the same elements.
bool serves_both(const View& view, ValueId v, ValueId before, ValueId after) {
  const auto &shape = view.type(v).shape, &rows = view.type(before).shape, &others = view.type(after).shape;
  if (!shape || shape->size() > 1 || !rows || !others || rows->empty() || others->empty()) return false;
  return shape->empty() || (*shape)[0] == Dim(1) ||
         ((*shape)[0] == rows->back() && (*shape)[0] == others->back());
}

constexpr std::array<std::string_view, 5> movements = {"Reshape", "Flatten", "Squeeze", "Unsqueeze",
                                                       "Transpose"};
bool is_movement(const Node& n) {
  return n.domain.empty() && std::ranges::find(movements, n.op) != movements.end();
}

/// Returns whether v is made by a product, or by elementwise operators behind one (and movements, if
/// `moved`), for one reader.
bool is_of_product(const View& view, ValueId v, bool moved) {
  for (;;) {
    const NodeId maker = view.producer(v);
    if (maker == no_id || !view.read_once(v)) return false;
    const Node& n = view.node(maker);
    if (is_product(n)) return true;
    if (moved && is_movement(n)) {
      v = n.inputs[0];
      continue;
    }
    if (!is_elementwise(n) && !combines_two(n)) return false;
    const auto same = std::ranges::find_if(n.inputs, [&](ValueId x) { return view.same_type(x, v); });
    if (same == n.inputs.end()) return false;
    v = *same;
  }
}

/// The anchor is the change of shape, or the Transpose.
std::optional<Patch> propose_sink_reshapes(const View& view, NodeId id) {
  const Node& shape = view.node(id);
  if (!view.read_once(shape.outputs[0])) return std::nullopt;
  const auto [at, input] = view.uses(shape.outputs[0])[0];
  const Node& n = view.node(at);
  const bool alone = is_elementwise(n) && n.inputs.size() == 1;
  const bool beside = shape.op != "Transpose" && combines_two(n) &&
                      serves_both(view, n.inputs[1 - input], shape.inputs[0], shape.outputs[0]);
  if (!(alone || beside) || !is_of_product(view, shape.inputs[0], alone) ||
      !view.same_type(shape.outputs[0], n.outputs[0]))
    return std::nullopt;
  Patch p(n.op + " where the product is, before " +
          (shape.op == "Transpose" ? "a Transpose" : "a change of shape"));
  Operands operands = n.inputs, inputs = shape.inputs;
  operands.set(input, shape.inputs[0]);
  inputs.set(0, p.add(n.op, std::move(operands), n.attributes));
  p.replace_uses(n.outputs[0], p.add(shape.op, std::move(inputs), shape.attributes));
  p.remove(at);
  p.remove(id);
  return p;
}

}  // namespace

void pass_sink_reshapes(PassList& all) {
  all.push_back(
      {.name = "sink-reshapes",
       .description =
           "moves changes of shape and transpositions from between products and elementwise operators behind "
           "these",
       .level = OptimizationLevel::extended,
       .anchors = {movements.begin(), movements.end()},
       .propose = propose_sink_reshapes});
}

}  // namespace lathe
