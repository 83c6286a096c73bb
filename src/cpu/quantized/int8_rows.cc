#include "cpu/quantized/int8_rows.h"

#include "cpu/simd/isa.h"

#define LATHE_ISA_INTS
#define LATHE_ISA_BODY "cpu/quantized/int8_rows_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_VNNI(Int8RowKernels, int8_row_kernels)

}  // namespace lathe::cpu
