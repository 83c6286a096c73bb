// GridSample of float32: the taps of some samples are worked out once for all channels.
#include "ops/grid_sample/grid_sample.h"

#include <algorithm>

#include "cpu/ask.h"
#include "ops/compute.h"
#include "ops/grid_sample/grid_taps.h"

namespace lathe {
namespace {

/// Taps that are kept for all channels.
constexpr size_t kept_taps = 1024;

struct ImageTap {
  int64_t at;  // within a plane; -1: outside, where all is 0
  float weight;
};

/// The taps of a few samples, all of as many.
class TapTable {
 public:
  TapTable(const GridRule& rule, const GridGeometry& g, const Tensor& grid)
      : rule_(rule), g_(g), grid_(grid), samples_(static_cast<int64_t>(kept_taps) / taps_of(rule, g)) {}
  /// How many samples there is room for.
  int64_t room() const { return samples_; }

  void fill(int64_t first, int64_t n) {
    ImageTap* to = taps_.data();
    for (int64_t s = first; s < first + n; ++s) {
      const auto taps = sample_taps<float>(rule_, g_, grid_, s);
      const auto count = [&](size_t a) { return static_cast<size_t>(taps[a].count); };
      for (size_t z = 0; z < count(0); ++z)
        for (size_t y = 0; y < count(1); ++y)
          for (size_t x = 0; x < count(2); ++x) {
            const int64_t i = taps[0].index[z], j = taps[1].index[y], k = taps[2].index[x];
            const double weight = taps[0].weight[z] * taps[1].weight[y] * taps[2].weight[x];
            *to++ = {i < 0 || j < 0 || k < 0 ? -1 : (i * g_.size[1] + j) * g_.size[2] + k,
                     static_cast<float>(weight)};
          }
    }
  }
  /// Samples [0, n) of one plane.
  void sample(const float* plane, int64_t n, float* to) const {
    const ImageTap* t = taps_.data();
    const int64_t each = taps_of(rule_, g_);
    for (int64_t i = 0; i < n; ++i) {
      float sum = 0;
      for (int64_t k = 0; k < each; ++k, ++t) {
        const float x = plane[std::max<int64_t>(t->at, 0)];
        sum += t->at < 0 ? 0.0f : t->weight * x;
      }
      to[i] = sum;
    }
  }
  /// One tap, whose weight is 1: what lies there, bit by bit.
  void pick(const float* plane, int64_t n, float* to) const {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = taps_[static_cast<size_t>(i)].at;
      to[i] = at < 0 ? 0.0f : plane[at];
    }
  }

 private:
  static int64_t taps_of(const GridRule& rule, const GridGeometry& g) {
    const int64_t along = rule.mode == GridRule::nearest ? 1 : rule.mode == GridRule::linear ? 2 : 4;
    int64_t n = 1;
    for (int64_t a = 0; a < g.axes; ++a) n *= along;
    return n;
  }
  const GridRule& rule_;
  const GridGeometry& g_;
  const Tensor& grid_;
  int64_t samples_;
  std::array<ImageTap, kept_taps> taps_;
};

void sample_grid(const GridSample& op, KernelContext& c) {
  const Tensor &image = c.in(0), &grid = c.in(1);
  check_grid(c);
  Tensor& out = c.out(0);
  if (out.size() == 0) return;
  if (image.size() == 0) c.fail(Code::run_bad_value, "an image to sample", describe(image));
  const GridRule rule(op);
  const GridGeometry g(image, grid);
  const int64_t room = TapTable(rule, g, grid).room(), blocks = ceil_div(g.samples, room);
  c.parallel(g.batch * blocks, 1, [&](int64_t begin, int64_t end) {
    TapTable table(rule, g, grid);
    Poller poll(c);
    c.poll();
    for (int64_t b = begin; b < end; ++b) {
      const int64_t n = b / blocks, first = b % blocks * room, count = std::min(room, g.samples - first);
      table.fill(n * g.samples + first, count);
      poll.did(static_cast<int64_t>(kept_taps) * 8);
      for (int64_t channel = n * g.channels; channel < (n + 1) * g.channels; ++channel) {
        const float* const plane = cpu::floats(image) + channel * g.area();
        float* const to = cpu::floats(out) + channel * g.samples + first;
        rule.mode == GridRule::nearest ? table.pick(plane, count, to) : table.sample(plane, count, to);
        poll.did(static_cast<int64_t>(kept_taps));
      }
    }
  });
}

}  // namespace

void cpu_grid_sample(KernelCatalog& k) {
  k.add<GridSample>({.op = "GridSample", .name = cpu::kernel_name("grid_sample", Isa::generic)},
                    {.run = sample_grid, .ask = cpu::ask_float32<GridSample>});
}

}  // namespace lathe
