// Runs one operator in the simplest way: values are on the heap, and there is one thread. The evaluator of
// graphs and the weight program use it.
#pragma once

#include <vector>

#include "kernel/kernel.h"

namespace lathe {

class HostContext : public KernelContext {
 public:
  struct Output {
    bool wanted = false;
    DataType type = DataType::undefined;  // of a tensor
  };
  /// `inputs`: null for those that are left out; the values must outlive the context.
  HostContext(std::vector<const Value*> inputs, std::vector<Output> outputs)
      : inputs_(std::move(inputs)),
        wanted_(std::move(outputs)),
        results_(wanted_.size()),
        facts_(wanted_.size()) {}

  /// Runs the shape rule, then the kernel. `op` is the decoded struct that both read.
  void run(const Kernel& kernel, const OpCodec& codec, const void* op);
  /// The results by output, after run().
  std::vector<Value>& results() { return results_; }
  /// The size of an output in bytes.
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
  /// Called with the size of every output in bytes; an override throws to refuse it.
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
