#include "cpu/nchw16c/blocked_far.h"

#include <algorithm>
#include <array>
#include <limits>

#include "cpu/ceil_of.h"
#include "cpu/nchw16c/blocked_epilogue.h"
#include "cpu/nchw16c/blocked_tile.h"
#include "cpu/simd/f16.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// The largest part of all products inside the image for which this pays: each product is added to memory.
constexpr double max_part_met = 0.6;
/// Tasks for each thread.
constexpr int64_t shared = 4;

/// The outputs [begin, end) for which a tap is inside the image along an axis, and its input for output 0.
struct Met {
  int64_t begin, end, first;
};
Met met(const BlockedShape& s, int axis, int64_t tap) {
  const int64_t first = tap * s.dilation[axis] - s.pad[axis];
  return {std::clamp<int64_t>(-first, 0, s.out[axis]),
          std::clamp<int64_t>(s.in[axis] - first, 0, s.out[axis]), first};
}

/// The tap that reads the pixel of the output's own index, for every output; -1: there is none.
int64_t own_tap(const BlockedShape& s, int axis) {
  const bool there = s.pad[axis] % s.dilation[axis] == 0 && s.pad[axis] / s.dilation[axis] < s.kernel[axis] &&
                     s.out[axis] <= s.in[axis];
  return there ? s.pad[axis] / s.dilation[axis] : -1;
}

double part_met(const BlockedShape& s) {
  double part = 1;
  for (int axis : {0, 1}) {
    int64_t pixels = 0;
    for (int64_t tap = 0; tap < s.kernel[axis]; ++tap) {
      const Met m = met(s, axis, tap);
      pixels += std::max<int64_t>(0, m.end - m.begin);
    }
    part *= static_cast<double>(pixels) / static_cast<double>(s.kernel[axis] * s.out[axis]);
  }
  return part;
}

struct Cut {
  Cut(const BlockedTiles& t, const BlockedShape& s, int threads)
      : panels(t.panels(s.out_blocks())),
        strips(std::clamp<int64_t>(ceil_of(shared * threads, s.batch * panels), 1,
                                   threads > 1 ? s.out[0] : 1)) {}
  int64_t panels, strips;  // of filters, and of rows
};

int64_t buffer_size(const BlockedTiles& t, bool f16) { return f16 ? channel_block * t.panel_filters() : 0; }

/// Computes some rows of a panel of filters.
class Panel {
 public:
  Panel(Isa isa, const BlockedShape& s, const BlockedImages& images, int64_t image, int64_t panel,
        int64_t row0, int64_t row1, float* buffer)
      : isa_(isa),
        s_(s),
        t_(blocked_tiles(isa)),
        images_(images),
        x_(images.x + image * s.in_blocks() * s.in_pixels() * channel_block),
        first_filter_(panel * t_.panel_filters()),
        blocks_(std::min(t_.panel_blocks, s.out_blocks() - panel * t_.panel_blocks)),
        row0_(row0),
        row1_(row1),
        y_(images.y + (image * s.out_blocks() + panel * t_.panel_blocks) * s.out_pixels() * channel_block),
        buffer_(buffer) {}

  void compute(const Bounds& bounds, Workers& workers) {
    begin();
    const int64_t own = own_tap(s_, 0) * s_.kernel[1] + own_tap(s_, 1);
    for (int64_t block = 0; block < s_.in_blocks(); ++block) {
      workers.poll();
      for (int64_t tap = 0; tap < s_.taps(); ++tap)
        if (tap != own) add(block, tap, {});
      add(block, own, block + 1 == s_.in_blocks() ? bounds : Bounds{});
    }
  }

 private:
  /// Sets every output to its filter's bias.
  void begin() {
    for (int64_t b = 0; b < blocks_; ++b) {
      std::array<float, channel_block> bias{};
      const int64_t filter = first_filter_ + b * channel_block;
      if (images_.bias)
        std::copy_n(images_.bias + filter, std::min(channel_block, s_.filters - filter), bias.data());
      float* y = y_ + (b * s_.out_pixels() + row0_ * s_.out[1]) * channel_block;
      for (int64_t p = 0; p < (row1_ - row0_) * s_.out[1]; ++p, y += channel_block)
        std::copy_n(bias.data(), channel_block, y);
    }
  }

  /// Adds the products of a block of channels and a tap, where the tap is inside the image.
  void add(int64_t block, int64_t tap, const Bounds& bounds) {
    const Met down = met(s_, 0, tap / s_.kernel[1]), along = met(s_, 1, tap % s_.kernel[1]);
    const int64_t begin = std::max(down.begin, row0_), end = std::min(down.end, row1_);
    if (begin >= end || along.begin >= along.end) return;
    static constexpr int64_t nowhere_else = 0;
    const int64_t channels = std::min(channel_block, s_.channels - block * channel_block);
    const int64_t width = blocks_ * channel_block,
                  before = (block * channel_block * s_.taps() + tap * channels) * width;
    BlockedTile tile{
        .steps = &nowhere_else,
        .count = 1,
        .depth = channels,
        .stride = channel_block,
        .w = widened(isa_, images_.weights_type, images_.weights,
                     first_filter_ * s_.channels * s_.taps() + before, channels * width, buffer_),
        .y_block = s_.out_pixels() * channel_block,
        .adds = true,
        .bounds = bounds};
    const auto& kernels = t_.of(channel_block, blocks_);
    const int64_t pixels = along.end - along.begin, tiles = ceil_of(pixels, int64_t{t_.MR});
    for (int64_t row = begin; row < end; ++row) {
      const int64_t x = ((block * s_.in[0] + row + down.first) * s_.in[1] + along.first);
      float* const y = y_ + row * s_.out[1] * channel_block;
      for (int64_t i = 0; i < tiles; ++i) {
        const int64_t from = along.begin + i * pixels / tiles, to = along.begin + (i + 1) * pixels / tiles;
        tile.x = x_ + (x + from) * channel_block;
        tile.y = y + from * channel_block;
        kernels[to - from](tile);
      }
    }
  }

  Isa isa_;
  const BlockedShape& s_;
  const BlockedTiles& t_;
  const BlockedImages& images_;
  const float* x_;
  int64_t first_filter_, blocks_, row0_, row1_;
  float* y_;
  float* buffer_;
};

}  // namespace

bool reaches_far(const BlockedShape& s) {
  if (s.empty() || s.nchw || s.bf16_dot2 || s.scaled || s.gated || s.sets != 1 || s.merged != 1 ||
      s.taps() == 1 || s.channels == 0)
    return false;
  for (int axis : {0, 1})
    if (s.stride[axis] != 1 || own_tap(s, axis) < 0) return false;
  return part_met(s) <= max_part_met;
}

size_t far_workspace(Isa isa, const BlockedShape& s, bool f16, int threads) {
  const BlockedTiles& t = blocked_tiles(isa);
  const Cut cut(t, s, threads);
  return static_cast<size_t>(task_slots(s.batch * cut.panels * cut.strips, threads) *
                             slot_stride(buffer_size(t, f16), threads)) *
         sizeof(float);
}

void far_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                     KernelContext& c) {
  const BlockedTiles& t = blocked_tiles(isa);
  const Cut cut(t, s, c.threads());
  const FusedActivation fused(c.epilogue());
  const int64_t stride = slot_stride(buffer_size(t, images.weights_type != DataType::float32), c.threads());
  float* const scratch = static_cast<float*>(workspace);
  for_each_task(c, s.batch * cut.panels * cut.strips, [&](int64_t task, int64_t slot) {
    const int64_t strip = task % cut.strips, panel = task / cut.strips % cut.panels,
                  image = task / cut.strips / cut.panels;
    const int64_t row0 = strip * s.out[0] / cut.strips, row1 = (strip + 1) * s.out[0] / cut.strips;
    Panel(isa, s, images, image, panel, row0, row1, scratch + slot * stride).compute(fused.bounds, c);
    PixelEpilogue pixel_epilogue(
        fused.epilogue, s.out_pixels(), image * s.out_blocks() + panel * t.panel_blocks,
        std::min(t.panel_blocks, s.out_blocks() - panel * t.panel_blocks), row0 * s.out[1]);
    pixel_epilogue.end((row1 - row0) * s.out[1]);
  });
}

}  // namespace lathe::cpu
