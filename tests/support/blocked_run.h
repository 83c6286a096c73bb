// Images in channel blocks, and kernels that are run on them with everything around them watched.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "support/blocked_shapes.h"
#include "support/sign_flipper.h"

namespace lathe::test {

inline cpu::BlockedShape square(int64_t in, int64_t out, int64_t height, int64_t width, int64_t kernel,
                                int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1,
                                int64_t batch = 1) {
  cpu::BlockedShape s{.batch = batch, .channels = in, .filters = out};
  s.in[0] = height, s.in[1] = width;
  for (int a : {0, 1}) s.kernel[a] = kernel, s.stride[a] = stride, s.pad[a] = pad, s.dilation[a] = dilation;
  return sized(s, pad, pad);
}

inline size_t at(int64_t i) { return static_cast<size_t>(i); }

/// [N, C, pixels] in blocks; NaN in other lanes.
inline Fenced blocked(const Fenced& x, int64_t batch, int64_t channels, int64_t pixels) {
  const int64_t blocks = cpu::channel_blocks(channels);
  Fenced y(at(batch * blocks * pixels * cpu::channel_block));
  for (int64_t n = 0; n < batch; ++n)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t p = 0; p < pixels; ++p)
        y.data()[((n * blocks + c / cpu::channel_block) * pixels + p) * cpu::channel_block +
                 c % cpu::channel_block] = x[at((n * channels + c) * pixels + p)];
  return y;
}

/// Calls f(tap, index of the pixel) for every tap of a window that is inside the image.
template <class F>
void for_each_tap(const cpu::BlockedShape& s, int64_t oy, int64_t ox, F&& f) {
  for (int64_t i = 0; i < s.kernel[0]; ++i)
    for (int64_t j = 0; j < s.kernel[1]; ++j) {
      const int64_t y = oy * s.stride[0] - s.pad[0] + i * s.dilation[0],
                    x = ox * s.stride[1] - s.pad[1] + j * s.dilation[1];
      if (y >= 0 && y < s.in[0] && x >= 0 && x < s.in[1]) f(i * s.kernel[1] + j, y * s.in[1] + x);
    }
}

/// Runs one algorithm on one shape; returns y of `size` floats, with the epilogue undone.
using Run = std::function<void(float* y, void* scratch, KernelContext& c)>;
inline std::vector<float> run(size_t size, size_t workspace, int threads, const Run& f) {
  Fenced y(size), scratch(workspace / sizeof(float));
  EXPECT_EQ(workspace % sizeof(float), 0u);
  SignFlipper flipper(y);
  EpilogueContext c(threads, &flipper);
  f(y.data(), scratch.data(), c);
  EXPECT_TRUE(y.intact());
  EXPECT_TRUE(scratch.intact());
  EXPECT_TRUE(flipper.once());
  EXPECT_EQ(c.polls > 0, size > 0);
  return flipper.undone();
}

}  // namespace lathe::test
