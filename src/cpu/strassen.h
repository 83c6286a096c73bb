// C = A B in seven products of halves instead of eight: Strassen's algorithm in Winograd's form, which takes
// fifteen sums of matrices. An eighth fewer multiplications, for products of many rows with a packed B.
//
// What is halved lies together in memory: of B two neighbouring panels and the two halves of a block of k, so
// that sums of its parts are made in the cache when they are used, and weights are packed as always, those of
// 16 bits as they are (a pair of panels is widened before it is multiplied with a group of rows); of A
// the rows of a tile and those below them, whose sums are packed once for all of B.
//
// Sums of parts lose what is small beside what is large: an element of C is as exact as the largest of four
// would be. So rows of A are only taken together where their norms are within `most_apart` of each other, and
// columns of B where those of all four parts are; everything else (rows of zeros, infinities and NaN among
// it) is multiplied in eight products, as exactly as ever.
//
// Nor may terms lose much to those they are taken together with, term k of one half with term k' of the
// other: a large element of A, whose elements of B are small, would be multiplied with other ones. With the
// largest magnitudes a of a tile's rows and b of two panels' columns, by term, products of parts are of the
// size of the sum of (a[k] + a[k']) (b[k] + b[k']). Its mixed products, a[k] b[k'] and a[k'] b[k], must not
// be more than `most_mixed` times the others.
#pragma once

#include <optional>

#include "cpu/channel_scaling.h"
#include "cpu/gemm.h"

namespace lathe::cpu {

/// How many times the norm of one part that of another may be: beyond it an element could lose more to
/// rounding than sums of a few hundred terms are allowed to.
inline constexpr float most_apart = 16;
/// And how many times products that nobody wants may be those that are wanted. Where terms are alike they are
/// as many, and where some features are fifty times the others, as in language models, as long as the weights
/// of these are like the others'.
inline constexpr float most_mixed = 4;

/// Rows of A and as many that they are taken together with, in a block of k.
struct StrassenRows {
  const float* a = nullptr;
  const int64_t *top = nullptr, *bottom = nullptr;  // where they begin, from a
  const int64_t* terms = nullptr;  // where, from there, each a_block of terms lies: of one half, of the other
  int64_t rows = 0, half = 0;      // half: terms
  float scale = 1;
  const int64_t* channels = nullptr;  // of each a_block of terms, where its channels begin
  ChannelScaling before = {};
  float* to = nullptr;    // strassen_operands matrices, packed as tiles' A
  float* most = nullptr;  // of each term, of one half and of the other, the largest magnitude
};
/// Where sums go: column j of row i is c[i * row + j / a_block * block + j % a_block].
struct StrassenSums {
  float* c = nullptr;
  int64_t row = 0, block = a_block;
  int64_t rows = 0, columns = 0;
  bool add = false;  // to what is there
  Start start = {};  // else
  /// Then added: column j of row i is added[i * added_row + j / a_block * added_block + j % a_block].
  const float* added = nullptr;
  int64_t added_row = 0, added_block = a_block;
  Bounds bounds = {};
};
/// A product of parts: rows of packed A times a panel of B, dense rows of a panel's width as all that it
/// makes.
struct StrassenTile {
  const float* a = nullptr;
  const float* b = nullptr;
  const float* less = nullptr;  // b less this is the panel
  float* made = nullptr;        // where it is kept for other tiles
  int64_t k = 0;
  const float* from = nullptr;  // what the sums begin with; null: nothing
  float* to = nullptr;
  const float* next = nullptr;  // what is wanted soon
  int64_t next_lines = 0;       // how much of it to ask for with every strassen_turn terms
};
inline constexpr int64_t strassen_turn = 4, strassen_chain = 96;
/// Of A: its four parts, and the four sums that are multiplied.
inline constexpr int64_t strassen_operands = 8;

struct StrassenKernels {
  /// Are all pairs of rows near each other? By whether they are scaled first.
  bool (*pack_rows[2])(const StrassenRows&) = {};
  /// Of two panels from a block of k on: are all columns of all parts near each other? `most` becomes the
  /// largest magnitude of each term.
  bool (*compare_panels)(const float* left, const float* right, int64_t half, float* most) = nullptr;
  /// Of the largest of A's terms and of B's: do those that are taken together lose little to each other?
  bool (*compare_terms)(const float* a, const float* b, int64_t half) = nullptr;
  /// By rows; of a panel as it is, and of one that is a difference.
  void (*multiply[most_tiled_rows + 1])(const StrassenTile&) = {};
  void (*multiply_difference[most_tiled_rows + 1])(const StrassenTile&) = {};
  /// Sums that lie in rows of a panel's width: x, or x + y.
  void (*finish)(const StrassenSums&, const float* x, const float* y) = nullptr;
};

/// A, and where its elements are: rows may be the pixels of an image, terms what windows see of it.
struct StrassenOperand {
  const float* data = nullptr;
  int64_t row = 0;                // from row to row
  int64_t width = 0, line = 0;    // and beyond so many rows; 0: never
  int64_t plane = a_block;        // from a_block terms to the next, where there are no taps
  int64_t taps = 1, tap_row = 1;  // each a_block of terms at so many places, so many of them in a row
  int64_t tap = 0, tap_line = 0;  // from tap to tap, and from row to row of them

  int64_t row_at(int64_t i) const { return width > 0 ? i / width * line + i % width * row : i * row; }
  int64_t terms_at(int64_t block) const {
    const int64_t t = block % taps;
    return block / taps * plane + t / tap_row * tap_line + t % tap_row * tap;
  }
};

/// C = alpha A B + start. B is packed by pack_strassen, or by whoever makes the same panels.
struct StrassenProduct {
  int64_t m = 0, n = 0, k = 0;
  StrassenOperand a = {};
  const void* b = nullptr;
  DataType b_type = DataType::float32;  // or a float of 16 bits
  const void* marks = nullptr;          // what compare_parts says of B
  float* c = nullptr;
  int64_t c_row = 0, c_block = a_block;  // as in StrassenSums
  int64_t all = 0;                       // elements that the epilogue knows, of which c is a part
  Start start = {};
  Epilogue* epilogue = nullptr;
  int64_t first_element = 0;  // what the epilogue calls the first element of c
  float alpha = 1;
  ChannelScaling before = {};  // of A, by term without taps; none where there is no factor
};
/// Is C stored once only? Then it may be what the epilogue adds, where that has as many elements.
bool sums_once(int64_t k);
/// Are so many rows worth it?
bool pays_strassen(const GemmKernels& g, int64_t m);
size_t strassen_workspace(const GemmKernels& g, const StrassenProduct& p, int threads);
void multiply_strassen(const GemmKernels& g, const StrassenProduct& p, void* workspace, KernelContext& c);

/// What is to be known of panels that are packed one after the other, all of the same width: the largest
/// magnitude of every term of each pair of them, and whether it may be taken apart, which none may with
/// missing columns. In elements of the panels' type, behind which it lies.
int64_t marks_size(const GemmKernels& g, int64_t k, int64_t n);
void compare_parts(const GemmKernels& g, DataType type, const void* panels, int64_t k, int64_t n, void* marks,
                   Workers& workers);

/// Can a product with a packed B of so many rows be taken apart?
Verdict ask_strassen(const KernelRequest& r, DataType type, int64_t k);
/// Is it faster for so many rows? Nothing: nobody knows; fewer are multiplied as ever.
Verdict prefer_strassen(const KernelRequest& r, std::optional<int64_t> m, int64_t n);

/// Elements that B takes: panels as pack_whole_b makes them, and marks behind them.
int64_t strassen_size(Isa isa, int64_t k, int64_t n);
/// Of a matrix of float32 or of 16-bit floats: element (i, j) is the one at i * row + j * column.
void pack_strassen(Isa isa, DataType type, void* to, const void* from, int64_t row, int64_t column, int64_t k,
                   int64_t n, Workers& workers);

/// As multiply(), of one packed matrix; too few rows, and strict kernels, multiply as they would there.
size_t strassen_workspace(const GemmKernels& g, const Products& p, int threads);
void multiply_strassen(const GemmKernels& g, const Products& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
