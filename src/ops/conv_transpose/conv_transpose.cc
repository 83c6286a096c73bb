#include "ops/conv_transpose/conv_transpose.h"

#include "schema/schema.h"

namespace lathe {

void declare_conv_transpose(SchemaCatalog& c) {
  c.add("ConvTranspose")
      .version(
          1,
          "(X: T, W: T, B?: T) -> (Y: T) {group: int = 1, auto_pad: string = 'NOTSET', strides: ints, pads: "
          "ints, output_padding: ints, dilations: ints, output_shape: ints, kernel_shape: ints} [T: @float]")
      .version(
          11,
          "(X: T, W: T, B?: T) -> (Y: T) {group: int = 1, auto_pad: string = 'NOTSET', strides: ints, pads: "
          "ints, output_padding: ints, dilations: ints, output_shape: ints, kernel_shape: ints} [T: @float]")
      .version(22,
               "(X: T, W: T, B?: T) -> (Y: T) {group: int = 1, auto_pad: string = 'NOTSET', strides: ints, "
               "pads: ints, output_padding: ints, dilations: ints, output_shape: ints, kernel_shape: ints} "
               "[T: @float_13]")
      .rule<ConvTranspose>()
      .tolerance({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
