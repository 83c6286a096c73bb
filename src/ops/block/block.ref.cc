// Constants are converted to blocks by this reference when the engine is built.
#include "ops/block/block.h"

#include <algorithm>

#include "kernel/lean_reference.h"

namespace lathe {
namespace {

/// `put` converts an element of x to one of the blocks; lanes beyond the last channel are 0.
template <class T>
void block(const Tensor& x, Tensor& y, KernelContext& c, auto&& put) {
  const T* const from = static_cast<const T*>(x.data());
  T* const to = static_cast<T*>(y.data());
  std::fill_n(to, y.size(), T{});
  const int64_t channels = x.dim(1), blocks = (channels + block_lanes - 1) / block_lanes;
  const int64_t images = x.dim(0) * channels, pixels = images == 0 ? 0 : x.size() / images;
  for (int64_t i = 0; i < images; ++i) {
    c.poll();
    const int64_t channel = i % channels, first = (i / channels * blocks + channel / block_lanes) * pixels;
    for (int64_t p = 0; p < pixels; ++p)
      to[(first + p) * block_lanes + channel % block_lanes] = put(from[i * pixels + p]);
  }
}

void block(const Block&, KernelContext& c) {
  const Tensor& x = c.in(0);
  if (x.type() == DataType::float32) return block<float>(x, c.out(0), c, [](float v) { return v; });
  const uint8_t sign = x.type() == DataType::int8 ? 128 : 0;
  block<uint8_t>(x, c.out(0), c, [&](uint8_t v) { return static_cast<uint8_t>(v ^ sign); });
}

}  // namespace

void reference_block(KernelCatalog& k) { lean_reference<Block>(k, "Block", block, "lathe"); }

}  // namespace lathe
