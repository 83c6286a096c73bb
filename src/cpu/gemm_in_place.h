// A few rows times a matrix that is multiplied once: packing it takes longer than multiplying it, so it is
// read where it lies, a few rows of it from end to end at a time, or, where its columns are dense, a few of
// those, each of which comes to a dot product.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

/// Rows of A times a part of B. Sums are rows of panels as GemmKernels::finish_sums takes them: element (i,
/// j) is sums[(j / panel * rows + i) * panel + j % panel], where a panel is two vectors.
struct InPlaceTile {
  Operand a, b;
  int64_t rows = 0, k = 0, columns = 0;
  float* sums = nullptr;
};

/// Rows whose sums are read and written in less time than B takes.
inline constexpr int64_t most_added_rows = 4;

/// What is compiled for each instruction set.
struct InPlaceKernels {
  /// Adds to the sums, where the rows of B are dense.
  void (*add_rows[most_added_rows + 1])(const InPlaceTile&) = {};  // by rows
  /// Makes the sums, where the columns of B are dense and the rows of A are.
  void (*dots)(const InPlaceTile&) = nullptr;
};

/// Is the product one of those? Bits follow from that, so from the shapes alone; strict kernels sum a row as
/// they sum many, and do without.
bool multiplies_in_place(const GemmKernels& g, const Products& p);
/// Takes no scratch.
void multiply_in_place(const GemmKernels& g, const Products& p, KernelContext& c);

}  // namespace lathe::cpu
