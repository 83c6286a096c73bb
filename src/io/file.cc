#include "io/file.h"

#include "base/file.h"

namespace lathe {

std::string read_file(const std::filesystem::path& path) {
  return std::string(read_file(open_regular(path), path)->view());
}

void write_file(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  AtomicFile out(path);
  for (std::string_view p : pieces) out.write(p);
  out.commit();
}

}  // namespace lathe
