// Winograd's products in bf16x3 with AMX's tiles: against sums in double, and whole convolutions
// against those of AVX-512's own kernels. Lanes beyond the last channel are NaN.
#include "cpu/nchw16c/winograd_bf16x3.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>
#include <tuple>

#include "cpu/nchw16c/blocked.h"
#include "cpu/simd/f16.h"
#include "support/bf16x3_test.h"
#include "support/blocked_shapes.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;

constexpr float infinity = std::numeric_limits<float>::infinity();
size_t at(int64_t i) { return static_cast<size_t>(i); }

using CpuWinogradBf16x3 = Bf16x3Test;

/// The numbers have many magnitudes, with all of their 24 bits.
void fill(Random& random, float* to, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = random() * std::exp2(std::floor(6 * random()));
}

/// Tiles and weights at some points.
struct Points {
  int64_t channels, filters, tiles, capacity;  // as many tiles lie in x
  std::vector<float> x, w;
  static constexpr int64_t points = 3;

  Points(int64_t of_channels, int64_t of_filters, int64_t of_tiles, int64_t more = 0)
      : channels(of_channels), filters(of_filters), tiles(of_tiles), capacity(of_tiles + more) {
    Random random(static_cast<uint64_t>(channels * 1009 + filters * 31 + tiles));
    const int64_t all = cpu::channel_blocks(filters) * channel_block;
    w.assign(at(points * all * channels), 0.0F);
    fill(random, w.data(), points * all * channels);
    x.assign(at(points * cpu::channel_blocks(channels) * capacity * channel_block), std::nanf(""));
    for (int64_t point = 0; point < points; ++point)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t tile = 0; tile < tiles; ++tile) fill(random, &x_of(point, c, tile), 1);
  }
  float& x_of(int64_t point, int64_t c, int64_t tile) {
    const int64_t block = point * cpu::channel_blocks(channels) + c / channel_block;
    return x[at((block * capacity + tile) * channel_block + c % channel_block)];
  }
  float& w_of(int64_t point, int64_t c, int64_t filter) {
    const int64_t all = cpu::channel_blocks(filters) * channel_block, first = filter / 32 * 32,
                  width = std::min<int64_t>(32, all - first);
    return w[at((point * all + first) * channels + c * width + filter % 32)];
  }

  struct Recorder final : cpu::PointProducts {
    mutable std::set<std::tuple<int64_t, int64_t, int64_t>> plain;
    void multiply_in_float32(int64_t point, int64_t panel, int64_t tile) const override {
      EXPECT_TRUE(plain.emplace(point, panel, tile).second);
    }
  };
  /// Computes points [begin, end); returns which products were left to float32.
  auto multiply(float* y, int64_t begin = 0, int64_t end = points) const {
    const cpu::PointsDivision d(channels, filters, capacity);
    Recorder p;
    p.x = x.data(), p.x_tiles = capacity,
    p.x_point = cpu::channel_blocks(channels) * capacity * channel_block;
    p.tiles = tiles, p.weights = w.data(), p.y = y;
    WorkerContext c;
    std::vector<char> scratch(at(d.scratch()) + 64);
    const auto place = reinterpret_cast<uintptr_t>(scratch.data());
    multiply_points(d, p, begin, end, scratch.data() + (64 - place % 64) % 64, c);
    return p.plain;
  }
};

TEST_F(CpuWinogradBf16x3, Products) {
  for (int64_t channels : {1, 16, 24, 33, 70, 130})
    for (int64_t filters : {1, 16, 17, 40, 64})
      for (int64_t tiles : {1, 15, 16, 17, 31, 32, 33, 49, 98}) {
        SCOPED_TRACE(testing::Message() << channels << ' ' << filters << ' ' << tiles);
        Points p(channels, filters, tiles, tiles % 3);
        const cpu::PointsDivision d(channels, filters, p.capacity);
        Fenced y(at(Points::points * d.point())), again(at(Points::points * d.point()));
        EXPECT_TRUE(p.multiply(y.data()).empty());
        // Points at a time.
        p.multiply(again.data(), 0, 1);
        p.multiply(again.data(), 1, 3);
        ASSERT_TRUE(y.intact() && again.intact());
        for (int64_t point = 0; point < Points::points; ++point)
          for (int64_t filter = 0; filter < filters; ++filter)
            for (int64_t tile = 0; tile < tiles; ++tile) {
              const int64_t i = point * d.point() + filter / 32 * d.panel() + tile * 32 + filter % 32;
              double sum = 0, magnitude = 0;
              for (int64_t c = 0; c < channels; ++c) {
                const double product = static_cast<double>(p.x_of(point, c, tile)) * p.w_of(point, c, filter);
                sum += product, magnitude += std::abs(product);
              }
              ASSERT_NEAR(y.data()[i], sum, 6e-7 * magnitude) << point << ' ' << filter << ' ' << tile;
              ASSERT_EQ(y.data()[i], again.data()[i]);
            }
      }
}

TEST_F(CpuWinogradBf16x3, WhatCannotBeSplitIsLeftToFloat32) {
  for (float special : {infinity, -infinity, std::nanf(""), 3.4e38F}) {
    Points p(70, 70, 40);
    const cpu::PointsDivision d(p.channels, p.filters, p.capacity);
    std::vector<float> y(at(Points::points * d.point()));
    p.x_of(0, 69, 39) = special;
    p.x_of(2, 0, 7) = special;
    using Plain = std::set<std::tuple<int64_t, int64_t, int64_t>>;
    Plain want{{0, 0, 39}, {0, 1, 39}, {0, 2, 39}, {2, 0, 7}, {2, 1, 7}, {2, 2, 7}};
    EXPECT_EQ(p.multiply(y.data()), want);
    EXPECT_TRUE(p.multiply(y.data(), 1, 2).empty());
    p.w_of(1, 35, 33) = special;
    p.w_of(2, 69, 69) = special;
    for (int64_t tile = 0; tile < 40; ++tile) want.emplace(1, 1, tile), want.emplace(2, 2, tile);
    EXPECT_EQ(p.multiply(y.data()), want);
  }
}

BlockedShape square(int64_t channels, int64_t filters, int64_t height, int64_t width, int64_t batch = 1) {
  BlockedShape s{.batch = batch, .channels = channels, .filters = filters};
  s.in[0] = height, s.in[1] = width;
  for (int a : {0, 1}) s.kernel[a] = 3, s.stride[a] = s.dilation[a] = s.pad[a] = 1;
  return sized(s, 1, 1);
}

constexpr cpu::Filtering f4{4, 3};

struct Problem {
  BlockedShape s;
  std::vector<float> x, w, bias;  // x in blocks

  explicit Problem(const BlockedShape& shape) : s(shape) {
    Random random(static_cast<uint64_t>(s.channels * 77 + s.out_pixels() * 5 + s.filters));
    x.assign(at(s.batch * s.in_blocks() * s.in_pixels() * channel_block), std::nanf(""));
    for (int64_t i = 0; i < s.batch * s.in_blocks() * s.in_pixels(); ++i) {
      const int64_t block = i / s.in_pixels() % s.in_blocks();
      for (int64_t c = 0; c < std::min(channel_block, s.channels - block * channel_block); ++c)
        x[at(i * channel_block + c)] = random();
    }
    w.resize(at(s.filters * s.channels * 9));
    for (float& v : w) v = random();
    bias.resize(at(s.filters));
    for (float& v : bias) v = random();
  }

  std::vector<float> run(int threads, DataType type = DataType::float32) const {
    WorkerContext c(threads);
    const bool f16 = type != DataType::float32;
    const int64_t n = f16 ? cpu::untransformed_weights_size(s) : cpu::winograd_weights_size(s, f4);
    std::vector<float> packed(at(n));
    std::vector<uint16_t> halves(at(f16 ? n : 0));
    if (f16) {
      cpu::pack_untransformed_weights(Isa::avx512, s, w.data(), packed.data(), c);
      cpu::narrow(Isa::generic, type, packed.data(), halves.data(), n);
    } else {
      cpu::pack_winograd_weights(Isa::avx512, s, f4, w.data(), packed.data(), c);
    }
    Fenced y(at(s.batch * s.out_blocks() * s.out_pixels() * channel_block));
    Fenced scratch(cpu::winograd_workspace(Isa::avx512, s, f4, f16, threads) / sizeof(float));
    cpu::winograd_convolution(Isa::avx512, s, f4, f16,
                              {.x = x.data(),
                               .weights = f16 ? static_cast<const void*>(halves.data()) : packed.data(),
                               .weights_type = type,
                               .bias = bias.data(),
                               .y = y.data()},
                              scratch.data(), c);
    EXPECT_TRUE(y.intact() && scratch.intact());
    return {y.data(), y.data() + y.size()};
  }
  /// Computes with AVX-512's own products.
  std::vector<float> run_in_float32(DataType type = DataType::float32) const {
    cpu::use_amx(false);
    std::vector<float> y = run(1, type);
    cpu::use_amx(true);
    return y;
  }
};

bool same_bits(const float* a, const float* b, size_t n) { return std::memcmp(a, b, n * sizeof(float)) == 0; }

/// Expects that results are as near as two ways of rounding at the points allow. Returns how many numbers
/// differ.
int expect_near(const std::vector<float>& got, const std::vector<float>& want) {
  int different = 0;
  double greatest = 0;
  for (const float v : want)
    if (std::isfinite(v)) greatest = std::max(greatest, std::abs(static_cast<double>(v)));
  EXPECT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (got[i] == want[i] || (std::isnan(want[i]) && std::isnan(got[i]))) continue;
    ++different;
    EXPECT_NEAR(got[i], want[i], 3e-5 * greatest) << "at " << i;
  }
  return different;
}

const BlockedShape shapes[] = {square(128, 128, 64, 64), square(152, 185, 61, 58), square(256, 128, 32, 33),
                               square(160, 192, 48, 30, 3)};

TEST_F(CpuWinogradBf16x3, Convolutions) {
  for (const BlockedShape& s : shapes) {
    SCOPED_TRACE(text(s));
    const Problem p(s);
    const std::vector<float> got = p.run(1);
    for (int threads : {2, 3, 7}) ASSERT_TRUE(same_bits(got.data(), p.run(threads).data(), got.size()));
    EXPECT_GT(expect_near(got, p.run_in_float32()), 0) << "the same bits: no products in bf16x3";
    for (DataType type : {DataType::bfloat16, DataType::float16})
      EXPECT_GT(expect_near(p.run(2, type), p.run_in_float32(type)), 0);
  }
}

TEST_F(CpuWinogradBf16x3, AsExactAsFloat32) {
  for (const BlockedShape& s : shapes) {
    SCOPED_TRACE(text(s));
    const Problem p(s);
    const std::vector<float> got = p.run(1), plain = p.run_in_float32();
    WorkerContext c;
    std::vector<float> packed(at(cpu::direct_weights_size(Isa::avx512, s))), want(got.size());
    cpu::pack_direct_weights(Isa::avx512, s, p.w.data(), packed.data(), c);
    std::vector<float> scratch(cpu::direct_workspace(Isa::avx512, s, false, 1) / sizeof(float));
    cpu::direct_convolution(
        Isa::avx512, s, {.x = p.x.data(), .weights = packed.data(), .bias = p.bias.data(), .y = want.data()},
        scratch.data(), c);
    double squares = 0, float32_squares = 0;
    for (size_t i = 0; i < got.size(); ++i) {
      const double off = static_cast<double>(got[i]) - want[i],
                   float32_off = static_cast<double>(plain[i]) - want[i];
      squares += off * off, float32_squares += float32_off * float32_off;
    }
    EXPECT_GT(squares, 0);
    EXPECT_LE(squares, float32_squares) << "less exact than vectors' products";
  }
}

TEST_F(CpuWinogradBf16x3, EveryGroupSize) {
  for (int64_t group : {1 << 12, 1 << 16, 1 << 18, 1 << 20}) {
    Problem p(square(128, 160, 50, 47, 2));
    p.s.group = group;
    expect_near(p.run(2), p.run_in_float32());
  }
}

/// Every thread has scratch of its own, also where there are more threads than points.
TEST_F(CpuWinogradBf16x3, ManyThreads) {
  if (!tiles_are_real()) GTEST_SKIP() << "2 minutes without AMX";
  Problem p(square(256, 256, 64, 64, 17));
  p.s.group = 1 << 16;
  const std::vector<float> want = p.run(1);
  ASSERT_FALSE(same_bits(want.data(), p.run_in_float32().data(), want.size())) << "no products in bf16x3";
  for (int threads : {40, 45})
    ASSERT_TRUE(same_bits(want.data(), p.run(threads).data(), want.size())) << threads;
}

TEST_F(CpuWinogradBf16x3, TheBatchSaysNothing) {
  const Problem all(square(144, 130, 40, 37, 3));
  const std::vector<float> want = all.run(2);
  Problem one = all;
  one.s.batch = 1;
  const size_t in = all.x.size() / 3, out = want.size() / 3;
  for (size_t n = 0; n < 3; ++n) {
    one.x.assign(all.x.begin() + static_cast<std::ptrdiff_t>(n * in),
                 all.x.begin() + static_cast<std::ptrdiff_t>((n + 1) * in));
    EXPECT_TRUE(same_bits(one.run(1).data(), want.data() + n * out, out));
  }
}

TEST_F(CpuWinogradBf16x3, Specials) {
  for (float special : {infinity, std::nanf(""), 2e38F}) {
    const Problem clean(square(152, 185, 61, 58));
    Problem p = clean;
    p.x[at(70 * 58 + 20) * channel_block + 3] = special;
    const std::vector<float> got = p.run(2);
    expect_near(got, p.run_in_float32());
    ASSERT_FALSE(same_bits(got.data(), clean.run(2).data(), got.size()));
    Problem q = clean;
    q.w[q.w.size() / 2] = special;
    for (float& x : q.x) x *= 0x1p-20F;
    expect_near(q.run(2), q.run_in_float32());
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
