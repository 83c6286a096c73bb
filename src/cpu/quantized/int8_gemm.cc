#include "cpu/quantized/int8_gemm.h"

#include <algorithm>
#include <cstring>

#include "cpu/gemm.h"
#include "cpu/quantized/int8_padding.h"
#include "cpu/tasks.h"

namespace lathe::cpu {
namespace {

/// The least multiplications that are worth waking another thread, and those between two polls.
constexpr int64_t min_parallel_work = int64_t{1} << 19, polled_work = int64_t{1} << 23;
/// The most elements of C that one task computes, so that they are still in the second-level cache for the
/// epilogue.
constexpr int64_t task_elements = int64_t{1} << 15;
/// If a panel has more bytes than this, the next one is prefetched.
constexpr int64_t fetched_panel = 8192;

/// The bytes of a packed row of A.
int64_t packed_row(const Int8Tiles& t, int64_t k) { return ceil_div(k, int8_block) * int8_block * t.parts; }

/// Packs one tile of A (at most MR rows): int8_block bytes of each row, unpacked, then the next ones. Also
/// computes the sums of its rows.
void pack_rows(const Int8Tiles& t, const uint8_t* a, int64_t rows, int64_t k, bool flip, uint8_t* to,
               int32_t* sums, Workers& workers) {
  const uint8_t sign_xor = flip ? 128 : 0;
  int64_t since_poll = 0;
  for (int64_t k0 = 0; k0 < k; k0 += int8_block)
    for (int64_t i = 0; i < rows; ++i, to += int8_block * t.parts) {
      if ((since_poll += int8_block) >= polled_bytes) workers.poll(), since_poll = 0;
      const uint8_t* const from = a + i * k + k0;
      const int64_t n = std::min(int8_block, k - k0);
      uint8_t buffer[int8_block];
      uint8_t* const block = t.parts > 1 ? buffer : to;
      if (n == int8_block) {
        for (int64_t j = 0; j < int8_block; ++j) block[j] = from[j] ^ sign_xor;
      } else {
        for (int64_t j = 0; j < int8_block; ++j) block[j] = j < n ? from[j] ^ sign_xor : 0;
      }
      if (t.parts > 1) t.unpack(block, int8_block, to);
      if (!sums) continue;
      uint32_t sum = k0 == 0 ? 0 : static_cast<uint32_t>(sums[i]);
      for (int64_t j = 0; j < n; ++j) sum += block[j];
      sums[i] = static_cast<int32_t>(sum);
    }
}

/// The layout of a product's scratch: packed A, then for each row its sum less k times the zero point of A.
struct Scratch {
  Scratch(const Int8Tiles& t, int64_t m, int64_t k) : rest(whole_lines(m * packed_row(t, k))) {
    bytes = static_cast<size_t>(rest + whole_lines(m * static_cast<int64_t>(sizeof(int32_t))));
  }
  int64_t rest;
  size_t bytes;
};

/// The numbers of tiles and panels of a task.
struct Pieces {
  Pieces(int64_t all_tiles, int64_t all_panels, int64_t tile_rows, int64_t k, int threads)
      : tiles(all_tiles), panels(all_panels) {
    const auto elements = [&] { return tiles * tile_rows * panels * panel_filters; };
    const auto count = [&] { return ceil_div(all_tiles, tiles) * ceil_div(all_panels, panels); };
    const int64_t wanted = threads == 1 ? 1 : int64_t{4} * threads;
    const auto too_few = [&] {
      return count() < wanted && elements() * std::max<int64_t>(k, 1) > 2 * min_parallel_work;
    };
    while ((tiles > 1 || panels > 1) && (elements() > task_elements || too_few())) {
      if (panels > 1 && (tiles == 1 || panels * panel_filters >= 2 * tile_rows))
        panels = (panels + 1) / 2;
      else
        tiles = (tiles + 1) / 2;
    }
  }
  int64_t tiles, panels;
};

/// The macro-kernel: multiplies some tiles with some panels.
class Part {
 public:
  Part(const Int8Tiles& t, const Int8RowKernels& k, const Int8Product& p, const RowTiles& tiles,
       const uint8_t* packed, const int32_t* rest, Workers& workers)
      : t_(t), k_(k), p_(p), tiles_(tiles), packed_(packed), rest_(rest), workers_(workers) {}

  void compute(int64_t tile0, int64_t tile1, int64_t panel0, int64_t panel1) {
    const int64_t work = p_.k * panel_filters * t_.packed_rows;
    int64_t since_poll = polled_work;
    for (int64_t panel = panel0; panel < panel1; ++panel) {
      begin(panel);
      for (int64_t tile = tile0; tile < tile1; ++tile) {
        if ((since_poll += work) >= polled_work) workers_.poll(), since_poll = 0;
        multiply(tile, panel, tile - tile0, tile1 - tile0);
      }
    }
  }

 private:
  /// Sets the start of the sums of a panel's columns.
  void begin(int64_t panel) {
    const int32_t* const column_sums = packed_sums(p_.b, p_.n, p_.k) + panel * panel_filters;
    const int32_t* const bias = p_.bias ? p_.bias + panel * panel_filters : nullptr;
    for (int64_t j = 0; j < panel_filters; ++j)
      start_[j] =
          static_cast<int32_t>((bias ? static_cast<uint32_t>(bias[j]) : 0u) -
                               static_cast<uint32_t>(p_.a_zero) * static_cast<uint32_t>(column_sums[j]));
  }

  /// Multiplies a tile, number i of `tiles`, with a panel.
  void multiply(int64_t tile, int64_t panel, int64_t i, int64_t tiles) {
    const int64_t row = tiles_.begin(tile), rows = tiles_.rows(tile), column = panel * panel_filters;
    const int64_t columns = std::min(panel_filters, p_.n - column), depth = quads(p_.k);
    alignas(64) int32_t sums[max_int8_rows * panel_filters];
    // The micro-kernel makes floats of whole blocks itself; everything else takes a second step.
    const bool at_once = p_.floats && !p_.b_zero && columns % channel_block == 0;
    Int8Tile b{.x = packed_ + row * packed_row(t_, p_.k),
               .count = depth * quad / int8_block,
               .last_depth = depth % (int8_block / quad),
               .rows = rows,
               .w = p_.b + column * depth * quad,
               .start = start_,
               .sums = sums,
               .scale = p_.scale ? p_.scale + column : nullptr,
               .c = at_once ? p_.floats + row * p_.n + column : nullptr,
               .c_row = p_.n};
    if (panel + 1 < panels(p_.n) && depth * panel_row > fetched_panel)
      fetch_next_panel(b, b.w, depth, i, tiles);
    for (int64_t block = 0; block * channel_block < columns; block += t_.blocks) {
      const bool all = (block + t_.blocks - 1) * channel_block < columns;
      if (rows >= t_.tiled_rows) registers_.set(rows);
      (at_once ? t_.floats : t_.sums)[all][rows](b);
      const int64_t filters = t_.blocks * channel_block;
      b.w += filters * quad;
      b.start += filters;
      b.sums += filters;
      if (at_once) b.scale += filters, b.c += filters;
    }
    if (!at_once) requantize(sums, row, rows, column, columns);
  }

  void requantize(const int32_t* sums, int64_t row, int64_t rows, int64_t column, int64_t columns) const {
    const Int8Sums s{.sums = sums,
                     .rows = rows,
                     .columns = columns,
                     .row_rest = rest_ + row,
                     .column_zero = p_.b_zero ? p_.b_zero + column : nullptr,
                     .scale = p_.scale ? p_.scale + column : nullptr,
                     .zero = p_.zero,
                     .lowest = p_.lowest};
    const int64_t at = row * p_.n + column;
    if (p_.ints) k_.ints(s, p_.ints + at, p_.n);
    if (p_.floats) k_.floats(s, p_.floats + at, p_.n);
    if (p_.bytes) k_.bytes(s, p_.bytes + at, p_.n);
  }

  const Int8Tiles& t_;
  const Int8RowKernels& k_;
  const Int8Product& p_;
  const RowTiles& tiles_;
  const uint8_t* packed_;
  const int32_t* rest_;
  Workers& workers_;
  TileRegisters registers_;
  alignas(64) int32_t start_[panel_filters] = {};
};

/// Applies the epilogue to rows [r0, r1) and columns [c0, c1), which are final.
void apply_part(Epilogue& e, int64_t n, int64_t r0, int64_t r1, int64_t c0, int64_t c1) {
  e.apply_rows(r0 * n + c0, c1 - c0, r1 - r0, n);
}

}  // namespace

size_t int8_product_workspace(Isa isa, int64_t m, int64_t k) { return Scratch(int8_tiles(isa), m, k).bytes; }

void multiply_int8(Isa isa, const Int8Product& p, void* workspace, KernelContext& c) {
  if (p.m == 0 || p.n == 0) return;
  const Int8Tiles& t = int8_tiles(isa);
  const RowTiles tiles(p.m, t.packed_rows);
  auto* const packed = static_cast<uint8_t*>(workspace);
  auto* const rest = reinterpret_cast<int32_t*>(packed + Scratch(t, p.m, p.k).rest);
  const int64_t tile_bytes = t.packed_rows * packed_row(t, p.k);
  c.parallel(tiles.count(), std::max<int64_t>(1, min_parallel_work / (tile_bytes + 1)),
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t row = tiles.begin(i), rows = tiles.rows(i);
                 pack_rows(t, p.a + row * p.k, rows, p.k, p.a_signed, packed + row * packed_row(t, p.k),
                           p.b_zero ? rest + row : nullptr, c);
                 for (int64_t r = row; p.b_zero && r < row + rows; ++r)
                   rest[r] =
                       static_cast<int32_t>((p.k ? static_cast<uint32_t>(rest[r]) : 0u) -
                                            static_cast<uint32_t>(p.k) * static_cast<uint32_t>(p.a_zero));
               }
             });

  const Pieces piece(tiles.count(), panels(p.n), t.packed_rows, p.k, c.threads());
  const int64_t down = ceil_div(tiles.count(), piece.tiles), across = ceil_div(panels(p.n), piece.panels);
  for_each_task(c, down * across, [&](int64_t task, int64_t) {
    const int64_t tile0 = task % down * piece.tiles, tile1 = std::min(tile0 + piece.tiles, tiles.count());
    const int64_t panel0 = task / down * piece.panels, panel1 = std::min(panel0 + piece.panels, panels(p.n));
    Part(t, int8_row_kernels(isa), p, tiles, packed, rest, c).compute(tile0, tile1, panel0, panel1);
    if (Epilogue* e = p.floats ? c.epilogue() : nullptr)
      apply_part(*e, p.n, p.first_row + tiles.begin(tile0), p.first_row + tiles.begin(tile1),
                 panel0 * panel_filters, std::min(panel1 * panel_filters, p.n));
  });
}

}  // namespace lathe::cpu
