// Tests the checkpoint readers: every format, mapped if the file allows it.
#include "lathe/checkpoint.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <numeric>

#include "lathe/safetensors.h"
#include "lathe/values.h"
#include "support/checkpoint_files.h"
#include "support/error_code.h"
#include "support/resident.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

const std::filesystem::path recorded = std::filesystem::path(LATHE_SOURCE_DIR) / "tests/data/checkpoints";

std::string floats(const std::vector<float>& v) {
  return {reinterpret_cast<const char*>(v.data()), v.size() * sizeof(float)};
}
std::vector<std::string> names(const Checkpoint& c) {
  std::vector<std::string> list;
  for (const CheckpointTensor& t : c.tensors()) list.push_back(t.name);
  return list;
}
std::string elements(const Checkpoint& c, const std::string& name) {
  const Tensor t = c.tensor(name);
  std::string s = describe(t);
  for (const std::string& e : first_elements(t, 32)) s += " " + e;
  return s;
}

TEST(Safetensors, EveryTypeIsMapped) {
  const std::vector<std::tuple<std::string, DataType, uint64_t>> kinds = {
      {"F64", DataType::float64, 8},
      {"I64", DataType::int64, 8},
      {"U64", DataType::uint64, 8},
      {"C64", DataType::complex64, 8},
      {"F32", DataType::float32, 4},
      {"I32", DataType::int32, 4},
      {"U32", DataType::uint32, 4},
      {"F16", DataType::float16, 2},
      {"BF16", DataType::bfloat16, 2},
      {"I16", DataType::int16, 2},
      {"U16", DataType::uint16, 2},
      {"I8", DataType::int8, 1},
      {"U8", DataType::uint8, 1},
      {"BOOL", DataType::boolean, 1},
      {"F8_E4M3", DataType::float8e4m3fn, 1},
      {"F8_E5M2", DataType::float8e5m2, 1},
      {"F8_E8M0", DataType::float8e8m0, 1},
      {"F8_E4M3FNUZ", DataType::float8e4m3fnuz, 1},
      {"F8_E5M2FNUZ", DataType::float8e5m2fnuz, 1}};
  std::string header = R"({"__metadata__":{"format":"pt"})", data;
  for (const auto& [dtype, type, bytes] : kinds) {
    header += "," + entry(dtype, dtype, "2", data.size(), data.size() + 2 * bytes);
    for (uint64_t i = 0; i < 2 * bytes; ++i) data += static_cast<char>(data.size() % 2);
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const TempDirectory folder;
  const Checkpoint c = Checkpoint::open(folder.write("all.safetensors", safetensors(header, data)));
  ASSERT_EQ(c.tensors().size(), kinds.size());
  EXPECT_EQ(c.format(), CheckpointFormat::safetensors);
  EXPECT_EQ(c.metadata().at("format"), "pt");
  size_t at = 0;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto& [dtype, type, bytes] = kinds[i];
    EXPECT_EQ(c.tensors()[i].name, dtype);
    EXPECT_TRUE(c.at(dtype).mapped);
    const Tensor t = c.tensor(dtype);
    EXPECT_EQ(t.type(), type);
    ASSERT_EQ(t.bytes(), 2 * bytes);
    EXPECT_EQ(std::memcmp(t.data(), data.data() + at, t.bytes()), 0) << dtype;
    at += t.bytes();
  }
}

TEST(Safetensors, TensorsOutliveTheCheckpoint) {
  const TempDirectory folder;
  const auto path =
      folder.write("m.safetensors", safetensors("{" + entry("w", "F32", "2", 0, 8) + "}", floats({1, 2})));
  const Tensor t = Checkpoint::open(path).tensor("w");
  const Tensor read = Checkpoint::open(path, {.untrusted = true}).tensor("w");
  std::filesystem::remove(path);
  EXPECT_EQ(t.as<float>()[1], 2);
  EXPECT_EQ(read.as<float>()[1], 2);
}

TEST(Safetensors, ElementsAtOddAddressesAreCopied) {
  const TempDirectory folder;
  const std::string header = "{" + entry("b", "U8", "1", 0, 1) + "," + entry("w", "F32", "1", 1, 5) + "}";
  const Checkpoint c =
      Checkpoint::open(folder.write("m.safetensors", safetensors(header, "x" + floats({2.5}))));
  EXPECT_FALSE(c.at("w").mapped);
  EXPECT_EQ(c.tensor("w").as<float>()[0], 2.5f);
}

TEST(Safetensors, ScalarsAndEmptyTensors) {
  const TempDirectory folder;
  const std::string header =
      "{" + entry("s", "F32", "", 0, 4) + "," + entry("e", "F32", "0,7", 4, 4) + "}   ";
  const Checkpoint c = Checkpoint::open(folder.write("m.safetensors", safetensors(header, floats({3}))));
  EXPECT_EQ(elements(c, "s"), "float32[] 3");
  EXPECT_EQ(elements(c, "e"), "float32[0, 7]");
  EXPECT_TRUE(Checkpoint::open(folder.write("none.safetensors", safetensors("{}"))).tensors().empty());
}

/// Bytes of [data, data + bytes) that are in memory.
size_t resident_of(const void* data, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(data) / page * page;
  const size_t pages = (reinterpret_cast<uintptr_t>(data) + bytes - begin + page - 1) / page;
  std::vector<unsigned char> in(pages);
  EXPECT_EQ(::mincore(reinterpret_cast<void*>(begin), pages * page, in.data()), 0);
  return static_cast<size_t>(std::count_if(in.begin(), in.end(), [](auto b) { return b & 1; })) * page;
}

/// The format does not specify how four elements are packed in three bytes: the file is read and the tensor
/// is listed, but reading its elements is an error.
TEST(Safetensors, SixBitsAreListedAndNotTaken) {
  for (const auto& [name, type] :
       {std::pair{"F6_E2M3", DataType::float6e2m3}, {"F6_E3M2", DataType::float6e3m2}}) {
    const TempDirectory folder;
    const auto with = [&, dtype = name](const char* shape, uint64_t bytes) {
      return folder.write("six.safetensors",
                          safetensors("{" + entry("a", dtype, shape, 0, bytes) + "," +
                                          entry("b", dtype, shape, bytes, 2 * bytes) + "," +
                                          entry("f", "F32", "1", 2 * bytes, 2 * bytes + 4) + "}",
                                      std::string(2 * bytes, '\1') + floats({5})));
    };
    for (const auto& [shape, bytes, rank] :
         {std::tuple{"8", uint64_t{6}, size_t{1}}, {"4", 3, 1}, {"2,2", 3, 2}, {"3,4", 9, 2}}) {
      const Checkpoint c = Checkpoint::open(with(shape, bytes));
      EXPECT_EQ(c.at("a").type, type);
      EXPECT_EQ(c.at("a").shape.size(), rank);
      EXPECT_FALSE(c.at("a").mapped);
      EXPECT_EQ(elements(c, "f"), "float32[1] 5");
      EXPECT_EQ(code_of([&] { c.tensor("a"); }), Code::not_supported);
      const std::string said = sentence_of([&] { c.tensor("a"); });
      EXPECT_NE(said.find(name), std::string::npos) << said;
      EXPECT_NE(said.find("'a'"), std::string::npos) << said;
      EXPECT_TRUE(c.tied().empty());
      EXPECT_EQ(c.duplicates(), (std::vector<std::vector<std::string>>{{"a", "b"}}));
    }
    const Checkpoint none = Checkpoint::open(with("0,3", 0));
    EXPECT_EQ(none.tensor("a").size(), 0);
    // Elements that do not fill bytes, and bytes as if each had one.
    for (const auto& [shape, bytes] :
         {std::pair{"1", uint64_t{1}}, {"2", 2}, {"3", 3}, {"5", 4}, {"6", 5}, {"8", 8}})
      EXPECT_EQ(code_of([&, s = shape, b = bytes] { Checkpoint::open(with(s, b)); }), Code::tensor_bad_data)
          << shape;
    EXPECT_FALSE(safetensors_can_hold(type));
  }
}

TEST(Safetensors, FourBitsComeInPairs) {
  const TempDirectory folder;
  const auto code = [&](const char* shape, uint64_t bytes) {
    const auto file =
        folder.write("four.safetensors",
                     safetensors("{" + entry("a", "F4", shape, 0, bytes) + "}", std::string(bytes, '\x21')));
    return code_of([&] { Checkpoint::open(file).tensor("a"); });
  };
  EXPECT_EQ(code("2", 1), Code::none);
  EXPECT_EQ(code("3,2", 3), Code::none);
  EXPECT_EQ(code("0", 0), Code::none);
  EXPECT_EQ(code("1", 1), Code::tensor_bad_data);
  EXPECT_EQ(code("3", 2), Code::tensor_bad_data);
  EXPECT_EQ(code("4", 1), Code::tensor_bad_data);
}

TEST(Safetensors, MetadataMayBeNull) {
  const TempDirectory folder;
  const std::string tensor = entry("a", "F32", "1", 0, 4);
  for (const auto& [metadata, entries] : {std::pair{"null", size_t{0}},
                                          {"{}", 0},
                                          {R"({"x":null})", 0},
                                          {R"({"x":null,"format":"pt","y":null})", 1}})
    for (const std::string& header : {"{\"__metadata__\":" + std::string(metadata) + "," + tensor + "}",
                                      "{" + tensor + ",\"__metadata__\":" + metadata + "}"}) {
      const Checkpoint c = Checkpoint::open(folder.write("m.safetensors", safetensors(header, floats({1}))));
      EXPECT_EQ(c.metadata().size(), entries) << header;
      EXPECT_EQ(names(c), std::vector<std::string>{"a"});
    }
  for (const char* header : {R"({"a":null})", R"({"a":{"dtype":null,"shape":[1],"data_offsets":[0,4]}})",
                             R"({"a":{"dtype":"F32","shape":null,"data_offsets":[0,4]}})", "null"})
    EXPECT_EQ(
        code_of([&] { Checkpoint::open(folder.write("m.safetensors", safetensors(header, floats({1})))); }),
        Code::json_malformed)
        << header;
}

TEST(Safetensors, AGigabyteIsOpenedWithoutReadingIt) {
  constexpr uint64_t bytes = uint64_t{1} << 30;
  const TempDirectory folder;
  std::string header = "{" + entry("w", "F32", std::to_string(bytes / 4), 0, bytes) + "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const auto path = folder.write("big.safetensors", safetensors(header));
  std::filesystem::resize_file(path, 8 + header.size() + bytes);
  const size_t before = lathe::testing::resident();
  const Checkpoint c = Checkpoint::open(path);
  const Tensor t = c.tensor("w");
  EXPECT_EQ(t.bytes(), bytes);
  EXPECT_LT(lathe::testing::resident(), before + (size_t{32} << 20));
  EXPECT_LT(resident_of(t.data(), t.bytes()), size_t{16} << 20);  // what the kernel reads ahead of the header
  EXPECT_EQ(t.as<float>()[bytes / 8], 0.0f);
}

TEST(Safetensors, AreWrittenAndReadAgain) {
  const TempDirectory folder;
  const auto file = folder / "w.safetensors";
  std::vector<std::pair<std::string, Tensor>> all;
  for (int i = 1; i < data_type_count; ++i) {
    const auto type = static_cast<DataType>(i);
    if (!safetensors_can_hold(type)) continue;
    Tensor t(type, {2, 3});
    for (size_t b = 0; b < t.bytes(); ++b)
      static_cast<unsigned char*>(t.data())[b] =
          static_cast<unsigned char>(type == DataType::boolean ? b % 2 : b);
    all.emplace_back("a \"" + std::string(name_of(type)) + "\"", t);
  }
  EXPECT_GE(all.size(), 16u);
  all.emplace_back("none", Tensor(DataType::float32, {0, 4}));
  all.emplace_back("one", Tensor::scalar<float>(1));
  save_safetensors(file, all, {{"format", "pt"}});
  const Checkpoint c = Checkpoint::open(file);
  ASSERT_EQ(c.tensors().size(), all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(c.tensors()[i].name, all[i].first);
    const Tensor t = c.tensor(all[i].first);
    ASSERT_EQ(t.type(), all[i].second.type());
    ASSERT_EQ(t.shape(), all[i].second.shape());
    const size_t bytes = t.bytes();
    EXPECT_TRUE(bytes == 0 || std::memcmp(t.data(), all[i].second.data(), bytes) == 0) << all[i].first;
  }
  EXPECT_EQ(c.metadata().at("format"), "pt");

  const Tensor w = Tensor::scalar<float>(1);
  const auto code = [&](const std::vector<std::pair<std::string, Tensor>>& tensors) {
    return code_of([&] { save_safetensors(folder / "x.safetensors", tensors); });
  };
  EXPECT_EQ(code({{"w", w}, {"w", w}}), Code::graph_duplicate_name);
  EXPECT_EQ(code({{"__metadata__", w}}), Code::bad_argument);
  EXPECT_EQ(code({{"text", Tensor(DataType::string, {1})}}), Code::not_supported);
  EXPECT_EQ(code({{"few", Tensor(DataType::int4, {2})}}), Code::not_supported);
  EXPECT_FALSE(std::filesystem::exists(folder / "x.safetensors"));
  EXPECT_EQ(code_of([&] {
              save_safetensors(folder / "no/such/place", {{"w", w}});
            }),
            Code::file_write_failed);
}

TEST(Shards, AnIndexJoinsThem) {
  const TempDirectory folder;
  folder.write("model-1.safetensors", safetensors("{" + entry("a", "F32", "1", 0, 4) + "}", floats({1})));
  folder.write("model-2.safetensors", safetensors("{" + entry("b", "F32", "1", 0, 4) + "}", floats({2})));
  const auto index = [&](const std::string& map) {
    folder.write("model.safetensors.index.json",
                 R"({"metadata":{"total_size":8},"weight_map":{)" + map + "}}");
    return [&folder] { Checkpoint::open(folder.path()); };
  };
  index(R"("b":"model-2.safetensors","a":"model-1.safetensors")")();
  const Checkpoint c = Checkpoint::open(folder.path());
  EXPECT_EQ(names(c), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(elements(c, "b"), "float32[1] 2");
  EXPECT_EQ(c.at("b").file.filename(), "model-2.safetensors");
  EXPECT_EQ(Checkpoint::open(folder / "model.safetensors.index.json").files().size(), 2u);

  auto missing = index(R"("a":"model-1.safetensors","c":"model-3.safetensors")");
  EXPECT_EQ(code_of(missing), Code::file_not_found);
  EXPECT_NE(sentence_of(missing).find("model-3.safetensors"), std::string::npos);
  auto swapped = index(R"("a":"model-2.safetensors","b":"model-1.safetensors")");
  EXPECT_EQ(code_of(swapped), Code::tensor_bad_data);
  EXPECT_NE(sentence_of(swapped).find("it is in 'model-1.safetensors'"), std::string::npos)
      << sentence_of(swapped);
  EXPECT_EQ(code_of(index(R"("a":"model-1.safetensors","z":"model-2.safetensors")")), Code::tensor_bad_data);
  for (const char* outside : {"../x", "/etc/passwd", "", "..", "a\\\\b", "a\\u0000b"})
    EXPECT_EQ(code_of(index(std::string(R"("a":")") + outside + "\"")), Code::external_bad_path) << outside;
  EXPECT_EQ(code_of(index(R"("a":3)")), Code::json_malformed);
  folder.write("model-2.safetensors", safetensors("{" + entry("a", "F32", "1", 0, 4) + "}", floats({2})));
  EXPECT_EQ(code_of(index(R"("a":"model-1.safetensors","b":"model-2.safetensors")")),
            Code::graph_duplicate_name);
}

TEST(Shards, OfPyTorchToo) {
  const TempDirectory folder;
  for (int i : {1, 2})
    folder.write(
        "pytorch_model-" + std::to_string(i) + ".bin",
        pytorch(dictionary({{i == 1 ? "a" : "b", tensor(storage("FloatStorage", "0", 1), 0, {1}, {1})}}),
                {floats({static_cast<float>(i)})}));
  folder.write("pytorch_model.bin.index.json",
               R"({"weight_map":{"b":"pytorch_model-2.bin","a":"pytorch_model-1.bin"}})");
  const Checkpoint c = Checkpoint::open(folder.path());
  EXPECT_EQ(c.format(), CheckpointFormat::pytorch);
  EXPECT_EQ(names(c), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(elements(c, "a"), "float32[1] 1");
  EXPECT_EQ(elements(c, "b"), "float32[1] 2");
  EXPECT_EQ(c.files().size(), 2u);
}

TEST(Directories, HaveAnOrder) {
  const TempDirectory folder;
  EXPECT_EQ(code_of([&] { Checkpoint::open(folder.path()); }), Code::file_not_found);
  EXPECT_EQ(code_of([&] { Checkpoint::open(folder / "absent"); }), Code::file_not_found);
  folder.write(
      "pytorch_model.bin",
      pytorch(dictionary({{"w", tensor(storage("FloatStorage", "0", 1), 0, {1}, {1})}}), {floats({1})}));
  EXPECT_EQ(Checkpoint::open(folder.path()).format(), CheckpointFormat::pytorch);
  folder.write("model.safetensors", safetensors("{}"));
  EXPECT_EQ(Checkpoint::open(folder.path()).format(), CheckpointFormat::safetensors);
}

TEST(Numpy, ArchivesStoredAndCompressed) {
  const Checkpoint stored = Checkpoint::open(recorded / "stored.npz");
  const Checkpoint compressed = Checkpoint::open(recorded / "compressed.npz");
  for (const Checkpoint& c : {stored, compressed}) {
    EXPECT_EQ(c.format(), CheckpointFormat::npz);
    EXPECT_EQ(elements(c, "few"), "float32[2] 1.5 -2");
    EXPECT_EQ(elements(c, "fortran"), "int32[2, 3] 0 1 2 3 4 5");
    EXPECT_EQ(elements(c, "big_endian"), "int32[3] 1 2 3");
    EXPECT_EQ(elements(c, "scalar"), "float64[] 2.5");
    EXPECT_EQ(elements(c, "empty"), "float32[0, 3]");
  }
  EXPECT_FALSE(stored.at("fortran").mapped);
  EXPECT_FALSE(compressed.at("few").mapped);
  const Tensor ramp = compressed.tensor("ramp"), noise = compressed.tensor("noise");
  for (size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(ramp.as<int16_t>()[i], static_cast<int16_t>(i));
    ASSERT_EQ(noise.as<uint8_t>()[i], i * i * 2654435761 % 4294967291 % 251);
  }
  const Tensor zeros = compressed.tensor("zeros");
  for (double v : zeros.as<double>()) ASSERT_EQ(v, 0.0);
}

TEST(Numpy, OneArrayIsNamedAfterItsFile) {
  const TempDirectory folder;
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
  header.resize(118, ' ');
  const std::string bytes = std::string("\x93NUMPY\1\0", 8) + little(118, 2) + header + floats({1, 2});
  const Checkpoint c = Checkpoint::open(folder.write("wte.npy", bytes));
  EXPECT_TRUE(c.at("wte").mapped);
  EXPECT_EQ(elements(c, "wte"), "float32[2] 1 2");
  EXPECT_EQ(elements(Checkpoint::open(folder.write("large.npz", zip({{"wte.npy", bytes}}, true))), "wte"),
            "float32[2] 1 2");
}

TEST(PyTorch, AStateDict) {
  const Checkpoint c = Checkpoint::open(recorded / "state_dict.pt");
  EXPECT_EQ(names(c), (std::vector<std::string>{"positions", "embed.weight", "norm.weight", "norm.bias",
                                                "head.weight"}));
  EXPECT_EQ(elements(c, "positions"), "int64[1, 6] 0 1 2 3 4 5");
  EXPECT_EQ(describe(c.tensor("embed.weight")), "float32[5, 4]");
  EXPECT_EQ(c.tensor("embed.weight").as<float>()[19], 19.0f / 8);
  EXPECT_TRUE(c.at("embed.weight").mapped);
  EXPECT_EQ(c.tied(), (std::vector<std::vector<std::string>>{{"embed.weight", "head.weight"}}));
  EXPECT_EQ(c.tensor("embed.weight").data(), c.tensor("head.weight").data());
}

TEST(PyTorch, KindsAndViews) {
  for (const char* file : {"kinds.pt", "kinds_protocol4.pt"}) {
    SCOPED_TRACE(file);
    const Checkpoint c = Checkpoint::open(recorded / file);
    EXPECT_EQ(c.tensors().size(), 21u);
    for (const auto& [name, want] : std::vector<std::pair<std::string, std::string>>{
             {"float32", "float32[2, 3] 0 1 2 6 7 8"},
             {"float64", "float64[2] 0.5 -1e+300"},
             {"float16", "float16[3] 1.5 -2 65504"},
             {"int64", "int64[1, 2] 1 -4611686018427387904"},
             {"int32", "int32[2] 7 -7"},
             {"int16", "int16[2] 300 -300"},
             {"int8", "int8[2] -128 127"},
             {"uint8", "uint8[2] 0 255"},
             {"bool", "bool[3] true false true"},
             {"complex64", "complex64[1] 1+2i"},
             {"scalar", "float32[] 2.5"},
             {"empty", "float32[0, 3]"},
             {"views.transposed",
              "float32[6, 4] 0 6 12 18 1 7 13 19 2 8 14 20 3 9 15 21 4 10 16 22 5 11 17 23"},
             {"views.columns", "float32[4, 2] 1 3 7 9 13 15 19 21"},
             {"views.row", "float32[6] 12 13 14 15 16 17"},
             {"views.expanded", "float32[2, 3] 0 0 0 0 0 0"},
             {"parameter", "float32[2] 1 1"},
             {"list.0", "float32[1] 1"},
             {"list.1.inner", "float32[1] 2"}})
      EXPECT_EQ(elements(c, name), want);
    EXPECT_EQ(c.tensor("bfloat16").as<BFloat16>()[0].bits, 0x3fc0);
    EXPECT_TRUE(c.at("views.row").mapped);
    EXPECT_FALSE(c.at("views.transposed").mapped);
    EXPECT_TRUE(c.tied().empty());
  }
}

TEST(PyTorch, ByteStoragesOfNewTypes) {
  const std::string v3 =
      global("torch._utils", "_rebuild_tensor_v3") +
      tuple({tuple({text("storage"), global("torch.storage", "UntypedStorage"), text("0"), text("cpu"),
                    integer(4)}) +
                 "Q",
             integer(1), tuple({integer(3)}), tuple({integer(1)}), "\x89",
             global("collections", "OrderedDict") + ")R", global("torch", "float8_e4m3fn")}) +
      "R";
  const TempDirectory folder;
  const Checkpoint c =
      Checkpoint::open(folder.write("f8.pt", pytorch(dictionary({{"w", v3}}), {"\x30\x38\x40\x48"})));
  EXPECT_EQ(elements(c, "w"), "float8e4m3fn[3] 1 2 4");
}

TEST(Names, AreFoundOrSuggested) {
  const Checkpoint c = Checkpoint::open(recorded / "state_dict.pt");
  EXPECT_TRUE(c.contains("norm.bias"));
  EXPECT_FALSE(c.contains("norm.bais"));
  const auto wrong = [&] { c.tensor("norm.bais"); };
  EXPECT_EQ(code_of(wrong), Code::bad_argument);
  EXPECT_NE(sentence_of(wrong).find("'norm.bias'"), std::string::npos) << sentence_of(wrong);
}

TEST(Duplicates, AreFoundByTheirBytes) {
  const TempDirectory folder;
  const std::string header = "{" + entry("a", "F32", "2", 0, 8) + "," + entry("b", "F32", "2", 8, 16) + "," +
                             entry("c", "F32", "2", 16, 24) + "," + entry("d", "I32", "2", 24, 32) + "}";
  const Checkpoint c =
      Checkpoint::open(folder.write("m.safetensors", safetensors(header, floats({1, 2, 3, 4, 1, 2, 1, 2}))));
  EXPECT_TRUE(c.tied().empty());
  EXPECT_EQ(c.duplicates(), (std::vector<std::vector<std::string>>{{"a", "c"}}));
}

TEST(Shared, CheckpointsOfOthers) {
  LATHE_NEEDS_SHARED(shared);
  size_t read = 0;
  for (const auto& file : std::filesystem::recursive_directory_iterator(shared / "models")) {
    if (file.path().extension() != ".safetensors") continue;
    const Checkpoint c = Checkpoint::open(file.path());
    EXPECT_FALSE(c.tensors().empty()) << file.path();
    for (const CheckpointTensor& t : c.tensors()) {
      const auto s = statistics(c.tensor(t.name));
      ASSERT_TRUE(s) << t.name;
      EXPECT_EQ(s->nans, 0) << t.name;
    }
    ++read;
  }
  EXPECT_GE(read, 1u);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
