#include "cpu/bytes_tile.h"

#include <atomic>
#include <cmath>
#include <utility>

#include "base/cpu.h"
#include "cpu/isa.h"

#define LATHE_ISA_INTS
#define LATHE_ISA_BODY "cpu/bytes_tile_body.h"
#define LATHE_AMX_BODY "cpu/bytes_tile_amx_body.h"
#include "cpu/for_each_isa.h"

namespace lathe::cpu {
namespace {

std::atomic<bool> vnni_wanted{true};

}  // namespace

void use_vnni(bool yes) { vnni_wanted.store(yes, std::memory_order_relaxed); }
bool uses_vnni() { return vnni_wanted.load(std::memory_order_relaxed) && cpu_features().avx512_vnni; }

void ByteGrid::find_shortcut(int64_t filters) {
  bool small = true;
  for (int64_t i = 0; i < filters; ++i)
    small = small && std::abs(factor[i]) <= 0.25f && std::abs(shift[i]) <= 0x1p20f;
  if (adds)
    small = small && std::abs(own) <= 0x1p16f && std::abs(others) <= 0x1p16f && std::abs(constant) <= 0x1p24f;
  saturates = small && (adds ? sum_high : high) == static_cast<float>(255 - zero);
  if (saturates) least = static_cast<int32_t>(std::nearbyint(adds ? sum_low : low)) + zero;
}

namespace {

LATHE_SELECT_VNNI(ByteTiles, plain_tiles)

}  // namespace

const ByteTiles& byte_tiles(Isa isa) {
  LATHE_AVX512(
      if (isa == Isa::avx512 && uses_vnni() && uses_amx() && cpu_features().amx_int8) return amx::table;)
  return plain_tiles(isa);
}

}  // namespace lathe::cpu
