// Convolution with kernels of 3 x 3 and 5 x 5 by Winograd's minimal filtering: tiles of the image and the
// weights are evaluated at points, multiplied point by point (one matrix product each, by the micro-kernels
// of direct convolution), and tiles of the output are interpolated from the products.
//
// A group of tiles goes through all stages while its points stay in the second-level cache.
#include "cpu/nchw16c/blocked_winograd.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "cpu/ceil_of.h"
#include "cpu/gemm.h"
#include "cpu/nchw16c/blocked_bf16x3.h"
#include "cpu/nchw16c/blocked_tile.h"
#include "cpu/nchw16c/blocked_winograd_cut.h"
#include "cpu/nchw16c/winograd_bf16x3.h"
#include "cpu/nchw16c/winograd_untransformed.h"
#include "cpu/nchw16c/winograd_weights.h"
#include "cpu/simd/isa.h"
#include "cpu/tasks.h"

#define LATHE_ISA_BODY "cpu/nchw16c/blocked_winograd_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(WinogradKernels, winograd_kernels)

namespace {

/// Floats of weights beyond which the next panel is prefetched.
constexpr int64_t fetched_weights = 100000;
/// If there are only as many tiles as registers hold, filters are evaluated in registers, for this many
/// channels at a time, whose weights stay in the first-level cache.
constexpr int64_t channels_in_registers = 32;
/// The most of all `filterings`.
constexpr int64_t max_outputs = 16, max_taps = 25;

double cost(Isa isa, const BlockedShape& s, Filtering f) {
  const WinogradCost c(isa, s, f);
  return f.output > 0 && prefers_untransformed(isa, s, f) ? c.untransformed : c.at_points;
}

int64_t steps_size(const BlockedShape& s) {
  return ceil_of(s.in_blocks() * static_cast<int64_t>(sizeof(int64_t) / sizeof(float)), 16) * 16;
}

class Winograd {
 public:
  /// `weights`: transformed ones; null if untransformed ones are evaluated when they are multiplied. The
  /// weights of `images` are untransformed.
  Winograd(Isa isa, const BlockedShape& s, Filtering f, const BlockedImages& images, const float* weights,
           const int64_t* steps, const WinogradGroups& groups, KernelContext& c)
      : s_(s),
        output_(f.output),
        form_(form_of(f)),
        images_(images),
        weights_(weights),
        untransformed_(isa, s, f, images),
        only_direct_(untransformed_.only_direct()),
        piece_(isa, s, f),
        in_registers_(untransformed_tiles(isa)),
        steps_(steps),
        c_(c),
        g_(groups),
        kernels_(winograd_kernels(isa)),
        tiles_(blocked_tiles(isa)) {}

  int64_t products() const { return g_.points * g_.panels(); }
  /// Returns whether all tiles are computed directly.
  bool only_direct() const { return only_direct_; }

  /// Marks a group's tiles: piece i of n pieces of them.
  void look(int64_t group, TileMark* marks, int64_t i = 0, int64_t n = 1) const {
    if (only_direct_) {
      if (i == 0) std::fill_n(marks, used_tiles(group), direct_tile);
      return;
    }
    c_.poll();
    // Rows of tiles below one another share rows of pixels.
    WinogradGate gate;
    int64_t rows = 0, of_image = 0, row = 0;
    const auto mark = [&] {
      if (gate.rows > 0) kernels_.look[form_](gate);
      gate.rows = 0;
    };
    for_each_row(group, [&](int64_t, const WinogradRow&, int64_t) { ++rows; });
    for_each_row(group, [&](int64_t image, const WinogradRow& r, int64_t tile) {
      const bool here = row >= i * rows / n && row < (i + 1) * rows / n;
      ++row;
      if (!here) return;
      const bool below = gate.rows > 0 && image == of_image && r.row == gate.row + gate.rows &&
                         r.column == gate.column && r.tiles == gate.tiles;
      if (!below) {
        mark();
        of_image = image;
        gate = {.shape = &s_,
                .row = r.row,
                .column = r.column,
                .tiles = r.tiles,
                .x = images_.x + image * g_.in_blocks * s_.in_pixels() * channel_block,
                .marks = marks + tile};
      }
      ++gate.rows;
    });
    mark();
  }

  /// Evaluates blocks [begin, end) of a group's input at the points.
  void input(int64_t group, float* points, int64_t begin, int64_t end) const {
    for (int64_t block = begin; block < end; ++block) {
      c_.poll();
      for_each_row(group, [&](int64_t image, WinogradRow row, int64_t tile) {
        row.points = points + (block * g_.tiles + tile) * channel_block;
        row.point = g_.in_point();
        row.x = images_.x + (image * g_.in_blocks + block) * s_.in_pixels() * channel_block;
        row.channels = std::min(channel_block, s_.channels - block * channel_block);
        kernels_.input[form_](row);
      });
    }
  }

  /// Computes products [begin, end), each of one point and one panel of filters.
  void multiply(int64_t group, const float* points, float* to, int64_t begin, int64_t end) const {
    const int64_t used = used_tiles(group);
    const auto few = g_.out_blocks == 1 && s_.channels <= channel_block ? tiles_.few[s_.channels] : nullptr;
    if (few) {
      c_.poll();
      for (int64_t i = begin; i < end; ++i)
        few(points + i * g_.in_point(), weights_at(i, 0), to + i * g_.out_point(), used);
      return;
    }
    const RowTiles rows(used, tiles_.MR);
    for (int64_t i = begin; i < end; ++i) {
      if (i % 8 == 0) c_.poll();
      const int64_t point = i / g_.panels(), panel = i % g_.panels();
      // Panels are contiguous in memory.
      multiply(point, panel, i + 1 < products() ? weights_of(i + 1) : nullptr, rows, points, to);
    }
  }
  /// Multiplies all points with one panel.
  void multiply_panel(int64_t group, const float* points, float* to, int64_t panel) const {
    const RowTiles rows(used_tiles(group), tiles_.MR);
    for (int64_t point = 0; point < g_.points; ++point) {
      if (point % 8 == 0) c_.poll();
      const int64_t next = (point + 1) * g_.panels() + panel;
      multiply(point, panel, next < products() ? weights_of(next) : nullptr, rows, points, to);
    }
  }
  /// The same with untransformed weights: all points of panels [begin, end).
  void multiply_by_pieces(int64_t group, const float* points, float* to, int64_t begin, int64_t end,
                          float* buffer) const {
    const int64_t of_panel = ceil_of(s_.channels, piece_.channels);
    const auto piece_at = [&](int64_t i) -> UntransformedWeights::Piece {
      const int64_t channel = i % of_panel * piece_.channels;
      return {i / of_panel * tiles_.panel_blocks, channel, std::min(piece_.channels, s_.channels - channel)};
    };
    const RowTiles rows(used_tiles(group), tiles_.MR);
    for (int64_t i = begin * of_panel; i < end * of_panel; ++i) {
      c_.poll();
      const UntransformedWeights::Piece piece = piece_at(i);
      untransformed_.evaluate(piece, buffer, piece_.point);
      multiply_piece(piece, rows, points, to, buffer,
                     i + 1 < g_.panels() * of_panel ? piece_at(i + 1) : piece);
    }
  }
  /// The same with untransformed weights that are evaluated in registers: blocks of filters [begin, end).
  /// `buffer`: for some channels' weights, if these have 16 bits.
  void multiply_in_registers(int64_t group, const float* points, float* to, int64_t begin, int64_t end,
                             float* buffer) const {
    const int64_t tiles = used_tiles(group);
    for (int64_t block = begin; block < end; ++block) {
      c_.poll();
      for (int64_t channel = 0; channel < s_.channels; channel += channels_in_registers) {
        UntransformedTile t{.x_point = g_.in_point(),
                            .x_block = g_.tiles * channel_block,
                            .channels = std::min(channels_in_registers, s_.channels - channel),
                            .y_point = g_.out_point(),
                            .adds = channel > 0};
        t.w = untransformed_.of_block(block, channel, t.channels, t.w_channel, buffer);
        const float* const soon = untransformed_.after(
            block, channel, std::min(channels_in_registers, s_.channels), t.next_channel);
        for (int64_t row = 0; row < UntransformedTiles::points; ++row) {
          const int64_t point = row * UntransformedTiles::points, line = 2 * row;
          t.x = points + point * t.x_point + channel * g_.tiles;
          t.y = to + point * t.y_point + g_.out_block(block);
          t.next = soon && line < untransformed_.lines() ? soon + line * channel_block : nullptr;
          in_registers_.run[row][tiles](t);
        }
      }
    }
  }
  /// The same in bf16x3, for points [begin, end).
  void multiply_bf16x3(int64_t group, const float* points, float* to, int64_t begin, int64_t end,
                       float* scratch) const {
    Products p(*this);
    p.x = points, p.x_tiles = g_.tiles, p.x_point = g_.in_point();
    p.tiles = used_tiles(group);
    p.weights = weights_;
    p.y = to;
    char* const memory = reinterpret_cast<char*>(scratch);
    multiply_points(*g_.bf16x3, p, begin, end, memory + (64 - reinterpret_cast<uintptr_t>(memory) % 64) % 64,
                    c_);
  }

  /// Computes blocks [begin, end) of a group's output from its products; for tiles that are marked to be
  /// computed directly, from its pixels.
  void output(int64_t group, float* products, const TileMark* marks, int64_t begin, int64_t end) const {
    for (int64_t block = begin; block < end; ++block) {
      c_.poll();
      std::array<float, channel_block> bias{};
      const int64_t first = block * channel_block;
      if (images_.bias)
        std::copy_n(images_.bias + first, std::min(channel_block, s_.filters - first), bias.data());
      for_each_row(group, [&](int64_t image, WinogradRow row, int64_t tile) {
        const int64_t plane = (image * g_.out_blocks + block) * s_.out_pixels();
        row.bias = bias.data();
        row.y = images_.y + plane * channel_block;
        row.bounds = fused_.bounds;
        row.added = fused_.added_from(plane * channel_block);
        const TileMark* const mark = marks + tile;
        for (int64_t i = 0, next = 0; i < row.tiles; i = next) {
          // Tiles without marks are processed together.
          while (next < row.tiles && (next == i || (mark[i] == 0 && mark[next] == 0))) ++next;
          WinogradRow run = row;
          run.column = row.column + i, run.tiles = next - i;
          run.points = products + g_.out_block(block) + (tile + i) * g_.out_tile();
          run.point = g_.out_point();
          run.tile = g_.out_tile();
          if (mark[i] == 0)
            kernels_.output[form_](run);
          else if (mark[i] == direct_tile)
            compute_directly(run, image, block);
          else
            output_with_zeros(run, mark[i]);
        }
        apply_epilogue(row, plane);
      });
    }
  }

  /// Computes the products with one panel, and the output from these. `buffer`: for a piece of untransformed
  /// weights.
  void run_panel(int64_t group, const float* points, float* products, const TileMark* marks, int64_t panel,
                 float* buffer) const {
    const int64_t first = panel * g_.panel_blocks, end = std::min(first + g_.panel_blocks, g_.out_blocks);
    if (only_direct_) return output(group, products, marks, first, end);
    if (g_.evaluation == Evaluation::in_registers)
      multiply_in_registers(group, points, products, first, end, buffer);
    else if (g_.evaluation == Evaluation::by_pieces)
      multiply_by_pieces(group, points, products, panel, panel + 1, buffer);
    else
      multiply_panel(group, points, products, panel);
    output(group, products, marks, first, end);
  }

 private:
  /// Calls f(image, tiles of a row, index of the first of them in the group).
  template <class F>
  void for_each_row(int64_t group, F&& f) const {
    const int64_t begin = g_.begin(group), end = g_.begin(group + 1);
    for (int64_t i = begin, some = 0; i < end; i += some) {
      const int64_t row = i / g_.image_columns, column = i % g_.image_columns;
      some = std::min(g_.image_columns - column, end - i);
      f(row / g_.image_rows,
        WinogradRow{.shape = &s_, .row = row % g_.image_rows, .column = column, .tiles = some}, i - begin);
    }
  }
  /// The weights at a point, of the panel that begins with block `first`.
  const float* weights_at(int64_t point, int64_t first) const {
    return weights_ + point * weights_point_ + first * channel_block * s_.channels;
  }
  const float* weights_of(int64_t product) const {
    return weights_at(product / g_.panels(), product % g_.panels() * g_.panel_blocks);
  }
  /// Multiplies one point with one panel; prefetches weights from `next` on.
  void multiply(int64_t point, int64_t panel, const float* next, const RowTiles& rows, const float* points,
                float* to) const {
    const int64_t first = panel * g_.panel_blocks, blocks = std::min(g_.panel_blocks, g_.out_blocks - first);
    const auto& kernels = tiles_.of(channel_block, blocks);
    BlockedTile t = product(weights_at(point, first), s_.channels, g_.tiles * channel_block);
    if (next && s_.channels * s_.filters * g_.points > fetched_weights)
      t.fetch(next, blocks * channel_block * s_.channels, rows.count());
    for (int64_t j = 0; j < rows.count(); ++j) {
      t.x = points + point * g_.in_point() + rows.begin(j) * channel_block;
      t.y = to + point * g_.out_point() + g_.out_block(first) + rows.begin(j) * channel_block;
      kernels[rows.rows(j)](t);
      t.fetched();
    }
  }
  /// A tile for the products of `channels` channels, at one point with one panel.
  BlockedTile product(const float* weights, int64_t channels, int64_t y_block) const {
    const int64_t left = channels % channel_block;
    return {.steps = steps_,
            .count = channels / channel_block,
            .depth = channel_block,
            .last_count = left ? 1 : 0,
            .last_depth = left,
            .stride = channel_block,
            .w = weights,
            .y_block = y_block};
  }
  /// Adds the products of a piece of untransformed weights, and prefetches the next one.
  void multiply_piece(const UntransformedWeights::Piece& piece, const RowTiles& rows, const float* points,
                      float* to, const float* weights, const UntransformedWeights::Piece& next) const {
    const auto& kernels =
        tiles_.of(channel_block, std::min(tiles_.panel_blocks, g_.out_blocks - piece.first));
    BlockedTile t = product(weights, piece.n, g_.tiles * channel_block);
    t.adds = piece.channel > 0;
    t.fetch(untransformed_.at(next), untransformed_.floats(next), g_.points * rows.count());
    for (int64_t point = 0; point < g_.points; ++point)
      for (int64_t row = 0; row < rows.count(); ++row) {
        const int64_t tile = rows.begin(row) * channel_block;
        t.x = points + point * g_.in_point() + piece.channel * g_.tiles + tile;
        t.y = to + point * g_.out_point() + g_.out_block(piece.first) + tile;
        t.w = weights + point * piece_.point;
        kernels[rows.rows(row)](t);
        t.fetched();
      }
  }
  struct Products final : PointProducts {
    explicit Products(const Winograd& of) : w(of) {}
    void multiply_in_float32(int64_t point, int64_t panel, int64_t tile) const override {
      const int64_t first = panel * bf16x3_panel_blocks;
      BlockedTile t = w.product(w.weights_at(point, first), w.s_.channels, channel_block);
      t.x = x + point * x_point + tile * channel_block;
      t.y = y + point * w.g_.out_point() + w.g_.out_block(first) + tile * bf16x3_panel_filters;
      w.tiles_.of(channel_block, std::min(bf16x3_panel_blocks, w.g_.out_blocks - first))[1](t);
    }
    const Winograd& w;
  };
  int64_t used_tiles(int64_t group) const { return g_.begin(group + 1) - g_.begin(group); }

  /// Writes one tile, some windows of which hold only zeros: their outputs are bias and addend.
  void output_with_zeros(const WinogradRow& row, TileMark zeros) const {
    std::array<std::array<float, channel_block>, max_outputs> known;
    const int64_t first = row.row * output_ * s_.out[1] + row.column * output_;
    const auto place = [&](int64_t i) {
      return (first + i / output_ * s_.out[1] + i % output_) * channel_block;
    };
    const auto is_known = [&](int64_t i) { return (zeros >> i & 1) != 0; };
    // These are computed first, since the addend may be in the same memory.
    for (int64_t i = 0; i < output_ * output_; ++i)
      for (int64_t lane = 0; is_known(i) && lane < channel_block; ++lane) {
        const float added = row.added ? row.added[place(i) + lane] : 0.0f, sum = row.bias[lane] + added;
        known[static_cast<size_t>(i)][static_cast<size_t>(lane)] = sum < row.bounds.least ? row.bounds.least
                                                                   : sum > row.bounds.greatest
                                                                       ? row.bounds.greatest
                                                                       : sum;
      }
    kernels_.output[form_](row);
    for (int64_t i = 0; i < output_ * output_; ++i)
      if (is_known(i)) std::ranges::copy(known[static_cast<size_t>(i)], row.y + place(i));
  }

  /// Computes some tiles of a row, for one block of filters. Not inlined, since its sums and weights take
  /// some of the stack.
  __attribute__((noinline)) void compute_directly(WinogradRow row, int64_t image, int64_t block) const {
    alignas(64) float sums[max_outputs * channel_block], buffer[channel_block * max_taps * channel_block];
    const int64_t plane = s_.in_pixels() * channel_block;
    const int64_t end = row.column + row.tiles;
    row.points = sums, row.point = channel_block;
    for (; row.column < end; ++row.column) {
      c_.poll();
      std::fill(std::begin(sums), std::end(sums), 0.0f);
      DirectTile t{
          .shape = &s_, .row = row.row, .column = row.column, .large_weights = only_direct_, .sums = sums};
      for (int64_t channel = 0; channel < s_.channels; channel += channel_block) {
        t.x = images_.x + (image * g_.in_blocks + channel / channel_block) * plane;
        t.channels = std::min(channel_block, s_.channels - channel);
        t.w = untransformed_.of_block(block, channel, t.channels, t.w_channel, buffer);
        kernels_.add_direct[form_](t);
      }
      kernels_.store_direct[form_](row);
    }
  }

  void apply_epilogue(const WinogradRow& row, int64_t plane) const {
    Epilogue* const e = fused_.epilogue;
    if (!e) return;
    const int64_t y0 = row.row * output_, y1 = std::min(y0 + output_, s_.out[0]);
    const int64_t x0 = row.column * output_, x1 = std::min(x0 + row.tiles * output_, s_.out[1]);
    if (x0 == 0 && x1 == s_.out[1])
      return e->apply((plane + y0 * s_.out[1]) * channel_block, (y1 - y0) * s_.out[1] * channel_block);
    for (int64_t y = y0; y < y1; ++y)
      e->apply((plane + y * s_.out[1] + x0) * channel_block, (x1 - x0) * channel_block);
  }

  const BlockedShape& s_;
  const int64_t output_;
  const size_t form_;
  const BlockedImages& images_;
  const float* weights_;
  const UntransformedWeights untransformed_;
  const bool only_direct_;
  const UntransformedPiece piece_;
  const UntransformedTiles& in_registers_;
  const int64_t* steps_;
  KernelContext& c_;
  const FusedBiasActivation fused_{c_.epilogue(), s_.out_floats()};
  const WinogradGroups& g_;
  const int64_t weights_point_ = g_.weights_point(s_);
  const WinogradKernels& kernels_;
  const BlockedTiles& tiles_;
};

}  // namespace

bool fits_winograd(const BlockedShape& s, Filtering f) {
  bool fits = !s.nchw;
  for (int a : {0, 1}) fits = fits && s.kernel[a] == f.taps && s.stride[a] == 1 && s.dilation[a] == 1;
  return fits;
}

Filtering fastest_winograd(Isa isa, const BlockedShape& s) {
  Filtering best;
  for (Filtering f : filterings) {
    const int64_t min_channels = f.taps == 5 ? 8 : 16;
    if (!fits_winograd(s, f) || std::min(s.channels, s.filters) < min_channels) continue;
    // With 25 taps, transforming a block of channels takes as long as is saved at six of them, or at three if
    // AVX-512 is executed in halves (measured there with MNIST's: 11.4 us, 7.8 with Winograd).
    const int64_t saved_at = isa == Isa::avx512 && cpu_features().avx512_halved ? 3 : 6;
    if (f.taps == 5 && s.channels * s.out_blocks() < saved_at * (s.in_blocks() + s.out_blocks())) continue;
    best.taps = f.taps;
    if (cost(isa, s, f) < cost(isa, s, best)) best = f;
  }
  // Direct convolution in bf16x3 computes more products in that time: it is faster if there are few tiles,
  // and their weights come from memory.
  if (best.output > 0 && uses_bf16x3(isa, s)) {
    const auto weights = static_cast<double>(s.channels * s.filters);
    const bool fetched = best.points() * weights > cached_points;
    const double each = best.taps == 5 ? 0.011
                        : fetched      ? 0.0155
                                       : 0.0135,
                 least = fetched ? 0.36 * best.points() : 0;  // nanoseconds that weights take from memory
    const WinogradGroups g(isa, s, best, false);
    const double saved = g.bf16x3 ? g.saved * static_cast<double>(s.batch) : 0;
    if (bf16x3_time(s) < std::max(each * cost(isa, s, best) * weights - saved, least * weights)) return {};
  }
  return best;
}

bool prefers_untransformed(Isa isa, const BlockedShape& s, Filtering f) {
  // Their savings in loading and memory are worth a little time, if they are large.
  constexpr int64_t held = int64_t{1} << 20;
  constexpr double worth = 1.25;
  if (fits_bf16x3(isa, s)) return false;
  const int64_t tiles = ceil_of(s.out[0], f.output) * ceil_of(s.out[1], f.output);
  if (fits_registers(isa, f, s.batch * tiles)) return true;
  const WinogradCost c(isa, s, f);
  return tiles <= many_tiles && winograd_points_size(s, f) > held && c.untransformed < worth * c.at_points;
}

namespace {

/// The parts of a convolution's scratch, in floats: slots, each for a group's points and products, for parts,
/// for a piece of untransformed weights, and for a mark of each tile; then the data that all threads read.
struct Scratch {
  Scratch(Isa isa, const BlockedShape& s, Filtering f, const WinogradGroups& g, int threads)
      : group(g.floats()),
        part(bf16x3_floats(g)),
        marks(group + part + piece_floats(isa, s, f, g)),
        stride(slot_stride(marks + ceil_of(g.tiles, line) * line, threads)),
        slots(std::max(slots_of(g, threads), bf16x3_slots(g, threads)) * stride),
        steps(steps_size(s)),
        evaluated(g.evaluation == Evaluation::at_once ? g.points * g.weights_point(s) : 0) {}
  int64_t floats() const { return slots + steps + evaluated; }

  /// The marks of a slot's group.
  TileMark* marks_of(float* slot) const { return reinterpret_cast<TileMark*>(slot + marks); }

  int64_t group, part;  // `part`: of a thread's parts
  int64_t marks;        // where they begin
  int64_t stride, slots, steps, evaluated;

 private:
  static constexpr int64_t line = 16;
  static_assert(sizeof(TileMark) == sizeof(float));

  static int64_t piece_floats(Isa isa, const BlockedShape& s, Filtering f, const WinogradGroups& g) {
    if (g.evaluation == Evaluation::by_pieces) return UntransformedPiece(isa, s, f).floats;
    return g.evaluation == Evaluation::in_registers ? channels_in_registers * s.taps() * channel_block : 0;
  }
};

}  // namespace

size_t winograd_workspace(Isa isa, const BlockedShape& s, Filtering f, bool untransformed, int threads) {
  if (s.empty()) return 0;
  return static_cast<size_t>(
             Scratch(isa, s, f, WinogradGroups(isa, s, f, untransformed, threads), threads).floats()) *
         sizeof(float);
}

void winograd_convolution(Isa isa, const BlockedShape& s, Filtering f, bool untransformed,
                          const BlockedImages& packed, void* workspace, KernelContext& c) {
  if (s.empty()) return;
  const WinogradGroups g(isa, s, f, untransformed, c.threads());
  const Scratch sizes(isa, s, f, g, c.threads());
  float* const scratch = static_cast<float*>(workspace);
  auto* const steps = reinterpret_cast<int64_t*>(scratch + sizes.slots);
  float* const evaluated = scratch + sizes.slots + sizes.steps;
  for (int64_t i = 0; i < g.in_blocks; ++i) steps[i] = i * g.tiles * channel_block;
  const BlockedImages images = select_untransformed_weights(s, f, untransformed, packed);
  if (sizes.evaluated > 0)
    UntransformedWeights(isa, s, f, images).evaluate_all(evaluated, g.weights_point(s), c);
  const float* const weights = g.evaluation == Evaluation::none ? static_cast<const float*>(packed.weights)
                               : sizes.evaluated > 0            ? evaluated
                                                                : nullptr;
  const Winograd w(isa, s, f, images, weights, steps, g, c);
  const bool at_points = !w.only_direct();
  const int64_t in_floats = g.points * g.in_point();

  const int64_t apart = groups_apart(g, c.threads());
  for_each_task(c, apart, [&](int64_t group, int64_t slot) {
    float *const in = scratch + slot * sizes.stride, *const out = in + in_floats;
    TileMark* const marks = sizes.marks_of(in);
    w.look(group, marks);
    if (at_points) w.input(group, in, 0, g.in_blocks);
    if (g.by_panels) {
      for (int64_t panel = 0; panel < g.panels(); ++panel)
        w.run_panel(group, in, out, marks, panel, in + sizes.group + sizes.part);
      return;
    }
    if (at_points && g.bf16x3)
      w.multiply_bf16x3(group, in, out, 0, g.points, in + sizes.group);
    else if (at_points)
      w.multiply(group, in, out, 0, w.products());
    w.output(group, out, marks, 0, g.out_blocks);
  });
  for (int64_t group = apart; group < g.count; ++group) {
    if (g.by_panels) {
      const int64_t slots = task_slots(g.panels(), c.threads());
      Shares panels(g.panels(), slots);
      c.parallel(slots, 1, [&](int64_t begin, int64_t end) {
        for (int64_t slot = begin; slot < end; ++slot) {
          float* const in = scratch + slot * sizes.stride;
          TileMark* const marks = sizes.marks_of(in);
          Shares::Walk walk(panels, slot);
          int64_t panel = walk.next();
          if (panel >= 0) w.look(group, marks);
          if (panel >= 0 && at_points) w.input(group, in, 0, g.in_blocks);
          for (; panel >= 0; panel = walk.next())
            w.run_panel(group, in, in + in_floats, marks, panel, in + sizes.group + sizes.part);
        }
      });
      continue;
    }
    float* const out = scratch + in_floats;
    TileMark* const marks = sizes.marks_of(scratch);
    // Some threads mark tiles, in some rows of tiles each; the others evaluate input.
    const int64_t looks = c.threads(), blocks = at_points ? g.in_blocks : 0;
    c.parallel(looks + blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < std::min(end, looks); ++i) w.look(group, marks, i, looks);
      if (end > looks) w.input(group, scratch, std::max<int64_t>(begin - looks, 0), end - looks);
    });
    if (at_points && g.bf16x3) {
      const int64_t slots = task_slots(g.points, c.threads());
      for_each_task(c, slots, [&](int64_t slot, int64_t) {
        w.multiply_bf16x3(group, scratch, out, slot * g.points / slots, (slot + 1) * g.points / slots,
                          scratch + slot * sizes.stride + sizes.group);
      });
    } else if (at_points) {
      c.parallel(w.products(), 4,
                 [&](int64_t begin, int64_t end) { w.multiply(group, scratch, out, begin, end); });
    }
    c.parallel(g.out_blocks, 1, [&](int64_t begin, int64_t end) { w.output(group, out, marks, begin, end); });
  }
}

}  // namespace lathe::cpu
