#include "ops/integer_matmul/integer_matmul.h"

#include "schema/schema.h"

namespace lathe {

void declare_integer_matmul(SchemaCatalog& c) {
  c.add("MatMulInteger")
      .version(10,
               "(A: T1, B: T2, a_zero_point?: T1, b_zero_point?: T2) -> (Y: T3) [T1: int8 uint8; T2: int8 "
               "uint8; T3: int32]")
      .rule<MatMulInteger>()
      .contract({.exact = true});
  c.add("ConvInteger")
      .version(10,
               "(x: T1, w: T2, x_zero_point?: T1, w_zero_point?: T2) -> (y: T3) {group: int = 1, pads: ints, "
               "strides: ints, dilations: ints, kernel_shape: ints, auto_pad: string = 'NOTSET'} [T1: int8 "
               "uint8; T2: int8 uint8; T3: int32]")
      .rule<ConvInteger>()
      .contract({.exact = true});
  c.add("QLinearMatMul")
      .version(10,
               "(a: T1, a_scale: float, a_zero_point: T1, b: T2, b_scale: float, b_zero_point: T2, y_scale: "
               "float, y_zero_point: T3) -> (y: T3) [T1: int8 uint8; T2: int8 uint8; T3: int8 uint8]")
      .version(
          21,
          "(a: T1, a_scale: TS, a_zero_point: T1, b: T2, b_scale: TS, b_zero_point: T2, y_scale: TS, "
          "y_zero_point: T3) -> (y: T3) [TS: float float16 bfloat16; T1: int8 uint8 float8e4m3fn "
          "float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: int8 uint8 float8e4m3fn float8e4m3fnuz float8e5m2 "
          "float8e5m2fnuz; T3: int8 uint8 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz]")
      .rule<QLinearMatMul>()
      .contract({.exact = true});
  c.add("QLinearConv")
      .version(10,
               "(x: T1, x_scale: float, x_zero_point: T1, w: T2, w_scale: float, w_zero_point: T2, y_scale: "
               "float, y_zero_point: T3, B?: T4) -> (y: T3) {group: int = 1, pads: ints, strides: ints, "
               "dilations: ints, kernel_shape: ints, auto_pad: string = 'NOTSET'} [T1: int8 uint8; T2: int8 "
               "uint8; T3: int8 uint8; T4: int32]")
      .rule<QLinearConv>()
      .contract({.exact = true});
}

}  // namespace lathe
