// Reads zip archives (PKWARE's APPNOTE 6.3, zip64 too), which NumPy and PyTorch write.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace lathe {

/// A member of an archive. The bytes it has in the file are inside the file and no other member's.
struct ZipMember {
  std::string name;
  bool deflated = false;  // else stored as it is
  uint64_t offset = 0;    // of its first byte in the file
  uint64_t stored = 0;    // bytes in the file
  uint64_t size = 0;      // bytes that they stand for; at most what DEFLATE can make of `stored`
  uint32_t crc = 0;
};

/// Returns the members in the order of the archive's directory. Throws wire_malformed, wire_too_large (more
/// than half a million members), graph_duplicate_name, not_supported (encryption, compression other than
/// DEFLATE).
std::vector<ZipMember> read_zip(const FileBytes& file);

/// Returns the first `count` bytes of a member. Throws wire_malformed if they are damaged.
std::string member_prefix(const FileBytes& file, const ZipMember& m, uint64_t count);
/// Reads all bytes into `out` of m.size bytes. The checksum of a deflated member is verified; that of a
/// stored one is not (PyTorch may leave it out). Throws wire_malformed.
void read_member(const FileBytes& file, const ZipMember& m, char* out);

}  // namespace lathe
