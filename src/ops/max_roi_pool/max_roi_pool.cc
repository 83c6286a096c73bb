#include "ops/max_roi_pool/max_roi_pool.h"

#include "schema/schema.h"

namespace lathe {

void declare_max_roi_pool(SchemaCatalog& c) {
  c.add("MaxRoiPool")
      .version(1, "(X: T, rois: T) -> (Y: T) {pooled_shape: ints!, spatial_scale: float = 1} [T: @float]")
      .version(22, "(X: T, rois: T) -> (Y: T) {pooled_shape: ints!, spatial_scale: float = 1} [T: @float_13]")
      .rule<MaxRoiPool>()
      .tolerance({.exact = true});
}

}  // namespace lathe
