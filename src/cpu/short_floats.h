// Matrices of float32 in seven eighths of their bytes, and not a bit of them lost: for products that wait for
// weights from memory.
//
// Of a float's exponent, a block of weights next to each other uses few values. So each takes 28 bits: sign,
// mantissa, and four bits for the distance of its exponent from the block's least (0: the exponent of zero
// and of denormal numbers). The few that do not fit are said in full in the block's first line; where they
// are too many, in any block, the whole matrix stays as it was.
//
// A packed matrix lies in panels of the width of gemm_kernels(isa), one right behind the other (where streams
// leave anything out, this machine's memory takes microseconds to find its pace again). Panels consist of
// blocks of 32 rows: a line for what does not fit, then groups of four rows, which are eight vectors of
// floats in seven of words: six hold sign and mantissa of one float each, and among them, where their
// exponents were, the other two; the seventh holds the exponents.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

inline constexpr int64_t short_block_rows = 32, short_group_rows = 4;

/// The first line of a block.
struct ShortBlock {
  static constexpr size_t most = 10;
  uint8_t base = 0;    // the exponent of code c is base + c
  uint8_t count = 0;   // floats that do not fit
  uint8_t groups = 0;  // a bit for each group: does it have such?
  uint8_t unused = 0;
  uint16_t at[most] = {};
  float value[most] = {};
};
static_assert(sizeof(ShortBlock) == 64);

/// A few rows times one or two panels.
struct ShortTile {
  const float* a = nullptr;        // packed
  const std::byte* panel[2] = {};  // from a block on
  int64_t k = 0;
  float* sums = nullptr;  // panel after panel, rows of two vectors
};

struct ShortKernels {
  int64_t block_size = 0;  // bytes
  /// A block of a panel; false where too much does not fit.
  bool (*encode)(const float* rows, std::byte* to) = nullptr;
  /// Rows [k0, k0 + k) of a panel, where k0 begins a block.
  void (*unpack)(const std::byte* panel, int64_t k0, int64_t k, float* to) = nullptr;
  /// By rows, and panels less one. One row as multiply() sums it: in two sums, unless it is strict.
  void (*multiply[twin_rows + 1][2])(const ShortTile&) = {};
  void (*multiply_row[2])(const ShortTile&) = {};
};
const ShortKernels& short_kernels(Isa isa);

/// Bytes that a packed matrix takes.
int64_t short_size(Isa isa, int64_t k, int64_t n);
/// Packs float32; element (i, j) is the one at i * row + j * column.
void pack_short(Isa isa, std::byte* to, const Operand& b, int64_t k, int64_t n, Workers& workers);

/// Does a product of so many rows wait for its weights, so that they had better be short?
Verdict prefer_short(const KernelRequest& r, int64_t m, int64_t k, int64_t n);

/// C [m, n] = A [m, k] B + start, all dense; in the order in which multiply() sums, hence the same bits.
struct ShortProduct {
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const std::byte* b = nullptr;
  float* c = nullptr;
  Start start = {};
  Epilogue* epilogue = nullptr;
};
/// Bytes of scratch, 64-byte aligned.
size_t multiply_workspace(Isa isa, const ShortProduct& p);
void multiply(Isa isa, const ShortProduct& p, bool strict, void* workspace, KernelContext& c);
/// Of a step: A is input 0, B what input 1 was packed to, C output 0. p says the sizes and what C begins
/// with.
void multiply_operands(Isa isa, ShortProduct p, KernelContext& c);

}  // namespace lathe::cpu
