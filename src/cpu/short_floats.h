// Matrices of float32 in seven eighths of their bytes, and of bfloat16 in three quarters, and not a bit of
// them lost: for products that wait for weights from memory.
//
// Of a float's exponent, a block of weights next to each other uses few values. So each takes four bits for
// the distance of its exponent from the block's least (0: the exponent of zero and of denormal numbers)
// beside sign and mantissa: 28 bits, or 12. The few that do not fit are said in full in the block's first
// line; where they are too many, in any block, the matrix cannot be packed so.
//
// Elements are floats, or pairs of bfloat16 as pair_kernels() multiply them; k counts elements. A packed
// matrix lies in panels of the width of gemm_kernels(isa), one right behind the other (where streams leave
// anything out, this machine's memory takes microseconds to find its pace again). Panels consist of blocks of
// 32 rows: a line for what does not fit, then groups of four rows of floats or two of pairs. Of a group, the
// codes come first, two in each byte; then a byte for sign and mantissa of every float or half of a pair, and
// of floats what is behind their upper 16 bits: so that tables of sixteen bytes and zips make words of them.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

inline constexpr int64_t short_block_rows = 32;

/// What elements are.
enum class ShortKind { floats, pairs };

/// The first line of a block.
struct ShortBlock {
  static constexpr size_t most = 10;
  uint8_t base = 0;     // the exponent of code c is base + c
  uint8_t count = 0;    // elements that do not fit
  uint16_t groups = 0;  // a bit for each group: does it have such?
  uint16_t at[most] = {};
  float value[most] = {};
};
static_assert(sizeof(ShortBlock) == 64);

/// A few rows times a panel.
struct ShortTile {
  const float* a = nullptr;          // packed
  const std::byte* panel = nullptr;  // from a block on
  int64_t k = 0;
  float* sums = nullptr;  // rows of two vectors
};

struct ShortKernels {
  int64_t block_size = 0;  // bytes
  /// A block of a panel; false where too much does not fit.
  bool (*encode)(const float* rows, std::byte* to) = nullptr;
  /// Rows [k0, k0 + k) of a panel, where k0 begins a block.
  void (*unpack)(const std::byte* panel, int64_t k0, int64_t k, float* to) = nullptr;
  /// By CpuFeatures::streams_past_l2 and by rows. One row as multiply() sums it: in two sums, unless it is
  /// strict.
  void (*multiply[2][twin_rows + 1])(const ShortTile&) = {};
  void (*multiply_row[2])(const ShortTile&) = {};
};
struct ShortTables {
  ShortKernels floats, pairs;
};
const ShortKernels& short_kernels(Isa isa, ShortKind kind);

/// Bytes that a packed matrix takes; nothing where that is no fewer than it has.
std::optional<int64_t> short_size(Isa isa, ShortKind kind, int64_t k, int64_t n);
/// Packs float32; element (i, j) is the one at i * row + j * column. False: it does not fit.
bool pack_short(Isa isa, std::byte* to, const Operand& b, int64_t k, int64_t n, Workers& workers);
/// Packs bfloat16 in pairs, whose elements lie as above.
bool pack_short(Isa isa, std::byte* to, const PairOperand& b, int64_t k, int64_t n, Workers& workers);

/// Does a product of so many rows wait for its weights, so that they had better be short?
Verdict prefer_short(const KernelRequest& r, int64_t m, int64_t k, int64_t n);

/// C [m, n] = A [m, k] B + start, all dense; in the order in which multiply() sums, hence the same bits. Of
/// pairs, A is float32 in twice as many columns.
struct ShortProduct {
  ShortKind kind = ShortKind::floats;
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const void* b = nullptr;
  bool is_short = true;  // else b is packed as multiply() takes it
  float* c = nullptr;
  Start start = {};
  Epilogue* epilogue = nullptr;
};
/// Bytes of scratch, 64-byte aligned.
size_t multiply_workspace(Isa isa, const ShortProduct& p);
void multiply(Isa isa, const ShortProduct& p, bool strict, void* workspace, KernelContext& c);
/// Of a step: A is input 0, B what input 1 was packed to, short if that is bytes, C output 0. p says the
/// sizes and what C begins with.
void multiply_operands(Isa isa, ShortProduct p, KernelContext& c);

}  // namespace lathe::cpu
