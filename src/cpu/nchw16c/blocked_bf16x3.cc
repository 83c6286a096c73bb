// Direct convolution in bf16x3. A strip of the image is copied and split, then multiplied with one piece of a
// panel of weights after the other: values for the next tile and the next piece are split alongside the
// products of the current ones.
//
// Pixels that read values which cannot be split, and panels of weights that contain any, are computed again
// in float32. So bits depend neither on how the work is divided nor on what else is in the batch.
#include "cpu/nchw16c/blocked_bf16x3.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "cpu/nchw16c/bf16x3_weights.h"
#include "cpu/nchw16c/blocked_bf16x3_cut.h"
#include "cpu/nchw16c/blocked_epilogue.h"
#include "cpu/simd/amx.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// Multiplications between two polls.
constexpr int64_t polled_work = int64_t{1} << 22;
/// More weights do not stay in the second-level cache.
constexpr int64_t many_weights = int64_t{1} << 19;

/// One strip of one image, and the memory of the thread that computes it.
struct Strip {
  const float* x;
  float* y;
  int64_t row0, row1, column0, column1;
  char *copy, *weights[2];
  float* sums;
  uint8_t *pixel_flags, *flags;  // by pixel of the copy, and by pixel of the output
  float* floats;

  int64_t rows() const { return row1 - row0; }
  int64_t columns() const { return column1 - column0; }
};

/// Splits some pairs of blocks of a strip's input, row after row of the copy.
class InputSource final : public Bf16x3Source {
 public:
  InputSource(const Bf16x3Division& d, const Strip& strip, int64_t pair0, int64_t pair1)
      : d_(d), strip_(strip), pair0_(pair0), pair1_(pair1), pair_(pair0) {
    for (int64_t j = 0; j < d.x.count; ++j)
      across_ += d.x.inside(j, strip.column0, d.copy_row).size() * (pair1 - pair0);
    left = before(d.copy_rows);
  }

  /// The vectors of the first `rows` rows of the copy.
  int64_t before(int64_t rows) const {
    int64_t n = 0;
    for (int64_t i = 0; i < d_.y.count; ++i) n += d_.y.inside(i, strip_.row0, rows).size();
    return n * across_;
  }

  void next() override {
    for (;;) {
      const bool there = fill();
      if (++pair_ == pair1_) {
        pair_ = pair0_;
        if (++plane_ == d_.planes) plane_ = 0, ++row_;
      }
      if (there) return;
    }
  }

 private:
  bool fill() {
    const BlockedShape& s = d_.s;
    const auto ys = d_.y.inside(plane_ / d_.x.count, strip_.row0, d_.copy_rows),
               xs = d_.x.inside(plane_ % d_.x.count, strip_.column0, d_.copy_row);
    if (row_ < ys.begin || row_ >= ys.end || xs.size() == 0) return false;
    const int64_t y = ys.at + (row_ - ys.begin) * d_.y.step, plane = s.in_pixels() * channel_block;
    const int64_t block = 2 * pair_, channels = s.channels - block * channel_block;
    run.low = strip_.x + block * plane + (y * s.in[1] + xs.at) * channel_block;
    run.high = channels > channel_block ? run.low + plane : run.low;
    run.lows = lanes(channels);
    run.highs = lanes(channels - channel_block);
    run.stride = d_.x.step * channel_block;
    run.count = xs.size();
    run.to = strip_.copy + pair_ * d_.pair_size() +
             ((plane_ * d_.copy_rows + row_) * d_.copy_row + xs.begin) * bf16x3_pixel;
    run.to_stride = bf16x3_pixel;
    run.part = part_pixel;
    run.ahead = pair_ + 2 < pair1_ ? 2 * plane : 0;
    return true;
  }

  const Bf16x3Division& d_;
  const Strip& strip_;
  int64_t pair0_, pair1_, across_ = 0;
  int64_t row_ = 0, plane_ = 0, pair_;
};

/// Splits a panel of weights for NCHW images: for each row of the window, eight pixels with two pairs of
/// channels each.
class NchwWeightsSource final : public Bf16x3Source {
 public:
  NchwWeightsSource(const BlockedShape& s, const float* from, int64_t blocks, char* to)
      : s_(s), from_(from), width_(blocks * channel_block), to_(to) {
    left = s.kernel[0] * channel_block * blocks;
    run.stride = channel_block;
    run.to_stride = part_pixel;
    run.part = part_weights / part_count;
  }

  void next() override {
    const int64_t column = pair_ / 2, channel = pair_ % 2 * 2;
    const auto there = [&](int64_t c) { return column < s_.kernel[1] && c < s_.channels; };
    const auto at = [&](int64_t c) {
      return there(c) ? from_ + (c * s_.taps() + row_ * s_.kernel[1] + column) * width_ : from_;
    };
    run.low = at(channel), run.high = at(channel + 1);
    run.lows = lanes(there(channel) ? channel_block : 0);
    run.highs = lanes(there(channel + 1) ? channel_block : 0);
    run.count = width_ / channel_block;
    run.to = to_ + row_ * part_weights + pair_ * 2 * part_pixel;
    if (++pair_ == channel_block) pair_ = 0, ++row_;
  }

 private:
  const BlockedShape& s_;
  const float* from_;
  int64_t width_;
  int64_t row_ = 0, pair_ = 0;
  char* to_;
};

/// Computes some panels of a strip.
class Bf16x3Task {
 public:
  Bf16x3Task(const Bf16x3Division& d, Isa isa, const BlockedImages& images, const int64_t* offsets,
             const FusedActivation& fused, KernelContext& c, const Strip& strip, int64_t image)
      : d_(d),
        s_(d.s),
        isa_(isa),
        images_(images),
        offsets_(offsets),
        fused_(fused),
        c_(c),
        strip_(strip),
        image_(image),
        pixels_((strip.rows() - 1) * d.copy_row + strip.columns()) {}

  void compute(int64_t panel0, int64_t panel1) {
    clear_border();
    const int64_t pieces = d_.pieces(), units = (panel1 - panel0) * pieces;
    if (s_.nchw) split_nchw();
    Weights weights;
    begin(weights, panel0, 0, 0);
    kernels_.split(*weights.source, weights.source->left);
    bool wrong = any_wrong(*weights.source);
    for (int64_t unit = 0; unit < units; ++unit) {
      const int64_t panel = panel0 + unit / pieces, piece = unit % pieces;
      std::optional<InputSource> input;
      if (panel == panel0 && !s_.nchw) input.emplace(d_, strip_, first_pair(piece), first_pair(piece + 1));
      weights.clear();
      if (unit + 1 < units) begin(weights, panel0 + (unit + 1) / pieces, (unit + 1) % pieces, (unit + 1) % 2);
      PixelEpilogue pixel_epilogue(fused_.epilogue, s_.out_pixels(),
                                   image_ * s_.out_blocks() + panel * bf16x3_panel_blocks, blocks(panel),
                                   output_pixel(0));
      multiply(panel, piece, strip_.weights[unit % 2], input ? &*input : nullptr, weights.source,
               wrong || wrong_input_ ? nullptr : &pixel_epilogue);
      wrong_input_ = wrong_input_ || (input && any_wrong(*input));
      if (piece + 1 == pieces) {
        if (panel == panel0 && wrong_input_) flag();
        if (wrong || wrong_input_) compute_in_float32(panel, wrong);
        pixel_epilogue.end(output_pixel(pixels_) - output_pixel(0));
        wrong = false;
      }
      wrong = wrong || (weights.source && any_wrong(*weights.source));
    }
  }

 private:
  int64_t first_pair(int64_t piece) const { return std::min(piece * d_.piece, d_.pairs); }
  int64_t blocks(int64_t panel) const {
    return std::min(bf16x3_panel_blocks, s_.out_blocks() - panel * bf16x3_panel_blocks);
  }
  /// The weights of some channels of a panel as float32. The pointer is that of the panel's first channel.
  const float* floats(int64_t panel, int64_t channel0, int64_t channel1) const {
    const int64_t width = blocks(panel) * channel_block * s_.taps(),
                  first = panel * bf16x3_panel_filters * s_.taps() * s_.channels;
    return widened(isa_, images_.weights_type, images_.weights, first + channel0 * width,
                   (channel1 - channel0) * width, strip_.floats + channel0 * width) -
           channel0 * width;
  }
  /// The weights of the next piece.
  struct Weights {
    std::optional<WeightsSource> blocked;
    std::optional<NchwWeightsSource> nchw;
    Bf16x3Source* source = nullptr;

    void clear() {
      blocked.reset(), nchw.reset();
      source = nullptr;
    }
  };
  void begin(Weights& weights, int64_t panel, int64_t piece, int64_t place) const {
    char* const to = strip_.weights[place];
    if (s_.nchw) {
      weights.source = &weights.nchw.emplace(s_, floats(panel, 0, s_.channels), blocks(panel), to);
      return;
    }
    const int64_t pair0 = first_pair(piece), pair1 = first_pair(piece + 1);
    const float* const from =
        floats(panel, pair0 * 2 * channel_block, std::min(pair1 * 2 * channel_block, s_.channels));
    weights.source = &weights.blocked.emplace(s_.channels, s_.taps(), from, blocks(panel), pair0, pair1, to);
  }

  /// The places of one row of the copy that are inside a NCHW image, in pixels of the image.
  Phases::Inside nchw_columns() const {
    const int64_t at = strip_.column0 * s_.stride[1] - s_.pad[1], places = d_.copy_row * s_.stride[1];
    const int64_t begin = std::clamp<int64_t>(-at, 0, places),
                  end = std::clamp<int64_t>(s_.in[1] - at, begin, places);
    return {begin, end, at + begin};
  }
  void split_nchw() {
    const auto xs = nchw_columns();
    for (int64_t i = 0; i < d_.y.count; ++i) {
      const auto ys = d_.y.inside(i, strip_.row0, d_.copy_rows);
      for (int64_t row = ys.begin; row < ys.end; ++row) {
        NchwBf16x3Row r{.pixels = xs.size(), .part = d_.part()};
        r.to = strip_.copy + (i * d_.copy_rows + row) * d_.copy_row * d_.row() + xs.begin * nchw_pixel;
        const int64_t y = ys.at + (row - ys.begin) * d_.y.step;
        for (int64_t c = 0; c < s_.channels; ++c)
          r.channel[c] = strip_.x + (c * s_.in[0] + y) * s_.in[1] + xs.at;
        wrong_input_ = kernels_.split_nchw(r) || wrong_input_;
      }
    }
  }

  /// Writes the zeros around the image.
  void clear_border() const {
    if (s_.nchw) return std::fill_n(strip_.copy, d_.pair_size(), char{0}), void();
    const auto clear = [](char* to, int64_t pixels) { std::fill_n(to, pixels * bf16x3_pixel, char{0}); };
    char* to = strip_.copy;
    for (int64_t pair = 0; pair < d_.pairs; ++pair)
      for (int64_t i = 0; i < d_.y.count; ++i)
        for (int64_t j = 0; j < d_.x.count; ++j) {
          const auto ys = d_.y.inside(i, strip_.row0, d_.copy_rows),
                     xs = d_.x.inside(j, strip_.column0, d_.copy_row);
          for (int64_t row = 0; row < d_.copy_rows; ++row, to += d_.copy_row * bf16x3_pixel) {
            if (row < ys.begin || row >= ys.end) {
              clear(to, d_.copy_row);
              continue;
            }
            clear(to, xs.begin);
            clear(to + xs.end * bf16x3_pixel, d_.copy_row - xs.end);
          }
        }
  }

  /// Computes all tiles with one piece of one panel, and splits the sources, if there are any, alongside to
  /// their end. Reports finished pixels to the epilogue as long as all that they read could be split.
  void multiply(int64_t panel, int64_t piece, const char* weights, InputSource* input, Bf16x3Source* next,
                PixelEpilogue* pixel_epilogue) {
    const int64_t tiles = ceil_of(pixels_, max_tiled_rows);
    const bool last = piece + 1 == d_.pieces();
    Bf16x3Tile tile{.offsets = offsets_,
                    .steps = (first_pair(piece + 1) - first_pair(piece)) * d_.taps,
                    .row = d_.row(),
                    .part = d_.part(),
                    .w = weights,
                    .adds = piece > 0,
                    .split_meanwhile = {input, next}};
    const int64_t polled_tiles = 1 + polled_work / (tile.steps * 2 * channel_block * d_.tile_sums);
    const char* const copy = strip_.copy + first_pair(piece) * d_.pair_size();
    for (int64_t i = 0; i < tiles; ++i) {
      if (i % polled_tiles == 0) c_.poll();
      const int64_t begin = i * max_tiled_rows, rows = std::min<int64_t>(pixels_ - begin, max_tiled_rows);
      if (input) {
        kernels_.split(*input, wanted(*input, i));
        tile.rate[0] = ceil_of(wanted(*input, i + 1), tile.steps);
      }
      if (next) tile.rate[1] = ceil_of(next->left, tile.steps * (tiles - i));
      registers_.set(rows);
      tile.upper_rows = upper_rows(rows);
      tile.upper = copy + begin * d_.row();
      tile.lower = tile.upper + tile.upper_rows * d_.row();
      tile.sums = sums(i);
      kernels_.tile[rows > tile.upper_rows][blocks(panel) > 1](tile);
      // Stores the tile before, whose sums are complete.
      if (last && i > 0) apply_epilogue(panel, i - 1);
      if (last && pixel_epilogue && !(input && any_wrong(*input)))
        pixel_epilogue->reach(output_pixel(i * max_tiled_rows) - output_pixel(0));
    }
    if (last) apply_epilogue(panel, tiles - 1);
    if (input) kernels_.split(*input, input->left);
    if (next) kernels_.split(*next, next->left);
  }
  /// The vectors that must still be split before a tile can be computed.
  int64_t wanted(const InputSource& input, int64_t tile) const {
    const int64_t end = std::min((tile + 1) * max_tiled_rows, pixels_);
    const int64_t rows = std::min((end - 1) / d_.copy_row + 1 + d_.y.further, d_.copy_rows);
    return std::max<int64_t>(0, input.before(rows) - (input.before(d_.copy_rows) - input.left));
  }
  float* sums(int64_t tile) const {
    return strip_.sums + (d_.pieces() > 1 ? tile : tile % 2) * Bf16x3Division::tile_sums;
  }

  Bf16x3Sums leaving(int64_t panel, std::array<float, bf16x3_panel_filters>& bias) const {
    const int64_t first = panel * bf16x3_panel_filters;
    if (images_.bias)
      std::copy_n(images_.bias + first, std::min(bf16x3_panel_filters, s_.filters - first), bias.data());
    return {.blocks = blocks(panel),
            .bias = bias.data(),
            .bounds = fused_.bounds,
            .y = strip_.y + first * s_.out_pixels(),
            .y_block = s_.out_pixels() * channel_block};
  }
  /// Stores those sums of a tile that belong to the output.
  void apply_epilogue(int64_t panel, int64_t tile) const {
    std::array<float, bf16x3_panel_filters> bias{};
    Bf16x3Sums out = leaving(panel, bias);
    out.sums = sums(tile);
    float* const y = out.y;
    const int64_t begin = tile * max_tiled_rows;
    int64_t pixels = std::min<int64_t>(pixels_ - begin, max_tiled_rows);
    for (int64_t row = begin / d_.copy_row, column = begin % d_.copy_row; pixels > 0; ++row, column = 0) {
      const int64_t there = std::min(d_.copy_row - column, pixels);
      out.pixels = std::min(there, strip_.columns() - column);
      out.y = y + ((strip_.row0 + row) * s_.out[1] + strip_.column0 + column) * channel_block;
      if (out.pixels > 0) kernels_.epilogue(out);
      out.sums += there * bf16x3_panel_filters;
      pixels -= there;
    }
  }

  /// The output pixel of a computed pixel, or the next one if it has none.
  int64_t output_pixel(int64_t computed) const {
    const int64_t row = std::min(computed / d_.copy_row, strip_.rows() - 1),
                  column = std::min(computed - row * d_.copy_row, strip_.columns());
    return (strip_.row0 + row) * s_.out[1] + strip_.column0 + column;
  }

  /// Flags the pixels of the output that read values which cannot be split.
  void flag() const {
    std::fill_n(strip_.pixel_flags, d_.copy_pixels(), uint8_t{0});
    uint8_t* to = strip_.pixel_flags;
    for (int64_t i = 0; i < d_.y.count; ++i)
      for (int64_t j = 0; j < d_.x.count; ++j) {
        const auto ys = d_.y.inside(i, strip_.row0, d_.copy_rows);
        const auto xs = s_.nchw ? nchw_columns() : d_.x.inside(j, strip_.column0, d_.copy_row);
        for (int64_t row = 0; row < d_.copy_rows; ++row, to += d_.copy_row) {
          if (row < ys.begin || row >= ys.end) continue;
          const int64_t y = (ys.at + (row - ys.begin) * d_.y.step) * s_.in[1];
          for (int64_t p = 0; p < xs.size(); ++p)
            if (s_.nchw)
              to[(xs.begin + p) / d_.x.step] |= has_unsplittable(y + xs.at + p);
            else
              to[xs.begin + p] = has_unsplittable(y + xs.at + p * d_.x.step);
        }
      }
    to = strip_.flags;
    // In NCHW images tiles read all pixels of a step, even if weights are 0.
    const int64_t columns = s_.nchw ? d_.x.further + 1 : s_.kernel[1];
    for (int64_t row = 0; row < strip_.rows(); ++row)
      for (int64_t column = 0; column < strip_.columns(); ++column, ++to) {
        const uint8_t* const pixel = strip_.pixel_flags + row * d_.copy_row + column;
        *to = 0;
        for (int64_t i = 0; i < s_.kernel[0]; ++i)
          for (int64_t j = 0; j < columns; ++j)
            *to |= pixel[s_.nchw ? d_.distance(i, 0) + j : d_.distance(i, j)];
      }
  }
  /// Returns whether any channel of a pixel cannot be split.
  bool has_unsplittable(int64_t pixel) const {
    const int64_t pixels = s_.in_pixels();
    for (int64_t c = 0; c < s_.channels; ++c) {
      const int64_t place = (c / channel_block * pixels + pixel) * channel_block + c % channel_block;
      if (!can_split(strip_.x[s_.nchw ? c * pixels + pixel : place])) return true;
    }
    return false;
  }

  /// Computes the flagged pixels, or all, in float32.
  void compute_in_float32(int64_t panel, bool all) const {
    const float* const weights = floats(panel, 0, s_.channels);
    std::array<float, bf16x3_panel_filters> bias{};
    Bf16x3Sums out = leaving(panel, bias);
    float* const y = out.y;
    const uint8_t* flag = strip_.flags;
    out.pixels = 1;
    for (int64_t row = strip_.row0; row < strip_.row1; ++row)
      for (int64_t column = strip_.column0; column < strip_.column1; ++column, ++flag) {
        if (!all && !*flag) continue;
        c_.poll();
        std::array<float, bf16x3_panel_filters> sum{};
        add_in_float32(row, column, weights, blocks(panel) * channel_block, sum.data());
        out.sums = sum.data();
        out.y = y + (row * s_.out[1] + column) * channel_block;
        kernels_.epilogue(out);
      }
  }
  void add_in_float32(int64_t row, int64_t column, const float* weights, int64_t width, float* sum) const {
    const int64_t taps = s_.taps(), block = s_.nchw ? 1 : channel_block;
    for (int64_t channel = 0; channel < s_.channels; channel += block) {
      const int64_t n = std::min(block, s_.channels - channel);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t i = row * s_.stride[0] - s_.pad[0] + tap / s_.kernel[1] * s_.dilation[0],
                      j = column * s_.stride[1] - s_.pad[1] + tap % s_.kernel[1] * s_.dilation[1];
        if (i < 0 || i >= s_.in[0] || j < 0 || j >= s_.in[1]) continue;
        kernels_.add_terms(strip_.x + channel * s_.in_pixels() + (i * s_.in[1] + j) * block, n,
                           weights + (channel * taps + tap * n) * width, width, sum);
      }
    }
  }

  const Bf16x3Division& d_;
  const BlockedShape& s_;
  const Isa isa_;
  const BlockedImages& images_;
  const int64_t* offsets_;
  const FusedActivation& fused_;
  KernelContext& c_;
  const Strip& strip_;
  const int64_t image_;
  const int64_t pixels_;  // computed pixels, including those between rows
  const Bf16x3Kernels& kernels_ = bf16x3_kernels();
  TileRegisters registers_;
  bool wrong_input_ = false;
};

}  // namespace

bool fits_bf16x3(Isa isa, const BlockedShape& s) {
  // The weights of two blocks for all taps are split at once.
  constexpr int64_t max_taps = 256;
  if (s.taps() > max_taps) return false;
  if (s.nchw && (s.channels > nchw_channels || s.kernel[1] > nchw_pixels || s.dilation[1] > 1)) return false;
  return isa == Isa::avx512 && s.sets == 1 && s.merged == 1 && !s.bf16_dot2 && !s.scaled && !s.empty() &&
         s.channels > 0 && uses_amx() && cpu_features().amx_bf16;
}

double bf16x3_time(const BlockedShape& s) {
  // Nanoseconds for 16 pixels times a step, for splitting two blocks of a pixel, for splitting a step's
  // weights, and for a pixel's sums.
  constexpr double tile = 70, split_pixel = 9.5, split_weights = 170, sums = 2.7;
  const Bf16x3Division d(s, 1);
  const double panels = 0.5 * static_cast<double>(s.out_blocks());
  const double steps = static_cast<double>(d.pairs * d.taps) * panels;
  const auto tiles = static_cast<double>(ceil_of((d.rows - 1) * d.copy_row + d.columns, max_tiled_rows / 2));
  return static_cast<double>(s.batch * d.strips()) *
         (steps * (tiles * tile + split_weights) +
          static_cast<double>(d.pairs * d.copy_pixels()) * split_pixel +
          static_cast<double>(d.rows * d.columns) * panels * sums);
}

bool uses_bf16x3(Isa isa, const BlockedShape& shape) {
  if (!fits_bf16x3(isa, shape)) return false;
  BlockedShape s = shape;
  s.batch = 1;
  // AVX-512 skips half of the last block if it has no filters, and waits for weights if there are many.
  const int64_t filters = ceil_of(s.filters, channel_block / 2) * channel_block / 2,
                weights = s.channels * s.taps() * filters;
  const double in_a_nanosecond = weights > many_weights ? 88 : 100;
  return bf16x3_time(s) <
         0.95 * static_cast<double>(s.out_pixels()) * static_cast<double>(weights) / in_a_nanosecond;
}

size_t bf16x3_workspace(const BlockedShape& s, bool f16, int threads) {
  const Bf16x3Division d(s, threads);
  // 64 more bytes, so that memory can begin with a line.
  return static_cast<size_t>(64 + d.steps_size() + task_slots(d.tasks(), threads) * d.slot(f16));
}

void bf16x3_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                        KernelContext& c) {
  const Bf16x3Division d(s, c.threads());
  const FusedActivation fused(c.epilogue());
  char* const memory =
      static_cast<char*>(workspace) + (64 - reinterpret_cast<uintptr_t>(workspace) % 64) % 64;
  auto* const offsets = reinterpret_cast<int64_t*>(memory);
  d.fill(offsets);
  const bool f16 = images.weights_type != DataType::float32;
  for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) {
    const int64_t group = task % d.groups(), place = task / d.groups() % d.strips(),
                  image = task / d.groups() / d.strips();
    const int64_t row = place / d.across() * d.rows, column = place % d.across() * d.columns;
    char* at = memory + d.steps_size() + slot * d.slot(f16);
    const auto take = [&](int64_t bytes) { return std::exchange(at, at + bytes); };
    Strip strip{.x = images.x + image * s.in_pixels() * (s.nchw ? s.channels : s.in_blocks() * channel_block),
                .y = images.y + image * s.out_blocks() * s.out_pixels() * channel_block,
                .row0 = row,
                .row1 = std::min(row + d.rows, s.out[0]),
                .column0 = column,
                .column1 = std::min(column + d.columns, s.out[1]),
                .copy = take(d.strip_size()),
                .weights = {take(d.piece_size()), take(d.piece_size())},
                .sums = reinterpret_cast<float*>(take(d.sums_size())),
                .pixel_flags = reinterpret_cast<uint8_t*>(take(d.whole_lines(d.copy_pixels()))),
                .flags = reinterpret_cast<uint8_t*>(take(d.whole_lines(d.rows * d.columns))),
                .floats = reinterpret_cast<float*>(at)};
    Bf16x3Task(d, isa, images, offsets, fused, c, strip, image)
        .compute(group * d.group, std::min((group + 1) * d.group, d.panels));
  });
}

}  // namespace lathe::cpu
