#include "kernel/host_context.h"

#include <algorithm>
#include <new>
#include <stdexcept>

#include "kernel/facts.h"

namespace lathe {

void HostContext::run(const Kernel& kernel, const OpCodec& codec, const void* op) {
  infer(codec, op);
  try {
    kernel.run(op, *this);
  } catch (const std::bad_alloc&) {
    fail(Code::run_out_of_memory, "memory for what is computed", "none left");
  } catch (const std::length_error&) {
    fail(Code::run_out_of_memory, "memory for what is computed", "more than there can be");
  }
  for (size_t i = 0; i < results_.size(); ++i)
    if (wants(i) && facts_[i].ranked && results_[i].empty())
      out(i);  // an empty tensor, for which the kernel did not call out()
}

void HostContext::infer(const OpCodec& codec, const void* op) {
  std::vector<Fact<int64_t>> in(inputs_.size());
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (has(i)) describe_value(*inputs_[i], in[i]);
  for (size_t i = 0; i < facts_.size(); ++i) {
    facts_[i].present = wants(i);
    if (wants(i)) facts_[i].type = wanted_[i].type;
  }
  ShapeContext<int64_t> c(in, facts_);
  codec.shape(op, c);
}

Tensor& HostContext::out(size_t i) {
  if (results_[i].is_tensor()) return results_[i].tensor();
  if (!facts_[i].ranked)
    fail(Code::internal, "a shape for output " + std::to_string(i), "none declared by the shape rule");
  return make(i, wanted_[i].type, Shape(facts_[i].shape.begin(), facts_[i].shape.end()));
}

Tensor& HostContext::out(size_t i, DataType type, const Shape& shape) {
  if (facts_[i].ranked &&
      !std::equal(shape.begin(), shape.end(), facts_[i].shape.begin(), facts_[i].shape.end()))
    fail(Code::internal,
         "output " + std::to_string(i) + " of shape " + ShapeContext<int64_t>::text(facts_[i].shape),
         lathe::describe(shape));
  return make(i, type, shape);
}

void HostContext::set(size_t i, Value v) {
  results_[i] = owned(v);
  take(bytes(i));
}

void* HostContext::workspace(size_t bytes) {
  if (static_cast<size_t>(scratch_.size()) < bytes)
    scratch_ = Tensor(DataType::uint8, Shape{static_cast<int64_t>(bytes)});
  return scratch_.data();
}

void HostContext::parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) {
  const int64_t piece = std::max({grain, int64_t{1}, n / 256 + 1});
  for (int64_t begin = 0; begin < n; begin += std::min(piece, n - begin)) {
    poll();
    f(begin, begin + std::min(piece, n - begin));
  }
}

KernelBody& HostContext::body(size_t i) {
  fail(Code::internal, "an operator without bodies", "one that runs body " + std::to_string(i));
}

Tensor& HostContext::make(size_t i, DataType type, const Shape& shape) {
  if (type == DataType::undefined) fail(Code::internal, "the type of output " + std::to_string(i), "unknown");
  const int64_t n = checked_count(shape, type, "output");
  take(type == DataType::string ? static_cast<uint64_t>(n) * sizeof(std::string)
                                : bytes_for(type, static_cast<size_t>(n)));
  results_[i] = Tensor(type, shape);
  return results_[i].tensor();
}

}  // namespace lathe
