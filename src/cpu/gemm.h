// C = A B for float32: packing, blocking over the caches and the work for many threads. What other kernels
// (convolution, recurrent networks) are made of.
//
// Every element of C is summed in one order, which depends on the shapes alone: k is cut in fixed blocks,
// rows in tiles that follow from the number of rows. So the bits are the same however the work is divided.
// Tiles of one row have several sums for each element; the strict kernels do without, so that the
// bits of a row do not depend on the number of rows either.
#pragma once

#include "base/cpu.h"
#include "cpu/amx.h"
#include "cpu/half.h"

namespace lathe::cpu {

/// A is packed in blocks of this many k.
inline constexpr int64_t a_block = 16;
/// C is updated after at most this many k: a panel's share of B stays in the second-level cache. Shorter
/// blocks would fit the first-level cache, but what is read in order comes from the second fast enough, while
/// each beginning and end of a block costs (measured: 2 % with many rows, 8 % with sixteen).
inline constexpr int64_t k_block = 768;

/// A matrix somewhere in memory: element (i, j) is data[i * row + j * column].
struct Operand {
  const float* data = nullptr;
  int64_t row = 0, column = 1;
};

/// A matrix of bfloat16, likewise, whose rows are multiplied in pairs.
struct PairOperand {
  const BFloat16* data = nullptr;
  int64_t row = 0, column = 1;

  PairOperand from(int64_t i, int64_t j) const { return {data + i * row + j * column, row, column}; }
};

/// What C begins with: scale * data[i * row + j * column], column 0 or 1; nothing when data is null.
struct Start {
  const float* data = nullptr;
  int64_t row = 0, column = 0;
  float scale = 1;
};

/// One tile of C: its rows of A packed, its panel of B (packed, or rows in place).
struct Tile {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* parts = nullptr;  // of b; null where a kernel of parts is to do without
  PanelSplit* split = nullptr;   // what to split meanwhile
  int64_t b_row = 0;             // from one row of the panel to the next
  int64_t b_panel = 0;           // from this panel to the next, where the tile goes over two
  float* c = nullptr;
  int64_t c_row = 0;
  int64_t rows = 0, k = 0, columns = 0;
  Start start = {};
  const float* added = nullptr;  // to each row of C, once its sums are whole
  Bounds bounds = {};            // that C is kept within then
  const float* next = nullptr;   // what is to be fetched into the cache meanwhile,
  int64_t next_step = 0;         // so many floats with each term, up to two lines
  const float* after = nullptr;  // of panels that come from memory: what is multiplied after this one
};

/// So few rows go over two panels at once: what is read, not the arithmetic, is what they wait for, and two
/// streams come faster than one (measured: from the second-level cache and beyond, a third).
inline constexpr int twin_rows = 4;

inline int64_t blocked(int64_t k) { return (k + a_block - 1) / a_block * a_block; }

/// Tiles whose panels of B are floats of 16 bits, widened as they are read: for so few of them that widening
/// a panel first takes longer.
struct HalfTiles {
  void (*one[most_tiled_rows + 1])(const Tile&) = {};       // by rows
  void (*twin_stream[2][twin_rows + 1])(const Tile&) = {};  // as those of GemmKernels

  void run_stream(int64_t rows, const Tile& t, int64_t panels) const {
    panels == 2 ? twin_stream[cpu_features().streams_past_l2][rows](t) : one[rows](t);
  }
};

/// What is compiled for each instruction set.
struct GemmKernels {
  Isa isa;
  int max_rows;
  int64_t panel_columns;  // two vectors
  int64_t vector;
  bool strict = false;
  /// So many rows and more want TileRegisters, set for these.
  int tiled_rows = most_tiled_rows + 1;
  void (*narrow[most_tiled_rows + 1])(const Tile&) = {};  // by rows, panels of at most one vector
  void (*wide[most_tiled_rows + 1])(const Tile&) = {};
  void (*twin[twin_rows + 1])(const Tile&) = {};  // two whole panels
  /// The same for panels that come from memory and are read once: they ask for rows of B ahead. (Measured on
  /// an Intel Xeon: 7 to 17 % faster with one to four rows, 28 % with one of pairs. From the second-level
  /// cache a few rows lose 15 % by asking.) Into the second-level cache, and past it.
  void (*twin_stream[2][twin_rows + 1])(const Tile&) = {};
  /// One row of four whole panels: from the second-level cache four streams come faster than two (measured on
  /// a Zen 5: an LSTM's steps of 256 KB to 1.6 MB 4 to 7 %; from memory not). Null where there are too few
  /// registers.
  void (*quad)(const Tile&) = nullptr;
  /// Makes `rows` rows of one panel's C of their sums, which are rows of two vectors.
  void (*finish_sums)(const Tile&, const float* sums) = nullptr;
  HalfTiles halves[2] = {};  // float16, bfloat16
  void (*pack_a)(float* to, const Operand& a, int64_t rows, int64_t k, float scale) = nullptr;
  void (*pack_b)(float* to, const Operand& b, int64_t k, int64_t columns) = nullptr;
  /// Of kernels that multiply float32 in parts (cpu/parts_amx.h), instead of pack_a: was there nothing that
  /// has none?
  bool (*split_a)(float* to, const Operand& a, int64_t rows, int64_t k, float scale) = nullptr;
  /// All of a panel, or what is left of it.
  void (*split_b)(PanelSplit& panel) = nullptr;
  /// Kernels of parts that multiply() takes for many rows.
  const GemmKernels* parts = nullptr;

  void run(int64_t rows, const Tile& t) const {
    if (t.columns > 2 * panel_columns) return quad(t);
    (t.columns > panel_columns ? twin : t.columns > vector ? wide : narrow)[rows](t);
  }
  void run_stream(int64_t rows, const Tile& t) const {
    t.columns > panel_columns ? twin_stream[cpu_features().streams_past_l2][rows](t) : run(rows, t);
  }
  const HalfTiles& halves_of(DataType t) const { return halves[t == DataType::bfloat16]; }
  int64_t panels(int64_t n) const { return (n + panel_columns - 1) / panel_columns; }
  /// Floats that k packed terms of a row of A take.
  int64_t packed_terms(int64_t k) const {
    constexpr auto of_step = part_count * part_pixel / static_cast<int64_t>(sizeof(float));
    return split_a ? (k + part_depth - 1) / part_depth * of_step : blocked(k);
  }
};
/// With AVX-512 and AMX, not strict: those of parts beside them.
const GemmKernels& gemm_kernels(Isa isa, bool strict = false);
/// Kernels whose elements are pairs of bfloat16, two neighbouring terms of a sum each, added up in float32: k
/// counts pairs, an Operand A is float32 with `column` 2, and B is packed by pack_pairs. There is no pack_b.
/// With AVX-512 the processor's own instructions where it has them (they may round sums differently), unless
/// use_bf16(false) was said, and beside them AMX, which the strict kernels do without: a few rows are summed
/// in another order.
const GemmKernels& pair_kernels(Isa isa, bool strict = false);
/// What kernels say that make use of it (Kernel::strict).
inline constexpr const char* strict_products = "a single row is summed in the order of many";
void use_bf16(bool yes);
bool uses_bf16();

/// Rows in tiles of nearly equal height, at most `highest`.
class RowTiles {
 public:
  RowTiles(int64_t rows, int highest) : RowTiles(of_count((rows + highest - 1) / highest, rows)) {}
  /// So many tiles.
  static RowTiles of_count(int64_t count, int64_t rows) {
    RowTiles tiles;
    tiles.count_ = count;
    if (count > 0) tiles.height_ = rows / count, tiles.higher_ = rows % count;
    return tiles;
  }
  int64_t count() const { return count_; }
  int64_t begin(int64_t tile) const { return tile * height_ + (tile < higher_ ? tile : higher_); }
  int64_t rows(int64_t tile) const { return height_ + (tile < higher_); }
  int64_t tile_of(int64_t row) const {
    const int64_t in_higher = higher_ * (height_ + 1);
    return row < in_higher ? row / (height_ + 1) : higher_ + (row - in_higher) / height_;
  }

 private:
  RowTiles() = default;

  int64_t count_ = 0, height_ = 0, higher_ = 0;
};

/// Where a row of A lies once packed: blocks of a_block terms.
struct PackedRow {
  PackedRow(const RowTiles& tiles, int64_t row, int64_t k) {
    const int64_t t = tiles.tile_of(row);
    first = tiles.begin(t) * blocked(k) + (row - tiles.begin(t)) * a_block;
    block = tiles.rows(t) * a_block;
  }
  int64_t first, block;  // where it begins, and from one block to the next
};

/// Floats that a packed matrix takes.
inline int64_t packed_a_size(int64_t m, int64_t k) { return m * blocked(k); }
inline int64_t packed_b_size(const GemmKernels& g, int64_t k, int64_t n) {
  return g.panels(n) * g.panel_columns * k;
}

/// Packs all of B, panel after panel.
void pack_whole_b(const GemmKernels& g, float* to, const Operand& b, int64_t k, int64_t n, Workers& workers);
/// The same of a matrix of one type: float32, or a float of 16 bits, which stays what it is. Element (i, j)
/// is the one at i * row + j * column from `from` on.
void pack_whole_b(const GemmKernels& g, DataType type, void* to, const void* from, int64_t row,
                  int64_t column, int64_t k, int64_t n, Workers& workers);
/// Packs all of a matrix of bfloat16 for pair_kernels: k counts pairs.
void pack_pairs(const GemmKernels& g, BFloat16* to, const PairOperand& b, int64_t k, int64_t n,
                Workers& workers);
/// Packs all of A, tile after tile.
void pack_whole_a(const GemmKernels& g, float* to, const Operand& a, int64_t m, int64_t k, Workers& workers);

/// Panels of B that are made when they are read: of weights that are kept in another form.
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  /// Rows [k0, k0 + k) of a panel, as pack_b makes them. Called by any thread.
  virtual void unpack(int64_t panel, int64_t k0, int64_t k, float* to) const = 0;
};

/// A product whose operands are packed whole. B may also be in place, where its rows are dense and n is a
/// whole number of panels.
struct PackedProduct {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const void* b = nullptr;
  DataType b_type = DataType::float32;     // or a float of 16 bits, where b is packed
  const PanelSource* panels = nullptr;     // instead of b
  int64_t b_row = 0, b_panel = 0;          // from row to row, and from panel to panel
  int64_t first_row = 0, first_panel = 0;  // where a and b begin
  float* c = nullptr;
  int64_t c_row = 0;
  Start start = {};
  Epilogue* epilogue = nullptr;  // on elements of c, which is dense; null: none
  int64_t first_element = 0;     // what the epilogue calls the first element of c
  bool plain = false;            // of kernels of parts: something in a has none
  bool backwards = false;  // of a few rows: take the last panel first. Every other time, so that what a cache
                           // still holds of a matrix larger than itself is used before it is driven out
};
/// Computes tiles [t0, t1) x panels [p0, p1) of C.
void multiply_packed(const GemmKernels& g, const PackedProduct& p, int64_t t0, int64_t t1, int64_t p0,
                     int64_t p1, KernelContext& c);

/// Many products of one shape: C[i] = alpha A[i] B[i] + start, for every index i of `batch`.
struct Products {
  int64_t m = 0, n = 0, k = 0;
  Shape batch = {};
  Shape a_step = {}, b_step = {};      // of each batch axis, in matrices; 0: the same for all
  Operand a = {}, b = {};              // the first product's
  int64_t a_matrix = 0, b_matrix = 0;  // elements from one matrix to the next
  const void* packed_b = nullptr;      // instead of b: matrices from pack_whole_b, one after the other
  DataType packed_type = DataType::float32;
  const PanelSource* panels = nullptr;  // instead of b and packed_b: the same matrix for all
  float* c = nullptr;                   // dense, one product after the other
  Start start = {};                     // of every product alike
  Epilogue* epilogue = nullptr;         // on elements of c; null: none
  float alpha = 1;

  int64_t count() const { return count_of(batch); }
  /// Which matrix product i takes, by the steps of its operand.
  int64_t matrix(int64_t i, const Shape& step) const {
    int64_t at = 0;
    for (size_t axis = batch.size(); axis-- > 0; i /= batch[axis]) at += i % batch[axis] * step[axis];
    return at;
  }
};
/// One row times a packed matrix: c = a B + start. Takes no scratch. Of what multiply() is asked, it is the
/// part that small networks consist of.
struct RowProduct {
  int64_t n = 0, k = 0;
  const float* a = nullptr;
  const void* packed_b = nullptr;  // from pack_whole_b
  DataType packed_type = DataType::float32;
  float* c = nullptr;
  Start start = {};
  Epilogue* epilogue = nullptr;
};
void multiply(const GemmKernels& g, const RowProduct& p, KernelContext& c);

/// Bytes of scratch that multiply() needs, 64-byte aligned.
size_t multiply_workspace(const GemmKernels& g, const Products& p);
void multiply(const GemmKernels& g, const Products& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
