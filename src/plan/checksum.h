// Finds damage: one flipped bit always changes the result. No protection against anybody who means harm.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lathe {

/// Returns a checksum of the bytes. It is as fast as memory.
uint64_t checksum_of(const void* data, size_t bytes);

}  // namespace lathe
