// Small queries of recognizers of composed patterns.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <set>
#include <span>
#include <string_view>

#include "ops/transpose/transpose.h"
#include "passes/pass.h"
#include "tensor/element.h"

namespace lathe {

inline Tensor ints(std::vector<int64_t> list) {
  return Tensor::from<int64_t>({static_cast<int64_t>(list.size())}, list);
}

/// Returns whether float32 holds the type's numbers; kernels calculate in it.
inline bool fits_float32(DataType t) {
  return t == DataType::float32 || t == DataType::float16 || t == DataType::bfloat16;
}

/// Returns the axes that those of a Transpose come from; empty if the rank is not known.
inline std::vector<int64_t> order_of(const View& view, const Node& transpose) {
  const auto rank = view.rank(transpose.inputs[0]);
  if (!rank) return {};
  const Shape order = decode<Transpose>(transpose.attributes).order(*rank);
  return {order.begin(), order.end()};
}

inline ValueId add_transpose(Patch& p, ValueId x, std::vector<int64_t> perm) {
  if (std::ranges::is_sorted(perm)) return x;
  Attributes a;
  a.set("perm", std::move(perm));
  return p.add("Transpose", {x}, std::move(a));
}

/// Returns whether the node only changes the shape.
inline bool keeps_order(const Node& n) {
  return View::is(n, "Reshape") || View::is(n, "Flatten") || View::is(n, "Squeeze") ||
         View::is(n, "Unsqueeze");
}

/// Returns whether the operator has one operand, and works on each element by itself.
inline bool is_elementwise(const Node& n) {
  static const std::set<std::string_view> one = {"Abs",
                                                 "Acos",
                                                 "Acosh",
                                                 "Asin",
                                                 "Asinh",
                                                 "Atan",
                                                 "Atanh",
                                                 "Cast",
                                                 "Ceil",
                                                 "Celu",
                                                 "Cos",
                                                 "Cosh",
                                                 "Elu",
                                                 "Erf",
                                                 "Exp",
                                                 "Floor",
                                                 "Gelu",
                                                 "HardSigmoid",
                                                 "HardSwish",
                                                 "Identity",
                                                 "LeakyRelu",
                                                 "Log",
                                                 "Mish",
                                                 "Neg",
                                                 "Not",
                                                 "Reciprocal",
                                                 "Relu",
                                                 "Round",
                                                 "Selu",
                                                 "Shrink",
                                                 "Sigmoid",
                                                 "Sign",
                                                 "Sin",
                                                 "Sinh",
                                                 "Softplus",
                                                 "Softsign",
                                                 "Sqrt",
                                                 "Swish",
                                                 "Tan",
                                                 "Tanh",
                                                 "ThresholdedRelu"};
  return n.domain.empty() && one.contains(n.op);
}

/// Returns whether operands are broadcast against each other, and axes have no other meaning.
inline bool broadcasts(const Node& n) {
  static const std::set<std::string_view> several = {
      "Add", "And", "Div", "Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Max",
      "Min", "Mod", "Mul", "Or",    "Pow",     "PRelu",          "Sub",  "Sum",         "Where"};
  return n.domain.empty() && n.inputs.size() >= 2 && several.contains(n.op);
}

/// Returns the input of a commutative node that is not `one`; no_id if `one` is not among its two inputs.
inline ValueId other_input(const Node& n, ValueId one) {
  if (n.inputs.size() != 2) return no_id;
  return n.inputs[0] == one ? n.inputs[1] : n.inputs[1] == one ? n.inputs[0] : no_id;
}

/// An operand and a constant number, as in x * c or c * x.
struct WithNumber {
  ValueId x = no_id;
  double number = 0;
};
inline std::optional<WithNumber> with_number(const View& view, const Node& n) {
  if (n.inputs.size() != 2) return std::nullopt;
  for (size_t i : {size_t{1}, size_t{0}})
    if (const auto c = view.uniform(n.inputs[i])) return WithNumber{n.inputs[1 - i], *c};
  return std::nullopt;
}

/// Returns x if `v` is x times constant numbers, one after the other; `factor` is multiplied by them.
inline ValueId without_factors(const View& view, ValueId v, double& factor) {
  for (;;) {
    const NodeId at = view.producer(v);
    if (at == no_id || !(View::is(view.node(at), "Mul") || View::is(view.node(at), "Div"))) return v;
    const Node& n = view.node(at);
    const auto by = with_number(view, n);
    const bool divides = n.op == "Div";
    if (!by || (divides && by->x != n.inputs[0]) || !view.same_type(by->x, v)) return v;
    factor = divides ? factor / by->number : factor * by->number;
    v = by->x;
  }
}

/// The share by which a constant may differ from the number that it approximates: models round theirs to
/// their type, and people write 0.7071, 0.79788 or 0.16667. It covers a product of two or three of them.
inline double rounding_of(DataType type) {
  return type == DataType::float16 ? 2e-3 : type == DataType::bfloat16 ? 1e-2 : 3e-5;
}
inline bool about(double got, double want, double relative) {
  return std::abs(got - want) <= relative * std::abs(want);
}

/// Returns the greatest magnitude of all elements; infinite if one is not finite.
inline double greatest_magnitude(const Tensor& t) {
  if (t.type() == DataType::float32) {
    // Bits are compared as integers, which are in the same order: weights are many, and may be at any
    // address.
    uint32_t most = 0;
    for (int64_t i = 0; i < t.size(); ++i) {
      uint32_t bits;
      std::memcpy(&bits, static_cast<const std::byte*>(t.data()) + 4 * i, 4);
      most = std::max(most, bits & 0x7fffffffu);
    }
    return most < 0x7f800000u ? static_cast<double>(std::bit_cast<float>(most))
                              : std::numeric_limits<double>::infinity();
  }
  double most = 0;
  for (int64_t i = 0; i < t.size(); ++i) {
    const double x = std::abs(load_double(t, i));
    if (!std::isfinite(x)) return std::numeric_limits<double>::infinity();
    most = std::max(most, x);
  }
  return most;
}

/// Returns whether constants, weights or a bias, may be multiplied with (or divided by) the numbers `by`
/// ahead of a run, instead of the results that the run computes from them. All numbers must be finite and
/// stay so, and no scale may take all digits away: a weight that becomes 0 makes NaN of an infinite input.
/// Constants that may be exchanged later are not checked.
inline bool scales_well(const View& view, std::initializer_list<ValueId> constants,
                        std::span<const double> by, bool divides = false) {
  double most = 0;
  DataType type = DataType::undefined;
  for (ValueId v : constants) {
    const Tensor* t = view.contents(v);
    if (!t) continue;
    type = t->type();
    most = std::max(most, greatest_magnitude(*t));
  }
  const bool wide = type == DataType::float64;
  const double greatest = wide ? std::numeric_limits<double>::max() : std::numeric_limits<float>::max();
  const double least = wide ? std::numeric_limits<double>::min() : std::numeric_limits<float>::min();
  return std::ranges::all_of(by, [&](double scale) {
    if (!std::isfinite(most) || !std::isfinite(scale) || (divides && scale == 0)) return false;
    const double made = divides ? most / std::abs(scale) : most * std::abs(scale);
    return scale == 0 || most == 0 || (made <= greatest && made >= least * 0x1p24);
  });
}
/// The elements of a constant; none if it may be exchanged.
inline std::vector<double> numbers_of(const View& view, ValueId v) {
  std::vector<double> numbers;
  if (const Tensor* t = view.contents(v))
    for (int64_t i = 0; i < t->size(); ++i) numbers.push_back(load_double(*t, i));
  return numbers;
}
/// Returns the factors of BatchNormalization for the channels; none if they may be exchanged.
inline std::vector<double> normalization_scales(const View& view, const Node& n, double epsilon) {
  std::vector<double> scales = numbers_of(view, n.inputs[1]);
  const std::vector<double> variances = numbers_of(view, n.inputs[4]);
  if (variances.size() != scales.size()) return {};
  for (size_t i = 0; i < scales.size(); ++i) scales[i] /= std::sqrt(variances[i] + epsilon);
  return scales;
}

/// x where `v` is x * x, or x ^ 2.
inline ValueId squared(const View& view, ValueId v) {
  if (const Node* mul = view.made_by(v, "Mul"))
    return mul->inputs[0] == mul->inputs[1] ? mul->inputs[0] : no_id;
  if (const Node* pow = view.made_by(v, "Pow"))
    return view.uniform(pow->inputs[1]) == 2.0 ? pow->inputs[0] : no_id;
  return no_id;
}

/// x where `v` is what a reduction makes of the last axes of x, which are kept as axes of size 1; `axis` is
/// the first of them.
struct Reduced {
  ValueId x = no_id;
  int64_t axis = 0;  // from the front
};
inline std::optional<Reduced> reduced(const View& view, ValueId v, std::string_view op) {
  const Node* n = view.made_by(v, op);
  if (!n || n->attributes.get<int64_t>("keepdims", 1) != 1 || n->inputs.size() < 2) return std::nullopt;
  const auto rank = view.rank(n->inputs[0]);
  auto axes = view.integers(n->inputs[1]);
  if (!rank || *rank == 0 || !axes || axes->empty()) return std::nullopt;
  const auto size = static_cast<int64_t>(*rank);
  for (int64_t& a : *axes)
    if (a < 0) a += size;
  std::ranges::sort(*axes);
  for (size_t i = 0; i < axes->size(); ++i)
    if ((*axes)[i] != size - static_cast<int64_t>(axes->size() - i)) return std::nullopt;
  return Reduced{n->inputs[0], axes->front()};
}

/// The sizes of x from `axis` on, where they are numbers.
inline std::optional<Shape> last_sizes(const View& view, ValueId x, int64_t axis) {
  const auto& shape = view.type(x).shape;
  if (!shape) return std::nullopt;
  Shape sizes;
  for (size_t i = static_cast<size_t>(axis); i < shape->size(); ++i) {
    if (!(*shape)[i].is_constant()) return std::nullopt;
    sizes.push_back((*shape)[i].constant());
  }
  return sizes;
}

/// Matches `v` as such a reduction, a sum, times 1 over the number of summed elements.
inline std::optional<Reduced> sum_over_count(const View& view, ValueId v, std::string_view op) {
  double factor = 1;
  const ValueId sum = without_factors(view, v, factor);
  const auto r = sum == v ? std::nullopt : reduced(view, sum, op);
  const auto sizes = r ? last_sizes(view, r->x, r->axis) : std::nullopt;
  return sizes && about(factor * static_cast<double>(count_of(*sizes)), 1, 1e-6) ? r : std::nullopt;
}

inline std::optional<Reduced> mean(const View& view, ValueId v) {
  const auto r = reduced(view, v, "ReduceMean");
  return r ? r : sum_over_count(view, v, "ReduceSum");
}

/// Matches `v` as the mean of squares of x.
inline std::optional<Reduced> mean_square(const View& view, ValueId v) {
  if (const auto r = sum_over_count(view, v, "ReduceSumSquare")) return r;
  const auto r = mean(view, v);
  const ValueId x = r ? squared(view, r->x) : no_id;
  return x == no_id ? std::nullopt : std::optional(Reduced{x, r->axis});
}

/// Returns whether `v` is a constant whose shape is that of the last axes of x, from `axis` on, as the scale
/// of a normalization must be.
inline bool covers_last_axes(const View& view, ValueId v, ValueId x, int64_t axis) {
  const Tensor* t = view.constant(v);
  const auto& shape = view.type(x).shape;
  if (!t || !shape || t->shape().size() != shape->size() - static_cast<size_t>(axis)) return false;
  for (size_t i = 0; i < t->shape().size(); ++i)
    if (!((*shape)[static_cast<size_t>(axis) + i] == Dim(t->shape()[i]))) return false;
  return true;
}

}  // namespace lathe
