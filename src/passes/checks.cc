#include "passes/checks.h"

#include <algorithm>

#include "ops/refused/refused.h"

namespace lathe {
namespace {

Dim product(const SymShape& shape) {
  Dim all(1);
  for (const Dim& d : shape) all = all * d;
  return all;
}

bool reshape_may_refuse(const View& view, const Node& n) {
  const auto &from = view.type(n.inputs[0]).shape, &to = view.type(n.outputs[0]).shape;
  const auto sizes = view.sizes(n.inputs[1]);
  if (!from || !to || !sizes || sizes->size() != to->size()) return true;
  return product(*from) != product(*to);
}

/// Returns whether these sizes never contradict each other in broadcasting.
bool broadcast_surely(const Dim& a, const Dim& b) { return a == b || a == Dim(1) || b == Dim(1); }

bool expand_may_refuse(const View& view, const Node& n) {
  const auto& from = view.type(n.inputs[0]).shape;
  const auto sizes = view.sizes(n.inputs[1]);
  if (!from || !sizes) return true;
  for (size_t i = 0; i < sizes->size(); ++i) {
    if (!surely_at_least((*sizes)[i], 0)) return true;
    const size_t back = sizes->size() - i;
    if (back <= from->size() && !broadcast_surely((*from)[from->size() - back], (*sizes)[i])) return true;
  }
  return false;
}

bool squeeze_may_refuse(const View& view, const Node& n) {
  if (!n.inputs.has(1)) return false;
  const auto& from = view.type(n.inputs[0]).shape;
  const auto axes = view.integers(n.inputs[1]);
  if (!from || !axes) return true;
  return std::ranges::any_of(*axes, [&](int64_t axis) {
    const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(from->size()) : axis);
    return at >= from->size() || !((*from)[at] == Dim(1));
  });
}

bool unsqueeze_may_refuse(const View& view, const Node& n) {
  return !view.rank(n.inputs[0]) || !view.integers(n.inputs[1]);
}

/// Unknown axes may not exist in the operand, and unknown steps may be 0.
bool slice_may_refuse(const View& view, const Node& n) {
  return !view.rank(n.inputs[0]) || (n.inputs.has(3) && !view.integers(n.inputs[3])) ||
         (n.inputs.has(4) && !view.integers(n.inputs[4]));
}

bool split_may_refuse(const View& view, const Node& n) {
  const auto& from = view.type(n.inputs[0]).shape;
  if (!from) return true;
  const auto given = n.attributes.get<int64_t>("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(from->size()) : given);
  if (axis >= from->size()) return true;
  if (!n.inputs.has(1)) return !(*from)[axis].is_constant();
  const auto sizes = view.sizes(n.inputs[1]);
  if (!sizes) return true;
  Dim sum(0);
  for (const Dim& d : *sizes) sum = sum + d;
  return sum != (*from)[axis];
}

bool concat_may_refuse(const View& view, const Node& n) {
  const auto& first = view.type(n.inputs[0]).shape;
  if (!first) return true;
  const auto given = n.attributes.get<int64_t>("axis", 0);
  const auto axis = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(first->size()) : given);
  return std::ranges::any_of(n.inputs, [&](ValueId v) {
    const auto& shape = view.type(v).shape;
    if (!shape || shape->size() != first->size()) return true;
    for (size_t i = 0; i < shape->size(); ++i)
      if (i != axis && !((*shape)[i] == (*first)[i])) return true;
    return false;
  });
}

}  // namespace

bool may_refuse(const View& view, const Node& n) {
  if (n.op == refused_operator && n.domain == "lathe") return true;
  if (View::is(n, "Reshape")) return reshape_may_refuse(view, n);
  if (View::is(n, "Expand")) return expand_may_refuse(view, n);
  if (View::is(n, "Squeeze")) return squeeze_may_refuse(view, n);
  if (View::is(n, "Unsqueeze")) return unsqueeze_may_refuse(view, n);
  if (View::is(n, "Slice")) return slice_may_refuse(view, n);
  if (View::is(n, "Tile") || View::is(n, "Pad")) return !view.integers(n.inputs[1]);
  if (View::is(n, "Transpose") || View::is(n, "Flatten")) return !view.rank(n.inputs[0]);
  if (View::is(n, "Split")) return split_may_refuse(view, n);
  if (View::is(n, "Concat")) return concat_may_refuse(view, n);
  return false;
}

}  // namespace lathe
