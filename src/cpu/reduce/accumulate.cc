#include "cpu/reduce/accumulate.h"

#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/reduce/accumulate_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(AccumulateKernels, accumulate_kernels)

}  // namespace lathe::cpu
