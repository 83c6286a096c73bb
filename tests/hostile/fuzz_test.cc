// Runs the targets of fuzzing on its findings (tests/fuzz/findings), and on some of the inputs that reach
// most of the code (tests/fuzz/corpus).
//   LATHE_DRAWN=10000      how many graphs are drawn
//   LATHE_DRAWN_SEED=2     other ones
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "fuzz/targets.h"
#include "io/file.h"

namespace lathe::fuzz {
namespace LATHE_TEST_FILE {

class Fed : public ::testing::TestWithParam<Target> {};

TEST_P(Fed, Returns) {
  size_t fed = 0;
  for (const char* folder : {"findings", "corpus"}) {
    const auto of = std::filesystem::path(LATHE_SOURCE_DIR) / "tests" / "fuzz" / folder / GetParam().name;
    if (!std::filesystem::exists(of)) continue;
    for (const auto& entry : std::filesystem::directory_iterator(of)) {
      SCOPED_TRACE(entry.path());
      const std::string bytes = read_file(entry.path());
      GetParam().feed({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
      ++fed;
    }
  }
  EXPECT_GT(fed, 0u);
}
INSTANTIATE_TEST_SUITE_P(Fuzz, Fed, ::testing::ValuesIn(targets),
                         [](const auto& info) { return std::string(info.param.name); });

int number(const char* variable, int otherwise) {
  const char* said = std::getenv(variable);
  return said ? std::atoi(said) : otherwise;
}

/// Calls f with as many strings of bytes as there are to be drawn; returns how many.
int for_drawn(auto&& f) {
  const int drawn = number("LATHE_DRAWN", 300), seed = number("LATHE_DRAWN_SEED", 1);
  std::mt19937 random(static_cast<unsigned>(seed));
  std::vector<uint8_t> bytes(1024);
  for (int i = 0; i < drawn; ++i) {
    for (uint8_t& b : bytes) b = static_cast<uint8_t>(random());
    f(Bytes(bytes));
  }
  return drawn;
}

/// Fuzzing finds little behind the first refusal.
TEST(Drawn, MostGraphsRun) {
  int ran = 0;
  const int drawn = for_drawn([&](Bytes bytes) { ran += runs(bytes); });
  std::printf("%d of %d graphs run\n", ran, drawn);
  EXPECT_GT(ran, drawn / 2);
}

TEST(Drawn, AreTheSameAtOtherOpsets) { for_drawn(convert); }

TEST(Drawn, AreTheSameAtEveryLevel) { for_drawn(levels); }

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::fuzz
