#include "ops/einsum/einsum.h"

#include <algorithm>
#include <numeric>

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// A value with the numbers of its axes.
struct EinsumTerm {
  ValueId v = no_id;
  std::vector<int> axes;
  bool has(int axis) const { return std::ranges::find(axes, axis) != axes.end(); }
  int64_t at(int axis) const { return std::ranges::find(axes, axis) - axes.begin(); }
};

EinsumTerm in_order(DecomposeContext& c, const EinsumTerm& t, const std::vector<int>& axes) {
  if (axes == t.axes) return t;
  std::vector<int64_t> order;
  for (int a : axes) order.push_back(t.at(a));
  return {transposed(c, t.v, order), axes};
}

/// Orders the axes, with size 1 for those that the term lacks.
ValueId stretched(DecomposeContext& c, const EinsumTerm& t, const std::vector<int>& axes) {
  std::vector<int> own;
  std::vector<int64_t> missing;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (t.has(axes[i]))
      own.push_back(axes[i]);
    else
      missing.push_back(static_cast<int64_t>(i));
  }
  const ValueId v = in_order(c, t, own).v;
  return missing.empty() ? v : unsqueezed(c, v, missing);
}

EinsumTerm summed(DecomposeContext& c, const EinsumTerm& t, auto&& is_wanted) {
  EinsumTerm left;
  std::vector<int64_t> gone;
  for (size_t i = 0; i < t.axes.size(); ++i) {
    if (is_wanted(t.axes[i]))
      left.axes.push_back(t.axes[i]);
    else
      gone.push_back(static_cast<int64_t>(i));
  }
  left.v = gone.empty() ? t.v : reduced(c, "ReduceSum", t.v, gone, false);
  return left;
}

/// An axis that is named twice is a diagonal.
EinsumTerm diagonals(DecomposeContext& c, EinsumTerm t) {
  for (size_t i = 0; i < t.axes.size(); ++i)
    for (size_t k = i + 1; k < t.axes.size(); ++k) {
      if (t.axes[i] != t.axes[k]) continue;
      const auto a = static_cast<int64_t>(i), b = static_cast<int64_t>(k);
      if (!(size_of(c, t.v, a) == size_of(c, t.v, b)))
        unsupported("axes of one letter that are surely equal", c.type(t.v).str());
      std::vector<int64_t> order{a, b};
      std::vector<int> axes{t.axes[i]};
      for (size_t n = 0; n < t.axes.size(); ++n)
        if (n != i && n != k) {
          order.push_back(static_cast<int64_t>(n));
          axes.push_back(t.axes[n]);
        }
      const ValueId first = transposed(c, t.v, order);
      const auto size = known(size_of(c, first, 0));
      ValueId at;
      if (size) {
        std::vector<int64_t> all;
        for (int64_t n = 0; n < *size; ++n) all.push_back(n * (*size + 1));
        at = ints(c, all);
      } else {
        at = one(c, "Mul", {indices_along(c, first, 0), plus(c, length(c, first, 0), 1)});
      }
      return diagonals(c, {gathered(c, first_axes_as_one(c, first, 2), at, 0), axes});
    }
  return t;
}

/// The product of two terms, summed over the axes that are not needed any more: by MatMul if there are any.
EinsumTerm multiplied(DecomposeContext& c, const EinsumTerm& first, const EinsumTerm& second,
                      auto&& is_wanted) {
  const EinsumTerm a = summed(c, first, [&](int x) { return is_wanted(x) || second.has(x); });
  const EinsumTerm b = summed(c, second, [&](int x) { return is_wanted(x) || a.has(x); });
  std::vector<int> batch, left, right, within;
  bool alike = true;
  for (int x : a.axes) {
    if (!b.has(x)) {
      left.push_back(x);
    } else if (is_wanted(x)) {
      batch.push_back(x);
    } else {
      within.push_back(x);
      alike = alike && size_of(c, a.v, a.at(x)) == size_of(c, b.v, b.at(x));
    }
  }
  for (int x : b.axes)
    if (!a.has(x)) right.push_back(x);
  const auto joined = [](std::initializer_list<std::vector<int>> lists) {
    std::vector<int> all;
    for (const auto& l : lists) all.insert(all.end(), l.begin(), l.end());
    return all;
  };
  const std::vector<int> kept = joined({batch, left, right});
  if (within.empty() || !alike) {
    const std::vector<int> all = joined({kept, within});
    const ValueId product = one(c, "Mul", {stretched(c, a, all), stretched(c, b, all)});
    return summed(c, {product, all}, is_wanted);
  }
  const EinsumTerm x = in_order(c, a, joined({batch, left, within})),
                   y = in_order(c, b, joined({batch, within, right}));
  const auto n = static_cast<int64_t>(batch.size()), l = static_cast<int64_t>(left.size()),
             w = static_cast<int64_t>(within.size()), r = static_cast<int64_t>(right.size());
  const auto as_matrix = [&](ValueId v, int64_t rows, int64_t columns) {
    if (rows == 1 && columns == 1) return v;
    std::vector<ValueId> sizes;
    for (int64_t i = 0; i < n; ++i) sizes.push_back(size_of_axes(c, v, i, i + 1));
    sizes.push_back(size_of_axes(c, v, n, n + rows));
    sizes.push_back(size_of_axes(c, v, n + rows, n + rows + columns));
    return reshaped_to(c, v, sizes_of(c, std::move(sizes)));
  };
  const ValueId product = one(c, "MatMul", {as_matrix(x.v, l, w), as_matrix(y.v, w, r)});
  if (l == 1 && r == 1) return {product, kept};
  std::vector<ValueId> sizes;
  for (int64_t i = 0; i < n; ++i) sizes.push_back(size_of_axes(c, product, i, i + 1));
  for (int64_t i = 0; i < l; ++i) sizes.push_back(size_of_axes(c, x.v, n + i, n + i + 1));
  for (int64_t i = 0; i < r; ++i) sizes.push_back(size_of_axes(c, y.v, n + w + i, n + w + i + 1));
  if (sizes.empty()) return {as_scalar(c, product), kept};
  return {reshaped_to(c, product, sizes_of(c, std::move(sizes))), kept};
}

/// Two inputs after another.
std::vector<ValueId> einsum(DecomposeContext& c) {
  const Node node = c.node();
  if (c.opset() >= 12 || bits_of(elem_of(c, input(c, 0))) < 32) return in_wider_types(c);
  std::vector<size_t> ranks;
  for (ValueId v : node.inputs) ranks.push_back(static_cast<size_t>(rank_of(c, v)));
  const EinsumPlan plan = decode<Einsum>(node.attributes).parse(ranks);
  std::vector<EinsumTerm> terms;
  for (size_t i = 0; i < ranks.size(); ++i) terms.push_back(diagonals(c, {node.inputs[i], plan.terms[i]}));
  EinsumTerm so_far = terms[0];
  const auto wanted_after = [&](size_t i) {
    return [&, i](int axis) {
      return axis < plan.output_axes ||
             std::any_of(terms.begin() + static_cast<std::ptrdiff_t>(i), terms.end(),
                         [&](const EinsumTerm& t) { return t.has(axis); });
    };
  };
  for (size_t i = 1; i < terms.size(); ++i) so_far = multiplied(c, so_far, terms[i], wanted_after(i + 1));
  so_far = summed(c, so_far, wanted_after(terms.size()));
  std::vector<int> output(static_cast<size_t>(plan.output_axes));
  std::iota(output.begin(), output.end(), 0);
  return {stretched(c, so_far, output)};
}

}  // namespace
}  // namespace decomposition

void declare_einsum(SchemaCatalog& c) {
  c.add("Einsum")
      .version(12, "(Inputs*1: T) -> (Output: T) {equation: string!} [T: @number]")
      .version(28, "(Inputs*1: T) -> (Output: T) {equation: string!} [T: @number_13]")
      .rule<Einsum>()
      .decompose(decomposition::einsum)
      .tolerance({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
