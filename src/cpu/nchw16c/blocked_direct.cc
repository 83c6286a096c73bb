// Direct convolution: tiles of neighboring output pixels times panels of filters. The micro-kernel gets a
// list with the offsets of all channels' taps from a tile's first pixel; it is the same for every tile.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <vector>

#include "cpu/nchw16c/blocked_bf16x3.h"
#include "cpu/nchw16c/blocked_far.h"
#include "cpu/nchw16c/blocked_strips.h"
#include "cpu/nchw16c/filters.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// The floats of input that are processed at once: they stay in the second-level cache beside a panel of
/// weights. Twice as many if weights are larger than the image, since each strip reads all of them again, or
/// multiplies them with its gates.
constexpr double strip_floats = 65536;
/// Multiplications below which another task is not worth it, and below which a second thread is not: waking
/// it and fetching its results takes as long as half of them.
constexpr double min_parallel_work = 1 << 17, min_shared = 1 << 19;
/// Multiplications between two polls.
constexpr int64_t polled_work = int64_t{1} << 22;
/// Bytes of weights beyond which the next panel is prefetched.
constexpr int64_t cached_weights = 80000;

/// Returns whether no window leaves the image.
bool within(const BlockedShape& s) {
  bool in = true;
  for (int a : {0, 1}) in = in && s.pad[a] == 0 && (s.out[a] - 1) * s.stride[a] + s.reach(a) <= s.in[a];
  return in;
}

/// Merges all rows into one if windows have one pixel and a stride of 1.
BlockedShape flattened(BlockedShape s) {
  for (int a : {0, 1})
    if (s.kernel[a] != 1 || s.stride[a] != 1 || s.in[a] != s.out[a] || s.pad[a] != 0) return s;
  s.in[1] = s.out[1] = s.in_pixels();
  s.in[0] = s.out[0] = 1;
  return s;
}

/// Divides the work into strips of output rows (of tiles, if there is one row), and groups of panels. The
/// tiles, and so the results, do not depend on this.
struct Division : TiledRows {
  Division(const BlockedTiles& t, const BlockedShape& shape, int threads)
      : TiledRows(t, flattened(shape)), group(panels) {
    const double column = static_cast<double>(s.stride[1] * steps.pixel() * steps.planes());
    const double row = column * static_cast<double>(s.out[1]), stride = static_cast<double>(s.stride[0]);
    image_first = row * static_cast<double>(s.out[0]) * stride > static_cast<double>(weights());
    const double floats = image_first && !s.gated ? strip_floats : 2 * strip_floats;
    const double fit = in_rows() ? (floats / row - static_cast<double>(s.reach(0))) / stride + 1
                                 : floats / (column * static_cast<double>(s.kernel[0] * t.MR));
    const int64_t length = fit < 1 ? 1 : static_cast<int64_t>(std::min(fit, static_cast<double>(units())));
    // One strip, if the image is little longer.
    strips = std::max<int64_t>(1, (units() + length / 2) / length);
    share(threads, t.panel_filters());
    hold(in_rows() ? longest() : 1, in_rows() ? s.out[1] : tiles.begin(longest()));
  }

  bool in_rows() const { return s.out[0] > 1; }
  int64_t units() const { return in_rows() ? s.out[0] : tiles.count(); }
  int64_t groups() const { return ceil_of(panels, group); }
  int64_t tasks() const { return s.batch * strips * groups(); }
  int64_t weights() const { return s.channels * s.taps() * s.filters; }
  /// The first row, or tile, of a strip; all strips have nearly the same length.
  int64_t begin(int64_t strip) const { return strip * units() / strips; }
  /// The most rows, or tiles, of a strip; wider tiles come first.
  int64_t longest() const { return ceil_of(units(), strips); }

  struct Task {
    int64_t image, strip, group;
  };
  /// Neighboring tasks share whichever of image and weights is smaller.
  Task task(int64_t i) const {
    const int64_t image = i / (strips * groups()), j = i % (strips * groups());
    return image_first ? Task{image, j / groups(), j % groups()} : Task{image, j % strips, j / strips};
  }

  bool image_first;  // true if it is larger than the weights
  int64_t strips = 1;
  int64_t group;  // panels that a task computes

 private:
  /// Gives every thread some tasks, cutting whichever of image and weights is larger.
  void share(int threads, int64_t panel_filters) {
    const double work = static_cast<double>(s.batch * s.out_pixels()) * static_cast<double>(weights());
    if (threads == 1 || work < min_shared) return;
    const double wanted = std::min(8.0 * threads, work / min_parallel_work);
    while (static_cast<double>(tasks()) < wanted) {
      const bool cut_strips =
          strips < units() && pays_gates(2 * strips) && (image_first || tasks() < threads);
      const bool cut_group = group > 1 && pays(ceil_of(group, 2) * panel_filters);
      if (cut_strips && (image_first || !cut_group))
        strips = std::min(2 * strips, units());
      else if (cut_group)
        group = ceil_of(group, 2);
      else
        break;
    }
  }
  /// Returns whether so many strips are worth it, if each multiplies weights with its gates.
  bool pays_gates(int64_t of_strips) const {
    constexpr int64_t min_pixels = 48;  // a sixteenth of the time
    return !s.gated || s.out_pixels() >= min_pixels * of_strips;
  }
  /// Returns whether so many filters are worth a padded copy of their own.
  bool pays(int64_t filters) const {
    constexpr int64_t multiplications = 256;  // for each float copied
    return in_place || s.taps() * filters >= multiplications * s.stride[0] * s.stride[1];
  }
};

/// Rounds `n` pixels of `lanes` channels to bfloat16. The other lanes may hold anything, except that the one
/// that completes the last pair is 0.
void to_bf16_pixels(Isa isa, const float* from, int64_t n, int64_t lanes, float* to) {
  narrow(isa, DataType::bfloat16, from, to, n * channel_block);
  if (lanes % 2 == 0) return;
  auto* const rounded = reinterpret_cast<BFloat16*>(to);
  for (int64_t p = 0; p < n; ++p) rounded[p * channel_block + lanes] = BFloat16{0};
}

/// Scales some pixels of a block of channels.
void scale(Isa isa, const ChannelScaling& by, int64_t block, const float* x, int64_t pixels, float* y) {
  static constexpr float none[channel_block] = {};
  const int64_t lane = block * channel_block;
  scale_pixels(isa, {.x = x,
                     .y = y,
                     .pixels = pixels,
                     .mean = none,
                     .factor = by.factor + lane,
                     .bias = by.shift + lane,
                     .bounds = by.bounds});
}

/// Copies the input of a strip whose first output pixel is (row0, column0), with zeros around the image.
void pad_strip(Isa isa, const TiledRows& d, const float* image, const ChannelScaling& by, int64_t row0,
               int64_t column0, float* to) {
  const BlockedShape& s = d.s;
  const int64_t pixel = d.steps.pixel(), x = column0 * s.stride[1] - s.pad[1];
  const int64_t from = std::clamp<int64_t>(x, 0, s.in[1]),
                left = std::clamp<int64_t>(from - x, 0, d.row_pixels);
  const int64_t middle = std::min(d.row_pixels - left, s.in[1] - from);
  for (int64_t plane = 0; plane < d.steps.planes(); ++plane)
    for (int64_t i = 0; i < d.rows; ++i, to += d.row()) {
      const int64_t y = row0 * s.stride[0] - s.pad[0] + i;
      if (y < 0 || y >= s.in[0]) {
        std::fill_n(to, d.row(), 0.0f);
        continue;
      }
      std::fill_n(to, left * pixel, 0.0f);
      const float* const row = image + ((plane * s.in[0] + y) * s.in[1] + from) * d.steps.image_pixel();
      if (s.bf16_dot2)
        to_bf16_pixels(isa, row, middle, std::min(channel_block, s.channels - plane * channel_block),
                       to + left * pixel);
      else if (s.scaled)
        scale(isa, by, plane, row, middle, to + left * pixel);
      else
        std::copy_n(row, middle * pixel, to + left * pixel);
      std::fill_n(to + (left + middle) * pixel, (d.row_pixels - left - middle) * pixel, 0.0f);
    }
}

/// Multiplies the weights of a panel of `filters` filters with the gates of their channels; `to` may be
/// `weights`.
void gate_panel(Isa isa, const BlockedShape& s, const float* weights, const float* gates, int64_t filters,
                float* to) {
  const FilterKernels& k = filter_kernels(isa);
  // With a single tap all channels are contiguous.
  const int64_t taps = s.taps(), block = taps == 1 ? s.channels : channel_block;
  int64_t at = 0;
  for (int64_t channel = 0; channel < s.channels; channel += block) {
    const int64_t channels = std::min(block, s.channels - channel);
    for (int64_t tap = 0; tap < taps; ++tap, at += channels * filters)
      k.gate(weights + at, gates + channel, channels, filters, to + at);
  }
}

/// The biases of `n` filters from `first` on; if there are fewer filters, a copy in `buffer` that ends with
/// zeros. Null: there are no biases.
const float* biases(const BlockedShape& s, const BlockedImages& images, int64_t first, int64_t n,
                    std::span<float> buffer) {
  if (!images.bias) return nullptr;
  if (s.filters - first >= n) return images.bias + first;
  std::ranges::fill(buffer, 0.0f);
  std::copy_n(images.bias + first, s.filters - first, buffer.data());
  return buffer.data();
}

/// Returns whether the image is one pixel, and its many packed weights are in the order of a matrix product.
/// Each of them is used once.
bool is_row(const GemmKernels& g, const BlockedTiles& t, const TiledRows& d, DataType weights) {
  const BlockedShape& s = d.s;
  return s.sets == 1 && s.merged == 1 && s.in_pixels() == 1 && s.out_pixels() == 1 && s.taps() == 1 &&
         d.in_place && !s.nchw && !s.gated && s.channels * s.filters > cached_weights &&
         weights == DataType::float32 && t.panel_filters() == g.NR;
}

/// Multiplies an image's channels with pairs of panels: reading the weights takes all the time, and two
/// panels at once are read faster than one.
void multiply_row(const GemmKernels& g, const BlockedShape& s, const BlockedImages& images, int64_t image,
                  int64_t first_pair, int64_t end_pair, const FusedActivation& fused) {
  const int64_t width = g.NR, all = s.out_blocks() * channel_block;
  const int64_t begin = first_pair * 2 * width, end = std::min(end_pair * 2 * width, all);
  const float* const weights = static_cast<const float*>(images.weights);
  std::array<float, 2 * 2 * channel_block> bias;
  for (int64_t f = begin, columns = 0; f < end; f += columns) {
    columns = end - f >= 2 * width ? 2 * width : std::min(end - f, width);
    const Tile tile{.a = images.x + image * s.in_blocks() * channel_block,
                    .b = weights + f * s.channels,
                    .b_row = std::min(columns, width),
                    .b_panel = width * s.channels,
                    .c = images.y + image * all + f,
                    .c_row = all,
                    .rows = 1,
                    .k = s.channels,
                    .columns = columns,
                    .start = {biases(s, images, f, columns, bias), 0, 1},
                    .bounds = fused.bounds,
                    .after = weights + (f + columns < all ? f + columns : 0) * s.channels};
    g.run_stream(1, tile);
  }
  if (fused.epilogue) fused.epilogue->apply(image * all + begin, end - begin);
}

/// The same for all images, on all threads if that pays.
void multiply_rows(const GemmKernels& g, const BlockedShape& s, const BlockedImages& images,
                   const FusedActivation& fused, KernelContext& c) {
  const int64_t pairs = ceil_of(s.out_blocks() * channel_block, 2 * g.NR);
  const double work = static_cast<double>(s.channels) * static_cast<double>(2 * g.NR);
  const auto some = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const int64_t image = i / pairs, here = std::min(end, (image + 1) * pairs);
      multiply_row(g, s, images, image, i - image * pairs, here - image * pairs, fused);
      c.poll();
      i = here;
    }
  };
  const int64_t all = s.batch * pairs;
  if (static_cast<double>(all) * work < min_shared) return some(0, all);
  c.parallel(all, std::max<int64_t>(1, static_cast<int64_t>(min_parallel_work / work)), some);
}

/// Returns whether tiles add a tensor to their sums when they store them: not if groups are merged, since
/// some sums are then computed again.
bool tiles_add(const BlockedTiles& t, const TiledRows& d) {
  if (d.s.merged > 1) return false;
  const int64_t last = d.s.filters - (d.s.out_blocks() - 1) * channel_block;
  return t.adds(d.s.stride[1] * d.steps.pixel(), last);
}

/// With merged groups, zero weights are multiplied with channels of other groups, which gives NaN if these
/// are not finite. Outputs of a tile that are NaN are summed again, over the channels of their own group
/// alone. `first`: the panel's first filter.
void keep_groups_apart(const BlockedTiles& t, const TiledRows& d, const BlockedTile& tile, int64_t first,
                       int64_t blocks, int64_t pixels) {
  const BlockedShape& s = d.s;
  const int64_t filters = s.filters / s.merged, channels = s.channels / s.merged, taps = s.taps();
  for (int64_t b = 0; b < blocks; ++b) {
    float* const y = tile.y + b * tile.y_block;
    if (!t.any_nan(y, pixels)) continue;
    for (int64_t i = 0; i < pixels * channel_block; ++i) {
      const int64_t lane = b * channel_block + i % channel_block, filter = first + lane;
      if (!std::isnan(y[i]) || filter >= s.filters) continue;
      const float* const x = tile.x + i / channel_block * tile.stride;
      const int64_t begin = filter / filters * channels;
      float sum = 0;
      for (int64_t c = begin; c < begin + channels; ++c) {
        const int64_t block = c / channel_block,
                      in_block = std::min(channel_block, s.channels - block * channel_block);
        for (int64_t tap = 0; tap < taps; ++tap) {
          const int64_t row = block * channel_block * taps + tap * in_block + c % channel_block;
          sum += x[tile.steps[block * taps + tap] + c % channel_block] *
                 tile.w[row * blocks * channel_block + lane];
        }
      }
      if (tile.bias) sum += tile.bias[lane];
      y[i] = sum < tile.bounds.least      ? tile.bounds.least
             : sum > tile.bounds.greatest ? tile.bounds.greatest
                                          : sum;
    }
  }
}

/// The floats of the buffer for a panel that is widened or gated.
int64_t panel_buffer_size(const BlockedTiles& t, const BlockedShape& s, bool f16) {
  return f16 || s.gated ? panel_size(t, s) : 0;
}

}  // namespace

TiledRows::TiledRows(const BlockedTiles& t, const BlockedShape& shape)
    : s(shape),
      steps(s),
      tiles(s.out[1], t.MR),
      in_place(within(s) && !s.bf16_dot2 && !s.scaled),
      panels(t.panels(s.out_blocks())) {}

const float* begin_strip(Isa isa, const TiledRows& d, const float* image, const ChannelScaling& by,
                         const Piece& piece, float* buffer) {
  const int64_t column0 = d.tiles.begin(piece.tile0);
  if (d.in_place)
    return image + piece.row0 * d.s.stride[0] * d.row() + column0 * d.s.stride[1] * d.steps.pixel();
  pad_strip(isa, d, image, by, piece.row0, column0, buffer);
  return buffer;
}

void compute_panel(Isa isa, const TiledRows& d, const Piece& piece, BlockedTile tile, int64_t panel,
                   const BlockedImages& images, float* buffer, PixelEpilogue& pixel_epilogue,
                   Workers& workers) {
  const BlockedTiles& t = tiles_of(isa, d.s);
  const BlockedShape& s = d.s;
  const int64_t blocks = std::min(t.panel_blocks, s.out_blocks() - panel * t.panel_blocks);
  const int64_t depth = s.terms() * s.taps(), first = panel * t.panel_filters();
  const auto& kernels = t.of(tile.stride, blocks, s.filters - first - (blocks - 1) * channel_block);

  std::array<float, 2 * channel_block> bias;
  tile.bias = biases(s, images, first, t.panel_filters(), bias);
  const float* const weights = widened(isa, images.weights_type, images.weights, first * depth,
                                       blocks * channel_block * depth, buffer);
  if (s.gated) gate_panel(isa, s, weights, images.before.factor, blocks * channel_block, buffer);
  tile.w = s.gated ? buffer : weights;
  const float* const x = tile.x;
  float* const y = tile.y;
  const float* const added = tile.added;
  const int64_t column0 = d.tiles.begin(piece.tile0);
  const int64_t tiles = piece.tile1 - piece.tile0, panel_floats = depth * t.panel_filters();
  const int64_t element = bits_of(images.weights_type) / 8;
  if (depth * s.filters * element > cached_weights && panel + 1 < d.panels) {
    const char* const next =
        static_cast<const char*>(images.weights) + (first + t.panel_filters()) * depth * element;
    tile.fetch(reinterpret_cast<const float*>(next), panel_floats * element / 4,
               (piece.row1 - piece.row0) * tiles);
  }
  const int64_t polled_rows = 1 + polled_work / (s.out[1] * depth * t.panel_filters() + 1);
  // Addresses are advanced, since multiplying for each tile would delay the next one.
  for (int64_t row = 0; row < piece.row1 - piece.row0; ++row) {
    if (row % polled_rows == 0) workers.poll();
    tile.x = x + row * s.stride[0] * d.row();
    tile.y = y + row * s.out[1] * channel_block;
    int64_t done = row * s.out[1];
    for (int64_t i = piece.tile0; i < piece.tile1; ++i) {
      const int64_t pixels = d.tiles.rows(i);
      if (added) tile.added = added + (tile.y - y);
      kernels[pixels](tile);
      if (s.merged > 1) keep_groups_apart(t, d, tile, first, blocks, pixels);
      tile.x += pixels * tile.stride;
      tile.y += pixels * channel_block;
      tile.fetched();
      pixel_epilogue.reach(done += pixels);
    }
  }
  pixel_epilogue.end((piece.row1 - piece.row0 - 1) * s.out[1] + d.tiles.begin(piece.tile1) - column0);
}

int64_t direct_weights_size(Isa, const BlockedShape& s) {
  return s.out_blocks() * channel_block * s.terms() * s.taps();
}

void pack_direct_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers) {
  constexpr int64_t some = 256;  // weights of a filter that are transposed at once
  const FilterKernels& k = filter_kernels(isa);
  const BlockedTiles& t = blocked_tiles(isa);
  const int64_t taps = s.taps(), depth = s.channels * taps, all = s.out_blocks() * channel_block;
  // With a single tap the order does not depend on the block: long pieces of each filter are read at once.
  const int64_t block = s.nchw ? 1 : taps == 1 ? some : channel_block, blocks = ceil_of(s.channels, block);
  const int64_t grain = std::max<int64_t>(1, min_parallel_work / 4 / (t.panel_filters() * block * taps));
  workers.parallel(t.panels(s.out_blocks()) * blocks, grain, [&](int64_t begin, int64_t end) {
    float transposed[some * channel_block];
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / blocks * t.panel_filters(), width = std::min(t.panel_filters(), all - first);
      const int64_t channel = i % blocks * block, channels = std::min(block, s.channels - channel);
      float* const rows = to + first * depth + channel * taps * width;
      for (int64_t f = 0; f < width; f += channel_block)
        for (int64_t j0 = 0; j0 < channels * taps; j0 += some) {
          workers.poll();
          const int64_t n = std::min(some, channels * taps - j0);
          k.transpose(weights + (first + f) * depth + channel * taps + j0, depth,
                      std::min(channel_block, s.filters - first - f), n, transposed);
          int64_t c = j0 / taps, tap = j0 % taps;
          for (int64_t j = 0; j < n; ++j) {
            // The size is constant, so that this is no call.
            std::memcpy(rows + (tap * channels + c) * width + f, transposed + j * channel_block,
                        sizeof(float) * channel_block);
            if (++tap == taps) tap = 0, ++c;
          }
        }
    }
  });
}

// Each filter has the channels of all merged groups; its weights for those of other groups are 0.
void pack_grouped_weights(Isa isa, const BlockedShape& s, const float* weights, float* to, Workers& workers) {
  const int64_t own = s.channels / s.merged * s.taps(), whole = s.channels * s.taps(),
                filters = s.filters / s.merged;
  std::vector<float> set(static_cast<size_t>(s.filters * whole));
  for (int64_t i = 0; i < s.sets; ++i) {
    for (int64_t f = 0; f < s.filters; ++f)
      std::copy_n(weights + (i * s.filters + f) * own, own, set.data() + f * whole + f / filters * own);
    pack_direct_weights(isa, s, set.data(), to + i * direct_weights_size(isa, s), workers);
  }
}

void pack_bf16_pair_weights(Isa isa, const BlockedShape& s, const BFloat16* weights, BFloat16* to,
                            Workers& workers) {
  const BlockedTiles& t = blocked_bf16_dot2_tiles(isa);
  const int64_t taps = s.taps(), all = s.out_blocks() * channel_block;
  workers.parallel(t.panels(s.out_blocks()), 1, [&](int64_t begin, int64_t end) {
    for (int64_t panel = begin; panel < end; ++panel) {
      const int64_t first = panel * t.panel_filters(), width = std::min(t.panel_filters(), all - first);
      BFloat16* at = to + 2 * first * s.terms() * taps;
      for (int64_t block = 0; block < s.channels; block += channel_block) {
        const int64_t channels = std::min(block + channel_block, s.channels);
        for (int64_t tap = 0; tap < taps; ++tap) {
          workers.poll();
          for (int64_t c = block; c < channels; c += 2)
            for (int64_t f = first; f < first + width; ++f)
              for (int64_t i : {c, c + 1})
                *at++ =
                    f < s.filters && i < channels ? weights[(f * s.channels + i) * taps + tap] : BFloat16{0};
        }
      }
    }
  });
}

size_t direct_workspace(Isa isa, const BlockedShape& s, bool f16, int threads) {
  if (s.empty()) return 0;
  if (reaches_far(s)) return far_workspace(isa, s, f16, threads);
  if (uses_bf16x3(isa, s)) return bf16x3_workspace(s, f16, threads);
  const BlockedTiles& t = tiles_of(isa, s);
  const Division d(t, s, threads);
  const int64_t stride = slot_stride(d.strip_size() + panel_buffer_size(t, s, f16), threads);
  return static_cast<size_t>(task_slots(d.tasks(), threads) * stride + d.steps_size()) * sizeof(float);
}

bool direct_adds_over(Isa isa, const BlockedShape& s, DataType weights) {
  if (s.empty() || reaches_far(s) || uses_bf16x3(isa, s)) return false;
  const BlockedTiles& t = tiles_of(isa, s);
  const TiledRows d(t, flattened(s));
  return tiles_add(t, d) && !is_row(gemm_kernels(isa), t, d, weights);
}

void direct_convolution(Isa isa, const BlockedShape& shape, const BlockedImages& images, void* workspace,
                        KernelContext& c) {
  if (shape.empty()) return;
  if (reaches_far(shape)) return far_convolution(isa, shape, images, workspace, c);
  if (uses_bf16x3(isa, shape)) return bf16x3_convolution(isa, shape, images, workspace, c);
  const BlockedTiles& t = tiles_of(isa, shape);
  const Division d(t, shape, c.threads());
  const BlockedShape& s = d.s;
  if (const GemmKernels& g = gemm_kernels(isa); is_row(g, t, d, images.weights_type))
    return multiply_rows(g, s, images, FusedActivation(c.epilogue()), c);
  const FusedBiasActivation fused(c.epilogue(), tiles_add(t, d) ? s.out_floats() : 0);
  const int64_t buffer_size = panel_buffer_size(t, s, images.weights_type != DataType::float32);
  const int64_t stride = slot_stride(d.strip_size() + buffer_size, c.threads());
  float* const scratch = static_cast<float*>(workspace);
  auto* const steps = reinterpret_cast<int64_t*>(scratch + task_slots(d.tasks(), c.threads()) * stride);
  d.steps.fill(steps, d.row_pixels, d.rows);
  const int64_t plane = s.out_pixels() * channel_block;
  const BlockedTile tile = d.tile(steps, plane, fused.bounds);
  const int64_t set_bytes = direct_weights_size(isa, s) * bits_of(images.weights_type) / 8;

  for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) {
    const auto [image, strip, group] = d.task(task);
    const int64_t begin = d.begin(strip), end = d.begin(strip + 1);
    const Piece piece{.row0 = d.in_rows() ? begin : 0,
                      .row1 = d.in_rows() ? end : 1,
                      .tile0 = d.in_rows() ? 0 : begin,
                      .tile1 = d.in_rows() ? d.tiles.count() : end};
    const float* const x = images.x + image * d.steps.planes() * s.in_pixels() * d.steps.image_pixel();
    BlockedImages here = images;
    here.before = images.before.of_image(image);
    if (const int64_t set = image % s.sets; set > 0) {
      here.weights = static_cast<const char*>(images.weights) + set * set_bytes;
      if (here.bias) here.bias += set * s.filters;
    }
    float* const padded = scratch + slot * stride;
    BlockedTile of_strip = tile;
    of_strip.x = begin_strip(isa, d, x, here.before, piece, padded);
    const int64_t first_pixel = piece.row0 * s.out[1] + d.tiles.begin(piece.tile0);
    for (int64_t panel = group * d.group; panel < std::min((group + 1) * d.group, d.panels); ++panel) {
      const int64_t block = image * s.out_blocks() + panel * t.panel_blocks;
      const int64_t at = block * plane + first_pixel * channel_block;
      of_strip.y = images.y + at;
      of_strip.added = fused.added_from(at);
      PixelEpilogue pixel_epilogue(fused.epilogue, s.out_pixels(), block,
                                   std::min(t.panel_blocks, s.out_blocks() - panel * t.panel_blocks),
                                   first_pixel);
      compute_panel(isa, d, piece, of_strip, panel, here, padded + d.strip_size(), pixel_epilogue, c);
    }
  });
}

bool pays_to_scale(Isa isa, const BlockedShape& s) {
  return !s.nchw && !uses_bf16x3(isa, s) && fastest_winograd(isa, s).output == 0;
}
bool pays_to_gate(Isa isa, const BlockedShape& s) {
  if (!pays_to_scale(isa, s)) return false;
  // Every strip multiplies weights again, but in the first-level cache.
  return s.taps() * s.filters <= s.in_pixels() || (fits_strassen(isa, s) && prefers_strassen(isa, s));
}

}  // namespace lathe::cpu
