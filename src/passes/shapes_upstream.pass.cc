// Sizes are asked of the earliest value that has them: what is computed in between need not be kept for
// that, can be fused with its only reader left, and is one pattern with it.
#include "passes/patterns.h"

namespace lathe {
namespace {

/// The axes whose sizes a Gather or Slice takes from the list of all, counted from the front; nothing where
/// that is not known.
std::optional<std::vector<size_t>> axes_taken(const View& view, const Node& n, size_t rank) {
  const auto all = static_cast<int64_t>(rank);
  std::vector<int64_t> list;
  if (n.op == "Gather") {
    const auto indices = view.integers(n.inputs[1]);
    if (!indices) return std::nullopt;
    list = *indices;
  } else {
    const auto number = [&](size_t i, int64_t otherwise) -> std::optional<int64_t> {
      if (n.inputs.size() <= i || n.inputs[i] == no_id) return otherwise;
      const auto given = view.integers(n.inputs[i]);
      return given && given->size() == 1 ? std::optional((*given)[0]) : std::nullopt;
    };
    auto start = number(1, 0), end = number(2, all);
    if (!start || !end || number(4, 1) != 1) return std::nullopt;
    for (auto* x : {&*start, &*end}) *x = std::clamp<int64_t>(*x < 0 ? *x + all : *x, 0, all);
    for (int64_t i = *start; i < *end; ++i) list.push_back(i);
  }
  std::vector<size_t> axes;
  for (int64_t i : list) {
    if (i < -all || i >= all) return std::nullopt;
    axes.push_back(static_cast<size_t>(i < 0 ? i + all : i));
  }
  return axes;
}

/// An input of what makes `v` that has the same sizes along these axes, and as many in all where that is
/// wanted; no_id for none.
ValueId upstream(const View& view, ValueId v, const std::vector<size_t>& axes, bool as_many) {
  const NodeId at = view.producer(v);
  const auto& shape = view.type(v).shape;
  if (at == no_id || !shape) return no_id;
  for (ValueId input : view.node(at).inputs) {
    const ValueType& t = view.type(input);
    if (!t.is_tensor() || !t.shape || (as_many && t.shape->size() != shape->size()) ||
        view.is_constant(input))
      continue;
    if (std::ranges::all_of(axes,
                            [&](size_t i) { return i < t.shape->size() && (*t.shape)[i] == (*shape)[i]; }))
      return input;
  }
  return no_id;
}

ValueId most_upstream(const View& view, ValueId v, const std::vector<size_t>& axes, bool as_many) {
  for (ValueId next = v; next != no_id; next = upstream(view, v, axes, as_many)) v = next;
  return v;
}

/// All sizes; the anchor is the Shape.
std::optional<Patch> whole(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto rank = view.rank(n.inputs[0]);
  if (!rank || !view.type(n.inputs[0]).is_tensor()) return std::nullopt;
  std::vector<size_t> axes;
  const auto counted = [&](const char* name, int64_t otherwise) {
    const auto given = n.attributes.get<int64_t>(name, otherwise), all = static_cast<int64_t>(*rank);
    return static_cast<size_t>(std::clamp<int64_t>(given < 0 ? given + all : given, 0, all));
  };
  for (size_t i = counted("start", 0), end = counted("end", static_cast<int64_t>(*rank)); i < end; ++i)
    axes.push_back(i);
  const ValueId from = most_upstream(view, n.inputs[0], axes, true);
  if (from == n.inputs[0]) return std::nullopt;
  Patch p("an earlier value has these sizes");
  p.replace_uses(n.outputs[0], p.add("Shape", {from}, n.attributes));
  p.remove(id);
  return p;
}

/// The shape of the indices of a Gather.
std::optional<Shape> index_shape(const View& view, const Node& gather) {
  const auto& shape = view.type(gather.inputs[1]).shape;
  if (!shape || !std::ranges::all_of(*shape, &Dim::is_constant)) return std::nullopt;
  Shape numbers;
  for (const Dim& d : *shape) numbers.push_back(d.constant());
  return numbers;
}

/// Some of them; the anchor is the Gather or Slice.
std::optional<Patch> some(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* shape = view.made_by(n.inputs[0], "Shape");
  const auto rank = shape ? view.rank(shape->inputs[0]) : std::nullopt;
  if (!rank || shape->attributes.has("start") || shape->attributes.has("end")) return std::nullopt;
  const auto axes = axes_taken(view, n, *rank);
  if (!axes || axes->empty() || (n.op == "Gather" && !index_shape(view, n))) return std::nullopt;
  const ValueId from = most_upstream(view, shape->inputs[0], *axes, false);
  if (from == shape->inputs[0]) return std::nullopt;
  Patch p("an earlier value has these sizes");
  // Counted from the front: it may have more axes, or fewer.
  const std::vector<int64_t> counted(axes->begin(), axes->end());
  std::vector<ValueId> inputs{p.add("Shape", {from})};
  if (n.op == "Gather") {
    inputs.push_back(p.add_constant("index", Tensor::from<int64_t>(*index_shape(view, n), counted)));
  } else {
    inputs.push_back(p.add_constant("starts", ints({counted.front()})));
    inputs.push_back(p.add_constant("ends", ints({counted.back() + 1})));
  }
  p.replace_uses(n.outputs[0], p.add(n.op, std::move(inputs)));
  p.remove(id);
  return p;
}

}  // namespace

void pass_shapes_upstream(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "shape-upstream",
                 .says = "asks the earliest value for sizes that it has",
                 .level = level,
                 .anchors = {"Shape"},
                 .propose = whole});
  all.push_back({.name = "sizes-upstream",
                 .says = "asks the earliest value for some sizes that it has",
                 .level = level,
                 .anchors = {"Gather", "Slice"},
                 .propose = some});
}

}  // namespace lathe
