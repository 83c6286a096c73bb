#include "cpu/simd/amx.h"

#include <array>
#include <atomic>

#include "base/cpu.h"

namespace lathe::cpu {
namespace {

std::atomic<bool> amx_enabled{true};

}  // namespace

void use_amx(bool yes) { amx_enabled.store(yes, std::memory_order_relaxed); }
bool uses_amx() { return amx_enabled.load(std::memory_order_relaxed) && may_use_tiles(); }

#if defined(__x86_64__) || defined(_M_X64)

namespace {

/// The operand of LDTILECFG (Intel's Software Developer's Manual, volume 1, section 18.2).
struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {};  // of a row
  uint8_t rows[16] = {};
};

constexpr auto shapes_by_rows = [] {
  std::array<TileShapes, max_tiled_rows + 1> all = {};
  for (int rows = 1; rows <= max_tiled_rows; ++rows) {
    const auto upper = static_cast<uint8_t>(upper_rows(rows)), lower = static_cast<uint8_t>(rows - upper);
    TileShapes& s = all[static_cast<size_t>(rows)];
    const uint8_t tiles[] = {upper, upper, lower, lower, upper, lower, 16, 16};
    for (size_t i = 0; i < 8; ++i)
      if (tiles[i] > 0) s.rows[i] = tiles[i], s.bytes[i] = 64;
  }
  return all;
}();

}  // namespace

void TileRegisters::configure(int64_t rows) {
  asm volatile("ldtilecfg %0" : : "m"(shapes_by_rows[static_cast<size_t>(rows)]));
  rows_ = rows;
}
void TileRegisters::release() { asm volatile("tilerelease"); }

#else

void TileRegisters::configure(int64_t) {}
void TileRegisters::release() {}

#endif

}  // namespace lathe::cpu
