#include "cpu/nchw16c/winograd_untransformed.h"

#include <utility>

#include "cpu/simd/isa.h"

#define LATHE_ISA_BODY "cpu/nchw16c/winograd_untransformed_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(UntransformedTiles, untransformed_tiles)

}  // namespace lathe::cpu
