// Runs pointwise programs with values of several types, or of other types than float32: block by block like
// programs of float32 (cpu/elementwise/pointwise.h), but not as epilogues. Every value is a row of elements
// of its own type.
#pragma once

#include <array>
#include <span>
#include <variant>
#include <vector>

#include "cpu/elementwise/choose.h"
#include "cpu/elementwise/operand_axes.h"
#include "cpu/elementwise/pointwise.h"
#include "cpu/elementwise/typed_elementwise.h"

namespace lathe::cpu {

/// A program prepared for one instruction set.
class MixedCode {
 public:
  /// `program` is well-formed. Throws plan_malformed if it needs more than `PointwiseCode::max_buffers`, or
  /// functions that its types do not have.
  MixedCode(Isa isa, const Pointwise& program);

 private:
  friend class MixedRun;
  /// The operands of a function. A bit of `singles` is set if all elements of the operand are the same; all
  /// of them are in memory nevertheless.
  struct Reads {
    std::array<const void*, 3> data;
    unsigned singles = 0;
  };
  // Functions with their operands.
  struct OneFloat {
    UnaryRow row;
    float a, b;
    void call(const Reads& x, void* to, int64_t n) const;
  };
  struct TwoFloats {
    const BinaryRow* by_form;
    void call(const Reads& x, void* to, int64_t n) const;
  };
  struct ChosenFloats {
    const TernaryRow* by_singles;
    void call(const Reads& x, void* to, int64_t n) const;
  };
  struct OneNumber {
    SingleRow row;
    void call(const Reads& x, void* to, int64_t n) const;
  };
  struct TwoNumbers {
    TypedBinaryRow row;
    DataType divisors = DataType::undefined;  // undefined: divisors may be 0
    void call(const Reads& x, void* to, int64_t n) const;
  };
  struct Clipped {
    BoundedRow row;
    uint64_t low, high;  // elements, in their first bytes
    void call(const Reads& x, void* to, int64_t n) const;
  };
  struct Chosen {
    const ChooseRow (*by_moving)[2];
    void call(const Reads& x, void* to, int64_t n) const;
  };
  struct BoolsAsFloats {
    LoadBools row;
    void call(const Reads& x, void* to, int64_t n) const;
  };
  using Function =
      std::variant<OneFloat, TwoFloats, ChosenFloats, OneNumber, TwoNumbers, Clipped, Chosen, BoolsAsFloats>;
  static Function function_of(Isa isa, const Pointwise::Instruction& s);
  struct Step {
    Function function;
    uint8_t arity, to;
    std::array<uint8_t, 3> from;  // places: operands, then buffers
  };

  Isa isa_;
  LoadBools load_bools_;
  StoreBools store_bools_;
  std::vector<DataType> operands_;  // the type as which each is read
  std::vector<Step> steps_;
  DataType made_;       // by the last instruction
  bool made_in_place_;  // true if the result may overwrite what the last instruction reads
};

/// A program on the operands of one run, of the types that it reads; operands that it reads as float32 may
/// also be bools or 16-bit floats. The result may be the memory of an operand of its shape and type.
class MixedRun final : public Epilogue {
 public:
  /// Throws the errors of OperandAxes.
  MixedRun(const MixedCode& code, std::span<const Tensor* const> operands, Tensor& to);
  /// Throws run_bad_value if an integer is divided by 0.
  void apply(int64_t begin, int64_t n) override;

 private:
  struct Block;
  /// How the elements of an operand become contiguous: they are so in memory, one element or a short row is
  /// repeated, or they are gathered from rows.
  enum class Way : uint8_t { direct, repeated, gathered };
  void place(size_t o, const OperandAxes::Position& position, int64_t n, Block& block) const;
  void repeat_operand(size_t o, int64_t from, Block& block) const;
  void gather_operand(size_t o, const OperandAxes::Position& position, int64_t n, void* to) const;
  void load(size_t o, const void* from, void* to, int64_t n) const;
  void run_block(Block& block, void* to, int64_t n) const;
  void store(const void* made, int64_t begin, int64_t n) const;
  const std::byte* at(size_t o, int64_t element) const { return data_[o] + element * bits_of(types_[o]) / 8; }
  bool is_converted(size_t o) const { return types_[o] != code_->operands_[o]; }

  const MixedCode* code_;
  OperandAxes axes_;
  std::array<const std::byte*, Pointwise::max_operands> data_;
  std::array<DataType, Pointwise::max_operands> types_;
  std::array<Way, Pointwise::max_operands> ways_;
  std::array<int64_t, Pointwise::max_operands> periods_;  // of repeated operands
  bool crosses_rows_;                                     // true if rows are so short that blocks consist of
                                                          // many
  bool made_in_buffer_;                                   // true if the result is computed in a buffer first
  std::byte* to_;
  DataType type_;
};

}  // namespace lathe::cpu
