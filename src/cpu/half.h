// Between float32 and the floats of 16 bits.
#pragma once

#include <functional>

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

/// Elements [first, first + n) of weights that are float32 or floats of 16 bits, in float32: in place, or
/// widened into `buffer`.
const float* widened(Isa isa, DataType type, const void* weights, int64_t first, int64_t n, float* buffer);
/// All of them, by many threads.
void widen(Isa isa, DataType type, const void* x, float* y, int64_t n, Workers& workers);
/// Packs weights of 16 bits in the same way as floats: `pack` gets them widened, and what it makes of them is
/// narrowed to the type of `to`. Nothing is lost, as long as packing only moves.
void pack_narrow(Isa isa, const Tensor& from, Tensor& to, Workers& workers,
                 const std::function<void(const float* from, float* to)>& pack);

}  // namespace lathe::cpu
