#include "support/tiles.h"

#include "base/cpu.h"

#if defined(__x86_64__) && defined(__linux__)

#include <immintrin.h>
#include <signal.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>

namespace lathe::test {
namespace {

/// The tiles of one thread: LDTILECFG sets them and the other instructions change them (Intel's Software
/// Developer's Manual, volume 2, whose notation is used).
struct Tiles {
  struct alignas(64) Shapes {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
  } shapes = {};
  alignas(64) uint8_t data[8][16][64] = {};
};
thread_local Tiles tiles;
bool carried_out = false;

/// The part of an instruction behind VEX's three bytes and the opcode: registers, and the address if there is
/// one, without its index, which for tiles is the distance of rows.
struct Instruction {
  unsigned map, prefix, opcode, reg, rm, vvvv;
  bool memory = false;
  uint64_t address = 0, index = 0;
  int length = 0;
};

uint64_t general(const ucontext_t& c, unsigned number) {
  constexpr int order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                           REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return static_cast<uint64_t>(c.uc_mcontext.gregs[order[number]]);
}

template <class T>
T read(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

bool decode(const uint8_t* code, const ucontext_t& c, Instruction& i) {
  if (code[0] != 0xc4) return false;
  const unsigned r = ~code[1] >> 7 & 1, x = ~code[1] >> 6 & 1, b = ~code[1] >> 5 & 1;
  i.map = code[1] & 0x1f, i.prefix = code[2] & 3, i.vvvv = ~code[2] >> 3 & 15;
  i.opcode = code[3];
  const unsigned mode = code[4] >> 6, rm = code[4] & 7;
  i.reg = (code[4] >> 3 & 7) + 8 * r, i.rm = rm + 8 * b, i.memory = mode != 3;
  const uint8_t* at = code + 5;
  bool beside_code = false;
  if (i.memory) {
    unsigned base = rm;
    if (rm == 4) {
      const unsigned index = (*at >> 3 & 7) + 8 * x;
      base = *at & 7;
      if (index != 4) i.index = general(c, index) << (*at >> 6);
      ++at;
    } else if (rm == 5 && mode == 0) {
      beside_code = true;
    }
    const bool far = mode == 2 || (mode == 0 && base == 5);
    if (!(mode == 0 && base == 5)) i.address = general(c, base + 8 * b);
    if (mode == 1) i.address += static_cast<uint64_t>(int64_t{read<int8_t>(at)}), at += 1;
    if (far) i.address += static_cast<uint64_t>(int64_t{read<int32_t>(at)}), at += 4;
  }
  i.length = static_cast<int>(at - code);
  if (beside_code) i.address += reinterpret_cast<uint64_t>(at);
  return true;
}

/// Sums += A B of pairs of bfloat16: those of first and of second elements apart, denormals as zeros.
__attribute__((target("avx512f"))) void multiply_pairs(unsigned sums, unsigned a, unsigned b) {
  const unsigned rows = tiles.shapes.rows[sums], depth = tiles.shapes.bytes[a] / 4u;
  const unsigned csr = _mm_getcsr();
  _mm_setcsr(0x9fc0);  // to the nearest, DAZ and FTZ, no exceptions
  for (unsigned m = 0; m < rows; ++m) {
    __m512 first = _mm512_setzero_ps(), second = first;
    for (unsigned k = 0; k < depth; ++k) {
      const auto pair = read<uint32_t>(&tiles.data[a][m][4 * k]);
      const __m512i w = _mm512_load_si512(tiles.data[b][k]);
      const __m512i high = _mm512_set1_epi32(static_cast<int>(0xffff0000));
      first = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(pair << 16))),
                              _mm512_castsi512_ps(_mm512_slli_epi32(w, 16)), first);
      second = _mm512_fmadd_ps(_mm512_castsi512_ps(_mm512_set1_epi32(static_cast<int>(pair & 0xffff0000))),
                               _mm512_castsi512_ps(_mm512_and_si512(w, high)), second);
    }
    auto* const to = reinterpret_cast<float*>(tiles.data[sums][m]);
    _mm512_store_ps(to, _mm512_add_ps(_mm512_load_ps(to), _mm512_add_ps(first, second)));
  }
  _mm_setcsr(csr);
}

/// Multiplies quads of bytes, those of A without sign.
__attribute__((target("avx512f,avx512vnni"))) void multiply_bytes(unsigned sums, unsigned a, unsigned b) {
  const unsigned rows = tiles.shapes.rows[sums], depth = tiles.shapes.bytes[a] / 4u;
  for (unsigned m = 0; m < rows; ++m) {
    __m512i sum = _mm512_load_si512(tiles.data[sums][m]);
    for (unsigned k = 0; k < depth; ++k)
      sum = _mm512_dpbusd_epi32(sum, _mm512_set1_epi32(read<int>(&tiles.data[a][m][4 * k])),
                                _mm512_load_si512(tiles.data[b][k]));
    _mm512_store_si512(tiles.data[sums][m], sum);
  }
}

/// Returns false for instructions that the library does not use.
bool carry_out(const Instruction& i) {
  constexpr unsigned none = 0, p66 = 1, pf3 = 2, pf2 = 3;
  if (i.map != 2) return false;
  if (i.opcode == 0x49 && i.prefix == none) {
    if (i.memory)
      std::memcpy(&tiles.shapes, reinterpret_cast<const void*>(i.address + i.index), sizeof tiles.shapes);
    else
      tiles.shapes = {};
    std::memset(tiles.data, 0, sizeof tiles.data);
  } else if (i.opcode == 0x49 && i.prefix == pf2) {
    std::memset(tiles.data[i.reg], 0, sizeof tiles.data[i.reg]);
  } else if (i.opcode == 0x4b && (i.prefix == pf2 || i.prefix == pf3)) {
    const size_t bytes = tiles.shapes.bytes[i.reg];
    if (i.prefix == pf2) std::memset(tiles.data[i.reg], 0, sizeof tiles.data[i.reg]);
    for (unsigned row = 0; row < tiles.shapes.rows[i.reg]; ++row) {
      auto* const there = reinterpret_cast<uint8_t*>(i.address + row * i.index);
      uint8_t* const here = tiles.data[i.reg][row];
      i.prefix == pf2 ? std::memcpy(here, there, bytes) : std::memcpy(there, here, bytes);
    }
  } else if (i.opcode == 0x5c && i.prefix == pf3) {
    multiply_pairs(i.reg, i.rm, i.vvvv);
  } else if (i.opcode == 0x5e && i.prefix == p66) {
    multiply_bytes(i.reg, i.rm, i.vvvv);
  } else {
    return false;
  }
  return true;
}

void on_refusal(int, siginfo_t*, void* context) {
  auto& c = *static_cast<ucontext_t*>(context);
  auto& next = c.uc_mcontext.gregs[REG_RIP];
  bool any = false;
  // Instructions that follow at once are emulated too: most of the time is that of the signal.
  for (Instruction i; decode(reinterpret_cast<const uint8_t*>(next), c, i) && carry_out(i);
       any = true, i = {})
    next += i.length;
  if (!any) signal(SIGILL, SIG_DFL);  // refused again, and for good
}

}  // namespace

bool provide_tiles() {
  const CpuFeatures& there = cpu_features();
  if (there.amx_bf16 && there.amx_int8) return may_use_tiles();
  if (!there.avx512 || !there.avx512_vnni) return false;
  struct sigaction action = {};
  action.sa_sigaction = on_refusal;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGILL, &action, nullptr);
  pretend_tiles();
  carried_out = true;
  return true;
}

bool tiles_are_real() { return cpu_features().amx_bf16 && !carried_out; }

}  // namespace lathe::test

#else

namespace lathe::test {
bool provide_tiles() { return false; }
bool tiles_are_real() { return false; }
}  // namespace lathe::test

#endif
