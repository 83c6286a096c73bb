// Convolutions of bytes as products: the pixels that a tile's windows see are copied into rows of packed A,
// once for all panels of weights. That pays where a product of tiles takes as long as copying 64 bytes of
// each row: an image consists of blocks of 16 channels, and tiles with 16 bytes in a row take as long as full
// ones.
#include <algorithm>
#include <limits>

#include "cpu/quantized/int8_conv_parts.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// MC in bytes: the gathered pixels that are multiplied with all panels of a task stay in the second-level
/// cache.
constexpr int64_t strip_bytes = int64_t{1} << 18;
/// The least terms: with fewer, half of a tile or more would be empty (measured on layers of MobileNetV2: 16
/// and 24 channels take a quarter longer than without gathering, 32 an eighth less).
constexpr int64_t min_terms = 32;
/// The least multiplications that are worth another task, and those between two polls.
constexpr int64_t min_parallel_work = int64_t{1} << 21, polled_work = int64_t{1} << 25;
/// If the weights have more bytes than this, the next panel is prefetched.
constexpr int64_t cached_weights = 200000;

/// The number of tiles that share that prefetching.
constexpr int64_t fetching_tiles = 8;

/// The division of the work: strips of tiles of one height (the last one may be lower), and groups of panels.
struct Division {
  Division(const Int8Tiles& t, const Int8ConvShape& s, int threads)
      : pixels(s.out_pixels()),
        height(ceil_div(pixels, ceil_div(pixels, t.packed_rows))),
        tiles(ceil_div(pixels, height)),
        row(ceil_div(terms_of(s), int8_block) * int8_block),
        length(std::clamp<int64_t>(strip_bytes / (height * row), 1, tiles)),
        all(panels(s.filters)),
        group(all) {
    const int64_t work = pixels * s.filters * row;
    const int64_t wanted = threads == 1 ? 1 : std::min<int64_t>(4 * threads, work / min_parallel_work);
    while (strips() * groups() < wanted && (length > 1 || group > 1)) {
      if (length > 1 && (strips() < threads || group == 1))
        length = ceil_div(length, 2);
      else
        group = ceil_div(group, 2);
    }
  }
  int64_t strips() const { return ceil_div(tiles, length); }
  int64_t groups() const { return ceil_div(all, group); }
  int64_t tasks() const { return strips() * groups(); }
  /// The bytes of a strip's gathered pixels.
  int64_t bytes() const { return length * height * row; }
  int64_t rows(int64_t tile) const { return std::min(height, pixels - tile * height); }

  int64_t pixels;  // of the output
  int64_t height, tiles;
  int64_t row;     // bytes of packed A
  int64_t length;  // tiles of a strip
  int64_t all;     // panels
  int64_t group;   // panels of a task
};

/// Computes a group of panels over a strip.
class Strip {
 public:
  Strip(const Division& d, const Int8Tiles& t, const Int8ConvShape& s, const Int8Images& images,
        const Int8Image& image, uint8_t* gathered, Workers& workers)
      : d_(d), t_(t), s_(s), images_(images), image_(image), gathered_(gathered), workers_(workers) {}

  /// Gathers pixels, and prefetches the first panel meanwhile; each panel then prefetches the next one.
  void gather(int64_t tile0, int64_t tile1, int64_t panel) const {
    const Band band(s_);
    const int64_t left = band.rest();
    int64_t pixels[max_tiled_rows];
    Int8Gather g{.x = image_.x,
                 .pixels = pixels,
                 .steps = image_.steps,
                 .count = band.full() * s_.taps(),
                 .last_count = left ? s_.taps() : 0,
                 .last_depth = quads(left),
                 .to = gathered_};
    const int64_t panel_bytes = terms_of(s_) * panel_filters,
                  share = whole_lines(ceil_div(panel_bytes, tile1 - tile0));
    const int8_t* const w = images_.weights + panel * panel_bytes;
    int64_t since_poll = 0, fetched = 0;
    for (int64_t tile = tile0; tile < tile1; ++tile, g.to += d_.height * d_.row) {
      if ((since_poll += d_.height * d_.row) >= strip_bytes) workers_.poll(), since_poll = 0;
      g.rows = d_.rows(tile);
      const int64_t first = tile * d_.height;
      for (int64_t i = 0, y = first / s_.out[1], x = first % s_.out[1]; i < g.rows; ++i) {
        pixels[i] = y * s_.stride[0] * image_.row + x * s_.stride[1] * channel_block;
        if (++x == s_.out[1]) ++y, x = 0;
      }
      for (const int64_t end = std::min(fetched + share, panel_bytes); fetched < end; fetched += 64)
        __builtin_prefetch(w + fetched, 0, 2);
      t_.gather(g);
    }
  }

  void multiply(int64_t tile0, int64_t tile1, int64_t panel0, int64_t panel1) const {
    TileRegisters registers;
    const int64_t depth = terms_of(s_) / quad, work = d_.height * panel_filters * d_.row;
    const int64_t y_block = s_.out_pixels() * channel_block;
    RequantParams requant = images_.requant;
    Int8Tile tile{.count = depth * quad / int8_block,
                  .last_depth = depth % (int8_block / quad),
                  .requant = &requant,
                  .y_block = y_block};
    const int64_t steps = d_.row / int8_block;
    for (int64_t panel = panel0; panel < panel1; ++panel) {
      const int64_t filter = panel * panel_filters;
      tile.w = images_.weights + panel * panel_row * depth;
      tile.start = images_.start + filter;
      requant.factor = images_.requant.factor + filter;
      requant.shift = images_.requant.shift + filter;
      const bool fetch = depth * quad * s_.filters > cached_weights && panel + 1 < d_.all,
                 wide = filter + channel_block < s_.filters;
      const int64_t sharing = std::min(tile1 - tile0, fetching_tiles);
      tile.next_step = whole_lines(ceil_div(depth * panel_row, sharing * steps));
      for (int64_t i = tile0; i < tile1; i += tile.tiles) {
        // Tiles of one height, as many as there are between two polls.
        tile.rows = d_.rows(i);
        tile.tiles = 1;
        while (i + tile.tiles < tile1 && d_.rows(i + tile.tiles) == tile.rows &&
               tile.tiles * work < polled_work)
          ++tile.tiles;
        workers_.poll();
        const int64_t at = 2 * panel * y_block + i * d_.height * channel_block;
        tile.x = gathered_ + (i - tile0) * d_.height * d_.row;
        tile.y = image_.y + at;
        tile.other = image_.other ? image_.other + at : nullptr;
        tile.next = fetch && i == tile0 ? tile.w + depth * panel_row : nullptr;
        registers.set(tile.rows);
        t_.pixels[wide](tile);
      }
    }
  }

 private:
  const Division& d_;
  const Int8Tiles& t_;
  const Int8ConvShape& s_;
  const Int8Images& images_;
  const Int8Image& image_;
  uint8_t* gathered_;
  Workers& workers_;
};

}  // namespace

bool is_gathered(const Int8Tiles& t, const Int8ConvShape& s) {
  if (!t.gather || s.groups > 1 || terms_of(s) < min_terms) return false;
  // Quads are gathered by 32-bit offsets.
  const int64_t plane = std::max(copied_plane(t, s), s.in_pixels() * channel_block);
  return plane <= std::numeric_limits<int32_t>::max() / s.in_blocks();
}

int64_t gather_workspace(const Int8Tiles& t, const Int8ConvShape& s, int threads) {
  if (!is_gathered(t, s)) return 0;
  const Division d(t, s, threads);
  return task_slots(d.tasks(), threads) * d.bytes();
}

void convolve_gathered(const Int8Tiles& t, const Int8ConvShape& s, const Int8Images& images,
                       const Int8Image& image, uint8_t* scratch, KernelContext& c) {
  const Division d(t, s, c.threads());
  for_each_task(c, d.tasks(), [&](int64_t task, int64_t slot) {
    const int64_t strip = task / d.groups(), group = task % d.groups();
    const int64_t tile0 = strip * d.length, tile1 = std::min(tile0 + d.length, d.tiles);
    const Strip work(d, t, s, images, image, scratch + slot * d.bytes(), c);
    work.gather(tile0, tile1, group * d.group);
    work.multiply(tile0, tile1, group * d.group, std::min((group + 1) * d.group, d.all));
  });
}

}  // namespace lathe::cpu
