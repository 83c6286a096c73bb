// Rounds sizes to whole cache lines, in which scratch memory is allocated.
#pragma once

#include <cstddef>

namespace lathe::cpu {

inline size_t whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

}  // namespace lathe::cpu
