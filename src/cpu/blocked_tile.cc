#include "cpu/blocked_tile.h"

#include <utility>

#include "cpu/gemm.h"
#include "cpu/isa.h"

#define LATHE_NATIVE_BF16 0
#define LATHE_ISA_BODY "cpu/blocked_tile_body.h"
#include "cpu/for_each_isa.h"
#undef LATHE_NATIVE_BF16

// Once more with instructions for bfloat16, which are no instruction set of their own.
#if defined(__x86_64__) || defined(_M_X64)
#define LATHE_NATIVE_BF16 1
#if defined(__clang__)
#pragma clang attribute push(                                                               \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")
#endif
namespace lathe::cpu::bf16 {
#include "cpu/vec_avx512.h"
#include "cpu/vec_math.h"
#include LATHE_ISA_BODY
}  // namespace lathe::cpu::bf16
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

namespace lathe::cpu {

LATHE_SELECT_ISA(BlockedTiles, blocked_tiles)

const BlockedTiles& blocked_pair_tiles(Isa isa) {
#if defined(__x86_64__) || defined(_M_X64)
  if (isa == Isa::avx512) return uses_bf16() ? bf16::table_of_pairs : avx512::table_of_pairs;
  if (isa == Isa::avx2) return avx2::table_of_pairs;
#endif
  return generic::table_of_pairs;
}

}  // namespace lathe::cpu
