#include "cpu/maxima.h"

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/maxima_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(MaximaKernels, maxima_kernels)

}  // namespace lathe::cpu
