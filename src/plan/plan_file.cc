#include "plan/plan_file.h"

#include <bit>
#include <cstring>

#include "base/file.h"
#include "base/plan_magic.h"
#include "lathe/run_control.h"
#include "plan/checksum.h"
#include "plan/plan_read.h"
#include "plan/plan_write.h"
#include "plan/verify.h"
#include "plan/weight_use.h"

namespace lathe {
namespace {

static_assert(std::endian::native == std::endian::little, "plans are little-endian, as are all targets");

constexpr std::string_view magic = plan_magic;
constexpr uint64_t alignment = 64;

/// The first 64 bytes. The checksum covers the header (with itself zero) and the structure.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t reserved;
  uint64_t structure_offset, structure_bytes;
  uint64_t file_bytes;
  uint64_t checksum;
  uint64_t unused[2];
};
static_assert(sizeof(Header) == alignment);

uint64_t checksum(Header h, std::string_view structure) {
  h.checksum = checksum_of(structure.data(), structure.size());
  return checksum_of(&h, sizeof h);
}

uint64_t aligned(uint64_t n) { return (n + alignment - 1) / alignment * alignment; }

bool is_text(const Weight& w) { return w.value.tensor().type() == DataType::string; }

/// Returns whether an array belongs in the file. Strings are part of its structure.
bool belongs(const Plan& plan, const Weight& w, ArraySection section) {
  if (!w.stored || section == ArraySection::native) return w.stored;
  return section == ArraySection::portable ? plan.portable || plan.refit : plan.refit;
}

Diagnostic damage(const Weight& w, const std::filesystem::path& path) {
  return Error(Code::plan_damaged, "load", "an array that matches its checksum",
               "another: the file is damaged", "copy or build the plan again")
      .at("load", w.name, path.string())
      .diagnostic();
}

bool is_whole(const Weight& w) {
  const Tensor& t = w.value.tensor();
  if (!w.stored || is_text(w)) return true;
  const bool whole = checksum_of(t.data(), t.bytes()) == w.checksum;
  drop_mapped_pages(t.data(), t.bytes());  // of a gigabyte nobody may ever run the most
  return whole;
}

/// Calls put(bytes) for all of the file, one piece after the other.
template <class Put>
void write_plan(const Plan& plan, Put&& put) {
  const std::vector<ArraySection> sections = array_sections(plan);
  std::vector<StoredArray> arrays(plan.weights.size());
  std::vector<const Tensor*> order;
  uint64_t at = sizeof(Header);
  // Arrays that runs read are next to each other; those that only other machines need follow.
  for (ArraySection section : {ArraySection::native, ArraySection::portable, ArraySection::source})
    for (size_t i = 0; i < arrays.size(); ++i) {
      const Weight& w = plan.weights[i];
      if (sections[i] != section || !(is_text(w) || belongs(plan, w, section))) continue;
      const Tensor& t = w.value.tensor();
      arrays[i] = {true, at, is_text(w) ? 0 : checksum_of(t.data(), t.bytes())};
      if (is_text(w)) continue;
      order.push_back(&t);
      at = aligned(at + t.bytes());
    }
  const std::string structure = write_structure(plan, arrays);
  Header h{};
  std::memcpy(h.magic, magic.data(), magic.size());
  h.version = plan_version;
  h.structure_offset = at;
  h.structure_bytes = structure.size();
  h.file_bytes = at + structure.size();
  h.checksum = checksum(h, structure);
  put({reinterpret_cast<const char*>(&h), sizeof h});
  for (const Tensor* t : order) {
    constexpr char zeros[alignment] = {};
    put({static_cast<const char*>(t->data()), t->bytes()});
    put({zeros, aligned(t->bytes()) - t->bytes()});
  }
  put(structure);
}

/// Checks all of it before it is used; `origin` names it in errors.
Plan read_plan(std::string_view bytes, const std::shared_ptr<const void>& owner,
               const std::filesystem::path& origin) {
  const auto malformed = [&](std::string expected, std::string got) {
    return file_error(Code::plan_malformed, origin, std::move(expected), std::move(got),
                      "build the plan again");
  };
  Header h;
  if (bytes.size() < sizeof h) throw malformed("a plan", std::to_string(bytes.size()) + " bytes");
  std::memcpy(&h, bytes.data(), sizeof h);
  if (std::string_view(h.magic, sizeof h.magic) != magic)
    throw file_error(Code::plan_malformed, origin, "a plan, which begins with " + std::string(magic),
                     "another file",
                     "build a model first (Engine::build, lathe.build(), `lathe build MODEL -o PLAN`)");
  if (h.version != plan_version)
    throw file_error(Code::plan_version, origin, "a plan of version " + std::to_string(plan_version),
                     "version " + std::to_string(h.version),
                     "build the plan again with this version of Lathe");
  if (h.file_bytes != bytes.size())
    throw malformed(std::to_string(h.file_bytes) + " bytes", std::to_string(bytes.size()) + " bytes");
  if (h.structure_offset > bytes.size() || h.structure_bytes > bytes.size() - h.structure_offset ||
      h.structure_offset % alignment != 0)
    throw malformed("a structure within the file", "one at " + std::to_string(h.structure_offset));
  const std::string_view structure = bytes.substr(h.structure_offset, h.structure_bytes);
  if (checksum(h, structure) != h.checksum)
    throw malformed("a structure that matches its checksum", "another: the file is damaged");
  try {
    Plan plan = read_structure(structure, bytes.substr(0, h.structure_offset), owner);
    verify(plan);
    return plan;
  } catch (const Error& e) {
    throw e.at("load", origin.string(), "");
  }
}

}  // namespace

void save_plan(const Plan& plan, const std::filesystem::path& path) {
  AtomicFile file(path);
  write_plan(plan, [&](std::string_view bytes) { file.write(bytes); });
  file.commit();
}

std::vector<std::byte> bytes_of(const Plan& plan) {
  std::vector<std::byte> all;
  write_plan(plan, [&](std::string_view bytes) {
    if (all.empty()) all.reserve(reinterpret_cast<const Header*>(bytes.data())->file_bytes);
    const auto* const first = reinterpret_cast<const std::byte*>(bytes.data());
    all.insert(all.end(), first, first + bytes.size());
  });
  return all;
}

std::vector<Diagnostic> damaged_arrays(const Plan& plan, const std::filesystem::path& path,
                                       RunControl* control) {
  std::vector<Diagnostic> found;
  for (const Weight& w : plan.weights) {
    if (control) control->check();
    if (!is_whole(w)) found.push_back(damage(w, path));
  }
  return found;
}

Plan load_plan(const std::filesystem::path& path, bool untrusted) {
  const auto file = untrusted ? read_file(open_regular(path), path) : map_file(open_regular(path), path);
  return read_plan(file->view(), file, path);
}

Plan plan_from_bytes(std::span<const std::byte> bytes) {
  Tensor copy(DataType::uint8, {static_cast<int64_t>(bytes.size())});  // its memory begins at a whole line
  std::memcpy(copy.data(), bytes.data(), bytes.size());
  return read_plan({static_cast<const char*>(copy.data()), copy.bytes()}, copy.owner(), "bytes");
}

}  // namespace lathe
