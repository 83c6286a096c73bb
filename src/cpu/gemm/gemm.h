// C = A B for float32: packing, blocking over the caches and work sharing among threads. Other kernels
// (convolution, recurrent networks) are built of it.
//
// In BLIS's words a Tile is the work of a micro-kernel: at most MR rows times NR columns of C. B is packed in
// panels of NR columns, and k is blocked by KC.
//
// Every element of C is summed in one order, which depends on the shapes alone: k is cut in fixed blocks,
// rows in tiles that follow from the number of rows. So the bits are the same however the work is divided.
// Tiles of one row have several sums for each element; the strict kernels do without, so that the
// bits of a row do not depend on the number of rows either.
#pragma once

#include "base/cpu.h"
#include "cpu/simd/amx.h"
#include "cpu/simd/f16.h"

namespace lathe::cpu {

/// The rows of packed A consist of blocks of this many terms (k).
inline constexpr int64_t a_block = 16;
/// KC: C is updated after at most this many k, so that a panel's block of B stays in the second-level cache.
/// Shorter blocks would fit the first-level cache, but sequential reads from the second are fast enough,
/// while each beginning and end of a block costs time (measured: 2 % with many rows, 8 % with sixteen).
inline constexpr int64_t KC = 768;

/// A matrix in memory: element (i, j) is data[i * row + j * column].
struct Operand {
  const float* data = nullptr;
  int64_t row = 0, column = 1;
};

/// A matrix of bfloat16 in the same form, whose rows are multiplied in pairs.
struct Bf16PairOperand {
  const BFloat16* data = nullptr;
  int64_t row = 0, column = 1;

  Bf16PairOperand from(int64_t i, int64_t j) const { return {data + i * row + j * column, row, column}; }
};

/// The initial value of C: scale * data[i * row + j * column], column 0 or 1; none when data is null.
struct Start {
  const float* data = nullptr;
  int64_t row = 0, column = 0;
  float scale = 1;
};

/// The arguments of a micro-kernel: a tile of C, its packed rows of A (at most MR), its panel of B (NR
/// columns, packed or in place).
struct Tile {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* bf16x3 = nullptr;  // b split into bfloat16; null: the kernel multiplies in float32
  PanelSplit* split = nullptr;    // a panel to split meanwhile
  int64_t b_row = 0;              // from one row of the panel to the next
  int64_t b_panel = 0;            // from this panel to the next, where the tile covers several
  float* c = nullptr;
  int64_t c_row = 0;
  int64_t rows = 0, k = 0, columns = 0;
  Start start = {};
  const float* added = nullptr;  // added to each row of C once its sums are complete
  Bounds bounds = {};            // to which C is clamped then
  const float* next = nullptr;   // prefetched into the cache meanwhile,
  int64_t next_step = 0;         // this many floats with each term, up to two lines
  const float* after = nullptr;  // for panels that come from memory: the panel that is multiplied next
};

/// At most this many rows are multiplied with two panels at once: they wait for reads, not for arithmetic,
/// and two streams are read faster than one (measured: from the second-level cache and beyond, a third).
inline constexpr int two_panel_rows = 4;

inline int64_t blocked(int64_t k) { return (k + a_block - 1) / a_block * a_block; }

/// Micro-kernels that widen panels of 16-bit floats as they read them, for so few tiles that widening a panel
/// first takes longer.
struct F16Tiles {
  void (*one[max_tiled_rows + 1])(const Tile&) = {};                   // by rows
  void (*two_panels_stream[2][two_panel_rows + 1])(const Tile&) = {};  // as those of GemmKernels

  void run_stream(int64_t rows, const Tile& t, int64_t panels) const {
    panels == 2 ? two_panels_stream[cpu_features().streams_past_l2][rows](t) : one[rows](t);
  }
};

/// The micro-kernels and packing functions of one instruction set.
struct GemmKernels {
  Isa isa;
  int MR;
  int64_t NR;  // two vectors
  int64_t vector;
  bool strict = false;
  /// Micro-kernels of this many rows and more require TileRegisters that are set for their rows.
  int tiled_rows = max_tiled_rows + 1;
  void (*one_vector[max_tiled_rows + 1])(const Tile&) = {};  // by rows; panels of at most one vector
  void (*two_vectors[max_tiled_rows + 1])(const Tile&) = {};
  void (*two_panels[two_panel_rows + 1])(const Tile&) = {};  // two whole panels
  /// The same for panels that come from memory and are read once: rows of B are prefetched, [0] into the
  /// second-level cache, [1] past it. (Measured on an Intel Xeon: 7 to 17 % faster with one to four rows, 28
  /// % with one of pairs. If B is in the second-level cache, prefetching costs a few rows 15 %.)
  void (*two_panels_stream[2][two_panel_rows + 1])(const Tile&) = {};
  /// One row of four whole panels: from the second-level cache four streams come faster than two (measured on
  /// a Zen 5: an LSTM's steps of 256 KB to 1.6 MB 4 to 7 %; from memory not). Null where there are too few
  /// registers.
  void (*four_panels)(const Tile&) = nullptr;
  /// Stores `rows` rows of one panel's C from their sums, which are rows of two vectors.
  void (*epilogue_sums)(const Tile&, const float* sums) = nullptr;
  F16Tiles f16[2] = {};  // float16, bfloat16
  void (*pack_a)(float* to, const Operand& a, int64_t rows, int64_t k, float scale) = nullptr;
  void (*pack_b)(float* to, const Operand& b, int64_t k, int64_t columns) = nullptr;
  /// Instead of pack_a in kernels that multiply float32 in bf16x3 (cpu/simd/bf16x3_amx.h): splits A. Returns
  /// whether every element could be split.
  bool (*split_a)(float* to, const Operand& a, int64_t rows, int64_t k, float scale) = nullptr;
  /// Splits a panel, or the rest of it.
  void (*split_b)(PanelSplit& panel) = nullptr;
  /// Kernels of bf16x3 that multiply() uses for many rows.
  const GemmKernels* bf16x3 = nullptr;

  void run(int64_t rows, const Tile& t) const {
    if (t.columns > 2 * NR) return four_panels(t);
    (t.columns > NR ? two_panels : t.columns > vector ? two_vectors : one_vector)[rows](t);
  }
  void run_stream(int64_t rows, const Tile& t) const {
    t.columns > NR ? two_panels_stream[cpu_features().streams_past_l2][rows](t) : run(rows, t);
  }
  const F16Tiles& f16_of(DataType t) const { return f16[t == DataType::bfloat16]; }
  int64_t panels(int64_t n) const { return (n + NR - 1) / NR; }
  /// The number of floats that k packed terms of a row of A occupy.
  int64_t packed_terms(int64_t k) const {
    constexpr auto of_step = part_count * part_pixel / static_cast<int64_t>(sizeof(float));
    return split_a ? (k + part_depth - 1) / part_depth * of_step : blocked(k);
  }
};
/// With AVX-512 and AMX, unless strict, the result also has the kernels of bf16x3.
const GemmKernels& gemm_kernels(Isa isa, bool strict = false);
/// Kernels whose elements are pairs of bfloat16, two neighboring terms each, that are summed in float32: k
/// counts pairs, A is float32 with `column` 2, and B is packed by pack_bf16_pairs. There is no pack_b. With
/// AVX-512 they use the processor's bf16 instructions if it has them (these may round sums differently),
/// unless use_bf16(false) was called, and AMX except in strict kernels, since a few rows do without it and
/// are summed in another order.
const GemmKernels& bf16_dot2_kernels(Isa isa, bool strict = false);
/// The Kernel::strict text of kernels that have strict variants.
inline constexpr const char* strict_products = "a single row is summed in the order of many";
void use_bf16(bool yes);
bool uses_bf16();

/// Divides rows into tiles of nearly equal height, at most `highest` (MR).
class RowTiles {
 public:
  RowTiles(int64_t rows, int highest) : RowTiles(of_count((rows + highest - 1) / highest, rows)) {}
  /// Divides rows into `count` tiles.
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

/// The position of a row of A after packing, in blocks of a_block terms.
struct PackedRow {
  PackedRow(const RowTiles& tiles, int64_t row, int64_t k) {
    const int64_t t = tiles.tile_of(row);
    first = tiles.begin(t) * blocked(k) + (row - tiles.begin(t)) * a_block;
    block = tiles.rows(t) * a_block;
  }
  int64_t first, block;  // where it begins, and from one block to the next
};

/// The number of floats that a packed matrix occupies.
inline int64_t packed_a_size(int64_t m, int64_t k) { return m * blocked(k); }
inline int64_t packed_b_size(const GemmKernels& g, int64_t k, int64_t n) { return g.panels(n) * g.NR * k; }

/// Packs all of B, panel after panel (of NR columns).
void pack_whole_b(const GemmKernels& g, float* to, const Operand& b, int64_t k, int64_t n, Workers& workers);
/// The same for a matrix of `type`: float32, or a float of 16 bits, which is not converted. Element (i, j) is
/// at i * row + j * column, counted from `from`.
void pack_whole_b(const GemmKernels& g, DataType type, void* to, const void* from, int64_t row,
                  int64_t column, int64_t k, int64_t n, Workers& workers);
/// Packs all of a matrix of bfloat16 for bf16_dot2_kernels: k counts pairs.
void pack_bf16_pairs(const GemmKernels& g, BFloat16* to, const Bf16PairOperand& b, int64_t k, int64_t n,
                     Workers& workers);
/// Packs all of A, tile after tile.
void pack_whole_a(const GemmKernels& g, float* to, const Operand& a, int64_t m, int64_t k, Workers& workers);

/// Makes panels of B when they are read, from weights in another form.
class PanelSource {
 public:
  virtual ~PanelSource() = default;
  /// Writes rows [k0, k0 + k) of a panel as pack_b does. Called from any thread.
  virtual void unpack(int64_t panel, int64_t k0, int64_t k, float* to) const = 0;
};

/// A product whose operands are packed completely. B may also be in place if its rows are dense and n is a
/// multiple of the panel width.
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
  Epilogue* epilogue = nullptr;  // applied to elements of c, which is dense; null: none
  int64_t first_element = 0;     // what the epilogue calls the first element of c
  bool no_split = false;         // for kernels of bf16x3: an element of a cannot be split
  bool backwards =
      false;  // for a few rows: take the last panel first. Callers do so every other time, so that the part
              // of a large matrix that is still in the cache is used before it is evicted
};
/// Computes tiles [t0, t1) x panels [p0, p1) of C: the macro-kernel.
void multiply_packed(const GemmKernels& g, const PackedProduct& p, int64_t t0, int64_t t1, int64_t p0,
                     int64_t p1, KernelContext& c);

/// Many products of one shape: C[i] = alpha A[i] B[i] + start, for every index i of `batch`.
struct Products {
  int64_t m = 0, n = 0, k = 0;
  Shape batch = {};
  Shape a_step = {}, b_step = {};      // for each batch axis, in matrices; 0: the same for all
  Operand a = {}, b = {};              // the first product's
  int64_t a_matrix = 0, b_matrix = 0;  // elements from one matrix to the next
  const void* packed_b = nullptr;      // instead of b: matrices from pack_whole_b, one after the other
  DataType packed_type = DataType::float32;
  const PanelSource* panels = nullptr;  // instead of b and packed_b: the same matrix for all
  float* c = nullptr;                   // dense, one product after the other
  Start start = {};                     // of every product alike
  Epilogue* epilogue = nullptr;         // applied to elements of c; null: none
  float alpha = 1;

  int64_t count() const { return count_of(batch); }
  /// The index of the matrix of product i, by the steps of its operand.
  int64_t matrix(int64_t i, const Shape& step) const {
    int64_t at = 0;
    for (size_t axis = batch.size(); axis-- > 0; i /= batch[axis]) at += i % batch[axis] * step[axis];
    return at;
  }
};
/// One row times a packed matrix: c = a B + start. Requires no scratch. Small networks consist of such
/// products.
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

/// The bytes of scratch that multiply() requires, 64-byte aligned.
size_t multiply_workspace(const GemmKernels& g, const Products& p);
void multiply(const GemmKernels& g, const Products& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
