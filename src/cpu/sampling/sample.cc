#include "cpu/sampling/sample.h"

#define LATHE_ISA_BODY "cpu/sampling/sample_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(SampleKernels, sample_kernels)

}  // namespace lathe::cpu
