// Elementwise operators as one program, for devices that translate it into code of their own.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "lathe/types.h"

namespace lathe {

/// Computes several elementwise operators on each element of one shape, without branches. Values are
/// numbered: first the operands, each broadcast to the shape of the result, then the results of the
/// instructions in their order. The last one is the program's.
///
/// An instruction reads its operands as elements of its `type`, and writes `result`. Float32 operands and
/// results of the program may be bool, float16 or bfloat16 in memory (the tensors say what they are): bools
/// are 0 and 1 among float32 values, floats of 16 bits are widened when they are read and rounded to nearest,
/// ties to even, when they are written. Integers wrap around. A program has at most 8
/// operands and 24 instructions. NaN is kept by Max, Min and Clip, Round takes ties to even, and shifts by
/// too many bits give 0; on the CPU a run fails that divides integers by 0.
struct ElementwiseProgram {
  /// Describes one function of values.
  struct Instruction {
    /// Names the function, as ONNX does where it has it. Of one float32, some with constants a and b:
    ///
    /// - Abs, Ceil, Cube, Erf, Exp, Floor, Linear (a x + b), Log, Neg, NotZero, Reciprocal, Round, Sign, Sqrt
    /// - Square, Acos, Acosh, Asin, Asinh, Atan, Atanh, Cos, Cosh, Sin, Sinh, Tan, Tanh, Celu (a)
    /// - Clip (to [a, b]), Elu (a), Gelu, GeluTanh, HardSigmoid (a x + b), HardSwish, LeakyRelu (a), Mish,
    /// Relu
    /// - Selu (a: alpha, b: gamma), Shrink (a: bias, b: lambd), Sigmoid, Softplus, Softsign, Swish (a)
    /// - ThresholdedRelu (a), IsNaN, IsInf (a and b: are negative and positive ones found?)
    ///
    /// Of two float32: Add, Div, Equal, Less, LessOrEqual, Max, Min, Mul, NotEqual, PRelu, Sub, Fmod (with
    /// the sign of the dividend) and Mod (with the sign of the divisor). What compares gives 0 and 1.
    ///
    /// Of three values: Where, the second where the first is true, else the third; the first is float32 where
    /// the others are, and bool else. Of any: Cast, from `type` to `result`.
    ///
    /// Of one value of another type: Abs, BitwiseNot, Ceil, Clip (to `bounds`), Exp, Floor, Log, Neg, Not,
    /// Reciprocal, Round, Sigmoid, Sign, Softplus, Sqrt, Tanh. Of two: Add, And, BitwiseAnd, BitwiseOr,
    /// BitwiseXor, Div (rounded towards zero), Equal, Fmod, Less, LessOrEqual, Max, Min, Mod, Mul, NotEqual,
    /// Or, ShiftLeft, ShiftRight, Sub. What compares gives bool.
    std::string_view op;
    DataType type = DataType::float32;    // type of its operands; for Where that of the second and the third
    DataType result = DataType::float32;  // type of its result
    std::vector<uint16_t> operands;       // numbers of values
    float a = 0, b = 0;                   // constants of functions of one float32
    /// Are, of Clip for other types, low and high as elements of `type`, in the first bytes.
    std::array<uint64_t, 2> bounds = {};
  };
  std::vector<DataType> operands;         // type that each is read as
  std::vector<Instruction> instructions;  // functions in their order
};

}  // namespace lathe
