#include "cpu/blocked_tile.h"

#include <utility>

#include "cpu/amx.h"
#include "cpu/blocked_parts.h"
#include "cpu/gemm.h"
#include "cpu/isa.h"

#define LATHE_ISA_PAIRS
#define LATHE_ISA_BODY "cpu/blocked_tile_body.h"
#define LATHE_AMX_BODY "cpu/blocked_parts_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {

LATHE_SELECT_ISA(BlockedTiles, blocked_tiles)

const BlockedTiles& blocked_pair_tiles(Isa isa) {
  LATHE_AVX512(if (isa == Isa::avx512) return uses_bf16() ? bf16::table_of_pairs : avx512::table_of_pairs;)
  LATHE_AVX2(if (isa == Isa::avx2) return avx2::table_of_pairs;)
  return generic::table_of_pairs;
}

const PartsKernels& parts_kernels() {
#ifdef LATHE_HAS_AVX512
  return amx::table_of_parts;
#else
  static constexpr PartsKernels none;
  return none;
#endif
}

}  // namespace lathe::cpu
