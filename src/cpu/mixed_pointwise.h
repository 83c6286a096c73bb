// Runs pointwise programs whose values are of several types, or of others than float32: block by block, as
// those of float32 are (cpu/pointwise.h), but alone. Every value is a row of elements of its own type.
#pragma once

#include <array>
#include <span>
#include <variant>
#include <vector>

#include "cpu/choose.h"
#include "cpu/numbers.h"
#include "cpu/operand_axes.h"
#include "cpu/pointwise.h"

namespace lathe::cpu {

/// A program made ready for one instruction set.
class MixedCode {
 public:
  /// `program` is well-formed. Throws plan_malformed where it takes more than `PointwiseCode::most_buffers`,
  /// or functions that types do not have.
  MixedCode(Isa isa, const Pointwise& program);

 private:
  friend class MixedRun;
  /// The elements of what a function reads, and in whose bits: are all of them the same? They are there
  /// nevertheless.
  struct Reads {
    std::array<const void*, 3> data;
    unsigned singles = 0;
  };
  // Functions, as they are called.
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
    PairRow row;
    DataType divisors = DataType::undefined;  // undefined: any may be 0
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
  struct TruthsAsFloats {
    LoadTruths row;
    void call(const Reads& x, void* to, int64_t n) const;
  };
  using Function =
      std::variant<OneFloat, TwoFloats, ChosenFloats, OneNumber, TwoNumbers, Clipped, Chosen, TruthsAsFloats>;
  static Function function_of(Isa isa, const Pointwise::Instruction& s);
  struct Step {
    Function function;
    uint8_t arity, to;
    std::array<uint8_t, 3> from;  // places: operands, then buffers
  };

  Isa isa_;
  LoadTruths load_truths_;
  StoreTruths store_truths_;
  std::vector<DataType> operands_;  // what each is read as
  std::vector<Step> steps_;
  DataType made_;       // by the last one
  bool made_in_place_;  // may that be the memory of what it reads?
};

/// A program on the operands of one run, of the types it reads; where that is float32, of bool or 16 bits
/// too. The result may be the memory of an operand of its shape and type.
class MixedRun final : public Epilogue {
 public:
  /// Throws as OperandAxes does.
  MixedRun(const MixedCode& code, std::span<const Tensor* const> operands, Tensor& to);
  /// Throws run_bad_value where integers are divided by 0.
  void finish(int64_t begin, int64_t n) override;

 private:
  struct Block;
  /// How the elements of an operand come to lie one behind the other: as they do in memory, as one or a short
  /// row again and again, or from rows of their own.
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
  std::array<const std::byte*, Pointwise::most_operands> data_;
  std::array<DataType, Pointwise::most_operands> types_;
  std::array<Way, Pointwise::most_operands> ways_;
  std::array<int64_t, Pointwise::most_operands> periods_;  // of those that are repeated
  bool crosses_rows_;                                      // are rows so short that blocks are many of them?
  bool made_apart_;                                        // is the result made in a buffer first?
  std::byte* to_;
  DataType type_;
};

}  // namespace lathe::cpu
