// External data is opened once, beneath the model's directory, through no links; every claim is checked
// against the open file.
#include "onnx/external.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

namespace lathe::onnx {
namespace {

namespace fs = std::filesystem;

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

uint64_t byte_number(const TensorProto& p, std::string_view key, const std::string& text) {
  uint64_t v = 0;
  const auto r = std::from_chars(text.data(), text.data() + text.size(), v);
  if (r.ec != std::errc() || r.ptr != text.data() + text.size() || v > INT64_MAX)
    refuse(p, Code::external_bad_range, std::string(key) + " as a number below 2^63", "'" + text + "'",
           "write the number of bytes");
  return v;
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

/// The end of a path that may lead through links, if it is beneath a directory whose links are trusted.
struct Trusted {
  fs::path root;
  std::vector<std::string> path;
};
std::optional<Trusted> through_links(const fs::path& file, const std::vector<fs::path>& roots) {
  std::error_code failed;
  const fs::path real = fs::canonical(file, failed);
  if (failed) return std::nullopt;
  for (const fs::path& root : roots) {
    const fs::path base = fs::canonical(root, failed);
    if (failed) continue;
    const auto [end, rest] = std::mismatch(base.begin(), base.end(), real.begin(), real.end());
    if (end != base.end() || rest == real.end()) continue;
    return Trusted{base, {rest, real.end()}};
  }
  return std::nullopt;
}

/// Walks down from a directory, a component at a time, without following links, so that the file that is
/// checked is the file that is opened.
File walk(const TensorProto& p, const fs::path& root, const std::vector<std::string>& path,
          const std::string& shown) {
  File at(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!at)
    refuse(p, Code::external_missing, "the directory " + root.string(), std::strerror(errno),
           "check the path");
  for (size_t i = 0; i < path.size(); ++i) {
    const bool last = i + 1 == path.size();
    struct stat s;
    if (::fstatat(at.get(), path[i].c_str(), &s, AT_SYMLINK_NOFOLLOW) == 0) {
      // This only gives better remedies; the open below decides.
      if (S_ISLNK(s.st_mode))
        refuse(p, Code::external_link, "a file that is no link", "'" + shown + "', a symbolic link",
               "copy the file, or name the directory it points to in LoadOptions::link_roots");
      if (last && !S_ISREG(s.st_mode))
        refuse(p, Code::external_not_regular, "a regular file", "'" + shown + "', something else",
               "store the data in a file");
    }
    // O_NONBLOCK: a FIFO would wait for a writer.
    File next(
        ::openat(at.get(), path[i].c_str(),
                 O_CLOEXEC | O_NOFOLLOW | (last ? O_RDONLY | O_NONBLOCK | O_NOCTTY : O_PATH | O_DIRECTORY)));
    if (!next)
      refuse(p, Code::external_missing, "the file '" + shown + "' beneath " + root.string(),
             std::strerror(errno), "fetch the model's data file too");
    at = std::move(next);
  }
  return at;
}

File open_beneath(const TensorProto& p, const Model& m, const ExternalReference& r) {
  const std::string shown = r.location();
  const auto trusted =
      m.options.link_roots.empty() ? std::nullopt : through_links(m.directory / shown, m.options.link_roots);
  File f = trusted ? walk(p, trusted->root, trusted->path, shown) : walk(p, m.directory, r.path, shown);
  struct stat s;
  if (::fstat(f.get(), &s) != 0 || !S_ISREG(s.st_mode))
    refuse(p, Code::external_not_regular, "a regular file", "'" + shown + "', something else",
           "store the data in a file");
  if (s.st_nlink > 1 && !trusted)
    refuse(p, Code::external_link, "a file with one name", "'" + shown + "', a hard link",
           "copy the file, or name the directory in LoadOptions::link_roots");
  return f;
}

}  // namespace

std::shared_ptr<const FileBytes> Model::ExternalFiles::find(const std::string& name, const Opener& open) {
  const std::lock_guard lock(mutex_);
  const auto at = open_.find(name);
  return at != open_.end() ? at->second.file : open_.emplace(name, Open{open(), {}}).first->second.file;
}

std::optional<std::pair<uint64_t, uint64_t>> Model::ExternalFiles::claim(const std::string& name,
                                                                         uint64_t offset, uint64_t length) {
  if (length == 0) return std::nullopt;
  const std::lock_guard lock(mutex_);
  auto& lengths = open_.at(name).lengths;
  const auto next = lengths.lower_bound(offset);
  if (next != lengths.end()) {
    if (next->first == offset && next->second == length) return std::nullopt;
    if (next->first < offset + length) return *next;
  }
  if (next != lengths.begin())
    if (const auto before = std::prev(next); before->first + before->second > offset) return *before;
  lengths.emplace_hint(next, offset, length);
  return std::nullopt;
}

std::vector<std::shared_ptr<const FileBytes>> Model::ExternalFiles::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<const FileBytes>> files;
  for (const auto& [name, open] : open_) files.push_back(open.file);
  return files;
}

std::string ExternalReference::location() const {
  std::string s;
  for (const std::string& part : path) s += (s.empty() ? "" : "/") + part;
  return s;
}

ExternalReference parse_reference(const TensorProto& p) {
  // basepath is written by the onnx package's helpers; it would lead out of the directory and is not
  // followed.
  static constexpr std::string_view known[] = {"location", "offset", "length", "checksum", "basepath"};
  ExternalReference r;
  std::string location;
  std::vector<std::string> seen;
  for (const StringStringEntryProto& e : p.external_data) {
    const std::string key = e.key.value_or(""), value = e.value.value_or("");
    if (std::find(std::begin(known), std::end(known), key) == std::end(known))
      refuse(p, Code::external_bad_key, "one of location, offset, length, checksum", "'" + key + "'",
             "remove the entry");
    if (std::find(seen.begin(), seen.end(), key) != seen.end())
      refuse(p, Code::external_bad_key, "each key once", "'" + key + "' twice", "keep one of them");
    seen.push_back(key);
    if (key == "location") location = value;
    if (key == "offset") r.offset = byte_number(p, key, value);
    if (key == "length") r.length = byte_number(p, key, value);
  }
  r.path = safe_components(p, location);
  return r;
}

Bytes open_external(const TensorProto& p, const Model* where, uint64_t size) {
  const ExternalReference r = parse_reference(p);
  if (!where || where->directory.empty())
    refuse(p, Code::external_missing, "data inside the model", "external data, and no directory to look in",
           "load the model from its file, or set Model::directory");
  if (!where->options.external_data)
    refuse(p, Code::external_missing, "external data to be wanted", "LoadOptions::external_data = false",
           "load the model with its external data");
  const std::string location = r.location();
  const std::string name = (where->directory / location).string();
  auto& files = where->external_files();
  const auto file = files.find(name, [&] {
    File f = open_beneath(p, *where, r);
    return where->options.untrusted ? read_file(std::move(f), name) : map_file(std::move(f), name);
  });
  if (r.length && *r.length != size)
    refuse(p, Code::external_bad_range,
           "a length of " + std::to_string(size) + " bytes, by its type and dims", std::to_string(*r.length),
           "correct the length");
  const uint64_t all = file->view().size();
  if (r.offset > all || size > all - r.offset)
    refuse(p, Code::external_bad_range,
           "a range within the " + std::to_string(all) + " bytes of '" + location + "'",
           "offset " + std::to_string(r.offset) + ", length " + std::to_string(size),
           "the data file is truncated, or the offset is wrong");
  if (const auto other = files.claim(name, r.offset, size))
    refuse(p, Code::external_bad_range, "tensors that share all of their bytes or none",
           "bytes " + std::to_string(r.offset) + "+" + std::to_string(size) + " and " +
               std::to_string(other->first) + "+" + std::to_string(other->second) + " of '" + location + "'",
           "correct the offsets");
  return Bytes(file->view().substr(r.offset, size), file);
}

}  // namespace lathe::onnx
