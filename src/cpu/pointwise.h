// Runs pointwise programs: block by block, so that what one instruction makes is still in the first-level
// cache when the next one reads it.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/elementwise.h"
#include "cpu/operand_axes.h"

namespace lathe::cpu {

/// May an instruction's result be the memory of what it reads?
bool may_write_over(const Pointwise::Instruction& s);
/// How many buffers a program takes; those with more than `PointwiseCode::most_buffers` cannot run.
size_t buffers_of(const Pointwise& program);
/// Where each value is while a program runs: operands, then buffers. Throws plan_malformed where it takes too
/// many.
std::vector<uint8_t> places_of(const Pointwise& program);

/// A program made ready for one instruction set: functions looked up, results put into as few buffers as do.
class PointwiseCode {
 public:
  /// Elements that are taken through the whole program at once.
  static constexpr int64_t block = 512;
  /// Buffers for results that later instructions read; they lie on the stack of each thread.
  static constexpr size_t most_buffers = 8;

  /// `program` is well-formed. Throws plan_malformed where it takes more than `most_buffers`, or is not of
  /// float32 alone: others are run by cpu/mixed_pointwise.h.
  PointwiseCode(Isa isa, const Pointwise& program);

  size_t operands() const { return operands_; }
  /// Where it is Relu or Clip of one operand.
  const std::optional<Bounds>& bounds() const { return bounds_; }
  /// The operand that is added to operand 0 before anything else is done.
  const std::optional<uint16_t>& first_added() const { return first_added_; }
  /// What is done then; null where that is all.
  const PointwiseCode* after_added() const { return after_added_.get(); }

 private:
  friend class PointwiseRun;
  Isa isa_;
  struct Step {
    uint8_t arity = 1, to = 0;
    std::array<uint8_t, 3> from{};  // places: operands, then buffers
    UnaryRow unary = nullptr;
    const BinaryRow* binary = nullptr;    // by form
    const TernaryRow* ternary = nullptr;  // by which operands are single
    float a = 0, b = 0;
  };
  LoadTruths load_truths_;
  StoreTruths store_truths_;
  size_t operands_;
  std::vector<Step> steps_;
  std::optional<Bounds> bounds_;
  std::optional<uint16_t> first_added_;
  std::shared_ptr<const PointwiseCode> after_added_;
};

/// A program on the operands of one run: float32, bool, or floats of 16 bits. The result may be the memory of
/// an operand of its shape and type.
class PointwiseRun final : public Epilogue {
 public:
  /// Throws run_bad_shape where an operand cannot be broadcast to the shape of `to`.
  PointwiseRun(const PointwiseCode& code, std::span<const Tensor* const> operands, Tensor& to);
  void finish(int64_t begin, int64_t n) override;
  void finish_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) override;
  void finish_from(const float* computed, int64_t begin, int64_t n) override;
  /// Where all operands are of the shape of the result.
  void ask_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) const override;
  std::optional<Bounds> bounds() const override { return code_->bounds(); }
  /// The same with elements that lie elsewhere: of the same types and shapes, which are not looked at.
  void move_to(std::span<const Tensor* const> operands, Tensor& to) {
    for (size_t o = 0; o < operands.size(); ++o) data_[o] = operands[o]->data();
    to_ = to.data();
  }

 private:
  /// Many are made at once, of which few are read: nothing is cleared.
  struct Place {
    const float* data;
    bool single;
  };
  using Places = std::array<Place, Pointwise::most_operands + PointwiseCode::most_buffers>;
  /// Do all operands go through one axis alike, as floats?
  bool is_plain() const { return axes_.count == 1 && axes_.repeated_row == 0 && all_floats_; }
  void finish_plain(Places& places, int64_t begin, int64_t n) const;
  void finish_any(const float* computed, int64_t begin, int64_t n) const;
  void run_block(Places& places, float* to, int64_t n) const;
  void load(size_t operand, int64_t at, float* to, int64_t n) const;
  void store(const float* from, int64_t at, int64_t n) const;

  const PointwiseCode* code_;
  std::array<const void*, Pointwise::most_operands> data_{};
  std::array<DataType, Pointwise::most_operands> types_{};
  OperandAxes axes_;
  void* to_;
  DataType type_;                                 // of the result
  bool all_floats_ = type_ == DataType::float32;  // and the operands too?
};

/// The epilogue of a step: a run of the whole program, and one of what is left for kernels that add a row
/// themselves.
class StepEpilogue final : public Epilogue {
 public:
  /// As PointwiseRun.
  StepEpilogue(const PointwiseCode& code, std::span<const Tensor* const> operands, Tensor& to);
  StepEpilogue(const StepEpilogue&) = delete;
  StepEpilogue& operator=(const StepEpilogue&) = delete;
  /// As one made anew of the same program.
  void bind(std::span<const Tensor* const> operands, Tensor& to);
  void move_to(std::span<const Tensor* const> operands, Tensor& to);

  void finish(int64_t begin, int64_t n) override { all_.finish(begin, n); }
  void finish_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) override {
    all_.finish_rows(begin, n, rows, row);
  }
  void finish_from(const float* computed, int64_t begin, int64_t n) override {
    all_.finish_from(computed, begin, n);
  }
  void ask_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) const override {
    all_.ask_rows(begin, n, rows, row);
  }
  std::optional<Bounds> bounds() const override { return all_.bounds(); }

 private:
  void split(std::span<const Tensor* const> operands, Tensor& to);

  const PointwiseCode* code_;
  PointwiseRun all_;
  std::unique_ptr<PointwiseRun> rest_;  // there once a row was added; few steps have one
};

/// All elements, on all threads.
void run_pointwise(Epilogue& run, int64_t elements, KernelContext& c);

}  // namespace lathe::cpu
