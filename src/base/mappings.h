// Where mapped files lie in memory, for what copies from one file to another.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string_view>

namespace lathe {

/// Where in which file bytes lie. The descriptor is good for as long as the mapping is, which is the caller's
/// business.
struct MappedPlace {
  int descriptor;
  off_t offset;
};
/// Of any part of what map_file or a ScratchFile has mapped. Thread-safe.
std::optional<MappedPlace> mapped_place(std::string_view bytes);
/// The same of what was mapped by itself, and not of a part.
std::optional<MappedPlace> mapped_whole(std::string_view bytes);

/// Has what was written of a large file go to the disk, and lets go of it in memory some way behind: nobody
/// reads so much again at once.
void write_behind(int descriptor, off_t at, off_t bytes);

}  // namespace lathe
