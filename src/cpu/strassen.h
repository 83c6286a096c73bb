// C = A B in seven products of halves instead of eight: Strassen's algorithm in Winograd's form, which takes
// fifteen sums of matrices. An eighth fewer multiplications, for products of many rows with a packed B.
//
// What is halved lies together in memory: of B two neighbouring panels and the two halves of a block of k, so
// that sums of its parts are made in the cache when they are used, and weights are packed as always; of A
// rows half of all rows apart, whose sums are packed once for all of B.
//
// Sums of parts lose what is small beside what is large: an element of C is as exact as the largest of four
// would be. So rows of A are only taken together where their norms are within `most_apart` of each other, and
// columns of B where those of all four parts are; everything else (rows of zeros, infinities and NaN among
// it) is multiplied in eight products, as exactly as ever.
#pragma once

#include <optional>

#include "cpu/gemm.h"

namespace lathe::cpu {

/// How many times the norm of one part that of another may be: beyond it an element could lose more to
/// rounding than sums of a few hundred terms are allowed to.
inline constexpr float most_apart = 16;

/// Rows of A and those half of all rows below them, from a block of k on.
struct StrassenRows {
  const float* top = nullptr;
  const float* bottom = nullptr;  // so many rows as there are; missing ones are taken from above
  int64_t row = 0, rows = 0, bottom_rows = 0;
  int64_t half = 0;  // terms of each half of the block
  float scale = 1;
  float* to = nullptr;  // strassen_operands matrices, packed as tiles' A
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
inline constexpr int64_t strassen_turn = 4;
/// Of A: its four parts, and the four sums that are multiplied.
inline constexpr int64_t strassen_operands = 8;

struct StrassenKernels {
  /// Are all pairs of rows near each other?
  bool (*pack_rows)(const StrassenRows&) = nullptr;
  /// Of two panels from a block of k on: are all columns of all parts near each other?
  bool (*compare_panels)(const float* left, const float* right, int64_t half) = nullptr;
  /// By rows; of a panel as it is, and of one that is a difference.
  void (*multiply[most_tiled_rows + 1])(const StrassenTile&) = {};
  void (*multiply_difference[most_tiled_rows + 1])(const StrassenTile&) = {};
  /// A tile's C of sums in rows of a panel's width: x, or x + y.
  void (*finish)(const Tile&, const float* x, const float* y) = nullptr;
};

/// Can a product with a packed B of so many rows be taken apart?
Verdict ask_strassen(DataType type, int64_t k);
/// Is it faster for so many rows? Nothing: nobody knows; fewer are multiplied as ever.
Verdict prefer_strassen(const KernelRequest& r, std::optional<int64_t> m, int64_t n);

/// Floats that B takes, and how it is packed: as by pack_whole_b, and behind the panels a byte for each pair
/// of them and each block of k: may it be taken apart? (A pair with missing columns may not.)
int64_t strassen_size(Isa isa, int64_t k, int64_t n);
void pack_strassen(Isa isa, float* to, const Operand& b, int64_t k, int64_t n, Workers& workers);

/// As multiply(), of one packed matrix; too few rows, and strict kernels, multiply as they would there.
size_t strassen_workspace(const GemmKernels& g, const Products& p);
void multiply_strassen(const GemmKernels& g, const Products& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
