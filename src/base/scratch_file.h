// A place for what is made once and read once, and may be larger than memory: a file without a name.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

namespace lathe {

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

 private:
  class Opened;
  std::shared_ptr<Opened> file_;
  size_t begin_ = 0, bytes_, written_ = 0;
};

}  // namespace lathe
