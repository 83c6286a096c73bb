// C = alpha A B + start for doubles: packing, blocking over the caches and work sharing among threads, as in
// gemm.h for floats.
//
// Every element of C is summed in one order, which depends on k, on the instruction set, and on whether the
// rows are so few that B is read in place.
#pragma once

#include "cpu/gemm/gemm.h"

namespace lathe::cpu {

/// Packed A consists of blocks of this many k: a line of each row.
inline constexpr int64_t double_block = 8;

/// The arguments of a micro-kernel: a tile of C, its packed rows of A, its panel of B (packed or in place).
struct DoubleTile {
  const double* a = nullptr;
  const double* b = nullptr;
  int64_t b_row = 0;
  double* c = nullptr;
  int64_t c_row = 0;
  int64_t k = 0, columns = 0;
  bool adds = false;  // to what C holds
};

/// The micro-kernels of one instruction set.
struct DoubleGemmKernels {
  static constexpr int max_MR = 14;
  static constexpr int64_t widest_panel = 16;
  int MR = 0;
  int64_t NR = 0;                                    // two vectors
  void (*tile[max_MR + 1])(const DoubleTile&) = {};  // by rows
};
const DoubleGemmKernels& double_gemm_kernels(Isa isa);

/// Many products of one shape; `sizes` describes them, but its pointers are null.
struct DoubleProducts {
  Products sizes;
  const double *a = nullptr, *b = nullptr;
  double* c = nullptr;
  const double* start = nullptr;  // laid out as sizes.start
};
/// The bytes of scratch that multiply() requires, 64-byte aligned.
size_t multiply_doubles_workspace(Isa isa, const Products& sizes);
void multiply(Isa isa, const DoubleProducts& p, void* workspace, KernelContext& c);

}  // namespace lathe::cpu
