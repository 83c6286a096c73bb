// States in files: a header and the elements, dense.
#include <cstring>

#include "base/file.h"
#include "plan/checksum.h"
#include "runtime/state_impl.h"

namespace lathe {
namespace {

constexpr std::string_view magic = "LATHESTA";
constexpr uint32_t file_version = 2;
constexpr size_t max_axes = 16;

struct Header {
  char magic[8];
  uint32_t version, type, rank;
  int32_t axis;
  int64_t capacity, block;
  int64_t dims[max_axes];
  uint64_t elements;  // checksum
  uint64_t checksum;  // of the header, where this is 0
};
static_assert(sizeof(Header) == 64 + (max_axes - 1) * 8);

uint64_t checksum_of_header(Header h) {
  h.checksum = 0;
  return checksum_of(&h, sizeof h);
}

}  // namespace

void State::save(const std::filesystem::path& path) const {
  const Tensor t = tensor();
  if (t.rank() > max_axes)
    throw Error(Code::not_supported, "state", "at most " + std::to_string(max_axes) + " axes",
                std::to_string(t.rank()));
  Header h{};
  std::memcpy(h.magic, magic.data(), magic.size());
  h.version = file_version;
  h.type = static_cast<uint32_t>(t.type());
  h.rank = static_cast<uint32_t>(t.rank());
  h.axis = axis();
  h.capacity = capacity();
  h.block = block();
  std::copy(t.shape().begin(), t.shape().end(), h.dims);
  h.elements = checksum_of(t.data(), t.bytes());
  h.checksum = checksum_of_header(h);
  AtomicFile file(path);
  file.write({reinterpret_cast<const char*>(&h), sizeof h});
  file.write({static_cast<const char*>(t.data()), t.bytes()});
  file.commit();
}

State State::load(const std::filesystem::path& path) {
  const auto malformed = [&](std::string expected, std::string got) {
    return file_error(Code::state_malformed, path, std::move(expected), std::move(got),
                      "save the state again");
  };
  const std::shared_ptr<const FileBytes> file = read_file(open_regular(path), path);
  std::string_view bytes = file->view();
  Header h;
  if (bytes.size() < sizeof h) throw malformed("a state", std::to_string(bytes.size()) + " bytes");
  std::memcpy(&h, bytes.data(), sizeof h);
  bytes.remove_prefix(sizeof h);
  if (std::string_view(h.magic, sizeof h.magic) != magic)
    throw malformed("a state, which begins with " + std::string(magic), "another file");
  if (h.version != file_version)
    throw malformed("version " + std::to_string(file_version), "version " + std::to_string(h.version));
  if (checksum_of_header(h) != h.checksum)
    throw malformed("a header that matches its checksum", "a damaged one");
  const auto type = static_cast<DataType>(h.type);
  if (h.type == 0 || h.type >= data_type_count || bits_of(type) < 8)
    throw malformed("an element type of whole bytes", std::to_string(h.type));
  if (h.rank > max_axes || h.axis < -1 || h.axis >= static_cast<int64_t>(h.rank))
    throw malformed("an axis of at most " + std::to_string(max_axes),
                    std::to_string(h.axis) + " of " + std::to_string(h.rank));
  Shape shape(h.dims, h.dims + h.rank);
  const size_t whole = bytes_for(type, static_cast<size_t>(checked_count(shape, type, "the state")));
  if (whole != bytes.size())
    throw malformed(std::to_string(whole) + " bytes of elements", std::to_string(bytes.size()));
  if (h.axis >= 0 && h.capacity < shape[static_cast<size_t>(h.axis)])
    throw malformed("a capacity for its length", std::to_string(h.capacity));
  if (h.block < 0 || (h.block > 0 && h.axis < 0))
    throw malformed("blocks along an axis", std::to_string(h.block) + " indices each");
  if (checksum_of(bytes.data(), bytes.size()) != h.elements)
    throw malformed("elements that match their checksum", "damaged ones");
  auto made = std::make_shared<Impl>(type, shape, h.axis, h.capacity, h.block);
  made->take(Tensor::view(type, shape, const_cast<char*>(bytes.data())));
  return State(std::move(made));
}

}  // namespace lathe
