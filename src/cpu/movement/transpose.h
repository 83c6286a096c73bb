// Fast transposes: neighboring axes that stay together are merged, and if the last axis moves, squares of
// elements are transposed so that both reads and writes stay in the cache.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

/// The functions that are compiled for each instruction set.
struct TransposeKernels {
  /// to[y * row_step + x] = from[x * stride + y] for x < width, y < height, for any elements of 32 bits.
  void (*transpose)(const float* from, int64_t stride, float* to, int64_t row_step, int64_t width,
                    int64_t height) = nullptr;
  /// Joins blocks of channels: to[p * channels + i] is channel `lane` + i of pixel p. The input has blocks of
  /// 16 channels, from[p * 16 …], and each block begins `block_step` elements behind the one before.
  void (*join_blocks)(const float* from, int64_t block_step, int64_t lane, float* to, int64_t channels,
                      int64_t pixels) = nullptr;
  int64_t width = 1;  // of a vector
};
const TransposeKernels& transpose_kernels(Isa isa);

/// to[index] = from[…]: output axis i is input axis `axes[i]` of `shape`. Elements have 1, 2, 4, 8 or 16
/// bytes.
void transpose(Isa isa, const void* from, void* to, const Shape& shape, const Shape& axes,
               size_t element_bytes, KernelContext& c);

}  // namespace lathe::cpu
