#include "cpu/nchw16c/winograd_bf16x3.h"

#include <optional>
#include <utility>

#include "cpu/ceil_of.h"
#include "cpu/nchw16c/bf16x3_weights.h"
#include "cpu/simd/amx.h"

namespace lathe::cpu {
namespace {

/// Splits a group's tiles at one point.
class TilesSource final : public Bf16x3Source {
 public:
  TilesSource(const PointsDivision& d, const PointProducts& p, int64_t point, char* to)
      : channels_(d.channels),
        from_(p.x + point * p.x_point),
        block_(p.x_tiles * channel_block),
        tiles_(p.tiles),
        to_(to),
        to_pair_(d.rows * bf16x3_pixel) {
    left = d.pairs * tiles_;
    run.stride = channel_block;
    run.to_stride = bf16x3_pixel;
    run.part = part_pixel;
  }

  void next() override {
    const int64_t channels = channels_ - 2 * pair_ * channel_block;
    run.low = from_ + 2 * pair_ * block_;
    run.high = channels > channel_block ? run.low + block_ : run.low;
    run.lows = lanes(channels);
    run.highs = lanes(channels - channel_block);
    run.count = tiles_;
    run.to = to_ + pair_++ * to_pair_;
  }

 private:
  int64_t channels_;
  const float* from_;
  int64_t block_, tiles_;
  char* to_;
  int64_t to_pair_, pair_ = 0;
};

/// Computes some points of a group. The tiles of a point are split first: alongside products, writes to the
/// second-level cache would delay the loads of tiles. A step's weights stay in the first level, and are split
/// alongside the products of the step before.
class PointsTask {
 public:
  PointsTask(const PointsDivision& d, const PointProducts& p, int64_t begin, int64_t end, char* scratch,
             KernelContext& c)
      : d_(d),
        p_(p),
        begin_(begin),
        end_(end),
        runs_(ceil_of(p.tiles, d.run)),
        c_(c),
        tiles_(scratch),
        weights_{scratch + d.split_tiles(), scratch + d.split_tiles() + part_weights} {}

  void compute() {
    registers_.set(d_.run);
    const int64_t all = (end_ - begin_) * d_.panels * d_.pairs;
    std::optional<WeightsSource> weights = weights_of(0);
    kernels_.split(*weights, weights->left);
    bool wrong_tiles = false, wrong_weights = any_wrong(*weights);
    for (int64_t i = 0; i < all; ++i) {
      const Step step = step_of(i);
      if (step.panel == 0 && step.pair == 0) wrong_tiles = split_tiles(step.point);
      if (step.pair == 0) c_.poll();
      weights.reset();
      if (i + 1 < all) weights = weights_of(i + 1);
      multiply(step, weights_[i % 2], weights ? &*weights : nullptr);
      if (step.pair + 1 == d_.pairs) {
        if (wrong_tiles || wrong_weights) multiply_in_float32(step.point, step.panel, wrong_weights);
        wrong_weights = false;
      }
      wrong_weights = wrong_weights || (weights && any_wrong(*weights));
    }
  }

 private:
  /// Two blocks of channels with a panel of filters, at a point.
  struct Step {
    int64_t point, panel, pair;
  };
  Step step_of(int64_t i) const {
    const int64_t panel = i / d_.pairs;
    return {begin_ + panel / d_.panels, panel % d_.panels, i % d_.pairs};
  }
  int64_t blocks(int64_t panel) const {
    return std::min(bf16x3_panel_blocks, channel_blocks(d_.filters) - panel * bf16x3_panel_blocks);
  }
  /// Returns whether any cannot be split.
  bool split_tiles(int64_t point) const {
    TilesSource tiles(d_, p_, point, tiles_);
    kernels_.split(tiles, tiles.left);
    return any_wrong(tiles);
  }
  std::optional<WeightsSource> weights_of(int64_t i) const {
    const Step s = step_of(i);
    const int64_t first =
        s.point * channel_blocks(d_.filters) * channel_block + s.panel * bf16x3_panel_filters;
    return std::optional<WeightsSource>(std::in_place, d_.channels, 1, p_.weights + first * d_.channels,
                                        blocks(s.panel), s.pair, s.pair + 1, weights_[i % 2]);
  }

  /// Multiplies all tiles of a step; the next step's weights are split alongside.
  void multiply(Step s, const char* weights, WeightsSource* next) {
    constexpr int64_t offset = 0;
    Bf16x3Tile tile{.offsets = &offset,
                    .steps = 1,
                    .row = bf16x3_pixel,
                    .part = part_pixel,
                    .w = weights,
                    .upper_rows = upper_rows(d_.run),
                    .adds = s.pair > 0,
                    .split_meanwhile = {nullptr, next}};
    const char* const from = tiles_ + s.pair * d_.rows * bf16x3_pixel;
    float* const to = p_.y + s.point * d_.point() + s.panel * d_.panel();
    for (int64_t run = 0; run < runs_; ++run) {
      if (next) tile.rate[1] = ceil_of(next->left, runs_ - run);
      tile.upper = from + run * d_.run * bf16x3_pixel;
      tile.lower = tile.upper + tile.upper_rows * bf16x3_pixel;
      tile.sums = to + run * d_.run * bf16x3_panel_filters;
      kernels_.tile[d_.run > tile.upper_rows][blocks(s.panel) > 1](tile);
    }
    if (next) kernels_.split(*next, next->left);
  }

  /// Computes the tiles that cannot be split, or all, in float32.
  void multiply_in_float32(int64_t point, int64_t panel, bool all) const {
    for (int64_t tile = 0; tile < p_.tiles; ++tile) {
      if (!all && !has_unsplittable(point, tile)) continue;
      c_.poll();
      p_.multiply_in_float32(point, panel, tile);
    }
  }
  /// Returns whether any channel of a tile cannot be split.
  bool has_unsplittable(int64_t point, int64_t tile) const {
    const float* const x = p_.x + point * p_.x_point + tile * channel_block;
    for (int64_t c = 0; c < d_.channels; ++c)
      if (!can_split(x[c / channel_block * p_.x_tiles * channel_block + c % channel_block])) return true;
    return false;
  }

  const PointsDivision& d_;
  const PointProducts& p_;
  const int64_t begin_, end_, runs_;
  KernelContext& c_;
  char *tiles_, *weights_[2];
  const Bf16x3Kernels& kernels_ = bf16x3_kernels();
  TileRegisters registers_;
};

}  // namespace

PointsDivision::PointsDivision(int64_t channels, int64_t filters, int64_t tiles)
    : channels(channels),
      filters(filters),
      pairs(ceil_of(channel_blocks(channels), 2)),
      panels(ceil_of(channel_blocks(filters), bf16x3_panel_blocks)),
      run(ceil_of(tiles, ceil_of(tiles, max_tiled_rows))) {
  // Both tiles of A have as many rows.
  if (run > upper_rows(run)) run = 2 * upper_rows(run);
  rows = ceil_of(tiles, run) * run;
}

void multiply_points(const PointsDivision& d, const PointProducts& p, int64_t begin, int64_t end,
                     char* scratch, KernelContext& c) {
  if (begin < end) PointsTask(d, p, begin, end, scratch, c).compute();
}

}  // namespace lathe::cpu
