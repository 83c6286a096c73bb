// GGUF files and pairs of parts: whatever is accepted lies in the file, does not overlap, and can be read in
// every way; a checkpoint has the same tensors.
#include "io/gguf.h"

#include <string>

#include "fuzz/targets.h"

namespace lathe::fuzz {
namespace {

class BytesAsFile : public FileBytes {
 public:
  BytesAsFile(const char* name, std::string_view bytes) : FileBytes(name) { view_ = bytes; }
  bool truncated() const override { return false; }
  void drop_pages() const override {}
};

constexpr int64_t max_elements = int64_t{1} << 22;  // that are decoded; some types have five in a byte

void use(const GgufValue& v) {
  require(v.element_type() == GgufValueType::string || !v.text(3).empty(), "numbers have a text");
  if (v.element_type() == GgufValueType::string) {
    if (v.type() == GgufValueType::array)
      require(v.get<std::vector<std::string>>().size() == v.size(), "as many strings as it says");
    else
      v.get<std::string>();
    return;
  }
  require(static_cast<uint64_t>(v.tensor().size()) == v.size(), "as many numbers as it says");
  for (const Code c : {code_of([&] { v.get<std::vector<int64_t>>(); }), code_of([&] { v.get<uint64_t>(); }),
                       code_of([&] { v.get<double>(); })})
    require(c == Code::none || c == Code::bad_argument, "a value is there, or of another type");
}

void use(const GgufTensor& t, const std::shared_ptr<const FileBytes>& file) {
  const uint64_t size = file->view().size();
  require(t.offset <= size && t.bytes <= size - t.offset, "the elements are in the file");
  const Tensor raw = gguf_raw(t, file);
  require(raw.bytes() == t.bytes, "the raw bytes are those of the shape");
  unsigned sum = 0;
  for (size_t i = 0; i < raw.bytes(); ++i) sum += static_cast<const unsigned char*>(raw.data())[i];
  require(sum <= 255 * raw.bytes(), "bytes are bytes");
  if (count_of(t.shape) > max_elements) return;
  Tensor decoded;
  const Code c = code_of([&] { decoded = gguf_float32(t, file); });
  require(c == (info_of(t.type).decodes ? Code::none : Code::not_supported),
          "blocks decode where they should");
  if (number_type_of(t.type) != DataType::undefined) {
    const GgufNumbers n = split_gguf(t.type, file->view().data() + t.offset, t.shape);
    require(n.scales.size() * n.block == n.numbers.size(), "each scale is that of a run of numbers");
  }
  if (c == Code::none) require(decoded.shape() == t.shape, "the elements have the shape");
}

}  // namespace

void gguf(Bytes data) {
  if (data.empty()) return;
  // The first byte says where the second part begins, if there is one.
  const std::string_view all = chars(data.subspan(1));
  const size_t half = data[0] ? all.size() * data[0] / 256 : all.size();
  const auto first = std::make_shared<BytesAsFile>("x-00001-of-00002.gguf", all.substr(0, half));
  const auto second = std::make_shared<BytesAsFile>("x-00002-of-00002.gguf", all.substr(half));
  const FileOpener open = [&](const std::filesystem::path& path) -> std::shared_ptr<const FileBytes> {
    if (path != second->path()) throw Error(Code::file_not_found, "fuzz", "a part", path.string());
    return second;
  };
  std::vector<GgufPart> parts;
  if (code_of([&] { parts = read_gguf_parts(first, open); }) != Code::none) return;
  size_t tensors = 0;
  for (const GgufPart& part : parts) {
    uint64_t bytes = 0;
    for (const auto& [key, value] : part.metadata) use(value);
    for (const GgufTensor& t : part.tensors) {
      use(t, part.file);
      bytes += t.bytes;
    }
    require(bytes <= part.file->view().size(), "tensors do not overlap");
    tensors += part.tensors.size();
  }
  std::vector<std::pair<std::filesystem::path, CheckpointContents>> contents;
  if (code_of([&] { contents = read_gguf(first, open); }) != Code::none) return;  // parts that contradict
  for (const auto& [path, c] : contents) tensors -= c.tensors.size();
  require(tensors == 0, "a checkpoint has the same tensors");
}

}  // namespace lathe::fuzz
