// Applies the epilogue to results of convolutions in channel blocks while they are in the first-level cache.
#pragma once

#include <algorithm>
#include <cstdint>

#include "cpu/nchw16c/blocked.h"

namespace lathe::cpu {

/// Floats of output that stay in the first-level cache until the epilogue is applied.
inline constexpr int64_t epilogue_floats = 8192;

/// Pixels of some blocks of the output, computed in order.
class PixelEpilogue {
 public:
  /// Planes have `plane` pixels, of which `first_pixel` is computed first. `e` may be null; `first_block`
  /// counts from the first image of the batch.
  PixelEpilogue(Epilogue* e, int64_t plane, int64_t first_block, int64_t blocks, int64_t first_pixel)
      : epilogue_(e), plane_(plane), first_block_(first_block), blocks_(blocks), first_pixel_(first_pixel) {}

  /// Reports that `pixels` pixels are computed; applies the epilogue once they are worth a call.
  void reach(int64_t pixels) {
    if (epilogue_ && (pixels - flushed_) * blocks_ >= worth_a_call) flush(pixels);
  }
  /// The same for the last pixels.
  void end(int64_t pixels) {
    if (epilogue_ && pixels > flushed_) flush(pixels);
  }

 private:
  static constexpr int64_t worth_a_call = epilogue_floats / channel_block / 2;

  void flush(int64_t pixels) {
    for (int64_t i = first_block_; i < first_block_ + blocks_; ++i)
      epilogue_->apply((i * plane_ + first_pixel_ + flushed_) * channel_block,
                       (pixels - flushed_) * channel_block);
    flushed_ = pixels;
  }

  Epilogue* epilogue_;
  int64_t plane_, first_block_, blocks_, first_pixel_;
  int64_t flushed_ = 0;
};

/// Writes elements [begin, begin + n), which were computed elsewhere as float32, to an output of any float
/// type, through the epilogue if there is one.
inline void bring(Isa isa, Epilogue* e, const float* computed, int64_t begin, int64_t n, DataType type,
                  void* y) {
  if (e)
    e->apply_from(computed, begin, n);
  else if (type == DataType::float32)
    std::copy_n(computed, n, static_cast<float*>(y) + begin);
  else
    narrow(isa, type, computed, static_cast<Float16*>(y) + begin, n);
}

}  // namespace lathe::cpu
