#include "cpu/fold.h"

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/fold_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(FoldKernels, fold_kernels)

}  // namespace lathe::cpu
