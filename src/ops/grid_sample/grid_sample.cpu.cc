// GridSample of float32: the taps of some samples are computed once for all channels. If there are enough of
// both, the image is converted to nChw16c first, so that a vector holds a pixel of many channels.
#include "ops/grid_sample/grid_sample.h"

#include <algorithm>

#include "cpu/movement.h"
#include "cpu/sampling.h"
#include "cpu/support.h"
#include "ops/compute.h"
#include "ops/grid_sample/grid_taps.h"

namespace lathe {
namespace {

using cpu::grid_block;
using cpu::grid_lanes;

/// Returns whether converting the image to nChw16c pays for so many samples.
bool pays_nchw16c(const cpu::Nchw16cImage& t, int64_t area, int64_t samples) {
  return t.channels >= 4 && area / 4 <= samples && t.fits();
}

cpu::GridAxis axis_of(const GridRule& rule, int64_t size) {
  return {.size = size,
          .taps = rule.mode == GridRule::nearest  ? 1
                  : rule.mode == GridRule::linear ? 2
                                                  : 4,
          .padding = rule.padding == GridRule::zeros    ? cpu::GridPadding::zeros
                     : rule.padding == GridRule::border ? cpu::GridPadding::border
                                                        : cpu::GridPadding::reflection,
          .align_corners = rule.align_corners};
}

/// The taps of up to grid_block samples.
class GridTable {
 public:
  GridTable(const cpu::GridKernels& kernels, const GridRule& rule, const GridGeometry& g)
      : kernels_(kernels),
        axes_{axis_of(rule, g.size[0]), axis_of(rule, g.size[1]), axis_of(rule, g.size[2])},
        given_(g.axes) {
    for (int64_t a = 0; a < 3 - given_; ++a) {
      axes_[a].taps = 1;
      along_[a].index[0].fill(0);
      along_[a].weight[0].fill(1);
    }
  }
  /// Coordinates come innermost axis first.
  void fill(const float* coordinates, int64_t n, int64_t outside) {
    for (int64_t a = 3 - given_; a < 3; ++a)
      kernels_.along(axes_[a], coordinates + (2 - a), given_, n, along_[a]);
    kernels_.join(axes_, along_, n, outside, taps_);
  }
  const cpu::GridTaps& taps() const { return taps_; }

 private:
  const cpu::GridKernels& kernels_;
  cpu::GridAxis axes_[3];
  int64_t given_;
  cpu::GridAxisTaps along_[3];
  cpu::GridTaps taps_;
};

/// The images of a batch one after the other.
template <Isa isa>
class Sampler {
 public:
  Sampler(const GridRule& rule, KernelContext& c)
      : rule_(rule),
        g_(c.in(0), c.in(1)),
        nchw16c_(g_.channels, g_.area()),
        uses_nchw16c_(pays_nchw16c(nchw16c_, g_.area(), g_.samples)),
        memory_(uses_nchw16c_
                    ? static_cast<float*>(c.workspace(static_cast<size_t>(nchw16c_.floats()) * sizeof(float)))
                    : nullptr),
        c_(c) {}
  void run() {
    for (int64_t n = 0; n < g_.batch; ++n) {
      const float* const image = cpu::floats(c_.in(0)) + n * g_.channels * g_.area();
      if (uses_nchw16c_) cpu::to_nchw16c(isa, nchw16c_, image, memory_, c_);
      sample(n, image);
    }
  }

 private:
  void sample(int64_t n, const float* image) {
    const int64_t grain = std::max<int64_t>(1, grid_lanes / g_.channels);
    c_.parallel(ceil_div(g_.samples, grid_block), grain, [&](int64_t begin, int64_t end) {
      GridTable table(kernels_, rule_, g_);
      Poller poll(c_);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * grid_block, count = std::min(grid_block, g_.samples - first);
        table.fill(cpu::floats(c_.in(1)) + (n * g_.samples + first) * g_.axes, count,
                   uses_nchw16c_ ? nchw16c_.outside() : -1);
        float* const to = cpu::floats(c_.out(0)) + n * g_.channels * g_.samples + first;
        uses_nchw16c_ ? from_nchw16c(table.taps(), count, to, poll)
                      : from_planes(table.taps(), image, count, to, poll);
      }
    });
  }
  void from_nchw16c(const cpu::GridTaps& taps, int64_t count, float* to, Poller& poll) const {
    float made[grid_block * grid_lanes];
    for (int64_t block = 0; block < nchw16c_.blocks; ++block) {
      kernels_.sample_nchw16c(taps, nchw16c_.block(memory_, block), count, made);
      cpu::transpose_kernels(isa).transpose(made, grid_lanes, to + block * grid_lanes * g_.samples,
                                            g_.samples, count, nchw16c_.lanes(block));
      poll.did(count * (taps.count + 2));
    }
  }
  void from_planes(const cpu::GridTaps& taps, const float* image, int64_t count, float* to,
                   Poller& poll) const {
    for (int64_t channel = 0; channel < g_.channels; ++channel) {
      kernels_.sample_plane(taps, image + channel * g_.area(), count, to + channel * g_.samples);
      poll.did(count * (taps.count + 2));
    }
  }

  const cpu::GridKernels& kernels_ = cpu::grid_kernels(isa);
  const GridRule& rule_;
  const GridGeometry g_;
  const cpu::Nchw16cImage nchw16c_;
  const bool uses_nchw16c_;
  float* const memory_;
  KernelContext& c_;
};

template <Isa isa>
void sample_grid(const GridSample& op, KernelContext& c) {
  const Tensor& image = c.in(0);
  check_grid(c);
  if (c.out(0).size() == 0) return;
  if (image.size() == 0) c.fail(Code::run_bad_value, "an image to sample", describe(image));
  const GridRule rule(op);
  Sampler<isa>(rule, c).run();
}

size_t workspace(const GridSample&, std::span<const Shape> inputs, int) {
  const Shape &image = inputs[0], &grid = inputs[1];
  if (count_of(image) == 0 || count_of(grid) == 0) return 0;
  const int64_t area = count_between(image, 2, image.size()),
                samples = count_between(grid, 1, grid.size() - 1);
  const cpu::Nchw16cImage nchw16c(image[1], area);
  return pays_nchw16c(nchw16c, area, samples) ? static_cast<size_t>(nchw16c.floats()) * sizeof(float) : 0;
}

}  // namespace

void cpu_grid_sample(KernelCatalog& k) {
  cpu::for_each_isa([&]<Isa isa>() {
    k.add<GridSample>(
        {.op = "GridSample", .name = cpu::kernel_name("grid_sample", isa), .isa = isa},
        {.run = sample_grid<isa>, .supports = cpu::supports_float32<GridSample>, .workspace = workspace});
  });
}

}  // namespace lathe
