// A few rows times a matrix that is multiplied once: packing it takes longer than multiplying it, so it is
// read in place, a few complete rows at a time or, if its columns are dense, a few columns, each as dot
// products.
#pragma once

#include "cpu/gemm/gemm.h"

namespace lathe::cpu {

/// Rows of A times a part of B. Sums have the layout of GemmKernels::epilogue_sums: element (i, j) is sums[(j
/// / panel * rows + i) * panel + j % panel], where a panel is two vectors.
struct InPlaceTile {
  Operand a, b;
  int64_t rows = 0, k = 0, columns = 0;
  float* sums = nullptr;
};

/// The sums of at most this many rows are read and written in less time than B is read.
inline constexpr int64_t max_added_rows = 4;

/// The kernels of one instruction set.
struct InPlaceKernels {
  /// Adds to the sums; the rows of B are dense.
  void (*add_rows[max_added_rows + 1])(const InPlaceTile&) = {};  // by rows
  /// Sets the sums; the columns of B and the rows of A are dense.
  void (*dots)(const InPlaceTile&) = nullptr;
};

/// Returns whether the product is one of these. That depends on the shapes alone, hence so do the bits. It is
/// never one for strict kernels, which sum a row as they sum many.
bool multiplies_in_place(const GemmKernels& g, const Products& p);
/// Requires no scratch.
void multiply_in_place(const GemmKernels& g, const Products& p, KernelContext& c);

}  // namespace lathe::cpu
