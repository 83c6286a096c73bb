#include "io/file.h"

#include <fstream>
#include <random>

#include "lathe/error.h"

namespace lathe {
namespace {

Error file_error(Code code, const std::filesystem::path& path, std::string expected, std::string got,
                 std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.stage = "file";
  d.node = path.string();
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  return Error(std::move(d));
}

}  // namespace

std::string read_file(const std::filesystem::path& path) {
  std::error_code failed;
  const auto status = std::filesystem::status(path, failed);
  if (failed || !std::filesystem::exists(status))
    throw file_error(Code::file_not_found, path, "a file", "none of that name", "check the path");
  if (!std::filesystem::is_regular_file(status))
    throw file_error(Code::file_not_regular, path, "a regular file", "something else",
                     "give the path of a file");
  std::ifstream in(path, std::ios::binary);
  std::string bytes(std::filesystem::file_size(path, failed), '\0');
  if (!in || failed || !in.read(bytes.data(), static_cast<std::streamsize>(bytes.size())))
    throw file_error(Code::file_unreadable, path, "a file that can be read", "an error",
                     "check its permissions");
  return bytes;
}

void write_file(const std::filesystem::path& path, std::initializer_list<std::string_view> pieces) {
  std::filesystem::path beside = path;
  beside += "." + std::to_string(std::random_device{}()) + ".tmp";
  std::error_code failed;
  {
    std::ofstream out(beside, std::ios::binary);
    for (std::string_view p : pieces) out.write(p.data(), static_cast<std::streamsize>(p.size()));
    out.close();
    if (out) std::filesystem::rename(beside, path, failed);
    if (out && !failed) return;
  }
  std::filesystem::remove(beside, failed);
  throw file_error(Code::file_write_failed, path, "a place that can be written", "an error",
                   "check the folder and the space left");
}

}  // namespace lathe
