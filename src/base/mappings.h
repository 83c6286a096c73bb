// Finds the file behind mapped memory, to copy from one file to another.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

namespace lathe {

/// The file and the offset of mapped bytes. The descriptor is valid as long as the mapping, which the caller
/// has to keep.
struct MappedRange {
  int descriptor;
  off_t offset;
};
/// Returns the place of any part of what map_file or a ScratchFile has mapped. Thread-safe.
std::optional<MappedRange> mapped_range(std::string_view bytes);
/// The same for a whole mapping, and not for a part of one.
std::optional<MappedRange> mapped_whole(std::string_view bytes);

/// Starts writing the new part of a large file to the disk, and drops pages some way behind from memory:
/// nobody reads so much again at once.
void write_behind(int descriptor, off_t at, off_t bytes);

}  // namespace lathe
