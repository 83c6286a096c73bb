#include "plan/plan_file.h"

#include <bit>
#include <cstring>

#include "base/file.h"
#include "plan/plan_read.h"
#include "plan/plan_write.h"
#include "plan/verify.h"

namespace lathe {
namespace {

static_assert(std::endian::native == std::endian::little, "plans are little-endian, as are all targets");

constexpr std::string_view magic = "LATHEPLN";
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

/// FNV-1a, 64 bits.
uint64_t digest(std::string_view bytes, uint64_t seed = 0xcbf29ce484222325u) {
  for (unsigned char c : bytes) seed = (seed ^ c) * 0x100000001b3u;
  return seed;
}

uint64_t checksum(Header h, std::string_view structure) {
  h.checksum = 0;
  return digest(structure, digest({reinterpret_cast<const char*>(&h), sizeof h}));
}

uint64_t aligned(uint64_t n) { return (n + alignment - 1) / alignment * alignment; }

}  // namespace

void save_plan(const Plan& plan, const std::filesystem::path& path) {
  std::vector<uint64_t> offsets;
  uint64_t at = sizeof(Header);
  for (const Weight& w : plan.weights) {
    offsets.push_back(at);
    if (w.value.tensor().type() != DataType::string) at = aligned(at + w.value.tensor().bytes());
  }
  const std::string structure = write_structure(plan, offsets);
  Header h{};
  std::memcpy(h.magic, magic.data(), magic.size());
  h.version = plan_version;
  h.structure_offset = at;
  h.structure_bytes = structure.size();
  h.file_bytes = at + structure.size();
  h.checksum = checksum(h, structure);
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&h), sizeof h});
  for (const Weight& w : plan.weights) {
    const Tensor& t = w.value.tensor();
    if (t.type() == DataType::string) continue;
    file.write({static_cast<const char*>(t.data()), t.bytes()});
    file.pad(alignment);
  }
  file.write(structure);
  file.commit();
}

Plan load_plan(const std::filesystem::path& path, bool untrusted) {
  const auto file = untrusted ? read_file(open_regular(path), path) : map_file(open_regular(path), path);
  const std::string_view bytes = file->view();
  const auto malformed = [&](std::string expected, std::string got) {
    return file_error(Code::plan_malformed, path, std::move(expected), std::move(got),
                      "build the plan again");
  };
  Header h;
  if (bytes.size() < sizeof h) throw malformed("a plan", std::to_string(bytes.size()) + " bytes");
  std::memcpy(&h, bytes.data(), sizeof h);
  if (std::string_view(h.magic, sizeof h.magic) != magic)
    throw malformed("a file that begins with " + std::string(magic), "another");
  if (h.version != plan_version)
    throw file_error(Code::plan_version, path, "a plan of version " + std::to_string(plan_version),
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
    Plan plan = read_structure(structure, bytes.substr(0, h.structure_offset), file);
    verify(plan);
    return plan;
  } catch (const Error& e) {
    throw e.at("load", path.string(), "");
  }
}

}  // namespace lathe
