// Runs pointwise programs block by block, so that the results of one instruction are still in the first-level
// cache when the next one reads them.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "cpu/elementwise/elementwise.h"
#include "cpu/elementwise/operand_axes.h"

namespace lathe::cpu {

/// Returns whether an instruction's result may be the memory of what it reads.
bool may_write_over(const Pointwise::Instruction& s);
/// The number of buffers of a program; those with more than `PointwiseCode::max_buffers` cannot run.
size_t buffers_of(const Pointwise& program);
/// The place of each value while a program runs: operands, then buffers. Throws plan_malformed if there would
/// be too many.
std::vector<uint8_t> places_of(const Pointwise& program);

/// A program prepared for one instruction set: functions are looked up, and results share few buffers.
class PointwiseCode {
 public:
  /// The elements that go through the whole program at once.
  static constexpr int64_t block = 512;
  /// Buffers for results that later instructions read, on the stack of each thread.
  static constexpr size_t max_buffers = 8;

  /// `program` is well-formed. Throws plan_malformed if it needs more than `max_buffers`, or has values
  /// other than float32: cpu/elementwise/mixed_pointwise.h runs those.
  PointwiseCode(Isa isa, const Pointwise& program);

  size_t operands() const { return operands_; }
  /// The bounds, if the program is Relu or Clip of one operand.
  const std::optional<Bounds>& bounds() const { return bounds_; }
  /// The operand that is added to operand 0 before any other operation.
  const std::optional<uint16_t>& first_added() const { return first_added_; }
  /// The program after that addition; null if there are no further instructions.
  const PointwiseCode* after_added() const { return after_added_.get(); }

 private:
  friend class PointwiseRun;
  Isa isa_;
  struct Step {
    uint8_t arity = 1, to = 0;
    std::array<uint8_t, 3> from{};  // places: operands, then buffers
    UnaryRow unary = nullptr;
    const BinaryRow* binary = nullptr;    // by form
    const TernaryRow* ternary = nullptr;  // by the operands that are single
    float a = 0, b = 0;
  };
  LoadBools load_bools_;
  StoreBools store_bools_;
  size_t operands_;
  std::vector<Step> steps_;
  std::optional<Bounds> bounds_;
  std::optional<uint16_t> first_added_;
  std::shared_ptr<const PointwiseCode> after_added_;
};

/// A program on the operands of one run: float32, bool, or 16-bit floats. The result may be the memory of an
/// operand of its shape and type.
class PointwiseRun final : public Epilogue {
 public:
  /// Throws run_bad_shape where an operand cannot be broadcast to the shape of `to`.
  PointwiseRun(const PointwiseCode& code, std::span<const Tensor* const> operands, Tensor& to);
  void apply(int64_t begin, int64_t n) override;
  void apply_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) override;
  void apply_from(const float* computed, int64_t begin, int64_t n) override;
  /// Prefetches only if is_flat_float32().
  void prefetch_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) const override;
  std::optional<Bounds> bounds() const override { return code_->bounds(); }
  /// Replaces the memory of operands and result; types and shapes must be the same, and are not checked.
  void move_to(std::span<const Tensor* const> operands, Tensor& to) {
    for (size_t o = 0; o < operands.size(); ++o) data_[o] = operands[o]->data();
    to_ = to.data();
  }

 private:
  /// Not initialized, because many are made at once and few are read.
  struct Place {
    const float* data;
    bool single;
  };
  using Places = std::array<Place, Pointwise::max_operands + PointwiseCode::max_buffers>;
  /// Returns whether all operands are float32 and have one common axis.
  bool is_flat_float32() const { return axes_.count == 1 && axes_.repeated_row == 0 && all_floats_; }
  void apply_flat(Places& places, int64_t begin, int64_t n) const;
  void apply_any(const float* computed, int64_t begin, int64_t n) const;
  void run_block(Places& places, float* to, int64_t n) const;
  void load(size_t operand, int64_t at, float* to, int64_t n) const;
  void store(const float* from, int64_t at, int64_t n) const;

  const PointwiseCode* code_;
  std::array<const void*, Pointwise::max_operands> data_{};
  std::array<DataType, Pointwise::max_operands> types_{};
  OperandAxes axes_;
  void* to_;
  DataType type_;                                 // of the result
  bool all_floats_ = type_ == DataType::float32;  // and of the operands
};

/// The epilogue of a step: a run of the whole program, and one of its rest, for kernels that add a row
/// themselves.
class PointwiseEpilogue final : public StepEpilogue {
 public:
  /// Throws the errors of PointwiseRun.
  PointwiseEpilogue(const PointwiseCode& code, std::span<const Tensor* const> operands, Tensor& to);
  PointwiseEpilogue(const PointwiseEpilogue&) = delete;
  PointwiseEpilogue& operator=(const PointwiseEpilogue&) = delete;
  void bind(std::span<const Tensor* const> operands, Tensor& to) override;
  void move_to(std::span<const Tensor* const> operands, Tensor& to) override;

  void apply(int64_t begin, int64_t n) override { all_.apply(begin, n); }
  void apply_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) override {
    all_.apply_rows(begin, n, rows, row);
  }
  void apply_from(const float* computed, int64_t begin, int64_t n) override {
    all_.apply_from(computed, begin, n);
  }
  void prefetch_rows(int64_t begin, int64_t n, int64_t rows, int64_t row) const override {
    all_.prefetch_rows(begin, n, rows, row);
  }
  std::optional<Bounds> bounds() const override { return all_.bounds(); }

 private:
  void split(std::span<const Tensor* const> operands, Tensor& to);

  const PointwiseCode* code_;
  PointwiseRun all_;
  std::unique_ptr<PointwiseRun> rest_;  // exists once a row was added; few steps have one
};

/// Applies it to all elements, on all threads.
void run_pointwise(Epilogue& run, int64_t elements, Workers& workers);

/// KernelCatalog::CompileEpilogue.
std::unique_ptr<const CompiledEpilogue> compile_epilogue(Isa isa, const Pointwise& program);

}  // namespace lathe::cpu
