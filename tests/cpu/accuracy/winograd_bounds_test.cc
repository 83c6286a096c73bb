// Bounds on the errors of Winograd's convolution, compared with sums in double, for any image: every
// filtering of every instruction set, with weights of every kind. Lanes beyond the last channel are NaN.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/bf16x3_test.h"
#include "support/blocked_run.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double u = 0x1p-24, max_float = std::numeric_limits<float>::max();

/// Adds what `y` was to it: as a residual that is written over.
class Residual : public Epilogue {
 public:
  explicit Residual(const Fenced& y) {
    added_ = {.data = y.data(), .length = static_cast<int64_t>(y.size()), .rest = &nothing_};
  }
  void apply(int64_t, int64_t) override { ADD_FAILURE() << "kernels add themselves"; }

 private:
  struct Nothing : Epilogue {
    void apply(int64_t, int64_t) override {}
  } nothing_;
};

struct Problem {
  BlockedShape s;
  std::vector<float> x, w, bias;  // [batch, channels, pixels], [filters, channels, taps]

  explicit Problem(const BlockedShape& shape, uint64_t seed = 1)
      : s(shape), bias(at(s.filters)), random(seed) {
    x.resize(at(s.batch * s.channels * s.in_pixels()));
    w.resize(at(s.filters * s.channels * s.taps()));
    for (float& v : x) v = random();
    for (float& v : w) v = random();
    for (float& v : bias) v = random();
  }
  float& pixel(int64_t image, int64_t c, int64_t y, int64_t column) {
    return x[at(((image * s.channels + c) * s.in[0] + y) * s.in[1] + column)];
  }
  /// Returns a power of two from 2^-30 to 2^30.
  float magnitude() { return std::exp2(std::floor(30 * random())); }
  int64_t below(int64_t n) {
    return std::min(n - 1, static_cast<int64_t>((random() + 1) / 2 * static_cast<float>(n)));
  }

  Random random;
};

enum class Weights { at_points, untransformed, bfloat16 };

std::vector<float> convolved(const Problem& p, Isa isa, cpu::Filtering f, Weights kind, int threads,
                             bool adds = false) {
  const BlockedShape& s = p.s;
  const bool untransformed = kind != Weights::at_points;
  const int64_t n = untransformed ? cpu::untransformed_weights_size(s) : cpu::winograd_weights_size(s, f);
  WorkerContext packers(2);
  Fenced packed(at(n));
  untransformed ? cpu::pack_untransformed_weights(isa, s, p.w.data(), packed.data(), packers)
                : cpu::pack_winograd_weights(isa, s, f, p.w.data(), packed.data(), packers);
  EXPECT_TRUE(packed.intact());
  std::vector<uint16_t> halves(at(kind == Weights::bfloat16 ? n : 0));
  if (kind == Weights::bfloat16)
    cpu::narrow(Isa::generic, DataType::bfloat16, packed.data(), halves.data(), n);
  Fenced plain(p.x.size());
  std::copy(p.x.begin(), p.x.end(), plain.data());
  const Fenced x = blocked(plain, s.batch, s.channels, s.in_pixels());
  const auto convolve = [&](float* y, void* scratch, KernelContext& c) {
    cpu::winograd_convolution(
        isa, s, f, untransformed,
        {.x = x.data(),
         .weights = halves.empty() ? static_cast<const void*>(packed.data()) : halves.data(),
         .weights_type = halves.empty() ? DataType::float32 : DataType::bfloat16,
         .bias = p.bias.data(),
         .y = y},
        scratch, c);
  };
  const size_t size = at(s.out_floats()),
               workspace = cpu::winograd_workspace(isa, s, f, untransformed, threads);
  if (!adds) return run(size, workspace, threads, convolve);
  Fenced y(size), scratch(workspace / sizeof(float));
  std::fill_n(y.data(), size, 1.0f);
  Residual residual(y);
  EpilogueContext c(threads, &residual);
  convolve(y.data(), scratch.data(), c);
  EXPECT_TRUE(y.intact() && scratch.intact());
  return {y.data(), y.data() + size};
}

/// The sum of one output, the sum of its terms' magnitudes, and its error bounds.
struct Output {
  double sum = 0, terms = 0;
  double bound = 0;       // sum over channels of the largest |x| of the window widened by 3 pixels * sum |w|
  double own_window = 0;  // the largest |x| of all channels of the window itself * sum |w|
};

Output exact(const Problem& p, int64_t image, int64_t filter, int64_t oy, int64_t ox) {
  const BlockedShape& s = p.s;
  Output o;
  o.sum = p.bias[at(filter)], o.terms = std::abs(o.sum);
  double largest = 0, all_weights = 0;
  for (int64_t c = 0; c < s.channels; ++c) {
    const float* const x = &p.x[at((image * s.channels + c) * s.in_pixels())];
    const float* const w = &p.w[at((filter * s.channels + c) * s.taps())];
    double weights = 0, near = 0;
    for (int64_t t = 0; t < s.taps(); ++t)
      if (std::isfinite(w[t])) weights += std::abs(static_cast<double>(w[t]));
    for_each_tap(s, oy, ox, [&](int64_t tap, int64_t pixel) {
      const double term = static_cast<double>(x[pixel]) * w[tap];
      o.sum += term, o.terms += std::abs(term);
      largest = std::max(largest, std::abs(static_cast<double>(x[pixel])));
    });
    for (int64_t i = oy - s.pad[0] - 3; i < oy - s.pad[0] + s.kernel[0] + 3; ++i)
      for (int64_t j = ox - s.pad[1] - 3; j < ox - s.pad[1] + s.kernel[1] + 3; ++j)
        if (i >= 0 && i < s.in[0] && j >= 0 && j < s.in[1] && std::isfinite(x[i * s.in[1] + j]))
          near = std::max(near, std::abs(static_cast<double>(x[i * s.in[1] + j])));
    o.bound += near * weights, all_weights += weights;
  }
  o.own_window = largest * all_weights;
  return o;
}

/// Returns every output, in the order of [batch, filters, pixels].
std::vector<Output> exact(const Problem& p) {
  std::vector<Output> all;
  for (int64_t n = 0; n < p.s.batch; ++n)
    for (int64_t m = 0; m < p.s.filters; ++m)
      for (int64_t i = 0; i < p.s.out_pixels(); ++i)
        all.push_back(exact(p, n, m, i / p.s.out[1], i % p.s.out[1]));
  return all;
}

/// Checks the output of one kernel.
void expect_bounds(const Problem& p, const std::vector<Output>& all, const std::vector<float>& got,
                   float added = 0) {
  const BlockedShape& s = p.s;
  for (size_t at_all = 0; at_all < all.size(); ++at_all) {
    const Output& o = all[at_all];
    const auto plane = static_cast<int64_t>(at_all) / s.out_pixels(),
               pixel = static_cast<int64_t>(at_all) % s.out_pixels();
    const int64_t n = plane / s.filters, m = plane % s.filters;
    const int64_t block = n * s.out_blocks() + m / channel_block;
    const float y = got[at((block * s.out_pixels() + pixel) * channel_block + m % channel_block)];
    SCOPED_TRACE("image " + std::to_string(n) + ", filter " + std::to_string(m) + ", pixel " +
                 std::to_string(pixel));
    const double want = o.sum + added;
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(y)) << y;
    } else if (std::isinf(want)) {
      ASSERT_EQ(y, want);
    } else if (o.terms < max_float) {
      // A few roundings of the bias and of what is added are beside the sum.
      const double beside = 4 * u * (std::abs(want) + std::abs(added) + std::abs(p.bias[at(m)])) + 0x1p-120;
      ASSERT_LE(std::abs(y - want), 1024 * u * o.bound + beside) << y << " for " << want;
      ASSERT_LE(std::abs(y - want), 1024 * u * o.own_window + beside)
          << "lost to what lies beside the window: " << y << " for " << want;
    }
  }
}

BlockedShape shape_for(cpu::Filtering f, int64_t channels, int64_t filters, int64_t height, int64_t width,
                       int64_t pad, int64_t batch = 1) {
  return square(channels, filters, height, width, f.taps, 1, pad, 1, batch);
}

void check(const Problem& p, cpu::Filtering f) {
  Problem narrow = p;
  for (float& w : narrow.w) w = to_float(to_bfloat16(w));
  const std::vector<Output> wide_sums = exact(p), narrow_sums = exact(narrow);
  for (Isa isa : usable_isas()) {
    for (Weights kind : {Weights::at_points, Weights::untransformed, Weights::bfloat16}) {
      SCOPED_TRACE(text(p.s) + ", " + std::string(name_of(isa)) + ", F(" + std::to_string(f.output) + ", " +
                   std::to_string(f.taps) + "), weights " + std::to_string(static_cast<int>(kind)));
      const bool f16 = kind == Weights::bfloat16;
      const Problem& rounded = f16 ? narrow : p;
      const std::vector<Output>& sums = f16 ? narrow_sums : wide_sums;
      const std::vector<float> got = convolved(rounded, isa, f, kind, 1);
      expect_bounds(rounded, sums, got);
      for (int threads : {2, 3}) {
        const std::vector<float> again = convolved(rounded, isa, f, kind, threads);
        for (size_t i = 0; i < got.size(); ++i)
          ASSERT_TRUE(got[i] == again[i] || (std::isnan(got[i]) && std::isnan(again[i])))
              << "the bits depend on the number of threads";
      }
      expect_bounds(rounded, sums, convolved(rounded, isa, f, kind, 2, true), 1);
    }
  }
}

/// Calls f(filtering, problem) with shapes that make tiles of every kind.
template <class F>
void for_each_problem(F&& f) {
  uint64_t seed = 1;
  for (const cpu::Filtering form : cpu::filterings)
    for (const BlockedShape& s :
         {shape_for(form, 20, 18, 15, 17, form.taps / 2), shape_for(form, 5, 33, 13, 9, 0, 2),
          shape_for(form, 37, 5, 9, 40, form.taps - 1)})
      f(form, Problem(s, ++seed));
}

TEST(CpuWinogradBounds, Ordinary) {
  for_each_problem([](cpu::Filtering f, Problem p) { check(p, f); });
}

TEST(CpuWinogradBounds, OfEveryMagnitude) {
  for_each_problem([](cpu::Filtering f, Problem p) {
    Problem pixels = p, channels = p, both = p;
    for (float& v : pixels.x) v *= p.magnitude();
    check(pixels, f);
    for (int64_t c = 0; c < p.s.channels; ++c) {
      const float by = p.magnitude();
      for (int64_t n = 0; n < p.s.batch; ++n)
        for (int64_t i = 0; i < p.s.in_pixels(); ++i)
          channels.pixel(n, c, i / p.s.in[1], i % p.s.in[1]) *= by;
    }
    for (float& v : channels.w) v *= p.magnitude();
    check(channels, f);
    for (float& v : both.x) v *= p.magnitude();
    for (float& v : both.w) v *= p.magnitude();
    check(both, f);
  });
}

TEST(CpuWinogradBounds, OfOneSign) {
  for_each_problem([](cpu::Filtering f, Problem p) {
    for (float& v : p.x) v = 0.75f + std::abs(v) / 4;
    for (float& v : p.w) v = 0.75f + std::abs(v) / 4;
    check(p, f);
    std::ranges::fill(p.x, 0.1f);
    std::ranges::fill(p.w, 0.3f);
    check(p, f);
  });
}

TEST(CpuWinogradBounds, ExtremePixels) {
  for_each_problem([](cpu::Filtering f, const Problem& p) {
    for (float bad : {-9999.0f, 30.0f, -1e10f, 3e38f, -3.4028235e38f}) {
      Problem q = p;
      for (int i = 0; i < 3; ++i)
        q.pixel(q.below(q.s.batch), q.below(q.s.channels), q.below(q.s.in[0]), q.below(q.s.in[1])) = bad;
      check(q, f);
    }
  });
}

/// Tiles that are evaluated at the points although a window holds nearly a sixteenth of their largest pixels,
/// with signs that add up.
TEST(CpuWinogradBounds, JustAlikeEnough) {
  for_each_problem([](cpu::Filtering f, Problem p) {
    for (int64_t dense : {1, 3, 8}) {
      Problem q = p;
      for (float& v : q.x) v = v < 0 ? -1.0f : 1.0f;
      for (float& v : q.w) v = v < 0 ? -1 + q.random() / 9 : 1 + q.random() / 9;
      for (int64_t n = 0; n < q.s.batch; ++n)
        for (int64_t i = 0; i < q.s.in_pixels(); ++i) {
          if (q.below(9) >= dense) continue;
          for (int64_t c = 0; c < q.s.channels; ++c)
            q.pixel(n, c, i / q.s.in[1], i % q.s.in[1]) *= 15.9f + q.random() / 16;
        }
      check(q, f);
      for (float& v : q.x) v = std::abs(v);
      check(q, f);
    }
  });
}

TEST(CpuWinogradBounds, HolesAndBorders) {
  for_each_problem([](cpu::Filtering f, const Problem& p) {
    Problem holes = p, border = p;
    for (int64_t n = 0; n < p.s.batch; ++n)
      for (int64_t c = 0; c < p.s.channels; ++c)
        for (int64_t y = 0; y < p.s.in[0]; ++y)
          for (int64_t x = 0; x < p.s.in[1]; ++x) {
            if (y > 2 && y < 9 && x > 1 && x < 8) holes.pixel(n, c, y, x) *= y > 5 ? 0 : 1e-9f;
            if (y < 4 || x < 3 || x + 4 > p.s.in[1]) border.pixel(n, c, y, x) = 0;
          }
    check(holes, f);
    check(border, f);
  });
}

TEST(CpuWinogradBounds, FiltersOfOneTap) {
  for_each_problem([](cpu::Filtering f, Problem p) {
    for (int64_t m = 0; m < p.s.filters; ++m)
      for (int64_t c = 0; c < p.s.channels; ++c)
        for (int64_t t = 0; t < p.s.taps(); ++t)
          if (t != m % p.s.taps() || (m > 9 && c != m % p.s.channels))
            p.w[at((m * p.s.channels + c) * p.s.taps() + t)] = 0;
    check(p, f);
    p.pixel(0, 1, 4, 4) = 5e9f;
    check(p, f);
  });
}

TEST(CpuWinogradBounds, WhatIsNotFinite) {
  for (const cpu::Filtering f : cpu::filterings)
    for (float bad : {infinity, -infinity, std::nanf("")})
      for (int64_t place = 0; place < 13 * 11; place += 17) {
        Problem p(shape_for(f, 18, 20, 13, 11, f.taps / 2), static_cast<uint64_t>(place));
        p.pixel(0, place % p.s.channels, place / p.s.in[1], place % p.s.in[1]) = bad;
        check(p, f);
      }
}

TEST(CpuWinogradBounds, WeightsThatAreNotFinite) {
  for (const cpu::Filtering f : cpu::filterings)
    for (float bad : {infinity, -infinity, std::nanf(""), 3e38f, 1e33f}) {
      Problem p(shape_for(f, 18, 20, 13, 11, f.taps / 2));
      p.w[at((7 * p.s.channels + 3) * p.s.taps())] = bad;
      p.w[at((18 * p.s.channels + 17) * p.s.taps() + 5)] = bad;
      check(p, f);
    }
}

/// The points of images and weights, or products of them, exceed float32.
TEST(CpuWinogradBounds, NearlyTooLarge) {
  for (const cpu::Filtering f : cpu::filterings)
    for (const auto& [pixels, weights] :
         {std::pair{1e37f, 1e-3f}, {1e18f, 1e16f}, {1e-20f, 3e37f}, {6e16f, 1e9f}}) {
      Problem p(shape_for(f, 18, 20, 13, 11, f.taps / 2));
      for (float& v : p.x) v *= pixels;
      for (float& v : p.w) v *= weights;
      check(p, f);
    }
}

/// Most tiles of ordinary images are evaluated at the points, be there zeros between what they show or around
/// it: their bits are not those of direct sums.
TEST(CpuWinogradBounds, OrdinaryImagesGoByThePoints) {
  for (const cpu::Filtering f : cpu::filterings)
    for (Isa isa : usable_isas())
      for (bool sparse : {false, true}) {
        Problem p(shape_for(f, 32, 32, 24, 24, sparse ? f.taps - 1 : f.taps / 2));
        for (float& v : p.x) v = std::max(v, 0.0f);  // as Relu leaves it
        for (int64_t i = 0; i < p.s.in_pixels() && sparse; ++i)
          for (int64_t c = 0; c < p.s.channels && i % 31 > 3; ++c)
            p.pixel(0, c, i / p.s.in[1], i % p.s.in[1]) = 0;
        const std::vector<float> got = convolved(p, isa, f, Weights::at_points, 1);
        // The same problem with only direct sums.
        Problem q = p;
        q.s.filters += channel_block;
        q.w.resize(q.w.size() + at(channel_block * q.s.channels * q.s.taps()), 1e33f);
        q.bias.resize(q.bias.size() + channel_block);
        const std::vector<float> direct = convolved(q, isa, f, Weights::at_points, 1);
        size_t same = 0, sums = 0;
        for (size_t i = 0; i < got.size(); ++i) {
          const bool is_bias =
              got[i] == p.bias[i / channel_block / at(p.s.out_pixels()) * channel_block + i % channel_block];
          sums += is_bias ? 0 : 1;
          same += !is_bias && got[i] == direct[i] ? 1 : 0;
        }
        EXPECT_GT(sums, got.size() / 8);
        EXPECT_LT(same, sums / 2) << name_of(isa) << (sparse ? ", sparse" : "");
      }
}

using CpuWinogradBf16x3Bounds = Bf16x3Test;

/// AMX computes these products.
TEST_F(CpuWinogradBf16x3Bounds, ExtremePixels) {
  constexpr cpu::Filtering f4{4, 3};
  const Problem p(shape_for(f4, 128, 64, 30, 28, 1));
  for (float bad : {-9999.0f, -1e10f, -3.4028235e38f, infinity, std::nanf("")}) {
    Problem q = p;
    q.pixel(0, 3, 17, 9) = bad;
    const std::vector<float> got = convolved(q, Isa::avx512, f4, Weights::at_points, 1);
    expect_bounds(q, exact(q), got);
  }
  Problem q = p;
  for (float& v : q.x) v *= q.magnitude();
  expect_bounds(q, exact(q), convolved(q, Isa::avx512, f4, Weights::at_points, 1));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
