// An operator of two operands between a change of shape and the change back works on the original shape. Its
// other operand, a constant, takes that shape: masks of windows, bias of groups of channels.
#include "passes/patterns.h"

namespace lathe {
namespace {

/// A constant that is repeated to fit has at most this many elements.
constexpr int64_t max_elements = int64_t{1} << 22;

/// Axes of one shape that hold the elements of axes of the other.
struct Group {
  size_t x, x_end, y, y_end;
};

/// Returns the next group from these axes on, the smallest whose sizes are known to be equal.
std::optional<Group> next_group(const SymShape& x, const SymShape& y, size_t from_x, size_t from_y) {
  Dim left = 1;
  for (size_t i = from_x; i < x.size(); ++i) {
    left = left * x[i];
    Dim right = 1;
    for (size_t j = from_y; j < y.size(); ++j)
      if (right = right * y[j]; left == right) return Group{from_x, i + 1, from_y, j + 1};
  }
  return std::nullopt;
}

std::optional<std::vector<Group>> groups(const SymShape& x, const SymShape& y) {
  std::vector<Group> all;
  for (size_t i = 0, j = 0; i < x.size() && j < y.size(); i = all.back().x_end, j = all.back().y_end) {
    const auto g = next_group(x, y, i, j);
    if (!g) return std::nullopt;
    all.push_back(*g);
  }
  if (all.empty()) return std::nullopt;
  all.back().x_end = x.size();  // axes of size 1
  all.back().y_end = y.size();
  return all;
}

/// Returns constant `c`, which broadcasts to shape y, for the same elements in shape x.
std::optional<ValueId> reshaped(const View& view, Patch& p, ValueId c, const SymShape& x, const SymShape& y) {
  const Tensor* t = view.constant(c);
  const auto parts = t && t->rank() <= y.size() ? groups(x, y) : std::nullopt;
  if (!parts) return std::nullopt;
  std::vector<int64_t> sizes(y.size() - t->rank(), 1), repeated, shape;
  sizes.insert(sizes.end(), t->shape().begin(), t->shape().end());
  for (const Group& g : *parts) {
    const bool ones = std::all_of(sizes.begin() + static_cast<std::ptrdiff_t>(g.y),
                                  sizes.begin() + static_cast<std::ptrdiff_t>(g.y_end),
                                  [](int64_t size) { return size == 1; });
    for (size_t j = g.y; j < g.y_end; ++j) {
      if (!ones && !(y[j].is_constant() && y[j].constant() > 0)) return std::nullopt;
      repeated.push_back(ones ? 1 : y[j].constant());
    }
    for (size_t i = g.x; i < g.x_end; ++i) {
      if (!ones && !x[i].is_constant()) return std::nullopt;
      shape.push_back(ones ? 1 : x[i].constant());
    }
  }
  ValueId v = c;
  if (repeated != sizes) {
    if (count_of(Shape(repeated.begin(), repeated.end())) > max_elements) return std::nullopt;
    v = p.add("Expand", {v, p.add_constant("repeated", ints(repeated))});
  }
  return p.add("Reshape", {v, p.add_constant("shape", ints(shape))});
}

/// The anchor is the change back.
std::optional<Patch> propose_between_reshapes(const View& view, NodeId id) {
  const Node& back = view.node(id);
  const NodeId at = view.producer(back.inputs[0]);
  if (at == no_id || !view.read_once(back.inputs[0])) return std::nullopt;
  const Node& n = view.node(at);
  if (!View::is(n, "Add") && !View::is(n, "Sub") && !View::is(n, "Mul") && !View::is(n, "Div"))
    return std::nullopt;
  for (size_t i : {size_t{0}, size_t{1}}) {
    const NodeId there = view.producer(n.inputs[i]);
    if (there == no_id || !keeps_order(view.node(there)) || !view.read_once(n.inputs[i]) ||
        !view.same_type(n.inputs[i], n.outputs[0]))
      continue;
    const ValueId x = view.node(there).inputs[0];
    if (!view.same_type(x, back.outputs[0])) continue;
    Patch p(n.op + " in the shape that there is before and after");
    const auto c = reshaped(view, p, n.inputs[1 - i], *view.type(x).shape, *view.type(n.inputs[i]).shape);
    if (!c) continue;
    Operands inputs;
    inputs.set(i, x);
    inputs.set(1 - i, *c);
    p.replace_uses(back.outputs[0], p.add(n.op, std::move(inputs)));
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

}  // namespace

void pass_between_reshapes(PassList& all) {
  all.push_back(
      {.name = "between-reshapes",
       .description = "calculates with constants in the shape that there is before and after a detour",
       .level = OptimizationLevel::basic,
       .anchors = {"Reshape", "Flatten", "Squeeze", "Unsqueeze"},
       .propose = propose_between_reshapes});
}

}  // namespace lathe
