#include "ops/col2im/col2im.h"

#include "schema/schema.h"

namespace lathe {

void declare_col2im(SchemaCatalog& c) {
  c.add("Col2Im")
      .version(18,
               "(input: T, image_shape: int64, block_shape: int64) -> (output: T) {strides: ints, pads: "
               "ints, dilations: ints} [T: @all_13]")
      .rule<Col2Im>()
      .tolerance({.epsilons = 8});
}

}  // namespace lathe
