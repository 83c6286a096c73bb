#include "ops/resize/resize.h"

#include "schema/upgrade.h"

namespace lathe {
namespace {

/// Before version 11 the coordinates were those of "asymmetric", and nearest meant the one before; shrinking
/// runtimes took the one after.
void resize_11_from_10(UpgradeContext& u) {
  auto& inputs = u.node().inputs;
  const ValueId scales = inputs.size() > 1 ? inputs[1] : no_id;
  const Tensor* known_scales = scales == no_id ? nullptr : u.constant(scales);
  bool shrinks = false, grows = false;
  if (known_scales && known_scales->type() == DataType::float32)
    for (float s : known_scales->as<float>()) {
      shrinks |= s < 1;
      grows |= s > 1;
    }
  inputs.resize(1);
  set_input(u, 2, scales);
  Attributes& a = u.node().attributes;
  a.set("coordinate_transformation_mode", std::string("asymmetric"));
  a.set("nearest_mode", std::string(shrinks && !grows ? "ceil" : "floor"));
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

}  // namespace

void declare_resize(SchemaCatalog& c) {
  c.add("Resize")
      .version(10, "(X: T, scales: float) -> (Y: T) {mode: string = 'nearest'} [T: @all]")
      .version(11,
               "(X: T1, roi: T2, scales: float, sizes?: int64) -> (Y: T1) {extrapolation_value: float = 0, "
               "exclude_outside: int = 0, nearest_mode: string = 'round_prefer_floor', "
               "coordinate_transformation_mode: string = 'half_pixel', cubic_coeff_a: float = -0.75, mode: "
               "string = 'nearest'} [T1: @all; T2: @float]",
               resize_11_from_10)
      .version(13,
               "(X: T1, roi?: T2, scales?: float, sizes?: int64) -> (Y: T1) {extrapolation_value: float = 0, "
               "exclude_outside: int = 0, nearest_mode: string = 'round_prefer_floor', "
               "coordinate_transformation_mode: string = 'half_pixel', cubic_coeff_a: float = -0.75, mode: "
               "string = 'nearest'} [T1: @all_13; T2: @float]")
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
          "'half_pixel', cubic_coeff_a: float = -0.75, mode: string = 'nearest'} [T1: @all_13; T2: @float]")
      .rule<Resize>()
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
