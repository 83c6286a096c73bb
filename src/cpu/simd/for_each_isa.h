// Compiles the file named by LATHE_ISA_BODY once for every instruction set, each time in a namespace of its
// own (lathe::cpu::generic, avx2, avx512; cpu/simd/isa.h lists those that exist) after the vector type of
// that set. Included once per source file, after all other headers.
//
//   #define LATHE_ISA_BODY "cpu/gemm/gemm_body.h"
//   #include "cpu/simd/for_each_isa.h"
//
// With LATHE_ISA_INTS the bodies can use integers too (cpu/simd/ints_generic.h), and are compiled once more
// for AVX-512 with VNNI (lathe::cpu::vnni). That is not an instruction set of its own: the including file
// chooses between the two tables of AVX-512, whose results and packed forms are the same.
//
// With LATHE_ISA_BF16_DOT2 the bodies can use products of pairs of bfloat16 (cpu/simd/bf16_dot2_emulated.h),
// and are compiled once more for AVX-512 with instructions for them (lathe::cpu::bf16), whose packed forms
// are the same.
//
// With LATHE_ISA_BYTES the bodies can use registers of bytes (cpu/simd/u8_generic.h).
//
// With LATHE_AMX_BODY that file is compiled too, once, for AVX-512 with VNNI and AMX (lathe::cpu::amx): it
// takes kernels that tiles do not speed up from the tables above.
//
// Every function of a body that holds a Vec must have a name: a lambda would be compiled for the base
// instruction set. Functions that a body calls from outside must be plain scalar code, which is the same in
// every namespace, so that no inline function exists in two versions under one name.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "cpu/simd/isa.h"
#include "tensor/element.h"

#if defined(__x86_64__) || defined(_M_X64)
#if defined(__GNUC__) && !defined(__clang__)
// Intrinsics of gcc 12 leave a register undefined on purpose, and it warns of that once they are inlined.
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
#include "cpu/simd/vec_generic.h"
#include "cpu/simd/vec_math.h"
#ifdef LATHE_ISA_INTS
#define LATHE_VNNI 0
#include "cpu/simd/ints_generic.h"
#endif
#ifdef LATHE_ISA_BYTES
#include "cpu/simd/u8_generic.h"
#endif
#ifdef LATHE_ISA_BF16_DOT2
#define LATHE_BF16 0
#include "cpu/simd/bf16_dot2_emulated.h"
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
#include "cpu/simd/vec_avx2.h"
#include "cpu/simd/vec_math.h"
#ifdef LATHE_ISA_INTS
#include "cpu/simd/ints_avx2.h"
#endif
#ifdef LATHE_ISA_BYTES
#include "cpu/simd/u8_avx2.h"
#endif
#ifdef LATHE_ISA_BF16_DOT2
#include "cpu/simd/bf16_dot2_emulated.h"
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
#include "cpu/simd/vec_avx512.h"
#include "cpu/simd/vec_math.h"
#ifdef LATHE_ISA_INTS
#include "cpu/simd/ints_avx512.h"
#endif
#ifdef LATHE_ISA_BYTES
#include "cpu/simd/u8_avx512.h"
#endif
#ifdef LATHE_ISA_BF16_DOT2
#include "cpu/simd/bf16_dot2_emulated.h"
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
#include "cpu/simd/vec_avx512.h"
#include "cpu/simd/vec_math.h"
// Depends on Vec.
#include "cpu/simd/ints_avx512.h"
#include LATHE_ISA_BODY
}  // namespace lathe::cpu::vnni
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#ifdef LATHE_ISA_BF16_DOT2
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
#include "cpu/simd/vec_avx512.h"
#include "cpu/simd/vec_math.h"
// Depends on Vec.
#include "cpu/simd/bf16_dot2_native.h"
#ifdef LATHE_ISA_BYTES
#include "cpu/simd/u8_avx512.h"
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
#include "cpu/simd/vec_avx512.h"
#include "cpu/simd/vec_math.h"
#ifdef LATHE_ISA_INTS
#include "cpu/simd/ints_avx512.h"
#endif
#include "cpu/simd/tiles_amx.h"
// Depends on tiles_amx.h.
#include "cpu/simd/bf16x3_amx.h"
#include LATHE_AMX_BODY
}  // namespace lathe::cpu::amx
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif

#endif
