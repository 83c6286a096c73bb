// Pointwise programs: the operations of several elementwise operators on each element of one shape, as one
// list of instructions. A program runs alone in one pass over memory, or as the epilogue of a kernel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "lathe/types.h"

namespace lathe {

class Tensor;
class Workers;

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
  not_zero /*is it anything but 0?*/,
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

/// Functions of numbers of one type: integers, double or bools. Integers wrap around. Quotients are rounded
/// towards zero; remainders have the sign of the dividend, those of `modulo` that of the divisor. No divisor
/// may be 0. Shifts by too many bits give 0, to the right copies of the sign.
enum class TypedBinaryOp : uint8_t {
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
/// Returns whether the result is a bool for operands of any type.
constexpr bool makes_bools(TypedBinaryOp op) {
  return op >= TypedBinaryOp::equal && op <= TypedBinaryOp::differ;
}
/// Returns whether divisors that are integers must not be 0.
constexpr bool divides(TypedBinaryOp op) {
  return op >= TypedBinaryOp::divide && op <= TypedBinaryOp::modulo;
}

/// A straight-line program over elements. Values are numbered: first the operands, each broadcast to the
/// shape of the result, then the results of the instructions in their order. The last one is the program's.
/// Most values are float32. Among these, bools are 0 and 1, and are bytes in memory if they are operands or
/// results; 16-bit floats are widened when they are read and rounded when they are written. Every other value
/// has the type that its instruction writes or reads; bools are bytes.
struct Pointwise {
  enum class Kind : uint8_t {
    floats,   // UnaryOp, BinaryOp or TernaryOp of float32
    numbers,  // SingleOp or TypedBinaryOp of `type`; with three operands: TernaryOp, of a bool in bytes and
              // two numbers of `type`
    clip,     // of `type`, between `bounds`
    cast,     // from `type` to the DataType `op`; values out of range are converted as Cast does it
    count
  };
  struct Instruction {
    uint8_t arity = 1;
    uint8_t op = 0;
    std::array<uint16_t, 3> from{};
    float a = 0, b = 0;  // of unary functions of floats
    Kind kind = Kind::floats;
    DataType type = DataType::float32;  // of its operands
    std::array<uint64_t, 2> bounds{};   // of clip: elements of `type`, in their first bytes
    std::span<uint16_t> reads() { return {from.data(), arity}; }
    std::span<const uint16_t> reads() const { return {from.data(), arity}; }
    DataType read(size_t i) const;
    DataType made() const;
  };
  static constexpr size_t max_operands = 8, max_instructions = 24;

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
  /// op(… op(op(x0, x1), x2) …, xn) of 2 to `max_operands` operands.
  static Pointwise folded(BinaryOp op, size_t operands);
  static Instruction of(BinaryOp op, uint16_t x, uint16_t y) {
    return {.arity = 2, .op = static_cast<uint8_t>(op), .from = {x, y}};
  }
  /// The same for numbers of other types than float32.
  static Pointwise single(SingleOp op, DataType type);
  static Pointwise typed_binary(TypedBinaryOp op, DataType type) { return {2, {of(op, type, 0, 1)}}; }
  static Pointwise reversed(TypedBinaryOp op, DataType type) { return {2, {of(op, type, 1, 0)}}; }
  static Pointwise choose(DataType type);
  static Pointwise clip(DataType type, const void* low, const void* high);
  static Pointwise cast(DataType from, DataType to) { return {1, {of_cast(from, to, 0)}}; }
  static Pointwise folded(TypedBinaryOp op, DataType type, size_t operands);
  static Instruction of(TypedBinaryOp op, DataType type, uint16_t x, uint16_t y) {
    return {.arity = 2, .op = static_cast<uint8_t>(op), .from = {x, y}, .kind = Kind::numbers, .type = type};
  }
  static Instruction of_cast(DataType from, DataType to, uint16_t x) {
    return {.op = static_cast<uint8_t>(to), .from = {x}, .kind = Kind::cast, .type = from};
  }
  /// A program whose result is operand 0, for changes of type.
  static Pointwise unchanged() { return unary(UnaryOp::linear, 1, -0.0f); }
  /// Returns whether this is the program of unchanged().
  bool changes_nothing() const;
  /// If the first instruction adds an operand to operand 0, and nothing else reads either, returns the number
  /// of that operand.
  std::optional<uint16_t> first_added() const;
  /// Returns the program without that instruction and that operand; its operand 0 is the sum.
  Pointwise without_first_added() const;
  /// Returns whether every value is float32. Only such programs run as epilogues.
  bool is_of_floats() const;
  /// Returns the types of all values, operands first: the type that a value is read as, float32 if nothing
  /// reads it. Returns nothing if a value is read as two types.
  std::optional<std::vector<DataType>> types() const;
  /// Returns whether all instructions read earlier values, by their types, and name functions that exist.
  /// Kernels check whether the functions exist for these types.
  bool well_formed() const;
  /// Converts a program to numbers and back, for plans: the number of operands, then nine integers and two
  /// constants for each instruction.
  std::vector<int64_t> integers() const;
  std::vector<float> constants() const;
  static Pointwise from(const std::vector<int64_t>& integers, const std::vector<float>& constants);
};

/// Returns whether float32 operands and results of a program may have this type in memory.
inline bool is_number(DataType t) {
  return t == DataType::float32 || t == DataType::boolean || t == DataType::float16 ||
         t == DataType::bfloat16;
}
/// Returns whether an operand or result of this type in a program may have that type in memory.
inline bool may_be_in_memory_as(DataType value, DataType memory) {
  return value == memory || (value == DataType::float32 && is_number(memory));
}

/// Bounds of elements: min(greatest, max(least, x)); NaN stays NaN.
struct Bounds {
  float least = -std::numeric_limits<float>::infinity(), greatest = std::numeric_limits<float>::infinity();
};

/// The operations on the elements of a kernel's first output that remain once these are computed.
class Epilogue {
 public:
  virtual ~Epilogue() = default;
  /// Applies the epilogue in place to elements [begin, begin + n) of the output, which have been computed.
  /// Called once for every element, by any thread.
  virtual void apply(int64_t begin, int64_t n) = 0;
  /// The same for rows of n elements that begin `row` elements apart.
  virtual void apply_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) {
    if (n == row) return apply(begin, rows * n);
    for (int64_t r = 0; r < rows; ++r) apply(begin + r * row, n);
  }
  /// The same for float32 elements that were computed elsewhere, the first of them at `computed`. The results
  /// are written to the output, whatever its type. Only the epilogues of steps support this.
  virtual void apply_from(const float* computed, int64_t begin, int64_t n);
  /// Prefetches what apply_rows() will read besides the output.
  virtual void prefetch_rows(int64_t /*begin*/, int64_t /*n*/, int64_t /*rows*/, int64_t /*row*/) const {}
  /// The bounds, if the epilogue only keeps elements within bounds. A kernel that applies them when it stores
  /// does not call apply().
  virtual std::optional<Bounds> bounds() const { return std::nullopt; }
  /// The addend, if the epilogue first adds numbers that repeat every `length` elements: a row along the last
  /// axis, or a tensor of the output's shape. A kernel that adds them to its sums calls `rest` instead of
  /// this epilogue.
  struct Added {
    const float* data = nullptr;  // null: there are none
    int64_t length = 0;
    Epilogue* rest = nullptr;  // null: nothing else
  };
  const Added& added() const { return added_; }

 protected:
  Added added_ = {};
};

/// The epilogue of a step, bound to the operands of its program and to the output.
class StepEpilogue : public Epilogue {
 public:
  /// Binds it to other operands and another output of any shapes. Throws run_bad_shape where an operand
  /// cannot be broadcast to the shape of `to`.
  virtual void bind(std::span<const Tensor* const> operands, Tensor& to) = 0;
  /// Replaces the memory of operands and output; types and shapes must be the same, and are not checked.
  virtual void move_to(std::span<const Tensor* const> operands, Tensor& to) = 0;
};

/// A program of float32 that was made ready to be the epilogue of a step in host memory. Immutable;
/// thread-safe.
class CompiledEpilogue {
 public:
  virtual ~CompiledEpilogue() = default;
  /// Returns an epilogue for one context. `this` must outlive it. Throws as StepEpilogue::bind.
  virtual std::unique_ptr<StepEpilogue> bind(std::span<const Tensor* const> operands, Tensor& to) const = 0;
  /// Bytes of the heap that such an epilogue takes.
  virtual size_t bytes() const = 0;
  /// Applies the epilogue to all elements, on all threads: behind a kernel that does not.
  virtual void run(Epilogue& bound, int64_t elements, Workers& workers) const = 0;
};

/// An epilogue for a kernel that applies bounds itself: these bounds, and the epilogue that it then calls.
struct FusedActivation {
  explicit FusedActivation(Epilogue* e) : epilogue(e) {
    if (const auto known = e ? e->bounds() : std::nullopt) bounds = *known, epilogue = nullptr;
  }
  Bounds bounds;
  Epilogue* epilogue;  // null: nothing is left to do
};
/// The same for a kernel that also adds numbers that repeat every n elements; n = 0: it adds nothing.
struct FusedBiasActivation : FusedActivation {
  FusedBiasActivation(Epilogue* e, int64_t n)
      : FusedBiasActivation(e, e && n > 0 && e->added().length == n) {}
  const float* added_from(int64_t i) const { return added ? added + i : nullptr; }
  const float* added;  // null: it adds nothing

 private:
  FusedBiasActivation(Epilogue* e, bool adds)
      : FusedActivation(adds ? e->added().rest : e), added(adds ? e->added().data : nullptr) {}
};

}  // namespace lathe
