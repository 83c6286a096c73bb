#include "ops/unary/unary.h"

#include "schema/downgrade.h"
#include "schema/upgrade.h"

namespace lathe {

void declare_unary(SchemaCatalog& c) {
  c.add("Abs")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @number]")
      .version(13, "(X: T) -> (Y: T) [T: @number_13]")
      .rule<Abs>()
      .contract({.exact = true});
  c.add("Neg")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: float int32 int8 int16 int64 float16 double]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13 int32 int8 int16 int64]")
      .rule<Neg>()
      .contract({.exact = true});
  c.add("Sign")
      .version(9, "(input: T) -> (output: T) [T: @number]")
      .version(13, "(input: T) -> (output: T) [T: @number_13]")
      .rule<Sign>()
      .contract({.exact = true});
  c.add("Ceil")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Ceil>()
      .contract({.exact = true});
  c.add("Floor")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Floor>()
      .contract({.exact = true});
  c.add("Round")
      .version(11, "(X: T) -> (Y: T) [T: @float]")
      .version(22, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Round>()
      .contract({.exact = true});
  c.add("Sqrt")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Sqrt>()
      .contract({.epsilons = 4});
  c.add("Reciprocal")
      .version(1, "(X: T) -> (Y: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(X: T) -> (Y: T) [T: @float]")
      .version(13, "(X: T) -> (Y: T) [T: @float_13]")
      .rule<Reciprocal>()
      .contract({.epsilons = 4});
  c.add("Exp")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Exp>()
      .contract({.epsilons = 4});
  c.add("Log")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Log>()
      .contract({.epsilons = 4});
  c.add("Sin")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Sin>()
      .contract({.epsilons = 4});
  c.add("Cos")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Cos>()
      .contract({.epsilons = 4});
  c.add("Tan")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Tan>()
      .contract({.epsilons = 4});
  c.add("Asin")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Asin>()
      .contract({.epsilons = 4});
  c.add("Acos")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Acos>()
      .contract({.epsilons = 4});
  c.add("Atan")
      .version(7, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Atan>()
      .contract({.epsilons = 4});
  c.add("Sinh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Sinh>()
      .contract({.epsilons = 4});
  c.add("Cosh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Cosh>()
      .contract({.epsilons = 4});
  c.add("Tanh")
      .version(1, "(input: T) -> (output: T) {consumed_inputs: ints} [T: @float]")
      .version(6, "(input: T) -> (output: T) [T: @float]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Tanh>()
      .contract({.epsilons = 4});
  c.add("Asinh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Asinh>()
      .contract({.epsilons = 4});
  c.add("Acosh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Acosh>()
      .contract({.epsilons = 4});
  c.add("Atanh")
      .version(9, "(input: T) -> (output: T) [T: @float]")
      .version(22, "(input: T) -> (output: T) [T: @float_13]")
      .rule<Atanh>()
      .contract({.epsilons = 4});
  c.add("Erf")
      .version(9, "(input: T) -> (output: T) [T: @number]")
      .version(13, "(input: T) -> (output: T) [T: @float_13]", integers_through_double, as_it_is)
      .rule<Erf>()
      .contract({.epsilons = 4});
  c.add("Not").version(1, "(X: T) -> (Y: T) [T: bool]").rule<Not>().contract({.exact = true});
  c.add("BitwiseNot")
      .version(18, "(X: T) -> (Y: T) [T: @integer]")
      .rule<BitwiseNot>()
      .contract({.exact = true});
  c.add("IsNaN")
      .version(9, "(X: T1) -> (Y: T2) [T1: @float; T2: bool]")
      .version(13, "(X: T1) -> (Y: T2) [T1: @float_13; T2: bool]")
      .version(20,
               "(X: T1) -> (Y: T2) [T1: @float_13 float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: "
               "bool]")
      .rule<IsNaN>()
      .contract({.exact = true});
  c.add("IsInf")
      .version(10,
               "(X: T1) -> (Y: T2) {detect_negative: int = 1, detect_positive: int = 1} [T1: float double; "
               "T2: bool]")
      .version(20,
               "(X: T1) -> (Y: T2) {detect_negative: int = 1, detect_positive: int = 1} [T1: @float_13 "
               "float8e4m3fn float8e4m3fnuz float8e5m2 float8e5m2fnuz; T2: bool]")
      .rule<IsInf>()
      .contract({.exact = true});
}

}  // namespace lathe
