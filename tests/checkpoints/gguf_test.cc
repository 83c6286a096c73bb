// Tests the reader of GGUF on files that are written here: metadata, tensors, blocks, parts.
#include "lathe/gguf.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "lathe/values.h"
#include "support/error_code.h"
#include "support/gguf_file.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

template <class T>
std::string bytes_of(const std::vector<T>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(T)};
}
template <class T>
std::string value_of(GgufValueType type, T v) {
  return gguf_value(type, bytes_of(std::vector<T>{v}));
}

/// One block of any type: the same pattern of bytes, in which the float16 numbers are 0.75 and 0.375.
std::string block(GgufType type) {
  std::string b(info_of(type).bytes, '\0');
  for (size_t i = 0; i < b.size(); ++i) b[i] = static_cast<char>((73 * i + 19) % 251);
  const auto halves = [&](std::initializer_list<size_t> places) {
    const char* half = "\x00\x3a\x00\x36";
    for (size_t at : places) {
      std::memcpy(b.data() + at, half, 2);
      half += 2;
    }
  };
  switch (type) {
    case GgufType::q4_1:
    case GgufType::q5_1:
    case GgufType::q4_k:
    case GgufType::q5_k:
      halves({0, 2});
      break;
    case GgufType::q2_k:
      halves({80, 82});
      break;
    case GgufType::q3_k:
      halves({108});
      break;
    case GgufType::q6_k:
      halves({208});
      break;
    case GgufType::tq1_0:
      halves({52});
      break;
    case GgufType::tq2_0:
      halves({64});
      break;
    case GgufType::mxfp4:
      b[0] = static_cast<char>(129);
      break;
    case GgufType::nvfp4:
      break;
    case GgufType::iq1_m:  // a nibble of the number is in every second byte
      for (size_t i = 0; i < 4; ++i)
        b[49 + 2 * i] = static_cast<char>((b[49 + 2 * i] & 15) | (0x3a00 >> (4 * i) & 15) << 4);
      break;
    default:
      halves({0});
  }
  return b;
}

struct Recorded {
  GgufType type;
  double second, last, weighted;  // elements 1 and the last; all of them, each times its position from 1
};
/// Recorded from the package gguf 0.19.0 on the blocks above.
const Recorded recorded_blocks[] = {
    {GgufType::q4_0, 4.5, -6.0, -90.0},
    {GgufType::q4_1, 4.125, 7.125, 3147.75},
    {GgufType::q5_0, -3.0, 1.5, -210.0},
    {GgufType::q5_1, 10.875, 9.375, 6085.5},
    {GgufType::q8_0, -13.5, -65.25, -2371.5},
    {GgufType::q2_k, 1.875, -2.25, 237657.75},
    {GgufType::q3_k, 13.5, 48.0, 30055.5},
    {GgufType::q4_k, 211.125, 96.75, 4889283.0},
    {GgufType::q5_k, 796.125, 317.25, 9453211.5},
    {GgufType::q6_k, 78.0, 0.0, 2367015.0},
    {GgufType::iq2_xxs, -15.75, 72.65625, 185095.3125},
    {GgufType::iq2_xs, -21.09375, 6.75, 72159.09375},
    {GgufType::iq3_xxs, 3.75, 104.625, -213238.125},
    {GgufType::iq1_s, -5.90625, -7.21875, 14501.25},
    {GgufType::iq4_nl, 66.75, -95.25, -615.0},
    {GgufType::iq3_s, -5.25, -93.75, -3091.5},
    {GgufType::iq2_s, -52.40625, -14.25, -5254.21875},
    {GgufType::iq4_xs, -267.0, -446.25, -1651935.0},
    {GgufType::tq1_0, 0.0, -0.75, -2006.25},
    {GgufType::tq2_0, -0.75, 0.0, 9770.25},
    {GgufType::mxfp4, 12.0, -6.0, 370.0},
    {GgufType::nvfp4, 0.12890625, 224.0, 68061.248046875},
    {GgufType::iq1_m, 2.53125, -0.28125, -9328.5},
};

TEST(Gguf, BlocksBecomeWhatWasRecorded) {
  GgufFile file;
  for (const Recorded& r : recorded_blocks)
    file.with(std::string(name_of(r.type)), {info_of(r.type).elements, 2}, r.type,
              block(r.type) + block(r.type));
  const TempDirectory folder;
  const auto path = folder.write("blocks.gguf", file.bytes());
  const Gguf g = Gguf::open(path);
  const Checkpoint c = Checkpoint::open(path);
  EXPECT_EQ(c.format(), CheckpointFormat::gguf);
  for (const Recorded& r : recorded_blocks) {
    const std::string name(name_of(r.type));
    SCOPED_TRACE(name);
    const int64_t elements = info_of(r.type).elements, bytes = info_of(r.type).bytes;
    const Tensor t = g.tensor(name);
    ASSERT_EQ(t.type(), DataType::float32);
    ASSERT_EQ(t.shape(), Shape({2, elements}));
    const auto y = t.as<float>();
    double weighted = 0;
    for (size_t i = 0; i < static_cast<size_t>(elements); ++i) {
      weighted += static_cast<double>(i + 1) * static_cast<double>(y[i]);
      EXPECT_EQ(y[i], y[i + static_cast<size_t>(elements)]);
    }
    EXPECT_EQ(static_cast<double>(y[1]), r.second);
    EXPECT_EQ(static_cast<double>(y.back()), r.last);
    EXPECT_EQ(weighted, r.weighted);
    const Tensor raw = g.raw(name), blocks = c.blocks(name);
    ASSERT_EQ(raw.shape(), Shape({2, bytes}));
    ASSERT_EQ(blocks.shape(), raw.shape());
    EXPECT_EQ(std::memcmp(raw.data(), (block(r.type) + block(r.type)).data(), raw.bytes()), 0);
    EXPECT_EQ(std::memcmp(raw.data(), blocks.data(), raw.bytes()), 0);
    EXPECT_EQ(c.at(name).blocks, name);
    EXPECT_EQ(c.at(name).block_bytes, raw.bytes());
    EXPECT_EQ(c.at(name).type, DataType::float32);
    EXPECT_FALSE(c.at(name).mapped);
    EXPECT_EQ(std::memcmp(c.tensor(name).data(), t.data(), t.bytes()), 0);
  }
}

/// Element i of a packed tensor of whole numbers.
int number_at(const Tensor& t, size_t i) {
  const auto bits = static_cast<size_t>(bits_of(t.type()));
  const int code = static_cast<const uint8_t*>(t.data())[i * bits / 8] >> (i * bits % 8) & ((1 << bits) - 1);
  return is_signed_integer(t.type()) && code >> (bits - 1) ? code - (1 << bits) : code;
}

/// The numbers, scaled and moved, are the elements bit for bit, of any bytes.
TEST(Gguf, BlocksSplitIntoNumbersAndScales) {
  std::mt19937 random(3);
  const TempDirectory folder;
  size_t split = 0;
  for (const Recorded& r : recorded_blocks) {
    SCOPED_TRACE(name_of(r.type));
    const GgufTypeInfo& info = info_of(r.type);
    std::string bytes(info.bytes * 60, '\0');
    for (char& b : bytes) b = static_cast<char>(random());
    GgufFile file;
    file.with("w", {3 * info.elements, 20}, r.type, bytes);
    const Gguf g = Gguf::open(folder.write(std::string(info.name) + ".gguf", file.bytes()));
    if (r.type == GgufType::iq1_s || r.type == GgufType::iq1_m) {
      EXPECT_EQ(code_of([&] { g.numbers("w"); }), Code::not_supported);
      continue;
    }
    const GgufNumbers n = g.numbers("w");
    ASSERT_EQ(n.numbers.shape(), Shape({20, 3 * info.elements}));
    ASSERT_EQ(n.scales.shape(), Shape({20, 3 * info.elements / n.block}));
    ASSERT_EQ(n.minimums.shape(), n.minimums.defined() ? n.scales.shape() : Shape{});
    const Tensor want = g.tensor("w");
    size_t different = 0;
    for (size_t i = 0; i < want.as<float>().size(); ++i) {
      const size_t run = i / static_cast<size_t>(n.block);
      float y = n.scales.as<float>()[run] * static_cast<float>(number_at(n.numbers, i));
      if (n.minimums.defined()) y = y + n.minimums.as<float>()[run];
      const float w = want.as<float>()[i];
      different += std::isnan(w) ? !std::isnan(y) : std::bit_cast<uint32_t>(y) != std::bit_cast<uint32_t>(w);
    }
    EXPECT_EQ(different, 0u);
    ++split;
  }
  EXPECT_EQ(split, 21u);
}

/// Types that only llama.cpp's own arithmetic has, and one that is new: their bytes are there, not their
/// numbers.
TEST(Gguf, SomeBlocksAreListedAndNotDecoded) {
  const TempDirectory folder;
  for (GgufType type : {GgufType::q8_1, GgufType::q8_k, GgufType::q1_0}) {
    GgufFile file;
    file.with("w", {info_of(type).elements}, type, block(type));
    const auto path = folder.write("w.gguf", file.bytes());
    const Gguf g = Gguf::open(path);
    EXPECT_FALSE(info_of(type).decodes);
    EXPECT_EQ(g.raw("w").shape(), Shape({info_of(type).bytes}));
    EXPECT_EQ(code_of([&] { g.tensor("w"); }), Code::not_supported);
    EXPECT_EQ(code_of([&] { g.float32("w"); }), Code::not_supported);
    EXPECT_EQ(code_of([&] { g.numbers("w"); }), Code::not_supported);
    EXPECT_EQ(code_of([&] { Checkpoint::open(path).tensor("w"); }), Code::not_supported);
    const std::string said = sentence_of([&] { g.tensor("w"); });
    EXPECT_NE(said.find(name_of(type)), std::string::npos) << said;
  }
}

TEST(Gguf, PlainElementsAreMapped) {
  GgufFile file;
  file.with("f", {3, 2}, GgufType::f32, bytes_of<float>({1, 2, 3, 4, 5, 6}))
      .with("h", {2}, GgufType::f16, bytes_of<uint16_t>({0x3c00, 0xc000}))
      .with("b", {2}, GgufType::bf16, bytes_of<uint16_t>({0x3f80, 0xc000}))
      .with("d", {2}, GgufType::f64, bytes_of<double>({0.1, -1e300}))
      .with("i8", {2}, GgufType::i8, bytes_of<int8_t>({-3, 4}))
      .with("i16", {2}, GgufType::i16, bytes_of<int16_t>({-300, 4}))
      .with("i32", {2}, GgufType::i32, bytes_of<int32_t>({-70'000, 4}))
      .with("i64", {2}, GgufType::i64, bytes_of<int64_t>({-3, (int64_t{1} << 60) + 1}))
      .with("scalar", {}, GgufType::f32, bytes_of<float>({7}))
      .with("empty", {0, 5}, GgufType::f32, "")
      .with("four", {1, 2, 1, 2}, GgufType::i8, "abcd");
  const TempDirectory folder;
  const auto path = folder.write("plain.gguf", file.bytes());
  const Gguf g = Gguf::open(path);
  const Checkpoint c = Checkpoint::open(path);
  const auto text = [&](const std::string& name) {
    const Tensor t = g.tensor(name);
    EXPECT_TRUE(c.at(name).mapped) << name;
    EXPECT_EQ(c.at(name).blocks, "");
    EXPECT_EQ(c.tensor(name).data() != nullptr, t.data() != nullptr);
    std::string s = describe(t);
    for (const std::string& e : first_elements(t, 8)) s += " " + e;
    return s;
  };
  EXPECT_EQ(text("f"), "float32[2, 3] 1 2 3 4 5 6");
  EXPECT_EQ(text("h"), "float16[2] 1 -2");
  EXPECT_EQ(text("b"), "bfloat16[2] 1 -2");
  EXPECT_EQ(g.tensor("d").as<double>()[1], -1e300);
  EXPECT_EQ(text("i8"), "int8[2] -3 4");
  EXPECT_EQ(text("i16"), "int16[2] -300 4");
  EXPECT_EQ(text("i32"), "int32[2] -70000 4");
  EXPECT_EQ(g.tensor("i64").as<int64_t>()[1], (int64_t{1} << 60) + 1);
  EXPECT_EQ(text("scalar"), "float32[] 7");
  EXPECT_EQ(text("empty"), "float32[5, 0]");
  EXPECT_EQ(g.tensor("four").shape(), Shape({2, 1, 2, 1}));

  EXPECT_EQ(g.float32("h").as<float>()[1], -2.0f);
  EXPECT_EQ(g.float32("b").as<float>()[1], -2.0f);
  EXPECT_EQ(g.float32("d").as<float>()[0], 0.1f);
  EXPECT_EQ(g.float32("d").as<float>()[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(g.float32("i8").as<float>()[0], -3.0f);
  EXPECT_EQ(g.float32("i16").as<float>()[0], -300.0f);
  EXPECT_EQ(g.float32("i32").as<float>()[0], -70'000.0f);
  EXPECT_EQ(g.float32("i64").as<float>()[1], 0x1p60f);
  EXPECT_EQ(g.raw("f").shape(), Shape({2, 12}));
  EXPECT_EQ(g.raw("scalar").shape(), Shape({4}));
  EXPECT_EQ(g.raw("empty").shape(), Shape({5, 0}));
  EXPECT_EQ(code_of([&] { c.blocks("f"); }), Code::not_supported);
  EXPECT_EQ(code_of([&] { g.numbers("f"); }), Code::not_supported);
  EXPECT_EQ(g.tensors()[1].offset, g.tensors()[0].offset + 32);
  EXPECT_EQ(g.tensors()[1].bytes, 4u);
}

TEST(Gguf, TensorsOutliveTheFile) {
  GgufFile file;
  file.with("w", {2}, GgufType::f32, bytes_of<float>({1, 2}))
      .with("q", {32}, GgufType::q4_0, block(GgufType::q4_0));
  file.with("t", gguf_text("some text"));
  const TempDirectory folder;
  for (bool untrusted : {false, true}) {
    const auto path = folder.write("w.gguf", file.bytes());
    Tensor w, raw;
    GgufValue value;
    {
      const Gguf g = Gguf::open(path, {.untrusted = untrusted});
      w = g.tensor("w");
      raw = g.raw("q");
      value = *g.find("t");
    }
    std::filesystem::remove(path);
    EXPECT_EQ(w.as<float>()[1], 2);
    EXPECT_EQ(raw.as<uint8_t>()[2], 165);
    EXPECT_EQ(value.get<std::string>(), "some text");
  }
}

TEST(Gguf, ElementsAtOddAddressesAreCopied) {
  GgufFile file;
  file.alignment = 1;
  file.with("general.alignment", gguf_u32(1));
  file.with("b", {1}, GgufType::i8, "x").with("w", {1}, GgufType::f32, bytes_of<float>({2.5}));
  file.with("q", {32}, GgufType::q4_k, "");
  file.tensors.pop_back();
  const TempDirectory folder;
  const auto path = folder.write("odd.gguf", file.bytes());
  const Checkpoint c = Checkpoint::open(path);
  const bool even = Gguf::open(path).at("w").offset % 4 == 0;
  EXPECT_EQ(c.at("w").mapped, even);
  EXPECT_EQ(c.tensor("w").as<float>()[0], 2.5f);
  EXPECT_EQ(Gguf::open(path).tensor("w").as<float>()[0], 2.5f);
}

TEST(Gguf, MetadataOfEveryType) {
  using T = GgufValueType;
  GgufFile file;
  file.with("u8", value_of<uint8_t>(T::uint8, 200))
      .with("i8", value_of<int8_t>(T::int8, -100))
      .with("u16", value_of<uint16_t>(T::uint16, 60'000))
      .with("i16", value_of<int16_t>(T::int16, -30'000))
      .with("u32", gguf_u32(4'000'000'000))
      .with("i32", value_of<int32_t>(T::int32, -2'000'000'000))
      .with("f32", value_of<float>(T::float32, 0.1f))
      .with("yes", gguf_value(T::boolean, "\1"))
      .with("no", gguf_value(T::boolean, std::string(1, '\0')))
      .with("text", gguf_text("a\nb"))
      .with("bytes", gguf_text("\xff\xfe"))
      .with("u64", value_of<uint64_t>(T::uint64, ~uint64_t{0}))
      .with("i64", value_of<int64_t>(T::int64, std::numeric_limits<int64_t>::min()))
      .with("f64", value_of<double>(T::float64, 1e300))
      .with("numbers", gguf_array(T::int32, 3, bytes_of<int32_t>({1, -2, 3})))
      .with("reals", gguf_array(T::float32, 2, bytes_of<float>({0.5f, -INFINITY})))
      .with("texts", gguf_array(T::string, 3, gguf_string("a") + gguf_string("") + gguf_string("\xff")))
      .with("flags", gguf_array(T::boolean, 2, std::string("\1\0", 2)))
      .with("nothing", gguf_array(T::uint16, 0, ""));
  const TempDirectory folder;
  const auto path = folder.write("m.gguf", file.bytes());
  const Gguf g = Gguf::open(path);
  EXPECT_EQ(g.version(), 3u);
  EXPECT_EQ(g.files(), std::vector{path});
  EXPECT_TRUE(g.tensors().empty());
  ASSERT_EQ(g.metadata().size(), file.metadata.size());
  for (size_t i = 0; i < file.metadata.size(); ++i) EXPECT_EQ(g.metadata()[i].first, file.metadata[i].first);

  EXPECT_EQ(g.get<int64_t>("u8"), 200);
  EXPECT_EQ(g.get<int64_t>("i8"), -100);
  EXPECT_EQ(g.get<uint64_t>("u16"), 60'000u);
  EXPECT_EQ(g.get<int64_t>("i16"), -30'000);
  EXPECT_EQ(g.get<int64_t>("u32"), 4'000'000'000);
  EXPECT_EQ(g.get<int64_t>("i32"), -2'000'000'000);
  EXPECT_EQ(g.get<double>("f32"), static_cast<double>(0.1f));
  EXPECT_TRUE(g.get<bool>("yes"));
  EXPECT_FALSE(g.get<bool>("no"));
  EXPECT_EQ(g.get<std::string>("text"), "a\nb");
  EXPECT_EQ(g.get<std::string>("bytes"), "\xff\xfe");
  EXPECT_EQ(g.get<uint64_t>("u64"), ~uint64_t{0});
  EXPECT_EQ(g.get<int64_t>("i64"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(g.get<double>("f64"), 1e300);
  EXPECT_EQ(g.get<double>("i8"), -100);
  EXPECT_EQ(g.get<std::vector<int64_t>>("numbers"), (std::vector<int64_t>{1, -2, 3}));
  EXPECT_EQ(g.get<std::vector<double>>("reals"), (std::vector<double>{0.5, -INFINITY}));
  EXPECT_EQ(g.get<std::vector<std::string>>("texts"), (std::vector<std::string>{"a", "", "\xff"}));
  EXPECT_EQ(g.get<std::vector<bool>>("flags"), (std::vector<bool>{true, false}));
  EXPECT_TRUE(g.get<std::vector<uint64_t>>("nothing").empty());
  EXPECT_EQ(g.get<int64_t>("absent", 5), 5);
  EXPECT_EQ(g.get<int64_t>("u8", 5), 200);

  const GgufValue& numbers = *g.find("numbers");
  EXPECT_EQ(numbers.type(), T::array);
  EXPECT_EQ(numbers.element_type(), T::int32);
  EXPECT_EQ(numbers.size(), 3u);
  EXPECT_EQ(numbers.tensor().as<int32_t>()[1], -2);
  EXPECT_EQ(numbers.text(), "[1, -2, 3]");
  EXPECT_EQ(numbers.text(1), "[1, … 3 in all]");
  EXPECT_EQ(g.find("texts")->text(2), "['a', '', … 3 in all]");
  EXPECT_EQ(g.find("reals")->text(), "[0.5, -inf]");
  EXPECT_EQ(g.find("f32")->text(), "0.1");
  EXPECT_EQ(g.find("yes")->text(), "true");
  EXPECT_EQ(g.find("flags")->tensor().type(), DataType::boolean);
  EXPECT_EQ(g.find("u8")->tensor().shape(), Shape{});
  EXPECT_EQ(*g.find("u8"), *Gguf::open(path).find("u8"));
  EXPECT_NE(*g.find("u8"), *g.find("i8"));

  for (const char* key : {"text", "f32", "numbers", "yes"})
    EXPECT_EQ(code_of([&] { g.get<int64_t>(key); }), Code::bad_argument) << key;
  EXPECT_EQ(code_of([&] { g.get<int64_t>("u64"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.get<uint64_t>("i8"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.get<std::string>("u8"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.get<std::vector<double>>("texts"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.get<std::vector<double>>("f32"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { g.find("texts")->tensor(); }), Code::bad_argument);
  const std::string said = sentence_of([&] { g.get<bool>("numbrs"); });
  EXPECT_NE(said.find("'numbers'"), std::string::npos) << said;

  // Of a checkpoint, which has text only.
  const auto metadata = Checkpoint::open(path).metadata();
  EXPECT_EQ(metadata.at("u64"), "18446744073709551615");
  EXPECT_EQ(metadata.at("no"), "false");
  EXPECT_EQ(metadata.at("text"), "a\nb");
  EXPECT_FALSE(metadata.contains("bytes"));
  EXPECT_FALSE(metadata.contains("numbers"));
}

TEST(Gguf, VersionTwoAndOtherAlignments) {
  GgufFile file;
  file.version = 2;
  file.alignment = 128;
  file.with("general.alignment", gguf_u32(128));
  file.with("a", {1}, GgufType::f32, bytes_of<float>({1}))
      .with("b", {1}, GgufType::f32, bytes_of<float>({2}));
  const TempDirectory folder;
  const Gguf g = Gguf::open(folder.write("two.gguf", file.bytes()));
  EXPECT_EQ(g.version(), 2u);
  EXPECT_EQ(g.at("b").offset % 128, 0u);
  EXPECT_EQ(g.at("b").offset, g.at("a").offset + 128);
  EXPECT_EQ(g.tensor("b").as<float>()[0], 2);
}

/// Equal bytes mean equal numbers only in blocks of one type.
TEST(Gguf, DuplicatesAreOfOneType) {
  const std::string bytes = block(GgufType::q4_0);
  GgufFile file;
  file.with("a", {32}, GgufType::q4_0, bytes)
      .with("b", {32}, GgufType::iq4_nl, bytes)
      .with("c", {32}, GgufType::q4_0, bytes);
  const TempDirectory folder;
  const Checkpoint c = Checkpoint::open(folder.write("d.gguf", file.bytes()));
  EXPECT_EQ(c.duplicates(), (std::vector<std::vector<std::string>>{{"a", "c"}}));
  EXPECT_TRUE(c.tied().empty());
}

GgufFile part(uint16_t number, uint16_t count, int32_t tensors) {
  GgufFile file;
  file.with("split.no", value_of<uint16_t>(GgufValueType::uint16, number))
      .with("split.count", value_of<uint16_t>(GgufValueType::uint16, count))
      .with("split.tensors.count", value_of<int32_t>(GgufValueType::int32, tensors));
  const std::string n = std::to_string(number);
  return file.with("w" + n, {1}, GgufType::f32, bytes_of<float>({static_cast<float>(number)}));
}

TEST(Gguf, SplitFiles) {
  const TempDirectory folder;
  std::vector<std::filesystem::path> paths;
  for (uint16_t i = 0; i < 3; ++i) {
    GgufFile file = part(i, 3, 3);
    if (i == 0) file.with("general.architecture", gguf_text("llama"));
    if (i == 1) {
      file.alignment = 64;
      file.with("general.alignment", gguf_u32(64));
    }
    if (i == 2) file.with("general.architecture", gguf_text("llama")).with("late", gguf_u32(7));
    paths.push_back(folder.write("m-0000" + std::to_string(i + 1) + "-of-00003.gguf", file.bytes()));
  }
  for (const auto& path : paths) {
    const Gguf g = Gguf::open(path);
    EXPECT_EQ(g.files(), paths);
    ASSERT_EQ(g.tensors().size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(g.tensors()[i].part, i);
      EXPECT_EQ(g.tensor("w" + std::to_string(i)).as<float>()[0], static_cast<float>(i));
    }
    EXPECT_EQ(g.get<std::string>("general.architecture"), "llama");
    EXPECT_EQ(g.get<int64_t>("late"), 7);
    EXPECT_EQ(g.get<int64_t>("split.no"), 0);
    EXPECT_EQ(g.metadata().back().first, "late");
    const Checkpoint c = Checkpoint::open(path);
    EXPECT_EQ(c.files(), paths);
    EXPECT_EQ(c.at("w2").file, paths[2]);
    EXPECT_EQ(c.tensor("w2").as<float>()[0], 2);
    EXPECT_EQ(c.metadata().at("late"), "7");
  }
}

TEST(Gguf, PartsThatDoNotFit) {
  const auto opened = [](const std::vector<GgufFile>& parts, const std::string& name = "m") {
    const TempDirectory folder;
    for (size_t i = 0; i < parts.size(); ++i)
      folder.write(name + "-0000" + std::to_string(i + 1) + "-of-00002.gguf", parts[i].bytes());
    const auto path = folder / (name + "-00001-of-00002.gguf");
    const Code code = code_of([&] { Gguf::open(path); });
    EXPECT_EQ(code_of([&] { Checkpoint::open(path); }), code);
    return code;
  };
  EXPECT_EQ(opened({part(0, 2, 2), part(1, 2, 2)}), Code::none);
  EXPECT_EQ(opened({part(0, 2, 2), part(1, 2, 2)}, "a-00001-of-00002"), Code::none);
  EXPECT_EQ(opened({part(0, 2, 2)}), Code::file_not_found);
  EXPECT_EQ(opened({part(0, 2, 3), part(1, 2, 3)}), Code::wire_malformed);  // too few tensors
  EXPECT_EQ(opened({part(0, 2, 2), part(1, 2, 3)}), Code::wire_malformed);
  EXPECT_EQ(opened({part(0, 2, 2), part(0, 2, 2)}), Code::wire_malformed);  // the first part twice
  EXPECT_EQ(opened({part(0, 2, 2), part(1, 3, 2)}), Code::wire_malformed);
  EXPECT_EQ(opened({part(1, 2, 2), part(0, 2, 2)}), Code::wire_malformed);  // names exchanged
  EXPECT_EQ(opened({part(2, 2, 2), part(1, 2, 2)}), Code::wire_malformed);
  EXPECT_EQ(opened({part(0, 3, 2), part(1, 2, 2)}), Code::wire_malformed);  // three, says a name of two
  EXPECT_EQ(opened({part(0, 60'000, 2), part(1, 2, 2)}), Code::wire_too_large);
  EXPECT_EQ(opened({part(0, 2, -1), part(1, 2, -1)}), Code::wire_malformed);
  GgufFile no_keys;
  no_keys.with("w1", {1}, GgufType::i8, "x");
  EXPECT_EQ(opened({part(0, 2, 2), no_keys}), Code::wire_malformed);
  GgufFile same_name = part(1, 2, 2);
  same_name.tensors[0].name = "w0";
  EXPECT_EQ(opened({part(0, 2, 2), same_name}), Code::graph_duplicate_name);
  EXPECT_EQ(opened({part(0, 2, 2).with("k", gguf_u32(1)), part(1, 2, 2).with("k", gguf_u32(2))}),
            Code::wire_malformed);
}

TEST(Gguf, NamesThatAreNear) {
  GgufFile file;
  file.with("token_embd.weight", {1}, GgufType::i8, "x");
  const TempDirectory folder;
  const auto path = folder.write("n.gguf", file.bytes());
  const Gguf g = Gguf::open(path);
  EXPECT_TRUE(g.contains("token_embd.weight"));
  EXPECT_FALSE(g.contains("token_emb.weight"));
  for (const std::string& said : {sentence_of([&] { g.tensor("token_emb.weight"); }),
                                  sentence_of([&] { Checkpoint::open(path).blocks("token_emb.weight"); })})
    EXPECT_NE(said.find("'token_embd.weight'"), std::string::npos) << said;
  EXPECT_EQ(code_of([] { name_of(static_cast<GgufType>(99)); }), Code::bad_argument);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
