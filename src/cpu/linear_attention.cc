#include "cpu/linear_attention.h"

#define LATHE_ISA_BODY "cpu/linear_attention_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(LinearKernels, linear_kernels)

}  // namespace lathe::cpu
