#include "cpu/grid.h"

#define LATHE_ISA_BODY "cpu/grid_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(GridKernels, grid_kernels)

}  // namespace lathe::cpu
