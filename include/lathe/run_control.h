// Cancellation and deadlines of loads, builds and runs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "lathe/export.h"

namespace lathe {

/// Carries cancellation and a deadline from the caller to a load, a build or a run, which throws within 50 ms
/// of either. Thread-safe; the object must outlive the call that it is given to.
class LATHE_API RunControl {
 public:
  /// Makes the calls that have this object throw Code::cancelled; it stays so until reset().
  void cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  /// Withdraws cancel(). A deadline stays.
  void reset() { cancelled_.store(false, std::memory_order_relaxed); }
  /// Makes the calls that have this object throw Code::deadline once the clock reads `t`.
  void set_deadline(std::chrono::steady_clock::time_point t) {
    deadline_.store(t.time_since_epoch().count());
  }
  /// Removes the deadline.
  void clear_deadline() { deadline_.store(INT64_MAX); }
  /// Returns whether cancel() was called, and reset() was not since.
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }
  /// Throws Code::cancelled after cancel(), Code::deadline after the deadline, and returns otherwise.
  void check() const;

 private:
  std::atomic<bool> cancelled_{false};
  std::atomic<int64_t> deadline_{INT64_MAX};
};

}  // namespace lathe
