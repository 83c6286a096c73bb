// Convolution in channel blocks, every algorithm of every instruction set, against plain loops in
// double. Lanes beyond the last channel of X are NaN.
#include "cpu/nchw16c/blocked.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <functional>

#include "cpu/gemm/gemm.h"
#include "cpu/nchw16c/blocked_bf16x3.h"
#include "support/blocked_run.h"
#include "support/row_means.h"
#include "support/tiles.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BlockedShape;
using cpu::channel_block;

/// Keeps elements within bounds, which kernels are to see to by themselves.
class Keeper : public Epilogue {
 public:
  static constexpr Bounds wanted = {-0.25f, 0.5f};
  void apply(int64_t, int64_t) override { ADD_FAILURE() << "the bounds were told"; }
  std::optional<Bounds> bounds() const override { return wanted; }
};

/// Adds a tensor and keeps the sums within bounds, which kernels may see to by themselves.
class Adder : public Epilogue {
 public:
  Adder(const Fenced& added, float* y) : y_(y) {
    added_ = {.data = added.data(), .length = static_cast<int64_t>(added.size()), .rest = &keeper_};
  }
  static float of(float y, float added) {
    return std::clamp(y + added, Keeper::wanted.least, Keeper::wanted.greatest);
  }
  void apply(int64_t begin, int64_t n) override {
    for (int64_t i = begin; i < begin + n; ++i) y_[i] = of(y_[i], added_.data[i]);
  }

 private:
  float* y_;
  Keeper keeper_;
};

struct Convolution {
  BlockedShape shape;
  bool depthwise;
  Fenced x, w, bias, gates, x_blocked;
  cpu::ChannelScaling before;  // of a shape that is gated
  std::vector<double> want;    // in blocks

  /// A gated shape has gates of each image if `of_each`, else of all of them.
  explicit Convolution(const BlockedShape& s, bool depth, bool of_each = false)
      : shape(s), depthwise(depth), x(0), w(0), bias(0), gates(0), x_blocked(0) {
    Random random(static_cast<uint64_t>(s.channels * 77 + s.out_pixels() * 5 + s.filters));
    const int64_t inner = depthwise ? 1 : s.channels;
    x = Fenced(at(s.batch * s.channels * s.in_pixels()), random);
    w = Fenced(at(s.filters * inner * s.taps()), random);
    for (size_t i = 0; i < w.size(); ++i) w.data()[i] = to_float(to_bfloat16(w[i]));  // the same in 16 bits
    for (size_t i = 0; i < x.size(); ++i) x.data()[i] = to_float(to_bfloat16(x[i]));
    bias = Fenced(at(s.filters), random);
    const int64_t lanes = s.in_blocks() * channel_block;
    if (s.gated) gates = Fenced(at(of_each ? s.batch * lanes : lanes), random);
    if (s.gated) before = {.factor = gates.data(), .image = of_each ? lanes : 0};
    x_blocked = s.nchw ? x : blocked(x, s.batch, s.channels, s.in_pixels());
    for (int64_t n = 0; n < s.batch; ++n)
      for (int64_t m = 0; m < s.out_blocks() * channel_block; m += channel_block)
        for (int64_t oy = 0; oy < s.out[0]; ++oy)
          for (int64_t ox = 0; ox < s.out[1]; ++ox)
            for (int64_t l = m; l < m + channel_block; ++l)
              want.push_back(l < s.filters ? element(n, l, oy, ox, inner) : 0);
  }
  double element(int64_t n, int64_t m, int64_t oy, int64_t ox, int64_t inner) const {
    double sum = bias[at(m)];
    for (int64_t c = 0; c < inner; ++c) {
      const double gate = shape.gated ? before.of_image(n).factor[c] : 1;
      for_each_tap(shape, oy, ox, [&](int64_t tap, int64_t pixel) {
        const int64_t plane = n * shape.channels + (depthwise ? m : c);
        sum += gate * x[at(plane * shape.in_pixels() + pixel)] * w[at((m * inner + c) * shape.taps() + tap)];
      });
    }
    return sum;
  }

  using Pack = std::function<void(float*, Workers&)>;
  using Workspace = std::function<size_t(bool f16, int threads)>;
  using Algorithm = std::function<void(const cpu::BlockedImages&, void*, KernelContext&)>;
  /// Writes the properties of packed weights that are stored beside them.
  using Mark = std::function<void(DataType, void* packed, Workers&)>;
  /// Returns whether with weights of that type the output may overwrite the tensor that is added to it.
  using AddsOver = std::function<bool(DataType)>;

  /// Checks with weights of 16 bits, which are packed as `narrow` floats by `pack_f16`.
  void hold_bf16(const std::string& name, double tolerance, size_t narrow, const Pack& pack_f16,
                 const Workspace& workspace, const Algorithm& f, const Mark& mark = {},
                 const AddsOver& adds_over = {}) const {
    Fenced packed(narrow);
    WorkerContext packers(3);
    pack_f16(packed.data(), packers);
    ASSERT_TRUE(packed.intact());
    for (DataType type : {DataType::bfloat16, DataType::float16}) {
      SCOPED_TRACE(name + " " + std::string(name_of(type)));
      std::vector<uint16_t> halves(narrow);
      cpu::narrow(Isa::generic, type, packed.data(), halves.data(), static_cast<int64_t>(narrow));
      if (mark) mark(type, halves.data(), packers);
      hold_packed({.weights = halves.data(), .weights_type = type}, tolerance, workspace, f, adds_over);
    }
  }

  void hold(const std::string& name, double tolerance, size_t weights, const Pack& pack,
            const Workspace& workspace, const Algorithm& f, const Mark& mark = {},
            const AddsOver& adds_over = {}) const {
    SCOPED_TRACE(name);
    Fenced packed(weights);
    WorkerContext packers(3);
    pack(packed.data(), packers);
    if (mark) mark(DataType::float32, packed.data(), packers);
    ASSERT_TRUE(packed.intact());
    hold_packed({.weights = packed.data()}, tolerance, workspace, f, adds_over);
  }

  void hold_packed(cpu::BlockedImages images, double tolerance, const Workspace& workspace,
                   const Algorithm& f, const AddsOver& adds_over) const {
    images.x = x_blocked.data();
    images.bias = bias.data();
    images.before = before;
    const bool f16 = cpu::is_f16(images.weights_type);
    auto with = [&](int threads) {
      return run(want.size(), workspace(f16, threads), threads,
                 [&](float* y, void* scratch, KernelContext& c) {
                   images.y = y;
                   f(images, scratch, c);
                 });
    };
    const std::vector<float> got = with(1);
    double most = 0;
    for (double v : want) most = std::max(most, std::abs(v));
    for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], tolerance * most) << "at " << i;
    for (int threads : {2, 3}) {
      const std::vector<float> again = with(threads);
      ASSERT_TRUE(got.empty() || std::memcmp(got.data(), again.data(), got.size() * sizeof(float)) == 0)
          << "the bits depend on the number of threads";
    }

    Fenced y(want.size()), scratch(workspace(f16, 1) / sizeof(float));
    Keeper keeper;
    EpilogueContext c(1, &keeper);
    images.y = y.data();
    f(images, scratch.data(), c);
    for (size_t i = 0; i < got.size(); ++i)
      ASSERT_EQ(y[i], std::clamp(got[i], Keeper::wanted.least, Keeper::wanted.greatest)) << "at " << i;

    Random random(want.size());
    const Fenced added(want.size(), random);
    const bool over = adds_over && adds_over(images.weights_type);
    for (int threads : {1, 2})
      for (bool in_place : {false, true}) {
        if (in_place && !over) continue;
        Fenced sums(want.size()), room(workspace(f16, threads) / sizeof(float));
        if (in_place) std::copy_n(added.data(), added.size(), sums.data());
        Adder adder(in_place ? sums : added, sums.data());
        EpilogueContext adding(threads, &adder);
        images.y = sums.data();
        f(images, room.data(), adding);
        EXPECT_TRUE(sums.intact());
        for (size_t i = 0; i < got.size(); ++i) ASSERT_EQ(sums[i], Adder::of(got[i], added[i])) << "at " << i;
      }
  }
};

/// The factors are bfloat16 already: only the sums are rounded.
void check_pairs(const Convolution& k, Isa isa) {
  BlockedShape s = k.shape;
  s.bf16_dot2 = true;
  std::vector<BFloat16> w;
  for (size_t i = 0; i < k.w.size(); ++i) w.push_back(to_bfloat16(k.w[i]));
  for (bool native : {true, false}) {
    cpu::use_bf16(native);
    k.hold(
        native ? "pairs" : "pairs, not native", 1e-5, at(cpu::direct_weights_size(isa, s)),
        [&](float* to, Workers& workers) {
          cpu::pack_bf16_pair_weights(isa, s, w.data(), reinterpret_cast<BFloat16*>(to), workers);
        },
        [&](bool, int threads) { return cpu::direct_workspace(isa, s, false, threads); },
        [&](const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
          cpu::direct_convolution(isa, s, i, scratch, c);
        });
  }
  cpu::use_bf16(true);
}

void check_direct(const Convolution& k, Isa isa) {
  const BlockedShape& s = k.shape;
  const auto hold = [&](auto holds) {
    (k.*holds)(
        "direct", 1e-5, at(cpu::direct_weights_size(isa, s)),
        [&](float* to, Workers& w) { cpu::pack_direct_weights(isa, s, k.w.data(), to, w); },
        [&](bool f16, int threads) { return cpu::direct_workspace(isa, s, f16, threads); },
        [&](const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
          cpu::direct_convolution(isa, s, i, scratch, c);
        },
        nullptr, [&](DataType weights) { return cpu::direct_adds_over(isa, s, weights); });
  };
  hold(&Convolution::hold);
  hold(&Convolution::hold_bf16);
}

/// Checks shapes of which no window leaves the image.
void check_strassen(const Convolution& k, Isa isa) {
  const BlockedShape& s = k.shape;
  for (int a : {0, 1})
    if ((s.out[a] - 1) * s.stride[a] + s.reach(a) > s.in[a]) return;
  if (!cpu::fits_strassen(isa, s)) return;
  const auto hold = [&](auto holds) {
    (k.*holds)(
        "strassen", 2e-5, at(cpu::strassen_weights_size(isa, s)),
        [&](float* to, Workers& w) { cpu::pack_strassen_weights(isa, s, k.w.data(), to, w); },
        [&](bool f16, int threads) { return cpu::strassen_workspace(isa, s, f16, threads); },
        [&](const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
          cpu::strassen_convolution(isa, s, i, scratch, c);
        },
        [&](DataType type, void* packed, Workers& w) { cpu::mark_strassen_weights(isa, s, type, packed, w); },
        [&](DataType weights) { return cpu::strassen_adds_over(isa, s, weights); });
  };
  hold(&Convolution::hold);
  hold(&Convolution::hold_bf16);
}

/// Also computes the means of the rows of the finished output.
void depthwise_with_means(Isa isa, const BlockedShape& s, cpu::BlockedImages images, void* scratch,
                          KernelContext& c) {
  Fenced means(means_size(s));
  images.row_means = means.data();
  cpu::depthwise_convolution(isa, s, images, scratch, c);
  expect_row_means(s, images.y, means);
}

void check(const BlockedShape& s, bool depthwise = false) {
  const Convolution k(s, depthwise);
  for (Isa isa : usable_isas()) {
    SCOPED_TRACE(text(s) + ", " + std::string(name_of(isa)));
    if (depthwise) {
      const auto both = [&](auto hold) {
        (k.*hold)(
            "depthwise", 1e-6, at(cpu::depthwise_weights_size(s)),
            [&](float* to, Workers&) { cpu::pack_depthwise_weights(s, k.w.data(), to); },
            [&](bool f16, int) { return cpu::depthwise_workspace(s, f16); },
            [&](const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
              depthwise_with_means(isa, s, i, scratch, c);
            },
            nullptr, nullptr);
      };
      both(&Convolution::hold);
      both(&Convolution::hold_bf16);
      continue;
    }
    check_direct(k, isa);
    if (!s.nchw) check_pairs(k, isa);
    check_strassen(k, isa);
    const bool by_one = s.stride[0] == 1 && s.stride[1] == 1 && s.dilation[0] == 1 && s.dilation[1] == 1;
    for (const cpu::Filtering f : cpu::filterings) {
      const bool fits = !s.nchw && s.kernel[0] == f.taps && s.kernel[1] == f.taps && by_one;
      ASSERT_EQ(cpu::fits_winograd(s, f), fits);
      if (!fits) continue;
      const std::string name = "winograd " + std::to_string(f.output) + " of " + std::to_string(f.taps);
      const double tolerance = f.size() == 4 ? 2e-5 : 1e-4;
      const auto run_with = [&](bool untransformed, auto hold, const std::string& weights, int64_t size,
                                const Convolution::Pack& pack) {
        (k.*hold)(
            name + weights, tolerance, at(size), pack,
            [&](bool, int threads) { return cpu::winograd_workspace(isa, s, f, untransformed, threads); },
            [&](const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
              cpu::winograd_convolution(isa, s, f, untransformed, i, scratch, c);
            },
            nullptr, [](DataType) { return true; });
      };
      const auto pack_untransformed = [&](float* to, Workers& w) {
        cpu::pack_untransformed_weights(isa, s, k.w.data(), to, w);
      };
      run_with(false, &Convolution::hold, "", cpu::winograd_weights_size(s, f),
               [&](float* to, Workers& w) { cpu::pack_winograd_weights(isa, s, f, k.w.data(), to, w); });
      run_with(true, &Convolution::hold, ", untransformed", cpu::untransformed_weights_size(s),
               pack_untransformed);
      run_with(true, &Convolution::hold_bf16, "", cpu::untransformed_weights_size(s), pack_untransformed);
    }
  }
}

BlockedShape nchw(BlockedShape s) {
  s.nchw = true;
  return s;
}

TEST(CpuBlocked, Pointwise) {
  check(square(5, 7, 6, 9, 1));
  check(square(64, 30, 14, 14, 1, 1, 0, 1, 2));
  check(square(40, 33, 9, 9, 1, 2));
  check(square(40, 48, 9, 9, 1, 3));
  // Half a block of filters: alone, behind one, and behind a panel; terms in pairs, and one that has none.
  for (int64_t filters : {6, 8, 24, 40})
    for (int64_t channels : {32, 37})
      for (int64_t stride : {1, 2, 3}) check(square(channels, filters, 11, 10, 1, stride, 0, 1, 2));
  check(square(300, 20, 3, 5, 1));
  check(square(16, 8, 1, 1, 1));
  check(square(17, 100, 1, 1, 1, 1, 0, 1, 3));
  check(square(16, 64, 40, 40, 1));  // several strips
}

TEST(CpuBlocked, OnePixel) {
  for (int64_t filters : {6, 16, 24, 48, 64, 80, 130})
    for (int64_t channels : {1, 17, 100, 1200}) check(square(channels, filters, 1, 1, 1));
  check(square(48, 1152, 1, 1, 1, 1, 0, 1, 3));
  check(square(700, 1000, 1, 1, 1));  // by several threads
  check(square(64, 72, 1, 1, 1, 2, 0, 1, 2));
  check(square(64, 72, 2, 2, 1, 2, 0, 1, 2));  // of four pixels one
  check(square(0, 72, 1, 1, 1));
}

TEST(CpuBlocked, Square) {
  for (int64_t kernel : {2, 3, 5, 7})
    for (int64_t stride : {1, 2, 3})
      for (int64_t pad : {0, 1, 3}) check(square(3, 17, 13, 19, kernel, stride, pad));
  check(square(60, 40, 12, 12, 3, 1, 1));
  check(square(20, 50, 15, 15, 3, 2, 1, 2, 2));
  check(square(1, 1, 5, 5, 5, 1, 4));
  check(square(130, 16, 30, 30, 3, 2, 1));  // several strips
}

TEST(CpuBlocked, Nchw) {
  for (int64_t stride : {1, 2, 4})
    for (int64_t kernel : {1, 3, 7})
      for (int64_t dilation : {1, 2})
        check(nchw(square(3, 40, 17, 23, kernel, stride, kernel / 2, dilation, 2)));
  check(nchw(square(3, 64, 90, 90, 7, 2, 3)));
  check(nchw(square(20, 8, 9, 9, 1)));
}

TEST(CpuBlocked, EveryRemainder) {
  for (int64_t height = 1; height <= 20; ++height)
    for (int64_t width : {int64_t{1}, height, 21 - height}) check(square(18, 20, height, width, 3, 1, 1));
  check(square(33, 47, 6, 7, 3, 1, 0, 1, 3));
  check(square(16, 16, 5, 5, 3, 1, 4));
  check(square(32, 32, 3, 700, 3, 1, 1));  // a row of tiles in parts
  for (int64_t height = 1; height <= 9; ++height) check(square(18, 20, height, 10 - height, 5, 1, 2));
  check(square(8, 16, 14, 14, 5, 1, 2, 1, 2));
  check(square(8, 16, 14, 14, 5, 1, 2));  // one panel, more weights than image: threads share it by strips
}

/// There are so many weights that untransformed ones are evaluated piece by piece.
TEST(CpuBlocked, PiecesOfWeights) {
  check(square(150, 70, 9, 7, 3, 1, 1));
  check(square(160, 96, 13, 5, 3, 1, 1, 1, 2));
  check(square(130, 72, 34, 34, 3, 1, 1));  // several groups of tiles
  check(square(100, 100, 6, 5, 5, 1, 2));
}

/// Groups of tiles are as many as threads: whole rows of tiles, or any; or each thread has filters of its
/// own.
TEST(CpuBlocked, TilesSharedOut) {
  check(square(32, 48, 27, 27, 3, 1, 1));
  check(square(16, 32, 56, 40, 3, 1, 1));
  check(square(24, 40, 17, 30, 3, 1, 0, 1, 2));
  check(square(64, 256, 12, 11, 3, 1, 1));
  check(square(48, 200, 13, 13, 5, 1, 2));
}

/// The number of tiles, hence the batch, decides where untransformed weights are evaluated: the bits do not
/// depend on it.
TEST(CpuBlocked, UntransformedWeightsInBatches) {
  constexpr cpu::Filtering f4{4, 3};
  for (const auto& [channels, filters, size] : {std::array<int64_t, 3>{160, 96, 7}, {33, 20, 3}, {16, 16, 4}})
    for (Isa isa : usable_isas()) {
      const auto image = [&](int64_t batch) {
        const BlockedShape s = square(channels, filters, size, size, 3, 1, 1, 1, batch);
        Random random(7);
        const Fenced w(at(filters * channels * 9), random);
        Fenced x(at(s.in_blocks() * s.in_pixels() * channel_block), random),
            packed(at(cpu::untransformed_weights_size(s)));
        std::vector<float> all;
        for (int64_t i = 0; i < batch; ++i) all.insert(all.end(), x.data(), x.data() + x.size());
        const size_t one = at(s.out_blocks() * s.out_pixels() * channel_block);
        Fenced y(one * at(batch)), scratch(cpu::winograd_workspace(isa, s, f4, true, 1) / sizeof(float));
        WorkerContext c(1);
        cpu::pack_untransformed_weights(isa, s, w.data(), packed.data(), c);
        cpu::winograd_convolution(
            isa, s, f4, true, {.x = all.data(), .weights = packed.data(), .y = y.data()}, scratch.data(), c);
        return std::vector<float>(y.data() + y.size() - one, y.data() + y.size());
      };
      const std::vector<float> alone = image(1);
      for (int64_t batch : {3, 9})
        EXPECT_EQ(std::memcmp(image(batch).data(), alone.data(), alone.size() * sizeof(float)), 0)
            << name_of(isa) << ", " << channels << " channels, a batch of " << batch;
    }
}

TEST(CpuBlocked, UnevenPadding) {
  BlockedShape s = square(18, 35, 9, 11, 3);
  s.pad[0] = 2;
  check(sized(s, 0, 4));
  s.pad[0] = 0, s.pad[1] = 1;
  check(sized(s, 3, 0));
  s.stride[0] = 2, s.stride[1] = 3;
  check(sized(s, 3, 9));
  s.stride[0] = s.stride[1] = 1;
  s.filters = s.channels;
  check(sized(s, 3, 7), true);
}

TEST(CpuBlocked, OneAxis) {
  for (int64_t length : {1, 30, 1000})
    for (int64_t stride : {1, 2}) {
      BlockedShape s{.batch = 2, .channels = 70, .filters = 20};
      s.in[1] = length, s.kernel[1] = 4, s.pad[1] = 3, s.stride[1] = stride;
      check(sized(s, 0, 2));
      check(nchw(sized(s, 0, 2)));
    }
}

/// These shapes have so many channels and filters that Strassen may be used.
TEST(CpuBlocked, Halves) {
  check(square(256, 64, 9, 9, 1));
  check(square(800, 96, 8, 9, 1, 1, 0, 1, 2));     // blocks of k, and half a pair of panels
  check(square(384, 128, 11, 17, 1, 2, 0, 1, 2));  // rows of an image apart
  check(square(64, 32, 12, 13, 3, 1, 0, 2));
  check(square(128, 64, 15, 11, 2, 3));
  check(square(256, 160, 3, 2, 1));  // too few pixels
  BlockedShape s{.batch = 2, .channels = 112, .filters = 192};
  s.in[1] = 203, s.kernel[1] = 4, s.stride[1] = 2;
  check(sized(s, 0, 0));
  for (Isa isa : usable_isas()) {
    const bool fits = cpu::gemm_kernels(isa).NR >= channel_block;
    EXPECT_EQ(cpu::fits_strassen(isa, square(256, 64, 9, 9, 1)), fits);
    EXPECT_FALSE(cpu::fits_strassen(isa, square(240, 64, 9, 9, 1)));
    EXPECT_FALSE(cpu::fits_strassen(isa, square(264, 64, 9, 9, 1)));
    EXPECT_FALSE(cpu::fits_strassen(isa, square(256, 40, 9, 9, 1)));
    EXPECT_FALSE(cpu::fits_strassen(isa, square(64, 64, 9, 9, 3, 1, 1)));
    EXPECT_FALSE(cpu::fits_strassen(isa, nchw(square(256, 64, 9, 9, 1))));
  }
}

/// Scaling while the input is read gives the same bits as scaling before, with the kernels that support it:
/// those with tiles do not.
TEST(CpuBlocked, ScaledInputs) {
  const WithoutTiles without;
  for (const BlockedShape& s :
       {square(256, 64, 9, 9, 1), square(800, 96, 8, 9, 1, 1, 0, 1, 2), square(64, 32, 12, 13, 3, 1, 0, 2),
        square(40, 48, 14, 15, 3, 2, 1), square(37, 20, 9, 11, 3, 1, 1, 1, 2), square(64, 96, 60, 60, 1)}) {
    SCOPED_TRACE(text(s));
    const Convolution k(s, false);
    Random random(5);
    const Fenced factor(at(s.in_blocks() * channel_block), random), shift(factor.size(), random);
    const cpu::ChannelScaling by{factor.data(), shift.data(), {-0.5f, 0.75f}};
    const float none[channel_block] = {};
    for (Isa isa : usable_isas()) {
      Fenced x(k.x_blocked.size());
      const int64_t plane = s.in_pixels() * channel_block;
      for (int64_t i = 0; i < s.batch * s.in_blocks(); ++i) {
        const int64_t lane = i % s.in_blocks() * channel_block;
        cpu::scale_pixels(isa, {.x = k.x_blocked.data() + i * plane,
                                .y = x.data() + i * plane,
                                .pixels = s.in_pixels(),
                                .mean = none,
                                .factor = factor.data() + lane,
                                .bias = shift.data() + lane,
                                .bounds = by.bounds});
      }
      const auto hold = [&](const char* name, int64_t size, auto&& pack, auto&& workspace, auto&& convolve) {
        SCOPED_TRACE(std::string(name) + ", " + std::string(name_of(isa)));
        WorkerContext packers(2);
        Fenced w(at(size));
        pack(w.data(), packers);
        BlockedShape scaled = s;
        scaled.scaled = true;
        cpu::BlockedImages images{.x = x.data(), .weights = w.data(), .bias = k.bias.data()};
        const auto with = [&](const BlockedShape& shape, int threads) {
          return run(k.want.size(), workspace(shape, threads), threads,
                     [&](float* y, void* scratch, KernelContext& c) {
                       images.y = y;
                       convolve(shape, images, scratch, c);
                     });
        };
        const std::vector<float> want = with(s, 1);
        images.x = k.x_blocked.data();
        images.before = by;
        for (int threads : {1, 3}) {
          const std::vector<float> got = with(scaled, threads);
          ASSERT_EQ(std::memcmp(got.data(), want.data(), want.size() * sizeof(float)), 0);
        }
      };
      hold(
          "direct", cpu::direct_weights_size(isa, s),
          [&](float* to, Workers& w) { cpu::pack_direct_weights(isa, s, k.w.data(), to, w); },
          [&](const BlockedShape& shape, int threads) {
            return cpu::direct_workspace(isa, shape, false, threads);
          },
          [&](const BlockedShape& shape, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
            cpu::direct_convolution(isa, shape, i, scratch, c);
          });
      if (s.pad[0] == 0 && cpu::fits_strassen(isa, s))
        hold(
            "strassen", cpu::strassen_weights_size(isa, s),
            [&](float* to, Workers& w) {
              cpu::pack_strassen_weights(isa, s, k.w.data(), to, w);
              cpu::mark_strassen_weights(isa, s, DataType::float32, to, w);
            },
            [&](const BlockedShape& shape, int threads) {
              return cpu::strassen_workspace(isa, shape, false, threads);
            },
            [&](const BlockedShape& shape, const cpu::BlockedImages& i, void* scratch, KernelContext& c) {
              cpu::strassen_convolution(isa, shape, i, scratch, c);
            });
    }
  }
}

TEST(CpuBlocked, ResidualsMayBeWrittenOver) {
  // The output may overwrite the residual if sums are computed at once, not in turns as by bf16x3.
  for (Isa isa : usable_isas()) {
    if (cpu::uses_bf16x3(isa, square(64, 256, 56, 56, 1))) continue;
    EXPECT_TRUE(cpu::direct_adds_over(isa, square(64, 256, 56, 56, 1), DataType::float32));
    EXPECT_TRUE(cpu::direct_adds_over(isa, square(96, 48, 28, 28, 1), DataType::float16));
    const BlockedShape deep = square(1024, 256, 14, 14, 1), wide = square(256, 1024, 14, 14, 1);
    if (!cpu::fits_strassen(isa, deep)) continue;
    EXPECT_FALSE(cpu::strassen_adds_over(isa, deep, DataType::float32));
    EXPECT_TRUE(cpu::strassen_adds_over(isa, wide, DataType::float32));
  }
}

TEST(CpuBlocked, GatedInputs) {
  for (BlockedShape s :
       {square(256, 64, 9, 9, 1, 1, 0, 1, 2), square(37, 24, 13, 14, 1, 1, 0, 1, 3),
        square(144, 40, 28, 28, 1), square(40, 48, 14, 15, 3, 2, 1, 1, 2), square(17, 8, 9, 9, 3)})
    for (const bool of_each : {true, false}) {
      s.gated = true;
      const Convolution k(s, false, of_each);
      for (Isa isa : usable_isas()) {
        SCOPED_TRACE(text(s) + ", " + std::string(name_of(isa)) + (of_each ? ", gates of each image" : ""));
        check_direct(k, isa);
        check_strassen(k, isa);
      }
    }
}

TEST(CpuBlocked, TapsThatMissTheImage) {
  for (int64_t dilation : {3, 12, 40})
    for (int64_t size : {1, 4, 16})
      for (int64_t channels : {5, 16, 35})
        for (int64_t filters : {8, 24, 70})
          check(square(channels, filters, size, size + 1, 3, 1, dilation, dilation, 2));
  // Windows of two kinds of taps, and none of these on the pixel itself.
  BlockedShape s = square(20, 40, 9, 7, 5, 1, 16, 8, 1);
  check(s);
  s.pad[0] = 12, s.out[0] = 9 + 12 + 16 - 32;
  check(s);
}

TEST(CpuBlocked, Depthwise) {
  for (int64_t size : {1, 2, 7, 16, 33})
    for (int64_t kernel : {1, 2, 3, 5, 7, 9})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t pad : {int64_t{0}, kernel / 2, kernel * dilation})
            if (size + 2 * pad >= (kernel - 1) * dilation + 1)
              check(square(21, 21, size, size + 2, kernel, stride, pad, dilation, 2), true);
  check(square(32, 32, 60, 60, 3, 1, 1), true);  // several strips
}

TEST(CpuBlocked, Empty) {
  BlockedShape s = square(16, 16, 4, 4, 3);
  s.batch = 0;
  check(s);
  check(s, true);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
