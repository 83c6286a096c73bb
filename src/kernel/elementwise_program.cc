#include "kernel/elementwise_program.h"

#include <array>

namespace lathe {
namespace {

// In the order of the enumerators.
constexpr std::array unary = std::to_array<std::string_view>({"Abs",        "Neg",
                                                              "Reciprocal", "Sqrt",
                                                              "Exp",        "Log",
                                                              "Erf",        "Floor",
                                                              "Ceil",       "Round",
                                                              "Tanh",       "Sigmoid",
                                                              "Relu",       "LeakyRelu",
                                                              "Elu",        "Selu",
                                                              "Celu",       "Softplus",
                                                              "Softsign",   "Mish",
                                                              "Gelu",       "GeluTanh",
                                                              "Swish",      "HardSigmoid",
                                                              "HardSwish",  "ThresholdedRelu",
                                                              "Square",     "Cube",
                                                              "Clip",       "Linear",
                                                              "Sign",       "IsNaN",
                                                              "IsInf",      "NotZero",
                                                              "Sin",        "Cos",
                                                              "Tan",        "Asin",
                                                              "Acos",       "Atan",
                                                              "Sinh",       "Cosh",
                                                              "Asinh",      "Acosh",
                                                              "Atanh",      "Shrink"});
static_assert(unary.size() == static_cast<size_t>(UnaryOp::count));
constexpr std::array binary =
    std::to_array<std::string_view>({"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu", "Equal", "Less",
                                     "LessOrEqual", "NotEqual", "Fmod", "Mod"});
static_assert(binary.size() == static_cast<size_t>(BinaryOp::count));
constexpr std::array typed_binary = std::to_array<std::string_view>(
    {"Add", "Sub", "Mul", "Div", "Fmod", "Mod", "Min", "Max", "Equal", "Less", "LessOrEqual", "And", "Or",
     "NotEqual", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "ShiftLeft", "ShiftRight"});
static_assert(typed_binary.size() == static_cast<size_t>(TypedBinaryOp::count));
constexpr std::array single =
    std::to_array<std::string_view>({"Neg", "Abs", "Sign", "BitwiseNot", "Not", "Sqrt", "Reciprocal", "Floor",
                                     "Ceil", "Round", "Exp", "Log", "Tanh", "Sigmoid", "Softplus"});
static_assert(single.size() == static_cast<size_t>(SingleOp::count));

std::string_view name_of(const Pointwise::Instruction& s) {
  using Kind = Pointwise::Kind;
  if (s.kind == Kind::cast) return "Cast";
  if (s.kind == Kind::clip) return "Clip";
  if (s.arity == 3) return "Where";
  if (s.kind == Kind::floats) return s.arity == 1 ? unary[s.op] : binary[s.op];
  return s.arity == 1 ? single[s.op] : typed_binary[s.op];
}

}  // namespace

ElementwiseProgram elementwise_program(const Pointwise& program) {
  ElementwiseProgram p;
  const std::vector<DataType> types = *program.types();
  p.operands.assign(types.begin(), types.begin() + program.operands);
  for (const Pointwise::Instruction& s : program.code)
    p.instructions.push_back({.op = name_of(s),
                              .type = s.type,
                              .result = s.made(),
                              .operands = {s.reads().begin(), s.reads().end()},
                              .a = s.a,
                              .b = s.b,
                              .bounds = s.bounds});
  return p;
}

}  // namespace lathe
