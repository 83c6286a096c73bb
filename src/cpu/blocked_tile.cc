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
#if defined(__x86_64__) || defined(_M_X64)
  if (isa == Isa::avx512) return uses_bf16() ? bf16::table_of_pairs : avx512::table_of_pairs;
  if (isa == Isa::avx2) return avx2::table_of_pairs;
#endif
  return generic::table_of_pairs;
}

const PartsKernels& parts_kernels() {
#if defined(__x86_64__)
  return amx::table_of_parts;
#else
  static constexpr PartsKernels none;
  return none;
#endif
}

}  // namespace lathe::cpu
