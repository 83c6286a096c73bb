// AMX's tiles on machines without them: what the library's kernels do with tiles is tested everywhere.
#pragma once

#include "cpu/amx.h"

namespace lathe::test {

/// Where the processor has AVX-512 with VNNI but no tiles, its instructions for tiles are carried out when
/// the processor refuses them, and the library is told that it has them. Some 2 µs an instruction. Answers
/// whether there are tiles now, real ones or these. Before any other thread starts; once is enough.
bool provide_tiles();
/// Are these the processor's own? What takes minutes otherwise is tested with those alone.
bool tiles_are_real();

/// While it lives no tiles are used.
struct WithoutTiles {
  WithoutTiles() { cpu::use_amx(false); }
  ~WithoutTiles() { cpu::use_amx(true); }
  WithoutTiles(const WithoutTiles&) = delete;
  WithoutTiles& operator=(const WithoutTiles&) = delete;
};

}  // namespace lathe::test
