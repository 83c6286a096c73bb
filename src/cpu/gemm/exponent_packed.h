// Stores matrices of float32 in seven eighths of their bytes, and of bfloat16 in three quarters, without
// loss, for products that wait for weights from memory.
//
// A block of neighboring weights has few different exponents. So each weight takes four bits for the distance
// of its exponent from the block's base (0: the exponent of zero and of denormal numbers) beside sign and
// mantissa: 28 bits, or 12. The few that do not fit are stored in full in the block's first line; if they are
// too many in any block, the matrix cannot be packed so.
//
// Elements are floats, or pairs of bfloat16 as bf16_dot2_kernels() multiply them; k counts elements. A packed
// matrix consists of panels as wide as those of gemm_kernels(isa) (NR columns), without gaps (after a gap in
// a stream, memory takes microseconds to regain its speed). Panels consist of blocks of 32 rows: a line for
// the elements that do not fit, then groups of four rows of floats or two of pairs. A group begins with the
// codes, two in each byte; then follow a byte for sign and mantissa of every float or half of a pair, and the
// lower 16 bits of floats, so that lookups in tables of sixteen bytes and zips restore the upper 16 bits.
#pragma once

#include "cpu/gemm/gemm.h"

namespace lathe::cpu {

inline constexpr int64_t exponent_packed_rows = 32;

/// The kinds of elements.
enum class ExponentPackedKind { floats, bf16_pairs };

/// The first line of a block, with the elements that do not fit.
struct ExponentPackedBlock {
  static constexpr size_t max_exceptions = 10;
  uint8_t base = 0;     // the exponent of code c is base + c
  uint8_t count = 0;    // elements that do not fit
  uint16_t groups = 0;  // a bit for each group, set if it has such elements
  uint16_t at[max_exceptions] = {};
  float value[max_exceptions] = {};
};
static_assert(sizeof(ExponentPackedBlock) == 64);

/// A few rows times a panel.
struct ExponentPackedTile {
  const float* a = nullptr;          // packed
  const std::byte* panel = nullptr;  // begins at a block
  int64_t k = 0;
  float* sums = nullptr;  // rows of two vectors
};

struct ExponentPackedKernels {
  int64_t block_size = 0;  // bytes
  /// Encodes a block of a panel; returns false if too many elements do not fit.
  bool (*encode)(const float* rows, std::byte* to) = nullptr;
  /// Unpacks rows [k0, k0 + k) of a panel; k0 is the first row of a block.
  void (*unpack)(const std::byte* panel, int64_t k0, int64_t k, float* to) = nullptr;
  /// Kernels by CpuFeatures::streams_past_l2 and by rows. multiply_row sums one row as multiply() does unless
  /// it is strict: in two partial sums.
  void (*multiply[2][two_panel_rows + 1])(const ExponentPackedTile&) = {};
  void (*multiply_row[2])(const ExponentPackedTile&) = {};
};
struct ExponentPackedTables {
  ExponentPackedKernels floats, bf16_pairs;
};
const ExponentPackedKernels& exponent_packed_kernels(Isa isa, ExponentPackedKind kind);

/// The bytes of a packed matrix; nothing if they are no fewer than without this packing.
std::optional<int64_t> exponent_packed_size(Isa isa, ExponentPackedKind kind, int64_t k, int64_t n);
/// Packs float32; element (i, j) is at i * row + j * column. Returns false if the matrix does not fit.
bool pack_exponents(Isa isa, std::byte* to, const Operand& b, int64_t k, int64_t n, Workers& workers);
/// Packs bfloat16 in pairs; elements are located as above.
bool pack_exponents(Isa isa, std::byte* to, const Bf16PairOperand& b, int64_t k, int64_t n, Workers& workers);

/// Prefers this packing where a product of m rows waits for its weights.
Support prefer_exponent_packed(const KernelQuery& r, int64_t m, int64_t k, int64_t n);

/// C [m, n] = A [m, k] B + start, all dense, summed in the order of multiply(), hence with the same bits. For
/// pairs, A is float32 with twice as many columns.
struct ExponentPackedProduct {
  ExponentPackedKind kind = ExponentPackedKind::floats;
  int64_t m = 0, n = 0, k = 0;
  const float* a = nullptr;
  const void* b = nullptr;
  bool is_packed = true;  // else b is packed by pack_whole_b() or pack_bf16_pairs()
  float* c = nullptr;
  Start start = {};
  Epilogue* epilogue = nullptr;
};
/// The bytes of scratch, 64-byte aligned.
size_t multiply_workspace(Isa isa, const ExponentPackedProduct& p);
void multiply(Isa isa, const ExponentPackedProduct& p, bool strict, void* workspace, KernelContext& c);
/// Computes a step: A is input 0, B the packed form of input 1 (by exponents if its type is uint8), C output
/// 0. `p` has the sizes and the start of C.
void multiply_operands(Isa isa, ExponentPackedProduct p, KernelContext& c);

}  // namespace lathe::cpu
