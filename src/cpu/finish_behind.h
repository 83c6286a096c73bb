// Output that a thread makes from front to back is finished as it grows.
#pragma once

#include "kernel/pointwise.h"

namespace lathe::cpu {

/// Calls an epilogue, or none, behind elements that come without gaps: for as many at a time as are worth a
/// call and still in the first-level cache.
class FinishBehind {
 public:
  /// The first element that comes.
  FinishBehind(Epilogue* epilogue, int64_t first) : epilogue_(epilogue), done_(first) {}
  /// All elements before this one have been computed, and are not read again.
  void computed(int64_t end) {
    if (end - done_ >= enough) finish(end);
  }
  /// They were the last.
  void finish(int64_t end) {
    if (epilogue_ && end > done_) epilogue_->finish(done_, end - done_);
    done_ = end;
  }
  /// Elements that are best computed between calls.
  static constexpr int64_t piece = 4096;

 private:
  static constexpr int64_t enough = piece / 2;
  Epilogue* epilogue_;
  int64_t done_;
};

}  // namespace lathe::cpu
