// Shapes: shuffle, padding, concatenation, squeeze, expand, resize, sampling.
#include "network/maker.h"

namespace lathe {
namespace {

/// The sizes as Reshape takes them; -1 for the one that is left to be found.
ValueId target_shape(LayerMaker& m, ValueId x, const Sizes& wanted, bool zero_copies) {
  SymShape sizes;
  size_t symbolic = 0, at = 0;
  bool found = false;
  Dim others = 1;
  for (size_t i = 0; i < wanted.size(); ++i) {
    Dim d = wanted[i].dim();
    if (d.symbol_name() == inferred_size) {
      if (found) m.fail(Code::node_bad_attribute, "one inferred_size", "two");
      found = true;
      d = Dim(-1);
    } else if (!d.is_constant()) {
      ++symbolic, at = i;
    } else {
      others = others * (zero_copies && d == Dim(0) && i < m.rank(x) ? m.shape(x)[i] : d);
    }
    sizes.push_back(std::move(d));
  }
  if (symbolic == 1 && !found) {
    Dim all = 1;
    for (const Dim& d : m.shape(x)) all = all * d;
    // If the other sizes certainly determine this one, it is -1 and need not be computed.
    if (sizes[at] * others == all && !(others == Dim(0))) sizes[at] = Dim(-1);
  }
  return m.sizes(sizes);
}

ValueId transpose(LayerMaker& m, ValueId x, const std::vector<int64_t>& permutation) {
  return m.op("Transpose", {x}, Attrs().ints("perm", permutation));
}

ValueId reshape(LayerMaker& m, ValueId x, ValueId shape, bool zero_copies) {
  return m.op("Reshape", {x, shape}, zero_copies ? Attrs() : Attrs().number("allowzero", 1));
}

}  // namespace

Layer Network::add_shuffle(const TensorRef& x, const ShuffleOptions& o) {
  LayerMaker m(*this, "shuffle", o.name);
  m.made_by("add_shuffle", x, o);
  if (o.reshape && o.reshape_tensor) m.fail(Code::node_bad_attribute, "reshape or reshape_tensor", "both");
  ValueId v = m.use(x);
  if (!o.first_transpose.empty()) v = transpose(m, v, o.first_transpose);
  if (o.reshape)
    v = reshape(m, v, target_shape(m, v, *o.reshape, o.zero_is_placeholder), o.zero_is_placeholder);
  if (o.reshape_tensor) v = reshape(m, v, m.use(o.reshape_tensor), o.zero_is_placeholder);
  if (!o.second_transpose.empty()) v = transpose(m, v, o.second_transpose);
  return m.finish(v);
}

Layer Network::add_transpose(const TensorRef& x, const std::vector<int64_t>& permutation,
                             const std::string& name) {
  LayerMaker m(*this, "shuffle", name);
  m.made_by("add_transpose", x, permutation, m.name());
  return m.finish(transpose(m, m.use(x), permutation));
}

Layer Network::add_reshape(const TensorRef& x, const Sizes& shape, const std::string& name) {
  LayerMaker m(*this, "shuffle", name);
  m.made_by("add_reshape", x, shape, m.name());
  const ValueId v = m.use(x);
  return m.finish(reshape(m, v, target_shape(m, v, shape, true), true));
}

Layer Network::add_padding(const TensorRef& x, const std::vector<int64_t>& pre_padding,
                           const std::vector<int64_t>& post_padding, const PaddingOptions& o) {
  LayerMaker m(*this, "padding", o.name);
  m.made_by("add_padding", x, pre_padding, post_padding, o);
  const ValueId v = m.use(x);
  const size_t n = pre_padding.size();
  if (post_padding.size() != n || (!o.axes.empty() && o.axes.size() != n))
    m.fail(Code::node_bad_attribute, "a number before and one behind for every axis",
           std::to_string(n) + " and " + std::to_string(post_padding.size()) + " for " +
               std::to_string(o.axes.empty() ? n : o.axes.size()) + " axes");
  std::vector<int64_t> pads = pre_padding, axes = o.axes;
  pads.insert(pads.end(), post_padding.begin(), post_padding.end());
  if (axes.empty() && n != m.rank(v))
    for (size_t i = 0; i < n; ++i) axes.push_back(static_cast<int64_t>(i) - static_cast<int64_t>(n));
  constexpr const char* modes[] = {"constant", "reflect", "edge", "wrap"};
  Attrs a;
  if (o.fill != PaddingFill::constant) a.text("mode", modes[static_cast<size_t>(o.fill)]);
  return m.finish(m.op("Pad", {v, m.ints(pads), m.use_if(o.value), axes.empty() ? no_id : m.ints(axes)}, a));
}

Layer Network::add_concatenation(const std::vector<TensorRef>& inputs, int64_t axis,
                                 const std::string& name) {
  LayerMaker m(*this, "concatenation", name);
  m.made_by("add_concatenation", inputs, axis, m.name());
  std::vector<ValueId> values;
  for (const TensorRef& t : inputs) values.push_back(m.use(t));
  return m.finish(m.op("Concat", values, Attrs().number("axis", axis)));
}

Layer Network::add_squeeze(const TensorRef& x, const std::vector<int64_t>& axes, const std::string& name) {
  LayerMaker m(*this, "squeeze", name);
  m.made_by("add_squeeze", x, axes, m.name());
  return m.finish(m.op("Squeeze", {m.use(x), m.ints(axes)}));
}

Layer Network::add_unsqueeze(const TensorRef& x, const std::vector<int64_t>& axes, const std::string& name) {
  LayerMaker m(*this, "unsqueeze", name);
  m.made_by("add_unsqueeze", x, axes, m.name());
  return m.finish(m.op("Unsqueeze", {m.use(x), m.ints(axes)}));
}

Layer Network::add_expand(const TensorRef& x, const Sizes& shape, const std::string& name) {
  LayerMaker m(*this, "expand", name);
  m.made_by("add_expand", x, shape, m.name());
  SymShape sizes;
  for (const Size& s : shape) sizes.push_back(s.dim());
  return m.finish(m.op("Expand", {m.use(x), m.sizes(sizes)}));
}

Layer Network::add_shape(const TensorRef& x, const std::string& name) {
  LayerMaker m(*this, "shape", name);
  m.made_by("add_shape", x, m.name());
  return m.finish(m.op("Shape", {m.use(x)}));
}

Layer Network::add_shape_of(const Sizes& sizes, const std::string& name) {
  LayerMaker m(*this, "shape_of", name);
  m.made_by("add_shape_of", sizes, m.name());
  SymShape wanted;
  for (const Size& s : sizes) wanted.push_back(s.dim());
  return m.finish(m.sizes(wanted));
}

Layer Network::add_resize(const TensorRef& x, const ResizeOptions& o) {
  LayerMaker m(*this, "resize", o.name);
  m.made_by("add_resize", x, o);
  const int given = (o.scales.empty() ? 0 : 1) + (o.sizes.empty() ? 0 : 1) + (o.sizes_tensor ? 1 : 0);
  if (given != 1)
    m.fail(Code::node_bad_attribute, "one of scales, sizes and sizes_tensor", std::to_string(given));
  constexpr const char* modes[] = {"nearest", "linear", "cubic"};
  constexpr const char* coordinates[] = {"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel",
                                         "half_pixel_symmetric"};
  constexpr const char* roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
  Attrs a;
  a.text("mode", modes[static_cast<size_t>(o.mode)]);
  if (o.coordinates != CoordinateTransformation::half_pixel)
    a.text("coordinate_transformation_mode", coordinates[static_cast<size_t>(o.coordinates)]);
  if (o.rounding != NearestRounding::round_prefer_floor)
    a.text("nearest_mode", roundings[static_cast<size_t>(o.rounding)]);
  if (o.mode == InterpolationMode::cubic) a.with("cubic_coeff_a", o.cubic_coefficient);
  if (o.exclude_outside) a.number("exclude_outside", 1);
  if (o.antialias) a.number("antialias", 1);
  ValueId scales = no_id, sizes = m.use_if(o.sizes_tensor);
  if (!o.scales.empty())
    scales = m.constant(Tensor::from<float>({static_cast<int64_t>(o.scales.size())}, o.scales));
  if (!o.sizes.empty()) {
    SymShape wanted;
    for (const Size& s : o.sizes) wanted.push_back(s.dim());
    sizes = m.sizes(wanted);
  }
  return m.finish(m.op("Resize", {m.use(x), no_id, scales, sizes}, a));
}

Layer Network::add_grid_sample(const TensorRef& x, const TensorRef& grid, const GridSampleOptions& o) {
  LayerMaker m(*this, "grid_sample", o.name);
  m.made_by("add_grid_sample", x, grid, o);
  constexpr const char* modes[] = {"nearest", "linear", "cubic"};
  constexpr const char* paddings[] = {"zeros", "border", "reflection"};
  Attrs a;
  a.text("mode", modes[static_cast<size_t>(o.mode)])
      .text("padding_mode", paddings[static_cast<size_t>(o.padding)]);
  if (o.align_corners) a.number("align_corners", 1);
  return m.finish(m.op("GridSample", {m.use(x), m.use(grid)}, a));
}

Layer Network::add_reverse_sequence(const TensorRef& x, const TensorRef& lengths,
                                    const ReverseSequenceOptions& o) {
  LayerMaker m(*this, "reverse_sequence", o.name);
  m.made_by("add_reverse_sequence", x, lengths, o);
  const Attrs a = Attrs().number("batch_axis", o.batch_axis).number("time_axis", o.sequence_axis);
  return m.finish(m.op("ReverseSequence", {m.use(x), m.use(lengths)}, a));
}

}  // namespace lathe
