#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_quantize(CaseTable& t) {
  t.add("QuantizeLinear", "per tensor")
      .input<float>({6}, {0, 2, 3, 1000, -254, -1000})
      .input<float>({}, {2})
      .input<uint8_t>({}, {128})
      .expect<uint8_t>({6}, {128, 129, 130, 255, 1, 0});
  t.add("QuantizeLinear", "ties to even, no zero point")
      .input<float>({4}, {0.5f, 1.5f, 2.5f, -1})
      .input<float>({}, {1})
      .expect<uint8_t>({4}, {0, 2, 2, 0});
  t.add("QuantizeLinear", "per axis")
      .input<float>({2, 2}, {1, 2, 3, 4})
      .input<float>({2}, {1, 0.5f})
      .input<int8_t>({2}, {0, -1})
      .attribute("axis", int64_t{0})
      .expect<int8_t>({2, 2}, {1, 2, 5, 7});
  t.add("QuantizeLinear", "blocks")
      .input<float>({1, 5}, {1, 2, 3, 4, 5})
      .input<float>({1, 3}, {1, 0.5f, 0.25f})
      .input<int16_t>({1, 3}, {0, 1, 2})
      .attribute("block_size", int64_t{2})
      .expect<int16_t>({1, 5}, {1, 2, 7, 9, 22});
  t.add("DequantizeLinear", "per tensor")
      .input<uint8_t>({3}, {0, 128, 255})
      .input<float>({}, {2})
      .input<uint8_t>({}, {128})
      .expect<float>({3}, {-256, 0, 254});
  t.add("DequantizeLinear", "a zero point of one element")
      .input<int8_t>({2}, {1, 4})
      .input<float>({1}, {0.5f})
      .input<int8_t>({}, {2})
      .expect<float>({2}, {-0.5f, 1});
  t.add("DequantizeLinear", "per axis")
      .input<int8_t>({2, 2}, {1, 2, 3, 4})
      .input<float>({2}, {1, 0.5f})
      .input<int8_t>({2}, {0, 2})
      .expect<float>({2, 2}, {1, 0, 3, 1});
  t.add("DequantizeLinear", "int32")
      .input<int32_t>({2}, {-3, 100})
      .input<float>({}, {0.5f})
      .expect<float>({2}, {-1.5f, 50});
  t.add("DequantizeLinear", "blocks along the first axis")
      .input<int8_t>({3, 2}, {1, 2, 3, 4, 5, 6})
      .input<float>({2, 2}, {1, 10, 100, 1000})
      .attribute("axis", int64_t{0})
      .attribute("block_size", int64_t{2})
      .expect<float>({3, 2}, {1, 20, 3, 40, 500, 6000});
  t.add("DynamicQuantizeLinear", "both signs")
      .input<float>({6}, {0, 2, -3, -2.5f, 1.34f, 0.5f})
      .expect<uint8_t>({6}, {153, 255, 0, 26, 221, 179})
      .expect<float>({}, {0.0196078438f})
      .expect<uint8_t>({}, {153});
  t.add("DynamicQuantizeLinear", "all zero")
      .input<float>({2}, {0, 0})
      .expect<uint8_t>({2}, {0, 0})
      .expect<float>({}, {0.00392156886f})
      .expect<uint8_t>({}, {0});
  t.add("DynamicQuantizeLinear", "infinities")
      .input<float>({3}, {-INFINITY, 0, 1})
      .expect<uint8_t>({3}, {0, 0, 0})
      .expect<float>({}, {INFINITY})
      .expect<uint8_t>({}, {0});
  t.add("DequantizeLinear", "a scale of one element, written for an axis")
      .input<int8_t>({2, 2}, {1, 4, -3, 0})
      .input<float>({1}, {0.5f})
      .as_constant()
      .input<int8_t>({1}, {2})
      .as_constant()
      .attribute("axis", int64_t{0})
      .expect<float>({2, 2}, {-0.5f, 1, -2.5f, -1});
  t.add("QuantizeLinear", "activations")
      .random(DataType::float32, {1, 32, 14, 14}, -3, 3)
      .input<float>({}, {0.02f})
      .input<uint8_t>({}, {120});
  t.add("DequantizeLinear", "weights")
      .random(DataType::int8, {64, 33}, -128, 127)
      .random(DataType::float32, {64}, 0.01, 0.1)
      .attribute("axis", int64_t{0});
  struct Blocked {
    const char* name;
    DataType type, scales;
    Shape shape, blocks;
    int64_t axis, block;
    bool zeros;
  };
  constexpr auto f32 = DataType::float32, f16 = DataType::float16, bf16 = DataType::bfloat16;
  for (const Blocked& b : {
           Blocked{"four bits, the last axis", DataType::uint4, f32, {33, 70}, {33, 3}, 1, 32, true},
           {"four bits with sign, the first axis", DataType::int4, f32, {70, 33}, {3, 33}, 0, 32, true},
           {"four bits, no zero points", DataType::int4, f16, {5, 64}, {5, 4}, -1, 16, false},
           {"two bits", DataType::uint2, f32, {3, 50, 7}, {3, 4, 7}, 1, 16, true},
           {"two bits with sign", DataType::int2, bf16, {9, 35}, {9, 3}, 1, 16, true},
           {"eight bits", DataType::uint8, f16, {4, 3000}, {4, 47}, 1, 64, true},
           {"eight bits with sign", DataType::int8, f32, {2, 17, 9}, {2, 17, 3}, 2, 4, true},
           {"blocks of one", DataType::uint4, f32, {5, 7}, {5, 7}, 1, 1, true},
           {"four bits, a scale for each index", DataType::int4, f32, {3, 5, 7}, {5}, 1, 0, true},
           {"four bits, a scale for each index of the last axis",
            DataType::uint4,
            f16,
            {5, 7},
            {7},
            1,
            0,
            true},
           {"four bits, one scale", DataType::uint4, f32, {5, 7}, {}, 1, 0, true},
           {"no blocks of bytes, narrow scales", DataType::int8, bf16, {5, 7}, {5}, 0, 0, true},
           {"sixteen bits with sign", DataType::int16, f32, {4, 300}, {4, 5}, 1, 64, true},
           {"sixteen bits, a scale for each index", DataType::uint16, f32, {5, 7}, {5}, 0, 0, true},
       }) {
    auto& c = t.add("DequantizeLinear", b.name);
    const bool is_signed = is_signed_integer(b.type);
    const double most = (1 << (bits_of(b.type) - is_signed)) - 1, least = is_signed ? -most - 1 : 0;
    c.random(b.type, b.shape, least, most + 1).random(b.scales, b.blocks, 0.01, 0.1);
    if (b.zeros) c.random(b.type, b.blocks, least, most + 1);
    c.attribute("axis", b.axis).attribute("block_size", b.block);
    if (b.scales != f32 || count_of(b.shape) % 4 != 0) continue;  // bits behind the last number are any
    auto& back = t.add("QuantizeLinear", b.name);
    back.random(f32, b.shape, 0.1 * least, 0.1 * most).random(f32, b.blocks, 0.01, 0.1);
    if (b.zeros) back.random(b.type, b.blocks, least, most + 1);
    back.attribute("axis", b.axis).attribute("block_size", b.block);
    if (!b.zeros) back.attribute("output_dtype", static_cast<int64_t>(b.type));
  }
}

}  // namespace lathe
