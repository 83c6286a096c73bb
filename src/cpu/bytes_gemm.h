// Products of matrices of bytes, and the packed form of weights that convolutions share.
#pragma once

#include "cpu/bytes_rows.h"

namespace lathe::cpu {

/// Bytes that are packed between two polls.
inline constexpr int64_t polled_bytes = int64_t{1} << 18;

/// Weights of eight bits on their way into panels: filter f's term t is data[f * filter + terms[t]], and
/// nothing where terms[t] is negative. Bytes without sign become signed by taking 128 from them.
struct ByteWeights {
  const void* data = nullptr;
  bool is_signed = true;
  int64_t filters = 0, filter = 0;  // how many, and from one to the next
  const int64_t* terms = nullptr;
  int64_t count = 0;  // of terms: whole quads
  /// Of convolutions: terms are blocks of channels, of each tap one channel after the other, while in a
  /// filter all taps of a channel lie together.
  int64_t taps = 1;
};
/// Bytes that packed weights take: the panels, and behind them (whole lines) the sum of each filter's terms
/// as int32, as many as the panels have filters.
int64_t packed_bytes(int64_t filters, int64_t terms);
void pack_bytes(const ByteWeights& w, int8_t* to, Workers& workers);
/// The sums of a packed form.
inline const int32_t* packed_sums(const int8_t* packed, int64_t filters, int64_t terms) {
  return reinterpret_cast<const int32_t*>(packed + panels(filters) * panel_row * quads(terms));
}

/// A matrix of k rows and n columns, one row (or, transposed, column) after the other.
struct ByteMatrix {
  const void* data = nullptr;
  bool is_signed = true, transposed = false;
};
/// It as packed weights: size, and packing.
inline int64_t packed_matrix_bytes(int64_t k, int64_t n) { return packed_bytes(n, quads(k) * quad); }
void pack_matrix(const ByteMatrix& b, int64_t k, int64_t n, int8_t* to, Workers& workers);
/// The same, with room for quads(k) * quad numbers: takes nothing from the heap.
void pack_matrix(const ByteMatrix& b, int64_t k, int64_t n, int8_t* to, int64_t* room, Workers& workers);

/// Zero points are those of the bytes as they are multiplied: unsigned in A, signed in B. Vectors are in
/// memory for whole panels.
struct ByteProduct {
  int64_t m = 0, n = 0, k = 0;
  const uint8_t* a = nullptr;  // m rows of k bytes
  bool a_signed = false;
  const int8_t* b = nullptr;  // packed
  int32_t a_zero = 0;
  const int32_t* b_zero = nullptr;  // of each column; null: 0
  const int32_t* bias = nullptr;    // what each column's sums begin with; null: 0
  const float* scale = nullptr;     // of each column, for floats and bytes
  // Of bytes: the zero point, and the lowest that there are.
  int32_t zero = 0, lowest = 0;
  // One of these; dense.
  int32_t* ints = nullptr;
  float* floats = nullptr;
  uint8_t* bytes = nullptr;
  int64_t first_row = 0;  // of these in the whole output, for what is done behind them
};
/// Bytes of scratch, 64-byte aligned. Follows from the sizes and the instruction set.
size_t byte_product_workspace(Isa isa, int64_t m, int64_t k);
/// Tells c.epilogue() of floats once they are final.
void multiply_bytes(Isa isa, const ByteProduct& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
