#include "ops/conv/conv.h"

#include "schema/schema.h"

namespace lathe {

void declare_conv(SchemaCatalog& c) {
  c.add("Conv")
      .version(1,
               "(X: T, W: T, B?: T) -> (Y: T) {group: int = 1, pads: ints, auto_pad: string = 'NOTSET', "
               "strides: ints, dilations: ints, kernel_shape: ints} [T: @float]")
      .version(11,
               "(X: T, W: T, B?: T) -> (Y: T) {group: int = 1, pads: ints, auto_pad: string = 'NOTSET', "
               "strides: ints, dilations: ints, kernel_shape: ints} [T: @float]")
      .version(22,
               "(X: T, W: T, B?: T) -> (Y: T) {group: int = 1, pads: ints, auto_pad: string = 'NOTSET', "
               "strides: ints, dilations: ints, kernel_shape: ints} [T: @float_13]")
      .rule<Conv>()
      .tolerance({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
