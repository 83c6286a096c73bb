// The instruction sets that this build has kernels for, as values and as template arguments.
#pragma once

#include <span>

#include "kernel/kernel.h"

namespace lathe::cpu {

#if defined(__x86_64__) || defined(_M_X64)
inline constexpr Isa compiled_isas[] = {Isa::generic, Isa::avx2, Isa::avx512};
#else
inline constexpr Isa compiled_isas[] = {Isa::generic};
#endif

/// Calls f.template operator()<isa>() for every instruction set compiled in: how rooms register one kernel
/// for each.
template <class F>
void for_each_isa(F&& f) {
  f.template operator()<Isa::generic>();
#if defined(__x86_64__) || defined(_M_X64)
  f.template operator()<Isa::avx2>();
  f.template operator()<Isa::avx512>();
#endif
}

}  // namespace lathe::cpu

/// Defines `const Table& function(Isa)` from the tables that the body file made: generic::table, avx2::table,
/// avx512::table.
#if defined(__x86_64__) || defined(_M_X64)
#define LATHE_SELECT_ISA(Table, function) \
  const Table& function(Isa isa) {        \
    switch (isa) {                        \
      case Isa::avx512:                   \
        return avx512::table;             \
      case Isa::avx2:                     \
        return avx2::table;               \
      case Isa::generic:                  \
        break;                            \
    }                                     \
    return generic::table;                \
  }
#else
#define LATHE_SELECT_ISA(Table, function) \
  const Table& function(Isa) { return generic::table; }
#endif

/// The same for bodies that are compiled with LATHE_ISA_INTS: also vnni::table, where uses_vnni().
#if defined(__x86_64__) || defined(_M_X64)
#define LATHE_SELECT_VNNI(Table, function)                                    \
  const Table& function(Isa isa) {                                            \
    if (isa == Isa::avx512) return uses_vnni() ? vnni::table : avx512::table; \
    return isa == Isa::avx2 ? avx2::table : generic::table;                   \
  }
#else
#define LATHE_SELECT_VNNI(Table, function) LATHE_SELECT_ISA(Table, function)
#endif
