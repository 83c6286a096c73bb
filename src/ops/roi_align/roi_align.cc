#include "ops/roi_align/roi_align.h"

#include "schema/downgrade.h"
#include "schema/upgrade.h"

namespace lathe {
namespace {

void roi_align_16_from_10(UpgradeContext& u) {
  u.node().attributes.set("coordinate_transformation_mode", std::string("output_half_pixel"));
}

bool roi_align_10_from_16(RewriteContext& c) {
  Attributes& a = c.node().attributes;
  return (a.get<std::string>("coordinate_transformation_mode", "half_pixel") == "output_half_pixel" &&
          a.erase("coordinate_transformation_mode")) ||
         c.cannot("in older ones coordinates are those of 'output_half_pixel'");
}

}  // namespace

void declare_roi_align(SchemaCatalog& c) {
  c.add("RoiAlign")
      .version(
          10,
          "(X: T1, rois: T1, batch_indices: T2) -> (Y: T1) {mode: string = 'avg', output_height: int = 1, "
          "sampling_ratio: int = 0, output_width: int = 1, spatial_scale: float = 1} [T1: @float; T2: int64]")
      .version(16,
               "(X: T1, rois: T1, batch_indices: T2) -> (Y: T1) {coordinate_transformation_mode: string = "
               "'half_pixel', mode: string = 'avg', output_height: int = 1, sampling_ratio: int = 0, "
               "output_width: int = 1, spatial_scale: float = 1} [T1: @float; T2: int64]",
               roi_align_16_from_10, roi_align_10_from_16)
      .version(22,
               "(X: T1, rois: T1, batch_indices: T2) -> (Y: T1) {coordinate_transformation_mode: string = "
               "'half_pixel', mode: string = 'avg', output_height: int = 1, sampling_ratio: int = 0, "
               "output_width: int = 1, spatial_scale: float = 1} [T1: @float_13; T2: int64]")
      .rule<RoiAlign>()
      .tolerance({.epsilons = 64});
}

}  // namespace lathe
