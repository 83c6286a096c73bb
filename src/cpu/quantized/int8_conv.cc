#include "cpu/quantized/int8_conv.h"

#include <algorithm>
#include <numeric>

#include "cpu/gemm.h"
#include "cpu/quantized/int8_conv_parts.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// The bytes of image that a strip has: they stay in the second-level cache beside a panel of weights.
constexpr int64_t strip_bytes = int64_t{1} << 17;
/// The least multiplications that are worth another task, and those between two polls.
constexpr int64_t min_parallel_work = int64_t{1} << 19, polled_work = int64_t{1} << 23;
/// If the weights have more bytes than this, the next panel is prefetched.
constexpr int64_t cached_weights = 200000;

/// The division of the work: strips of output rows, or of tiles if there is one row, and groups of panels.
struct Division {
  Division(const Int8ConvShape& shape, const Int8Tiles& t, int threads)
      : s(flattened(shape)), tiles(s.out[1], t.MR), all(panels(s.filters)), group(all) {
    const int64_t unit = s.in_blocks() * channel_block * t.parts * s.stride[0] *
                         (in_rows() ? s.stride[1] * s.out[1] : s.stride[1] * t.MR);
    length = std::clamp<int64_t>(strip_bytes / std::max<int64_t>(1, unit), 1, units());
    const int64_t work = s.out_pixels() * s.filters * terms_of(s);
    const int64_t wanted = threads == 1 ? 1 : std::min<int64_t>(4 * threads, work / min_parallel_work);
    while (strips() * groups() < wanted && (length > 1 || group > 1)) {
      if (length > 1 && (strips() < threads || group == 1))
        length = ceil_div(length, 2);
      else
        group = ceil_div(group, 2);
    }
  }
  bool in_rows() const { return s.out[0] > 1; }
  int64_t units() const { return in_rows() ? s.out[0] : tiles.count(); }
  int64_t strips() const { return ceil_div(units(), length); }
  int64_t groups() const { return ceil_div(all, group); }

  Int8ConvShape s;
  RowTiles tiles;
  int64_t all;         // panels
  int64_t length = 1;  // of a strip
  int64_t group;       // panels of a task
};

/// Computes a group of panels over a strip.
void compute(const Division& d, const Int8Tiles& t, const Int8Images& images, const Int8Image& image,
             int64_t strip, int64_t group, Workers& workers) {
  const Int8ConvShape& s = d.s;
  const Band band(s);
  const int64_t begin = strip * d.length, end = std::min(begin + d.length, d.units());
  const int64_t row0 = d.in_rows() ? begin : 0, row1 = d.in_rows() ? end : 1;
  const int64_t tile0 = d.in_rows() ? 0 : begin, tile1 = d.in_rows() ? d.tiles.count() : end;
  const int64_t depth = terms_of(s) / quad, left = band.rest();
  const int64_t y_block = s.out_pixels() * channel_block;
  RequantParams requant = images.requant;
  Int8Tile tile{.steps = image.steps,
                .count = band.full() * s.taps(),
                .depth = channel_block / quad,
                .last_count = left ? s.taps() : 0,
                .last_depth = quads(left),
                .stride = s.stride[1] * channel_block * t.parts,
                .requant = &requant,
                .y_block = y_block};
  const int64_t polled_rows = 1 + polled_work / (s.out[1] * terms_of(s) * panel_filters);
  const int64_t first_block = group * d.group * 2,
                last_block = std::min((group + 1) * d.group * 2, s.out_blocks());
  for (int64_t block = first_block; block < last_block; block += t.blocks) {
    const auto& kernels = t.of(tile.stride, last_block - block);
    const int64_t filter = block * channel_block, panel = filter / panel_filters;
    tile.w = images.weights + (panel * depth * panel_filters + filter % panel_filters) * quad;
    tile.start = images.start + filter;
    requant.factor = images.requant.factor + filter;
    requant.shift = images.requant.shift + filter;
    const uint8_t* const x = image.x + band.first(panel) * image.plane;
    const bool fetch = depth * quad * s.filters > cached_weights && panel + 1 < d.all;
    const int64_t tiles = (row1 - row0) * (tile1 - tile0);
    for (int64_t row = row0; row < row1; ++row) {
      if ((row - row0) % polled_rows == 0) workers.poll();
      for (int64_t i = tile0; i < tile1; ++i) {
        const int64_t column = d.tiles.begin(i);
        const int64_t at = block * y_block + (row * s.out[1] + column) * channel_block;
        tile.x = x + row * s.stride[0] * image.row + column * tile.stride;
        tile.y = image.y + at;
        tile.other = image.other ? image.other + at : nullptr;
        const int64_t number = (row - row0) * (tile1 - tile0) + i - tile0;
        if (fetch) fetch_next_panel(tile, tile.w, depth, number, tiles);
        kernels[d.tiles.rows(i)](tile);
      }
    }
  }
}

}  // namespace

int64_t int8_conv_weights_size(const Int8ConvShape& s) { return packed_bytes(s.filters, terms_of(s)); }

namespace {

/// Packs weights for every channel of a panel's blocks: 0 for those of other groups.
void pack_groups(const Int8ConvShape& s, const uint8_t* weights, bool is_signed, int8_t* to,
                 Workers& workers) {
  const Band band(s);
  const int64_t own = s.channels / s.groups, filters = s.filters / s.groups, count = terms_of(s);
  std::vector<int64_t> terms(static_cast<size_t>(count));
  std::iota(terms.begin(), terms.end(), int64_t{0});
  std::vector<uint8_t> all(static_cast<size_t>(s.filters * count), is_signed ? 0 : 128);
  for (int64_t m = 0; m < s.filters; ++m) {
    if (m % panel_filters == 0) workers.poll();
    const int64_t first = m / filters * own - band.first(m / panel_filters) * channel_block;
    for (int64_t c = 0; c < own; ++c) {
      const int64_t block = (first + c) / channel_block, lane = (first + c) % channel_block;
      for (int64_t tap = 0; tap < s.taps(); ++tap)
        all[static_cast<size_t>(m * count + (block * s.taps() + tap) * channel_block + lane)] =
            weights[(m * own + c) * s.taps() + tap];
    }
  }
  pack_int8({all.data(), is_signed, s.filters, count, terms.data(), count}, to, workers);
}

}  // namespace

void pack_int8_conv(const Int8ConvShape& s, const void* weights, bool is_signed, int8_t* to,
                    Workers& workers) {
  if (s.groups > 1) return pack_groups(s, static_cast<const uint8_t*>(weights), is_signed, to, workers);
  std::vector<int64_t> terms;
  terms.reserve(static_cast<size_t>(terms_of(s)));
  for (int64_t c0 = 0; c0 < s.channels; c0 += channel_block) {
    const int64_t held = std::min(channel_block, s.channels - c0);
    for (int64_t tap = 0; tap < s.taps(); ++tap)
      for (int64_t c = 0; c < quads(held) * quad; ++c)
        terms.push_back(c < held ? (c0 + c) * s.taps() + tap : -1);
  }
  pack_int8({weights, is_signed, s.filters, s.channels * s.taps(), terms.data(), terms_of(s), s.taps()}, to,
            workers);
}

const int32_t* int8_conv_sums(const Int8ConvShape& s, const int8_t* packed) {
  return packed_sums(packed, s.filters, terms_of(s));
}

namespace {

/// The layout of a convolution's scratch: steps, the padded image, gathered pixels.
struct Scratch {
  Scratch(const Int8Tiles& t, const Int8ConvShape& s, int threads)
      : padded(whole_lines(step_count(s) * static_cast<int64_t>(sizeof(int64_t)))),
        gathered(padded + whole_lines(s.in_blocks() * copied_plane(t, s))),
        bytes(gathered + gather_workspace(t, s, threads)) {}
  int64_t padded, gathered, bytes;
};

}  // namespace

size_t int8_conv_workspace(Isa isa, const Int8ConvShape& s, int threads) {
  return s.empty() ? 0 : static_cast<size_t>(Scratch(int8_tiles(isa), s, threads).bytes);
}

void int8_convolution(Isa isa, const Int8ConvShape& shape, const Int8Images& images, void* workspace,
                      KernelContext& c) {
  if (shape.empty()) return;
  const Int8Tiles& t = int8_tiles(isa);
  const Division d(shape, t, c.threads());
  const Int8ConvShape& s = d.s;
  const int64_t plane = copied_plane(t, s);
  const PixelCopies pixels{t.parts > 1 ? &t : nullptr};
  const Scratch scratch(t, shape, c.threads());
  auto* const steps = static_cast<int64_t*>(workspace);
  uint8_t* const copy = static_cast<uint8_t*>(workspace) + scratch.padded;
  const int64_t row_pixels = plane ? padded(s, 1) : s.in[1], rows = plane ? padded(s, 0) : s.in[0];
  const int64_t row = row_pixels * pixels.bytes();
  fill_steps(s, row_pixels, rows, pixels.bytes(), steps);
  for (int64_t n = 0; n < s.batch; ++n) {
    const int64_t in_plane = s.in_pixels() * channel_block;
    const uint8_t* x = images.x + n * s.in_blocks() * in_plane;
    if (plane) {
      // By rows, in the order in which the image is multiplied.
      const int64_t blocks = s.in_blocks();
      c.parallel(rows * blocks, std::max<int64_t>(1, 16384 / row), [&](int64_t begin, int64_t end) {
        c.poll();
        for (int64_t i = begin; i < end; ++i)
          pad_rows(s, pixels, x + i % blocks * in_plane, images.x_zero, i / blocks, i / blocks + 1,
                   copy + i % blocks * plane);
      });
      x = copy;
    }
    const int64_t at = n * s.out_blocks() * s.out_pixels() * channel_block;
    const Int8Image image{
        x, row, rows * row, steps, images.other ? images.other + at : nullptr, images.y + at};
    if (is_gathered(t, s)) {
      convolve_gathered(t, s, images, image, static_cast<uint8_t*>(workspace) + scratch.gathered, c);
      continue;
    }
    for_each_task(c, d.strips() * d.groups(), [&](int64_t task, int64_t) {
      compute(d, t, images, image, task / d.groups(), task % d.groups(), c);
    });
  }
}

}  // namespace lathe::cpu
