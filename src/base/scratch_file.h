// A file without a name, for data that are written once, read once, and may be larger than memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace lathe {

/// While this exists, scratch files of this thread are made in `folder`, and not in that for temporary files,
/// so that they can become files there (AtomicFile::take_over).
class ScratchFolder {
 public:
  explicit ScratchFolder(std::filesystem::path folder);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

 private:
  std::filesystem::path before_;
};

/// Written from beginning to end, then mapped. All that are alive share one file in the folder for temporary
/// files. Several may be used at once, each by one thread.
class ScratchFile {
 public:
  explicit ScratchFile(size_t bytes);
  /// Returns false if there is no space, or no such file: bytes that were written are then of no use.
  bool write(std::string_view bytes);
  /// Maps all of it; null if a write failed. drop_mapped_pages() may release its pages, and the system copies
  /// it into other files. It is unmapped with its last owner.
  std::shared_ptr<char> map();
  /// Returns the size of the file behind a descriptor, in which no more is written from now on. Nothing if it
  /// is no scratch file, or if more than `parts` were ever made in it.
  static std::optional<size_t> give_away(int descriptor, size_t parts);

 private:
  class Opened;
  size_t begin_ = 0;
  std::shared_ptr<Opened> file_;
  size_t bytes_, written_ = 0;
};

}  // namespace lathe
