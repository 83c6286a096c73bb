// Convolution in channel blocks in bf16x3 with AMX's tiles, against plain loops in double and
// against AVX-512's own kernels. Lanes beyond the last channel of X are NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cpu/nchw16c/blocked.h"
#include "cpu/nchw16c/blocked_bf16x3.h"
#include "cpu/simd/f16.h"
#include "support/bf16x3_test.h"
#include "support/blocked_shapes.h"
#include "support/sign_flipper.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;

constexpr float infinity = std::numeric_limits<float>::infinity();
size_t at(int64_t i) { return static_cast<size_t>(i); }

BlockedShape square(int64_t channels, int64_t filters, int64_t height, int64_t width, int64_t kernel,
                    int64_t stride = 1, int64_t dilation = 1, int64_t batch = 1) {
  const int64_t pad = (kernel - 1) * dilation / 2;
  BlockedShape s{.batch = batch, .channels = channels, .filters = filters};
  s.in[0] = height, s.in[1] = width;
  for (int a : {0, 1}) s.kernel[a] = kernel, s.stride[a] = stride, s.dilation[a] = dilation, s.pad[a] = pad;
  return sized(s, pad, pad);
}

using CpuBf16x3 = Bf16x3Test;

/// A convolution of numbers that use all of their 24 bits.
struct Problem {
  BlockedShape s;
  std::vector<float> x, w, bias;  // [batch, channels, pixels], [filters, channels, taps]

  explicit Problem(const BlockedShape& shape) : s(shape) {
    Random random(static_cast<uint64_t>(s.channels * 77 + s.out_pixels() * 5 + s.filters));
    // The numbers have many magnitudes.
    const auto fill = [&](std::vector<float>& v, int64_t n) {
      v.resize(at(n));
      for (float& f : v) f = random() * std::exp2(std::floor(6 * random()));
    };
    fill(x, s.batch * s.channels * s.in_pixels());
    fill(w, s.filters * s.channels * s.taps());
    fill(bias, s.filters);
  }

  /// Output [batch, blocks, pixels, 16] of the kernels; bits that do not depend on the number of threads.
  std::vector<float> run(int threads) const {
    Fenced y(at(s.batch * s.out_blocks() * s.out_pixels() * channel_block));
    SignFlipper flipper(y);
    EpilogueContext c(threads, &flipper);
    Fenced in(at(s.batch * s.in_blocks() * s.in_pixels() * channel_block));
    for (int64_t n = 0; n < s.batch * s.channels && !s.nchw; ++n) {
      const int64_t image = n / s.channels, channel = n % s.channels;
      for (int64_t p = 0; p < s.in_pixels(); ++p)
        in.data()[((image * s.in_blocks() + channel / channel_block) * s.in_pixels() + p) * channel_block +
                  channel % channel_block] = x[at(n * s.in_pixels() + p)];
    }
    if (s.nchw) {
      in = Fenced(x.size());
      std::copy(x.begin(), x.end(), in.data());
    }
    Fenced packed(at(cpu::direct_weights_size(Isa::avx512, s)));
    cpu::pack_direct_weights(Isa::avx512, s, w.data(), packed.data(), c);
    // bf16x3 is used, however small the shape is.
    const bool bf16x3 = cpu::fits_bf16x3(Isa::avx512, s);
    Fenced scratch((bf16x3 ? cpu::bf16x3_workspace(s, false, threads)
                           : cpu::direct_workspace(Isa::avx512, s, false, threads)) /
                   sizeof(float));
    (bf16x3 ? cpu::bf16x3_convolution : cpu::direct_convolution)(
        Isa::avx512, s, {.x = in.data(), .weights = packed.data(), .bias = bias.data(), .y = y.data()},
        scratch.data(), c);
    EXPECT_TRUE(y.intact());
    EXPECT_TRUE(scratch.intact());
    EXPECT_TRUE(flipper.once());
    return flipper.undone();
  }

  /// Calls f(index in y, filter, sum in double, sum of magnitudes).
  template <class F>
  void for_each_output(F&& f) const {
    std::vector<double> sums(at(s.filters)), magnitudes(at(s.filters));
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t p = 0; p < s.out_pixels(); ++p) {
        for (int64_t m = 0; m < s.filters; ++m)
          sums[at(m)] = bias[at(m)], magnitudes[at(m)] = std::abs(bias[at(m)]);
        for (int64_t tap = 0; tap < s.taps(); ++tap) {
          const int64_t i = p / s.out[1] * s.stride[0] - s.pad[0] + tap / s.kernel[1] * s.dilation[0];
          const int64_t j = p % s.out[1] * s.stride[1] - s.pad[1] + tap % s.kernel[1] * s.dilation[1];
          if (i < 0 || i >= s.in[0] || j < 0 || j >= s.in[1]) continue;
          for (int64_t c = 0; c < s.channels; ++c) {
            const double v = x[at((n * s.channels + c) * s.in_pixels() + i * s.in[1] + j)];
            for (int64_t m = 0; m < s.filters; ++m) {
              const double product = v * w[at((m * s.channels + c) * s.taps() + tap)];
              sums[at(m)] += product, magnitudes[at(m)] += std::abs(product);
            }
          }
        }
        for (int64_t m = 0; m < s.filters; ++m)
          f(at(((n * s.out_blocks() + m / channel_block) * s.out_pixels() + p) * channel_block +
               m % channel_block),
            m, sums[at(m)], magnitudes[at(m)]);
      }
  }
};

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// The tolerance of a sum of float32 products, relative to the sum of the magnitudes.
constexpr double tolerance = 6e-7;

void check(const BlockedShape& s) {
  SCOPED_TRACE(text(s));
  ASSERT_TRUE(cpu::fits_bf16x3(Isa::avx512, s));
  const Problem p(s);
  const std::vector<float> got = p.run(1);
  for (int threads : {2, 3})
    ASSERT_TRUE(same_bits(got, p.run(threads))) << "the bits depend on the number of threads";
  cpu::use_amx(false);
  ASSERT_FALSE(cpu::fits_bf16x3(Isa::avx512, s));
  const std::vector<float> plain = p.run(1);
  cpu::use_amx(true);
  double squares = 0, float32_squares = 0;
  std::vector<bool> seen(got.size());
  p.for_each_output([&](size_t i, int64_t, double want, double magnitude) {
    seen[i] = true;
    const double off = (got[i] - want) / magnitude, float32_off = (plain[i] - want) / magnitude;
    ASSERT_LT(std::abs(off), tolerance) << "at " << i;
    squares += off * off, float32_squares += float32_off * float32_off;
  });
  // With few outputs, chance has some influence.
  ASSERT_LE(std::sqrt(squares), 1.25 * std::sqrt(float32_squares)) << "less exact than AVX-512";
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(seen[i] || got[i] == 0.0F) << "beyond the last filter, at " << i;
}

TEST_F(CpuBf16x3, Channels) {
  for (int64_t channels : {16, 24, 32, 40, 48, 64, 100, 330})
    for (int64_t kernel : {1, 3}) check(square(channels, 24, 9, 11, kernel));
}

TEST_F(CpuBf16x3, Filters) {
  for (int64_t filters : {1, 8, 16, 24, 40, 65})
    for (int64_t kernel : {1, 3}) check(square(33, filters, 8, 8, kernel));
}

TEST_F(CpuBf16x3, Widths) {
  for (int64_t width : {1, 7, 8, 14, 15, 16, 17, 31, 33, 56})
    for (int64_t stride : {1, 2, 3})
      for (int64_t kernel : {1, 2, 3, 5}) {
        const int64_t height = 40 * stride / std::max<int64_t>(1, (width + stride - 1) / stride) + stride;
        BlockedShape s = square(40, 20, std::max(height, kernel * stride), width, kernel, stride);
        if (s.out[1] > 0) check(s);
      }
}

TEST_F(CpuBf16x3, Dilations) {
  for (int64_t stride : {1, 2, 3, 4})
    for (int64_t dilation : {2, 3}) check(square(32, 16, 29, 31, 3, stride, dilation));
}

TEST_F(CpuBf16x3, UnevenPadding) {
  BlockedShape s = square(48, 35, 19, 21, 3);
  s.pad[0] = 2;
  check(sized(s, 0, 4));
  s.pad[0] = 0, s.pad[1] = 1;
  check(sized(s, 3, 0));
  s.stride[0] = 2, s.stride[1] = 3;
  check(sized(s, 3, 9));
  s.stride[0] = 1, s.pad[0] = 30, s.pad[1] = 30;
  check(sized(s, 30, 40));  // more zeros than image
}

TEST_F(CpuBf16x3, Batches) {
  const Problem p(square(40, 40, 7, 9, 3, 1, 1, 3));
  check(p.s);
  const std::vector<float> all = p.run(2);
  Problem one = p;
  one.s.batch = 1;
  const size_t in = p.x.size() / 3, out = all.size() / 3;
  for (size_t n = 0; n < 3; ++n) {
    one.x.assign(p.x.begin() + static_cast<std::ptrdiff_t>(n * in),
                 p.x.begin() + static_cast<std::ptrdiff_t>((n + 1) * in));
    const std::vector<float> alone = one.run(1);
    EXPECT_EQ(std::memcmp(alone.data(), all.data() + n * out, out * sizeof(float)), 0);
  }
}

TEST_F(CpuBf16x3, SeveralStrips) {
  check(square(64, 8, 100, 90, 3));
  check(square(512, 16, 40, 20, 1));
  check(square(256, 4, 3, 2000, 1));
  BlockedShape s = square(192, 4, 5, 1500, 1);
  s.kernel[0] = s.kernel[1] = 2;
  check(sized(s, 0, 1));  // parts of rows
}

TEST_F(CpuBf16x3, OneAxis) {
  for (int64_t length : {70, 20000})
    for (int64_t stride : {1, 2}) {
      BlockedShape s{.batch = 2, .channels = 70, .filters = 5};
      s.in[1] = length, s.kernel[1] = 4, s.pad[1] = 3, s.stride[1] = stride;
      check(sized(s, 0, 2));
    }
}

BlockedShape nchw(BlockedShape s) {
  s.nchw = true;
  return s;
}

TEST_F(CpuBf16x3, Nchw) {
  for (int64_t kernel : {3, 7, 8})
    for (int64_t stride : {1, 2, 3, 5, 9})
      for (int64_t channels : {3, 4}) {
        check(nchw(square(channels, 40, 30, 37, kernel, stride, 1, 2)));
        BlockedShape s = nchw(square(channels, 20, 40, 20, kernel, stride));
        s.pad[0] = 0, s.pad[1] = 9;
        check(sized(s, 5, 12));
      }
  check(nchw(square(3, 64, 112, 112, 7, 2)));
  check(nchw(square(3, 16, 9, 40000, 7, 2)));  // parts of rows
  BlockedShape s = nchw(square(4, 8, 40, 50, 5));
  s.dilation[0] = 3, s.stride[0] = 2;
  check(sized(s, 9, 0));
}

TEST_F(CpuBf16x3, WhereItIsFaster) {
  EXPECT_TRUE(cpu::uses_bf16x3(Isa::avx512, nchw(square(3, 64, 224, 224, 7, 2))));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, nchw(square(3, 64, 224, 224, 3))));
  EXPECT_TRUE(cpu::uses_bf16x3(Isa::avx512, square(64, 256, 56, 56, 1)));
  EXPECT_TRUE(cpu::uses_bf16x3(Isa::avx512, square(128, 128, 28, 28, 3, 2)));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, square(8, 64, 56, 56, 3)));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, square(256, 8, 56, 56, 1)));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, square(64, 64, 1, 1, 1)));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx2, square(64, 256, 56, 56, 1)));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, nchw(square(5, 256, 56, 56, 7))));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, nchw(square(3, 256, 56, 56, 11))));
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, nchw(square(3, 256, 56, 56, 7, 1, 2))));
  BlockedShape s = square(64, 256, 56, 56, 1);
  s.bf16_dot2 = true;
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, s));
  s.bf16_dot2 = false;
  cpu::use_amx(false);
  EXPECT_FALSE(cpu::uses_bf16x3(Isa::avx512, s));
}

/// Numbers that cannot be split give the results of float32; other outputs do not change.
void check_specials(const Problem& clean, const Problem& p) {
  SCOPED_TRACE(text(p.s));
  const std::vector<float> before = clean.run(1), got = p.run(1);
  for (int threads : {2, 3}) {
    const std::vector<float> again = p.run(threads);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_TRUE(std::isnan(got[i]) ? std::isnan(again[i]) : got[i] == again[i]) << "at " << i;
  }
  std::vector<double> was(got.size());
  clean.for_each_output([&](size_t i, int64_t, double want, double) { was[i] = want; });
  int others = 0;
  p.for_each_output([&](size_t i, int64_t, double want, double magnitude) {
    if (want == was[i]) return;
    ++others;
    if (std::isnan(want))
      ASSERT_TRUE(std::isnan(got[i])) << "at " << i << ": " << got[i];
    else if (std::isinf(want))
      ASSERT_EQ(got[i], want) << "at " << i;
    else
      ASSERT_NEAR(got[i], want, tolerance * magnitude) << "at " << i;
  });
  ASSERT_GT(others, 0);
  // Outputs that do not depend on such a number stay the same. Tiles of NCHW images read pixels beside the
  // window too: outputs beside such a number are sums of float32.
  p.for_each_output([&](size_t i, int64_t, double want, double magnitude) {
    if (want != was[i] || clean.w != p.w) return;
    if (p.s.nchw)
      ASSERT_NEAR(got[i], want, tolerance * magnitude) << "at " << i;
    else
      ASSERT_EQ(std::memcmp(&got[i], &before[i], sizeof(float)), 0) << "at " << i;
  });
}

TEST_F(CpuBf16x3, SpecialPixels) {
  for (const BlockedShape& s :
       {square(40, 40, 9, 12, 3), square(64, 8, 14, 14, 1), square(32, 20, 20, 9, 3, 2),
        square(64, 8, 100, 90, 3), nchw(square(3, 20, 40, 40, 7, 2)), nchw(square(4, 8, 12, 17, 5))})
    for (float special : {infinity, -infinity, std::nanf(""), 3e38F, -3e38F, 0x1p127F, 0x1.ffp126F}) {
      const Problem clean(s);
      Problem p = clean;
      p.x[p.x.size() / 3] = special;
      p.x[p.x.size() - 1] = special;
      // The scale keeps the results in the range of float32.
      for (float& w : p.w) w *= 0x1p-7F;
      Problem scaled = clean;
      scaled.w = p.w;
      check_specials(scaled, p);
    }
}

TEST_F(CpuBf16x3, SpecialNeighbors) {
  const Problem clean(nchw(square(3, 16, 9, 9, 7, 2)));
  for (size_t i = 0; i < clean.x.size() / 3; ++i) {
    Problem p = clean;
    p.x[i] = infinity;
    check_specials(clean, p);
  }
}

TEST_F(CpuBf16x3, SpecialWeights) {
  for (const BlockedShape& s :
       {square(40, 72, 9, 12, 3), square(64, 8, 14, 14, 1), nchw(square(3, 20, 20, 20, 7, 2))})
    for (float special : {infinity, -infinity, std::nanf(""), 3e38F}) {
      Problem clean(s);
      for (float& x : clean.x) x *= 0x1p-7F;
      Problem p = clean;
      p.w[p.w.size() / 2] = special;
      check_specials(clean, p);
    }
}

TEST_F(CpuBf16x3, SmallAndLarge) {
  // Parts that are no normal numbers are lost, which is less than float32 loses of what is beside them.
  Problem p(square(64, 32, 10, 10, 3));
  for (size_t i = 0; i < p.x.size(); ++i) p.x[i] *= i % 3 ? 1e-36F : 1.0F;
  const std::vector<float> got = p.run(1);
  p.for_each_output([&](size_t i, int64_t, double want, double magnitude) {
    ASSERT_NEAR(got[i], want, tolerance * magnitude) << "at " << i;
  });
}

TEST_F(CpuBf16x3, HalfWeights) {
  const Problem p(square(56, 64, 24, 20, 3));
  ASSERT_TRUE(cpu::uses_bf16x3(Isa::avx512, p.s));
  WorkerContext c;
  std::vector<float> packed(at(cpu::direct_weights_size(Isa::avx512, p.s)));
  cpu::pack_direct_weights(Isa::avx512, p.s, p.w.data(), packed.data(), c);
  std::vector<float> x(at(p.s.in_blocks() * p.s.in_pixels() * channel_block), 0.5F);
  for (DataType type : {DataType::bfloat16, DataType::float16}) {
    const auto n = static_cast<int64_t>(packed.size());
    std::vector<uint16_t> halves(packed.size());
    std::vector<float> wide(packed.size());
    cpu::narrow(Isa::generic, type, packed.data(), halves.data(), n);
    cpu::widen(Isa::generic, type, halves.data(), wide.data(), n);
    const auto run = [&](const void* weights, DataType t) {
      Fenced y(at(p.s.out_blocks() * p.s.out_pixels() * channel_block));
      Fenced scratch(cpu::direct_workspace(Isa::avx512, p.s, t != DataType::float32, 1) / sizeof(float));
      cpu::direct_convolution(Isa::avx512, p.s,
                              {.x = x.data(), .weights = weights, .weights_type = t, .y = y.data()},
                              scratch.data(), c);
      EXPECT_TRUE(y.intact() && scratch.intact());
      return std::vector<float>(y.data(), y.data() + y.size());
    };
    EXPECT_TRUE(same_bits(run(halves.data(), type), run(wide.data(), DataType::float32)));
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
