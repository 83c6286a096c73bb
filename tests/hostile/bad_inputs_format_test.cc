// Hostile files, one test per kind: external data, protobuf, tensors. Each must end in the error that is
// named here.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "lathe/onnx.h"
#include "support/error_code.h"
#include "support/external_models.h"
#include "support/hostile_limits.h"
#include "support/temp_directory.h"
#include "support/wire_bytes.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

namespace fs = std::filesystem;
using namespace onnx;

const std::string four_floats(16, '\0');

/// Writes the model, with w.bin (four floats) beside it, and loads it.
struct Site {
  TempDirectory dir;
  Site() { dir.write("model/w.bin", four_floats); }
  Code load(const ModelProto& m, const LoadOptions& options = {}) const {
    const auto path = dir.write("model/m.onnx", serialize(m));
    return code_of([&] { Model::load(path, options); });
  }
  Code load(const ExternalEntries& entries, int64_t n = 1) const {
    return load(model_of(external_tensor(n, entries)));
  }
  Code at(const std::string& location) const { return load(ExternalEntries{{"location", location}}); }
};

// External data

TEST(BadInputs, N01_ParentDirectory) {
  const Site s;
  s.dir.write("x", four_floats);
  EXPECT_EQ(s.at("../x"), Code::external_bad_path);
  EXPECT_EQ(s.at(".."), Code::external_bad_path);
  EXPECT_EQ(s.at("./../x"), Code::external_bad_path);
  EXPECT_EQ(s.at("w.bin"), Code::none);
}
TEST(BadInputs, N02_ParentDirectoryInTheMiddle) {
  const Site s;
  s.dir.write("x", four_floats);
  s.dir.write("model/a/y", four_floats);
  EXPECT_EQ(s.at("a/../../x"), Code::external_bad_path);
  EXPECT_EQ(s.at("a/../w.bin"), Code::external_bad_path);
}
TEST(BadInputs, N03_AbsolutePath) {
  const Site s;
  EXPECT_EQ(s.at((s.dir / "model/w.bin").string()), Code::external_bad_path);
  EXPECT_EQ(s.at("//etc/passwd"), Code::external_bad_path);
}
TEST(BadInputs, N04_OtherSystemsPaths) {
  const Site s;
  for (const char* location :
       {"C:\\w.bin", "C:w.bin", "\\\\server\\share\\w.bin", "..\\w.bin", "a\\..\\w.bin"})
    EXPECT_EQ(s.at(location), Code::external_bad_path) << location;
}
TEST(BadInputs, N05_SymbolicLink) {
  const Site s;
  fs::create_symlink("w.bin", s.dir / "model/link");
  fs::create_symlink("nowhere", s.dir / "model/dangling");
  EXPECT_EQ(s.at("link"), Code::external_link);
  EXPECT_EQ(s.at("dangling"), Code::external_link);
}
TEST(BadInputs, N06_SymbolicLinkOnTheWay) {
  const Site s;
  s.dir.write("outside/x", four_floats);
  fs::create_directory_symlink("../outside", s.dir / "model/sub");
  EXPECT_EQ(s.at("sub/x"), Code::external_link);
}
TEST(BadInputs, N07_HardLink) {
  const Site s;
  s.dir.write("secret", four_floats);
  fs::create_hard_link(s.dir / "secret", s.dir / "model/hard");
  EXPECT_EQ(s.at("hard"), Code::external_link);
  LoadOptions options;
  options.link_roots = {s.dir / "model"};
  EXPECT_EQ(s.load(model_of(external_tensor(1, {{"location", "hard"}})), options), Code::none);
}
TEST(BadInputs, N08_NotARegularFile) {
  const Site s;
  ASSERT_EQ(::mkfifo((s.dir / "model/fifo").c_str(), 0600), 0);
  fs::create_directory(s.dir / "model/folder");
  EXPECT_EQ(s.at("fifo"), Code::external_not_regular);
  EXPECT_EQ(s.at("folder"), Code::external_not_regular);
  EXPECT_EQ(code_of([&] { Model::load(s.dir / "model/fifo"); }), Code::file_not_regular);
  EXPECT_EQ(code_of([&] { Model::load(s.dir / "model/folder"); }), Code::file_not_regular);
  EXPECT_EQ(code_of([&] { Model::load("/dev/null"); }), Code::file_not_regular);
  Model device = Model::parse(serialize(model_of(external_tensor(1, {{"location", "null"}}))));
  device.directory = "/dev";
  EXPECT_EQ(code_of([&] { to_tensor(device.proto.graph->initializer[0], &device); }),
            Code::external_not_regular);
}
TEST(BadInputs, N09_EmptyLocationOrNul) {
  const Site s;
  EXPECT_EQ(s.at(""), Code::external_bad_path);
  EXPECT_EQ(s.at("."), Code::external_bad_path);
  EXPECT_EQ(s.at("/"), Code::external_bad_path);
  EXPECT_EQ(s.at(std::string("w.bin\0.txt", 10)), Code::external_bad_path);
  EXPECT_EQ(s.load(ExternalEntries{}), Code::external_bad_path);
}
TEST(BadInputs, N10_SwappedAfterTheCheck) {
  const Site s;
  s.dir.write("secret", "a secret, a secret");
  const auto path =
      s.dir.write("model/m.onnx", serialize(model_of(external_tensor(4, {{"location", "w.bin"}}))));
  const Model m = Model::load(path);
  fs::remove(s.dir / "model/w.bin");
  fs::create_symlink("../secret", s.dir / "model/w.bin");
  EXPECT_EQ(to_tensor(m.proto.graph->initializer[0], &m).as<float>()[3], 0);  // still what was checked
}
TEST(BadInputs, N11_OffsetPastTheEnd) {
  const Site s;
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"offset", "17"}}), Code::external_bad_range);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"offset", "13"}}), Code::external_bad_range);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"offset", "12"}}), Code::none);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"offset", "16"}}, 0), Code::none);
}
TEST(BadInputs, N12_OffsetOrLengthThatIsNoNumber) {
  const Site s;
  for (const char* key : {"offset", "length"})
    for (const char* v : {"-1", "", "x", "4x", " 4", "+4", "0x4", "1e3", "18446744073709551615",
                          "9223372036854775808", "99999999999999999999999"})
      EXPECT_EQ(s.load({{"location", "w.bin"}, {key, v}}), Code::external_bad_range) << key << " " << v;
}
TEST(BadInputs, N13_OffsetAndLengthOverflow) {
  const Site s;
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"offset", "9223372036854775807"}, {"length", "4"}}),
            Code::external_bad_range);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"offset", "9223372036854775800"}}, int64_t{1} << 58),
            Code::external_bad_range);
}
TEST(BadInputs, N14_LengthAgainstShape) {
  const Site s;
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"length", "8"}}, 1), Code::external_bad_range);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"length", "4"}}, 4), Code::external_bad_range);
  EXPECT_EQ(s.load({{"location", "w.bin"}}, 5), Code::external_bad_range);
}
TEST(BadInputs, N15_TruncatedFile) {
  const Site s;
  const auto path =
      s.dir.write("model/m.onnx", serialize(model_of(external_tensor(4, {{"location", "w.bin"}}))));
  const Model mapped = Model::load(path);
  LoadOptions untrusted;
  untrusted.untrusted = true;
  const Model read = Model::load(path, untrusted);
  EXPECT_NO_THROW(check_not_truncated(mapped));
  fs::resize_file(s.dir / "model/w.bin", 3);
  EXPECT_EQ(code_of([&] { check_not_truncated(mapped); }), Code::external_truncated);
  EXPECT_NO_THROW(check_not_truncated(read));
  EXPECT_EQ(to_tensor(read.proto.graph->initializer[0], &read).as<float>()[3], 0);
  EXPECT_EQ(code_of([&] { Model::load(path); }), Code::external_bad_range);

  // This program requests the fault as an error.
  int out[2];
  ASSERT_EQ(::pipe(out), 0);
  fs::resize_file(s.dir / "model/w.bin", 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(out[1], STDERR_FILENO);
    exit_on_truncated_file();
    volatile float x = to_tensor(mapped.proto.graph->initializer[0], &mapped).as<float>()[0];
    (void)x;
    ::_exit(77);
  }
  ::close(out[1]);
  std::string said(1000, '\0');
  const ssize_t n = ::read(out[0], said.data(), said.size());
  said.resize(n > 0 ? static_cast<size_t>(n) : 0);
  ::close(out[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 1) << status;
  EXPECT_EQ(said.find("lathe: error E1207"), 0u) << said;
}
TEST(BadInputs, N16_UnknownKeys) {
  const Site s;
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"__class__", "x"}}), Code::external_bad_key);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"", ""}}), Code::external_bad_key);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"checksum", "da39a3ee"}}), Code::none);
}
TEST(BadInputs, N17_DuplicateKeys) {
  const Site s;
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"location", "other"}}), Code::external_bad_key);
  EXPECT_EQ(s.load({{"location", "w.bin"}, {"offset", "0"}, {"offset", "0"}}), Code::external_bad_key);
}
TEST(BadInputs, N18_OverlappingTensors) {
  const Site s;
  const auto two = [&](int64_t na, const char* a, int64_t nb, const char* b) {
    ModelProto m = model_of(external_tensor(na, {{"location", "w.bin"}, {"offset", a}}, "a"));
    m.graph->initializer.push_back(external_tensor(nb, {{"location", "./w.bin"}, {"offset", b}}, "b"));
    return s.load(m);
  };
  EXPECT_EQ(two(2, "0", 2, "4"), Code::external_bad_range);
  EXPECT_EQ(two(2, "4", 2, "0"), Code::external_bad_range);
  EXPECT_EQ(two(4, "0", 1, "4"), Code::external_bad_range);
  EXPECT_EQ(two(1, "4", 4, "0"), Code::external_bad_range);
  EXPECT_EQ(two(2, "0", 1, "0"), Code::external_bad_range);
  EXPECT_EQ(two(2, "0", 2, "8"), Code::none);
  EXPECT_EQ(two(2, "0", 2, "0"), Code::none);
}
TEST(BadInputs, N19_InMemoryAddresses) {
  const Site s;
  EXPECT_EQ(s.at("*/_ORT_MEM_ADDR_/*"), Code::external_bad_path);
  EXPECT_EQ(s.load({{"location", "*/_ORT_MEM_ADDR_/*"}, {"offset", "140737488355328"}, {"length", "4"}}),
            Code::external_bad_path);
}
TEST(BadInputs, N20_EverywhereATensorCanBe) {
  const Site s;
  s.dir.write("x", four_floats);
  for (const auto& [where, m] : models_with(external_tensor(1, {{"location", "../x"}})))
    EXPECT_EQ(s.load(m), Code::external_bad_path) << where;
  for (const auto& [where, m] : models_with(external_tensor(1, {{"location", "w.bin"}, {"offset", "99"}})))
    EXPECT_EQ(s.load(m), Code::external_bad_range) << where;
  for (const auto& [where, m] : models_with(external_tensor(1, {{"location", "w.bin"}})))
    EXPECT_EQ(s.load(m), Code::none) << where;
  // A model from bytes has no directory.
  const Model m = Model::parse(serialize(model_of(external_tensor(1, {{"location", "w.bin"}}))));
  EXPECT_EQ(code_of([&] { to_tensor(m.proto.graph->initializer[0], &m); }), Code::external_missing);
  EXPECT_EQ(code_of([&] { to_tensor(m.proto.graph->initializer[0]); }), Code::external_missing);
}
TEST(BadInputs, N21_OnSave) {
  const Site s;
  const auto saved = [&](const ExternalEntries& entries, bool with_directory) {
    Model m;
    m.proto = model_of(external_tensor(1, entries));
    if (with_directory) m.directory = s.dir / "model";
    const Code code = code_of([&] { save(m, s.dir / "model/saved.onnx"); });
    EXPECT_EQ(fs::exists(s.dir / "model/saved.onnx"), code == Code::none);
    fs::remove(s.dir / "model/saved.onnx");
    return code;
  };
  for (bool with_directory : {false, true}) {
    EXPECT_EQ(saved({{"location", "../x"}}, with_directory), Code::external_bad_path);
    EXPECT_EQ(saved({{"location", "/tmp/x"}}, with_directory), Code::external_bad_path);
    EXPECT_EQ(saved({{"location", "w.bin"}, {"offset", "1125899906842624"}}, with_directory),
              Code::external_bad_range);
    EXPECT_EQ(saved({{"location", "w.bin"}}, with_directory), Code::none);
  }
  EXPECT_EQ(fs::file_size(s.dir / "model/w.bin"), 16u);
}

// Protobuf

TEST(BadInputs, N22_Nesting) {
  std::string types = field(1, "");
  for (int i = 0; i < 10000; ++i) types = field(4, field(1, types));
  EXPECT_EQ(code_of([&] { parse<TypeProto>(types); }), Code::wire_too_deep);
  std::string graphs;
  for (int i = 0; i < 10000; ++i) graphs = field(1, field(5, field(6, graphs)));
  EXPECT_EQ(code_of([&] { parse<GraphProto>(graphs); }), Code::wire_too_deep);
  std::string groups;
  for (int i = 0; i < 10000; ++i) groups += tag(100, 3);
  for (int i = 0; i < 10000; ++i) groups += tag(100, 4);
  EXPECT_EQ(code_of([&] { parse<ModelProto>(groups); }), Code::wire_too_deep);
  // Fields that are not known to be messages are read as bytes, at any depth.
  std::string unknown;
  for (int i = 0; i < 10000; ++i) unknown = field(100, unknown);
  EXPECT_EQ(parse<ModelProto>(unknown).unknown, unknown);
  LoadOptions flat;
  flat.max_depth = 2;
  EXPECT_EQ(code_of([&] { parse<ModelProto>(field(7, field(1, "")), flat); }), Code::none);
  EXPECT_EQ(code_of([&] { parse<ModelProto>(field(7, field(1, field(5, ""))), flat); }), Code::wire_too_deep);
}
TEST(BadInputs, N23_LengthPastTheEnd) {
  for (uint64_t length :
       {uint64_t{1}, uint64_t{1} << 31, uint64_t{1} << 32, (uint64_t{1} << 32) + 1, UINT64_MAX}) {
    EXPECT_EQ(code_of([&] { parse<ModelProto>(tag(7, 2) + varint(length)); }), Code::wire_malformed)
        << length;
    EXPECT_EQ(code_of([&] { parse<ModelProto>(tag(99, 2) + varint(length)); }), Code::wire_malformed)
        << length;
    EXPECT_EQ(code_of([&] { parse<ModelProto>(field(7, tag(1, 2) + varint(length)) + "more"); }),
              Code::wire_malformed)
        << length;
  }
  EXPECT_EQ(code_of([] { parse<ModelProto>(tag(100, 3)); }), Code::wire_malformed);
  EXPECT_EQ(code_of([] { parse<ModelProto>(tag(100, 4)); }), Code::wire_malformed);
  EXPECT_EQ(code_of([] { parse<ModelProto>(tag(100, 3) + tag(101, 4)); }), Code::wire_malformed);
}
TEST(BadInputs, N24_PackedListThatClaimsTooMuch) {
  for (int list : {4, 5, 7, 10, 11})
    EXPECT_EQ(
        code_of([&] { parse<TensorProto>(tag(static_cast<uint64_t>(list), 2) + varint(uint64_t{1} << 31)); }),
        Code::wire_malformed);
  EXPECT_EQ(code_of([] { parse<TensorProto>(field(4, "12345")); }), Code::wire_malformed);
  EXPECT_EQ(code_of([] { parse<TensorProto>(field(7, "\x80")); }), Code::wire_malformed);
}
TEST(BadInputs, N25_OverlongVarint) {
  const std::string eleven(10, '\x80');
  EXPECT_EQ(code_of([&] { parse<ModelProto>(tag(1, 0) + eleven + '\x01'); }), Code::wire_malformed);
  EXPECT_EQ(code_of([&] { parse<ModelProto>(eleven + '\x01'); }), Code::wire_malformed);
  EXPECT_EQ(code_of([&] { parse<ModelProto>(tag(7, 2) + eleven + '\x01'); }), Code::wire_malformed);
  EXPECT_EQ(code_of([&] { parse<ModelProto>(tag(1, 0) + eleven + std::string(20, '\x01')); }),
            Code::wire_malformed);
  EXPECT_EQ(parse<ModelProto>(tag(1, 0) + varint(UINT64_MAX)).ir_version, -1);
}
TEST(BadInputs, N26_CutAtEveryByte) {
  ModelProto m = model_of(from_tensor(Tensor::from<float>({3}, std::vector<float>{1, 2, 3}), "w"));
  m.graph->node.push_back(constant_node({}));
  m.graph->output.emplace_back().type.emplace().tensor_type.emplace().elem_type = 1;
  const std::string whole = serialize(m);
  size_t errors = 0;
  for (size_t n = 0; n < whole.size(); ++n) {
    const Code code = code_of([&] { Model::parse(std::string_view(whole).substr(0, n)); });
    EXPECT_TRUE(code == Code::none || code == Code::wire_malformed) << n;
    errors += code != Code::none;
  }
  EXPECT_GT(errors, whole.size() / 2);
  // Another value in every byte: errors of ours, or a model.
  for (size_t n = 0; n < whole.size(); ++n)
    for (int bit = 0; bit < 8; ++bit) {
      std::string bent = whole;
      bent[n] = static_cast<char>(bent[n] ^ (1 << bit));
      code_of([&] {
        const Model damaged = Model::parse(bent);
        if (damaged.proto.graph)
          for (const TensorProto& t : damaged.proto.graph->initializer) to_tensor(t, &damaged);
      });
    }
}
TEST(BadInputs, N27_TrailingGarbage) {
  const std::string model = serialize(model_of(from_tensor(Tensor::scalar<float>(1), "w")));
  for (const std::string& garbage :
       {std::string("garbage"), std::string(4, '\0'), std::string("\xff\xff"), std::string("<html>")})
    EXPECT_EQ(code_of([&] { Model::parse(model + garbage); }), Code::wire_malformed) << garbage;
}
TEST(BadInputs, N28_InvalidUtf8) {
  ModelProto m = empty_model();
  m.graph->node.emplace_back().name = "\xff";
  EXPECT_EQ(code_of([&] { Model::parse(serialize(m)); }), Code::wire_bad_utf8);
  m.graph->node[0].name = "x";
  m.graph->node[0].input = {"\xc3("};
  EXPECT_EQ(code_of([&] { Model::parse(serialize(m)); }), Code::wire_bad_utf8);
}
TEST(BadInputs, N29_EmptyFile) {
  const TempDirectory dir;
  EXPECT_EQ(code_of([&] { Model::load(dir.write("m.onnx", "")); }), Code::wire_malformed);
  EXPECT_EQ(code_of([&] { Model::parse(""); }), Code::wire_malformed);
  EXPECT_EQ(code_of([&] { Model::load(dir / "missing.onnx"); }), Code::file_not_found);
  const std::string lfs =
      sentence_of([] { Model::parse("version https://git-lfs.github.com/spec/v1\noid sha256:0"); });
  EXPECT_NE(lfs.find("git lfs pull"), std::string::npos) << lfs;
  // The rest is for the checker: a file without a graph is a message all the same.
  const Model m = Model::parse(number(1, uint64_t{1} << 31));
  EXPECT_EQ(m.proto.ir_version, int64_t{1} << 31);
  EXPECT_FALSE(m.proto.graph);
}
TEST(BadInputs, N30_OverAPublishedLimit) {
  LoadOptions options;
  options.max_bytes = 100;
  EXPECT_EQ(code_of([&] { Model::parse(std::string(101, '\0'), options); }), Code::wire_too_large);
  // Two bytes in the file, hundreds in memory.
  for (uint64_t list : {5, 11, 12, 13, 14, 15}) {
    std::string many;
    for (int i = 0; i < 1 << 20; ++i) many += tag(list, 2) + std::string(1, '\0');
    const Code code = code_of([&] { parse<ModelProto>(field(7, many)); });
    EXPECT_TRUE(code == Code::wire_too_large || list == 14) << list;
  }
}
TEST(BadInputs, N30_ListsInAMillionPieces) {
  std::string pieces;
  for (int i = 0; i < 1 << 20; ++i) pieces += field(7, "\x01");
  EXPECT_EQ(parse<TensorProto>(pieces).int64_data.size(), size_t{1} << 20);
  std::string graphs;
  for (int i = 0; i < 1 << 16; ++i) graphs += field(7, field(1, field(4, "A")));
  EXPECT_EQ(parse<ModelProto>(graphs).graph->node.size(), size_t{1} << 16);
}

// Tensors

TensorProto tensor(std::vector<int64_t> dims, DataType type, std::optional<std::string> raw = {}) {
  TensorProto t;
  t.name = "t";
  t.dims = std::move(dims);
  t.data_type = static_cast<int32_t>(type);
  if (raw) t.raw_data = Bytes(std::move(*raw));
  return t;
}
Code code_of_tensor(const TensorProto& t) {
  return code_of([&] { to_tensor(t); });
}

TEST(BadInputs, N31_ProductOfDimsOverflows) {
  const int64_t big = int64_t{1} << 32;
  EXPECT_EQ(code_of_tensor(tensor({big, big}, DataType::float32, "")), Code::tensor_bad_shape);
  EXPECT_EQ(code_of_tensor(tensor({big, big, 0}, DataType::float32, "")), Code::tensor_bad_shape);
  EXPECT_EQ(code_of_tensor(tensor({INT64_MAX}, DataType::float32, "")), Code::tensor_bad_shape);
  EXPECT_EQ(code_of_tensor(tensor({INT64_MAX}, DataType::int4, "")), Code::tensor_bad_shape);
  EXPECT_EQ(code_of_tensor(tensor({int64_t{1} << 50}, DataType::float32, "1234")), Code::tensor_bad_data);
  EXPECT_EQ(code_of_tensor(tensor({int64_t{1} << 50}, DataType::float32)), Code::tensor_bad_data);
}
TEST(BadInputs, N32_NegativeDim) {
  EXPECT_EQ(code_of_tensor(tensor({-1}, DataType::float32, "")), Code::tensor_bad_shape);
  EXPECT_EQ(code_of_tensor(tensor({0, -5}, DataType::float32, "")), Code::tensor_bad_shape);
  EXPECT_EQ(code_of_tensor(tensor({-2, -2}, DataType::int8, "1234")), Code::tensor_bad_shape);
}
TEST(BadInputs, N33_RankOfAMillion) {
  EXPECT_EQ(code_of_tensor(tensor(std::vector<int64_t>(1000000, 1), DataType::int8, "1")),
            Code::tensor_bad_shape);
  EXPECT_EQ(code_of_tensor(tensor(std::vector<int64_t>(max_rank, 1), DataType::int8, "1")), Code::none);
}
TEST(BadInputs, N34_RawDataOfTheWrongSize) {
  EXPECT_EQ(code_of_tensor(tensor({2}, DataType::float32, "1234567")), Code::tensor_bad_data);
  EXPECT_EQ(code_of_tensor(tensor({2}, DataType::float32, "123456789")), Code::tensor_bad_data);
  EXPECT_EQ(code_of_tensor(tensor({2}, DataType::float32, "")), Code::tensor_bad_data);
  EXPECT_EQ(code_of_tensor(tensor({}, DataType::complex128, "12345678")), Code::tensor_bad_data);
  TensorProto typed = tensor({3}, DataType::float32);
  typed.float_data = {1, 2};
  EXPECT_EQ(code_of_tensor(typed), Code::tensor_bad_data);
  typed.float_data = {1, 2, 3, 4};
  EXPECT_EQ(code_of_tensor(typed), Code::tensor_bad_data);
}
TEST(BadInputs, N35_RawAndTypedData) {
  TensorProto t = tensor({1}, DataType::float32, "1234");
  t.float_data = {1};
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  t = tensor({1}, DataType::float32);
  t.float_data = {1};
  t.int32_data = {1};
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  t = tensor({1}, DataType::float32);
  t.int32_data = {1};  // another type's field
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  t = tensor({0}, DataType::float32);
  t.int32_data = {1};
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  t = external_tensor(1, {{"location", "w.bin"}});
  t.raw_data = Bytes("1234");
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  EXPECT_EQ(code_of_tensor(tensor({1}, DataType::string, "x")), Code::tensor_bad_data);
  t = tensor({1}, DataType::float32, "1234");
  t.segment.emplace();
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
}
TEST(BadInputs, N36_OddCountsOfSubByteTypes) {
  for (DataType type : {DataType::int4, DataType::uint4, DataType::float4e2m1}) {
    EXPECT_EQ(code_of_tensor(tensor({3}, type, "\x21\x03")), Code::none);
    EXPECT_EQ(code_of_tensor(tensor({3}, type, "\x21")), Code::tensor_bad_data);
    EXPECT_EQ(code_of_tensor(tensor({3}, type, "\x21\x03\x04")), Code::tensor_bad_data);
    TensorProto t = tensor({3}, type);
    t.int32_data = {0x21, 0x03};
    EXPECT_EQ(to_tensor(t).as<uint8_t>()[0], 0x21);
    t.int32_data = {1, 2, 3};
    EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
    t.int32_data = {0x21, 256};
    EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  }
  for (DataType type : {DataType::int2, DataType::uint2}) {
    EXPECT_EQ(code_of_tensor(tensor({5}, type, "\xe4\x01")), Code::none);
    EXPECT_EQ(code_of_tensor(tensor({5}, type, "\xe4")), Code::tensor_bad_data);
  }
  for (DataType type : {DataType::float6e2m3, DataType::float6e3m2}) {
    // Four codes in three bytes: 1, 2, 3, 63; and a fifth, 33.
    const std::string raw("\x81\x30\xfc\x21", 4);
    const Tensor t = to_tensor(tensor({5}, type, raw));
    const std::vector<uint8_t> codes(t.as<uint8_t>().begin(), t.as<uint8_t>().begin() + 5);
    EXPECT_EQ(codes, (std::vector<uint8_t>{1, 2, 3, 63, 33}));
    EXPECT_EQ(from_tensor(t).raw_data->view(), raw);
    EXPECT_EQ(code_of_tensor(tensor({5}, type, "\x81\x30\xfc")), Code::tensor_bad_data);
    TensorProto typed = tensor({1}, type);
    typed.int32_data = {64};
    EXPECT_EQ(code_of_tensor(typed), Code::tensor_bad_data);
  }
}
TEST(BadInputs, N36_ValuesThatDoNotFit) {
  TensorProto t = tensor({1}, DataType::int8);
  for (int32_t v : {-129, 256, 100000}) {
    t.int32_data = {v};
    EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data) << v;
  }
  t = tensor({1}, DataType::uint32);
  t.uint64_data = {uint64_t{1} << 32};
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  // A bool is 0 or 1, whatever its byte was.
  const Tensor b = to_tensor(tensor({3}, DataType::boolean, std::string("\0\x01\x7f", 3)));
  EXPECT_EQ(static_cast<const uint8_t*>(b.data())[2], 1);
}
TEST(BadInputs, N37_StringsWithAHugeCount) {
  EXPECT_EQ(code_of_tensor(tensor({int64_t{1} << 40}, DataType::string)), Code::tensor_bad_data);
  TensorProto t = tensor({int64_t{1} << 40}, DataType::string);
  t.string_data.emplace_back(std::string("x"));
  EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_data);
  SparseTensorProto s;
  s.values = tensor({0}, DataType::string);
  s.indices = tensor({0}, DataType::int64, "");
  s.dims = {int64_t{1} << 40};
  EXPECT_EQ(code_of([&] { to_dense(s); }), Code::run_too_large);
}
TEST(BadInputs, N38_SparseIndices) {
  const auto sparse = [](std::vector<int64_t> indices, Shape shape, std::vector<int64_t> dims) {
    SparseTensorProto s;
    s.values = from_tensor(Tensor::from<float>({2}, std::vector<float>{1, 2}), "s");
    s.indices = from_tensor(Tensor::from<int64_t>(std::move(shape), indices));
    s.dims = std::move(dims);
    return s;
  };
  const auto code = [&](auto&&... args) { return code_of([&] { to_dense(sparse(args...)); }); };
  EXPECT_EQ(to_dense(sparse({0, 1, 1, 0}, {2, 2}, {2, 3})).as<float>()[3], 2);
  EXPECT_EQ(code(std::vector<int64_t>{0, 6}, Shape{2}, std::vector<int64_t>{2, 3}), Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{-1, 2}, Shape{2}, std::vector<int64_t>{2, 3}),
            Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{2, 1}, Shape{2}, std::vector<int64_t>{2, 3}), Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{1, 1}, Shape{2}, std::vector<int64_t>{2, 3}), Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{0, 3, 1, 0}, Shape{2, 2}, std::vector<int64_t>{2, 3}),
            Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{1, 0, 0, 1}, Shape{2, 2}, std::vector<int64_t>{2, 3}),
            Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{0, 1, 2}, Shape{3}, std::vector<int64_t>{2, 3}),
            Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{0, 1, 2, 3, 4, 5}, Shape{2, 3}, std::vector<int64_t>{2, 3}),
            Code::sparse_bad_indices);
  EXPECT_EQ(code(std::vector<int64_t>{0, 1}, Shape{2}, std::vector<int64_t>{-1}), Code::tensor_bad_shape);
  EXPECT_EQ(code(std::vector<int64_t>{0, 1}, Shape{2}, std::vector<int64_t>{int64_t{1} << 60}),
            Code::tensor_bad_shape);
  EXPECT_EQ(code(std::vector<int64_t>{0, 1}, Shape{2}, std::vector<int64_t>{int64_t{1} << 40}),
            Code::run_too_large);
  EXPECT_EQ(code_of([] { to_sparse({}); }), Code::sparse_bad_indices);
}
TEST(BadInputs, N40_ElementTypeOutOfRange) {
  for (int32_t type : {-1, 0, data_type_count, 1000, INT32_MAX, INT32_MIN}) {
    TensorProto t = tensor({1}, DataType::float32, "1234");
    t.data_type = type;
    EXPECT_EQ(code_of_tensor(t), Code::tensor_bad_type) << type;
  }
  TensorProto none = tensor({1}, DataType::float32, "1234");
  none.data_type.reset();
  EXPECT_EQ(code_of_tensor(none), Code::tensor_bad_type);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
