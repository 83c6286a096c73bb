// Makes a computed shape of a Reshape a constant, replaces a Transpose that moves nothing by a Reshape, and
// removes an Expand that broadcasting does as well.
#include "passes/checks.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

/// Returns the second input of a Reshape from one shape to another of as many elements: numbers, 0 for a size
/// that is copied, -1 for one that follows. Copied and following sizes do not mix: with an empty tensor
/// nothing would follow.
std::optional<std::vector<int64_t>> target(const SymShape& from, const SymShape& to) {
  std::vector<int64_t> numbers;
  size_t computed = 0, copied = 0;
  for (size_t i = 0; i < to.size(); ++i) {
    if (const auto number = to[i].value()) {
      if (*number == 0) return std::nullopt;
      numbers.push_back(*number);
    } else if (i < from.size() && from[i] == to[i]) {
      numbers.push_back(0);
      ++copied;
    } else {
      numbers.push_back(-1);
      ++computed;
    }
  }
  if (computed > 1 || (computed == 1 && copied > 0)) return std::nullopt;
  return numbers;
}

/// Returns the same if the shape consists of numbers and of sizes of `from` in their places. -1 beside these
/// is allowed: with 0 instead of a size it means the same, for empty tensors too.
std::optional<std::vector<int64_t>> as_written(const View& view, const Node& n) {
  const auto& from = view.type(n.inputs[0]).shape;
  const auto given = view.sizes(n.inputs[1]);
  if (!from || !given || n.attributes.get<int64_t>("allowzero", 0) != 0 ||
      std::ranges::count(*from, Dim(0)) > 0)
    return std::nullopt;
  std::vector<int64_t> numbers;
  bool follows = false;
  Dim left(1), wanted(1);  // beside the sizes that are copied
  for (size_t i = 0; i < from->size(); ++i)
    if (i >= given->size() || (*given)[i].is_constant()) left = left * (*from)[i];
  for (size_t i = 0; i < given->size(); ++i) {
    const Dim& d = (*given)[i];
    if (!d.is_constant() && !(i < from->size() && (*from)[i] == d)) return std::nullopt;
    numbers.push_back(d.is_constant() ? d.constant() : 0);
    if (d == Dim(-1))
      follows = true;
    else if (d == Dim(0) && i < from->size())
      wanted = wanted * (*from)[i];
    else if (d.is_constant())
      wanted = wanted * d;
  }
  // Sizes that only fit if a copied one is 0 are left to the run.
  if (left.is_constant() && wanted.is_constant()) {
    const int64_t have = left.constant(), want = wanted.constant();
    if (follows ? want == 0 || have % want != 0 : have != want) return std::nullopt;
  }
  return numbers;
}

/// Returns whether every size is known by number or name, none follows, and both shapes surely have as many
/// elements, so that a run could refuse nothing.
bool is_surely_as_many(const View& view, const Node& n) {
  const auto given = view.sizes(n.inputs[1]);
  return given && std::ranges::count(*given, Dim(-1)) == 0 && !may_refuse(view, n);
}

std::optional<Patch> reshape_by(const View& view, NodeId id, std::string reason) {
  const Node& n = view.node(id);
  const auto &from = view.type(n.inputs[0]).shape, &to = view.type(n.outputs[0]).shape;
  std::optional<std::vector<int64_t>> numbers;
  if (View::is(n, "Reshape")) numbers = as_written(view, n);
  if (!numbers && from && to && (!View::is(n, "Reshape") || is_surely_as_many(view, n)))
    numbers = target(*from, *to);
  if (!numbers) return std::nullopt;
  Patch p(std::move(reason));
  p.replace_uses(n.outputs[0], p.add("Reshape", {n.inputs[0], p.add_constant("shape", ints(*numbers))}));
  p.remove(id);
  return p;
}

std::optional<Patch> resolve(const View& view, NodeId id) {
  if (view.is_constant(view.node(id).inputs[1])) return std::nullopt;
  return reshape_by(view, id, "the shape is known but for sizes that follow");
}

std::optional<Patch> unmoved(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto& shape = view.type(n.inputs[0]).shape;
  if (!shape) return std::nullopt;
  std::vector<int64_t> moved;
  for (int64_t axis : order_of(view, n))
    if (!((*shape)[static_cast<size_t>(axis)] == Dim(1))) moved.push_back(axis);
  if (!std::ranges::is_sorted(moved)) return std::nullopt;
  return reshape_by(view, id, "only axes of size 1 change their place");
}

/// x + expand(y), if x has the shape of the result already.
std::optional<Patch> broadcast(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto shape_of = [&](ValueId v) { return view.type(v).shape; };
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const Node* expand = view.made_by(n.inputs[i], "Expand");
    if (!expand) continue;
    const bool another = std::ranges::any_of(n.inputs, [&](ValueId v) {
      return v != n.inputs[i] && shape_of(v) && shape_of(n.outputs[0]) &&
             *shape_of(v) == *shape_of(n.outputs[0]);
    });
    if (!another || !shape_of(expand->inputs[0])) continue;
    Patch p(n.op + " broadcasts by itself");
    Operands inputs = n.inputs;
    inputs.set(i, expand->inputs[0]);
    p.replace_uses(n.outputs[0], p.add(n.op, std::move(inputs), n.attributes));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

}  // namespace

void pass_resolve_reshape(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "resolve-reshape",
                 .description = "reshapes by constants where at most one size is computed",
                 .level = level,
                 .anchors = {"Reshape"},
                 .propose = resolve,
                 .keeps_checks = true});
  all.push_back({.name = "transpose-is-reshape",
                 .description = "reshapes where a Transpose only moves axes of size 1",
                 .level = level,
                 .anchors = {"Transpose"},
                 .propose = unmoved});
  all.push_back({.name = "eliminate-expand",
                 .description = "leaves broadcasting to elementwise operators",
                 .level = level,
                 .anchors = {"Add", "Sub", "Mul", "Div", "Pow", "Where", "And", "Or", "Equal", "Greater",
                             "Less", "GreaterOrEqual", "LessOrEqual", "Max", "Min"},
                 .propose = broadcast});
}

}  // namespace lathe
