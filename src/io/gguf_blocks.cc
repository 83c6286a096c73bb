// Decodes the element types of GGUF. Blocks of nearly all types are whole numbers, which share scales and
// perhaps minimums: they are split into these first. Every product and sum is rounded to float32 in the order
// that is written here, which gives the same bits as llama.cpp and the `gguf` package.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "io/gguf.h"
#include "tensor/element.h"

namespace lathe {
namespace {

constexpr std::pair<GgufType, GgufTypeInfo> gguf_types[] = {
    {GgufType::f32, {"F32", 1, 4, DataType::float32}},
    {GgufType::f16, {"F16", 1, 2, DataType::float16}},
    {GgufType::q4_0, {"Q4_0", 32, 18}},
    {GgufType::q4_1, {"Q4_1", 32, 20}},
    {GgufType::q5_0, {"Q5_0", 32, 22}},
    {GgufType::q5_1, {"Q5_1", 32, 24}},
    {GgufType::q8_0, {"Q8_0", 32, 34}},
    {GgufType::q8_1, {"Q8_1", 32, 40, DataType::undefined, false}},
    {GgufType::q2_k, {"Q2_K", 256, 84}},
    {GgufType::q3_k, {"Q3_K", 256, 110}},
    {GgufType::q4_k, {"Q4_K", 256, 144}},
    {GgufType::q5_k, {"Q5_K", 256, 176}},
    {GgufType::q6_k, {"Q6_K", 256, 210}},
    {GgufType::q8_k, {"Q8_K", 256, 292, DataType::undefined, false}},
    {GgufType::iq2_xxs, {"IQ2_XXS", 256, 66}},
    {GgufType::iq2_xs, {"IQ2_XS", 256, 74}},
    {GgufType::iq3_xxs, {"IQ3_XXS", 256, 98}},
    {GgufType::iq1_s, {"IQ1_S", 256, 50}},
    {GgufType::iq4_nl, {"IQ4_NL", 32, 18}},
    {GgufType::iq3_s, {"IQ3_S", 256, 110}},
    {GgufType::iq2_s, {"IQ2_S", 256, 82}},
    {GgufType::iq4_xs, {"IQ4_XS", 256, 136}},
    {GgufType::i8, {"I8", 1, 1, DataType::int8}},
    {GgufType::i16, {"I16", 1, 2, DataType::int16}},
    {GgufType::i32, {"I32", 1, 4, DataType::int32}},
    {GgufType::i64, {"I64", 1, 8, DataType::int64}},
    {GgufType::f64, {"F64", 1, 8, DataType::float64}},
    {GgufType::iq1_m, {"IQ1_M", 256, 56}},
    {GgufType::bf16, {"BF16", 1, 2, DataType::bfloat16}},
    {GgufType::tq1_0, {"TQ1_0", 256, 54}},
    {GgufType::tq2_0, {"TQ2_0", 256, 66}},
    {GgufType::mxfp4, {"MXFP4", 32, 17}},
    {GgufType::nvfp4, {"NVFP4", 64, 36}},
    {GgufType::q1_0, {"Q1_0", 128, 18, DataType::undefined, false}},
};

using Block = const uint8_t*;

template <class T>
T load_from(Block at) {
  T v;
  std::memcpy(&v, at, sizeof v);
  return v;
}
float f16_at(Block at) { return to_float(Float16{load_from<uint16_t>(at)}); }
float as_float(int v) { return static_cast<float>(v); }
float as_float(unsigned v) { return static_cast<float>(v); }
int8_t as_number(int v) { return static_cast<int8_t>(v); }

/// One block: numbers, and for each run of them a scale and a minimum.
struct SplitBlock {
  std::array<int8_t, 256> q;
  std::array<float, 16> scales, minimums;
};

/// Sixteen bytes whose low nibbles are the first half of 32 elements, and whose high nibbles are the second.
void nibbles(Block from, int8_t* to) {
  for (int i = 0; i < 16; ++i) {
    to[i] = as_number(from[i] & 15);
    to[i + 16] = as_number(from[i] >> 4);
  }
}
/// The same as indices of a table.
void nibbles(Block from, const int8_t* table, int8_t* to, int half = 16) {
  for (int i = 0; i < half; ++i) {
    to[i] = table[from[i] & 15];
    to[i + half] = table[from[i] >> 4];
  }
}

// Blocks of 32 elements.

void split_q4_0(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b);
  nibbles(b + 2, s.q.data());
  for (size_t i = 0; i < 32; ++i) s.q[i] = as_number(s.q[i] - 8);
}

void split_q4_1(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b);
  s.minimums[0] = f16_at(b + 2);
  nibbles(b + 4, s.q.data());
}

/// Adds bit i of a word to number i as its fifth.
void add_fifth_bits(uint32_t bits, SplitBlock& s) {
  for (size_t i = 0; i < 32; ++i) s.q[i] = as_number(s.q[i] | static_cast<int>(bits >> i & 1) << 4);
}

void split_q5_0(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b);
  nibbles(b + 6, s.q.data());
  add_fifth_bits(load_from<uint32_t>(b + 2), s);
  for (size_t i = 0; i < 32; ++i) s.q[i] = as_number(s.q[i] - 16);
}

void split_q5_1(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b);
  s.minimums[0] = f16_at(b + 2);
  nibbles(b + 8, s.q.data());
  add_fifth_bits(load_from<uint32_t>(b + 4), s);
}

void split_q8_0(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b);
  std::memcpy(s.q.data(), b + 2, 32);
}

// Super-blocks of 256 elements.

/// Two bits of element i in the order of Q2_K, Q3_K and TQ2_0.
int two_bits(Block q, size_t i) { return q[32 * (i / 128) + i % 32] >> (2 * (i % 128 / 32)) & 3; }

void split_q2_k(Block b, SplitBlock& s) {
  const float d = f16_at(b + 80), dmin = f16_at(b + 82);
  for (size_t run = 0; run < 16; ++run) {
    s.scales[run] = d * as_float(b[run] & 15);
    s.minimums[run] = -(dmin * as_float(b[run] >> 4));
  }
  for (size_t i = 0; i < 256; ++i) s.q[i] = as_number(two_bits(b + 16, i));
}

void split_q3_k(Block b, SplitBlock& s) {
  const Block high = b, low = b + 32, scales = b + 96;
  const float d = f16_at(b + 108);
  for (size_t run = 0; run < 16; ++run) {
    const int nibble = scales[run % 8] >> (4 * (run / 8)) & 15;
    const int top = scales[8 + run % 4] >> (2 * (run / 4)) & 3;
    s.scales[run] = d * as_float((nibble | top << 4) - 32);
  }
  for (size_t i = 0; i < 256; ++i)
    s.q[i] = as_number(two_bits(low, i) - (high[i % 32] >> (i / 32) & 1 ? 0 : 4));
}

/// The eight pairs of six bits that Q4_K and Q5_K pack into twelve bytes, and the float16 numbers before
/// them.
void six_bits(Block b, SplitBlock& s) {
  const float d = f16_at(b), dmin = f16_at(b + 2);
  b += 4;
  for (size_t j = 0; j < 8; ++j) {
    const int scale = j < 4 ? b[j] & 63 : (b[j + 4] & 15) | (b[j - 4] >> 6) << 4;
    const int minimum = j < 4 ? b[j + 4] & 63 : b[j + 4] >> 4 | (b[j] >> 6) << 4;
    s.scales[j] = d * as_float(scale);
    s.minimums[j] = -(dmin * as_float(minimum));
  }
}

/// 32 bytes are two runs of 32 elements, low nibbles first.
void nibbles_by_runs(Block q, SplitBlock& s) {
  for (size_t i = 0; i < 256; ++i) s.q[i] = as_number(q[32 * (i / 64) + i % 32] >> (4 * (i / 32 % 2)) & 15);
}

void split_q4_k(Block b, SplitBlock& s) {
  six_bits(b, s);
  nibbles_by_runs(b + 16, s);
}

void split_q5_k(Block b, SplitBlock& s) {
  six_bits(b, s);
  nibbles_by_runs(b + 48, s);
  for (size_t i = 0; i < 256; ++i) s.q[i] = as_number(s.q[i] | (b[16 + i % 32] >> (i / 32) & 1) << 4);
}

void split_q6_k(Block b, SplitBlock& s) {
  const float d = f16_at(b + 208);
  for (size_t run = 0; run < 16; ++run) s.scales[run] = d * as_float(static_cast<int8_t>(b[192 + run]));
  for (size_t i = 0; i < 256; ++i) {
    const size_t part = i / 128, quarter = i % 128 / 32, lane = i % 32;
    const int low = b[64 * part + 32 * (quarter % 2) + lane] >> (4 * (quarter / 2)) & 15;
    const int high = b[128 + 32 * part + lane] >> (2 * quarter) & 3;
    s.q[i] = as_number((low | high << 4) - 32);
  }
}

constexpr int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void split_iq4_nl(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b);
  nibbles(b + 2, nonlinear, s.q.data());
}

void split_iq4_xs(Block b, SplitBlock& s) {
  const float d = f16_at(b);
  const auto tops = load_from<uint16_t>(b + 2);
  for (size_t run = 0; run < 8; ++run) {
    const int low = b[4 + run / 2] >> (4 * (run % 2)) & 15, top = tops >> (2 * run) & 3;
    s.scales[run] = d * as_float((low | top << 4) - 32);
    nibbles(b + 8 + 16 * run, nonlinear, s.q.data() + 32 * run);
  }
}

/// Digits of base 3, the first of all `width` bytes, then the second of all, and so on.
int8_t* ternary(Block q, int width, int digits, int8_t* to) {
  unsigned power = 1;
  for (int digit = 0; digit < digits; ++digit, power *= 3)
    for (int i = 0; i < width; ++i) *to++ = as_number(static_cast<int>((q[i] * power & 255) * 3 >> 8) - 1);
  return to;
}

void split_tq1_0(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b + 52);
  int8_t* to = ternary(b, 32, 5, s.q.data());
  to = ternary(b + 32, 16, 5, to);
  ternary(b + 48, 4, 4, to);
}

void split_tq2_0(Block b, SplitBlock& s) {
  s.scales[0] = f16_at(b + 64);
  for (size_t i = 0; i < 256; ++i) s.q[i] = as_number(two_bits(b, i) - 1);
}

/// The codes of E2M1, doubled to be integers; scales are halved in return.
constexpr int8_t doubled_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

void split_mxfp4(Block b, SplitBlock& s) {
  // 2^(e - 128): the two least are denormal numbers.
  const uint32_t e = b[0];
  s.scales[0] = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
  nibbles(b + 1, doubled_e2m1, s.q.data());
}

/// Half of an E4M3 number without sign; the code that would be NaN counts as zero.
float half_e4m3(uint8_t code) {
  if (code == 0x7f) return 0;
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent ? std::ldexp(as_float(8 + mantissa), exponent - 11) : std::ldexp(as_float(mantissa), -10);
}

void split_nvfp4(Block b, SplitBlock& s) {
  for (size_t run = 0; run < 4; ++run) {
    s.scales[run] = half_e4m3(b[run]);
    nibbles(b + 4 + 8 * run, doubled_e2m1, s.q.data() + 16 * run, 8);
  }
}

// Points of lattices: an index stands for four or eight values at once.

/// A bit of `signs` that is set makes its element negative.
void signed_row(const int8_t* row, int width, unsigned signs, int8_t* to) {
  for (int i = 0; i < width; ++i) to[i] = as_number(signs >> i & 1 ? -row[i] : row[i]);
}
/// Seven signs are stored; the eighth makes their number even.
unsigned eight_signs(unsigned seven) { return seven | static_cast<unsigned>(std::popcount(seven) & 1) << 7; }

void split_iq2_xxs(Block b, SplitBlock& s) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq2_xxs);
  const float d = f16_at(b);
  int8_t* q = s.q.data();
  b += 2;
  for (size_t run = 0; run < 8; ++run, b += 8) {
    const auto bits = load_from<uint32_t>(b + 4);
    s.scales[run] = d * (0.5f + as_float(bits >> 28)) * 0.25f;
    for (int k = 0; k < 4; ++k, q += 8) signed_row(grid.row(b[k]), 8, eight_signs(bits >> (7 * k) & 127), q);
  }
}

/// The scales of IQ2_XS and IQ2_S, a nibble each.
void sixteen_scales(float d, Block nibbles, SplitBlock& s) {
  for (size_t run = 0; run < 16; ++run)
    s.scales[run] = d * (0.5f + as_float(nibbles[run / 2] >> (run % 2 * 4) & 15)) * 0.25f;
}

void split_iq2_xs(Block b, SplitBlock& s) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq2_xs);
  sixteen_scales(f16_at(b), b + 66, s);
  for (size_t k = 0; k < 32; ++k) {
    const unsigned q = load_from<uint16_t>(b + 2 + 2 * k);
    signed_row(grid.row(q & 511), 8, eight_signs(q >> 9), s.q.data() + 8 * k);
  }
}

void split_iq2_s(Block b, SplitBlock& s) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq2_s);
  sixteen_scales(f16_at(b), b + 74, s);
  for (size_t k = 0; k < 32; ++k) {
    const unsigned index = b[2 + k] | (unsigned{b[66 + k / 4]} >> (k % 4 * 2) & 3) << 8;
    signed_row(grid.row(index), 8, b[34 + k], s.q.data() + 8 * k);
  }
}

void split_iq3_xxs(Block b, SplitBlock& s) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq3_xxs);
  const float d = f16_at(b);
  int8_t* q = s.q.data();
  for (size_t run = 0; run < 8; ++run) {
    const auto bits = load_from<uint32_t>(b + 66 + 4 * run);
    s.scales[run] = d * (0.5f + as_float(bits >> 28)) * 0.5f;
    for (size_t k = 0; k < 8; ++k, q += 4) {
      const unsigned signs = eight_signs(bits >> (7 * (k / 2)) & 127);
      signed_row(grid.row(b[2 + 8 * run + k]), 4, signs >> (4 * (k % 2)), q);
    }
  }
}

void split_iq3_s(Block b, SplitBlock& s) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq3_s);
  const float d = f16_at(b);
  for (size_t run = 0; run < 8; ++run)
    s.scales[run] = d * as_float(1 + 2 * (b[106 + run / 2] >> (run % 2 * 4) & 15));
  for (size_t k = 0; k < 64; ++k) {
    const unsigned index = b[2 + k] | (unsigned{b[66 + k / 8]} >> (k % 8) & 1) << 8;
    signed_row(grid.row(index), 4, unsigned{b[74 + k / 2]} >> (4 * (k % 2)), s.q.data() + 4 * k);
  }
}

// IQ1_S and IQ1_M have -1, 0 and 1, all moved by the same eighth, which are no whole numbers.

void moved_row(const int8_t* row, bool down, float scale, float* y) {
  const float by = down ? -0.125f : 0.125f;
  for (int i = 0; i < 8; ++i) y[i] = scale * (as_float(row[i]) + by);
}

void decode_iq1_s(Block b, float* y) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq1);
  const float d = f16_at(b);
  for (int k = 0; k < 32; ++k, y += 8) {
    const unsigned bits = load_from<uint16_t>(b + 34 + k / 4 * 2);
    const unsigned index = b[2 + k] | (bits >> (3 * (k % 4)) & 7) << 8;
    moved_row(grid.row(index), bits >> 15, d * as_float(2 * (bits >> 12 & 7) + 1), y);
  }
}

void decode_iq1_m(Block b, float* y) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq1);
  std::array<unsigned, 4> scales;
  unsigned half = 0;  // a nibble of it is in the top of each word of scales
  for (size_t i = 0; i < 4; ++i) {
    scales[i] = load_from<uint16_t>(b + 48 + 2 * i);
    half |= scales[i] >> 12 << (4 * i);
  }
  const float d = to_float(Float16{static_cast<uint16_t>(half)});
  for (int k = 0; k < 32; ++k, y += 8) {
    const unsigned bits = b[32 + k / 2] >> (k % 2 * 4) & 15u;
    const unsigned scale = scales[static_cast<size_t>(k / 8)] >> (k / 2 % 4 * 3) & 7;
    moved_row(grid.row(b[k] | (bits & 7) << 8), bits & 8, d * as_float(2 * scale + 1), y);
  }
}

/// How blocks of a type split.
struct Splitter {
  GgufType type;
  void (*split)(Block, SplitBlock&);
  uint32_t run;      // numbers that share a scale
  DataType numbers;  // the least type that holds them
  bool minimums = false;
};
constexpr Splitter splitters[] = {
    {GgufType::q4_0, split_q4_0, 32, DataType::int4},
    {GgufType::q4_1, split_q4_1, 32, DataType::uint4, true},
    {GgufType::q5_0, split_q5_0, 32, DataType::int8},
    {GgufType::q5_1, split_q5_1, 32, DataType::int8, true},
    {GgufType::q8_0, split_q8_0, 32, DataType::int8},
    {GgufType::q2_k, split_q2_k, 16, DataType::uint2, true},
    {GgufType::q3_k, split_q3_k, 16, DataType::int4},
    {GgufType::q4_k, split_q4_k, 32, DataType::uint4, true},
    {GgufType::q5_k, split_q5_k, 32, DataType::int8, true},
    {GgufType::q6_k, split_q6_k, 16, DataType::int8},
    {GgufType::iq2_xxs, split_iq2_xxs, 32, DataType::int8},
    {GgufType::iq2_xs, split_iq2_xs, 16, DataType::int8},
    {GgufType::iq3_xxs, split_iq3_xxs, 32, DataType::int8},
    {GgufType::iq4_nl, split_iq4_nl, 32, DataType::int8},
    {GgufType::iq3_s, split_iq3_s, 32, DataType::int8},
    {GgufType::iq2_s, split_iq2_s, 16, DataType::int8},
    {GgufType::iq4_xs, split_iq4_xs, 32, DataType::int8},
    {GgufType::tq1_0, split_tq1_0, 256, DataType::int2},
    {GgufType::tq2_0, split_tq2_0, 256, DataType::int4},
    {GgufType::mxfp4, split_mxfp4, 32, DataType::int8},
    {GgufType::nvfp4, split_nvfp4, 16, DataType::int8},
};

const Splitter* splitter_of(GgufType type) {
  for (const Splitter& s : splitters)
    if (s.type == type) return &s;
  return nullptr;
}

template <bool minimums>
void combine(const SplitBlock& s, size_t run, size_t elements, float* y) {
  for (size_t first = 0, i = 0; first < elements; first += run, ++i)
    for (size_t k = first; k < first + run; ++k) {
      y[k] = s.scales[i] * as_float(s.q[k]);
      if constexpr (minimums) y[k] = y[k] + s.minimums[i];
    }
}

template <class T>
void plain_floats(Block b, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i) {
    const auto v = load_from<T>(b + i * sizeof(T));
    if constexpr (std::is_arithmetic_v<T>)
      to[i] = static_cast<float>(v);
    else
      to[i] = to_float(v);
  }
}

}  // namespace

const GgufTypeInfo* gguf_type_info(uint32_t number) {
  for (const auto& [type, info] : gguf_types)
    if (static_cast<uint32_t>(type) == number) return &info;
  return nullptr;
}

const GgufTypeInfo& info_of(GgufType t) {
  if (const GgufTypeInfo* info = gguf_type_info(static_cast<uint32_t>(t))) return *info;
  throw Error(Code::bad_argument, "GGUF", "a type of the format", std::to_string(static_cast<uint32_t>(t)));
}

std::string_view name_of(GgufType t) { return info_of(t).name; }

void decode_gguf(GgufType type, const void* blocks, size_t count, float* to) {
  const auto* from = static_cast<Block>(blocks);
  switch (type) {
    case GgufType::f32:
      if (count) std::memcpy(to, from, count * sizeof(float));
      return;
    case GgufType::f16:
      return plain_floats<Float16>(from, count, to);
    case GgufType::bf16:
      return plain_floats<BFloat16>(from, count, to);
    case GgufType::f64:
      return plain_floats<double>(from, count, to);
    case GgufType::i8:
      return plain_floats<int8_t>(from, count, to);
    case GgufType::i16:
      return plain_floats<int16_t>(from, count, to);
    case GgufType::i32:
      return plain_floats<int32_t>(from, count, to);
    case GgufType::i64:
      return plain_floats<int64_t>(from, count, to);
    case GgufType::iq1_s:
      for (; count > 0; --count, from += 50, to += 256) decode_iq1_s(from, to);
      return;
    case GgufType::iq1_m:
      for (; count > 0; --count, from += 56, to += 256) decode_iq1_m(from, to);
      return;
    default:
      break;
  }
  const GgufTypeInfo& info = info_of(type);
  const Splitter* splitter = splitter_of(type);
  if (!splitter)
    throw Error(Code::not_supported, "GGUF", "blocks whose elements this version can tell",
                std::string(info.name), "quantize the model to another type, as Q8_0 or Q4_K");
  SplitBlock s;
  for (; count > 0; --count, from += info.bytes, to += info.elements) {
    splitter->split(from, s);
    splitter->minimums ? combine<true>(s, splitter->run, info.elements, to)
                       : combine<false>(s, splitter->run, info.elements, to);
  }
}

DataType number_type_of(GgufType type) {
  const Splitter* const splitter = splitter_of(type);
  return splitter ? splitter->numbers : DataType::undefined;
}

GgufNumbers split_gguf(GgufType type, const void* blocks, const Shape& shape) {
  const GgufTypeInfo& info = info_of(type);
  const Splitter& splitter = *splitter_of(type);
  GgufNumbers n;
  n.block = splitter.run;
  n.numbers = Tensor(splitter.numbers, shape);
  Shape runs = shape;
  runs.back() /= n.block;
  n.scales = Tensor(DataType::float32, runs);
  if (splitter.minimums) n.minimums = Tensor(DataType::float32, runs);
  const size_t count = static_cast<size_t>(n.numbers.size()) / info.elements,
               of_block = info.elements / splitter.run;
  const auto bits = static_cast<unsigned>(bits_of(splitter.numbers)), in_byte = 8 / bits,
             mask = (1u << bits) - 1;
  const auto* from = static_cast<Block>(blocks);
  auto* numbers = static_cast<uint8_t*>(n.numbers.data());
  auto* scales = static_cast<float*>(n.scales.data());
  auto* minimums = static_cast<float*>(n.minimums.data());
  SplitBlock s;
  for (size_t i = 0; i < count; ++i, from += info.bytes, scales += of_block) {
    splitter.split(from, s);
    std::copy_n(s.scales.begin(), of_block, scales);
    if (minimums) minimums = std::copy_n(s.minimums.begin(), of_block, minimums);
    for (size_t k = 0; k < info.elements; k += in_byte) {
      unsigned byte = 0;
      for (unsigned j = 0; j < in_byte; ++j) byte |= (static_cast<unsigned>(s.q[k + j]) & mask) << (j * bits);
      *numbers++ = static_cast<uint8_t>(byte);
    }
  }
  return n;
}

}  // namespace lathe
