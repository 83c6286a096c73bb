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

/// Registers in the order of their numbers in instructions.
constexpr int register_order[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                  REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

uint64_t general(const ucontext_t& c, unsigned number) {
  return static_cast<uint64_t>(c.uc_mcontext.gregs[register_order[number]]);
}
void set_general(ucontext_t& c, unsigned number, uint64_t value) {
  c.uc_mcontext.gregs[register_order[number]] = static_cast<greg_t>(value);
}

template <class T>
T read(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// The registers of an instruction, and the address if there is one, without its index, which for tiles is
/// the distance of rows.
struct Operands {
  unsigned reg = 0, rm = 0;
  bool memory = false;
  uint64_t address = 0, index = 0;
  const uint8_t* end = nullptr;  // behind them
};

/// Reads the operands that begin at `at`; r, x and b are the upper bits of registers, from a prefix.
Operands operands(const uint8_t* at, unsigned r, unsigned x, unsigned b, const ucontext_t& c) {
  Operands o;
  const unsigned mode = *at >> 6, rm = *at & 7;
  o.reg = (*at >> 3 & 7) + 8 * r, o.rm = rm + 8 * b, o.memory = mode != 3;
  ++at;
  bool beside_code = false;
  if (o.memory) {
    unsigned base = rm;
    if (rm == 4) {
      const unsigned index = (*at >> 3 & 7) + 8 * x;
      base = *at & 7;
      if (index != 4) o.index = general(c, index) << (*at >> 6);
      ++at;
    } else if (rm == 5 && mode == 0) {
      beside_code = true;
    }
    const bool far = mode == 2 || (mode == 0 && base == 5);
    if (!(mode == 0 && base == 5)) o.address = general(c, base + 8 * b);
    if (mode == 1) o.address += static_cast<uint64_t>(int64_t{read<int8_t>(at)}), at += 1;
    if (far) o.address += static_cast<uint64_t>(int64_t{read<int32_t>(at)}), at += 4;
  }
  if (beside_code) o.address += reinterpret_cast<uint64_t>(at);
  o.end = at;
  return o;
}

/// An instruction with VEX's three bytes.
struct Instruction : Operands {
  unsigned map = 0, prefix = 0, opcode = 0, vvvv = 0;
};

bool decode(const uint8_t* code, const ucontext_t& c, Instruction& i) {
  if (code[0] != 0xc4) return false;
  static_cast<Operands&>(i) = operands(code + 4, ~code[1] >> 7 & 1, ~code[1] >> 6 & 1, ~code[1] >> 5 & 1, c);
  i.map = code[1] & 0x1f, i.prefix = code[2] & 3, i.vvvv = ~code[2] >> 3 & 15;
  i.opcode = code[3];
  return true;
}

// Between instructions for tiles there are a few that compute addresses and close a loop. They are carried
// out too: a signal takes so much longer that a whole loop goes into one.

constexpr uint64_t carry_flag = 1, parity_flag = 4, zero_flag = 0x40, sign_flag = 0x80, overflow_flag = 0x800;

/// The flags that conditions read, after an instruction with this result.
void set_flags(ucontext_t& c, uint64_t result, bool carry, bool overflow) {
  uint64_t flags = static_cast<uint64_t>(c.uc_mcontext.gregs[REG_EFL]) &
                   ~(carry_flag | parity_flag | zero_flag | sign_flag | overflow_flag);
  if (carry) flags |= carry_flag;
  if (!(__builtin_popcountll(result & 0xff) & 1)) flags |= parity_flag;
  if (result == 0) flags |= zero_flag;
  if (result >> 63) flags |= sign_flag;
  if (overflow) flags |= overflow_flag;
  c.uc_mcontext.gregs[REG_EFL] = static_cast<greg_t>(flags);
}

/// By the numbers that instructions have for them.
enum Arithmetic : unsigned { add = 0, bitwise_and = 4, subtract = 5, bitwise_xor = 6, compare = 7 };

/// Returns the result, and sets flags. `known` becomes false for other arithmetic.
uint64_t calculated(unsigned kind, uint64_t a, uint64_t b, ucontext_t& c, bool& known) {
  uint64_t result = 0;
  bool carry = false, overflow = false;
  switch (kind) {
    case add:
      result = a + b;
      carry = result < a;
      overflow = (~(a ^ b) & (a ^ result)) >> 63;
      break;
    case subtract:
    case compare:
      result = a - b;
      carry = a < b;
      overflow = ((a ^ b) & (a ^ result)) >> 63;
      break;
    case bitwise_and:
      result = a & b;
      break;
    case bitwise_xor:
      result = a ^ b;
      break;
    default:
      known = false;
      return a;
  }
  set_flags(c, result, carry, overflow);
  return kind == compare ? a : result;
}

bool holds(const ucontext_t& c, unsigned condition) {
  const auto flags = static_cast<uint64_t>(c.uc_mcontext.gregs[REG_EFL]);
  const bool carry = flags & carry_flag, parity = flags & parity_flag, zero = flags & zero_flag,
             sign = flags & sign_flag, overflow = flags & overflow_flag;
  const bool met[] = {
      overflow, carry, zero, carry || zero, sign, parity, sign != overflow, zero || sign != overflow};
  return met[condition >> 1] != bool(condition & 1);
}

/// Carries out an instruction on general registers at `code`; returns where it goes on, null for one that is
/// not among the few.
const uint8_t* carry_out_integer(const uint8_t* code, ucontext_t& c) {
  const uint8_t first = code[0];
  if (first >= 0x70 && first < 0x80)
    return code + 2 + (holds(c, first & 15) ? int64_t{read<int8_t>(code + 1)} : 0);
  if (first == 0x0f && code[1] >= 0x80 && code[1] < 0x90)
    return code + 6 + (holds(c, code[1] & 15) ? int64_t{read<int32_t>(code + 2)} : 0);
  if (first == 0xeb) return code + 2 + int64_t{read<int8_t>(code + 1)};
  if (first == 0xe9) return code + 5 + int64_t{read<int32_t>(code + 1)};
  if (first >= 0xb8 && first < 0xc0) {
    set_general(c, first & 7, read<uint32_t>(code + 1));
    return code + 5;
  }
  if (first < 0x48 || first > 0x4f) return nullptr;  // all others are of 64 bits
  const unsigned opcode = code[1];
  const Operands o = operands(code + 2, first >> 2 & 1, first >> 1 & 1, first & 1, c);
  const uint64_t address = o.address + o.index;
  const auto value = [&] {
    return o.memory ? read<uint64_t>(reinterpret_cast<const uint8_t*>(address)) : general(c, o.rm);
  };
  // Below the stack pointer, and the 128 bytes that code may use there, are the frames of this function.
  constexpr unsigned rsp = 4;
  const bool has_number = opcode == 0x81 || opcode == 0x83 || opcode == 0xc1 || opcode == 0xf7;
  if ((o.reg == rsp && !has_number) || (o.rm == rsp && !o.memory)) return nullptr;
  bool known = true;
  switch (opcode) {
    case 0x8d:  // lea
      if (!o.memory) return nullptr;
      set_general(c, o.reg, address);
      return o.end;
    case 0x8b:  // mov
      set_general(c, o.reg, value());
      return o.end;
    case 0x89:
      if (o.memory) {
        const uint64_t from = general(c, o.reg);
        std::memcpy(reinterpret_cast<void*>(address), &from, sizeof from);
      } else {
        set_general(c, o.rm, general(c, o.reg));
      }
      return o.end;
    case 0x85:  // test
      if (o.memory) return nullptr;
      set_flags(c, general(c, o.rm) & general(c, o.reg), false, false);
      return o.end;
    case 0xf7:  // test with a number; there are others of this code
      if (o.memory || (o.reg & 7) != 0) return nullptr;
      set_flags(c, general(c, o.rm) & static_cast<uint64_t>(int64_t{read<int32_t>(o.end)}), false, false);
      return o.end + 4;
    case 0x01:  // arithmetic with a register
    case 0x21:
    case 0x29:
    case 0x31:
    case 0x39:
      if (o.memory) return nullptr;
      set_general(c, o.rm, calculated(opcode >> 3, general(c, o.rm), general(c, o.reg), c, known));
      return o.end;
    case 0x03:  // with a register or memory
    case 0x23:
    case 0x2b:
    case 0x33:
    case 0x3b:
      set_general(c, o.reg, calculated(opcode >> 3, general(c, o.reg), value(), c, known));
      return o.end;
    case 0x81:  // with a number
    case 0x83: {
      if (o.memory) return nullptr;
      const auto number = static_cast<uint64_t>(opcode == 0x83 ? int64_t{read<int8_t>(o.end)}
                                                               : int64_t{read<int32_t>(o.end)});
      const uint64_t result = calculated(o.reg & 7, general(c, o.rm), number, c, known);
      if (!known) return nullptr;
      set_general(c, o.rm, result);
      return o.end + (opcode == 0x83 ? 1 : 4);
    }
    case 0xc1: {  // shl by a number
      const unsigned count = *o.end & 63;
      if (o.memory || (o.reg & 7) != 4 || count == 0) return nullptr;
      const uint64_t from = general(c, o.rm);
      set_general(c, o.rm, from << count);
      set_flags(c, from << count, from >> (64 - count) & 1, false);
      return o.end + 1;
    }
    default:
      return nullptr;
  }
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

/// The most instructions on general registers from one for tiles to the next.
constexpr int max_between = 24;

void on_refusal(int, siginfo_t*, void* context) {
  auto& c = *static_cast<ucontext_t*>(context);
  auto& next = c.uc_mcontext.gregs[REG_RIP];
  bool any = false;
  for (int between = 0; between <= max_between;) {
    const auto* code = reinterpret_cast<const uint8_t*>(next);
    if (Instruction i; decode(code, c, i)) {
      if (!carry_out(i)) break;
      code = i.end;
      any = true;
      between = 0;
    } else {
      code = any ? carry_out_integer(code, c) : nullptr;
      ++between;
    }
    if (!code) break;
    next = reinterpret_cast<greg_t>(code);
  }
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
