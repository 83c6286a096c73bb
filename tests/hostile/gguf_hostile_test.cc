// Hostile GGUF files: each is an error with a code, in bounded time and memory, and nothing outside is read.
#include <gtest/gtest.h>

#include "lathe/gguf.h"
#include "support/error_code.h"
#include "support/gguf_file.h"
#include "support/hostile_limits.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

/// A file of this name, new each time: some file systems wait for the disk when one is written over.
std::filesystem::path write_anew(const TempDirectory& folder, const std::string& bytes) {
  std::filesystem::remove(folder / "x.gguf");
  return folder.write("x.gguf", bytes);
}

/// Opens the file and reads all there is in it, in every way; the sum keeps the reads.
size_t read_all(const std::filesystem::path& path, bool untrusted = false) {
  const Gguf g = Gguf::open(path, {.untrusted = untrusted});
  size_t sum = 0;
  const auto add = [&](const Tensor& t) {
    for (size_t i = 0; i < t.bytes(); ++i) sum += static_cast<const unsigned char*>(t.data())[i];
  };
  for (const auto& [key, value] : g.metadata()) {
    sum += value.text().size();
    if (value.element_type() != GgufValueType::string)
      add(value.tensor());
    else if (value.type() == GgufValueType::array)
      for (const std::string& s : value.get<std::vector<std::string>>()) sum += s.size();
  }
  for (const GgufTensor& t : g.tensors()) {
    const Tensor raw = g.raw(t.name);
    EXPECT_EQ(raw.bytes(), t.bytes);
    add(raw);
    if (info_of(t.type).decodes) add(g.tensor(t.name));
  }
  const Checkpoint c = Checkpoint::open(path, {.untrusted = untrusted});
  for (const CheckpointTensor& t : c.tensors())
    if (t.blocks.empty() || info_of(g.at(t.name).type).decodes) add(c.tensor(t.name));
  return sum + c.tied().size() + c.duplicates().size();
}

/// A small file with something of everything.
GgufFile some() {
  GgufFile file;
  file.with("general.architecture", gguf_text("llama"))
      .with("general.alignment", gguf_u32(32))
      .with("numbers", gguf_array(GgufValueType::int32, 3, std::string(12, '\1')))
      .with("texts", gguf_array(GgufValueType::string, 2, gguf_string("a") + gguf_string("bc")))
      .with("flag", gguf_value(GgufValueType::boolean, "\1"));
  return file.with("w", {4, 2}, GgufType::f32, std::string(32, '\2'))
      .with("q", {64, 2}, GgufType::q4_0, std::string(72, '\3'))
      .with("k", {256}, GgufType::q4_k, std::string(144, '\4'));
}

void expect_refused(const std::string& what, const std::string& bytes, Code code,
                    const std::string& names = {}) {
  const TempDirectory folder;
  const auto path = write_anew(folder, bytes);
  const auto open = [&] { read_all(path); };
  EXPECT_EQ(code_of(open), code) << what << ": " << sentence_of(open);
  EXPECT_NE(sentence_of(open).find(path.string()), std::string::npos) << what;
  if (names.empty()) return;
  EXPECT_NE(sentence_of(open).find("'" + names + "'"), std::string::npos)
      << what << ": " << sentence_of(open);
}

constexpr uint64_t huge = uint64_t{1} << 63;

TEST(GgufHostile, Headers) {
  EXPECT_EQ(code_of([] {
              const TempDirectory folder;
              read_all(write_anew(folder, some().bytes()));
            }),
            Code::none);
  expect_refused("empty", "", Code::wire_malformed);
  expect_refused("other bytes", "hello, world, this is text", Code::wire_malformed);
  expect_refused("a magic alone", "GGUF", Code::wire_malformed);
  for (const char* magic : {"lmgg", "fmgg", "tjgg", "algg"})
    expect_refused(magic, std::string(magic) + std::string(60, '\0'), Code::not_supported);
  for (const auto& [version, code] : {std::pair{0u, Code::wire_malformed},
                                      {1u, Code::not_supported},
                                      {4u, Code::not_supported},
                                      {0x02000000u, Code::not_supported},
                                      {0x03000000u, Code::not_supported}}) {
    GgufFile file = some();
    file.version = version;
    expect_refused("version " + std::to_string(version), file.bytes(), code);
  }
  GgufFile big = some();
  big.version = 0x03000000;
  const TempDirectory folder;
  const std::string said = sentence_of([&] { Gguf::open(write_anew(folder, big.bytes())); });
  EXPECT_NE(said.find("big-endian"), std::string::npos) << said;
  for (uint64_t count : {uint64_t{1'000}, huge, ~uint64_t{0}}) {
    GgufFile file = some();
    file.tensor_count = count;
    expect_refused("tensors", file.bytes(), Code::wire_malformed);
    file = some();
    file.key_count = count;
    expect_refused("keys", file.bytes(), Code::wire_malformed);
  }
  GgufFile fewer = some();
  fewer.key_count = 4;  // the flag is taken for the table of tensors
  expect_refused("fewer keys", fewer.bytes(), Code::tensor_bad_shape, "flag");
}

TEST(GgufHostile, Metadata) {
  const auto with = [](const std::string& value) { return some().with("k", value).bytes(); };
  expect_refused("no type", with(little(13, 4) + std::string(8, '\0')), Code::wire_malformed, "k");
  expect_refused("a type of 2^32-1", with(little(~0u, 4) + std::string(8, '\0')), Code::wire_malformed, "k");
  for (uint64_t length : {uint64_t{100'000}, huge, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    expect_refused("a long string", with(gguf_value(GgufValueType::string, little(length, 8) + "abc")),
                   Code::wire_malformed, "k");
    for (GgufValueType type : {GgufValueType::uint8, GgufValueType::float64, GgufValueType::string})
      expect_refused("a long array", with(gguf_array(type, length, "abc")), Code::wire_malformed, "k");
    expect_refused("a long string in an array",
                   with(gguf_array(GgufValueType::string, 2, gguf_string("a") + little(length, 8))),
                   Code::wire_malformed, "k");
  }
  expect_refused(
      "an array of arrays",
      with(gguf_array(GgufValueType::array, 1, gguf_array(GgufValueType::uint8, 1, "x").substr(4))),
      Code::not_supported, "k");
  expect_refused("a boolean of 2", with(gguf_value(GgufValueType::boolean, "\2")), Code::wire_malformed, "k");
  expect_refused("booleans of 2", with(gguf_array(GgufValueType::boolean, 2, "\1\2")), Code::wire_malformed,
                 "k");
  GgufFile file = some();
  expect_refused("a key twice", file.with("numbers", gguf_u32(1)).bytes(), Code::graph_duplicate_name,
                 "numbers");
  file = some();
  expect_refused("a key that is not UTF-8", file.with("\xff", gguf_u32(1)).bytes(), Code::wire_bad_utf8);
  file = some();
  expect_refused("a long key", file.with(std::string(65'536, 'k'), gguf_u32(1)).bytes(),
                 Code::wire_too_large);
  for (const std::string& alignment :
       {gguf_u32(0), gguf_u32(3), gguf_u32(48), gguf_value(GgufValueType::uint64, little(32, 8)),
        gguf_text("32"), gguf_array(GgufValueType::uint32, 1, little(32, 4))}) {
    file = some();
    file.metadata[1].second = alignment;
    expect_refused("alignment", file.bytes(), Code::wire_malformed, "general.alignment");
  }
  file = some();
  file.metadata[1].second = gguf_u32(1u << 31);
  expect_refused("an alignment beyond the file", file.bytes(), Code::external_bad_range);
}

TEST(GgufHostile, Tensors) {
  const auto with = [](GgufFile::OneTensor t) {
    GgufFile file = some();
    file.tensors.push_back(std::move(t));
    return file.bytes();
  };
  const auto f32 = static_cast<uint32_t>(GgufType::f32);
  const auto q4_k = static_cast<uint32_t>(GgufType::q4_k);
  expect_refused("a name twice", with({"w", {1}, f32, "1234"}), Code::graph_duplicate_name, "w");
  expect_refused("a name that is not UTF-8", with({"\xc0\x80", {1}, f32, "1234"}), Code::wire_bad_utf8);
  expect_refused("a long name", with({std::string(257, 'x'), {1}, f32, "1234"}), Code::wire_too_large);
  for (uint32_t type : {42u, 1'000u, ~0u, 0x80000000u})
    expect_refused("an unknown type", with({"x", {1}, type, "1234"}), Code::tensor_bad_type, "x");
  for (uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u})
    expect_refused("a type that was removed", with({"x", {32}, type, "1234"}), Code::not_supported, "x");
  expect_refused("five dimensions", with({"x", {1, 1, 1, 1, 1}, f32, "1234"}), Code::tensor_bad_shape, "x");
  expect_refused("a dimension of 2^63", with({"x", {huge}, f32, "1234"}), Code::tensor_bad_shape, "x");
  expect_refused("a dimension of 2^64-1", with({"x", {~uint64_t{0}, 1}, f32, "1234"}), Code::tensor_bad_shape,
                 "x");
  expect_refused("a product of 2^64", with({"x", {uint64_t{1} << 32, uint64_t{1} << 32}, f32, "1234"}),
                 Code::tensor_bad_shape, "x");
  expect_refused("a product of 2^62", with({"x", {uint64_t{1} << 31, uint64_t{1} << 31}, f32, "1234"}),
                 Code::tensor_bad_shape, "x");
  expect_refused("zero times 2^62", with({"x", {0, uint64_t{1} << 62, uint64_t{1} << 62}, f32, ""}),
                 Code::tensor_bad_shape, "x");
  expect_refused("many elements", with({"x", {uint64_t{1} << 58}, f32, "1234"}), Code::external_bad_range,
                 "x");
  expect_refused("half a block", with({"x", {128}, q4_k, std::string(144, 'x')}), Code::tensor_bad_shape,
                 "x");
  expect_refused("blocks across rows", with({"x", {128, 2}, q4_k, std::string(144, 'x')}),
                 Code::tensor_bad_shape, "x");
  expect_refused("a block without dimension", with({"x", {}, q4_k, std::string(144, 'x')}),
                 Code::tensor_bad_shape, "x");
  for (uint64_t offset : {uint64_t{1} << 40, huge, ~uint64_t{0} - 31})
    expect_refused("an offset beyond the file", with({"x", {1}, f32, "1234", offset}),
                   Code::external_bad_range, "x");
  expect_refused("an odd offset", with({"x", {1}, f32, "1234", 33}), Code::external_bad_range, "x");
  expect_refused("the same place", with({"x", {8}, f32, std::string(32, 'x'), 0}), Code::external_bad_range);
  expect_refused("the end of another", with({"x", {1}, f32, "1234", 96}), Code::external_bad_range, "x");
  expect_refused("around another", with({"x", {16}, f32, std::string(64, 'x'), 0}), Code::external_bad_range);
  expect_refused("one byte too few", some().bytes().substr(0, some().bytes().size() - 1),
                 Code::external_bad_range, "k");
}

/// Nothing of a table is allocated before the file is known to have it, and each of its tensors is small.
TEST(GgufHostile, ManyTensorsTakeBoundedMemory) {
  GgufFile file;
  for (int i = 0; i < 20'000; ++i) file.with("t" + std::to_string(i), {0}, GgufType::q4_k, "");
  const TempDirectory folder;
  const auto path = write_anew(folder, file.bytes());
  EXPECT_EQ(Gguf::open(path).tensors().size(), 20'000u);
  EXPECT_EQ(Checkpoint::open(path).tensors().size(), 20'000u);
}

TEST(GgufHostile, CutAnywhere) {
  const TempDirectory folder;
  const std::string whole = some().bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto path = write_anew(folder, whole.substr(0, length));
    const Code code = code_of([&] { read_all(path); });
    EXPECT_TRUE(code == Code::wire_malformed || code == Code::external_bad_range) << length;
  }
}

TEST(GgufHostile, EveryBitFlipped) {
  const TempDirectory folder;
  const std::string whole = some().bytes();
  size_t read = 0;
  for (size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    const auto path = write_anew(folder, changed);
    const Code code = code_of([&] { read_all(path, bit % 2); });
    EXPECT_NE(code, Code::internal) << bit;
    read += code == Code::none;
  }
  EXPECT_GT(read, 2'000u);  // those in elements and texts
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
