// Packs complete operands of products on all threads.
#include "cpu/gemm/gemm_pack.h"

#include <bit>
#include <cstring>

#include "cpu/ceil_of.h"

namespace lathe::cpu {
namespace {

/// Calls pack(strip, k0, length) for every strip of `width` rows or columns and all of its k, in whole
/// blocks.
template <class F>
void share_packing(Workers& workers, int64_t strips, int64_t width, int64_t k, F&& pack) {
  auto work = [&](int64_t begin, int64_t end) {
    for (int64_t strip = begin; strip < end; ++strip)
      pack_pieces(k, width, workers, [&](int64_t k0, int64_t length) { pack(strip, k0, length); });
  };
  workers.parallel(strips, std::max<int64_t>(1, packed_in_one_go / (width * (k + 1))), work);
}

}  // namespace

void pack_whole_b(const GemmKernels& g, float* to, const Operand& b, int64_t k, int64_t n, Workers& workers) {
  constexpr int64_t some_rows = 16, polled_panels = 64;
  const int64_t width = g.NR, panels = g.panels(n);
  const auto pack = [&](int64_t panel, int64_t k0, int64_t length) {
    const int64_t j = panel * width;
    g.pack_b(to + j * k + k0 * width, {b.data + k0 * b.row + j * b.column, b.row, b.column}, length,
             std::min(width, n - j));
  };
  if (b.column != 1) return share_packing(workers, panels, width, k, pack);
  // A few whole rows at a time, in the order of memory: a single panel would touch a page per row.
  const int64_t grain = std::max<int64_t>(1, packed_in_one_go / (some_rows * width * (panels + 1)));
  workers.parallel(ceil_of(k, some_rows), grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t panel = 0; panel < panels; ++panel) {
        if (panel % polled_panels == 0) workers.poll();
        pack(panel, i * some_rows, std::min(some_rows, k - i * some_rows));
      }
  });
}

namespace {

/// Packs one panel of a matrix of 16-bit elements of any kind at any address.
void pack_f16(const GemmKernels& g, uint16_t* to, const std::byte* b, int64_t row, int64_t column, int64_t k,
              int64_t columns) {
  constexpr int64_t square = 16;  // of a transposed matrix: lines stay in the cache for their other columns
  constexpr auto size = static_cast<int64_t>(sizeof(uint16_t));
  std::fill_n(to, columns < g.NR ? k * g.NR : 0, uint16_t{0});
  for (int64_t k0 = 0; k0 < k; k0 += square)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t i = k0; i < std::min(k0 + square, k); ++i)
        std::memcpy(to + i * g.NR + j, b + (i * row + j * column) * size, sizeof(uint16_t));
}

}  // namespace

void pack_whole_b(const GemmKernels& g, DataType type, void* to, const void* from, int64_t row,
                  int64_t column, int64_t k, int64_t n, Workers& workers) {
  if (type == DataType::float32)
    return pack_whole_b(g, static_cast<float*>(to), {static_cast<const float*>(from), row, column}, k, n,
                        workers);
  const int64_t width = g.NR;
  share_packing(workers, g.panels(n), width, k, [&](int64_t panel, int64_t k0, int64_t some) {
    const int64_t j = panel * width;
    pack_f16(g, static_cast<uint16_t*>(to) + j * k + k0 * width,
             static_cast<const std::byte*>(from) + (k0 * row + j * column) * 2, row, column, some,
             std::min(width, n - j));
  });
}

namespace {

constexpr auto pair_size = 2 * static_cast<int64_t>(sizeof(BFloat16));

/// Makes a row of pairs, each of the elements of two rows, in a loop that compilers vectorize.
void zip_rows(const BFloat16* low, const BFloat16* high, int64_t n, BFloat16* to) {
  for (int64_t j = 0; j < n; ++j) {
    const uint32_t pair = low[j].bits | static_cast<uint32_t>(high[j].bits) << 16;
    std::memcpy(to + 2 * j, &pair, sizeof pair);
  }
}

/// Packs the pairs of a panel whose columns are dense, a line of each column at a time.
void transpose_pairs(const BFloat16* from, int64_t column, int64_t pairs, int64_t columns, int64_t width,
                     BFloat16* to) {
  constexpr int64_t of_line = 64 / pair_size;
  for (int64_t p0 = 0; p0 < pairs; p0 += of_line)
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t p = p0; p < std::min(p0 + of_line, pairs); ++p)
        std::memcpy(to + 2 * (p * width + j), from + j * column + 2 * p, pair_size);
}

}  // namespace

void pack_bf16_pairs(const Bf16PairOperand& b, int64_t pairs, int64_t columns, int64_t width, BFloat16* to) {
  static_assert(std::endian::native == std::endian::little);
  if (columns < width) std::fill_n(to, 2 * pairs * width, BFloat16{0});
  if (b.row == 1) return transpose_pairs(b.data, b.column, pairs, columns, width, to);
  const BFloat16* from = b.data;
  for (int64_t p = 0; p < pairs; ++p, to += 2 * width, from += 2 * b.row)
    if (b.column == 1)
      zip_rows(from, from + b.row, columns, to);
    else
      for (int64_t j = 0; j < columns; ++j)
        to[2 * j] = from[j * b.column], to[2 * j + 1] = from[b.row + j * b.column];
}

void pack_bf16_pairs(const GemmKernels& g, BFloat16* to, const Bf16PairOperand& b, int64_t k, int64_t n,
                     Workers& workers) {
  const int64_t width = g.NR;
  share_packing(workers, g.panels(n), 2 * width, k, [&](int64_t panel, int64_t pair0, int64_t pairs) {
    const int64_t first = panel * width;
    pack_bf16_pairs(b.from(2 * pair0, first), pairs, std::min(width, n - first), width,
                    to + (first * k + pair0 * width) * 2);
  });
}

void pack_whole_a(const GemmKernels& g, float* to, const Operand& a, int64_t m, int64_t k, Workers& workers) {
  const RowTiles tiles(m, g.MR);
  share_packing(workers, tiles.count(), g.MR, k, [&](int64_t tile, int64_t k0, int64_t some) {
    const int64_t row = tiles.begin(tile), rows = tiles.rows(tile);
    g.pack_a(to + row * g.packed_terms(k) + k0 * rows,
             {a.data + row * a.row + k0 * a.column, a.row, a.column}, rows, some, 1);
  });
}

}  // namespace lathe::cpu
