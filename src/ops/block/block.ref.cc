// Of constants, which are put into blocks when the engine is built.
#include "ops/block/block.h"

#include <algorithm>

#include "kernel/kernel.h"

namespace lathe {
namespace {

void block(const Block&, KernelContext& c) {
  const Tensor& x = c.in(0);
  Tensor& y = c.out(0);
  const auto from = x.as<float>();
  const auto to = y.as<float>();
  std::ranges::fill(to, 0.0f);
  const auto channels = static_cast<size_t>(x.dim(1)), lanes = static_cast<size_t>(block_lanes);
  const size_t images = static_cast<size_t>(x.dim(0)) * channels;
  const size_t pixels = images == 0 ? 0 : from.size() / images, blocks = (channels + lanes - 1) / lanes;
  for (size_t i = 0; i < images; ++i) {
    c.poll();
    const size_t channel = i % channels, first = (i / channels * blocks + channel / lanes) * pixels;
    for (size_t p = 0; p < pixels; ++p) to[(first + p) * lanes + channel % lanes] = from[i * pixels + p];
  }
}

}  // namespace

void reference_block(KernelCatalog& k) { k.reference<Block>("Block", block, "lathe"); }

}  // namespace lathe
