// Runs one operator as plainly as can be: values on the heap, one thread. The evaluator of graphs and the
// weight program are made of it.
#pragma once

#include <vector>

#include "kernel/kernel.h"

namespace lathe {

class PlainContext : public KernelContext {
 public:
  struct Output {
    bool wanted = false;
    DataType type = DataType::undefined;  // of a tensor
  };
  /// `inputs`: null for those left out; they must outlive it.
  PlainContext(std::vector<const Value*> inputs, std::vector<Output> outputs)
      : inputs_(std::move(inputs)),
        wanted_(std::move(outputs)),
        results_(wanted_.size()),
        facts_(wanted_.size()) {}

  /// The shape rule, then the kernel; `op` is what both decode the attributes to.
  void run(const Kernel& kernel, const OpCodec& codec, const void* op);
  /// By output, after run().
  std::vector<Value>& results() { return results_; }
  /// Bytes of an output.
  uint64_t bytes(size_t i) const { return results_[i].is_tensor() ? results_[i].tensor().bytes() : 0; }

  size_t inputs() const override { return inputs_.size(); }
  size_t outputs() const override { return results_.size(); }
  bool has(size_t i) const override { return i < inputs_.size() && inputs_[i] && !inputs_[i]->empty(); }
  const Value& value(size_t i) const override { return *inputs_[i]; }
  bool wants(size_t i) const override { return i < wanted_.size() && wanted_[i].wanted; }
  Tensor& out(size_t i) override;
  Tensor& out(size_t i, DataType type, const Shape& shape) override;
  void set(size_t i, Value v) override;
  void* workspace(size_t bytes) override;
  void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) override;
  KernelBody& body(size_t i) override;

 protected:
  /// Told of the bytes of every output before it is made; throws to refuse.
  virtual void take(uint64_t /*bytes*/) {}

 private:
  void infer(const OpCodec& codec, const void* op);
  Tensor& make(size_t i, DataType type, const Shape& shape);

  std::vector<const Value*> inputs_;
  std::vector<Output> wanted_;
  std::vector<Value> results_;
  std::vector<Fact<int64_t>> facts_;
  Tensor scratch_;
};

}  // namespace lathe
