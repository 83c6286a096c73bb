#include "cpu/attention/linear_attention.h"

#define LATHE_ISA_BODY "cpu/attention/linear_attention_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(LinearKernels, linear_kernels)

}  // namespace lathe::cpu
