// Takes sizes from the earliest value that has them: values in between need not stay in memory for their
// sizes, can be fused with their only remaining reader, and are one pattern with it.
#include "passes/patterns.h"

namespace lathe {
namespace {

/// Returns the axes whose sizes a Gather or Slice takes from the list of all, counted from the front; nothing
/// if they are not known.
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

/// Axes of a value that have the required sizes.
struct Source {
  ValueId from = no_id;
  std::vector<size_t> axes;
};

/// Returns the axes of `from` that are as long as these of `v`, if it has them all. Sizes of an input are
/// numbers and names, which every run is checked against.
std::optional<Source> source(const View& view, ValueId from, ValueId v, const std::vector<size_t>& axes) {
  const ValueType& t = view.type(from);
  if (!t.is_tensor() || !t.shape || view.is_constant(from)) return std::nullopt;
  const SymShape &there = *t.shape, &wanted = *view.type(v).shape;
  Source s{from, {}};
  for (size_t axis : axes) {
    size_t i = axis;
    if (i >= there.size() || !(there[i] == wanted[axis]))
      i = static_cast<size_t>(std::ranges::find(there, wanted[axis]) - there.begin());
    if (i == there.size()) return std::nullopt;
    s.axes.push_back(i);
  }
  return s;
}

/// Returns the earliest value that has these sizes and is `wanted`: an input of the graph, or a value from
/// which `v` is made. Returns nothing if that is `v` itself.
template <class Wanted>
std::optional<Source> earliest(const View& view, ValueId v, const std::vector<size_t>& axes,
                               Wanted&& wanted) {
  if (!view.type(v).shape || view.graph().value(v).is_input) return std::nullopt;
  for (ValueId input : view.graph().inputs())
    if (auto s = source(view, input, v, axes); s && wanted(*s)) return s;
  std::optional<Source> found;
  for (Source at{v, axes};;) {
    const NodeId id = view.producer(at.from);
    std::optional<Source> next;
    for (ValueId input : view.node(id).inputs)
      if (input != no_id && !next) {
        next = source(view, input, at.from, at.axes);
        if (next && !wanted(*next)) next.reset();
      }
    if (!next) return found;
    found = at = *next;
  }
}

/// The anchor is the Shape. Some sizes may come from another value than all of them.
std::optional<Patch> whole(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto rank = view.rank(n.inputs[0]);
  if (!rank || !view.type(n.inputs[0]).is_tensor()) return std::nullopt;
  const auto counted = [&](const char* name, int64_t otherwise) {
    const auto given = n.attributes.get<int64_t>(name, otherwise), all = static_cast<int64_t>(*rank);
    return static_cast<size_t>(std::clamp<int64_t>(given < 0 ? given + all : given, 0, all));
  };
  std::vector<size_t> axes;
  for (size_t i = counted("start", 0), end = counted("end", static_cast<int64_t>(*rank)); i < end; ++i)
    axes.push_back(i);
  if (axes.empty()) return std::nullopt;
  const bool all = axes.size() == *rank;
  const auto s = earliest(view, n.inputs[0], axes, [&](const Source& found) {
    for (size_t i = 1; i < found.axes.size(); ++i)
      if (found.axes[i] != found.axes[i - 1] + 1) return false;
    return !all || view.rank(found.from) == rank;
  });
  if (!s) return std::nullopt;
  Patch p("an earlier value has these sizes");
  Attributes a;
  if (!all) {
    a.set("start", static_cast<int64_t>(s->axes.front()));
    a.set("end", static_cast<int64_t>(s->axes.back()) + 1);
  }
  p.replace_uses(n.outputs[0], p.add("Shape", {s->from}, std::move(a)));
  p.remove(id);
  return p;
}

/// Takes some of all sizes; the anchor is the Gather or Slice.
std::optional<Patch> some(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const Node* shape = view.made_by(n.inputs[0], "Shape");
  const auto rank = shape ? view.rank(shape->inputs[0]) : std::nullopt;
  const auto& made = view.type(n.outputs[0]).shape;
  if (!rank || !made || made->size() > 1 || shape->attributes.has("start") || shape->attributes.has("end"))
    return std::nullopt;
  const auto axes = axes_taken(view, n, *rank);
  if (!axes || axes->empty()) return std::nullopt;
  const auto s = earliest(view, shape->inputs[0], *axes, [](const Source&) { return true; });
  if (!s) return std::nullopt;
  Patch p("an earlier value has these sizes");
  const Shape like = made->empty() ? Shape{} : Shape{static_cast<int64_t>(s->axes.size())};
  const std::vector<int64_t> numbers(s->axes.begin(), s->axes.end());
  const ValueId index = p.add_constant("index", Tensor::from<int64_t>(like, numbers));
  p.replace_uses(n.outputs[0], p.add("Gather", {p.add("Shape", {s->from}), index}));
  p.remove(id);
  return p;
}

}  // namespace

void pass_shapes_upstream(PassList& all) {
  const auto level = OptimizationLevel::basic;
  all.push_back({.name = "shape-upstream",
                 .description = "takes sizes from the earliest value that has them",
                 .level = level,
                 .anchors = {"Shape"},
                 .propose = whole});
  all.push_back({.name = "sizes-upstream",
                 .description = "takes some sizes from the earliest value that has them",
                 .level = level,
                 .anchors = {"Gather", "Slice"},
                 .propose = some});
}

}  // namespace lathe
