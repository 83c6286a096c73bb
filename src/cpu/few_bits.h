// Numbers of 2, 4 and 8 bits with a scale for each block of them: products with constant weights of that
// kind, which are read as few bits and never written as floats, and what makes floats of other such numbers.
//
// A packed matrix lies in panels of the width of gemm_kernels(isa): row after row, of 4 bits the columns of
// the first vector in the lower halves of the bytes and those of the second in the upper ones, or a byte for
// each. Numbers are without sign: of signed ones the sign bit is the other way round, in their zero points
// too.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

/// One panel, from a row that begins a block on.
struct FewBitsPanel {
  const uint8_t* numbers = nullptr;
  const float* scales = nullptr;   // a panel's width for each block
  const uint8_t* zeros = nullptr;  // the same; null: `zero` for all
  int32_t zero = 0;
  int64_t block = 1;  // rows under one scale
};

/// Some rows of A times a panel.
struct FewBitsRows {
  FewBitsPanel panel;
  int64_t k = 0;
  const float* a = nullptr;
  int64_t a_row = 0;
  float* c = nullptr;
  int64_t c_row = 0, columns = 0;
  Bounds bounds = {};
};

/// Up to this many rows are multiplied with numbers as they come; of more a panel becomes floats first.
inline constexpr int few_bits_rows = 4;

struct FewBitsKernels {
  // Of 4 bits and of 8.
  void (*multiply[2][few_bits_rows])(const FewBitsRows&);
  /// Rows [k0, k0 + k), as floats.
  void (*unpack[2])(const FewBitsPanel&, int64_t k0, int64_t k, float* to);
  /// n numbers that begin with a byte, of 2, 4 and 8 bits. `is_signed`: of two's complement.
  void (*widen[3])(const uint8_t* from, float* to, int64_t n, bool is_signed);
  /// (x - zero) * scale, where x and zero are whole numbers.
  void (*scale)(const float* x, float* y, int64_t n, float scale, float zero);
  /// The same with a scale for each element, and a zero (null: 0).
  void (*scale_each)(const float* x, float* y, int64_t n, const float* scales, const float* zeros);
  /// The other way: the nearest whole number (ties to even) of x / scale, plus zero, within bounds; NaN gives
  /// zero.
  void (*quantize)(const float* x, float* y, int64_t n, const float* scale, const float* zero, Bounds within);
  /// The same with a scale for each element, and a zero (null: 0, above too).
  void (*quantize_each)(const float* x, float* y, int64_t n, const float* scales, const float* zeros,
                        Bounds within);
};
const FewBitsKernels& few_bits_kernels(Isa isa);

/// Elements of 2, 4 or 8 bits in memory, the first ones in the lowest bits. Matrix element (i, j) is the one
/// at i * row + j * column.
struct BitMatrix {
  const void* data = nullptr;
  int bits = 8;
  bool is_signed = false;
  int64_t row = 0, column = 1;
  /// Without sign, as above.
  uint8_t at(int64_t i, int64_t j) const {
    const auto bit = static_cast<uint64_t>(i * row + j * column) * static_cast<uint64_t>(bits);
    const int number = static_cast<const uint8_t*>(data)[bit / 8] >> (bit % 8) & ((1 << bits) - 1);
    return static_cast<uint8_t>(is_signed ? number ^ (1 << (bits - 1)) : number);
  }
};

/// Weights [k, n].
struct FewBits {
  int64_t k = 0, n = 0, block = 1;
  int bits = 4;  // as packed: 4 or 8
  const uint8_t* numbers = nullptr;
  const float* scales = nullptr;
  const uint8_t* zeros = nullptr;
  int32_t zero = 0;
  int64_t blocks() const { return (k + block - 1) / block; }
};
/// Numbers of 2 bits take as many as those of 4.
inline int packed_bits(int bits) { return bits == 8 ? 8 : 4; }
/// Bytes of the numbers, floats of the scales (also bytes of the zeros).
int64_t packed_numbers_size(Isa isa, int64_t k, int64_t n, int bits);
int64_t packed_scales_size(Isa isa, int64_t blocks, int64_t n);

void pack_numbers(Isa isa, uint8_t* to, const BitMatrix& from, int64_t k, int64_t n, Workers& workers);
/// Scales [blocks, n] of float32 or a float of 16 bits; element (i, j) is at i * row + j * column.
void pack_scales(Isa isa, float* to, DataType type, const void* from, int64_t row, int64_t column,
                 int64_t blocks, int64_t n, Workers& workers);
void pack_zeros(Isa isa, uint8_t* to, const BitMatrix& from, int64_t blocks, int64_t n, Workers& workers);

/// C [m, n] = A [m, k] W, all dense.
struct FewBitsProduct {
  int64_t m = 0;
  FewBits w = {};
  const float* a = nullptr;
  float* c = nullptr;
  Epilogue* epilogue = nullptr;
};
/// Bytes of scratch, 64-byte aligned. `strict`: the bits of a row do not depend on the number of rows.
size_t multiply_workspace(Isa isa, const FewBitsProduct& p, bool strict);
void multiply(Isa isa, const FewBitsProduct& p, bool strict, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
