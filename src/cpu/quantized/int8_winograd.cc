#include "cpu/quantized/int8_winograd.h"

#include <algorithm>
#include <utility>

#include "cpu/gemm.h"
#include "cpu/quantized/int8_conv_parts.h"
#include "cpu/simd/isa.h"
#include "cpu/tasks.h"

#define LATHE_ISA_INTS
#define LATHE_ISA_BODY "cpu/quantized/int8_winograd_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_VNNI(Int8WinogradKernels, int8_winograd_kernels)

namespace {

constexpr int64_t taps = 9, points = 16, tile_side = 2;
/// The most channels whose largest sum times four is within int32.
constexpr int64_t max_channels = 1024;
static_assert(4 * taps * max_channels * 255 * 128 < INT32_MAX);
/// The bytes of a strip's points and sums, which stay in the second-level cache beside weights.
constexpr int64_t strip_bytes = 288 << 10;
/// The least multiplications that are worth another task.
constexpr int64_t min_parallel_work = int64_t{1} << 18;

int64_t pairs_of(const Int8ConvShape& s) { return s.in_blocks() * channel_block / 2; }
/// The number of int16 of a block of filters at one point.
int64_t point_weights(const Int8ConvShape& s) { return pairs_of(s) * 2 * channel_block; }

/// The shape with a whole number of tiles.
BlockedShape tiled(const Int8ConvShape& s) {
  BlockedShape t = s;
  for (int64_t& side : t.out) side = ceil_div(side, tile_side) * tile_side;
  return t;
}

/// The division of the work: strips of tiles, numbered row by row, and groups of blocks of filters.
struct Division {
  Division(const Int8ConvShape& s, int at_once, int threads)
      : across(ceil_div(s.out[1], tile_side)),
        all(across * ceil_div(s.out[0], tile_side)),
        depth(pairs_of(s) * 2),
        blocks(s.out_blocks()),
        group(blocks) {
    const int64_t tile = points * (depth * static_cast<int64_t>(sizeof(int16_t)) +
                                   channel_block * static_cast<int64_t>(sizeof(int32_t)));
    const int64_t most = std::max<int64_t>(2, strip_bytes / tile / at_once) * at_once;
    length = ceil_div(all, ceil_div(all, most));
    const int64_t work = all * points * depth * blocks * channel_block;
    const int64_t wanted = threads == 1 ? 1 : std::min<int64_t>(4 * threads, work / min_parallel_work);
    while (strips() * groups() < wanted && (length > at_once || group > 1)) {
      // Threads that share few tiles would each read all weights.
      if (group == 1 || (strips() < threads && length > 4 * at_once))
        length = ceil_div(length, 2);
      else
        group = ceil_div(group, 2);
    }
  }
  int64_t strips() const { return ceil_div(all, length); }
  int64_t groups() const { return ceil_div(blocks, group); }
  int64_t tasks() const { return strips() * groups(); }
  // In a strip, elements from one point to the next, with a line between, since caches have few places for
  // addresses a power of two apart, and all sixteen points are written and read at once.
  int64_t point() const { return length * depth + 32; }
  int64_t sums_point() const { return length * channel_block + 16; }
  int64_t points_bytes() const { return whole_lines(points * point() * 2); }
  int64_t slot() const { return points_bytes() + whole_lines(points * sums_point() * 4); }

  int64_t across, all;  // tiles
  int64_t depth;        // int16 of a tile at a point
  int64_t blocks;       // of filters
  int64_t length = 1;   // of a strip
  int64_t group;        // blocks of a task
};

/// The layout of the scratch: the padded image, and a strip's points and sums for each thread.
struct Scratch {
  Scratch(const Int8ConvShape& s, const Division& d, int threads)
      : plane(padded_plane(tiled(s))),
        strips(whole_lines(s.in_blocks() * plane)),
        bytes(strips + task_slots(d.tasks(), threads) * d.slot()) {}
  int64_t plane, strips, bytes;
};

/// Calls f(first tile, row, column, count) for each row of tiles in [begin, end).
template <class F>
void for_each_run(const Division& d, int64_t begin, int64_t end, F&& f) {
  for (int64_t i = begin; i < end;) {
    const int64_t column = i % d.across, count = std::min(end - i, d.across - column);
    f(i, i / d.across, column, count);
    i += count;
  }
}

/// One image, padded.
struct PaddedImage {
  const uint8_t* x;
  int64_t row, plane;  // bytes
  const uint8_t* other;
  uint8_t* y;
};

/// Computes a group of blocks of filters over a strip.
void compute(const Int8WinogradKernels& k, const Int8ConvShape& s, const Division& d,
             const Int8Images& images, const PaddedImage& image, int64_t strip, int64_t group,
             uint8_t* scratch, Workers& workers) {
  auto* const at_points = reinterpret_cast<int16_t*>(scratch);
  auto* const sums = reinterpret_cast<int32_t*>(scratch + d.points_bytes());
  const auto* const weights = reinterpret_cast<const int16_t*>(images.weights);
  const int64_t begin = strip * d.length, end = std::min(begin + d.length, d.all);
  for (int64_t block = 0; block < s.in_blocks(); ++block) {
    workers.poll();
    for_each_run(d, begin, end, [&](int64_t first, int64_t row, int64_t column, int64_t count) {
      k.in({.x = image.x + block * image.plane + tile_side * (row * image.row + column * channel_block),
            .row = image.row,
            .tiles = count,
            .points = at_points + (first - begin) * d.depth + block * channel_block,
            .point = d.point(),
            .tile = d.depth});
    });
  }
  const RowTiles rows(end - begin, k.rows);
  const int64_t parts = fetching_tiles(rows.count()), part = point_weights(s) * 2 / parts;
  RequantParams requant = images.requant;
  for (int64_t block = group * d.group; block < std::min((group + 1) * d.group, d.blocks); ++block) {
    workers.poll();
    for (int64_t p = 0; p < points; ++p) {
      const int16_t* const w = weights + (block * points + p) * point_weights(s);
      const char* const next = reinterpret_cast<const char*>(w + point_weights(s));
      for (int64_t i = 0; i < rows.count(); ++i)
        k.products[rows.rows(i)]({.x = at_points + p * d.point() + rows.begin(i) * d.depth,
                                  .tile = d.depth,
                                  .weights = w,
                                  .pairs = d.depth / 2,
                                  .next = i < parts ? next + i * part : next,
                                  .next_step = i < parts ? part / (d.depth / 2) : 0,
                                  .sums = sums + p * d.sums_point() + rows.begin(i) * channel_block});
    }
    const int64_t filter = block * channel_block, at = block * s.out_pixels() * channel_block;
    requant.factor = images.requant.factor + filter;
    requant.shift = images.requant.shift + filter;
    for_each_run(d, begin, end, [&](int64_t first, int64_t row, int64_t column, int64_t count) {
      k.out({.shape = &s,
             .row = row,
             .column = column,
             .tiles = count,
             .sums = sums + (first - begin) * channel_block,
             .point = d.sums_point(),
             .start = images.start + filter,
             .requant = &requant,
             .other = image.other ? image.other + at : nullptr,
             .y = image.y + at});
    });
  }
}

constexpr int64_t lanes = 2 * channel_block;  // filters of a block with two channels each

/// Transforms two channels of a block of filters to the points.
void pack_pair(const int16_t (&g)[taps][lanes], int64_t point, int16_t* to) {
  int16_t columns[4][3][lanes];
  for (int64_t j = 0; j < 3; ++j)
    for (int64_t l = 0; l < lanes; ++l) {
      const int a = g[j][l], b = g[3 + j][l], c = g[6 + j][l];
      columns[0][j][l] = static_cast<int16_t>(2 * a);
      columns[1][j][l] = static_cast<int16_t>(a + b + c);
      columns[2][j][l] = static_cast<int16_t>(a - b + c);
      columns[3][j][l] = static_cast<int16_t>(2 * c);
    }
  for (int64_t i = 0; i < 4; ++i, to += 4 * point)
    for (int64_t l = 0; l < lanes; ++l) {
      const int a = columns[i][0][l], b = columns[i][1][l], c = columns[i][2][l];
      to[l] = static_cast<int16_t>(2 * a);
      to[point + l] = static_cast<int16_t>(a + b + c);
      to[2 * point + l] = static_cast<int16_t>(a - b + c);
      to[3 * point + l] = static_cast<int16_t>(2 * c);
    }
}

}  // namespace

bool fits_int8_winograd(const Int8ConvShape& s) {
  bool fits = s.groups == 1 && s.channels <= max_channels;
  for (int a : {0, 1}) fits = fits && s.kernel[a] == 3 && s.stride[a] == 1 && s.dilation[a] == 1;
  return fits;
}

bool prefers_int8_winograd(Isa isa, const Int8ConvShape& s) {
  const bool has_quads = isa == Isa::avx512 && uses_vnni();
  return !has_quads && s.channels >= channel_block && s.out_pixels() >= 16;
}

int64_t int8_winograd_weights_size(const Int8ConvShape& s) {
  return s.out_blocks() * points * point_weights(s) * 2 + panels(s.filters) * panel_filters * 4;
}

const int32_t* int8_winograd_sums(const Int8ConvShape& s, const int8_t* packed) {
  return reinterpret_cast<const int32_t*>(packed + s.out_blocks() * points * point_weights(s) * 2);
}

void pack_int8_winograd(const Int8ConvShape& s, const void* weights, bool is_signed, int8_t* to,
                        Workers& workers) {
  const auto* const from = static_cast<const uint8_t*>(weights);
  auto* const sums = const_cast<int32_t*>(int8_winograd_sums(s, to));
  std::fill_n(sums, panels(s.filters) * panel_filters, 0);
  workers.parallel(s.out_blocks(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      const int64_t real = std::min(channel_block, s.filters - block * channel_block);
      int16_t* pair = reinterpret_cast<int16_t*>(to) + block * points * point_weights(s);
      for (int64_t c = 0; c < 2 * pairs_of(s); c += 2, pair += lanes) {
        if (c % (8 * channel_block) == 0) workers.poll();
        int16_t g[taps][lanes] = {};
        for (int64_t m = 0; m < real; ++m) {
          const int64_t filter = block * channel_block + m;
          const uint8_t* const w = from + (filter * s.channels + c) * taps;
          int32_t sum = 0;
          for (int64_t i = 0; i < std::min<int64_t>(2, s.channels - c); ++i)
            for (int64_t tap = 0; tap < taps; ++tap) {
              const auto number = static_cast<int8_t>(w[i * taps + tap] ^ (is_signed ? 0 : 128));
              g[tap][2 * m + i] = number;
              sum += number;
            }
          sums[filter] += sum;
        }
        pack_pair(g, point_weights(s), pair);
      }
    }
  });
}

size_t int8_winograd_workspace(Isa isa, const Int8ConvShape& s, int threads) {
  if (s.empty()) return 0;
  return static_cast<size_t>(
      Scratch(s, Division(s, int8_winograd_kernels(isa).rows, threads), threads).bytes);
}

void int8_winograd(Isa isa, const Int8ConvShape& s, const Int8Images& images, void* workspace,
                   KernelContext& c) {
  if (s.empty()) return;
  const Int8WinogradKernels& k = int8_winograd_kernels(isa);
  const Division d(s, k.rows, c.threads());
  const Scratch scratch(s, d, c.threads());
  const BlockedShape whole = tiled(s);
  auto* const copy = static_cast<uint8_t*>(workspace);
  const int64_t rows = padded(whole, 0), row = padded(whole, 1) * channel_block, blocks = s.in_blocks();
  const int64_t in_plane = s.in_pixels() * channel_block;
  for (int64_t n = 0; n < s.batch; ++n) {
    const uint8_t* const x = images.x + n * blocks * in_plane;
    // By rows, in the order in which the image is read.
    c.parallel(rows * blocks, std::max<int64_t>(1, 16384 / row), [&](int64_t begin, int64_t end) {
      c.poll();
      for (int64_t i = begin; i < end; ++i)
        pad_rows(whole, {}, x + i % blocks * in_plane, images.x_zero, i / blocks, i / blocks + 1,
                 copy + i % blocks * scratch.plane);
    });
    const int64_t at = n * s.out_blocks() * s.out_pixels() * channel_block;
    const PaddedImage image{copy, row, scratch.plane, images.other ? images.other + at : nullptr,
                            images.y + at};
    for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) {
      compute(k, s, d, images, image, task / d.groups(), task % d.groups(),
              copy + scratch.strips + slot * d.slot(), c);
    });
  }
}

}  // namespace lathe::cpu
