#include "targets/cpu/blocked_movements.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <vector>

#include "cpu/nchw16c.h"
#include "tensor/element.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

const SymShape* shape_of(const Graph& g, ValueId v) {
  const auto& shape = g.value(v).type.shape;
  return shape ? &*shape : nullptr;
}

/// Returns which input has the numbers, 2 (scales) or 3 (sizes); nothing if they are not constant.
std::optional<size_t> numbers_of(const Graph& g, const Node& n) {
  for (size_t i : {size_t{3}, size_t{2}}) {
    if (i >= n.inputs.size() || n.inputs[i] == no_id) continue;
    const Tensor* t = g.constant_tensor(n.inputs[i]);
    if (t && t->size() > 0) return i;
    if (!t) return std::nullopt;
  }
  return std::nullopt;
}

/// The axes that a Resize's numbers apply to, counted from the front.
Ints resized_axes(const Attributes& a, size_t rank) {
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  axes = a.get<Ints>("axes", axes);
  for (int64_t& axis : axes)
    if (axis < 0) axis += static_cast<int64_t>(rank);
  return axes;
}

/// The sizes of the parts by their types; nothing if one is not known.
std::optional<Ints> parts_of(const Graph& g, const Node& n, size_t axis) {
  Ints parts;
  for (ValueId v : n.outputs) {
    const SymShape* shape = v == no_id ? nullptr : shape_of(g, v);
    const auto size = shape ? (*shape)[axis].value() : std::nullopt;
    if (!size) return std::nullopt;
    parts.push_back(*size);
  }
  return parts;
}

}  // namespace

bool resizes_pixels(const Graph& g, const Node& n) {
  const SymShape* x = shape_of(g, n.inputs[0]);
  const auto numbers = numbers_of(g, n);
  if (!x || !numbers) return false;
  const Attributes& a = n.attributes;
  const auto mode = a.get<std::string>("mode", "nearest");
  if ((mode != "nearest" && mode != "linear") || a.get<int64_t>("antialias", 0) != 0 ||
      a.get<std::string>("coordinate_transformation_mode", "half_pixel").starts_with("tf_") ||
      a.get<std::string>("keep_aspect_ratio_policy", "stretch") != "stretch")
    return false;
  const Tensor& t = *g.constant_tensor(n.inputs[*numbers]);
  const Ints axes = resized_axes(a, x->size());
  if (t.size() != static_cast<int64_t>(axes.size())) return false;
  for (size_t i = 0; i < axes.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (axes[i] >= 2) continue;
    if (*numbers == 2 ? load_double(t, at) != 1
                      : !((*x)[static_cast<size_t>(axes[i])] == Dim(load_int(t, at))))
      return false;
  }
  return true;
}

void describe_resize(Graph& g, const Node& old, Node& n) {
  const size_t numbers = *numbers_of(g, old);
  const Tensor& t = *g.constant_tensor(old.inputs[numbers]);
  const Ints axes = resized_axes(old.attributes, shape_of(g, old.inputs[0])->size());
  Ints pixels, sizes;
  std::vector<float> scales;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 2) continue;
    pixels.push_back(axes[i]);
    if (numbers == 2)
      scales.push_back(static_cast<float>(load_double(t, static_cast<int64_t>(i))));
    else
      sizes.push_back(load_int(t, static_cast<int64_t>(i)));
  }
  const auto count = static_cast<int64_t>(pixels.size());
  n.attributes = old.attributes;
  n.attributes.set("axes", pixels);
  n.inputs = std::vector<ValueId>(old.inputs.size(), no_id);
  n.inputs.set(numbers,
               g.add_constant(g.fresh_name("resized"), numbers == 2 ? Tensor::from<float>({count}, scales)
                                                                    : Tensor::from<int64_t>({count}, sizes)));
}

bool splits_blocks(const Graph& g, const Node& n) {
  const SymShape* x = shape_of(g, n.inputs[0]);
  if (!x) return false;
  const int64_t axis = n.attributes.get<int64_t>("axis", 0), rank = static_cast<int64_t>(x->size());
  const auto parts = axis == 1 || axis + rank == 1 ? parts_of(g, n, 1) : std::nullopt;
  return parts && !parts->empty() && std::all_of(parts->begin(), parts->end() - 1, [](int64_t size) {
           return size % cpu::channel_block == 0;
         });
}

void describe_split(Graph& g, const Node& old, Node& n) {
  Ints blocks = *parts_of(g, old, 1);
  for (int64_t& size : blocks) size = (size + cpu::channel_block - 1) / cpu::channel_block;
  const auto count = static_cast<int64_t>(blocks.size());
  n.attributes.set("axis", int64_t{1});
  n.inputs = {no_id, g.add_constant(g.fresh_name("parts"), Tensor::from<int64_t>({count}, blocks))};
}

}  // namespace lathe
