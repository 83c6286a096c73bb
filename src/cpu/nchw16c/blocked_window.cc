#include "cpu/nchw16c/blocked_window.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "cpu/ceil_of.h"
#include "cpu/nchw16c/blocked_epilogue.h"
#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/nchw16c/blocked_window_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(WindowKernels, window_kernels)

namespace {

/// Vectors of 16 that are computed between two polls, and that are worth another thread.
constexpr int64_t polled_steps = 200000, min_steps = 8192;
/// Vectors whose sum is worth another thread: few, since they are in the cache of the thread that wrote them.
constexpr int64_t min_added = 1024;
/// Pixels of all blocks that are summed before those in front of them: convolutions write an image in rows of
/// all blocks, the last ones are still in the second-level cache, and the next convolution begins with the
/// first ones.
constexpr int64_t pixels_at_once = 512;

/// Calls f(block, first row, end, bounds) for strips of the output rows of all blocks; f keeps elements
/// within the bounds. Then applies the epilogue, and calls after(block, first row, end).
template <class F, class After>
void for_each_strip(const BlockedShape& s, KernelContext& c, F&& f, After&& after) {
  const int64_t row = s.out[1] * s.taps(), blocks = s.batch * s.out_blocks();
  const bool by_rows = c.threads() > 1 && goes_by_rows(s);
  const int64_t fit =
      std::min(polled_steps / std::max<int64_t>(1, row), epilogue_floats / (s.out[1] * channel_block));
  const int64_t most = by_rows ? ceil_of(s.out[0], c.threads()) : s.out[0];
  const int64_t rows = std::clamp<int64_t>(fit, 1, most), strips = ceil_of(s.out[0], rows);
  const int64_t grain = std::max<int64_t>(1, min_steps / (rows * row));
  const FusedActivation fused(c.epilogue());
  c.parallel(blocks * strips, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      c.poll();
      const int64_t block = by_rows ? i % blocks : i / strips, strip = by_rows ? i / blocks : i % strips;
      const int64_t first = strip * rows, last = std::min(first + rows, s.out[0]);
      f(block, first, last, fused.bounds);
      if (fused.epilogue)
        fused.epilogue->apply((block * s.out[0] + first) * s.out[1] * channel_block,
                              (last - first) * s.out[1] * channel_block);
      after(block, first, last);
    }
  });
}
template <class F>
void for_each_strip(const BlockedShape& s, KernelContext& c, F&& f) {
  for_each_strip(s, c, f, [](int64_t, int64_t, int64_t) {});
}

}  // namespace

int64_t depthwise_weights_size(const BlockedShape& s) { return s.in_blocks() * channel_block * s.taps(); }

void pack_depthwise_weights(const BlockedShape& s, const float* weights, float* to) {
  for (int64_t block = 0; block < s.in_blocks(); ++block)
    for (int64_t tap = 0; tap < s.taps(); ++tap)
      for (int64_t i = 0; i < channel_block; ++i) {
        const int64_t channel = block * channel_block + i;
        *to++ = channel < s.channels ? weights[channel * s.taps() + tap] : 0.0f;
      }
}

size_t depthwise_workspace(const BlockedShape& s, bool f16) {
  return f16 ? static_cast<size_t>(depthwise_weights_size(s)) * sizeof(float) : 0;
}

void depthwise_rows(Isa isa, const BlockedShape& s, int64_t block, const float* x, const float* weights,
                    const float* bias, int64_t row0, int64_t row1, float* y, const Bounds& bounds) {
  const int64_t channel = block * channel_block, lanes = std::min(channel_block, s.channels - channel);
  std::array<float, channel_block> start;
  const bool whole = bias && lanes == channel_block;
  if (!whole) {
    start.fill(0);
    if (bias) std::copy_n(bias + channel, lanes, start.data());
  }
  window_kernels(isa).weighted({.shape = &s,
                                .x = x,
                                .weights = weights + channel * s.taps(),
                                .bias = whole ? bias + channel : start.data(),
                                .row0 = row0,
                                .row1 = row1,
                                .y = y,
                                .bounds = bounds});
  // Values in the other lanes of X must not be passed on.
  if (lanes < channel_block)
    for (int64_t p = row0 * s.out[1]; p < row1 * s.out[1]; ++p)
      std::fill(y + p * channel_block + lanes, y + (p + 1) * channel_block, 0.0f);
}

void depthwise_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                           KernelContext& c) {
  if (s.empty()) return means_of_nothing(s, images.row_means);
  const auto* weights = static_cast<const float*>(images.weights);
  if (images.weights_type != DataType::float32) {  // there are few, so all are widened at once
    auto* const wide = static_cast<float*>(workspace);
    widen(isa, images.weights_type, images.weights, wide, depthwise_weights_size(s), c);
    weights = wide;
  }
  const auto compute = [&](int64_t block, int64_t row0, int64_t row1, const Bounds& bounds) {
    depthwise_rows(isa, s, block % s.in_blocks(), images.x + block * s.in_pixels() * channel_block, weights,
                   images.bias, row0, row1, images.y + block * s.out_pixels() * channel_block, bounds);
  };
  for_each_strip(s, c, compute, [&](int64_t block, int64_t row0, int64_t row1) {
    if (images.row_means) row_means(isa, s, block * s.out[0] + row0, row1 - row0, images.y, images.row_means);
  });
}

void row_means(Isa isa, const BlockedShape& s, int64_t row0, int64_t rows, const float* y, float* means) {
  window_kernels(isa).row_means(y + row0 * s.out[1] * channel_block, rows, s.out[1],
                                means + row0 * channel_block);
}

void means_of_nothing(const BlockedShape& s, float* means) {
  if (means)
    std::fill_n(means, s.batch * s.out_blocks() * s.out[0] * channel_block,
                std::numeric_limits<float>::quiet_NaN());
}

void maximum_rows(Isa isa, const BlockedShape& s, const float* x, int64_t row0, int64_t row1, float* y,
                  const Bounds& bounds) {
  window_kernels(isa).maximum({.shape = &s, .x = x, .row0 = row0, .row1 = row1, .y = y, .bounds = bounds});
}

void blocked_maximum(Isa isa, const BlockedShape& s, const float* x, float* y, KernelContext& c) {
  if (s.empty()) return;
  for_each_strip(s, c, [&](int64_t block, int64_t row0, int64_t row1, const Bounds& bounds) {
    maximum_rows(isa, s, x + block * s.in_pixels() * channel_block, row0, row1,
                 y + block * s.out_pixels() * channel_block, bounds);
  });
}

void blocked_average(Isa isa, const BlockedShape& s, const float* row_factor, const float* column_factor,
                     const float* x, float* y, KernelContext& c) {
  if (s.empty()) return;
  const WindowKernels& k = window_kernels(isa);
  for_each_strip(s, c, [&](int64_t block, int64_t row0, int64_t row1, const Bounds& bounds) {
    k.average({.shape = &s,
               .x = x + block * s.in_pixels() * channel_block,
               .row_factor = row_factor,
               .column_factor = column_factor,
               .row0 = row0,
               .row1 = row1,
               .y = y + block * s.out_pixels() * channel_block,
               .bounds = bounds});
  });
}

void blocked_sums(Isa isa, const float* x, int64_t pixels, float* sums) {
  window_kernels(isa).add_up(x, pixels, sums);
}

void blocked_mean(Isa isa, int64_t blocks, int64_t pixels, const float* x, float* y, KernelContext& c) {
  const WindowKernels& k = window_kernels(isa);
  const float factor = 1.0f / static_cast<float>(pixels);
  c.parallel(blocks, std::max<int64_t>(1, min_added / std::max<int64_t>(1, pixels)),
             [&](int64_t begin, int64_t end) {
               float* const sums = y + begin * channel_block;
               const int64_t lanes = (end - begin) * channel_block;
               std::fill_n(sums, lanes, 0.0f);
               for (int64_t p = (pixels - 1) / pixels_at_once * pixels_at_once; p >= 0; p -= pixels_at_once) {
                 c.poll();
                 for (int64_t i = begin; i < end; ++i)
                   k.add_up(x + (i * pixels + p) * channel_block, std::min(pixels_at_once, pixels - p),
                            y + i * channel_block);
               }
               for (int64_t l = 0; l < lanes; ++l) sums[l] *= factor;
               if (Epilogue* e = c.epilogue()) e->apply(begin * channel_block, lanes);
             });
}

}  // namespace lathe::cpu
