// AMX has eight registers that hold tiles of 16 rows of 64 bytes, and products of tiles. It is not an
// instruction set of its own here: if the processor has it, the AVX-512 kernels of bytes and of pairs of
// bfloat16 use it for tiles of many rows. Packed forms are the same.
#pragma once

#include <cstdint>

namespace lathe::cpu {

/// Rows of A that one call computes at most: two tiles high, and two wide.
inline constexpr int max_tiled_rows = 32;

/// Whether AMX is used where the machine has it and this process may; tests try both. Takes effect at once,
/// for all threads. The first query asks the operating system.
void use_amx(bool yes);
bool uses_amx();

/// The rows that the upper of both tiles of A holds; the lower one holds the rest, none where there are no
/// more than 16 rows.
constexpr int64_t upper_rows(int64_t rows) { return rows <= 16 ? rows : (rows + 1) / 2; }

/// Sizes of bf16x3 (cpu/simd/bf16x3_amx.h): the parts of a number, the products of two numbers' parts, the
/// terms of a step along k, the bytes of one part of these terms, and the bytes of all parts of a panel's
/// weights for a step.
inline constexpr int64_t part_count = 3, part_products = 6, part_depth = 32, part_pixel = 64,
                         part_weights = part_count * part_depth * part_pixel;

/// A panel of B that is split into parts piece by piece while tiles are multiplied, which hides its reads and
/// its arithmetic.
struct PanelSplit {
  const float* from = nullptr;
  int64_t row = 0, left = 0;  // from one row to the next; rows left
  float* to = nullptr;
  int64_t done = 0;    // pairs of rows of this step
  int64_t share = 0;   // pairs between two groups of products
  bool wrong = false;  // true if an element cannot be split
};

/// Owns this thread's tile registers while it computes a task. They are released at the end, so that context
/// switches need not save and restore them, and no other task finds them configured.
class TileRegisters {
 public:
  TileRegisters() = default;
  ~TileRegisters() {
    if (rows_ > 0) release();
  }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;

  /// Configures them for this many rows of A: sums in 0 to 3 (upper left, upper right, lower left, lower
  /// right), A in 4 and 5, B in 6 and 7. That takes as long as ten products, so it is only done if the number
  /// of rows changes.
  void set(int64_t rows) {
    if (rows != rows_) configure(rows);
  }

 private:
  void configure(int64_t rows);
  static void release();
  int64_t rows_ = 0;
};

}  // namespace lathe::cpu
