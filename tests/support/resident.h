// The resident memory of this process.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <fstream>

namespace lathe::testing {

/// Resident bytes.
inline size_t resident() {
  std::ifstream in("/proc/self/statm");
  size_t all = 0, pages = 0;
  in >> all >> pages;
  return pages * static_cast<size_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace lathe::testing
