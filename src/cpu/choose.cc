#include "cpu/choose.h"

#define LATHE_ISA_BODY "cpu/choose_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(ChooseKernels, choose_kernels)

}  // namespace lathe::cpu
