// Direct convolution by parts of float32. A strip of the image is copied and split, then one piece of a panel
// of weights after the other: what the next tile and the next piece want is split beside the products of what
// is there.
//
// Pixels that see anything without parts, and panels of weights that hold any, are computed as float32 once
// more. So bits depend neither on how the work is cut nor on what else is in the batch.
#include "cpu/blocked_parts.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/cpu.h"
#include "cpu/amx.h"
#include "cpu/blocked_finish.h"
#include "cpu/blocked_parts_cut.h"
#include "cpu/parts_weights.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// Multiplications between two polls.
constexpr int64_t polled_work = int64_t{1} << 22;
/// That do not stay in the second-level cache.
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

/// Some pairs of blocks of a strip's input, row after row of the copy.
class InputSource final : public PartsSource {
 public:
  InputSource(const PartsDivision& d, const Strip& strip, int64_t pair0, int64_t pair1)
      : d_(d), strip_(strip), pair0_(pair0), pair1_(pair1), pair_(pair0) {
    for (int64_t j = 0; j < d.x.count; ++j)
      across_ += d.x.inside(j, strip.column0, d.copy_row).size() * (pair1 - pair0);
    left = before(d.copy_rows);
  }

  /// Vectors of the first so many rows of the copy.
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
             ((plane_ * d_.copy_rows + row_) * d_.copy_row + xs.begin) * parts_pixel;
    run.to_stride = parts_pixel;
    run.part = part_pixel;
    run.ahead = pair_ + 2 < pair1_ ? 2 * plane : 0;
    return true;
  }

  const PartsDivision& d_;
  const Strip& strip_;
  int64_t pair0_, pair1_, across_ = 0;
  int64_t row_ = 0, plane_ = 0, pair_;
};

/// A panel of weights of a plain image: of each row of the window eight pixels in four channels, which follow
/// one another two by two.
class PlainWeightsSource final : public PartsSource {
 public:
  PlainWeightsSource(const BlockedShape& s, const float* from, int64_t blocks, char* to)
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

/// A strip, and the panels that a task computes of it.
class PartsTask {
 public:
  PartsTask(const PartsDivision& d, Isa isa, const BlockedImages& images, const int64_t* offsets,
            const Finish& finish, KernelContext& c, const Strip& strip, int64_t image)
      : d_(d),
        s_(d.s),
        isa_(isa),
        images_(images),
        offsets_(offsets),
        finish_(finish),
        c_(c),
        strip_(strip),
        image_(image),
        pixels_((strip.rows() - 1) * d.copy_row + strip.columns()) {}

  void compute(int64_t panel0, int64_t panel1) {
    clear_border();
    const int64_t pieces = d_.pieces(), units = (panel1 - panel0) * pieces;
    if (s_.plain) split_plain();
    Weights weights;
    begin(weights, panel0, 0, 0);
    kernels_.split(*weights.source, weights.source->left);
    bool wrong = any_wrong(*weights.source);
    for (int64_t unit = 0; unit < units; ++unit) {
      const int64_t panel = panel0 + unit / pieces, piece = unit % pieces;
      std::optional<InputSource> input;
      if (panel == panel0 && !s_.plain) input.emplace(d_, strip_, first_pair(piece), first_pair(piece + 1));
      weights.clear();
      if (unit + 1 < units) begin(weights, panel0 + (unit + 1) / pieces, (unit + 1) % pieces, (unit + 1) % 2);
      FinishedPixels finished(finish_.epilogue, s_.out_pixels(),
                              image_ * s_.out_blocks() + panel * parts_panel_blocks, blocks(panel),
                              output_pixel(0));
      multiply(panel, piece, strip_.weights[unit % 2], input ? &*input : nullptr, weights.source,
               wrong || wrong_input_ ? nullptr : &finished);
      wrong_input_ = wrong_input_ || (input && any_wrong(*input));
      if (piece + 1 == pieces) {
        if (panel == panel0 && wrong_input_) flag();
        if (wrong || wrong_input_) compute_plainly(panel, wrong);
        finished.end(output_pixel(pixels_) - output_pixel(0));
        wrong = false;
      }
      wrong = wrong || (weights.source && any_wrong(*weights.source));
    }
  }

 private:
  int64_t first_pair(int64_t piece) const { return std::min(piece * d_.piece, d_.pairs); }
  int64_t blocks(int64_t panel) const {
    return std::min(parts_panel_blocks, s_.out_blocks() - panel * parts_panel_blocks);
  }
  /// Weights of some channels of a panel, from where the panel begins on.
  const float* floats(int64_t panel, int64_t channel0, int64_t channel1) const {
    const int64_t width = blocks(panel) * channel_block * s_.taps(),
                  first = panel * parts_panel_filters * s_.taps() * s_.channels;
    return widened(isa_, images_.weights_type, images_.weights, first + channel0 * width,
                   (channel1 - channel0) * width, strip_.floats + channel0 * width) -
           channel0 * width;
  }
  /// Those of the piece that comes next.
  struct Weights {
    std::optional<WeightsSource> blocked;
    std::optional<PlainWeightsSource> plain;
    PartsSource* source = nullptr;

    void clear() {
      blocked.reset(), plain.reset();
      source = nullptr;
    }
  };
  void begin(Weights& weights, int64_t panel, int64_t piece, int64_t place) const {
    char* const to = strip_.weights[place];
    if (s_.plain) {
      weights.source = &weights.plain.emplace(s_, floats(panel, 0, s_.channels), blocks(panel), to);
      return;
    }
    const int64_t pair0 = first_pair(piece), pair1 = first_pair(piece + 1);
    const float* const from =
        floats(panel, pair0 * 2 * channel_block, std::min(pair1 * 2 * channel_block, s_.channels));
    weights.source = &weights.blocked.emplace(s_.channels, s_.taps(), from, blocks(panel), pair0, pair1, to);
  }

  /// The places of one row of a plain image's copy that are in it, in pixels of the image.
  Phases::Inside plain_columns() const {
    const int64_t at = strip_.column0 * s_.stride[1] - s_.pad[1], places = d_.copy_row * s_.stride[1];
    const int64_t begin = std::clamp<int64_t>(-at, 0, places),
                  end = std::clamp<int64_t>(s_.in[1] - at, begin, places);
    return {begin, end, at + begin};
  }
  void split_plain() {
    const auto xs = plain_columns();
    for (int64_t i = 0; i < d_.y.count; ++i) {
      const auto ys = d_.y.inside(i, strip_.row0, d_.copy_rows);
      for (int64_t row = ys.begin; row < ys.end; ++row) {
        PlainPartsRow r{.pixels = xs.size(), .part = d_.part()};
        r.to = strip_.copy + (i * d_.copy_rows + row) * d_.copy_row * d_.row() + xs.begin * plain_pixel;
        const int64_t y = ys.at + (row - ys.begin) * d_.y.step;
        for (int64_t c = 0; c < s_.channels; ++c)
          r.channel[c] = strip_.x + (c * s_.in[0] + y) * s_.in[1] + xs.at;
        wrong_input_ = kernels_.split_plain(r) || wrong_input_;
      }
    }
  }

  /// Zeros around the image.
  void clear_border() const {
    if (s_.plain) return std::fill_n(strip_.copy, d_.pair_size(), char{0}), void();
    const auto clear = [](char* to, int64_t pixels) { std::fill_n(to, pixels * parts_pixel, char{0}); };
    char* to = strip_.copy;
    for (int64_t pair = 0; pair < d_.pairs; ++pair)
      for (int64_t i = 0; i < d_.y.count; ++i)
        for (int64_t j = 0; j < d_.x.count; ++j) {
          const auto ys = d_.y.inside(i, strip_.row0, d_.copy_rows),
                     xs = d_.x.inside(j, strip_.column0, d_.copy_row);
          for (int64_t row = 0; row < d_.copy_rows; ++row, to += d_.copy_row * parts_pixel) {
            if (row < ys.begin || row >= ys.end) {
              clear(to, d_.copy_row);
              continue;
            }
            clear(to, xs.begin);
            clear(to + xs.end * parts_pixel, d_.copy_row - xs.end);
          }
        }
  }

  /// All tiles with one piece of one panel. Sources, where there are any, are split beside it, to the end.
  /// Tells of pixels that are done, as long as all they see has parts.
  void multiply(int64_t panel, int64_t piece, const char* weights, InputSource* input, PartsSource* next,
                FinishedPixels* finished) {
    const int64_t tiles = ceil_of(pixels_, most_tiled_rows);
    const bool last = piece + 1 == d_.pieces();
    PartsTile tile{.offsets = offsets_,
                   .steps = (first_pair(piece + 1) - first_pair(piece)) * d_.taps,
                   .row = d_.row(),
                   .part = d_.part(),
                   .w = weights,
                   .adds = piece > 0,
                   .beside = {input, next}};
    const int64_t polled_tiles = 1 + polled_work / (tile.steps * 2 * channel_block * d_.tile_sums);
    const char* const copy = strip_.copy + first_pair(piece) * d_.pair_size();
    for (int64_t i = 0; i < tiles; ++i) {
      if (i % polled_tiles == 0) c_.poll();
      const int64_t begin = i * most_tiled_rows, rows = std::min<int64_t>(pixels_ - begin, most_tiled_rows);
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
      // The one before, whose sums have arrived.
      if (last && i > 0) finish(panel, i - 1);
      if (last && finished && !(input && any_wrong(*input)))
        finished->reach(output_pixel(i * most_tiled_rows) - output_pixel(0));
    }
    if (last) finish(panel, tiles - 1);
    if (input) kernels_.split(*input, input->left);
    if (next) kernels_.split(*next, next->left);
  }
  /// Vectors that are still to be split before a tile can be computed.
  int64_t wanted(const InputSource& input, int64_t tile) const {
    const int64_t end = std::min((tile + 1) * most_tiled_rows, pixels_);
    const int64_t rows = std::min((end - 1) / d_.copy_row + 1 + d_.y.further, d_.copy_rows);
    return std::max<int64_t>(0, input.before(rows) - (input.before(d_.copy_rows) - input.left));
  }
  float* sums(int64_t tile) const {
    return strip_.sums + (d_.pieces() > 1 ? tile : tile % 2) * PartsDivision::tile_sums;
  }

  PartsSums leaving(int64_t panel, std::array<float, parts_panel_filters>& bias) const {
    const int64_t first = panel * parts_panel_filters;
    if (images_.bias)
      std::copy_n(images_.bias + first, std::min(parts_panel_filters, s_.filters - first), bias.data());
    return {.blocks = blocks(panel),
            .bias = bias.data(),
            .bounds = finish_.bounds,
            .y = strip_.y + first * s_.out_pixels(),
            .y_block = s_.out_pixels() * channel_block};
  }
  /// Stores what belongs to the output of a tile's sums.
  void finish(int64_t panel, int64_t tile) const {
    std::array<float, parts_panel_filters> bias{};
    PartsSums out = leaving(panel, bias);
    out.sums = sums(tile);
    float* const y = out.y;
    const int64_t begin = tile * most_tiled_rows;
    int64_t pixels = std::min<int64_t>(pixels_ - begin, most_tiled_rows);
    for (int64_t row = begin / d_.copy_row, column = begin % d_.copy_row; pixels > 0; ++row, column = 0) {
      const int64_t there = std::min(d_.copy_row - column, pixels);
      out.pixels = std::min(there, strip_.columns() - column);
      out.y = y + ((strip_.row0 + row) * s_.out[1] + strip_.column0 + column) * channel_block;
      if (out.pixels > 0) kernels_.finish(out);
      out.sums += there * parts_panel_filters;
      pixels -= there;
    }
  }

  /// The first pixel of the output that one of those computed, or one after it, belongs to.
  int64_t output_pixel(int64_t computed) const {
    const int64_t row = std::min(computed / d_.copy_row, strip_.rows() - 1),
                  column = std::min(computed - row * d_.copy_row, strip_.columns());
    return (strip_.row0 + row) * s_.out[1] + strip_.column0 + column;
  }

  /// Finds out which pixels of the output see what has no parts.
  void flag() const {
    std::fill_n(strip_.pixel_flags, d_.copy_pixels(), uint8_t{0});
    uint8_t* to = strip_.pixel_flags;
    for (int64_t i = 0; i < d_.y.count; ++i)
      for (int64_t j = 0; j < d_.x.count; ++j) {
        const auto ys = d_.y.inside(i, strip_.row0, d_.copy_rows);
        const auto xs = s_.plain ? plain_columns() : d_.x.inside(j, strip_.column0, d_.copy_row);
        for (int64_t row = 0; row < d_.copy_rows; ++row, to += d_.copy_row) {
          if (row < ys.begin || row >= ys.end) continue;
          const int64_t y = (ys.at + (row - ys.begin) * d_.y.step) * s_.in[1];
          for (int64_t p = 0; p < xs.size(); ++p)
            if (s_.plain)
              to[(xs.begin + p) / d_.x.step] |= lacks_parts(y + xs.at + p);
            else
              to[xs.begin + p] = lacks_parts(y + xs.at + p * d_.x.step);
        }
      }
    to = strip_.flags;
    // In plain images tiles read all pixels of a step, whatever the weights are.
    const int64_t columns = s_.plain ? d_.x.further + 1 : s_.kernel[1];
    for (int64_t row = 0; row < strip_.rows(); ++row)
      for (int64_t column = 0; column < strip_.columns(); ++column, ++to) {
        const uint8_t* const pixel = strip_.pixel_flags + row * d_.copy_row + column;
        *to = 0;
        for (int64_t i = 0; i < s_.kernel[0]; ++i)
          for (int64_t j = 0; j < columns; ++j)
            *to |= pixel[s_.plain ? d_.distance(i, 0) + j : d_.distance(i, j)];
      }
  }
  /// Does any channel of a pixel?
  bool lacks_parts(int64_t pixel) const {
    const int64_t pixels = s_.in_pixels();
    for (int64_t c = 0; c < s_.channels; ++c) {
      const int64_t place = (c / channel_block * pixels + pixel) * channel_block + c % channel_block;
      if (!has_parts(strip_.x[s_.plain ? c * pixels + pixel : place])) return true;
    }
    return false;
  }

  /// Computes what has no parts, or all pixels, as float32.
  void compute_plainly(int64_t panel, bool all) const {
    const float* const weights = floats(panel, 0, s_.channels);
    std::array<float, parts_panel_filters> bias{};
    PartsSums out = leaving(panel, bias);
    float* const y = out.y;
    const uint8_t* flag = strip_.flags;
    out.pixels = 1;
    for (int64_t row = strip_.row0; row < strip_.row1; ++row)
      for (int64_t column = strip_.column0; column < strip_.column1; ++column, ++flag) {
        if (!all && !*flag) continue;
        c_.poll();
        std::array<float, parts_panel_filters> sum{};
        add_plainly(row, column, weights, blocks(panel) * channel_block, sum.data());
        out.sums = sum.data();
        out.y = y + (row * s_.out[1] + column) * channel_block;
        kernels_.finish(out);
      }
  }
  void add_plainly(int64_t row, int64_t column, const float* weights, int64_t width, float* sum) const {
    const int64_t taps = s_.taps(), block = s_.plain ? 1 : channel_block;
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

  const PartsDivision& d_;
  const BlockedShape& s_;
  const Isa isa_;
  const BlockedImages& images_;
  const int64_t* offsets_;
  const Finish& finish_;
  KernelContext& c_;
  const Strip& strip_;
  const int64_t image_;
  const int64_t pixels_;  // that are computed, with those between rows
  const PartsKernels& kernels_ = parts_kernels();
  TileRegisters registers_;
  bool wrong_input_ = false;
};

}  // namespace

bool fits_parts(Isa isa, const BlockedShape& s) {
  // Two blocks' weights for all taps are split at once.
  constexpr int64_t most_taps = 256;
  if (s.taps() > most_taps) return false;
  if (s.plain && (s.channels > plain_channels || s.kernel[1] > plain_pixels || s.dilation[1] > 1))
    return false;
  return isa == Isa::avx512 && s.sets == 1 && s.merged == 1 && !s.pairs && !s.scaled && !s.empty() &&
         uses_amx() && cpu_features().amx_bf16;
}

double parts_time(const BlockedShape& s) {
  // Of 16 pixels times a step, of splitting two blocks of a pixel and a step's weights, and of a pixel's
  // sums.
  constexpr double tile = 70, split_pixel = 9.5, split_weights = 170, sums = 2.7;
  const PartsDivision d(s, 1);
  const double panels = 0.5 * static_cast<double>(s.out_blocks());
  const double steps = static_cast<double>(d.pairs * d.taps) * panels;
  const auto tiles = static_cast<double>(ceil_of((d.rows - 1) * d.copy_row + d.columns, most_tiled_rows / 2));
  return static_cast<double>(s.batch * d.strips()) *
         (steps * (tiles * tile + split_weights) +
          static_cast<double>(d.pairs * d.copy_pixels()) * split_pixel +
          static_cast<double>(d.rows * d.columns) * panels * sums);
}

bool uses_parts(Isa isa, const BlockedShape& shape) {
  if (!fits_parts(isa, shape)) return false;
  BlockedShape s = shape;
  s.batch = 1;
  // Of the last block AVX-512 leaves out a half that is not there; many weights are waited for.
  const int64_t filters = ceil_of(s.filters, channel_block / 2) * channel_block / 2,
                weights = s.channels * s.taps() * filters;
  const double in_a_nanosecond = weights > many_weights ? 88 : 100;
  return parts_time(s) <
         0.95 * static_cast<double>(s.out_pixels()) * static_cast<double>(weights) / in_a_nanosecond;
}

size_t parts_workspace(const BlockedShape& s, bool half, int threads) {
  const PartsDivision d(s, threads);
  // With what it takes to begin with a line.
  return static_cast<size_t>(64 + d.steps_size() + task_slots(d.tasks(), threads) * d.slot(half));
}

void parts_convolution(Isa isa, const BlockedShape& s, const BlockedImages& images, void* workspace,
                       KernelContext& c) {
  const PartsDivision d(s, c.threads());
  const Finish finish(c.epilogue());
  char* const memory =
      static_cast<char*>(workspace) + (64 - reinterpret_cast<uintptr_t>(workspace) % 64) % 64;
  auto* const offsets = reinterpret_cast<int64_t*>(memory);
  d.fill(offsets);
  const bool half = images.weights_type != DataType::float32;
  for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) {
    const int64_t group = task % d.groups(), place = task / d.groups() % d.strips(),
                  image = task / d.groups() / d.strips();
    const int64_t row = place / d.across() * d.rows, column = place % d.across() * d.columns;
    char* at = memory + d.steps_size() + slot * d.slot(half);
    const auto take = [&](int64_t bytes) { return std::exchange(at, at + bytes); };
    Strip strip{
        .x = images.x + image * s.in_pixels() * (s.plain ? s.channels : s.in_blocks() * channel_block),
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
    PartsTask(d, isa, images, offsets, finish, c, strip, image)
        .compute(group * d.group, std::min((group + 1) * d.group, d.panels));
  });
}

}  // namespace lathe::cpu
