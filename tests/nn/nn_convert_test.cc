// Weights in another type: small ones in memory, large ones on the disk, with the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "base/scratch_file.h"
#include "lathe/network.h"
#include "lathe/values.h"
#include "nn/convert.h"
#include "onnx/save.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe::nn {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

/// Rows of random numbers but for one of zeros, which is a hole on the disk.
Tensor rows_of(DataType type, int64_t rows, int64_t width) {
  Tensor t = random_tensor(type, {rows, width}, 7);
  const size_t row = t.bytes() / static_cast<size_t>(rows);
  std::memset(static_cast<char*>(t.data()) + row, 0, row);
  return t;
}
std::string bytes_of(const Tensor& t) { return {static_cast<const char*>(t.data()), t.bytes()}; }

TEST(Convert, LargeAndSmallAlike) {
  constexpr int64_t rows = 4, width = (1 << 20) + 3;
  for (const auto& [from, to] : {std::pair{DataType::bfloat16, DataType::float32},
                                 {DataType::float32, DataType::float16},
                                 {DataType::float64, DataType::bfloat16}}) {
    const Tensor given = rows_of(from, rows, width);
    const Tensor all = converted(given, to), again = converted(given, to);  // both alive, in one file
    ASSERT_EQ(all.shape(), given.shape());
    ASSERT_EQ(all.type(), to);
    std::string small;
    constexpr int64_t part = 1 << 16;
    const size_t element = static_cast<size_t>(bits_of(from)) / 8;
    for (int64_t at = 0; at < rows * width; at += part) {
      const int64_t count = std::min(part, rows * width - at);
      const Tensor piece = Tensor::view(
          from, {count},
          static_cast<char*>(const_cast<Tensor&>(given).data()) + static_cast<size_t>(at) * element);
      small += bytes_of(converted(piece, to));
    }
    EXPECT_TRUE(bytes_of(all) == small);
    EXPECT_TRUE(bytes_of(again) == small);
  }
}

TEST(Convert, InMemoryWhereTheDiskIsNotThere) {
  const char* was = std::getenv("TMPDIR");
  const std::string before = was ? was : "";
  ::setenv("TMPDIR", "/nowhere/at/all", 1);
  ScratchFile none(1 << 20);
  EXPECT_FALSE(none.write(std::string(1 << 20, 'x')));
  EXPECT_EQ(none.map(), nullptr);
  const Tensor given = rows_of(DataType::bfloat16, 2, 1 << 20);
  const std::string in_memory = bytes_of(converted(given, DataType::float32));
  was ? ::setenv("TMPDIR", before.c_str(), 1) : ::unsetenv("TMPDIR");
  EXPECT_TRUE(in_memory == bytes_of(converted(given, DataType::float32)));
}

/// All beside the model.
onnx::SaveOptions outside() {
  onnx::SaveOptions o;
  o.data = onnx::SaveOptions::Data::external;
  o.external_threshold = 0;
  return o;
}
/// A model of constants, which are outputs too.
onnx::Model model_of(const std::vector<std::pair<std::string, Tensor>>& weights) {
  Network n;
  for (const auto& [name, t] : weights) n.mark_output(n.add_identity(n.add_constant(t, name)), name + "_out");
  return n.to_model();
}
float first_in(const std::filesystem::path& model, const std::string& name) {
  const onnx::Model m = onnx::Model::load(model);
  for (const onnx::TensorProto& t : m.proto.graph->initializer)
    if (t.name == name) return onnx::to_tensor(t, &m).as<float>()[0];
  ADD_FAILURE() << name;
  return 0;
}

TEST(Convert, WhatIsOnTheDiskAlreadyBecomesTheFileOfWeights) {
  const TempDirectory folder;
  std::optional<ScratchFolder> near(folder.path());
  const Tensor given = rows_of(DataType::bfloat16, 2, 1 << 20);
  Tensor a = converted(given, DataType::float32), b = converted(given, DataType::float32);
  near.reset();
  const Tensor small = random_tensor(DataType::float32, {100}, 5);
  const onnx::Model model = model_of({{"a", a}, {"small", small}, {"b", b}, {"a_too", a}});
  const float was = a.as<float>()[0], last = small.as<float>()[0];
  uint64_t told = 0;
  const auto save = [&](const std::string& name) {
    told = 0;
    onnx::save(
        model, folder / name, outside(), [&](uint64_t bytes) { told += bytes; }, true);
    return folder / name;
  };
  const auto taken = save("taken.onnx");
  EXPECT_GE(told, 3 * a.bytes() + small.bytes());
  EXPECT_LT(std::filesystem::file_size(folder / "taken.onnx.data"), 2 * a.bytes() + (1 << 18));
  EXPECT_EQ(std::filesystem::status(taken).permissions(),
            std::filesystem::status(folder / "taken.onnx.data").permissions());
  const auto copied = save("copied.onnx");  // it has a name now
  for (const auto& file : {taken, copied}) {
    for (const char* name : {"a", "a_too", "b"}) EXPECT_EQ(first_in(file, name), was) << file << " " << name;
    EXPECT_EQ(first_in(file, "small"), last);
  }
  a.as<float>()[0] = was + 1;  // the same pages: nothing was written twice
  EXPECT_EQ(first_in(taken, "a"), was + 1);
  EXPECT_EQ(first_in(copied, "a"), was);
  // Later tensors are written elsewhere.
  near.emplace(folder.path());
  const Tensor c = converted(given, DataType::float32);
  EXPECT_EQ(bytes_of(c), bytes_of(b));
  EXPECT_EQ(first_in(taken, "b"), b.as<float>()[0]);
}

TEST(Convert, WhatOthersUseIsCopied) {
  const TempDirectory folder;
  const ScratchFolder near(folder.path());
  const Tensor given = rows_of(DataType::bfloat16, 2, 1 << 20);
  Tensor a = converted(given, DataType::float32);
  const Tensor other = converted(given, DataType::float32);
  const float was = a.as<float>()[0];
  onnx::save(model_of({{"a", a}}), folder / "m.onnx", outside(), {}, true);
  a.as<float>()[0] = was + 1;
  EXPECT_EQ(first_in(folder / "m.onnx", "a"), was);
  EXPECT_EQ(other.as<float>()[0], was);
  for (const auto& file : std::filesystem::directory_iterator(folder.path()))
    EXPECT_TRUE(file.path().filename().string().starts_with("m.onnx")) << file.path();
}

TEST(Convert, ElsewhereWhereAFolderTakesNoScratch) {
  const ScratchFolder none("/nowhere/at/all");
  ScratchFile file(3);
  EXPECT_TRUE(file.write("abc"));
  const auto mapped = file.map();
  ASSERT_TRUE(mapped);
  EXPECT_EQ(std::string_view(mapped.get(), 3), "abc");
}

TEST(Convert, OnlyFloats) {
  EXPECT_EQ(code_of([] { converted(Tensor(DataType::int64, {2}), DataType::float32); }), Code::not_supported);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::nn
