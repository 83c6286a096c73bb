// C = A B in seven products of 2 x 2 blocks instead of eight: Strassen's algorithm in Winograd's form, which
// takes fifteen sums of matrices. An eighth fewer multiplications, for products of many rows with a packed B.
//
// The quadrants are neighbors in memory. Those of B are two neighboring panels and the two halves of a block
// of k, so that their sums are made in the cache when they are used, and weights are packed as usual, those
// of 16 bits unchanged (a pair of panels is widened before it is multiplied with a group of rows). Those of A
// are the rows of a tile and the rows below them, whose sums are packed once for all of B.
//
// Sums of quadrants lose small numbers beside large ones: an element of C is only as exact as the largest of
// four would be. So rows of A are only combined if their norms are within `max_norm_ratio` of each other, and
// columns of B if those of all four quadrants are; everything else (rows of zeros, infinities and NaN
// included) is multiplied in eight products, without loss of accuracy.
//
// Nor may terms lose much to the terms they are combined with, term k of one half with term k' of the other:
// a large element of A whose elements of B are small would be multiplied with other, larger ones. With the
// largest magnitudes a[k] of a tile's rows and b[k] of two panels' columns, products of quadrants are of the
// size of the sum of (a[k] + a[k']) (b[k] + b[k']). Its mixed products, a[k] b[k'] and a[k'] b[k], must not
// be more than `max_mixed` times the others.
#pragma once

#include <optional>

#include "cpu/gemm/channel_scaling.h"
#include "cpu/gemm/gemm.h"

namespace lathe::cpu {

/// The largest ratio of the norms of two quadrants: beyond it an element could lose more to rounding than
/// sums of a few hundred terms are allowed to.
inline constexpr float max_norm_ratio = 16;
/// The largest ratio of the mixed products to the others. It is 1 where all terms are alike, and also where
/// some features are fifty times the others, as in language models, as long as their weights are like the
/// others'.
inline constexpr float max_mixed = 4;

/// Arguments of pack_rows: rows of A and as many that they are combined with, in a block of k.
struct StrassenRows {
  const float* a = nullptr;
  const int64_t *top = nullptr, *bottom = nullptr;  // offsets of the rows from a
  const int64_t* terms = nullptr;  // offsets of each a_block of terms in a row, of both halves
  int64_t rows = 0, half_k = 0;    // half_k: terms
  float scale = 1;
  const int64_t* channels = nullptr;  // for each a_block of terms, its first channel
  ChannelScaling before = {};
  float* to = nullptr;    // strassen_operands matrices, packed as tiles' A
  float* most = nullptr;  // the largest magnitude of each term, of both halves
};
/// The destination of sums: column j of row i is c[i * row + j / a_block * block + j % a_block].
struct StrassenSums {
  float* c = nullptr;
  int64_t row = 0, block = a_block;
  int64_t rows = 0, columns = 0;
  bool add = false;  // to the contents of c
  Start start = {};  // otherwise
  /// Added after that: column j of row i is added[i * added_row + j / a_block * added_block + j % a_block].
  const float* added = nullptr;
  int64_t added_row = 0, added_block = a_block;
  Bounds bounds = {};
};
/// A product of quadrants: rows of packed A times a panel of B. Its results, too, are dense rows of a panel's
/// width (NR).
struct StrassenTile {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* less = nullptr;  // the panel is b - less
  float* made = nullptr;        // where the difference is stored for other tiles
  int64_t k = 0;
  const float* from = nullptr;  // the start of the sums; null: zeros
  float* to = nullptr;
  const float* next = nullptr;  // prefetched
  int64_t next_lines = 0;       // lines that are prefetched with every strassen_unroll terms
};
inline constexpr int64_t strassen_unroll = 4, strassen_chain = 96;
/// The matrices that A is packed to: its four quadrants and the four sums that are multiplied.
inline constexpr int64_t strassen_operands = 8;

struct StrassenKernels {
  /// Packs rows; [1] scales them first. Returns whether the norms of all pairs of rows are near each other.
  bool (*pack_rows[2])(const StrassenRows&) = {};
  /// Returns whether, in a block of k of two panels, the norms of all quadrants' columns are near each other.
  /// Sets `most` to the largest magnitude of each term.
  bool (*compare_panels)(const float* left, const float* right, int64_t half_k, float* most) = nullptr;
  /// Returns whether terms that are combined lose little to each other, given the largest magnitudes of A's
  /// terms and of B's.
  bool (*compare_terms)(const float* a, const float* b, int64_t half_k) = nullptr;
  /// Products by rows: of a panel of B, and of a difference of two.
  void (*multiply[max_tiled_rows + 1])(const StrassenTile&) = {};
  void (*multiply_difference[max_tiled_rows + 1])(const StrassenTile&) = {};
  /// Completes and stores x, or x + y, which are rows of a panel's width.
  void (*epilogue)(const StrassenSums&, const float* x, const float* y) = nullptr;
};

/// A, and the positions of its elements: rows may be the pixels of an image, terms the taps of windows.
struct StrassenOperand {
  const float* data = nullptr;
  int64_t row = 0;                // from row to row
  int64_t width = 0, line = 0;    // after so many rows, the distance is `line`; width 0: never
  int64_t plane = a_block;        // from a_block terms to the next, where there are no taps
  int64_t taps = 1, tap_row = 1;  // taps of each a_block of terms, and those in one row
  int64_t tap = 0, tap_line = 0;  // from tap to tap, and from row to row of them

  int64_t row_at(int64_t i) const { return width > 0 ? i / width * line + i % width * row : i * row; }
  int64_t terms_at(int64_t block) const {
    const int64_t t = block % taps;
    return block / taps * plane + t / tap_row * tap_line + t % tap_row * tap;
  }
};

/// C = alpha A B + start. B is packed by pack_strassen, or otherwise in the same panels.
struct StrassenProduct {
  int64_t m = 0, n = 0, k = 0;
  StrassenOperand a = {};
  const void* b = nullptr;
  DataType b_type = DataType::float32;  // or a float of 16 bits
  const void* marks = nullptr;          // of B, written by compare_blocks
  float* c = nullptr;
  int64_t c_row = 0, c_block = a_block;  // as in StrassenSums
  int64_t all = 0;  // elements of the whole tensor of which c is a part, as the epilogue counts
  Start start = {};
  Epilogue* epilogue = nullptr;
  int64_t first_element = 0;  // what the epilogue calls the first element of c
  float alpha = 1;
  ChannelScaling before = {};  // of A, by channel; none if factor is null
};
/// Returns whether C is stored only once. Then its memory may be that of the tensor that the epilogue adds,
/// if both have the same size.
bool sums_once(int64_t k);
/// Returns whether the algorithm pays for m rows.
bool pays_strassen(const GemmKernels& g, int64_t m);
size_t strassen_workspace(const GemmKernels& g, const StrassenProduct& p, int threads);
void multiply_strassen(const GemmKernels& g, const StrassenProduct& p, void* workspace, KernelContext& c);

/// The marks of packed panels of the same width: the largest magnitude of every term of each pair of panels,
/// and whether the pair may be multiplied in seven products, which pairs with missing columns may not. They
/// follow the panels; their size is in elements of the panels' type.
int64_t marks_size(const GemmKernels& g, int64_t k, int64_t n);
void compare_blocks(const GemmKernels& g, DataType type, const void* panels, int64_t k, int64_t n,
                    void* marks, Workers& workers);

/// Returns whether products with a packed B of k rows can be computed in seven products.
Support supports_strassen(const KernelQuery& r, DataType type, int64_t k);
/// Returns whether that is faster for m rows (nothing: unknown). Too few rows are multiplied as usual.
Support prefer_strassen(const KernelQuery& r, std::optional<int64_t> m, int64_t n);

/// The elements that packed B occupies: panels as pack_whole_b makes them, followed by marks.
int64_t strassen_size(Isa isa, int64_t k, int64_t n);
/// Packs a matrix of float32 or of 16-bit floats, whose element (i, j) is at i * row + j * column.
void pack_strassen(Isa isa, DataType type, void* to, const void* from, int64_t row, int64_t column, int64_t k,
                   int64_t n, Workers& workers);

/// The same as multiply() with one packed matrix, which it calls for too few rows and for strict kernels.
size_t strassen_workspace(const GemmKernels& g, const Products& p, int threads);
void multiply_strassen(const GemmKernels& g, const Products& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
