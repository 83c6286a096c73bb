#include "ops/deform_conv/deform_conv.h"

#include "schema/schema.h"

namespace lathe {

void declare_deform_conv(SchemaCatalog& c) {
  c.add("DeformConv")
      .version(19,
               "(X: T, W: T, offset: T, B?: T, mask?: T) -> (Y: T) {strides: ints, pads: ints, offset_group: "
               "int = 1, kernel_shape: ints, group: int = 1, dilations: ints} [T: @float]")
      .version(22,
               "(X: T, W: T, offset: T, B?: T, mask?: T) -> (Y: T) {strides: ints, pads: ints, offset_group: "
               "int = 1, kernel_shape: ints, group: int = 1, dilations: ints} [T: @float_13]")
      .rule<DeformConv>()
      .tolerance({.epsilons = 16, .per_reduced = true});
}

}  // namespace lathe
