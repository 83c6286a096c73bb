// Conversions between float32 and the floats of 16 bits.
#pragma once

#include <functional>

#include "kernel/kernel.h"
#include "tensor/element.h"

namespace lathe::cpu {

struct F16Kernels {
  void (*from_float16)(const Float16* x, float* y, int64_t n);
  void (*from_bfloat16)(const BFloat16* x, float* y, int64_t n);
  void (*to_float16)(const float* x, Float16* y, int64_t n);
  void (*to_bfloat16)(const float* x, BFloat16* y, int64_t n);
};
const F16Kernels& f16_kernels(Isa isa);

inline bool is_f16(DataType t) { return t == DataType::float16 || t == DataType::bfloat16; }

/// `type` is float16 or bfloat16.
void widen(Isa isa, DataType type, const void* x, float* y, int64_t n);
void narrow(Isa isa, DataType type, const float* x, void* y, int64_t n);

/// Returns elements [first, first + n) of weights of float32 or of 16-bit floats as float32, in place or
/// widened into `buffer`.
const float* widened(Isa isa, DataType type, const void* weights, int64_t first, int64_t n, float* buffer);
/// Widens on all threads.
void widen(Isa isa, DataType type, const void* x, float* y, int64_t n, Workers& workers);
/// Packs weights of 16 bits in the same way as floats: `pack` gets them widened, and its result is narrowed
/// to the type of `to`. That is lossless if packing only moves elements.
void pack_f16(Isa isa, const Tensor& from, Tensor& to, Workers& workers,
              const std::function<void(const float* from, float* to)>& pack);

}  // namespace lathe::cpu
