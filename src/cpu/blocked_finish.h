// Tells an epilogue what convolutions in channel blocks have computed while it lies in the first-level cache.
#pragma once

#include <cstdint>

#include "cpu/blocked.h"

namespace lathe::cpu {

/// Pixels of some blocks of the output, computed one after the other.
class FinishedPixels {
 public:
  /// `e` may be null; `first_block` counts from the first image of the batch.
  FinishedPixels(Epilogue* e, const BlockedShape& s, int64_t first_block, int64_t blocks, int64_t first_pixel)
      : epilogue_(e), shape_(s), first_block_(first_block), blocks_(blocks), told_(first_pixel) {}

  /// Pixels before this one are there; told of once they are worth a call.
  void reach(int64_t pixel) {
    if (epilogue_ && (pixel - told_) * blocks_ >= worth_a_call) tell(pixel);
  }
  /// And that was all.
  void end(int64_t pixel) {
    if (epilogue_ && pixel > told_) tell(pixel);
  }

 private:
  /// 16 KB.
  static constexpr int64_t worth_a_call = 256;

  void tell(int64_t pixel) {
    for (int64_t i = first_block_; i < first_block_ + blocks_; ++i)
      epilogue_->finish((i * shape_.out_pixels() + told_) * channel_block, (pixel - told_) * channel_block);
    told_ = pixel;
  }

  Epilogue* epilogue_;
  const BlockedShape& shape_;
  int64_t first_block_, blocks_, told_;
};

}  // namespace lathe::cpu
