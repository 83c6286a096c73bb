// Weights in another type: small ones in memory, large ones on the disk, with the same bits.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/scratch_file.h"
#include "lathe/values.h"
#include "nn/convert.h"
#include "support/error_code.h"

namespace lathe::nn {
namespace {

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

TEST(Convert, OnlyFloats) {
  EXPECT_EQ(code_of([] { converted(Tensor(DataType::int64, {2}), DataType::float32); }), Code::not_supported);
}

}  // namespace
}  // namespace lathe::nn
