// Permuting axes fast: neighbouring axes that stay together are one, and where the last axis moves, squares
// of elements are turned so that both what is read and what is written stays in the cache.
#pragma once

#include "kernel/kernel.h"

namespace lathe::cpu {

/// to[index] = from[…]: output axis i is input axis `axes[i]` of `shape`. Elements of 1, 2, 4, 8 or 16 bytes.
void transpose(const void* from, void* to, const Shape& shape, const Shape& axes, size_t element_bytes,
               KernelContext& c);

}  // namespace lathe::cpu
