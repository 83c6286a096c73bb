// GGUF: a magic, a version, metadata, the table of tensors, and at an aligned offset their elements.
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include <algorithm>
#include <bit>
#include <limits>

#include "base/utf8.h"
#include "io/gguf.h"
#include "io/gguf_cursor.h"

namespace lathe {

namespace {

/// Bounds what a header costs in memory: some 1 kB a tensor.
constexpr uint64_t max_gguf_tensors = uint64_t{1} << 19, max_keys = uint64_t{1} << 16;
constexpr uint64_t longest_key = 65'535, longest_name = 256;
/// Published models have some 10 MB, nearly all of it their vocabulary.
constexpr uint64_t longest_metadata = uint64_t{256} << 20;
constexpr uint32_t max_dimensions = 4, default_alignment = 32;
/// Bytes that a key with its value, and a tensor, take at least.
constexpr uint64_t min_key_bytes = 8 + 4 + 1, min_tensor_bytes = 8 + 4 + 4 + 8;

std::string at_byte(uint64_t at) { return " at byte " + std::to_string(at); }

/// Refuses names of which a list has two.
template <class Items, class Name>
void require_different(const Items& items, const Name& name_of_item, const char* expected,
                       const std::filesystem::path& file) {
  std::vector<std::string_view> names;
  names.reserve(items.size());
  for (const auto& item : items) names.push_back(name_of_item(item));
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end())
    throw checkpoint_error(Code::graph_duplicate_name, file, *twice, expected, "this one twice");
}

}  // namespace

/// Reads one file from front to back.
class GgufReader {
 public:
  explicit GgufReader(const std::shared_ptr<const FileBytes>& file)
      : file_(file), from_(file->view().substr(0, longest_metadata)) {
    part_.file = file;
  }
  GgufPart read();

 private:
  [[noreturn]] void fault(Code code, std::string_view about, std::string expected, std::string got,
                          std::string remedy = "download the file again") const {
    throw checkpoint_error(code, file_->path(), about, std::move(expected), std::move(got),
                           std::move(remedy));
  }
  /// The error for fields that go on beyond what was read.
  [[noreturn]] void too_short(std::string_view about, const std::string& what, size_t at) const;
  template <class T>
  T number(std::string_view about, const char* what) {
    const size_t at = from_.at();
    const auto v = from_.number<T>();
    if (!v) too_short(about, what, at);
    return *v;
  }
  std::string_view text(std::string_view about, const char* what, uint64_t longest);
  uint64_t count(const char* what, uint64_t most, uint64_t min_bytes);

  void read_version();
  void read_key();
  GgufValueType value_type(std::string_view key);
  void read_elements(const std::string& key, GgufValue& v);
  void read_tensor();
  uint64_t alignment() const;
  void place_tensors();
  void check_overlaps() const;

  const std::shared_ptr<const FileBytes>& file_;
  GgufCursor from_;
  GgufPart part_;
};

void GgufReader::too_short(std::string_view about, const std::string& what, size_t at) const {
  if (file_->view().size() > longest_metadata)
    fault(Code::wire_too_large, about,
          "metadata and a table of tensors of at most " + std::to_string(longest_metadata) + " bytes",
          what + at_byte(at) + ", which goes beyond",
          "download the file again; if it is as it should be, its vocabulary is too large");
  fault(Code::wire_malformed, about, what + at_byte(at),
        "the end of the file at byte " + std::to_string(file_->view().size()));
}

std::string_view GgufReader::text(std::string_view about, const char* what, uint64_t longest) {
  const size_t at = from_.at();
  GgufCursor ahead = from_;
  const auto length = ahead.number<uint64_t>();
  if (length && *length > longest)
    fault(Code::wire_too_large, about,
          std::string(what) + " of at most " + std::to_string(longest) + " bytes",
          std::to_string(*length) + at_byte(at));
  const auto s = from_.string();
  if (!s) too_short(about, what, at);
  if (!is_utf8(*s))
    fault(Code::wire_bad_utf8, about, std::string(what) + " in UTF-8", "other bytes" + at_byte(at));
  return *s;
}

uint64_t GgufReader::count(const char* what, uint64_t most, uint64_t min_bytes) {
  const size_t at = from_.at();
  const auto n = number<uint64_t>({}, what);
  if (n > file_->view().size() / min_bytes)
    fault(Code::wire_malformed, {}, what,
          std::to_string(n) + at_byte(at) + ", more than a file of " + std::to_string(file_->view().size()) +
              " bytes can have");
  if (n > most)
    fault(Code::wire_too_large, {}, std::string(what) + ", at most " + std::to_string(most),
          std::to_string(n) + at_byte(at));
  return n;
}

void GgufReader::read_version() {
  const std::string_view magic = file_->view().substr(0, 4);
  if (magic != "GGUF") {
    if (begins_as_gguf(magic))
      fault(Code::not_supported, {}, "GGUF", "a format of llama.cpp that came before it",
            "download the model as GGUF, or convert it by an old version of llama.cpp");
    fault(Code::wire_malformed, {}, "a file that begins with GGUF",
          magic.empty() ? "an empty file" : "a file that begins with other bytes", "check the path");
  }
  from_.take(4);
  part_.version = number<uint32_t>({}, "the version");
  if (part_.version == 2 || part_.version == 3) return;
  if (part_.version == 1)
    fault(Code::not_supported, {}, "GGUF of version 2 or 3", "version 1, whose lengths have 32 bits",
          "download a newer file of the model; this one is of August 2023");
  if (part_.version != 0 && (part_.version & 0xffff) == 0)
    fault(Code::not_supported, {}, "a little-endian file", "a big-endian one",
          "convert it by gguf-convert-endian of the Python package gguf, or download the usual form");
  fault(part_.version == 0 ? Code::wire_malformed : Code::not_supported, {}, "GGUF of version 2 or 3",
        "version " + std::to_string(part_.version));
}

GgufValueType GgufReader::value_type(std::string_view key) {
  const size_t at = from_.at();
  const auto number_of_type = number<uint32_t>(key, "the type of a value");
  if (number_of_type > static_cast<uint32_t>(GgufValueType::float64))
    fault(Code::wire_malformed, key, "a type of a value, 0 to 12",
          std::to_string(number_of_type) + at_byte(at));
  return static_cast<GgufValueType>(number_of_type);
}

/// Finds where the value's bytes end, and refuses what cannot be one.
void GgufReader::read_elements(const std::string& key, GgufValue& v) {
  const size_t at = from_.at();
  const uint64_t width = gguf_width(v.type_);
  const std::string what = v.is_array_ ? "an array of " + std::to_string(v.count_) + " elements" : "a value";
  if (v.count_ > file_->view().size() / (width ? width : 8))
    fault(Code::wire_malformed, key,
          "an array that ends with the file of " + std::to_string(file_->view().size()) + " bytes",
          what + at_byte(at));
  if (width) {
    const auto bytes = from_.take(v.count_ * width);
    if (!bytes) too_short(key, what, at);
    v.bytes_ = *bytes;
    if (v.type_ != GgufValueType::boolean) return;
    for (size_t i = 0; i < bytes->size(); ++i)
      if (static_cast<unsigned char>((*bytes)[i]) > 1)
        fault(Code::wire_malformed, key, "a boolean, which is 0 or 1",
              std::to_string(static_cast<unsigned char>((*bytes)[i])) + at_byte(at + i));
    return;
  }
  for (uint64_t i = 0; i < v.count_; ++i) {
    const size_t begin = from_.at();
    if (!from_.string()) too_short(key, "a string", begin);
  }
  v.bytes_ = file_->view().substr(at, from_.at() - at);
}

void GgufReader::read_key() {
  const auto key = std::string(text({}, "a key of the metadata", longest_key));
  GgufValue v;
  v.key_ = key;
  v.file_ = file_;
  v.type_ = value_type(key);
  if (v.type_ == GgufValueType::array) {
    v.is_array_ = true;
    v.type_ = value_type(key);
    if (v.type_ == GgufValueType::array)
      fault(Code::not_supported, key, "a value or an array of values", "an array of arrays",
            "leave the key out; no published model has such values");
    v.count_ = number<uint64_t>(key, "the number of an array's elements");
  }
  read_elements(key, v);
  part_.metadata.emplace_back(key, std::move(v));
}

void GgufReader::read_tensor() {
  GgufTensor t;
  t.name = text({}, "the name of a tensor", longest_name);
  const auto rank = number<uint32_t>(t.name, "the number of dimensions");
  if (rank > max_dimensions)
    fault(Code::tensor_bad_shape, t.name, "at most " + std::to_string(max_dimensions) + " dimensions",
          std::to_string(rank));
  for (uint32_t i = 0; i < rank; ++i) {
    const auto size = number<uint64_t>(t.name, "a dimension");
    if (size > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      fault(Code::tensor_bad_shape, t.name, "dimensions that fit 63 bits", std::to_string(size));
    t.shape.push_back(static_cast<int64_t>(size));
  }
  std::reverse(t.shape.begin(), t.shape.end());
  const auto type = number<uint32_t>(t.name, "the type of a tensor");
  const GgufTypeInfo* info = gguf_type_info(type);
  if (!info) {
    // These numbers belonged to types that llama.cpp has given up.
    const bool removed = type == 4 || type == 5 || (type >= 31 && type <= 33) || (type >= 36 && type <= 38);
    fault(removed ? Code::not_supported : Code::tensor_bad_type, t.name, "a type of GGUF",
          std::to_string(type) + (removed ? ", which llama.cpp has removed from the format" : ""),
          removed ? "quantize the model again by a newer version of llama.cpp" : "download the file again");
  }
  t.type = static_cast<GgufType>(type);
  t.offset = number<uint64_t>(t.name, "the offset of a tensor");
  const auto elements = static_cast<uint64_t>(checked_elements(
      t.shape, info->plain == DataType::undefined ? DataType::float32 : info->plain, file_->path(), t.name));
  const uint64_t row = t.shape.empty() ? 1 : static_cast<uint64_t>(t.shape.back());
  if (row % info->elements)
    fault(Code::tensor_bad_shape, t.name,
          "a last dimension of whole blocks of " + std::to_string(info->elements) + " for " +
              std::string(info->name),
          describe(t.shape));
  t.bytes = elements / info->elements * info->bytes;
  part_.tensors.push_back(std::move(t));
}

uint64_t GgufReader::alignment() const {
  const GgufValue* v = part_.find("general.alignment");
  if (!v) return default_alignment;
  if (v->type() != GgufValueType::uint32 || !std::has_single_bit(v->get<uint64_t>()))
    fault(Code::wire_malformed, "general.alignment", "a power of two as uint32",
          v->text() + " as " + std::string(name_of(v->type())));
  return v->get<uint64_t>();
}

/// Turns offsets from the first aligned byte behind the table into offsets in the file.
void GgufReader::place_tensors() {
  const uint64_t step = alignment(), size = file_->view().size();
  const uint64_t begin = (from_.at() + step - 1) / step * step, available = size > begin ? size - begin : 0;
  for (GgufTensor& t : part_.tensors) {
    if (t.offset % step)
      fault(Code::external_bad_range, t.name, "an offset that is a multiple of " + std::to_string(step),
            std::to_string(t.offset));
    if (t.offset > available || t.bytes > available - t.offset)
      fault(Code::external_bad_range, t.name,
            "elements inside the " + std::to_string(available) + " bytes behind the table of tensors",
            std::to_string(t.bytes) + " bytes at offset " + std::to_string(t.offset));
    t.offset = std::min(begin + t.offset, size);
  }
}

void GgufReader::check_overlaps() const {
  std::vector<const GgufTensor*> by_offset;
  for (const GgufTensor& t : part_.tensors)
    if (t.bytes) by_offset.push_back(&t);
  std::sort(by_offset.begin(), by_offset.end(),
            [](const auto* a, const auto* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < by_offset.size(); ++i) {
    const GgufTensor &before = *by_offset[i - 1], &t = *by_offset[i];
    if (t.offset < before.offset + before.bytes)
      fault(Code::external_bad_range, t.name, "tensors that do not overlap",
            std::to_string(t.bytes) + " bytes at byte " + std::to_string(t.offset) + ", inside " +
                in_quotes(before.name));
  }
}

GgufPart GgufReader::read() {
  read_version();
  const uint64_t tensors = count("the number of tensors", max_gguf_tensors, min_tensor_bytes);
  const uint64_t keys = count("the number of keys", max_keys, min_key_bytes);
  for (uint64_t i = 0; i < keys; ++i) read_key();
  require_different(
      part_.metadata, [](const auto& entry) -> std::string_view { return entry.first; }, "keys that differ",
      file_->path());
  for (uint64_t i = 0; i < tensors; ++i) read_tensor();
  require_different(
      part_.tensors, [](const GgufTensor& t) -> std::string_view { return t.name; }, "names that differ",
      file_->path());
  place_tensors();
  check_overlaps();
  return std::move(part_);
}

const GgufValue* GgufPart::find(std::string_view key) const {
  for (const auto& [k, v] : metadata)
    if (k == key) return &v;
  return nullptr;
}

bool begins_as_gguf(std::string_view bytes) {
  for (const char* magic : {"GGUF", "lmgg", "fmgg", "tjgg", "algg"})
    if (bytes.starts_with(magic)) return true;
  return false;
}

GgufPart read_gguf_part(const std::shared_ptr<const FileBytes>& file) { return GgufReader(file).read(); }

}  // namespace lathe
