#include "cpu/elementwise/choose.h"

#define LATHE_ISA_BODY "cpu/elementwise/choose_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(ChooseKernels, choose_kernels)

}  // namespace lathe::cpu
