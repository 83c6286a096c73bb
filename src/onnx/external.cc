// External data: opened once, beneath the model's directory, through no links; every claim checked against
// the open file.
#include "onnx/external.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/file.h"

namespace lathe::onnx {
namespace {

[[noreturn]] void refuse(const TensorProto& p, Code code, std::string expected, std::string got,
                         std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.stage = "external data";
  d.node = "tensor " + p.name.value_or("");
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  throw Error(std::move(d));
}

struct Reference {
  std::string location;
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};

uint64_t number(const TensorProto& p, std::string_view key, const std::string& text) {
  uint64_t v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || v > INT64_MAX)
    refuse(p, Code::external_bad_range, std::string(key) + " as a number below 2^63", "'" + text + "'",
           "write the number of bytes");
  return v;
}

Reference parse_reference(const TensorProto& p) {
  static constexpr std::string_view known[] = {"location", "offset", "length", "checksum", "basepath"};
  Reference r;
  std::vector<std::string> seen;
  for (const StringStringEntryProto& e : p.external_data) {
    const std::string key = e.key.value_or(""), value = e.value.value_or("");
    if (std::find(std::begin(known), std::end(known), key) == std::end(known))
      refuse(p, Code::external_bad_key, "one of location, offset, length, checksum", "'" + key + "'",
             "remove the entry");
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      refuse(p, Code::external_bad_key, "each key once", "'" + key + "' twice", "keep one of them");
    seen.push_back(key);
    if (key == "location") r.location = value;
    if (key == "offset") r.offset = number(p, key, value);
    if (key == "length") r.length = number(p, key, value);
  }
  return r;
}

std::vector<std::string> safe_components(const TensorProto& p, const std::string& location) {
  auto bad = [&](std::string got) {
    refuse(p, Code::external_bad_path, "a relative path beneath the model's directory", std::move(got),
           "store the data beside the model");
  };
  if (location.empty()) bad("an empty one");
  if (location.find('\0') != std::string::npos) bad("one with a NUL byte");
  if (location.starts_with("*/")) bad("an address in somebody's memory, '" + location + "'");
  if (location[0] == '/' || location.find('\\') != std::string::npos ||
      (location.size() > 1 && location[1] == ':'))
    bad("'" + location + "'");
  std::vector<std::string> parts;
  for (size_t at = 0; at <= location.size();) {
    const size_t slash = std::min(location.find('/', at), location.size());
    std::string part = location.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") bad("'" + location + "'");
    parts.push_back(std::move(part));
  }
  if (parts.empty()) bad("'" + location + "'");
  return parts;
}

bool beneath(const std::filesystem::path& file, const std::vector<std::filesystem::path>& roots) {
  std::error_code failed;
  const auto real = std::filesystem::canonical(file, failed);
  if (failed) return false;
  for (const auto& root : roots) {
    const auto base = std::filesystem::canonical(root, failed);
    if (!failed && std::mismatch(base.begin(), base.end(), real.begin(), real.end()).first == base.end())
      return true;
  }
  return false;
}

/// Walks down from the model's directory, a component at a time, following no links.
File open_beneath(const TensorProto& p, const Model& m, const std::vector<std::string>& parts) {
  const std::string shown = [&] {
    std::string s;
    for (const std::string& part : parts) s += (s.empty() ? "" : "/") + part;
    return s;
  }();
  const std::filesystem::path directory = m.directory.empty() ? "." : m.directory;
  const std::filesystem::path whole = directory / shown;
  const bool links_allowed = !m.options.link_roots.empty() && beneath(whole, m.options.link_roots);
  File f;
  if (links_allowed) {
    f = File(
        ::open(std::filesystem::canonical(whole).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW));
  } else {
    File at(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!at) refuse(p, Code::external_missing, "the model's directory", directory.string(), "check the path");
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool last = i + 1 == parts.size();
      File next(::openat(at.get(), parts[i].c_str(),
                         O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | (last ? 0 : O_DIRECTORY)));
      if (!next) {
        const int error = errno;
        struct stat link;
        if (::fstatat(at.get(), parts[i].c_str(), &link, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(link.st_mode))
          refuse(p, Code::external_link, "a file that is no link", "a symbolic link, '" + shown + "'",
                 "copy the file, or name the directory in LoadOptions::link_roots");
        if (error == ENXIO)
          refuse(p, Code::external_not_regular, "a regular file", "'" + shown + "', a socket or device",
                 "store the data in a file");
        refuse(p, Code::external_missing, "the file '" + shown + "' beside the model", std::strerror(error),
               "fetch the model's data file too");
      }
      at = std::move(next);
    }
    f = std::move(at);
  }
  struct stat s;
  if (!f || ::fstat(f.get(), &s) != 0)
    refuse(p, Code::external_missing, "a file that can be opened", "'" + shown + "'",
           "check its permissions");
  if (!S_ISREG(s.st_mode))
    refuse(p, Code::external_not_regular, "a regular file", "'" + shown + "', something else",
           "store the data in a file");
  if (s.st_nlink > 1 && !links_allowed)
    refuse(p, Code::external_link, "a file with one name", "'" + shown + "', a hard link",
           "copy the file, or name the directory in LoadOptions::link_roots");
  return f;
}

}  // namespace

ExternalFile Model::ExternalFiles::open(const std::string& location,
                                        const std::function<ExternalFile()>& how) {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(location);
  return at != open_.end() ? at->second : open_.emplace(location, how()).first->second;
}

Bytes open_external(const TensorProto& p, const Model* where, uint64_t size) {
  if (!where || where->directory.empty())
    refuse(p, Code::external_missing, "data inside the model", "external data, and no directory to look in",
           "load the model from its file, or set Model::directory");
  const Reference r = parse_reference(p);
  const auto parts = safe_components(p, r.location);
  const ExternalFile file = where->external_files().open(r.location, [&] {
    const File f = open_beneath(p, *where, parts);
    const MappedBytes m = where->options.untrusted ? read_file(f, r.location) : map_file(f, r.location);
    return ExternalFile{m.bytes, m.owner};
  });
  const uint64_t length = r.length.value_or(size);
  if (length != size)
    refuse(p, Code::external_bad_range,
           "a length of " + std::to_string(size) + " bytes, by its type and dims", std::to_string(length),
           "correct the length");
  if (r.offset > file.bytes.size() || length > file.bytes.size() - r.offset)
    refuse(p, Code::external_bad_range,
           "a range within the " + std::to_string(file.bytes.size()) + " bytes of '" + r.location + "'",
           "offset " + std::to_string(r.offset) + ", length " + std::to_string(length),
           "the data file is truncated, or the offset is wrong");
  return Bytes(file.bytes.substr(r.offset, length), file.owner);
}

}  // namespace lathe::onnx
