#include "ops/resize/resize.h"

#include <algorithm>

#include "ops/resize/resize_taps.h"
#include "schema/downgrade.h"
#include "schema/node_builder.h"

namespace lathe {
namespace {

/// Whether scales shrink or grow axes; both if they are null or of another type than float32.
struct Ways {
  bool shrinks = true, grows = true;
  explicit Ways(const Tensor* scales) {
    if (!scales || scales->type() != DataType::float32) return;
    shrinks = grows = false;
    for (float s : scales->as<float>()) {
      shrinks |= s < 1;
      grows |= s > 1;
    }
  }
};

/// Before version 11 the coordinates were those of "asymmetric", and nearest meant the one before along an
/// axis that grows, the one after along one that shrinks: if there may be both, a Resize that shrinks is
/// inserted first.
void resize_11_from_10(UpgradeContext& u) {
  Node& n = u.node();
  if (n.inputs.size() < 2) return;  // reported by the check
  ValueId scales = n.inputs[1];
  const Ways ways(u.constant(scales));
  n.attributes.set("coordinate_transformation_mode", std::string("asymmetric"));
  n.attributes.set("nearest_mode", std::string(ways.grows ? "floor" : "ceil"));
  if (ways.shrinks && ways.grows && n.attributes.get<std::string>("mode", "nearest") == "nearest") {
    const ValueId same = u.add_constant(Tensor::scalar(1.0f), "same");
    const ValueId smaller = u.insert("Min", {scales, same}, {})[0];
    Attributes before = n.attributes;
    before.set("nearest_mode", std::string("ceil"));
    n.inputs.set(0, u.insert("Resize", {n.inputs[0], no_id, smaller}, std::move(before))[0]);
    scales = u.insert("Max", {scales, same}, {})[0];
  }
  n.inputs.resize(1);
  set_input(u, 2, scales);
}

void upsample_7_from_1(UpgradeContext& u) {
  Attributes& a = u.node().attributes;
  const std::vector<float> scales{1, 1, a.get<float>("height_scale", 1), a.get<float>("width_scale", 1)};
  a.erase("height_scale");
  a.erase("width_scale");
  a.set("scales", scales);
  if (a.get<std::string>("mode", "nearest") == "bilinear") a.set("mode", std::string("linear"));
}

void upsample_9_from_7(UpgradeContext& u) {
  const auto scales = u.node().attributes.get<std::vector<float>>("scales", {});
  u.node().attributes.erase("scales");
  const Tensor t = Tensor::from({static_cast<int64_t>(scales.size())}, scales);
  set_input(u, 1, u.add_constant(t, "scales"));
}

void resize_from_upsample(UpgradeContext& u) {
  u.node().op = "Resize";
  resize_11_from_10(u);
}

bool resize_10_from_11(RewriteContext& c) {
  Node& n = c.node();
  Attributes& a = n.attributes;
  const auto mode = a.get<std::string>("mode", "nearest");
  const auto transformation = a.get<std::string>("coordinate_transformation_mode", "half_pixel");
  const auto nearest = a.get<std::string>("nearest_mode", "round_prefer_floor");
  if (mode == "cubic") return c.cannot("older ones have no mode 'cubic'");
  if (transformation != "asymmetric")
    return c.cannot("in older ones coordinates are those of 'asymmetric', not of '" + transformation + "'");
  if (n.inputs.size() > 3 && n.inputs[3] != no_id) return c.cannot("older ones have no input 'sizes'");
  if (n.inputs.size() < 3 || n.inputs[2] == no_id)
    return c.cannot("in older ones 'scales' may not be left out");
  if (mode == "nearest") {
    const Tensor* scales = c.constant(n.inputs[2]);
    if (!scales || scales->type() != DataType::float32) return cannot_be_computed(c, "scales");
    const Ways ways(scales);
    if (ways.shrinks && ways.grows)
      return c.cannot(
          "in older ones nearest is the one before along an axis that grows and the one after "
          "along one that shrinks, and here are both");
    const std::string then = ways.grows ? "floor" : "ceil";
    if (nearest != then)
      return c.cannot("in older ones 'nearest_mode' for these scales is '" + then + "', not '" + nearest +
                      "'");
  }
  if (a.get<int64_t>("exclude_outside", 0) != 0) return c.cannot("older ones have no 'exclude_outside'");
  for (const char* name : {"coordinate_transformation_mode", "nearest_mode", "extrapolation_value",
                           "exclude_outside", "cubic_coeff_a"})
    a.erase(name);
  n.inputs = {n.inputs[0], n.inputs[2]};
  return true;
}

/// The region and the scales could not be left out, only be empty.
bool resize_11_from_13(RewriteContext& c) {
  auto& inputs = c.node().inputs;
  inputs.resize(std::max<size_t>(inputs.size(), 3), no_id);
  for (size_t i : {1, 2})
    if (inputs[i] == no_id)
      inputs.set(i, c.add_constant(Tensor(DataType::float32, {0}), i == 1 ? "roi" : "scales"));
  return true;
}

bool upsample_7_from_9(RewriteContext& c) {
  Node& n = c.node();
  const Tensor* scales = c.constant(n.inputs[1]);
  if (!scales || scales->type() != DataType::float32) return cannot_be_computed(c, "scales");
  const auto all = scales->as<float>();
  n.attributes.set("scales", std::vector<float>(all.begin(), all.end()));
  n.inputs.resize(1);
  return true;
}

bool resize_18_from_19(RewriteContext& c) {
  const Attributes& a = c.node().attributes;
  return a.get<std::string>("coordinate_transformation_mode", "half_pixel") != "half_pixel_symmetric" ||
         c.cannot("older ones have no coordinate_transformation_mode 'half_pixel_symmetric'");
}

}  // namespace

namespace decomposition {
using namespace node_builder;
namespace {

/// Returns whether a scale gives this size in single and in double precision.
bool comes_to(float scale, int64_t in, int64_t out) {
  return static_cast<int64_t>(scale * static_cast<float>(in)) == out &&
         static_cast<int64_t>(static_cast<double>(scale) * static_cast<double>(in)) == out;
}

/// The scales for sizes that keep the aspect ratio; refuses sizes that these scales do not give.
ValueId scales_that_keep_aspect(DecomposeContext& c, const Resize& op) {
  const auto& shape = c.input_type(0).shape;
  const Tensor* sizes = c.constant(input(c, 3));
  if (!shape || !sizes)
    unsupported("keep_aspect_ratio_policy 'stretch'", "'" + op.keep_aspect_ratio_policy + "'");
  std::vector<int64_t> in, wanted;
  for (const Dim& d : *shape) in.push_back(known(d).value_or(-1));
  for (int64_t i = 0; i < sizes->size(); ++i) wanted.push_back(load_int(*sizes, i));
  if (std::ranges::count(in, -1) > 0) unsupported("tensors of known shape", c.input_type(0).str());
  const ResizeGrid grid = op.grid(in, nullptr, wanted);
  for (size_t a = 0; a < in.size(); ++a)
    if (!comes_to(grid.scale[a], in[a], grid.size[a]))
      unsupported("scales whose sizes are rounded down", std::to_string(grid.length[a]));
  return c.add_constant(Tensor::from({static_cast<int64_t>(in.size())},
                                     std::vector<float>(grid.scale.begin(), grid.scale.end())),
                        "scales");
}

/// Region, scales and sizes of some axes, extended to all axes.
std::vector<ValueId> of_all_axes(DecomposeContext& c, const Resize& op) {
  std::vector<ValueId> inputs = c.node().inputs;
  const ValueId x = inputs[0];
  const int64_t rank = rank_of(c, x);
  const Shape which = op.resized_axes(rank);
  const std::vector<int64_t> axes(which.begin(), which.end());
  const auto given = [&](size_t i) { return has(c, i) && known(size_of(c, input(c, i), 0)) != 0; };
  const auto filled = [&](size_t i, ValueId all, const std::vector<int64_t>& places) {
    inputs[i] = one(c, "ScatterElements", {all, ints(c, places), input(c, i)});
  };
  if (given(1)) {
    Tensor whole = zeros(elem_of(c, input(c, 1)), {2 * rank});
    std::vector<int64_t> places = axes;
    for (int64_t a = 0; a < rank; ++a) store_double(whole, rank + a, 1);
    for (int64_t a : axes) places.push_back(a + rank);
    filled(1, c.add_constant(std::move(whole), "region"), places);
  }
  if (given(2)) {
    const std::vector<float> ones(static_cast<size_t>(rank), 1.0f);
    filled(2, c.add_constant(Tensor::from({rank}, ones), "scales"), axes);
  }
  if (given(3) && op.keep_aspect_ratio_policy == "stretch") filled(3, one(c, "Shape", {x}), axes);
  return inputs;
}

/// The axes to resize, if all their sizes are known; nothing for those that stay as they are.
std::optional<std::vector<std::optional<AxisToResize>>> known_axes(DecomposeContext& c, const Resize& op) {
  const ValueId x = input(c, 0);
  const auto given = [&](size_t i) {
    const Tensor* t = has(c, i) ? c.constant(input(c, i)) : nullptr;
    return t && t->size() > 0 ? t : nullptr;
  };
  const Tensor *scales = given(2), *sizes = given(3), *region = given(1);
  const auto& shape = c.type(x).shape;
  const bool crops = op.coordinate_transformation_mode == "tf_crop_and_resize";
  if (!shape || (!scales && !sizes) || (crops && !region)) return std::nullopt;
  const auto rank = static_cast<int64_t>(shape->size());
  const Shape which = op.resized_axes(rank);
  std::vector<int64_t> in, wanted;
  std::vector<bool> stays(shape->size(), true);
  for (const Dim& d : *shape) in.push_back(known(d).value_or(1));
  for (size_t i = 0; i < which.size(); ++i) {
    const auto a = static_cast<size_t>(which[i]);
    stays[a] = !sizes && scales->as<float>()[i] == 1 && !crops &&
               op.coordinate_transformation_mode != "tf_half_pixel_for_nn";
    if (!stays[a] && !known((*shape)[a])) return std::nullopt;
    if (sizes) wanted.push_back(load_int(*sizes, static_cast<int64_t>(i)));
  }
  const ResizeGrid grid = op.grid(in, sizes ? nullptr : scales, wanted);
  std::vector<std::optional<AxisToResize>> axes;
  for (size_t a = 0; a < in.size(); ++a) {
    AxisToResize axis{in[a], grid.size[a], grid.scale[a], grid.length[a]};
    const auto at = std::find(which.begin(), which.end(), static_cast<int64_t>(a)) - which.begin();
    if (crops && at < static_cast<int64_t>(which.size())) {
      axis.roi_start = static_cast<float>(load_double(*region, at));
      axis.roi_end = static_cast<float>(load_double(*region, at + static_cast<int64_t>(which.size())));
    }
    const bool whole =
        stays[a] || is_whole(op.mode == "nearest" ? op.coordinate_transformation_mode : "", axis);
    axes.push_back(whole ? std::nullopt : std::optional(axis));
  }
  return axes;
}

/// Gathers and weights the elements that one axis of the output is computed from.
ValueId resampled(DecomposeContext& c, const Resize& op, ValueId x, int64_t axis, const AxisToResize& a) {
  constexpr int64_t max_taps = 32;
  const auto taps = static_cast<int64_t>(filter_taps(op, a.scale));
  if (taps > max_taps) unsupported("filters of up to 32 elements", std::to_string(taps));
  const auto count = static_cast<size_t>(taps), size = static_cast<size_t>(a.out);
  std::vector<std::vector<int64_t>> from(count);
  std::vector<std::vector<double>> weights(count);
  std::vector<bool> outside;
  for (int64_t i = 0; i < a.out; ++i) {
    size_t k = 0;
    const bool inside = taps_at(op, a, i, [&](int64_t index, double w) {
      from[k].push_back(index);
      weights[k++].push_back(w);
    });
    outside.push_back(!inside);
  }
  const DataType type = elem_of(c, x);
  const bool fills = std::ranges::find(outside, true) != outside.end();
  const int64_t rank = rank_of(c, x);
  if (op.mode == "nearest") {
    if (!fills) return gathered(c, x, from[0], axis);
    std::vector<ValueId> sizes;
    for (int64_t b = 0; b < rank; ++b)
      sizes.push_back(b == axis ? ints(c, {1}) : size_of_axes(c, x, b, b + 1));
    const ValueId value = number(c, static_cast<double>(op.extrapolation_value), type);
    const ValueId filled = concat(c, {x, one(c, "Expand", {value, sizes_of(c, std::move(sizes))})}, axis);
    for (size_t i = 0; i < size; ++i)
      if (outside[i]) from[0][i] = a.in;
    return gathered(c, filled, from[0], axis);
  }
  Shape along(static_cast<size_t>(rank), 1);
  along[static_cast<size_t>(axis)] = a.out;
  const auto laid_out = [&](auto&& at) {
    Tensor t(type, along);
    for (size_t i = 0; i < size; ++i) store_double(t, static_cast<int64_t>(i), at(i));
    return c.add_constant(std::move(t), "weights");
  };
  ValueId sum = no_id;
  for (size_t k = 0; k < count; ++k) {
    const auto share = [&](size_t i) { return outside[i] ? 0.0 : weights[k][i]; };
    bool any = false;
    for (size_t i = 0; i < size; ++i) any = any || share(i) != 0;
    if (!any && !(k + 1 == count && sum == no_id)) continue;
    const ValueId part = one(c, "Mul", {gathered(c, x, from[k], axis), laid_out(share)});
    sum = sum == no_id ? part : one(c, "Add", {sum, part});
  }
  if (!fills) return sum;
  return one(c, "Add", {sum, laid_out([&](size_t i) {
                          return outside[i] ? static_cast<double>(op.extrapolation_value) : 0.0;
                        })});
}

/// Resizes axis by axis, if all tables are known.
std::vector<ValueId> axis_by_axis(DecomposeContext& c, const Resize& op,
                                  const std::vector<std::optional<AxisToResize>>& axes) {
  const ValueId given = input(c, 0);
  const bool nearest = op.mode == "nearest";
  if (!nearest && !is_float(elem_of(c, given)))
    unsupported("floats where mode is not 'nearest'", c.type(given).str(false));
  ValueId x = nearest ? given : widened(c, given);
  for (size_t a = 0; a < axes.size(); ++a)
    if (axes[a]) x = resampled(c, op, x, static_cast<int64_t>(a), *axes[a]);
  return {cast(c, x, elem_of(c, given))};
}

/// Upsample, and Resize at first, either only grow or only shrink; their scales are for the first axes on.
std::optional<std::vector<ValueId>> in_first_form(DecomposeContext& c, const Resize& op,
                                                  const std::vector<std::optional<AxisToResize>>* axes) {
  const ValueId x = input(c, 0);
  const bool plain = op.mode == "linear" || (op.mode == "nearest" && op.nearest_mode == "floor");
  if (op.coordinate_transformation_mode != "asymmetric" || !plain || op.exclude_outside || op.antialias ||
      !c.type(x).shape)
    return std::nullopt;
  std::vector<float> scales(c.type(x).shape->size(), 1.0f);
  const Tensor* given = has(c, 2) ? c.constant(input(c, 2)) : nullptr;
  const bool by_scales = given && given->size() > 0;
  if (by_scales) {
    const Shape which = op.resized_axes(static_cast<int64_t>(scales.size()));
    for (size_t i = 0; i < which.size(); ++i) scales[static_cast<size_t>(which[i])] = given->as<float>()[i];
  } else {
    if (!axes) return std::nullopt;
    for (size_t a = 0; a < scales.size(); ++a) {
      if (!(*axes)[a]) continue;
      scales[a] = (*axes)[a]->scale;
      if (!comes_to(scales[a], (*axes)[a]->in, (*axes)[a]->out)) return std::nullopt;
    }
  }
  if (std::ranges::any_of(scales, [](float s) { return s < 1; })) return std::nullopt;
  const auto rank = static_cast<int64_t>(scales.size());
  const ValueId all = c.add_constant(Tensor::from({rank}, scales), "scales");
  if (c.opset() < 10) return std::vector{one(c, "Upsample", {x, all}, with("mode", op.mode))};
  if (by_scales && !op.axes) return std::nullopt;
  Attributes a = c.node().attributes;
  for (const char* name : {"axes", "keep_aspect_ratio_policy"}) a.erase(name);
  return std::vector{one(c, "Resize", {x, no_id, all}, std::move(a))};
}

std::vector<ValueId> resize(DecomposeContext& c) {
  const auto op = decode<Resize>(c.node().attributes);
  const bool keeps_aspect = has(c, 3) && op.keep_aspect_ratio_policy != "stretch";
  const bool is_newer = op.antialias != 0 || op.coordinate_transformation_mode == "half_pixel_symmetric";
  if (c.opset() < 11 || is_newer || keeps_aspect) {
    const auto axes = known_axes(c, op);
    if (c.opset() < 11)
      if (auto first = in_first_form(c, op, axes ? &*axes : nullptr)) return *first;
    // With scales, version 11 rounds sizes down.
    const bool is_rounded = axes && std::ranges::any_of(*axes, [](const auto& a) {
                              return a && !comes_to(a->scale, a->in, a->out);
                            });
    if (axes && (c.opset() < 11 || is_newer || is_rounded)) return axis_by_axis(c, op, *axes);
    if (c.opset() < 11 && !op.axes && !keeps_aspect) unsupported({}, {});
  }
  if (op.antialias != 0) unsupported("antialias 0", std::to_string(op.antialias));
  if (op.coordinate_transformation_mode == "half_pixel_symmetric")
    unsupported("another coordinate_transformation_mode", op.coordinate_transformation_mode);
  Attributes a = c.node().attributes;
  for (const char* name : {"axes", "keep_aspect_ratio_policy", "antialias"}) a.erase(name);
  if (keeps_aspect) {
    const ValueId region = op.axes ? of_all_axes(c, op)[1] : input(c, 1);
    return {one(c, "Resize", {input(c, 0), region, scales_that_keep_aspect(c, op)}, std::move(a))};
  }
  if (!op.axes) unsupported({}, {});
  return {one(c, "Resize", of_all_axes(c, op), std::move(a))};
}

}  // namespace
}  // namespace decomposition

void declare_resize(SchemaCatalog& c) {
  c.add("Resize")
      .version(10, "(X: T, scales: float) -> (Y: T) {mode: string = 'nearest'} [T: @all]")
      .version(11,
               "(X: T1, roi: T2, scales: float, sizes?: int64) -> (Y: T1) {extrapolation_value: float = 0, "
               "exclude_outside: int = 0, nearest_mode: string = 'round_prefer_floor', "
               "coordinate_transformation_mode: string = 'half_pixel', cubic_coeff_a: float = -0.75, mode: "
               "string = 'nearest'} [T1: @all; T2: @float]",
               resize_11_from_10, resize_10_from_11)
      .version(13,
               "(X: T1, roi?: T2, scales?: float, sizes?: int64) -> (Y: T1) {extrapolation_value: float = 0, "
               "exclude_outside: int = 0, nearest_mode: string = 'round_prefer_floor', "
               "coordinate_transformation_mode: string = 'half_pixel', cubic_coeff_a: float = -0.75, mode: "
               "string = 'nearest'} [T1: @all_13; T2: @float]",
               nullptr, resize_11_from_13)
      .version(
          18,
          "(X: T1, roi?: T2, scales?: float, sizes?: int64) -> (Y: T1) {keep_aspect_ratio_policy: string = "
          "'stretch', axes: ints, antialias: int = 0, extrapolation_value: float = 0, exclude_outside: int = "
          "0, nearest_mode: string = 'round_prefer_floor', coordinate_transformation_mode: string = "
          "'half_pixel', cubic_coeff_a: float = -0.75, mode: string = 'nearest'} [T1: @all_13; T2: @float]")
      .version(
          19,
          "(X: T1, roi?: T2, scales?: float, sizes?: int64) -> (Y: T1) {keep_aspect_ratio_policy: string = "
          "'stretch', axes: ints, antialias: int = 0, extrapolation_value: float = 0, exclude_outside: int = "
          "0, nearest_mode: string = 'round_prefer_floor', coordinate_transformation_mode: string = "
          "'half_pixel', cubic_coeff_a: float = -0.75, mode: string = 'nearest'} [T1: @all_13; T2: @float]",
          nullptr, resize_18_from_19)
      .rule<Resize>()
      .decompose(decomposition::resize)
      .tolerance({.epsilons = 64});
  c.add("Upsample")
      .version(1,
               "(X: T) -> (Y: T) {mode: string = 'nearest', height_scale: float!, width_scale: float!} [T: "
               "bool int32 int64 float16 float double]")
      .version(7, "(X: T) -> (Y: T) {mode: string = 'nearest', scales: floats!} [T: @all]", upsample_7_from_1)
      .version(9, "(X: T, scales: float) -> (Y: T) {mode: string = 'nearest'} [T: @all]", upsample_9_from_7,
               upsample_7_from_9)
      .deprecated(10, resize_from_upsample)
      .tolerance({.epsilons = 64});
}

}  // namespace lathe
