// Gather, scatter, one-hot, non-zero, non-maximum suppression.
#include <numeric>

#include "network/maker.h"

namespace lathe {
namespace {

Attrs unless_zero(std::string name, int64_t v) {
  Attrs a;
  if (v) a.number(std::move(name), v);
  return a;
}

/// Slices along an axis, with other indices for every index of the leading `batch` axes. The axis is moved to
/// where GatherND expects it, and the result's axes are moved back.
ValueId batched_slices(LayerMaker& m, ValueId data, ValueId indices, size_t axis, size_t batch) {
  const size_t rank = m.rank(data), more = m.rank(indices) - batch;
  std::vector<int64_t> to_front(rank);
  std::iota(to_front.begin(), to_front.end(), 0);
  std::rotate(to_front.begin() + static_cast<ptrdiff_t>(batch),
              to_front.begin() + static_cast<ptrdiff_t>(axis),
              to_front.begin() + static_cast<ptrdiff_t>(axis) + 1);
  if (axis != batch) data = m.op("Transpose", {data}, Attrs().ints("perm", to_front));
  indices = m.op("Cast", {indices}, Attrs().type("to", DataType::int64));
  indices = m.op("Unsqueeze", {indices, m.ints({-1})});
  ValueId y = m.op("GatherND", {data, indices}, Attrs().number("batch_dims", static_cast<int64_t>(batch)));
  if (axis == batch || more == 0) return y;
  // Now [batch…, indices…, before axis…, behind axis…].
  std::vector<int64_t> back(rank - 1 + more);
  std::iota(back.begin(), back.end(), 0);
  const auto first = back.begin() + static_cast<ptrdiff_t>(batch);
  std::rotate(first, first + static_cast<ptrdiff_t>(more),
              first + static_cast<ptrdiff_t>(more + axis - batch));
  return m.op("Transpose", {y}, Attrs().ints("perm", back));
}

}  // namespace

Layer Network::add_gather(const TensorRef& data, const TensorRef& indices, const GatherOptions& o) {
  LayerMaker m(*this, "gather", o.name);
  m.made_by("add_gather", data, indices, o);
  const ValueId x = m.use(data), i = m.use(indices);
  if (o.batch_axes < 0 || (o.batch_axes && o.mode == GatherMode::elements))
    m.fail(Code::node_bad_attribute, "batch axes of slices or nd, 0 or more", std::to_string(o.batch_axes));
  switch (o.mode) {
    case GatherMode::elements:
      return m.finish(m.op("GatherElements", {x, i}, unless_zero("axis", o.axis)));
    case GatherMode::nd:
      return m.finish(m.op("GatherND", {x, i}, unless_zero("batch_dims", o.batch_axes)));
    case GatherMode::slices:
      break;
  }
  if (!o.batch_axes) return m.finish(m.op("Gather", {x, i}, unless_zero("axis", o.axis)));
  const size_t axis = m.axis(o.axis, m.rank(x)), batch = static_cast<size_t>(o.batch_axes);
  if (batch > axis || batch > m.rank(i))
    m.fail(Code::node_bad_attribute,
           "at most " + std::to_string(std::min(axis, m.rank(i))) + " batch axes: those before the axis",
           std::to_string(batch));
  return m.finish(batched_slices(m, x, i, axis, batch));
}

Layer Network::add_scatter(const TensorRef& data, const TensorRef& indices, const TensorRef& updates,
                           const ScatterOptions& o) {
  LayerMaker m(*this, "scatter", o.name);
  m.made_by("add_scatter", data, indices, updates, o);
  constexpr const char* reductions[] = {"none", "add", "mul", "max", "min"};
  Attrs a = o.mode == ScatterMode::elements ? unless_zero("axis", o.axis) : Attrs();
  if (o.reduction != ScatterReduction::none)
    a.text("reduction", reductions[static_cast<size_t>(o.reduction)]);
  return m.finish(m.op(o.mode == ScatterMode::elements ? "ScatterElements" : "ScatterND",
                       {m.use(data), m.use(indices), m.use(updates)}, a));
}

Layer Network::add_one_hot(const TensorRef& indices, const TensorRef& values, const TensorRef& depth,
                           int64_t axis, const std::string& name) {
  LayerMaker m(*this, "one_hot", name);
  m.made_by("add_one_hot", indices, values, depth, axis, m.name());
  return m.finish(
      m.op("OneHot", {m.use(indices), m.use(depth), m.use(values)}, Attrs().number("axis", axis)));
}

Layer Network::add_non_zero(const TensorRef& x, const std::string& name) {
  LayerMaker m(*this, "non_zero", name);
  m.made_by("add_non_zero", x, m.name());
  return m.finish(m.op("NonZero", {m.use(x)}));
}

Layer Network::add_nms(const TensorRef& boxes, const TensorRef& scores, const TensorRef& max_boxes_per_class,
                       const NmsOptions& o) {
  LayerMaker m(*this, "nms", o.name);
  m.made_by("add_nms", boxes, scores, max_boxes_per_class, o);
  const ValueId threshold = o.score_threshold ? m.scalar(DataType::float32, *o.score_threshold) : no_id;
  const ValueId selected = m.op("NonMaxSuppression",
                                {m.use(boxes), m.use(scores), m.use(max_boxes_per_class),
                                 m.scalar(DataType::float32, o.iou_threshold), threshold},
                                unless_zero("center_point_box", o.boxes == BoxFormat::center_size));
  return m.finish({selected, m.op("Squeeze", {m.size_of_axis(selected, 0), m.ints({0})})});
}

}  // namespace lathe
