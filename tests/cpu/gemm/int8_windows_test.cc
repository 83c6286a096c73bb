// Convolutions and pools of bytes, every algorithm of every instruction set, with VNNI and without, against
// plain loops in 64 bits. They are exact: nothing may differ.
#include <gtest/gtest.h>

#include <cmath>

#include "cpu/quantized/int8_winograd.h"
#include "support/fenced_bytes.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;

/// Calls f(tap, pixel or -1) for every tap of a window.
template <class F>
void for_each_tap(const BlockedShape& s, int64_t oy, int64_t ox, F&& f) {
  for (int64_t i = 0; i < s.kernel[0]; ++i)
    for (int64_t j = 0; j < s.kernel[1]; ++j) {
      const int64_t y = oy * s.stride[0] - s.pad[0] + i * s.dilation[0],
                    x = ox * s.stride[1] - s.pad[1] + j * s.dilation[1];
      const bool inside = y >= 0 && y < s.in[0] && x >= 0 && x < s.in[1];
      f(i * s.kernel[1] + j, inside ? y * s.in[1] + x : -1);
    }
}

class Convolution {
 public:
  Convolution(const BlockedShape& s, bool depthwise, bool weights_signed, bool adds,
              cpu::RequantParams requant, float factor = 0.00031731f)
      : s_(s),
        depthwise_(depthwise),
        signed_(weights_signed),
        adds_(adds),
        requant_(requant),
        x_(s.batch * s.in_blocks() * s.in_pixels() * channel_block, 11),
        w_(s.filters * (depthwise ? 1 : s.channels) * s.taps(), 12),
        other_(s.batch * s.out_blocks() * s.out_pixels() * channel_block, 13) {
    requant_.adds = adds;
    for (int64_t f = 0; f < cpu::panels(s.filters) * cpu::panel_filters; ++f) {
      factor_.push_back(f < s.filters ? factor * static_cast<float>(f % 5 + 1) : 0);
      shift_.push_back(f < s.filters ? 0.3170731f * static_cast<float>(f % 11 - 5) : 0);
      bias_.push_back(f < s.filters ? static_cast<int32_t>(f * 37 - 200) : 0);
    }
  }

  void fill(int x, int w) {
    std::memset(x_.data(), x, at(x_.size()));
    std::memset(w_.data(), w, at(w_.size()));
  }

  void check() {
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t f = 0; f < s_.filters; ++f)
        for (int64_t p = 0; p < s_.out_pixels(); ++p) want_.push_back(result(n, f, p));
    for_each_set([&](Isa isa) {
      for (int threads : {1, 3}) {
        hold(isa, threads, false);
        if (!depthwise_ && cpu::fits_int8_winograd({s_})) hold(isa, threads, true);
      }
    });
  }

 private:
  static constexpr uint8_t zero = 200;

  int64_t place(int64_t n, int64_t f, int64_t p) const {
    return ((n * s_.out_blocks() + f / channel_block) * s_.out_pixels() + p) * channel_block +
           f % channel_block;
  }
  int64_t weight(int64_t i) const { return number(w_, i, signed_) - (signed_ ? 0 : 128); }

  uint8_t result(int64_t n, int64_t f, int64_t p) const {
    int64_t sum = bias_[at(f)];
    const int64_t inner = depthwise_ ? 1 : s_.channels;
    for (int64_t c = 0; c < inner; ++c)
      for_each_tap(s_, p / s_.out[1], p % s_.out[1], [&](int64_t tap, int64_t pixel) {
        const int64_t channel = depthwise_ ? f : c;
        const int64_t plane = n * s_.in_blocks() + channel / channel_block;
        const int64_t x =
            pixel < 0 ? zero
                      : x_.data()[(plane * s_.in_pixels() + pixel) * channel_block + channel % channel_block];
        sum += (x - zero) * weight((f * inner + c) * s_.taps() + tap);
      });
    double q = std::fma(static_cast<double>(static_cast<float>(sum)), static_cast<double>(factor_[at(f)]),
                        static_cast<double>(shift_[at(f)]));
    const cpu::RequantParams& g = requant_;
    q = std::clamp(static_cast<float>(q), g.low, g.high);
    if (adds_) {
      const double rest =
          static_cast<float>(std::fma(static_cast<double>(other_.data()[place(n, f, p)]),
                                      static_cast<double>(g.others), static_cast<double>(g.constant)));
      q = std::clamp(static_cast<float>(std::fma(std::nearbyint(q), static_cast<double>(g.own), rest)),
                     g.sum_low, g.sum_high);
    }
    return static_cast<uint8_t>(static_cast<int>(std::nearbyint(static_cast<float>(q))) + g.zero);
  }

  void hold(Isa isa, int threads, bool winograd) const {
    SCOPED_TRACE(winograd ? "Winograd" : "direct");
    WorkerContext c(threads), packers(3);
    const cpu::Int8ConvShape conv{s_};
    Bytes packed(depthwise_ ? cpu::int8_depthwise_weights_size(s_)
                 : winograd ? cpu::int8_winograd_weights_size(conv)
                            : cpu::int8_conv_weights_size(conv));
    auto* const w = reinterpret_cast<int8_t*>(packed.data());
    if (depthwise_)
      cpu::pack_int8_depthwise(s_, w_.data(), signed_, w);
    else if (winograd)
      cpu::pack_int8_winograd(conv, w_.data(), signed_, w, packers);
    else
      cpu::pack_int8_conv(conv, w_.data(), signed_, w, packers);
    ASSERT_TRUE(packed.intact());
    const int32_t* sums = depthwise_ ? cpu::int8_depthwise_sums(s_, w)
                          : winograd ? cpu::int8_winograd_sums(conv, w)
                                     : cpu::int8_conv_sums(conv, w);
    std::vector<int32_t> start;
    for (size_t f = 0; f < bias_.size(); ++f) start.push_back(bias_[f] - zero * sums[f]);
    Bytes y(s_.batch * s_.out_blocks() * s_.out_pixels() * channel_block);
    cpu::Int8Images images{
        .x = x_.data(), .x_zero = zero, .weights = w, .start = start.data(), .requant = requant_};
    images.requant.factor = factor_.data();
    images.requant.shift = shift_.data();
    images.requant.find_shortcut(s_.filters);
    images.other = adds_ ? other_.data() : nullptr;
    images.y = y.data();
    Scratch scratch(depthwise_ ? cpu::int8_depthwise_workspace(s_)
                    : winograd ? cpu::int8_winograd_workspace(isa, conv, threads)
                               : cpu::int8_conv_workspace(isa, conv, threads));
    if (depthwise_)
      cpu::int8_depthwise(isa, s_, images, scratch.begin, c);
    else if (winograd)
      cpu::int8_winograd(isa, conv, images, scratch.begin, c);
    else
      cpu::int8_convolution(isa, conv, images, scratch.begin, c);
    EXPECT_TRUE(y.intact());
    EXPECT_TRUE(scratch.memory.intact());
    EXPECT_EQ(c.polls > 0, y.size() > 0);
    size_t i = 0, neighbors = 0;
    for (int64_t n = 0; n < s_.batch; ++n)
      for (int64_t f = 0; f < s_.filters; ++f)
        for (int64_t p = 0; p < s_.out_pixels(); ++p, ++i) {
          const int off = std::abs(y.data()[place(n, f, p)] - want_[i]);
          // Without fused multiplication a result in the middle between two integers may be rounded the other
          // way.
          if (isa == Isa::generic && off == 1)
            ++neighbors;
          else
            ASSERT_EQ(off, 0) << "image " << n << " filter " << f << " pixel " << p;
        }
    EXPECT_LE(neighbors * 1000, want_.size() + 1000);
  }

  BlockedShape s_;
  bool depthwise_, signed_, adds_;
  cpu::RequantParams requant_;
  Bytes x_, w_, other_;
  std::vector<float> factor_, shift_;
  std::vector<int32_t> bias_;
  std::vector<uint8_t> want_;
};

BlockedShape square(int64_t in, int64_t out, int64_t height, int64_t width, int64_t kernel,
                    int64_t stride = 1, int64_t pad = 0, int64_t dilation = 1, int64_t batch = 1) {
  BlockedShape s{.batch = batch, .channels = in, .filters = out};
  s.in[0] = height, s.in[1] = width;
  for (int a : {0, 1}) {
    s.kernel[a] = kernel, s.stride[a] = stride, s.pad[a] = pad, s.dilation[a] = dilation;
    s.out[a] = (s.in[a] + 2 * pad - s.reach(a)) / stride + 1;
  }
  return s;
}

cpu::RequantParams residual() {
  cpu::RequantParams sum{.low = -128, .high = 127, .zero = 100};
  sum.own = 0.70137f, sum.others = 1.29571f, sum.constant = -60.1237f, sum.sum_low = -100, sum.sum_high = 155;
  return sum;
}

/// Checks with parameters that clamp nothing, with some that clamp, and with an image to add.
void check(const BlockedShape& s, bool depthwise = false) {
  SCOPED_TRACE(std::to_string(s.batch) + " images, " + std::to_string(s.channels) + " -> " +
               std::to_string(s.filters) + ", " + std::to_string(s.in[0]) + " x " + std::to_string(s.in[1]) +
               ", kernel " + std::to_string(s.kernel[0]) + " x " + std::to_string(s.kernel[1]) + ", stride " +
               std::to_string(s.stride[1]) + ", pad " + std::to_string(s.pad[1]));
  Convolution(s, depthwise, true, false, {.low = -30, .high = 225, .zero = 30}).check();
  Convolution(s, depthwise, false, false, {.low = 0.4f, .high = 90.5f, .zero = 3}).check();
  Convolution(s, depthwise, true, true, residual()).check();
}

TEST(CpuInt8Windows, Pointwise) {
  check(square(5, 7, 6, 9, 1));
  check(square(64, 30, 14, 14, 1, 1, 0, 1, 2));
  check(square(40, 33, 9, 9, 1, 2));
  check(square(40, 48, 9, 9, 1, 3));
  check(square(17, 100, 1, 1, 1, 1, 0, 1, 3));
  check(square(16, 20, 60, 40, 1));
  check(square(600, 20, 30, 20, 1));  // several strips
}

TEST(CpuInt8Windows, Square) {
  for (int64_t kernel : {2, 3, 5})
    for (int64_t stride : {1, 2, 3})
      for (int64_t pad : {0, 1, 3}) check(square(3, 17, 13, 19, kernel, stride, pad));
  check(square(60, 40, 12, 12, 3, 1, 1));
  check(square(20, 50, 15, 15, 3, 2, 1, 2, 2));
  check(square(3, 40, 40, 40, 7, 2, 3));
  check(square(1, 1, 5, 5, 5, 1, 4));
}

TEST(CpuInt8Windows, EveryRemainder) {
  for (int64_t channels = 1; channels <= 20; ++channels)
    check(square(channels, 21 - channels, 4, channels, 3, 1, 1));
  for (int64_t width = 13; width <= 29; ++width) check(square(18, 20, 2, width, 3, 1, 1));
  // Gathered pixels: every height of a tile, and of the last one.
  for (int64_t pixels = 1; pixels <= 40; ++pixels) check(square(44 + pixels, 48, 1, pixels, 1));
  check(square(80, 40, 33, 40, 3, 1, 1));  // in several strips
}

// Tiles of two by two: strips that begin and end within a row of them, rows and columns that are half a tile.
TEST(CpuInt8Windows, Tiles) {
  for (int64_t size = 1; size <= 9; ++size) check(square(33, 34, size, 10 - size, 3, 1, 1, 1, 2));
  check(square(70, 40, 31, 29, 3, 1, 0));
  check(square(200, 24, 23, 22, 3, 1, 1));
  check(square(20, 130, 40, 7, 3, 1, 2));
}

TEST(CpuInt8Windows, CornersOfTiles) {
  for (int x : {0, 255})
    for (int w : {-128, 127}) {
      SCOPED_TRACE(std::to_string(x) + " times " + std::to_string(w));
      Convolution most(square(1024, 16, 5, 4, 3, 1, 1), false, true, false,
                       {.low = -128, .high = 127, .zero = 128}, 1e-7f);
      most.fill(x, w);
      most.check();
    }
  EXPECT_FALSE(cpu::fits_int8_winograd({square(1025, 16, 5, 4, 3, 1, 1)}));
}

// Numbers beyond int32 are clamped all the same, those that are requantized before an image is added.
TEST(CpuInt8Windows, NumbersBeyondIntegers) {
  for (float factor : {3e5f, -3e5f, 0.3f}) {
    SCOPED_TRACE(factor);
    for (const bool depthwise : {false, true}) {
      const BlockedShape s = square(40, 40, 6, 7, 3, 1, 1);
      Convolution(s, depthwise, true, false, {.low = -30, .high = 225, .zero = 30}, factor).check();
      Convolution(s, depthwise, true, true, residual(), factor).check();
    }
  }
}

TEST(CpuInt8Windows, UnevenWindows) {
  BlockedShape s = square(18, 35, 9, 11, 3);
  s.kernel[0] = 1, s.kernel[1] = 4, s.stride[0] = 2, s.pad[1] = 3, s.dilation[1] = 2;
  s.out[0] = 5, s.out[1] = 8;
  check(s);
  s.filters = s.channels;
  check(s, true);
}

TEST(CpuInt8Windows, Depthwise) {
  for (int64_t size : {1, 2, 7, 16, 33})
    for (int64_t kernel : {1, 2, 3, 5, 7})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t pad : {int64_t{0}, kernel / 2})
            if (size + 2 * pad >= (kernel - 1) * dilation + 1)
              check(square(21, 21, size, size + 2, kernel, stride, pad, dilation), true);
  check(square(40, 40, 6, 6, 3, 1, 1, 1, 2), true);
}

TEST(CpuInt8Windows, Empty) {
  BlockedShape s = square(16, 16, 4, 4, 3);
  s.batch = 0;
  check(s);
  check(s, true);
}

TEST(CpuInt8Windows, Maximum) {
  for (int64_t kernel : {1, 2, 3})
    for (int64_t stride : {1, 2, 3})
      for (int64_t dilation : {1, 2})
        for (int64_t pad : {int64_t{0}, kernel / 2}) {
          const BlockedShape s = square(32, 32, 14, 17, kernel, stride, pad, dilation, 2);
          const Bytes x(s.batch * s.in_blocks() * s.in_pixels() * channel_block, 5);
          Bytes y(s.batch * s.out_blocks() * s.out_pixels() * channel_block);
          WorkerContext c(3);
          cpu::int8_maximum(s, x.data(), y.data(), c);
          ASSERT_TRUE(y.intact());
          for (int64_t i = 0; i < y.size(); ++i) {
            const int64_t lane = i % channel_block, pixel = i / channel_block % s.out_pixels(),
                          block = i / channel_block / s.out_pixels();
            uint8_t most = 0;
            for_each_tap(s, pixel / s.out[1], pixel % s.out[1], [&](int64_t, int64_t from) {
              if (from >= 0)
                most = std::max(most, x.data()[(block * s.in_pixels() + from) * channel_block + lane]);
            });
            ASSERT_EQ(y.data()[i], most) << i;
          }
        }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
