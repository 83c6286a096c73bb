#include "cpu/reduce/maxima.h"

#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/reduce/maxima_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(MaximaKernels, maxima_kernels)

}  // namespace lathe::cpu
