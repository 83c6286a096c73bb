// Memory in the pages that suit it.
#include "base/pages.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

namespace lathe {
namespace LATHE_TEST_FILE {

/// The VmFlags that /proc/self/smaps has for the mapping that holds `p`.
std::string flags_of(const void* p) {
  const auto at = reinterpret_cast<uintptr_t>(p);
  std::ifstream in("/proc/self/smaps");
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    uintptr_t begin = 0, end = 0;
    char more = 0;
    if (std::sscanf(line.c_str(), "%zx-%zx%c", &begin, &end, &more) == 3)
      inside = begin <= at && at < end;
    else if (inside && line.starts_with("VmFlags:"))
      return line + " ";
  }
  return {};
}

TEST(Pages, LargePiecesBeginAtHugePagesAndAskForThem) {
  constexpr size_t huge = size_t{2} << 20;
  for (const size_t bytes : {huge, 5 * huge + 1}) {
    void* const p = allocate_pages(bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % huge, 0u);
    std::memset(p, 1, bytes);
    const std::string flags = flags_of(p);
    if (!flags.empty() && std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled")) {
      EXPECT_NE(flags.find(" hg "), std::string::npos) << flags;
    }
    std::free(p);
  }
}

TEST(Pages, SmallPiecesBeginAtLines) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{65}, (size_t{2} << 20) - 64}) {
    void* const p = allocate_pages(bytes);
    ASSERT_NE(p, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % 64, 0u);
    std::free(p);
  }
  EXPECT_EQ(allocate_pages(SIZE_MAX), nullptr);
}

TEST(Pages, ZerosTakeNoMemory) {
  const auto zeros = zero_pages(size_t{1} << 40);
  ASSERT_NE(zeros, nullptr);
  EXPECT_EQ(static_cast<const char*>(zeros.get())[size_t{1} << 39], 0);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
