#include "cpu/filters.h"

#include <utility>

#include "cpu/isa.h"

#define LATHE_ISA_BODY "cpu/filters_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(FilterKernels, filter_kernels)

}  // namespace lathe::cpu
