// Compiles the file named by LATHE_ISA_BODY once for every instruction set, each time in a namespace of its
// own (lathe::cpu::generic, avx2, avx512; cpu/isa.h says which there are) after the vector type of that set.
// Included once per source file, after all other headers.
//
//   #define LATHE_ISA_BODY "cpu/gemm_body.h"
//   #include "cpu/for_each_isa.h"
//
// With LATHE_ISA_INTS the bodies see whole numbers too (cpu/ints_generic.h), and are compiled once more for
// AVX-512 with VNNI (lathe::cpu::vnni). That is no instruction set of its own: who includes it chooses
// between the two tables of AVX-512, whose results and packed forms are the same.
//
// With LATHE_ISA_PAIRS the bodies see products of pairs of bfloat16 (cpu/pairs_plain.h), and are compiled
// once more for AVX-512 with instructions for them (lathe::cpu::bf16), whose packed forms are the same.
//
// With LATHE_ISA_BYTES the bodies see registers of bytes (cpu/bytes_generic.h).
//
// With LATHE_AMX_BODY that file is compiled too, once, for AVX-512 with VNNI and AMX (lathe::cpu::amx): it
// takes what is not worth tiles from the tables above.
//
// Every function of a body that holds a Vec is a named one: a lambda would be compiled for the base
// instruction set. What a body calls from outside must be plain scalar code, which is the same in every
// namespace, so that no inline function exists in two versions under one name.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/isa.h"
#include "tensor/element.h"

#if defined(__x86_64__) || defined(_M_X64)
#if defined(__GNUC__) && !defined(__clang__)
// gcc 12's own intrinsics leave a register undefined on purpose, and it warns of that once they are inlined.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <immintrin.h>
#pragma GCC diagnostic pop
#else
#include <immintrin.h>
#endif
#endif

#define LATHE_INLINE inline __attribute__((always_inline))
#if defined(__clang__)
#define LATHE_UNROLL _Pragma("clang loop unroll(full)")
#define LATHE_ROLLED _Pragma("clang loop unroll(disable)")
#else
#define LATHE_UNROLL _Pragma("GCC unroll 16")
#define LATHE_ROLLED _Pragma("GCC unroll 1")
#endif

namespace lathe::cpu::generic {
#include "cpu/vec_generic.h"
#include "cpu/vec_math.h"
#ifdef LATHE_ISA_INTS
#define LATHE_VNNI 0
#include "cpu/ints_generic.h"
#endif
#ifdef LATHE_ISA_BYTES
#include "cpu/bytes_generic.h"
#endif
#ifdef LATHE_ISA_PAIRS
#define LATHE_BF16 0
#include "cpu/pairs_plain.h"
#endif
#include LATHE_ISA_BODY
}  // namespace lathe::cpu::generic

#ifdef LATHE_HAS_AVX2

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c")
#endif
namespace lathe::cpu::avx2 {
#include "cpu/vec_avx2.h"
#include "cpu/vec_math.h"
#ifdef LATHE_ISA_INTS
#include "cpu/ints_avx2.h"
#endif
#ifdef LATHE_ISA_BYTES
#include "cpu/bytes_avx2.h"
#endif
#ifdef LATHE_ISA_PAIRS
#include "cpu/pairs_plain.h"
#endif
#include LATHE_ISA_BODY
}  // namespace lathe::cpu::avx2
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#ifdef LATHE_HAS_AVX512
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl"))), \
                             apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl")
#endif
namespace lathe::cpu::avx512 {
#include "cpu/vec_avx512.h"
#include "cpu/vec_math.h"
#ifdef LATHE_ISA_INTS
#include "cpu/ints_avx512.h"
#endif
#ifdef LATHE_ISA_BYTES
#include "cpu/bytes_avx512.h"
#endif
#ifdef LATHE_ISA_PAIRS
#include "cpu/pairs_plain.h"
#endif
#include LATHE_ISA_BODY
}  // namespace lathe::cpu::avx512
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

#ifdef LATHE_ISA_INTS
#undef LATHE_VNNI
#define LATHE_VNNI 1
#if defined(__clang__)
#pragma clang attribute push(                                                               \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif
namespace lathe::cpu::vnni {
#include "cpu/vec_avx512.h"
#include "cpu/vec_math.h"
// Of as many numbers as a Vec has.
#include "cpu/ints_avx512.h"
#include LATHE_ISA_BODY
}  // namespace lathe::cpu::vnni
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#ifdef LATHE_ISA_PAIRS
#undef LATHE_BF16
#define LATHE_BF16 1
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
// Needs them.
#include "cpu/pairs_bf16.h"
#ifdef LATHE_ISA_BYTES
#include "cpu/bytes_avx512.h"
#endif
#include LATHE_ISA_BODY
}  // namespace lathe::cpu::bf16
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#ifdef LATHE_AMX_BODY
#undef LATHE_VNNI
#define LATHE_VNNI 1
#if defined(__clang__)
#pragma clang attribute push(                                                               \
    __attribute__((target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni"))), \
    apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")
#endif
namespace lathe::cpu::amx {
#include "cpu/vec_avx512.h"
#include "cpu/vec_math.h"
#ifdef LATHE_ISA_INTS
#include "cpu/ints_avx512.h"
#endif
#include "cpu/tiles_amx.h"
// Of such tiles.
#include "cpu/parts_amx.h"
#include LATHE_AMX_BODY
}  // namespace lathe::cpu::amx
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#endif
