// Permuting axes fast: neighbouring axes that stay together are one, and where the last axis moves, squares
// of elements are turned so that both what is read and what is written stays in the cache.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

/// What is compiled for each instruction set.
struct TurnKernels {
  /// to[y * row_step + x] = from[x * stride + y] for x < width, y < height: elements of 32 bits, whatever
  /// they are.
  void (*turn)(const float* from, int64_t stride, float* to, int64_t row_step, int64_t width,
               int64_t height) = nullptr;
  /// Channels side by side: to[p * channels + i] is channel `lane` + i of pixel p, where those are in blocks
  /// of 16, from[p * 16 …], and each next block begins `block_step` elements behind the one before.
  void (*join_blocks)(const float* from, int64_t block_step, int64_t lane, float* to, int64_t channels,
                      int64_t pixels) = nullptr;
  int64_t width = 1;  // of a vector
};
const TurnKernels& turn_kernels(Isa isa);

/// to[index] = from[…]: output axis i is input axis `axes[i]` of `shape`. Elements of 1, 2, 4, 8 or 16 bytes.
void transpose(Isa isa, const void* from, void* to, const Shape& shape, const Shape& axes,
               size_t element_bytes, KernelContext& c);

}  // namespace lathe::cpu
