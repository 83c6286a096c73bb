#include "ops/resize/resize.h"

#include <algorithm>

#include "schema/downgrade.h"
#include "schema/words.h"

namespace lathe {
namespace {

/// Which ways these scales go: null, or of another type than scales are, perhaps both.
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
/// axis that grows, the one after along one that shrinks: where there may be both, what shrinks goes first.
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
  if (n.inputs.size() > 3 && n.inputs[3] != no_id) return false;  // sizes
  const Tensor* scales = n.inputs.size() > 2 && n.inputs[2] != no_id ? c.constant(n.inputs[2]) : nullptr;
  if (!scales || scales->type() != DataType::float32 || mode == "cubic" ||
      a.get<std::string>("coordinate_transformation_mode", "half_pixel") != "asymmetric")
    return false;
  const Ways ways(scales);
  if (mode == "nearest" &&
      ((ways.shrinks && ways.grows) ||
       a.get<std::string>("nearest_mode", "round_prefer_floor") != (ways.grows ? "floor" : "ceil")))
    return false;
  if (a.get<int64_t>("exclude_outside", 0) != 0) return false;
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

bool resize_18_from_19(RewriteContext& c) {
  const Attributes& a = c.node().attributes;
  return a.get<std::string>("coordinate_transformation_mode", "half_pixel") != "half_pixel_symmetric";
}

}  // namespace

namespace spelling {
using namespace words;
namespace {

/// Scales for sizes of one scale that keep the aspect, where these come to the same sizes.
ValueId scales_that_keep_aspect(SpellContext& c, const Resize& op) {
  const auto& shape = c.input_type(0).shape;
  const Tensor* sizes = c.constant(input(c, 3));
  if (!shape || !sizes) unsaid("keep_aspect_ratio_policy 'stretch'", "'" + op.keep_aspect_ratio_policy + "'");
  std::vector<int64_t> in, wanted;
  for (const Dim& d : *shape) in.push_back(known(d).value_or(-1));
  for (int64_t i = 0; i < sizes->size(); ++i) wanted.push_back(load_int(*sizes, i));
  if (std::ranges::count(in, -1) > 0) unsaid("tensors of known shape", c.input_type(0).str());
  const ResizeGrid grid = op.grid(in, nullptr, wanted);
  for (size_t a = 0; a < in.size(); ++a)
    if (static_cast<int64_t>(grid.length[a]) != grid.size[a])
      unsaid("scales whose sizes are rounded down", std::to_string(grid.length[a]));
  return c.add_constant(Tensor::from({static_cast<int64_t>(in.size())},
                                     std::vector<float>(grid.scale.begin(), grid.scale.end())),
                        "scales");
}

/// What is said of some axes, said of all: region, scales and sizes.
std::vector<ValueId> of_all_axes(SpellContext& c, const Resize& op) {
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

std::vector<ValueId> resize(SpellContext& c) {
  const auto op = decode<Resize>(c.node().attributes);
  if (op.antialias != 0) unsaid("antialias 0", std::to_string(op.antialias));
  if (op.coordinate_transformation_mode == "half_pixel_symmetric")
    unsaid("another coordinate_transformation_mode", op.coordinate_transformation_mode);
  const bool keeps_aspect = has(c, 3) && op.keep_aspect_ratio_policy != "stretch";
  Attributes a = c.node().attributes;
  for (const char* name : {"axes", "keep_aspect_ratio_policy", "antialias"}) a.erase(name);
  if (keeps_aspect) {
    const ValueId region = op.axes ? of_all_axes(c, op)[1] : input(c, 1);
    return {one(c, "Resize", {input(c, 0), region, scales_that_keep_aspect(c, op)}, std::move(a))};
  }
  if (!op.axes) unsaid("tensors of other types", c.input_type(0).str(false));
  return {one(c, "Resize", of_all_axes(c, op), std::move(a))};
}

}  // namespace
}  // namespace spelling

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
      .spelled(spelling::resize)
      .contract({.epsilons = 64});
  c.add("Upsample")
      .version(1,
               "(X: T) -> (Y: T) {mode: string = 'nearest', height_scale: float!, width_scale: float!} [T: "
               "bool int32 int64 float16 float double]")
      .version(7, "(X: T) -> (Y: T) {mode: string = 'nearest', scales: floats!} [T: @all]", upsample_7_from_1)
      .version(9, "(X: T, scales: float) -> (Y: T) {mode: string = 'nearest'} [T: @all]", upsample_9_from_7)
      .deprecated(10, resize_from_upsample)
      .contract({.epsilons = 64});
}

}  // namespace lathe
