// Pointwise programs: what several elementwise operators do to each element of one shape, as one list of
// instructions. They run alone in one pass over memory, or behind a kernel on what it has just computed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "lathe/types.h"

namespace lathe {

/// Functions of one element; a and b are their constants.
enum class UnaryOp : uint8_t {
  absolute,
  negative,
  reciprocal,
  square_root,
  exponential,
  logarithm,
  error_function,
  floor,
  ceiling,
  nearest_even,
  tangent_h,
  sigmoid,
  relu,
  leaky_relu /*a: slope*/,
  elu /*a*/,
  selu /*a, b: gamma*/,
  celu /*a*/,
  softplus,
  softsign,
  mish,
  gelu,
  gelu_tanh,
  swish /*a*/,
  hard_sigmoid /*a, b*/,
  hard_swish,
  thresholded_relu /*a*/,
  square,
  cube,
  clip /*a: low, b: high*/,
  linear /*a x + b*/,
  sign,
  is_nan,
  is_infinite /*a: are negative ones? b: positive ones?*/,
  truth /*is it anything but 0?*/,
  sine,
  cosine,
  tangent,
  inverse_sine,
  inverse_cosine,
  inverse_tangent,
  sine_h,
  cosine_h,
  inverse_sine_h,
  inverse_cosine_h,
  inverse_tangent_h,
  shrink /*a: bias, b: lambd*/,
  count
};
enum class BinaryOp : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  minimum,
  maximum,
  parametric_relu,
  equal,
  less,
  less_or_equal,
  differ,
  remainder /*with the sign of the dividend*/,
  modulo /*with the sign of the divisor*/,
  count
};
enum class TernaryOp : uint8_t { choose /*the second where the first is true, else the third*/, count };

/// Functions of numbers of one type, integers, double or truths. Integers wrap around. Quotients go towards
/// zero, remainders have the dividend's sign, of `modulo` the divisor's: no divisor is 0. Shifts by too much
/// leave what extends the sign.
enum class PairOp : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  remainder,
  modulo,
  minimum,
  maximum,
  equal,
  less,
  less_or_equal,
  both,
  either,
  differ,
  bit_and,
  bit_or,
  bit_xor,
  shift_left,
  shift_right,
  count
};
enum class SingleOp : uint8_t {
  negative,
  absolute,
  sign,
  invert,  // bits
  contradict,
  square_root,
  reciprocal,
  floor,
  ceiling,
  nearest_even,
  exponential,
  logarithm,
  tangent_h,
  sigmoid,
  softplus,
  count
};
/// Is it a truth, whatever the type of the two?
constexpr bool makes_truths(PairOp op) { return op >= PairOp::equal && op <= PairOp::differ; }
/// Are integers refused that are 0?
constexpr bool divides(PairOp op) { return op >= PairOp::divide && op <= PairOp::modulo; }

/// A straight-line program over elements. Values are numbered: first the operands, each broadcast to the
/// shape of the result, then the results of the instructions in their order. The last one is the program's.
/// Most are float32. Truths are 0 and 1 among them; operands and results that are bool are bytes in memory.
/// Those of 16 bits are widened as they are read and rounded as they are written. Every other value has the
/// type that its instruction makes, or that is read: of truths, bytes.
struct Pointwise {
  enum class Kind : uint8_t {
    floats,   // UnaryOp, BinaryOp or TernaryOp of float32
    numbers,  // SingleOp or PairOp of `type`; of three: TernaryOp, of bytes for truths and numbers of `type`
    clip,     // of `type`, between `bounds`
    cast,     // from `type` to the DataType `op`: of what does not fit, as Cast does it
    count
  };
  struct Instruction {
    uint8_t arity = 1;
    uint8_t op = 0;
    std::array<uint16_t, 3> from{};
    float a = 0, b = 0;  // of unary functions of floats
    Kind kind = Kind::floats;
    DataType type = DataType::float32;  // of what it reads
    std::array<uint64_t, 2> bounds{};   // of clip: elements of `type`, in their first bytes
    std::span<uint16_t> reads() { return {from.data(), arity}; }
    std::span<const uint16_t> reads() const { return {from.data(), arity}; }
    DataType read(size_t i) const;
    DataType made() const;
  };
  static constexpr size_t most_operands = 8, most_instructions = 24;

  uint16_t operands = 0;
  std::vector<Instruction> code;

  static Pointwise unary(UnaryOp op, float a = 0, float b = 0) {
    return {1, {{.op = static_cast<uint8_t>(op), .a = a, .b = b}}};
  }
  static Pointwise binary(BinaryOp op) { return {2, {of(op, 0, 1)}}; }
  /// op(y, x).
  static Pointwise reversed(BinaryOp op) { return {2, {of(op, 1, 0)}}; }
  static Pointwise ternary(TernaryOp op) {
    return {3, {{.arity = 3, .op = static_cast<uint8_t>(op), .from = {0, 1, 2}}}};
  }
  /// op(… op(op(x0, x1), x2) …, xn) of 2 to `most_operands` operands.
  static Pointwise folded(BinaryOp op, size_t operands);
  static Instruction of(BinaryOp op, uint16_t x, uint16_t y) {
    return {.arity = 2, .op = static_cast<uint8_t>(op), .from = {x, y}};
  }
  /// The same of other numbers than float32.
  static Pointwise single(SingleOp op, DataType type);
  static Pointwise pair(PairOp op, DataType type) { return {2, {of(op, type, 0, 1)}}; }
  static Pointwise reversed(PairOp op, DataType type) { return {2, {of(op, type, 1, 0)}}; }
  static Pointwise choose(DataType type);
  static Pointwise clip(DataType type, const void* low, const void* high);
  static Pointwise cast(DataType from, DataType to) { return {1, {of_cast(from, to, 0)}}; }
  static Pointwise folded(PairOp op, DataType type, size_t operands);
  static Instruction of(PairOp op, DataType type, uint16_t x, uint16_t y) {
    return {.arity = 2, .op = static_cast<uint8_t>(op), .from = {x, y}, .kind = Kind::numbers, .type = type};
  }
  static Instruction of_cast(DataType from, DataType to, uint16_t x) {
    return {.op = static_cast<uint8_t>(to), .from = {x}, .kind = Kind::cast, .type = from};
  }
  /// Whose result is operand 0: of changes of type.
  static Pointwise unchanged() { return unary(UnaryOp::linear, 1, -0.0f); }
  /// Is it that one?
  bool changes_nothing() const;
  /// Where the first instruction adds an operand to operand 0, and nothing else reads either: which one.
  std::optional<uint16_t> first_added() const;
  /// The program without that instruction and that operand, of operand 0 after it.
  Pointwise without_first_added() const;
  /// Is every value float32? Only such programs run behind kernels.
  bool is_of_floats() const;
  /// Of all values, operands first: what they are read as, float32 where nobody does. Nothing where one is
  /// read as two.
  std::optional<std::vector<DataType>> types() const;
  /// Do all instructions read what was made before as what it is, and name functions that exist? Whether
  /// their types have them, kernels know.
  bool well_formed() const;
  /// As numbers and back, for plans: the count of operands, then nine integers and two constants an
  /// instruction.
  std::vector<int64_t> integers() const;
  std::vector<float> constants() const;
  static Pointwise from(const std::vector<int64_t>& integers, const std::vector<float>& constants);
};

/// What operands and results that are float32 may be in memory.
inline bool is_number(DataType t) {
  return t == DataType::float32 || t == DataType::boolean || t == DataType::float16 ||
         t == DataType::bfloat16;
}
/// May a value of this type in a program be of that type in memory?
inline bool lies_as(DataType value, DataType memory) {
  return value == memory || (value == DataType::float32 && is_number(memory));
}

/// What elements are kept within: min(greatest, max(least, x)); what is no number stays so.
struct Bounds {
  float least = -std::numeric_limits<float>::infinity(), greatest = std::numeric_limits<float>::infinity();
};

/// What is still to be done with the elements of a kernel's first output once they are computed.
class Epilogue {
 public:
  virtual ~Epilogue() = default;
  /// Elements [begin, begin + n) of the output have been computed: finishes them in place. Called for every
  /// element once, by any thread.
  virtual void finish(int64_t begin, int64_t n) = 0;
  /// The same of rows of n elements that begin `row` elements apart.
  virtual void finish_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) {
    if (n == row) return finish(begin, rows * n);
    for (int64_t r = 0; r < rows; ++r) finish(begin + r * row, n);
  }
  /// The same of elements that were computed elsewhere, as float32: the first of them is at `computed`. What
  /// comes of them goes where the output is, whatever its type. Only of the epilogues of steps.
  virtual void finish_from(const float* computed, int64_t begin, int64_t n);
  /// Such rows will be finished soon: asks memory for what that reads besides.
  virtual void ask_rows(int64_t /*begin*/, int64_t /*n*/, int64_t /*rows*/, int64_t /*row*/) const {}
  /// Where keeping elements within bounds is all it does: these. A kernel that sees to them as it stores does
  /// without finish().
  virtual std::optional<Bounds> bounds() const { return std::nullopt; }
  /// Where numbers are added before anything else is done that repeat every `length` elements: a row along
  /// the last axis, or a tensor of the output's shape. A kernel that adds them to its sums calls what is left
  /// instead of this.
  struct Added {
    const float* data = nullptr;  // null: there are none
    int64_t length = 0;
    Epilogue* rest = nullptr;  // null: that was all
  };
  const Added& added() const { return added_; }

 protected:
  Added added_ = {};
};

/// An epilogue for a kernel that keeps bounds itself: what it is to keep, and what it is to call then.
struct Finish {
  explicit Finish(Epilogue* e) : epilogue(e) {
    if (const auto known = e ? e->bounds() : std::nullopt) bounds = *known, epilogue = nullptr;
  }
  Bounds bounds;
  Epilogue* epilogue;  // null: nothing is left to do
};
/// The same for a kernel that also adds what repeats every n elements; n = 0: it adds nothing.
struct AddingFinish : Finish {
  AddingFinish(Epilogue* e, int64_t n) : AddingFinish(e, e && n > 0 && e->added().length == n) {}
  const float* added_from(int64_t i) const { return added ? added + i : nullptr; }
  const float* added;  // null: nothing is

 private:
  AddingFinish(Epilogue* e, bool adds)
      : Finish(adds ? e->added().rest : e), added(adds ? e->added().data : nullptr) {}
};

}  // namespace lathe
