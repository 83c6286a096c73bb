// Hostile checkpoints: each is an error that names the file and the tensor, and nothing outside is read.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "lathe/checkpoint.h"
#include "support/checkpoint_files.h"
#include "support/error_code.h"
#include "support/hostile_limits.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

const std::filesystem::path recorded = std::filesystem::path(LATHE_SOURCE_DIR) / "tests/data/checkpoints";

std::string file_bytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A file of this name, new each time: some file systems wait for the disk when one is written over.
std::filesystem::path write_anew(const TempDirectory& folder, const std::string& name,
                                 const std::string& bytes) {
  std::filesystem::remove(folder / name);
  return folder.write(name, bytes);
}

/// Opens the file and reads every element of every tensor; the sum keeps the reads.
size_t read_all(const std::filesystem::path& path, bool untrusted = false) {
  const Checkpoint c = Checkpoint::open(path, {.untrusted = untrusted});
  size_t sum = c.tied().size();
  for (const CheckpointTensor& info : c.tensors()) {
    const Tensor t = c.tensor(info.name);
    EXPECT_EQ(t.bytes(), info.bytes);
    for (size_t i = 0; i < t.bytes(); ++i) sum += static_cast<const unsigned char*>(t.data())[i];
  }
  return sum;
}

struct Hostile {
  std::string what, bytes;
  Code code;
  std::string tensor = {};  // that the sentence names
};

void expect_refused(const std::vector<Hostile>& list, const std::string& name) {
  const TempDirectory folder;
  for (const Hostile& h : list) {
    const auto path = write_anew(folder, name, h.bytes);
    const auto open = [&] { read_all(path); };
    EXPECT_EQ(code_of(open), h.code) << h.what << ": " << sentence_of(open);
    EXPECT_NE(sentence_of(open).find(path.string()), std::string::npos) << h.what;
    if (!h.tensor.empty()) {
      EXPECT_NE(sentence_of(open).find("'" + h.tensor + "'"), std::string::npos)
          << h.what << ": " << sentence_of(open);
    }
  }
}

TEST(HostileSafetensors, Headers) {
  const auto of = [](const std::string& entries, size_t data = 8) {
    return safetensors("{" + entries + "}", std::string(data, 'x'));
  };
  const auto with = [&](const std::string& fields) { return of("\"w\":{" + fields + "}"); };
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  expect_refused({{"empty", "", Code::wire_malformed},
                  {"no header", "1234567", Code::wire_malformed},
                  {"length past the end", little(100, 8) + "{}", Code::wire_malformed},
                  {"length beyond the limit", little(100'000'001, 8) + "{}", Code::wire_too_large},
                  {"length of 2^64-1", little(~uint64_t{0}, 8) + "{}", Code::wire_too_large},
                  {"length 0", little(0, 8) + "{}", Code::json_malformed},
                  {"no JSON", safetensors("{nonsense"), Code::json_malformed},
                  {"two objects", safetensors("{}{}"), Code::json_malformed},
                  {"a list", safetensors("[]"), Code::json_malformed},
                  {"a number", safetensors("7"), Code::json_malformed},
                  {"deep lists", safetensors("{\"w\":" + deep + "}"), Code::json_malformed},
                  {"deep shape", with(R"("dtype":"F32","shape":)" + deep), Code::tensor_bad_shape, "w"},
                  {"not UTF-8", safetensors("{\"\xff\":1}"), Code::wire_bad_utf8},
                  {"tensor that is a string", of(R"("w":"x")"), Code::json_malformed},
                  {"metadata with a number", of(R"("__metadata__":{"a":1})"), Code::json_malformed},
                  {"metadata with an object", of(R"("__metadata__":{"a":{}})"), Code::json_malformed},
                  {"no dtype", with(R"("shape":[2],"data_offsets":[0,8])"), Code::json_malformed, "w"},
                  {"no shape", with(R"("dtype":"F32","data_offsets":[0,8])"), Code::json_malformed, "w"},
                  {"no offsets", with(R"("dtype":"F32","shape":[2])"), Code::json_malformed, "w"},
                  {"another key", with(R"("dtype":"F32","color":1)"), Code::json_malformed, "w"},
                  {"a key twice", with(R"("dtype":"F32","dtype":"F32")"), Code::json_malformed, "w"},
                  {"unknown dtype", of(entry("w", "F31", "2", 0, 8)), Code::tensor_bad_type, "w"},
                  {"dtype that is a number", with(R"("dtype":1)"), Code::json_malformed, "w"},
                  {"name twice", of(entry("w", "F32", "1", 0, 4) + "," + entry("w", "F32", "1", 4, 8)),
                   Code::graph_duplicate_name, "w"}},
                 "m.safetensors");
}

TEST(HostileSafetensors, ShapesAndOffsets) {
  const auto one = [](const std::string& shape, const std::string& offsets) {
    return safetensors(R"({"w":{"dtype":"F32","shape":[)" + shape + R"(],"data_offsets":[)" + offsets + "]}}",
                       std::string(8, 'x'));
  };
  std::string rank = "1";
  for (int i = 0; i < 1000; ++i) rank += ",1";
  const auto two = [](uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    return safetensors("{" + entry("v", "U8", std::to_string(b - a), a, b) + "," +
                           entry("w", "U8", std::to_string(d - c), c, d) + "}",
                       std::string(8, 'x'));
  };
  expect_refused(
      {{"negative dimension", one("-2", "0,8"), Code::tensor_bad_shape, "w"},
       {"broken dimension", one("2.0", "0,8"), Code::tensor_bad_shape, "w"},
       {"huge dimension", one("18446744073709551615", "0,8"), Code::tensor_bad_shape, "w"},
       {"infinite dimension", one("1e999", "0,8"), Code::json_malformed},
       {"NaN", one("NaN", "0,8"), Code::json_malformed},
       {"overflowing product", one("4294967296,4294967296", "0,8"), Code::tensor_bad_shape, "w"},
       {"overflow beside a zero", one("0,4294967296,4294967296", "0,0"), Code::tensor_bad_shape, "w"},
       {"rank", one(rank, "0,8"), Code::tensor_bad_shape, "w"},
       {"text in the shape", one("\"2\"", "0,8"), Code::tensor_bad_shape, "w"},
       {"wrong size", one("3", "0,8"), Code::tensor_bad_data, "w"},
       {"past the end", one("3", "0,12"), Code::external_bad_range, "w"},
       {"far past the end", one("2", "18446744073709551608,18446744073709551615"), Code::external_bad_range,
        "w"},
       {"backwards", one("2", "8,0"), Code::external_bad_range, "w"},
       {"negative offset", one("2", "-8,0"), Code::external_bad_range, "w"},
       {"one offset", one("2", "8"), Code::external_bad_range, "w"},
       {"three offsets", one("2", "0,8,8"), Code::external_bad_range, "w"},
       {"broken offsets", one("2", "0.0,8.0"), Code::external_bad_range, "w"},
       {"overlap", two(0, 5, 4, 8), Code::external_bad_range, "w"},
       {"the same twice", two(0, 8, 0, 8), Code::external_bad_range, "w"},
       {"hole", two(0, 3, 4, 8), Code::external_bad_range, "w"},
       {"hole in front", one("1", "4,8"), Code::external_bad_range, "w"},
       {"hole at the end", one("1", "0,4"), Code::external_bad_range}},
      "m.safetensors");
}

TEST(HostileSafetensors, MoreTensorsThanMemory) {
  std::string entries = entry("w", "U8", "0", 0, 0);
  for (int i = 0; i < 1 << 19; ++i) entries += "," + entry(std::to_string(i), "U8", "0", 0, 0);
  expect_refused({{"many", safetensors("{" + entries + "}"), Code::wire_too_large}}, "m.safetensors");
}

TEST(HostileIndex, Bombs) {
  const TempDirectory folder;
  const auto index = [&](const std::string& text) {
    folder.write("model.safetensors.index.json", text);
    return code_of([&] { Checkpoint::open(folder.path()); });
  };
  const auto nested = [](char open, char close) {
    return std::string(100000, open) + std::string(100000, close);
  };
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{}"), std::string("{\"weight_map\": {\"a\": "),
        std::string("{\"weight_map\": [\"a\"]}"), std::string("{\"weight_map\": {\"\xff\": \"a\"}}"),
        "{\"weight_map\":" + nested('[', ']') + "}", "{\"weight_map\": {\"a\":" + nested('[', ']') + "}}",
        std::string(1000000, '[')})
    EXPECT_EQ(index(text), Code::json_malformed) << text.substr(0, 60);
  // Millions of empty objects, and of names, take no longer than others; brackets within a text nest nothing.
  std::string objects = "[{}", names = "\"a0\": \"absent.safetensors\"";
  for (int i = 0; i < 2000000; ++i) objects += ",{}";
  for (int i = 1; i < 300000; ++i) names += ", \"a" + std::to_string(i) + "\": \"absent.safetensors\"";
  EXPECT_EQ(index("{\"metadata\":" + objects + "]}"), Code::json_malformed);
  EXPECT_EQ(index("{\"weight_map\": {" + names + "}}"), Code::file_not_found);
  EXPECT_EQ(index("{\"" + std::string(100, '[') + "\\\"" + std::string(100, '{') +
                  R"(": 0, "weight_map": {"a": "absent.safetensors"}})"),
            Code::file_not_found);
  EXPECT_EQ(index(R"({"weight_map": )" + std::string(64, '[') + std::string(64, ']') + "}"),
            Code::json_malformed);
  // Larger than any index is, and shards that are absent, special, or the index itself.
  EXPECT_EQ(index(std::string((16 << 20) + 1, ' ')), Code::wire_too_large);
  EXPECT_EQ(index(R"({"weight_map": {"a": "absent.safetensors"}})"), Code::file_not_found);
  EXPECT_EQ(index(R"({"weight_map": {"a": "model.safetensors.index.json"}})"), Code::wire_malformed);
  std::filesystem::create_directory(folder / "folder.safetensors");
  EXPECT_EQ(index(R"({"weight_map": {"a": "folder.safetensors"}})"), Code::file_not_regular);
}

TEST(HostileZip, Archives) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
  const std::string npy = std::string("\x93NUMPY\1\0", 8) + little(header.size(), 2) + header;
  const std::string whole = npy + "abcd";
  const std::string good = zip({{"w.npy", whole}});
  auto broken = [&](size_t from_end, const std::string& bytes) {
    std::string s = good;
    s.replace(s.size() - from_end, bytes.size(), bytes);
    return s;
  };
  const TempDirectory folder;
  EXPECT_GT(read_all(folder.write("good.npz", good)), 0u);
  std::string overlapping = zip({{"a.npy", whole}, {"b.npy", whole}});
  const size_t second = overlapping.rfind("PK\1\2");
  overlapping.replace(second + 42, 4, little(0, 4));  // both entries speak of the first member
  expect_refused(
      {{"no end record", "PK\3\4", Code::wire_malformed},
       {"directory past the end", broken(6, little(0x7fffffff, 4)), Code::wire_malformed},
       {"more entries than there are", broken(12, little(2, 2)), Code::wire_malformed},
       {"encrypted", zip({{"w.npy", whole, 0, 1}}), Code::not_supported, "w.npy"},
       {"LZMA", zip({{"w.npy", whole, 14}}), Code::not_supported, "w.npy"},
       {"stored with another size", zip({{"w.npy", whole, 0, 0, 0, 7}}), Code::wire_malformed},
       {"inflates to a terabyte", zip({{"w.npy", whole, 8, 0, 0, uint64_t{1} << 40}}, true),
        Code::wire_malformed},
       {"damaged stream", zip({{"w.npy", whole, 8, 0, 0, 72}}), Code::wire_malformed},
       {"name twice", zip({{"w.npy", whole}, {"w.npy", whole}}), Code::graph_duplicate_name, "w.npy"},
       {"two names for the same bytes", overlapping, Code::wire_malformed},
       {"a member of another kind", zip({{"w.txt", whole}}), Code::wire_malformed},
       {"a damaged array", zip({{"w.npy", "nonsense"}}), Code::npy_malformed, "w"},
       {"an array cut off", zip({{"w.npy", npy}}), Code::npy_malformed, "w"}},
      "m.npz");
}

TEST(HostilePyTorch, Pickles) {
  const std::string good = tensor(storage("FloatStorage", "0", 4), 0, {2, 2}, {2, 1});
  const auto file = [](const std::string& pickle) { return pytorch(pickle, {std::string(16, 'x')}); };
  const auto of = [&](const std::string& object) { return file(dictionary({{"w", object}})); };
  const auto view = [&](int64_t offset, const std::vector<int64_t>& size,
                        const std::vector<int64_t>& strides) {
    return of(tensor(storage("FloatStorage", "0", 4), offset, size, strides));
  };
  const TempDirectory folder;
  EXPECT_EQ(read_all(folder.write("good.pt", of(good))), 16u * 'x');
  // A list within a list, each twice the one before: 2^60 paths to a tensor.
  std::string doubling = "\x80\x02" + good + "q\x01";
  for (int i = 1; i < 60; ++i)
    doubling += std::string("]q") + static_cast<char>(i + 1) + "(h" + static_cast<char>(i) + "h" +
                static_cast<char>(i) + "e";
  expect_refused(
      {{"os.system", of(global("os", "system") + tuple({text("true")}) + "R"), Code::not_supported,
        "os.system"},
       {"eval by protocol 4", of(text("builtins") + text("eval") + "\x93" + tuple({text("1")}) + "R"),
        Code::not_supported, "builtins.eval"},
       {"a global that is only named", of(global("posix", "system")), Code::not_supported, "posix.system"},
       {"a module", of(global("torch.nn.modules.linear", "Linear") + ")\x81"), Code::not_supported,
        "torch.nn.modules.linear.Linear"},
       {"text instruction", of("I7\n"), Code::not_supported},
       {"empty", file(""), Code::wire_malformed},
       {"without an end", file("\x80\x02}"), Code::wire_malformed},
       {"nothing to give", file("\x80\x02."), Code::wire_malformed},
       {"tuple of nothing", file("\x80\x02\x87."), Code::wire_malformed},
       {"no mark", file("\x80\x02}u."), Code::wire_malformed},
       {"a key alone", file("\x80\x02}(" + text("w") + "u."), Code::wire_malformed},
       {"memory that was never set", file("\x80\x02h\x05."), Code::wire_malformed},
       {"items for a number",
        file("\x80\x02K\x01(K\x02"
             "e."),
        Code::wire_malformed},
       {"call of a number", file("\x80\x02K\x01)R."), Code::wire_malformed},
       {"state for a tensor", of(good + "}b"), Code::wire_malformed},
       {"string past the end", file("\x80\x02X" + little(~0u, 4) + "abc."), Code::wire_malformed},
       {"not UTF-8", of(text("\xff\xfe")), Code::wire_bad_utf8},
       {"a list in itself",
        file("\x80\x02]q\x01h\x01"
             "a."),
        Code::wire_too_deep},
       {"paths beyond number", file(doubling + "."), Code::wire_too_large},
       {"no storage", of(tensor(storage("FloatStorage", "7", 4), 0, {1}, {1})), Code::wire_malformed, "w"},
       {"storage that is too short", of(tensor(storage("FloatStorage", "0", 5), 0, {1}, {1})),
        Code::tensor_bad_data, "w"},
       {"storage of a negative count", of(tensor(storage("FloatStorage", "0", -1), 0, {1}, {1})),
        Code::tensor_bad_data, "w"},
       {"quantized storage", of(tensor(storage("QInt8Storage", "0", 4), 0, {1}, {1})), Code::not_supported},
       {"past the storage", view(1, {2, 2}, {2, 1}), Code::external_bad_range, "w"},
       {"strides past the storage", view(0, {2, 2}, {3, 1}), Code::external_bad_range, "w"},
       {"negative offset", view(-1, {1}, {1}), Code::external_bad_range, "w"},
       {"huge offset", view(INT64_MAX, {1}, {1}), Code::external_bad_range, "w"},
       {"empty far outside", view(5, {0}, {1}), Code::external_bad_range, "w"},
       {"negative size", view(0, {-1}, {1}), Code::tensor_bad_shape, "w"},
       {"negative stride", view(3, {4}, {-1}), Code::tensor_bad_shape, "w"},
       {"overflowing strides", view(0, {3, 3}, {INT64_MAX, INT64_MAX}), Code::external_bad_range, "w"},
       {"overflowing size", view(0, {INT64_MAX, 3}, {0, 0}), Code::tensor_bad_shape, "w"},
       {"a terabyte of one element", view(0, {1 << 20, 1 << 20}, {0, 0}), Code::tensor_bad_data, "w"},
       {"fewer strides than dimensions", view(0, {2, 2}, {1}), Code::tensor_bad_shape, "w"},
       {"a name twice", file(dictionary({{"w", good}, {"w", good}})), Code::graph_duplicate_name, "w"},
       {"big-endian",
        zip({{"a/data.pkl", dictionary({{"w", good}})},
             {"a/data/0", std::string(16, 'x')},
             {"a/byteorder", "big"}}),
        Code::not_supported}},
      "m.pt");
}

TEST(HostilePyTorch, WhatPyTorchItselfWrites) {
  const auto old = [] { Checkpoint::open(recorded / "old_format.pt"); };
  EXPECT_EQ(code_of(old), Code::not_supported);
  EXPECT_NE(sentence_of(old).find("old format"), std::string::npos);
  const auto module = [] { Checkpoint::open(recorded / "module.pt"); };
  EXPECT_EQ(code_of(module), Code::not_supported);
  EXPECT_NE(sentence_of(module).find("torch.nn.modules.linear.Linear"), std::string::npos)
      << sentence_of(module);
}

/// Cuts the file at every byte, then flips each bit of it. Whatever remains readable is read in full, from
/// memory of exactly the file's size, so that a sanitizer sees every step beyond it.
void expect_survival(const std::string& whole, const std::string& name, size_t step, bool cut_is_fatal) {
  const TempDirectory folder;
  size_t survived = 0;
  const auto survives = [&](const std::string& bytes) {
    try {
      read_all(write_anew(folder, name, bytes), true);
      ++survived;
      return true;
    } catch (const Error& e) {
      EXPECT_NE(e.code(), Code::internal);
      return false;
    }
  };
  ASSERT_TRUE(survives(whole));
  for (size_t n = 0; n < whole.size(); n += step)
    EXPECT_FALSE(survives(whole.substr(0, n)) && cut_is_fatal) << n;
  for (size_t i = 0; i < whole.size(); i += step) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i / step % 8)));
    survives(flipped);
  }
  EXPECT_GT(survived, 1u);  // elements have no checksum
}

TEST(Survival, Safetensors) {
  const std::string header = R"({"__metadata__":{"format":"pt"},)" + entry("a", "F32", "2,3", 0, 24) + "," +
                             entry("b", "BF16", "4", 24, 32) + "}";
  const std::string whole = safetensors(header, std::string(32, 'x'));
  expect_survival(whole, "m.safetensors", 1, true);
  const TempDirectory folder;
  for (size_t i = 0; i < whole.size() - 32; ++i)
    for (int b = 0; b < 256; ++b) {  // every value of every byte of the header
      if (b % 5 != static_cast<int>(i % 5)) continue;
      std::string changed = whole;
      changed[i] = static_cast<char>(b);
      try {
        read_all(write_anew(folder, "m.safetensors", changed), true);
      } catch (const Error& e) {
        EXPECT_NE(e.code(), Code::internal);
      }
    }
}
TEST(Survival, PyTorch) { expect_survival(file_bytes(recorded / "state_dict.pt"), "m.pt", 1, true); }
TEST(Survival, PyTorchKinds) {
  expect_survival(file_bytes(recorded / "kinds_protocol4.pt"), "m.pt", 1, true);
}
TEST(Survival, Stored) { expect_survival(file_bytes(recorded / "stored.npz"), "m.npz", 1, true); }
TEST(Survival, Compressed) { expect_survival(file_bytes(recorded / "compressed.npz"), "m.npz", 1, true); }

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
