#include "io/file.h"

#include "base/file.h"
#include "lathe/io.h"

namespace lathe {

std::string read_file(const std::filesystem::path& path) {
  return std::string(read_file(open_regular(path), path)->view());
}

void write_file(const std::filesystem::path& path, std::span<const std::string_view> pieces) {
  AtomicFile out(path);
  for (std::string_view p : pieces) out.write(p);
  out.commit();
}

void save_text(const std::filesystem::path& path, std::string_view text) { write_file(path, {&text, 1}); }

}  // namespace lathe
