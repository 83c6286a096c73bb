// An epilogue that can be undone, which shows that kernels call it once for every element, when it is
// computed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <span>
#include <vector>

#include "support/worker_context.h"

namespace lathe::test {

/// Flips the sign of every element that it gets, and counts.
class SignFlipper : public Epilogue {
 public:
  explicit SignFlipper(std::span<float> y) : y_(y), times_(y.size()) {}
  explicit SignFlipper(Fenced& y) : SignFlipper(std::span(y.data(), y.size())) {}
  void apply(int64_t begin, int64_t n) override {
    ASSERT_TRUE(begin >= 0 && n > 0 && static_cast<size_t>(begin + n) <= y_.size()) << begin << " " << n;
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(begin + n); ++i) {
      y_[i] = -y_[i];
      times_[i].fetch_add(1, std::memory_order_relaxed);
    }
  }
  bool once() const {
    return std::all_of(times_.begin(), times_.end(), [](const std::atomic<int>& n) { return n == 1; });
  }
  /// Y as it would be without.
  std::vector<float> undone() const {
    std::vector<float> y(y_.begin(), y_.end());
    for (float& v : y) v = -v;
    return y;
  }

 private:
  std::span<float> y_;
  std::vector<std::atomic<int>> times_;
};

class EpilogueContext : public WorkerContext {
 public:
  EpilogueContext(int threads, Epilogue* e) : WorkerContext(threads), epilogue_(e) {}
  Epilogue* epilogue() override { return epilogue_; }

 private:
  Epilogue* epilogue_;
};

}  // namespace lathe::test
