// Tells an epilogue what convolutions in channel blocks have computed while it lies in the first-level cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/blocked.h"

namespace lathe::cpu {

/// Floats of output that stay in the first-level cache until they are finished.
inline constexpr int64_t finished_floats = 8192;

/// Pixels of some blocks of the output, computed one after the other.
class FinishedPixels {
 public:
  /// Of planes of so many pixels, from one of them on. `e` may be null; `first_block` counts from the first
  /// image of the batch.
  FinishedPixels(Epilogue* e, int64_t plane, int64_t first_block, int64_t blocks, int64_t first_pixel)
      : epilogue_(e), plane_(plane), first_block_(first_block), blocks_(blocks), first_pixel_(first_pixel) {}

  /// So many pixels are there; told of once they are worth a call.
  void reach(int64_t pixels) {
    if (epilogue_ && (pixels - told_) * blocks_ >= worth_a_call) tell(pixels);
  }
  /// And that was all.
  void end(int64_t pixels) {
    if (epilogue_ && pixels > told_) tell(pixels);
  }

 private:
  static constexpr int64_t worth_a_call = finished_floats / channel_block / 2;

  void tell(int64_t pixels) {
    for (int64_t i = first_block_; i < first_block_ + blocks_; ++i)
      epilogue_->finish((i * plane_ + first_pixel_ + told_) * channel_block,
                        (pixels - told_) * channel_block);
    told_ = pixels;
  }

  Epilogue* epilogue_;
  int64_t plane_, first_block_, blocks_, first_pixel_;
  int64_t told_ = 0;
};

/// Elements [begin, begin + n) of an output of any float type, which were computed elsewhere as float32, go
/// where they belong, by way of the epilogue where there is one.
inline void bring(Isa isa, Epilogue* e, const float* computed, int64_t begin, int64_t n, DataType type,
                  void* y) {
  if (e)
    e->finish_from(computed, begin, n);
  else if (type == DataType::float32)
    std::copy_n(computed, n, static_cast<float*>(y) + begin);
  else
    narrow(isa, type, computed, static_cast<Float16*>(y) + begin, n);
}

}  // namespace lathe::cpu
