#include "lathe/io.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "lathe/error.h"
#include "support/error_code.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using lathe::testing::code_of;

std::string npy(const std::string& header, const std::string& data) {
  std::string h = header + "\n";
  std::string s("\x93NUMPY\x01\x00", 8);
  s += static_cast<char>(h.size() & 255);
  s += static_cast<char>(h.size() >> 8);
  return s + h + data;
}

TEST(Npy, WritesWhatItReads) {
  const auto path = std::filesystem::temp_directory_path() / "lathe_io_test.npy";
  const Tensor t = Tensor::from<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  save_npy(path, t);
  const Tensor u = load_npy(path);
  EXPECT_EQ(describe(u), "float32[2, 3]");
  EXPECT_EQ(u.as<float>()[5], 6);
  std::filesystem::remove(path);
}

TEST(Npy, FortranOrderBigEndianAndStrings) {
  const std::string fortran = npy("{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }",
                                  std::string("\0\1\0\4\0\2\0\5\0\3\0\6", 12));
  const Tensor t = parse_npy(fortran);
  const std::vector<int16_t> expected{1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), t.as<int16_t>().begin()));
  const Tensor s = parse_npy(npy("{'descr': '<U2', 'fortran_order': False, 'shape': (2,), }",
                                 std::string("a\0\0\0\xe9\0\0\0b\0\0\0\0\0\0\0", 16)));
  EXPECT_EQ(s.as<std::string>()[0], "aé");
  EXPECT_EQ(s.as<std::string>()[1], "b");
}

TEST(Npy, HostileFilesAreErrors) {
  EXPECT_EQ(code_of([] { parse_npy("nonsense"); }), Code::npy_malformed);
  EXPECT_EQ(
      code_of([] { parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9,), }", "1234")); }),
      Code::npy_malformed);
  EXPECT_EQ(
      code_of([] {
        parse_npy(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 8), }", ""));
      }),
      Code::tensor_bad_shape);
  EXPECT_EQ(
      code_of([] { parse_npy(npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", "12345678")); }),
      Code::npy_malformed);
  EXPECT_EQ(code_of([] { load_npy("/nonexistent.npy"); }), Code::file_not_found);
  EXPECT_EQ(code_of([] { load_npy("/tmp"); }), Code::file_not_regular);
  const std::string whole = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }", "12345678");
  for (size_t n = 0; n < whole.size(); ++n)
    EXPECT_NE(code_of([&] { parse_npy(std::string_view(whole).substr(0, n)); }), Code::none) << n;
}

TEST(ValueJson, AllKindsComeBack) {
  for (
      const std::string text : {
          R"({"type":"tensor","dtype":"string","shape":[2],"data":["a","ü"]})",
          R"({"type":"sequence","items":[{"type":"tensor","dtype":"int64","shape":[2],"data":[1,-2]}]})",
          R"({"type":"map","key":"int64","value":"float32","keys":[0,1],"values":[0.5,0.25]})",
          R"({"type":"tensor","dtype":"float32","shape":[3],"data":["nan","inf",1.0]})",
          R"({"type":"tensor","dtype":"complex64","shape":[2],"data":[[1.0,-2.5],[0.0,"inf"]]})",
          R"({"type":"sparse","shape":[3,4],"values":{"type":"tensor","dtype":"float32","shape":[2],"data":[1.0,2.0]},"indices":{"type":"tensor","dtype":"int64","shape":[2,2],"data":[0,1,2,3]}})",
          R"({"type":"none"})",
      })
    EXPECT_EQ(to_json(parse_value_json(text)), text);
}

TEST(ValueJson, HostileTextIsAnError) {
  for (
      const std::string text :
      {"", "[", "[]", "{}", R"({"type":"tensor","dtype":"float32","shape":[2],"data":[1]})",
       R"({"type":"tensor","dtype":"floaty","shape":[],"data":[1]})",
       R"({"type":"tensor","dtype":"float32","shape":[-1],"data":[]})",
       R"({"type":"tensor","dtype":"complex64","shape":[1],"data":[[1]]})", R"({"type":"sparse"})",
       R"({"type":"sparse","shape":[2],"values":{"type":"tensor","dtype":"float32","shape":[1],"data":[1]},"indices":{"type":"tensor","dtype":"int64","shape":[1],"data":[2]}})"})
    EXPECT_NE(code_of([&] { parse_value_json(text); }), Code::none) << text;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "[";
  EXPECT_EQ(code_of([&] { parse_value_json(deep); }), Code::json_malformed);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
