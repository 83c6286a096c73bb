#include "cpu/sample.h"

#define LATHE_ISA_BODY "cpu/sample_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(SampleKernels, sample_kernels)

}  // namespace lathe::cpu
