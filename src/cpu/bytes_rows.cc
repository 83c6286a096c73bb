#include "cpu/bytes_rows.h"

#include "cpu/isa.h"

#define LATHE_ISA_INTS
#define LATHE_ISA_BODY "cpu/bytes_rows_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_VNNI(ByteRowKernels, byte_row_kernels)

}  // namespace lathe::cpu
