// Grouped convolution in channel blocks, whose groups are taken together until they fill blocks: what is not
// finite reaches the outputs of its own group alone.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cpu/gemm/gemm.h"
#include "support/blocked_run.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;

constexpr float infinity = std::numeric_limits<float>::infinity();

/// The operands of all groups: weights are [filters, channels / group, taps].
struct Problem {
  BlockedShape all;
  int64_t group;
  std::vector<float> x, w, bias;

  Problem(const BlockedShape& s, int64_t groups) : all(s), group(groups) {
    Random random(static_cast<uint64_t>(s.channels + groups));
    x.resize(at(s.batch * s.channels * s.in_pixels()));
    w.resize(at(s.filters * s.channels / group * s.taps()));
    bias.resize(at(s.filters));
    for (std::vector<float>* v : {&x, &w, &bias})
      for (float& f : *v) f = random();
  }
  double exact(int64_t image, int64_t filter, int64_t oy, int64_t ox) const {
    const int64_t channels = all.channels / group, first = filter / (all.filters / group) * channels;
    double sum = bias[at(filter)];
    for (int64_t c = 0; c < channels; ++c)
      for_each_tap(all, oy, ox, [&](int64_t tap, int64_t pixel) {
        sum += static_cast<double>(x[at((image * all.channels + first + c) * all.in_pixels() + pixel)]) *
               w[at((filter * channels + c) * all.taps() + tap)];
      });
    return sum;
  }
};

void check(const Problem& p, int64_t sets) {
  BlockedShape s = p.all;
  s.sets = sets, s.merged = p.group / sets;
  s.batch *= sets, s.channels /= sets, s.filters /= sets;
  Fenced plain(p.x.size());
  std::copy(p.x.begin(), p.x.end(), plain.data());
  const Fenced x = blocked(plain, p.all.batch, p.all.channels, p.all.in_pixels());
  for (Isa isa : usable_isas())
    for (int threads : {1, 3}) {
      SCOPED_TRACE(text(p.all) + ", " + std::to_string(p.group) + " groups, " + std::string(name_of(isa)));
      Fenced packed(at(sets * cpu::direct_weights_size(isa, s)));
      WorkerContext packers(2);
      cpu::pack_grouped_weights(isa, s, p.w.data(), packed.data(), packers);
      const std::vector<float> got = run(
          at(s.out_floats()), cpu::direct_workspace(isa, s, false, threads), threads,
          [&](float* y, void* scratch, KernelContext& c) {
            cpu::direct_convolution(
                isa, s, {.x = x.data(), .weights = packed.data(), .bias = p.bias.data(), .y = y}, scratch, c);
          });
      for (int64_t n = 0; n < p.all.batch; ++n)
        for (int64_t m = 0; m < p.all.filters; ++m)
          for (int64_t i = 0; i < s.out_pixels(); ++i) {
            const int64_t block = n * cpu::channel_blocks(p.all.filters) + m / channel_block;
            const float y = got[at((block * s.out_pixels() + i) * channel_block + m % channel_block)];
            const double want = p.exact(n, m, i / s.out[1], i % s.out[1]);
            if (std::isnan(want))
              ASSERT_TRUE(std::isnan(y)) << "filter " << m << ", pixel " << i;
            else if (std::isinf(want))
              ASSERT_EQ(y, want) << "filter " << m << ", pixel " << i;
            else
              ASSERT_NEAR(y, want, 1e-5 * (1 + std::abs(want))) << "filter " << m << ", pixel " << i;
          }
    }
}

TEST(CpuGroups, KeepToThemselvesWhatIsNotFinite) {
  struct Case {
    int64_t channels, filters, group, sets, kernel, stride, pad, dilation;
  };
  for (const Case& c : {Case{16, 16, 4, 1, 3, 1, 1, 1},
                        {32, 32, 8, 2, 3, 1, 1, 1},
                        {64, 128, 8, 4, 3, 2, 1, 1},
                        {32, 32, 4, 2, 1, 1, 0, 1},
                        {16, 32, 2, 1, 5, 1, 2, 1},
                        {32, 16, 2, 1, 3, 1, 0, 2},
                        {16, 16, 4, 1, 3, 1, 12, 12},
                        {32, 32, 16, 2, 1, 1, 0, 1}})
    for (float bad : {0.5f, infinity, -infinity, std::nanf(""), 3e38f}) {
      const int64_t size = c.kernel == 1 && c.group == 16 ? 1 : 10;
      Problem p(square(c.channels, c.filters, size, size, c.kernel, c.stride, c.pad, c.dilation, 2), c.group);
      p.x[p.x.size() / 3] = bad;
      p.x[p.x.size() - 1] = bad;
      check(p, c.sets);
    }
}

/// Merged groups must not add over their output: the residual is to be added only once.
TEST(CpuGroups, AddNothingOverWhatIsThere) {
  for (Isa isa : usable_isas()) {
    BlockedShape s = square(16, 16, 9, 9, 3, 1, 1);
    s.merged = 4;
    EXPECT_FALSE(cpu::direct_adds_over(isa, s, DataType::float32));
    s.merged = 1;
    EXPECT_TRUE(cpu::direct_adds_over(isa, s, DataType::float32) || cpu::gemm_kernels(isa).bf16x3);
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
