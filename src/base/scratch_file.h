// A place for what is made once and read once, and may be larger than memory: a file without a name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string_view>

namespace lathe {

/// While this lives, scratch files that this thread makes lie in `folder`, and not in that for temporary
/// files: a file there can become one of them (AtomicFile::take_over).
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
  /// False where there is no room, or no such file: what was written is of no use then.
  bool write(std::string_view bytes);
  /// All of it; null where a write failed. drop_mapped_pages() may let go of its pages, and the system copies
  /// it into other files. Gone with its last owner.
  std::shared_ptr<char> map();
  /// The size of the file behind a descriptor, in which no more is written from now on. Nothing where it is
  /// no scratch file, or more than so many were ever made in it.
  static std::optional<size_t> give_away(int descriptor, size_t parts);

 private:
  class Opened;
  size_t begin_ = 0;
  std::shared_ptr<Opened> file_;
  size_t bytes_, written_ = 0;
};

}  // namespace lathe
