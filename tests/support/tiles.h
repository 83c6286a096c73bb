// Emulates AMX's tiles on machines without them, so that the library's kernels with tiles are tested
// everywhere.
#pragma once

#include "cpu/simd/amx.h"

namespace lathe::test {

/// If the processor has AVX-512 with VNNI but no tiles, the instructions for tiles that it refuses are
/// emulated, and the library is told that it has them. Each takes some 2 µs. Returns whether there are tiles
/// now, real or emulated. Call it before any other thread starts; once is enough.
bool provide_tiles();
/// Returns whether the processor has tiles. Tests that take minutes with emulated ones run only there.
bool tiles_are_real();

/// While it lives no tiles are used.
struct WithoutTiles {
  WithoutTiles() { cpu::use_amx(false); }
  ~WithoutTiles() { cpu::use_amx(true); }
  WithoutTiles(const WithoutTiles&) = delete;
  WithoutTiles& operator=(const WithoutTiles&) = delete;
};

}  // namespace lathe::test
