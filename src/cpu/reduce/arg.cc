#include "cpu/reduce/arg.h"

#define LATHE_ISA_BODY "cpu/reduce/arg_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(ArgKernels, arg_kernels)

}  // namespace lathe::cpu
