#include "cpu/half.h"

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/half_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(HalfKernels, half_kernels)

void widen(Isa isa, DataType type, const void* x, float* y, int64_t n) {
  const HalfKernels& k = half_kernels(isa);
  if (type == DataType::float16)
    k.from_float16(static_cast<const Float16*>(x), y, n);
  else
    k.from_bfloat16(static_cast<const BFloat16*>(x), y, n);
}

void narrow(Isa isa, DataType type, const float* x, void* y, int64_t n) {
  const HalfKernels& k = half_kernels(isa);
  if (type == DataType::float16)
    k.to_float16(x, static_cast<Float16*>(y), n);
  else
    k.to_bfloat16(x, static_cast<BFloat16*>(y), n);
}

}  // namespace lathe::cpu
