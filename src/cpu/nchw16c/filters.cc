#include "cpu/nchw16c/filters.h"

#include <utility>

#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/nchw16c/filters_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(FilterKernels, filter_kernels)

}  // namespace lathe::cpu
