// Repeats the beginning of a piece of memory.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace lathe::cpu {

/// Fills `bytes` with copies of the first `period`: each copy is twice as long as the one before.
inline void repeat(void* data, int64_t period, int64_t bytes) {
  auto* const to = static_cast<std::byte*>(data);
  for (int64_t done = period; done < bytes; done *= 2)
    std::memcpy(to + done, to, static_cast<size_t>(std::min(done, bytes - done)));
}

}  // namespace lathe::cpu
