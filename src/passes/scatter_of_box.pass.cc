// ScatterND by known indices that name a box of the data, one element or slice after the other, as exporters
// write assignments to slices, becomes a Concat of the data before the box, the updates, and the data behind
// it.
#include "passes/patterns.h"

namespace lathe {
namespace {

/// Returns the sizes of the first `count` axes, if all are known.
std::optional<std::vector<int64_t>> first_sizes(const SymShape& shape, size_t count) {
  std::vector<int64_t> sizes;
  for (size_t a = 0; a < count; ++a) {
    const auto size = shape[a].value();
    if (!size) return std::nullopt;
    sizes.push_back(*size);
  }
  return sizes;
}

/// A box along the first axes of the data.
struct Box {
  std::vector<int64_t> begin, size;
};
/// Returns the elements that the tuples name, if they are a box in its order; `extents`: the sizes of those
/// axes.
std::optional<Box> box_of(const Tensor& indices, const std::vector<int64_t>& extents) {
  const auto axes = static_cast<int64_t>(extents.size()), tuples = indices.size() / axes;
  const int64_t* const numbers = indices.as<int64_t>().data();
  const auto index = [&](int64_t tuple, int64_t axis) {
    const int64_t i = numbers[tuple * axes + axis];
    return i < 0 ? i + extents[static_cast<size_t>(axis)] : i;
  };
  Box box;
  int64_t all = 1;
  for (int64_t a = 0; a < axes; ++a) {
    const int64_t first = index(0, a), last = index(tuples - 1, a);  // any numbers
    if (first < 0 || last < first || last >= extents[static_cast<size_t>(a)] || last - first >= tuples / all)
      return std::nullopt;
    box.begin.push_back(first);
    box.size.push_back(last - first + 1);
    all *= box.size.back();
  }
  if (all != tuples) return std::nullopt;
  for (int64_t t = 0; t < tuples; ++t)
    for (int64_t a = axes, rest = t; a-- > 0;) {
      const int64_t size = box.size[static_cast<size_t>(a)];
      if (index(t, a) != box.begin[static_cast<size_t>(a)] + rest % size) return std::nullopt;
      rest /= size;
    }
  return box;
}

std::optional<Patch> concatenate(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const ValueId data = n.inputs[0], updates = n.inputs[2];
  const auto &shape = view.type(data).shape, &given = view.type(updates).shape;
  const Tensor* indices = view.contents(n.inputs[1]);
  if (n.attributes.get<std::string>("reduction", "none") != "none" || !shape || !given || !indices ||
      indices->size() == 0)
    return std::nullopt;
  const auto axes = static_cast<size_t>(indices->dim(indices->rank() - 1));
  const auto extents = axes <= shape->size() ? first_sizes(*shape, axes) : std::nullopt;
  const auto box = extents ? box_of(*indices, *extents) : std::nullopt;
  if (!box) return std::nullopt;
  std::vector<int64_t> parts;  // axes along which the box does not cover the data
  SymShape boxed = *shape;
  for (size_t a = 0; a < axes; ++a) {
    boxed[a] = Dim(box->size[a]);
    if (box->size[a] != (*extents)[a]) parts.push_back(static_cast<int64_t>(a));
  }
  const auto sizes = first_sizes(boxed, boxed.size());
  if (parts.size() > 1 || (!sizes && boxed != *given)) return std::nullopt;
  Patch p("indices that name a box");
  ValueId made = updates;
  if (boxed != *given) made = p.add("Reshape", {updates, p.add_constant("box", ints(*sizes))});
  if (!parts.empty()) {
    const int64_t axis = parts[0], begin = box->begin[static_cast<size_t>(axis)],
                  end = begin + box->size[static_cast<size_t>(axis)];
    const auto piece = [&](int64_t from, int64_t to) {
      return p.add("Slice", {data, p.add_constant("starts", ints({from})), p.add_constant("ends", ints({to})),
                             p.add_constant("axes", ints({axis}))});
    };
    std::vector<ValueId> all;
    if (begin > 0) all.push_back(piece(0, begin));
    all.push_back(made);
    if (const int64_t last = (*extents)[static_cast<size_t>(axis)]; end < last)
      all.push_back(piece(end, last));
    Attributes along;
    along.set("axis", axis);
    made = p.add("Concat", std::move(all), std::move(along));
  } else if (made == updates) {  // an output of the graph has to be made here
    made = p.add("Identity", {updates});
  }
  p.replace_uses(n.outputs[0], made);
  p.remove(id);
  return p;
}

}  // namespace

void pass_scatter_of_box(PassList& all) {
  all.push_back({.name = "scatter-of-box",
                 .description = "concatenates where ScatterND replaces a box of its data",
                 .level = OptimizationLevel::basic,
                 .anchors = {"ScatterND"},
                 .propose = concatenate});
}

}  // namespace lathe
