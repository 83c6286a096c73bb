// C = alpha A B + start for doubles: packing, blocking over the caches and the work for many threads, as
// gemm.h has them for floats.
//
// Every element of C is summed in one order, which depends on k and on the instruction set alone, and, for
// rows so few that B is read where it lies, on their being few.
#pragma once

#include "cpu/gemm.h"

namespace lathe::cpu {

/// A is packed in blocks of this many k: a line of each row.
inline constexpr int64_t double_block = 8;

/// One tile of C: its rows of A packed, its panel of B (packed, or rows in place).
struct DoubleTile {
  const double* a = nullptr;
  const double* b = nullptr;
  int64_t b_row = 0;
  double* c = nullptr;
  int64_t c_row = 0;
  int64_t k = 0, columns = 0;
  bool adds = false;  // to what C holds
};

/// What is compiled for each instruction set.
struct DoubleGemmKernels {
  static constexpr int most_rows = 14;
  static constexpr int64_t widest_panel = 16;
  int max_rows = 0;
  int64_t panel_columns = 0;                            // two vectors
  void (*tile[most_rows + 1])(const DoubleTile&) = {};  // by rows
};
const DoubleGemmKernels& double_gemm_kernels(Isa isa);

/// Many products of one shape, as `sizes` says but for the data: that has no pointers.
struct DoubleProducts {
  Products sizes;
  const double *a = nullptr, *b = nullptr;
  double* c = nullptr;
  const double* start = nullptr;  // lies as sizes.start does
};
/// Bytes of scratch that multiply() needs, 64-byte aligned.
size_t multiply_doubles_workspace(Isa isa, const Products& sizes);
void multiply(Isa isa, const DoubleProducts& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
