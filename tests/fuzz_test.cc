// What fuzzing has found (tests/fuzz/findings), and a few of the inputs by which it gets everywhere
// (tests/fuzz/corpus), fed to its targets once more.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "fuzz/targets.h"
#include "io/file.h"

namespace lathe::fuzz {
namespace {

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

}  // namespace
}  // namespace lathe::fuzz
