#include "ops/center_crop_pad/center_crop_pad.h"

#include "schema/schema.h"

namespace lathe {

void declare_center_crop_pad(SchemaCatalog& c) {
  c.add("CenterCropPad")
      .version(18, "(input_data: T, shape: Tind) -> (output_data: T) {axes: ints} [T: @all_13; Tind: @index]")
      .rule<CenterCropPad>()
      .contract({.exact = true});
}

}  // namespace lathe
