// Weight-only quantization: numbers of 2, 4 and 8 bits with a scale for each block of them, and perhaps a
// minimum that is added to the scaled numbers of a block (Q4_1 and the K-quants of GGUF). These are products
// with constant weights of that kind, which are read as low-bit numbers and not stored as floats, and
// conversions of such numbers.
//
// A packed matrix consists of panels as wide as those of gemm_kernels(isa) (NR columns), row after row. With
// 4 bits, the columns of the first vector are in the lower halves of the bytes and those of the second in the
// upper ones; with 8 bits each has a byte. Numbers are unsigned: signed ones have their sign bit flipped, in
// zero points too.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

/// One panel, from the first row of a block on.
struct LowBitPanel {
  const uint8_t* numbers = nullptr;
  const float* scales = nullptr;   // a panel's width for each block
  const uint8_t* zeros = nullptr;  // the same; null: `zero` for all
  int32_t zero = 0;
  int64_t block = 1;                // rows with the same scale
  const float* minimums = nullptr;  // as many as scales; null: none
};

/// Arguments of the micro-kernels: some rows of A times a panel.
struct LowBitRows {
  LowBitPanel panel;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t a_row = 0;
  float* c = nullptr;
  int64_t c_row = 0, columns = 0;
  Bounds bounds = {};
  const float* block_sums = nullptr;  // with minimums: of each row, the sums of A over the blocks
  int64_t block_sums_row = 0;
  const float* unpacked = nullptr;  // the panel's numbers as floats, for multiply_unpacked
};

/// Up to this many rows (MR) are multiplied with packed numbers directly; for more, panels are converted to
/// floats first.
inline constexpr int low_bit_rows = 4;
/// The same where the bits of a row must not depend on the number of rows: each row has two sums. For more,
/// the numbers of a panel are converted to floats, which are scaled when a block has been summed.
inline constexpr int strict_low_bit_rows = 2;
/// The greatest number of rows that a kernel multiplies with unpacked numbers.
inline constexpr int max_unpacked_rows = 6;

struct LowBitKernels {
  // Arrays of two have kernels for 4 bits and for 8.
  void (*multiply[2][low_bit_rows])(const LowBitRows&);
  /// All of these give a row the same bits.
  void (*multiply_strict[2][strict_low_bit_rows])(const LowBitRows&);
  void (*multiply_unpacked[max_unpacked_rows])(const LowBitRows&);
  int unpacked_rows = 0;  // the number of the latter
  /// Unpacks the numbers of a panel of k rows, less their zero points and not scaled, to floats.
  void (*unpack_numbers[2])(const LowBitPanel&, int64_t k, float* to);
  /// Unpacks rows [k0, k0 + k) to floats.
  void (*unpack[2])(const LowBitPanel&, int64_t k0, int64_t k, float* to);
  /// Converts n numbers of 2, 4 or 8 bits, which begin at a byte, to floats. `is_signed`: in two's
  /// complement.
  void (*widen[3])(const uint8_t* from, float* to, int64_t n, bool is_signed);
  /// (x - zero) * scale, where x and zero are integers.
  void (*scale)(const float* x, float* y, int64_t n, float scale, float zero);
  /// The same with a scale for each element, and a zero (null: 0).
  void (*scale_each)(const float* x, float* y, int64_t n, const float* scales, const float* zeros);
  /// The inverse: the integer nearest to x / scale (ties to even), plus zero, within bounds; NaN gives zero.
  void (*quantize)(const float* x, float* y, int64_t n, const float* scale, const float* zero, Bounds within);
  /// The same with a scale for each element, and a zero (null: 0, above too).
  void (*quantize_each)(const float* x, float* y, int64_t n, const float* scales, const float* zeros,
                        Bounds within);
};
const LowBitKernels& low_bit_kernels(Isa isa);

/// Elements of 2, 4 or 8 bits in memory, the first ones in the lowest bits. Matrix element (i, j) is the one
/// at i * row + j * column.
struct BitMatrix {
  const void* data = nullptr;
  int bits = 8;
  bool is_signed = false;
  int64_t row = 0, column = 1;
  /// Returns the element as an unsigned number, as above.
  uint8_t at(int64_t i, int64_t j) const {
    const auto bit = static_cast<uint64_t>(i * row + j * column) * static_cast<uint64_t>(bits);
    const int number = static_cast<const uint8_t*>(data)[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
    return static_cast<uint8_t>(is_signed ? number ^ (1 << (bits - 1)) : number);
  }
};

/// Packed weights [k, n].
struct LowBit {
  int64_t k = 0, n = 0, block = 1;
  int bits = 4;  // as packed: 4 or 8
  const uint8_t* numbers = nullptr;
  const float* scales = nullptr;
  const uint8_t* zeros = nullptr;
  int32_t zero = 0;
  bool has_minimums = false;
  const float* minimums = nullptr;  // packed as scales are
  int64_t blocks() const { return (k + block - 1) / block; }
};
/// Numbers of 2 bits are packed as numbers of 4.
inline int packed_bits(int bits) { return bits == 8 ? 8 : 4; }
/// The number of bytes of the numbers, and of floats of the scales (also of bytes of the zeros).
int64_t packed_numbers_size(Isa isa, int64_t k, int64_t n, int bits);
int64_t packed_scales_size(Isa isa, int64_t blocks, int64_t n);

void pack_numbers(Isa isa, uint8_t* to, const BitMatrix& from, int64_t k, int64_t n, Workers& workers);
/// Scales, or minimums, [blocks, n] of float32 or a float of 16 bits; element (i, j) is at i * row + j *
/// column.
void pack_scales(Isa isa, float* to, DataType type, const void* from, int64_t row, int64_t column,
                 int64_t blocks, int64_t n, Workers& workers);
void pack_zeros(Isa isa, uint8_t* to, const BitMatrix& from, int64_t blocks, int64_t n, Workers& workers);

/// Writes the k elements of a column as floats.
void unpack_column(Isa isa, const LowBit& w, int64_t column, float* to);

/// C [m, n] = A [m, k] W, all dense.
struct LowBitProduct {
  int64_t m = 0;
  LowBit w = {};
  const float* a = nullptr;
  float* c = nullptr;
  Epilogue* epilogue = nullptr;
};
/// The bytes of scratch, 64-byte aligned. `strict`: the bits of a row do not depend on the number of rows.
size_t multiply_workspace(Isa isa, const LowBitProduct& p, bool strict, int threads);
void multiply(Isa isa, const LowBitProduct& p, bool strict, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
