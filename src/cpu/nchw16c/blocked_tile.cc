#include "cpu/nchw16c/blocked_tile.h"

#include <utility>

#include "cpu/gemm.h"
#include "cpu/nchw16c/blocked_bf16x3.h"
#include "cpu/simd/amx.h"
#include "cpu/simd/isa.h"

#define LATHE_ISA_BF16_DOT2
#define LATHE_ISA_BODY "cpu/nchw16c/blocked_tile_body.h"
#define LATHE_AMX_BODY "cpu/nchw16c/blocked_bf16x3_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(BlockedTiles, blocked_tiles)

const BlockedTiles& blocked_bf16_dot2_tiles(Isa isa) {
  LATHE_AVX512(if (isa == Isa::avx512) return uses_bf16() ? bf16::bf16_dot2_table : avx512::bf16_dot2_table;)
  LATHE_AVX2(if (isa == Isa::avx2) return avx2::bf16_dot2_table;)
  return generic::bf16_dot2_table;
}

const Bf16x3Kernels& bf16x3_kernels() {
#ifdef LATHE_HAS_AVX512
  return amx::bf16x3_table;
#else
  static constexpr Bf16x3Kernels none;
  return none;
#endif
}

}  // namespace lathe::cpu
