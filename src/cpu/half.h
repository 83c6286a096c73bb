// Between float32 and the floats of 16 bits.
#pragma once

#include "kernel/kernel.h"
#include "tensor/element.h"

namespace lathe::cpu {

struct HalfKernels {
  void (*from_float16)(const Float16* x, float* y, int64_t n);
  void (*from_bfloat16)(const BFloat16* x, float* y, int64_t n);
  void (*to_float16)(const float* x, Float16* y, int64_t n);
  void (*to_bfloat16)(const float* x, BFloat16* y, int64_t n);
};
const HalfKernels& half_kernels(Isa isa);

inline bool is_half(DataType t) { return t == DataType::float16 || t == DataType::bfloat16; }

/// `type` is one of the two.
void widen(Isa isa, DataType type, const void* x, float* y, int64_t n);
void narrow(Isa isa, DataType type, const float* x, void* y, int64_t n);

}  // namespace lathe::cpu
