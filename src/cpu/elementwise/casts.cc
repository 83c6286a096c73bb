#include "cpu/elementwise/casts.h"

#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/elementwise/casts_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(CastKernels, cast_kernels)

}  // namespace lathe::cpu
