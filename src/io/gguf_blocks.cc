// Decodes the element types of GGUF. Every product, sum and difference is rounded to float32 in the order
// that is written here, which is that of llama.cpp and of the `gguf` package: results are the same bits.
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

// Blocks of 32 elements: low nibbles are the first half, high nibbles the second.

void decode_q4_0(Block b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * as_float((b[2 + i] & 15) - 8);
    y[i + 16] = d * as_float((b[2 + i] >> 4) - 8);
  }
}

void decode_q4_1(Block b, float* y) {
  const float d = f16_at(b), m = f16_at(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * as_float(b[4 + i] & 15) + m;
    y[i + 16] = d * as_float(b[4 + i] >> 4) + m;
  }
}

void decode_q5_0(Block b, float* y) {
  const float d = f16_at(b);
  const auto fifth = load_from<uint32_t>(b + 2);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * as_float(static_cast<int>((b[6 + i] & 15u) | (fifth >> i & 1) << 4) - 16);
    y[i + 16] = d * as_float(static_cast<int>((unsigned{b[6 + i]} >> 4) | (fifth >> (i + 16) & 1) << 4) - 16);
  }
}

void decode_q5_1(Block b, float* y) {
  const float d = f16_at(b), m = f16_at(b + 2);
  const auto fifth = load_from<uint32_t>(b + 4);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * as_float((b[8 + i] & 15u) | (fifth >> i & 1) << 4) + m;
    y[i + 16] = d * as_float((unsigned{b[8 + i]} >> 4) | (fifth >> (i + 16) & 1) << 4) + m;
  }
}

void decode_q8_0(Block b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 32; ++i) y[i] = as_float(static_cast<int8_t>(b[2 + i])) * d;
}

// Super-blocks of 256 elements.

/// Two bits of element i in the order of Q2_K, Q3_K and TQ2_0.
int two_bits(Block q, int i) { return q[32 * (i / 128) + i % 32] >> (2 * (i % 128 / 32)) & 3; }

void decode_q2_k(Block b, float* y) {
  const float d = f16_at(b + 80), dmin = f16_at(b + 82);
  for (int group = 0; group < 16; ++group) {
    const float scale = d * as_float(b[group] & 15), low = dmin * as_float(b[group] >> 4);
    for (int i = 16 * group; i < 16 * (group + 1); ++i) y[i] = scale * as_float(two_bits(b + 16, i)) - low;
  }
}

void decode_q3_k(Block b, float* y) {
  const Block high = b, low = b + 32, scales = b + 96;
  const float d = f16_at(b + 108);
  for (int group = 0; group < 16; ++group) {
    const int nibble = scales[group % 8] >> (4 * (group / 8)) & 15;
    const int top = scales[8 + group % 4] >> (2 * (group / 4)) & 3;
    const float scale = d * as_float((nibble | top << 4) - 32);
    for (int i = 16 * group; i < 16 * (group + 1); ++i) {
      const bool third = high[i % 32] >> (i / 32) & 1;
      y[i] = scale * as_float(two_bits(low, i) - (third ? 0 : 4));
    }
  }
}

struct ScaleAndMinimum {
  int scale, minimum;
};
/// The eight pairs of six bits that Q4_K and Q5_K pack into twelve bytes.
ScaleAndMinimum six_bits(Block b, int j) {
  if (j < 4) return {b[j] & 63, b[j + 4] & 63};
  return {(b[j + 4] & 15) | (b[j - 4] >> 6) << 4, b[j + 4] >> 4 | (b[j] >> 6) << 4};
}

void decode_q4_k(Block b, float* y) {
  const float d = f16_at(b), dmin = f16_at(b + 2);
  for (int group = 0; group < 8; ++group, y += 32) {
    const auto [scale, minimum] = six_bits(b + 4, group);
    const float by = d * as_float(scale), low = dmin * as_float(minimum);
    const Block q = b + 16 + 32 * (group / 2);
    for (int i = 0; i < 32; ++i) y[i] = by * as_float(q[i] >> (4 * (group % 2)) & 15) - low;
  }
}

void decode_q5_k(Block b, float* y) {
  const float d = f16_at(b), dmin = f16_at(b + 2);
  for (int group = 0; group < 8; ++group, y += 32) {
    const auto [scale, minimum] = six_bits(b + 4, group);
    const float by = d * as_float(scale), low = dmin * as_float(minimum);
    const Block fifth = b + 16, q = b + 48 + 32 * (group / 2);
    for (int i = 0; i < 32; ++i)
      y[i] = by * as_float((q[i] >> (4 * (group % 2)) & 15) | (fifth[i] >> group & 1) << 4) - low;
  }
}

void decode_q6_k(Block b, float* y) {
  const float d = f16_at(b + 208);
  for (int i = 0; i < 256; ++i) {
    const int part = i / 128, quarter = i % 128 / 32, lane = i % 32;
    const int low = b[64 * part + 32 * (quarter % 2) + lane] >> (4 * (quarter / 2)) & 15;
    const int high = b[128 + 32 * part + lane] >> (2 * quarter) & 3;
    const float scale = d * as_float(static_cast<int8_t>(b[192 + i / 16]));
    y[i] = scale * as_float((low | high << 4) - 32);
  }
}

constexpr int8_t nonlinear[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void decode_iq4_nl(Block b, float* y) {
  const float d = f16_at(b);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * as_float(nonlinear[b[2 + i] & 15]);
    y[i + 16] = d * as_float(nonlinear[b[2 + i] >> 4]);
  }
}

void decode_iq4_xs(Block b, float* y) {
  const float d = f16_at(b);
  const auto tops = load_from<uint16_t>(b + 2);
  for (int group = 0; group < 8; ++group, y += 32) {
    const int low = b[4 + group / 2] >> (4 * (group % 2)) & 15, top = tops >> (2 * group) & 3;
    const float scale = d * as_float((low | top << 4) - 32);
    const Block q = b + 8 + 16 * group;
    for (int i = 0; i < 16; ++i) {
      y[i] = scale * as_float(nonlinear[q[i] & 15]);
      y[i + 16] = scale * as_float(nonlinear[q[i] >> 4]);
    }
  }
}

/// Digits of base 3, the first of all `width` bytes, then the second of all, and so on.
float* ternary(Block q, int width, int digits, float d, float* y) {
  unsigned power = 1;
  for (int digit = 0; digit < digits; ++digit, power *= 3)
    for (int i = 0; i < width; ++i) {
      const unsigned shifted = q[i] * power & 255;
      *y++ = d * as_float(static_cast<int>(shifted * 3 >> 8) - 1);
    }
  return y;
}

void decode_tq1_0(Block b, float* y) {
  const float d = f16_at(b + 52);
  y = ternary(b, 32, 5, d, y);
  y = ternary(b + 32, 16, 5, d, y);
  ternary(b + 48, 4, 4, d, y);
}

void decode_tq2_0(Block b, float* y) {
  const float d = f16_at(b + 64);
  for (int i = 0; i < 256; ++i) y[i] = d * as_float(two_bits(b, i) - 1);
}

/// The codes of E2M1, doubled to be integers; scales are halved in return.
constexpr int8_t doubled_e2m1[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

void decode_mxfp4(Block b, float* y) {
  // 2^(e - 128): the two least are denormal numbers.
  const uint32_t e = b[0];
  const auto d = std::bit_cast<float>(e < 2 ? 0x00200000u << e : (e - 1) << 23);
  for (int i = 0; i < 16; ++i) {
    y[i] = d * as_float(doubled_e2m1[b[1 + i] & 15]);
    y[i + 16] = d * as_float(doubled_e2m1[b[1 + i] >> 4]);
  }
}

/// Half of an E4M3 number without sign; the code that would be NaN counts as zero.
float half_e4m3(uint8_t code) {
  if (code == 0x7f) return 0;
  const int exponent = code >> 3 & 15, mantissa = code & 7;
  return exponent ? std::ldexp(as_float(8 + mantissa), exponent - 11) : std::ldexp(as_float(mantissa), -10);
}

void decode_nvfp4(Block b, float* y) {
  for (int group = 0; group < 4; ++group, y += 16) {
    const float d = half_e4m3(b[group]);
    const Block q = b + 4 + 8 * group;
    for (int i = 0; i < 8; ++i) {
      y[i] = d * as_float(doubled_e2m1[q[i] & 15]);
      y[i + 8] = d * as_float(doubled_e2m1[q[i] >> 4]);
    }
  }
}

// Points of lattices: an index stands for four or eight values at once.

/// A bit of `signs` that is set makes its element negative. A product keeps the sign of NaN.
void signed_row(const int8_t* row, int width, unsigned signs, float scale, float* y) {
  for (int i = 0; i < width; ++i) y[i] = scale * as_float(row[i]) * (signs >> i & 1 ? -1.0f : 1.0f);
}
/// Seven signs are stored; the eighth makes their number even.
unsigned eight_signs(unsigned seven) { return seven | static_cast<unsigned>(std::popcount(seven) & 1) << 7; }

void decode_iq2_xxs(Block b, float* y) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq2_xxs);
  const float d = f16_at(b);
  b += 2;
  for (int group = 0; group < 8; ++group, b += 8) {
    const auto bits = load_from<uint32_t>(b + 4);
    const float scale = d * (0.5f + as_float(bits >> 28)) * 0.25f;
    for (int k = 0; k < 4; ++k, y += 8)
      signed_row(grid.row(b[k]), 8, eight_signs(bits >> (7 * k) & 127), scale, y);
  }
}

void decode_iq2_xs(Block b, float* y) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq2_xs);
  const float d = f16_at(b);
  for (int k = 0; k < 32; ++k, y += 8) {
    const unsigned q = load_from<uint16_t>(b + 2 + 2 * k);
    const unsigned s = b[66 + k / 4] >> (k / 2 % 2 * 4) & 15u;
    signed_row(grid.row(q & 511), 8, eight_signs(q >> 9), d * (0.5f + as_float(s)) * 0.25f, y);
  }
}

void decode_iq2_s(Block b, float* y) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq2_s);
  const float d = f16_at(b);
  for (int k = 0; k < 32; ++k, y += 8) {
    const unsigned index = b[2 + k] | (unsigned{b[66 + k / 4]} >> (k % 4 * 2) & 3) << 8;
    const unsigned s = b[74 + k / 4] >> (k / 2 % 2 * 4) & 15u;
    signed_row(grid.row(index), 8, b[34 + k], d * (0.5f + as_float(s)) * 0.25f, y);
  }
}

void decode_iq3_xxs(Block b, float* y) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq3_xxs);
  const float d = f16_at(b);
  for (int group = 0; group < 8; ++group) {
    const auto bits = load_from<uint32_t>(b + 66 + 4 * group);
    const float scale = d * (0.5f + as_float(bits >> 28)) * 0.5f;
    for (int k = 0; k < 8; ++k, y += 4) {
      const unsigned signs = eight_signs(bits >> (7 * (k / 2)) & 127);
      signed_row(grid.row(b[2 + 8 * group + k]), 4, signs >> (4 * (k % 2)), scale, y);
    }
  }
}

void decode_iq3_s(Block b, float* y) {
  const GgufGrid& grid = gguf_grid(GgufGridName::iq3_s);
  const float d = f16_at(b);
  for (int k = 0; k < 64; ++k, y += 4) {
    const unsigned index = b[2 + k] | (unsigned{b[66 + k / 8]} >> (k % 8) & 1) << 8;
    const unsigned s = b[106 + k / 16] >> (k / 8 % 2 * 4) & 15u;
    signed_row(grid.row(index), 4, unsigned{b[74 + k / 2]} >> (4 * (k % 2)), d * as_float(1 + 2 * s), y);
  }
}

/// The values of IQ1_S and IQ1_M are -1, 0 and 1, all moved by the same eighth.
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
    const unsigned s = scales[static_cast<size_t>(k / 8)] >> (k / 2 % 4 * 3) & 7;
    moved_row(grid.row(b[k] | (bits & 7) << 8), bits & 8, d * as_float(2 * s + 1), y);
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

using BlockDecoder = void (*)(Block, float*);

BlockDecoder block_decoder(GgufType type) {
  switch (type) {
    case GgufType::q4_0:
      return decode_q4_0;
    case GgufType::q4_1:
      return decode_q4_1;
    case GgufType::q5_0:
      return decode_q5_0;
    case GgufType::q5_1:
      return decode_q5_1;
    case GgufType::q8_0:
      return decode_q8_0;
    case GgufType::q2_k:
      return decode_q2_k;
    case GgufType::q3_k:
      return decode_q3_k;
    case GgufType::q4_k:
      return decode_q4_k;
    case GgufType::q5_k:
      return decode_q5_k;
    case GgufType::q6_k:
      return decode_q6_k;
    case GgufType::iq2_xxs:
      return decode_iq2_xxs;
    case GgufType::iq2_xs:
      return decode_iq2_xs;
    case GgufType::iq3_xxs:
      return decode_iq3_xxs;
    case GgufType::iq1_s:
      return decode_iq1_s;
    case GgufType::iq4_nl:
      return decode_iq4_nl;
    case GgufType::iq3_s:
      return decode_iq3_s;
    case GgufType::iq2_s:
      return decode_iq2_s;
    case GgufType::iq4_xs:
      return decode_iq4_xs;
    case GgufType::iq1_m:
      return decode_iq1_m;
    case GgufType::tq1_0:
      return decode_tq1_0;
    case GgufType::tq2_0:
      return decode_tq2_0;
    case GgufType::mxfp4:
      return decode_mxfp4;
    case GgufType::nvfp4:
      return decode_nvfp4;
    default:
      return nullptr;
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
    default:
      break;
  }
  const BlockDecoder decode = block_decoder(type);
  const GgufTypeInfo& info = info_of(type);
  if (!decode)
    throw Error(Code::not_supported, "GGUF", "blocks whose elements this version can tell",
                std::string(info.name), "quantize the model to another type, as Q8_0 or Q4_K");
  for (size_t i = 0; i < count; ++i, from += info.bytes, to += info.elements) decode(from, to);
}

}  // namespace lathe
