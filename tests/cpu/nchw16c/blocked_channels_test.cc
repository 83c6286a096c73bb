// Tests kernels that work channel by channel in blocks: pools, means, norms, and reorders; on every
// instruction set, against plain loops in double.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "cpu/nchw16c/blocked.h"
#include "support/blocked_run.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;

TEST(CpuBlockedChannels, Pools) {
  for (int64_t kernel : {1, 2, 3, 5})
    for (int64_t stride : {1, 2, 3})
      for (int64_t dilation : {1, 2})
        for (int64_t pad : {int64_t{0}, kernel / 2}) {
          const BlockedShape s = square(32, 32, 14, 17, kernel, stride, pad, dilation, 2);
          SCOPED_TRACE(text(s));
          Random random(static_cast<uint64_t>(kernel * 9 + stride));
          Fenced x(at(s.batch * s.in_blocks() * s.in_pixels() * channel_block), random);
          x.data()[40] = std::nanf("");
          std::vector<double> most, mean;
          std::vector<float> rows, columns;
          for (int64_t i = 0; i < s.out[0]; ++i) rows.push_back(random());
          for (int64_t i = 0; i < s.out[1]; ++i) columns.push_back(random());
          for (int64_t b = 0; b < s.batch * s.in_blocks(); ++b)
            for (int64_t i = 0; i < s.out_pixels(); ++i)
              for (int64_t l = 0; l < channel_block; ++l) {
                double largest = -INFINITY, sum = 0;
                for_each_tap(s, i / s.out[1], i % s.out[1], [&](int64_t, int64_t pixel) {
                  const double v = x[at((b * s.in_pixels() + pixel) * channel_block + l)];
                  largest = std::isnan(largest) || largest > v ? largest : v;
                  sum += v;
                });
                most.push_back(largest);
                mean.push_back(sum * rows[at(i / s.out[1])] * columns[at(i % s.out[1])]);
              }
          for (Isa isa : usable_isas())
            for (int threads : {1, 3}) {
              const auto largest = run(most.size(), 0, threads, [&](float* y, void*, KernelContext& c) {
                cpu::blocked_maximum(isa, s, x.data(), y, c);
              });
              const auto sums = run(mean.size(), 0, threads, [&](float* y, void*, KernelContext& c) {
                cpu::blocked_average(isa, s, rows.data(), columns.data(), x.data(), y, c);
              });
              for (size_t i = 0; i < most.size(); ++i) {
                ASSERT_TRUE(std::isnan(most[i]) ? std::isnan(largest[i]) : largest[i] == most[i]) << i;
                ASSERT_TRUE(std::isnan(mean[i]) ? std::isnan(sums[i]) : std::abs(sums[i] - mean[i]) < 1e-5)
                    << i;
              }
            }
        }
}

TEST(CpuBlockedChannels, Mean) {
  for (int64_t pixels : {1, 3, 49, 20000}) {
    Random random(static_cast<uint64_t>(pixels));
    const Fenced x(at(3 * pixels * channel_block), random);
    for (Isa isa : usable_isas())
      for (int threads : {1, 3}) {
        const auto got = run(at(3 * channel_block), 0, threads, [&](float* y, void*, KernelContext& c) {
          cpu::blocked_mean(isa, 3, pixels, x.data(), y, c);
        });
        for (int64_t i = 0; i < 3 * channel_block; ++i) {
          double sum = 0;
          for (int64_t p = 0; p < pixels; ++p)
            sum += x[at((i / channel_block * pixels + p) * channel_block + i % channel_block)];
          ASSERT_NEAR(got[at(i)], sum / static_cast<double>(pixels), 1e-6);
        }
      }
  }
}

TEST(CpuBlockedChannels, Norms) {
  // Groups within blocks, of whole blocks, across blocks, of one channel, and of all.
  for (auto [channels, groups] :
       {std::pair<int64_t, int64_t>{48, 48}, {40, 10}, {60, 6}, {96, 3}, {20, 1}, {7, 7}})
    for (int64_t pixels : {1, 5, 600, 3000}) {
      SCOPED_TRACE(std::to_string(channels) + " channels, " + std::to_string(groups) + " groups, " +
                   std::to_string(pixels) + " pixels");
      Random random(static_cast<uint64_t>(channels + pixels));
      Fenced plain(at(2 * channels * pixels), random), scale(at(channels), random),
          bias(at(channels), random);
      for (size_t i = 0; i < plain.size(); ++i) plain.data()[i] += 3;
      const Fenced x = blocked(plain, 2, channels, pixels);
      const int64_t size = channels / groups * pixels;
      std::vector<double> want;
      for (int64_t g = 0; g < 2 * groups; ++g) {
        const float* const from = plain.data() + g * size;
        double sum = 0, squares = 0;
        for (int64_t i = 0; i < size; ++i) sum += from[i];
        const double mean = sum / static_cast<double>(size);
        for (int64_t i = 0; i < size; ++i) squares += (from[i] - mean) * (from[i] - mean);
        const double deviation = std::sqrt(squares / static_cast<double>(size) + 1e-3);
        for (int64_t i = 0; i < size; ++i) {
          const size_t channel = at((g * size + i) / pixels % channels);
          want.push_back((from[i] - mean) / deviation * scale[channel] + bias[channel]);
        }
      }
      for (Isa isa : usable_isas()) {
        cpu::BlockedNormalization n{.batch = 2,
                                    .channels = channels,
                                    .groups = groups,
                                    .pixels = pixels,
                                    .x = x.data(),
                                    .scale = scale.data(),
                                    .bias = bias.data(),
                                    .epsilon = 1e-3f};
        std::vector<float> first;
        for (int threads : {1, 3}) {
          const auto got = run(x.size(), cpu::normalization_workspace(n, false, threads), threads,
                               [&](float* y, void* scratch, KernelContext& c) {
                                 n.y = y;
                                 cpu::blocked_normalization(isa, n, scratch, c);
                               });
          const int64_t blocks = cpu::channel_blocks(channels);
          for (int64_t i = 0; i < 2 * channels * pixels; ++i) {
            const int64_t image = i / (channels * pixels), c = i / pixels % channels;
            const int64_t place =
                ((image * blocks + c / channel_block) * pixels + i % pixels) * channel_block;
            ASSERT_NEAR(got[at(place + c % channel_block)], want[at(i)], 2e-5) << i;
          }
          if (threads == 1) first = got;
          ASSERT_EQ(std::memcmp(first.data(), got.data(), got.size() * sizeof(float)), 0);
        }
        // Normalizes in place.
        Fenced y = x, scratch(cpu::normalization_workspace(n, false, 1) / sizeof(float));
        SignFlipper flipper(y);
        EpilogueContext c(1, &flipper);
        n.x = n.y = y.data();
        cpu::blocked_normalization(isa, n, scratch.data(), c);
        const auto again = flipper.undone();
        ASSERT_EQ(std::memcmp(first.data(), again.data(), again.size() * sizeof(float)), 0);
      }
    }
}

TEST(CpuBlockedChannels, ThereAndBack) {
  for (int64_t channels : {1, 3, 16, 40})
    for (int64_t pixels : {1, 7, 64, 2500}) {
      Random random(static_cast<uint64_t>(channels));
      const Fenced x(at(2 * channels * pixels), random);
      const Fenced want = blocked(x, 2, channels, pixels);
      for (Isa isa : usable_isas())
        for (int threads : {1, 3}) {
          WorkerContext c(threads);
          Fenced y(want.size()), back(x.size());
          cpu::to_blocks(isa, 2, channels, pixels, x.data(), y.data(), c);
          EXPECT_TRUE(y.intact());
          for (size_t i = 0; i < want.size(); ++i) ASSERT_EQ(y[i], std::isnan(want[i]) ? 0.0f : want[i]) << i;
          cpu::from_blocks(isa, 2, channels, pixels, want.data(), back.data(), c);
          EXPECT_TRUE(back.intact());
          ASSERT_EQ(std::memcmp(back.data(), x.data(), x.size() * sizeof(float)), 0);
        }
    }
}

TEST(CpuBlockedChannels, ToTheLastAxis) {
  for (int64_t groups : {1, 3})
    for (int64_t channels : {1, 5, 16, 23, 85})
      for (int64_t pixels : {1, 7, 400}) {
        const int64_t all = groups * channels;
        Random random(static_cast<uint64_t>(all));
        const Fenced x(at(2 * all * pixels), random), in_blocks = blocked(x, 2, all, pixels);
        for (Isa isa : usable_isas())
          for (int threads : {1, 3}) {
            WorkerContext c(threads);
            Fenced y(x.size());
            const cpu::ChannelSlice all_of_it{.first = 0, .count = channels, .y = y.data()};
            cpu::channels_last(isa, 2, groups, channels, pixels, in_blocks.data(), {&all_of_it, 1}, c);
            EXPECT_TRUE(y.intact());
            for (int64_t g = 0; g < 2 * groups; ++g)
              for (int64_t p = 0; p < pixels; ++p)
                for (int64_t i = 0; i < channels; ++i)
                  ASSERT_EQ(y[at((g * pixels + p) * channels + i)], x[at((g * channels + i) * pixels + p)])
                      << g << " " << p << " " << i;
            // Reads two of the last channels first, and none of those between.
            const int64_t first = channels / 3, last = std::min<int64_t>(2, channels);
            Fenced front(at(2 * groups * first * pixels)), back(at(2 * groups * last * pixels));
            const cpu::ChannelSlice some[] = {{.first = channels - last, .count = last, .y = back.data()},
                                              {.first = 0, .count = first, .y = front.data()}};
            cpu::channels_last(isa, 2, groups, channels, pixels, in_blocks.data(), some, c);
            EXPECT_TRUE(front.intact() && back.intact());
            for (int64_t row = 0; row < 2 * groups * pixels; ++row) {
              for (int64_t i = 0; i < first; ++i)
                ASSERT_EQ(front[at(row * first + i)], y[at(row * channels + i)]);
              for (int64_t i = 0; i < last; ++i)
                ASSERT_EQ(back[at(row * last + i)], y[at((row + 1) * channels - last + i)]);
            }
          }
      }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
