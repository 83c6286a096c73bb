// Einsum of two operands that is a product of matrices, or of many at once, becomes MatMul: kernels, folding
// into weights and the recognition of attention need to know one form only.
#include <algorithm>

#include "ops/einsum/einsum.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

using Axes = std::vector<int>;  // by their numbers in the equation
using AxisGroups = std::vector<Axes>;

/// The axes of an equation by their roles in the product.
struct Contraction {
  Axes batch, rows, columns, sums;
};

/// Returns nothing if the equation is more than a product: diagonals, axes of one operand that are summed.
std::optional<Contraction> contraction(const EinsumPlan& plan, size_t first) {
  Contraction c;
  const Axes &a = plan.terms[first], &b = plan.terms[1 - first];
  for (int axis = 0; axis < plan.axes; ++axis) {
    const auto in_a = std::ranges::count(a, axis), in_b = std::ranges::count(b, axis);
    const bool kept = axis < plan.output_axes;
    if (in_a > 1 || in_b > 1 || (!kept && in_a + in_b < 2)) return std::nullopt;
    (!kept ? c.sums : in_a == 0 ? c.columns : in_b == 0 ? c.rows : c.batch).push_back(axis);
  }
  if (c.sums.empty() || (c.rows.empty() && c.columns.empty())) return std::nullopt;
  return c;
}

/// A tensor whose axes are axes of the equation.
struct Named {
  ValueId x = no_id;
  Axes axes;
  const SymShape* shape = nullptr;

  size_t at(int axis) const { return static_cast<size_t>(std::ranges::find(axes, axis) - axes.begin()); }
  const Dim& size(int axis) const { return (*shape)[at(axis)]; }
  std::vector<int64_t> order(const AxisGroups& groups) const {
    std::vector<int64_t> perm;
    for (const Axes& g : groups)
      for (int axis : g) perm.push_back(static_cast<int64_t>(at(axis)));
    return perm;
  }
};

/// Returns the shape that Reshape takes for these sizes, of which the first `same` do not change; nothing if
/// one of the others is not a number, or is 0, which Reshape takes for the size that was there.
std::optional<Tensor> shape_after(const std::vector<Dim>& sizes, size_t same) {
  std::vector<int64_t> shape(same, 0);
  for (size_t i = same; i < sizes.size(); ++i) {
    if (!sizes[i].is_constant() || sizes[i].constant() < 1) return std::nullopt;
    shape.push_back(sizes[i].constant());
  }
  return ints(std::move(shape));
}

size_t first_joined(const AxisGroups& groups) {
  return static_cast<size_t>(std::ranges::find_if(groups, [](const Axes& g) { return g.size() > 1; }) -
                             groups.begin());
}

/// The positions of groups without an axis.
std::vector<int64_t> positions_of_none(const AxisGroups& groups) {
  std::vector<int64_t> at;
  for (size_t i = 0; i < groups.size(); ++i)
    if (groups[i].empty()) at.push_back(static_cast<int64_t>(i));
  return at;
}

AxisGroups with_axes(AxisGroups groups) {
  std::erase_if(groups, [](const Axes& g) { return g.empty(); });
  return groups;
}

/// Gives `n` an axis for each group, in this order: of size 1 for a group without axes, joined for several
/// axes.
std::optional<ValueId> grouped(Patch& p, const Named& n, const AxisGroups& groups) {
  ValueId v = add_transpose(p, n.x, n.order(groups));
  const AxisGroups there = with_axes(groups);
  if (const size_t same = first_joined(there); same < there.size()) {
    std::vector<Dim> sizes;
    for (const Axes& g : there) {
      sizes.push_back(n.size(g[0]));
      for (size_t i = 1; i < g.size(); ++i) sizes.back() = sizes.back() * n.size(g[i]);
    }
    auto shape = shape_after(sizes, same);
    if (!shape) return std::nullopt;
    v = p.add("Reshape", {v, p.add_constant("shape", std::move(*shape))});
  }
  if (auto none = positions_of_none(groups); !none.empty())
    v = p.add("Unsqueeze", {v, p.add_constant("axes", ints(std::move(none)))});
  return v;
}

/// The inverse: `v` has an axis for each group; the result has the axes of the equation in order.
std::optional<ValueId> without_groups(Patch& p, ValueId v, const AxisGroups& groups, const SymShape& output) {
  if (auto none = positions_of_none(groups); !none.empty())
    v = p.add("Squeeze", {v, p.add_constant("axes", ints(std::move(none)))});
  const AxisGroups there = with_axes(groups);
  Axes order;
  std::vector<Dim> sizes;
  for (const Axes& g : there)
    for (int axis : g) {
      order.push_back(axis);
      sizes.push_back(output[static_cast<size_t>(axis)]);
    }
  if (const size_t same = first_joined(there); same < there.size()) {
    auto shape = shape_after(sizes, same);
    if (!shape) return std::nullopt;
    v = p.add("Reshape", {v, p.add_constant("shape", std::move(*shape))});
  }
  std::vector<int64_t> perm(order.size());
  for (size_t i = 0; i < order.size(); ++i) perm[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return add_transpose(p, v, std::move(perm));
}

/// Returns whether MatMul supports this type.
bool multiplies(DataType t) { return is_float(t) || (is_integer(t) && bits_of(t) >= 32); }

std::optional<Patch> propose_einsum_to_matmul(const View& view, NodeId id) {
  const Node& n = view.node(id);
  if (n.inputs.size() != 2 || !multiplies(view.type(n.outputs[0]).elem)) return std::nullopt;
  const auto &one = view.type(n.inputs[0]).shape, &other = view.type(n.inputs[1]).shape,
             &output = view.type(n.outputs[0]).shape;
  if (!one || !other || !output) return std::nullopt;
  const EinsumPlan plan = decode<Einsum>(n.attributes).parse({one->size(), other->size()});
  // Weights come second, where kernels and other passes look for them.
  const size_t first = view.is_constant(n.inputs[0]) ? 1 : 0;
  const auto c = contraction(plan, first);
  if (!c) return std::nullopt;
  const Named a{n.inputs[first], plan.terms[first], first == 0 ? &*one : &*other},
      b{n.inputs[1 - first], plan.terms[1 - first], first == 0 ? &*other : &*one};
  // Sizes of 1 stretch in an Einsum, and in the batch of a MatMul.
  for (int axis : c->sums)
    if (!(a.size(axis) == b.size(axis))) return std::nullopt;

  AxisGroups left, right, result;
  for (int axis : c->batch) left.push_back({axis});
  right = result = left;
  // Without a batch, rows may be any number of axes: they are the batch of a MatMul by one matrix.
  if (c->batch.empty())
    for (int axis : c->rows) left.push_back({axis});
  else
    left.push_back(c->rows);
  result = left;
  left.push_back(c->sums);
  right.push_back(c->sums);
  right.push_back(c->columns);
  result.push_back(c->columns);

  Patch p("an Einsum that is a product of matrices");
  const auto x = grouped(p, a, left), w = grouped(p, b, right);
  const auto y = x && w ? without_groups(p, p.add("MatMul", {*x, *w}), result, *output) : std::nullopt;
  if (!y) return std::nullopt;
  p.replace_uses(n.outputs[0], *y);
  p.remove(id);
  return p;
}

}  // namespace

void pass_einsum_to_matmul(PassList& all) {
  all.push_back({.name = "einsum-to-matmul",
                 .description = "makes MatMul of an Einsum that is a product of matrices",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Einsum"},
                 .propose = propose_einsum_to_matmul});
}

}  // namespace lathe
