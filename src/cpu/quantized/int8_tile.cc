#include "cpu/quantized/int8_tile.h"

#include <atomic>
#include <cmath>
#include <utility>

#include "base/cpu.h"
#include "cpu/simd/isa.h"

#define LATHE_ISA_INTS
#define LATHE_ISA_BODY "cpu/quantized/int8_tile_body.h"
#define LATHE_AMX_BODY "cpu/quantized/int8_tile_amx_body.h"
#include "cpu/simd/for_each_isa.h"

namespace lathe::cpu {
namespace {

std::atomic<bool> vnni_enabled{true};

}  // namespace

void use_vnni(bool yes) { vnni_enabled.store(yes, std::memory_order_relaxed); }
bool uses_vnni() { return vnni_enabled.load(std::memory_order_relaxed) && cpu_features().avx512_vnni; }

void RequantParams::find_shortcut(int64_t filters) {
  bool small = true;
  for (int64_t i = 0; i < filters; ++i)
    small = small && std::abs(factor[i]) <= 0.25f && std::abs(shift[i]) <= 0x1p20f;
  if (adds)
    small = small && std::abs(own) <= 0x1p16f && std::abs(others) <= 0x1p16f && std::abs(constant) <= 0x1p24f;
  saturates = small && (adds ? sum_high : high) == static_cast<float>(255 - zero);
  if (saturates) least = static_cast<int32_t>(std::nearbyint(adds ? sum_low : low)) + zero;
}

namespace {

LATHE_SELECT_VNNI(Int8Tiles, vector_tiles)

}  // namespace

const Int8Tiles& int8_tiles(Isa isa) {
  LATHE_AVX512(
      if (isa == Isa::avx512 && uses_vnni() && uses_amx() && cpu_features().amx_int8) return amx::table;)
  return vector_tiles(isa);
}

}  // namespace lathe::cpu
