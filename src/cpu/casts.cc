#include "cpu/casts.h"

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/casts_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(CastKernels, cast_kernels)

}  // namespace lathe::cpu
