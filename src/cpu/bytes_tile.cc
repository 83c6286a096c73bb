#include "cpu/bytes_tile.h"

#include <atomic>
#include <utility>

#include "base/cpu.h"
#include "cpu/isa.h"

#define LATHE_ISA_INTS
#define LATHE_ISA_BODY "cpu/bytes_tile_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {
namespace {

std::atomic<bool> vnni_wanted{true};

}  // namespace

void use_vnni(bool yes) { vnni_wanted.store(yes, std::memory_order_relaxed); }
bool uses_vnni() { return vnni_wanted.load(std::memory_order_relaxed) && cpu_features().avx512_vnni; }

LATHE_SELECT_VNNI(ByteTiles, byte_tiles)

}  // namespace lathe::cpu
