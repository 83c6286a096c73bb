// A KernelContext for functions that only divide work: real threads, which take their pieces in an
// unpredictable order.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/cpu.h"
#include "cpu/simd/isa.h"
#include "kernel/kernel.h"

namespace lathe::test {

class WorkerContext : public KernelContext {
 public:
  explicit WorkerContext(int threads = 1) : threads_(threads) {}

  size_t inputs() const override { return 0; }
  size_t outputs() const override { return 0; }
  bool has(size_t) const override { return false; }
  const Value& value(size_t) const override { throw std::logic_error("no values here"); }
  bool wants(size_t) const override { return false; }
  Tensor& out(size_t) override { throw std::logic_error("no outputs here"); }
  Tensor& out(size_t, DataType, const Shape&) override { throw std::logic_error("no outputs here"); }
  void set(size_t, Value) override { throw std::logic_error("no outputs here"); }
  KernelBody& body(size_t) override { throw std::logic_error("no bodies here"); }

  void* workspace(size_t bytes) override {
    if (memory_.size() < bytes + 64) memory_.resize(bytes + 64);
    void* p = memory_.data();
    size_t room = memory_.size();
    return std::align(64, bytes, p, room);
  }
  void parallel(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> f) override {
    if (threads_ == 1 || n <= grain) {
      if (n > 0) f(0, n);
      return;
    }
    std::atomic<int64_t> next{0};
    std::mutex mutex;
    std::exception_ptr failed;
    std::vector<std::thread> workers;
    for (int t = 0; t < threads_; ++t)
      workers.emplace_back([&] {
        try {
          for (int64_t i; (i = next.fetch_add(grain)) < n;) f(i, std::min(n, i + grain));
        } catch (...) {
          std::lock_guard lock(mutex);
          failed = std::current_exception();
        }
      });
    for (std::thread& w : workers) w.join();
    if (failed) std::rethrow_exception(failed);
  }
  int threads() const override { return threads_; }
  void poll() override { polls.fetch_add(1, std::memory_order_relaxed); }

  std::atomic<int64_t> polls{0};

 private:
  int threads_;
  std::vector<char> memory_;
};

/// The instruction sets that are compiled in and that this machine has.
inline std::vector<Isa> usable_isas() {
  std::vector<Isa> r;
  for (Isa isa : cpu::compiled_isas)
    if (isa == Isa::generic || (isa == Isa::avx2 && cpu_features().avx2) ||
        (isa == Isa::avx512 && cpu_features().avx512))
      r.push_back(isa);
  return r;
}

/// Floats with a fence of NaN on both sides, so that reading outside shows in the result, and writing outside
/// in intact().
class Fenced {
 public:
  explicit Fenced(size_t n) : size_(n), data_(n + 2 * fence, nan()) {}
  template <class Random>
  Fenced(size_t n, Random&& random) : Fenced(n) {
    for (size_t i = 0; i < n; ++i) data()[i] = random();
  }
  float* data() { return data_.data() + fence; }
  const float* data() const { return data_.data() + fence; }
  size_t size() const { return size_; }
  float operator[](size_t i) const { return data()[i]; }
  bool intact() const {
    for (size_t i = 0; i < fence; ++i)
      if (data_[i] == data_[i] || data_[fence + size_ + i] == data_[fence + size_ + i]) return false;
    return true;
  }

 private:
  static constexpr size_t fence = 64;
  static float nan() { return std::numeric_limits<float>::quiet_NaN(); }
  size_t size_;
  std::vector<float> data_;
};

/// Uniform in [-1, 1), the same everywhere.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  float operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int32_t>(state_ >> 32)) * 0x1p-31f;
  }

 private:
  uint64_t state_;
};

}  // namespace lathe::test
