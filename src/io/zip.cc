#include "io/zip.h"

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "io/inflate.h"
#include "io/stored_tensor.h"

namespace lathe {
namespace {

constexpr uint64_t max_members = uint64_t{1} << 19;
constexpr size_t end_size = 22, end64_size = 56, locator_size = 20, entry_size = 46, local_size = 30;

[[noreturn]] void malformed(const FileBytes& file, std::string expected, std::string got) {
  throw checkpoint_error(Code::wire_malformed, file.path(), {}, std::move(expected), std::move(got));
}

/// Little-endian numbers of the archive; asking outside of it is an error.
class Reader {
 public:
  explicit Reader(const FileBytes& file) : file_(file), bytes_(file.view()) {}
  uint64_t number(uint64_t at, unsigned width) const {
    const std::string_view b = bytes(at, width);
    uint64_t v = 0;
    for (unsigned i = 0; i < width; ++i) v |= uint64_t{static_cast<unsigned char>(b[i])} << (8 * i);
    return v;
  }
  std::string_view bytes(uint64_t at, uint64_t count) const {
    if (at > bytes_.size() || count > bytes_.size() - at)
      malformed(file_, "a zip archive whose parts lie inside the file",
                "one at " + std::to_string(at) + " of " + std::to_string(bytes_.size()) + " bytes");
    return bytes_.substr(at, count);
  }
  bool has(uint64_t at, std::string_view signature) const {
    return at <= bytes_.size() && bytes_.substr(at, signature.size()) == signature;
  }
  uint64_t size() const { return bytes_.size(); }
  const FileBytes& file() const { return file_; }

 private:
  const FileBytes& file_;
  std::string_view bytes_;
};

struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

Directory find_directory(const Reader& r) {
  constexpr uint64_t longest_comment = 65535;
  uint64_t at = r.size() < end_size ? 0 : r.size() - end_size;
  const uint64_t last = at > longest_comment ? at - longest_comment : 0;
  while (!r.has(at, {"PK\5\6", 4})) {
    if (at == last) malformed(r.file(), "the end record of a zip archive", "none: the file is cut off");
    --at;
  }
  Directory d{r.number(at + 16, 4), r.number(at + 12, 4), r.number(at + 10, 2)};
  if (at >= locator_size && r.has(at - locator_size, {"PK\6\7", 4})) {
    const uint64_t end64 = r.number(at - locator_size + 8, 8);
    if (!r.has(end64, {"PK\6\6", 4})) malformed(r.file(), "the zip64 end record", "something else");
    r.bytes(end64, end64_size);
    d = {r.number(end64 + 48, 8), r.number(end64 + 40, 8), r.number(end64 + 32, 8)};
  }
  r.bytes(d.offset, d.size);
  if (d.entries > max_members)
    throw checkpoint_error(Code::wire_too_large, r.file().path(), {},
                           "at most " + std::to_string(max_members) + " members", std::to_string(d.entries));
  return d;
}

/// Sizes and offset that do not fit 32 bits stand in the extra field 1, those that need it, in this order.
void widen(const Reader& r, uint64_t extra, uint64_t extra_size, std::initializer_list<uint64_t*> values) {
  for (uint64_t at = extra; extra + extra_size - at >= 4;) {
    const uint64_t id = r.number(at, 2), size = r.number(at + 2, 2), end = at + 4 + size;
    if (end > extra + extra_size) malformed(r.file(), "extra fields inside their entry", "a longer one");
    if (id == 1) {
      uint64_t from = at + 4;
      for (uint64_t* v : values) {
        if (*v != 0xffffffff) continue;
        if (end - from < 8) malformed(r.file(), "64-bit sizes in the zip64 field", "a shorter field");
        *v = r.number(from, 8);
        from += 8;
      }
      return;
    }
    at = end;
  }
}

/// Reads the directory entry at `at`, moves on, and finds the member's bytes behind its local header.
ZipMember read_entry(const Reader& r, uint64_t& at) {
  if (!r.has(at, {"PK\1\2", 4})) malformed(r.file(), "an entry of the zip directory", "something else");
  r.bytes(at, entry_size);
  const uint64_t flags = r.number(at + 8, 2), method = r.number(at + 10, 2);
  const uint64_t name_size = r.number(at + 28, 2), extra_size = r.number(at + 30, 2),
                 comment_size = r.number(at + 32, 2);
  ZipMember m;
  m.crc = static_cast<uint32_t>(r.number(at + 16, 4));
  m.stored = r.number(at + 20, 4);
  m.size = r.number(at + 24, 4);
  uint64_t local = r.number(at + 42, 4);
  m.name = r.bytes(at + entry_size, name_size);
  r.bytes(at + entry_size + name_size, extra_size);
  widen(r, at + entry_size + name_size, extra_size, {&m.size, &m.stored, &local});
  at += entry_size + name_size + extra_size + comment_size;

  const auto refuse = [&](std::string expected, std::string got) {
    throw checkpoint_error(Code::not_supported, r.file().path(), m.name, std::move(expected), std::move(got),
                           "write the file again, with numpy.savez or torch.save");
  };
  if (flags & 1) refuse("members without encryption", "an encrypted one");
  if (method != 0 && method != 8)
    refuse("members that are stored or deflated", "compression method " + std::to_string(method));
  m.deflated = method == 8;

  if (!r.has(local, {"PK\3\4", 4})) malformed(r.file(), "a local header for each member", "something else");
  r.bytes(local, local_size);
  m.offset = local + local_size + r.number(local + 26, 2) + r.number(local + 28, 2);
  r.bytes(m.offset, m.stored);
  if (r.bytes(local + local_size, r.number(local + 26, 2)) != m.name)
    malformed(r.file(), "the same name in both headers of " + in_quotes(m.name), "another one");
  if (m.deflated ? m.size > max_inflated(m.stored) : m.size != m.stored)
    malformed(r.file(), "sizes of " + in_quotes(m.name) + " that fit its compression",
              std::to_string(m.size) + " bytes from " + std::to_string(m.stored));
  return m;
}

void check_members(const Reader& r, const std::vector<ZipMember>& members, const Directory& d) {
  std::unordered_set<std::string_view> names;
  std::vector<const ZipMember*> by_offset;
  for (const ZipMember& m : members) {
    if (!names.insert(m.name).second)
      throw checkpoint_error(Code::graph_duplicate_name, r.file().path(), m.name, "names that differ",
                             "this one twice");
    by_offset.push_back(&m);
  }
  std::stable_sort(by_offset.begin(), by_offset.end(),
                   [](const auto* a, const auto* b) { return a->offset < b->offset; });
  uint64_t end = 0;
  for (const ZipMember* m : by_offset) {
    if (m->offset < end || m->offset + m->stored > d.offset)
      malformed(r.file(), "members that do not overlap", in_quotes(m->name) + " does");
    end = m->offset + m->stored;
  }
}

}  // namespace

std::vector<ZipMember> read_zip(const FileBytes& file) {
  const Reader r(file);
  const Directory d = find_directory(r);
  std::vector<ZipMember> members;
  uint64_t at = d.offset;
  for (uint64_t i = 0; i < d.entries; ++i) {
    members.push_back(read_entry(r, at));
    if (at > d.offset + d.size) malformed(file, "entries inside the zip directory", "one that leaves it");
  }
  check_members(r, members, d);
  return members;
}

std::string member_prefix(const FileBytes& file, const ZipMember& m, uint64_t count) {
  count = std::min(count, m.size);
  const std::string_view bytes = file.view().substr(m.offset, m.stored);
  if (!m.deflated) return std::string(bytes.substr(0, count));
  std::string out(count, '\0');
  if (!inflate(bytes, out)) malformed(file, "a member that inflates", in_quotes(m.name) + ", damaged");
  return out;
}

void read_member(const FileBytes& file, const ZipMember& m, char* out) {
  const std::string_view bytes = file.view().substr(m.offset, m.stored);
  if (!m.deflated) {
    if (!bytes.empty()) std::memcpy(out, bytes.data(), bytes.size());
    return;
  }
  if (!inflate(bytes, {out, m.size}) || crc32({out, m.size}) != m.crc)
    malformed(file, "a member with its checksum", in_quotes(m.name) + ", damaged");
}

}  // namespace lathe
