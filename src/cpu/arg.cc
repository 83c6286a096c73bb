#include "cpu/arg.h"

#define LATHE_ISA_BODY "cpu/arg_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(ArgKernels, arg_kernels)

}  // namespace lathe::cpu
