// The instruction sets that this build has kernels for, as values and as template arguments.
#pragma once

#include <span>

#include "kernel/kernel.h"

// All instruction sets of the processor family have kernels, except AVX-512 where LATHE_AVX512 is off.
#if defined(__x86_64__) || defined(_M_X64)
#define LATHE_HAS_AVX2
#ifndef LATHE_WITHOUT_AVX512
#define LATHE_HAS_AVX512
#endif
#endif

/// The arguments are only compiled if there are kernels for the instruction set.
#ifdef LATHE_HAS_AVX2
#define LATHE_AVX2(...) __VA_ARGS__
#else
#define LATHE_AVX2(...)
#endif
#ifdef LATHE_HAS_AVX512
#define LATHE_AVX512(...) __VA_ARGS__
#else
#define LATHE_AVX512(...)
#endif

namespace lathe::cpu {

#if defined(LATHE_HAS_AVX512)
inline constexpr Isa compiled_isas[] = {Isa::generic, Isa::avx2, Isa::avx512};
#elif defined(LATHE_HAS_AVX2)
inline constexpr Isa compiled_isas[] = {Isa::generic, Isa::avx2};
#else
inline constexpr Isa compiled_isas[] = {Isa::generic};
#endif

/// Calls f.template operator()<isa>() for every instruction set compiled in. Operators register one kernel
/// for each in this way.
template <class F>
void for_each_isa(F&& f) {
  f.template operator()<Isa::generic>();
#ifdef LATHE_HAS_AVX2
  f.template operator()<Isa::avx2>();
#endif
#ifdef LATHE_HAS_AVX512
  f.template operator()<Isa::avx512>();
#endif
}

}  // namespace lathe::cpu

/// Defines `const Table& function(Isa)` from the tables that the body file made: generic::table, avx2::table,
/// avx512::table.
#define LATHE_SELECT_ISA(Table, function)                       \
  const Table& function(Isa isa) {                              \
    LATHE_AVX512(if (isa == Isa::avx512) return avx512::table;) \
    LATHE_AVX2(if (isa == Isa::avx2) return avx2::table;)       \
    return generic::table;                                      \
  }

/// The same for bodies that are compiled with LATHE_ISA_INTS: also vnni::table, where uses_vnni().
#define LATHE_SELECT_VNNI(Table, function)                                                  \
  const Table& function(Isa isa) {                                                          \
    LATHE_AVX512(if (isa == Isa::avx512) return uses_vnni() ? vnni::table : avx512::table;) \
    LATHE_AVX2(if (isa == Isa::avx2) return avx2::table;)                                   \
    return generic::table;                                                                  \
  }
