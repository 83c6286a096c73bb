// Einsum of three operands or more becomes Einsums of two: one loop over all axes at once takes as many steps
// as the product of their sizes, and products of matrices, which most pairs are, have kernels.
#include <algorithm>
#include <limits>

#include "ops/einsum/einsum.h"
#include "passes/patterns.h"

namespace lathe {
namespace {

using PairAxes = std::vector<int>;  // by their numbers in the equation

struct Operand {
  ValueId x = no_id;
  PairAxes axes;
  bool has(int axis) const { return std::ranges::find(axes, axis) != axes.end(); }
};

/// An equation that is being decomposed.
class Pairs {
 public:
  Pairs(Patch& p, std::vector<Operand> operands, int output_axes, std::vector<double> sizes)
      : p_(p), operands_(std::move(operands)), output_axes_(output_axes), sizes_(std::move(sizes)) {}

  ValueId result() {
    for (size_t i = 0; i < operands_.size(); ++i) sum_alone(i);
    while (operands_.size() > 2) join_cheapest();
    PairAxes output(static_cast<size_t>(output_axes_));
    for (size_t i = 0; i < output.size(); ++i) output[i] = static_cast<int>(i);
    return product(operands_[0], operands_[1], output);
  }

 private:
  /// Returns whether the axis belongs to the output, or to an operand other than these.
  bool wanted(int axis, size_t i, size_t j) const {
    if (axis < output_axes_) return true;
    for (size_t o = 0; o < operands_.size(); ++o)
      if (o != i && o != j && operands_[o].has(axis)) return true;
    return false;
  }

  /// Sums the axes that no other operand has.
  void sum_alone(size_t i) {
    Operand& o = operands_[i];
    std::vector<int64_t> summed;
    PairAxes kept;
    for (size_t k = 0; k < o.axes.size(); ++k) {
      if (wanted(o.axes[k], i, i))
        kept.push_back(o.axes[k]);
      else
        summed.push_back(static_cast<int64_t>(k));
    }
    if (summed.empty()) return;
    Attributes a;
    a.set("keepdims", int64_t{0});
    o = {p_.add("ReduceSum", {o.x, p_.add_constant("axes", ints(std::move(summed)))}, std::move(a)), kept};
  }

  /// Returns the axes that remain of two operands, in the order of a product of matrices: batch, rows,
  /// columns.
  PairAxes left_of(size_t i, size_t j) const {
    const Operand &a = operands_[i], &b = operands_[j];
    PairAxes left;
    for (bool both : {true, false})
      for (int axis : a.axes)
        if (b.has(axis) == both && wanted(axis, i, j)) left.push_back(axis);
    for (int axis : b.axes)
      if (!a.has(axis)) left.push_back(axis);
    return left;
  }

  double elements(const PairAxes& axes) const {
    double n = 1;
    for (int axis : axes) n *= sizes_[static_cast<size_t>(axis)];
    return n;
  }

  /// Joins the two operands whose product is smallest, compared with their own sizes.
  void join_cheapest() {
    size_t first = 0, second = 1;
    double least = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < operands_.size(); ++i)
      for (size_t j = i + 1; j < operands_.size(); ++j) {
        const double more =
            elements(left_of(i, j)) - elements(operands_[i].axes) - elements(operands_[j].axes);
        if (more < least) least = more, first = i, second = j;
      }
    PairAxes left = left_of(first, second);
    const ValueId x = product(operands_[first], operands_[second], left);
    operands_[first] = {x, std::move(left)};
    operands_.erase(operands_.begin() + static_cast<std::ptrdiff_t>(second));
  }

  ValueId product(const Operand& a, const Operand& b, const PairAxes& to) {
    const auto last_of_all = [&](const PairAxes& axes) {
      return axes.size() <= to.size() && std::equal(axes.rbegin(), axes.rend(), to.rbegin());
    };
    if ((a.axes == to && last_of_all(b.axes)) || (b.axes == to && last_of_all(a.axes)))
      return p_.add("Mul", {a.x, b.x});
    std::string equation;
    const auto write = [&](const PairAxes& axes) {
      for (int axis : axes) equation += static_cast<char>(axis < 26 ? 'a' + axis : 'A' + axis - 26);
    };
    write(a.axes);
    equation += ',';
    write(b.axes);
    equation += "->";
    write(to);
    Attributes attributes;
    attributes.set("equation", std::move(equation));
    return p_.add("Einsum", {a.x, b.x}, std::move(attributes));
  }

  Patch& p_;
  std::vector<Operand> operands_;
  int output_axes_;
  std::vector<double> sizes_;
};

/// True for types that MatMul supports, except those of 16 bits: intermediate results would be rounded, too.
bool keeps_numbers(DataType t) { return (is_float(t) || is_integer(t)) && bits_of(t) >= 32; }

std::optional<Patch> propose_einsum_in_pairs(const View& view, NodeId id) {
  const Node& n = view.node(id);
  constexpr int letters = 52;
  if (n.inputs.size() < 3 || !keeps_numbers(view.type(n.outputs[0]).elem)) return std::nullopt;
  std::vector<size_t> ranks;
  for (ValueId v : n.inputs) {
    if (!view.type(v).shape) return std::nullopt;
    ranks.push_back(view.type(v).shape->size());
  }
  const EinsumPlan plan = decode<Einsum>(n.attributes).parse(ranks);
  if (plan.axes > letters) return std::nullopt;
  std::vector<Operand> operands;
  std::vector<const Dim*> sizes(static_cast<size_t>(plan.axes), nullptr);
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    operands.push_back({n.inputs[i], plan.terms[i]});
    for (size_t k = 0; k < ranks[i]; ++k) {
      const int axis = plan.terms[i][k];
      const Dim& size = (*view.type(n.inputs[i]).shape)[k];
      const Dim*& known = sizes[static_cast<size_t>(axis)];
      // Equations with diagonals, or with sizes of 1 that stretch, stay.
      if (std::ranges::count(plan.terms[i], axis) > 1 || (known && !(*known == size))) return std::nullopt;
      known = &size;
    }
  }
  // Any order is right: assumed sizes only decide which is taken.
  constexpr double thought = 64;
  std::vector<double> counts;
  for (const Dim* d : sizes)
    counts.push_back(d && d->is_constant() ? static_cast<double>(d->constant()) : thought);

  Patch p("an Einsum of many operands, two at a time");
  p.replace_uses(n.outputs[0], Pairs(p, std::move(operands), plan.output_axes, std::move(counts)).result());
  p.remove(id);
  return p;
}

}  // namespace

void pass_einsum_in_pairs(PassList& all) {
  all.push_back({.name = "einsum-in-pairs",
                 .description = "takes an Einsum of three operands or more apart, two at a time",
                 .level = OptimizationLevel::basic,
                 .anchors = {"Einsum"},
                 .propose = propose_einsum_in_pairs});
}

}  // namespace lathe
