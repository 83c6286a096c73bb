// Applies the epilogue to output that a thread computes from front to back, as it grows.
#pragma once

#include "kernel/pointwise.h"

namespace lathe::cpu {

/// Applies an epilogue, if there is one, to elements that are computed without gaps: to as many at a time as
/// are worth a call and are still in the first-level cache.
class StreamingEpilogue {
 public:
  /// `first`: the first element.
  StreamingEpilogue(Epilogue* epilogue, int64_t first) : epilogue_(epilogue), done_(first) {}
  /// All elements before `end` have been computed, and are not read again.
  void computed(int64_t end) {
    if (end - done_ >= enough) flush(end);
  }
  /// Applies the epilogue to the remaining elements before `end`.
  void flush(int64_t end) {
    if (epilogue_ && end > done_) epilogue_->apply(done_, end - done_);
    done_ = end;
  }
  /// The elements that are best computed between calls.
  static constexpr int64_t piece = 4096;

 private:
  static constexpr int64_t enough = piece / 2;
  Epilogue* epilogue_;
  int64_t done_;
};

}  // namespace lathe::cpu
