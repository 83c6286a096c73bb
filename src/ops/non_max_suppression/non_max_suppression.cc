#include "ops/non_max_suppression/non_max_suppression.h"

#include "schema/schema.h"

namespace lathe {

void declare_non_max_suppression(SchemaCatalog& c) {
  c.add("NonMaxSuppression")
      .version(10,
               "(boxes: float, scores: float, max_output_boxes_per_class?: int64, iou_threshold?: float, "
               "score_threshold?: float) -> (selected_indices: int64) {center_point_box: int = 0}")
      .version(11,
               "(boxes: float, scores: float, max_output_boxes_per_class?: int64, iou_threshold?: float, "
               "score_threshold?: float) -> (selected_indices: int64) {center_point_box: int = 0}")
      .rule<NonMaxSuppression>()
      .tolerance({.exact = true});
}

}  // namespace lathe
