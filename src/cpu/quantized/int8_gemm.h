// Products of matrices of bytes, and the packed form of weights that convolutions share. In BLIS's words
// packed weights are panels of NR columns (panel_filters), of which a micro-kernel multiplies at most MR rows
// of A. k is not blocked: KC is all of k.
#pragma once

#include "cpu/quantized/int8_rows.h"

namespace lathe::cpu {

/// The bytes that are packed between two polls.
inline constexpr int64_t polled_bytes = int64_t{1} << 18;

/// Weights of eight bits that are to be packed: term t of filter f is data[f * filter + terms[t]], or 0 if
/// terms[t] is negative. Unsigned bytes become signed by subtracting 128.
struct Int8Weights {
  const void* data = nullptr;
  bool is_signed = true;
  int64_t filters = 0, filter = 0;  // their number, and the distance between two
  const int64_t* terms = nullptr;
  int64_t count = 0;  // of terms; a multiple of quad
  /// In convolutions, terms are blocks of channels, in each of which channels of the same tap are neighbors,
  /// while in `data` all taps of a channel are.
  int64_t taps = 1;
};
/// The bytes of packed weights: the panels (whole lines), followed by the sum of each filter's terms as
/// int32, for all filters that the panels have.
int64_t packed_bytes(int64_t filters, int64_t terms);
void pack_int8(const Int8Weights& w, int8_t* to, Workers& workers);
/// The sums in packed weights.
inline const int32_t* packed_sums(const int8_t* packed, int64_t filters, int64_t terms) {
  return reinterpret_cast<const int32_t*>(packed + panels(filters) * panel_row * quads(terms));
}

/// A matrix of k rows and n columns, one row (or, transposed, column) after the other.
struct Int8Matrix {
  const void* data = nullptr;
  bool is_signed = true, transposed = false;
};
/// The size of such a matrix as packed weights, and its packing.
inline int64_t packed_matrix_bytes(int64_t k, int64_t n) { return packed_bytes(n, quads(k) * quad); }
void pack_matrix(const Int8Matrix& b, int64_t k, int64_t n, int8_t* to, Workers& workers);
/// The same, with a buffer of quads(k) * quad numbers: allocates nothing.
void pack_matrix(const Int8Matrix& b, int64_t k, int64_t n, int8_t* to, int64_t* buffer, Workers& workers);

/// A product A B. Zero points are those of the bytes that are multiplied: unsigned in A, signed in B. Vectors
/// have memory for whole panels.
struct Int8Product {
  int64_t m = 0, n = 0, k = 0;
  const uint8_t* a = nullptr;  // m rows of k bytes
  bool a_signed = false;
  const int8_t* b = nullptr;  // packed
  int32_t a_zero = 0;
  const int32_t* b_zero = nullptr;  // of each column; null: 0
  const int32_t* bias = nullptr;    // the start of each column's sums; null: 0
  const float* scale = nullptr;     // of each column, for floats and bytes
  // For `bytes`: the zero point, and the lowest value.
  int32_t zero = 0, lowest = 0;
  // The result, one of these; dense.
  int32_t* ints = nullptr;
  float* floats = nullptr;
  uint8_t* bytes = nullptr;
  int64_t first_row = 0;  // of these in the whole output, for the epilogue
};
/// The bytes of scratch, 64-byte aligned, which depend on the sizes and the instruction set.
size_t int8_product_workspace(Isa isa, int64_t m, int64_t k);
/// Also applies c.epilogue() to floats once they are final.
void multiply_int8(Isa isa, const Int8Product& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
