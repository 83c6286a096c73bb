// safetensors: eight bytes of length, a JSON header {"name": {"dtype", "shape", "data_offsets"}, …},
// elements. https://github.com/huggingface/safetensors (format). As there: a header of at most 100 MB, and
// elements that fill the rest of the file without holes and without overlap.
#include "lathe/safetensors.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/json.h"
#include "base/json_text.h"
#include "base/utf8.h"
#include "io/file.h"
#include "io/stored_tensor.h"

namespace lathe {
namespace {

constexpr uint64_t longest_header = 100'000'000;
constexpr std::string_view metadata_name = "__metadata__";
/// Bounds what a header costs in memory: some 1 kB a tensor.
constexpr size_t max_tensors = size_t{1} << 19;

/// F6_E2M3 and F6_E3M2 are here for what can be said of them without their elements: see packed_bytes().
constexpr std::pair<std::string_view, DataType> known_types[] = {{"F64", DataType::float64},
                                                                 {"F32", DataType::float32},
                                                                 {"F16", DataType::float16},
                                                                 {"BF16", DataType::bfloat16},
                                                                 {"F8_E4M3", DataType::float8e4m3fn},
                                                                 {"F8_E5M2", DataType::float8e5m2},
                                                                 {"F8_E4M3FNUZ", DataType::float8e4m3fnuz},
                                                                 {"F8_E5M2FNUZ", DataType::float8e5m2fnuz},
                                                                 {"F8_E8M0", DataType::float8e8m0},
                                                                 {"I64", DataType::int64},
                                                                 {"I32", DataType::int32},
                                                                 {"I16", DataType::int16},
                                                                 {"I8", DataType::int8},
                                                                 {"U64", DataType::uint64},
                                                                 {"U32", DataType::uint32},
                                                                 {"U16", DataType::uint16},
                                                                 {"U8", DataType::uint8},
                                                                 {"BOOL", DataType::boolean},
                                                                 {"C64", DataType::complex64},
                                                                 {"F6_E2M3", DataType::float6e2m3},
                                                                 {"F6_E3M2", DataType::float6e3m2},
                                                                 {"F4", DataType::float4e2m1}};

bool is_six_bits(DataType type) { return type == DataType::float6e2m3 || type == DataType::float6e3m2; }

/// Bytes that the file has for `count` elements; nothing where they do not fill whole bytes, which the format
/// forbids. Six bits are packed, four elements in three bytes, where memory has a byte for each: the format
/// does not say in which order, and no published reader gives their values.
std::optional<uint64_t> packed_bytes(DataType type, uint64_t count) {
  const auto bits = is_six_bits(type) ? uint64_t{6} : static_cast<uint64_t>(bits_of(type));
  if (bits >= 8) return count * (bits / 8);
  const uint64_t whole = bits == 6 ? 4 : 8 / bits;  // elements that fill bytes
  if (count % whole) return std::nullopt;
  return count / whole * (whole * bits / 8);
}

std::optional<DataType> type_named(std::string_view name) {
  for (const auto& [n, t] : known_types)
    if (n == name) return t;
  return std::nullopt;
}
std::string_view name_in_file(DataType type) {
  for (const auto& [n, t] : known_types)
    if (t == type) return n;
  return {};
}

/// Handles the events of the JSON parser: without a tree, only the results take memory.
class Header final : public JsonListener {
 public:
  struct Entry {
    std::string name;
    DataType type = DataType::undefined;
    Shape shape;
    uint64_t begin = 0, end = 0;
  };

  explicit Header(const std::filesystem::path& file) : file_(file) {}
  std::vector<Entry> entries;
  std::map<std::string, std::string> metadata;

  /// Metadata that says nothing, as a whole or of a key, is as good as none.
  void null() override {
    const bool of_metadata = in_ == In::metadata || (in_ == In::header && key_ == metadata_name);
    if (!of_metadata) refuse("null");
  }
  void boolean(bool) override { refuse("a boolean"); }
  void number_float(double, const std::string& text) override { refuse(text); }
  void number_integer(int64_t v) override { refuse(std::to_string(v)); }
  void number_unsigned(uint64_t v) override;
  void string(const std::string& v) override;
  void start_object() override;
  void end_object() override;
  void start_array() override;
  void end_array() override;
  void key(const std::string& k) override;

 private:
  enum class In { file, header, metadata, tensor, shape, offsets, end };

  [[noreturn]] void fault(Code code, std::string expected, std::string got) const {
    throw checkpoint_error(code, file_, tensor(), std::move(expected), std::move(got));
  }
  std::string_view tensor() const {
    return (in_ == In::tensor || in_ == In::shape || in_ == In::offsets)
               ? std::string_view(entries.back().name)
               : std::string_view();
  }
  [[noreturn]] void refuse(const std::string& got) const {
    fault(in_ == In::shape     ? Code::tensor_bad_shape
          : in_ == In::offsets ? Code::external_bad_range
                               : Code::json_malformed,
          wanted(), got);
  }
  std::string wanted() const;
  void finish_tensor();

  const std::filesystem::path& file_;
  In in_ = In::file;
  std::string key_;
  std::unordered_set<std::string> names_;
  bool has_type_ = false, has_shape_ = false;
  std::vector<uint64_t> offsets_;
  bool has_offsets_ = false;
};

std::string Header::wanted() const {
  switch (in_) {
    case In::file:
      return "a header that is a JSON object";
    case In::header:
      return "an object for each tensor";
    case In::metadata:
      return "__metadata__ with strings only";
    case In::tensor:
      return "'dtype', 'shape' and 'data_offsets'";
    case In::shape:
      return "a shape of integers that are not negative";
    case In::offsets:
      return "two offsets that are not negative integers";
    case In::end:
      break;
  }
  return "nothing after the header's object";
}

void Header::number_unsigned(uint64_t v) {
  if (in_ == In::shape) {
    if (v > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) refuse(std::to_string(v));
    if (entries.back().shape.size() == max_rank)
      fault(Code::tensor_bad_shape, "a rank of at most " + std::to_string(max_rank), "more dimensions");
    entries.back().shape.push_back(static_cast<int64_t>(v));
    return;
  }
  if (in_ != In::offsets || offsets_.size() == 2) refuse(std::to_string(v));
  offsets_.push_back(v);
}

void Header::string(const std::string& v) {
  if (in_ == In::metadata) {
    metadata[key_] = v;
    return;
  }
  if (in_ != In::tensor || key_ != "dtype") refuse("a string");
  const auto type = type_named(v);
  if (!type) fault(Code::tensor_bad_type, "a dtype of safetensors, as F32 or BF16", in_quotes(v));
  entries.back().type = *type;
  has_type_ = true;
}

void Header::start_object() {
  if (in_ == In::file) {
    in_ = In::header;
  } else if (in_ == In::header && key_ == metadata_name) {
    in_ = In::metadata;
  } else if (in_ == In::header) {
    if (entries.size() == max_tensors)
      fault(Code::wire_too_large, "at most " + std::to_string(max_tensors) + " tensors", "more");
    entries.push_back({key_, {}, {}, 0, 0});
    has_type_ = has_shape_ = has_offsets_ = false;
    offsets_.clear();
    in_ = In::tensor;
  } else {
    refuse("an object");
  }
}

void Header::end_object() {
  if (in_ == In::tensor) finish_tensor();
  in_ = in_ == In::header ? In::end : In::header;
}

void Header::start_array() {
  if (in_ != In::tensor || (key_ != "shape" && key_ != "data_offsets")) refuse("a list");
  in_ = key_ == "shape" ? In::shape : In::offsets;
}

void Header::end_array() {
  (in_ == In::shape ? has_shape_ : has_offsets_) = true;
  in_ = In::tensor;
}

void Header::key(const std::string& k) {
  if (in_ == In::header && !names_.insert(k).second)
    throw checkpoint_error(Code::graph_duplicate_name, file_, k, "names that differ", "this one twice");
  if (in_ == In::metadata && metadata.contains(k))
    fault(Code::json_malformed, "keys that differ", in_quotes(k));
  if (in_ == In::tensor) {
    const bool known = k == "dtype" || k == "shape" || k == "data_offsets";
    const bool again =
        (k == "dtype" && has_type_) || (k == "shape" && has_shape_) || (k == "data_offsets" && has_offsets_);
    if (!known || again) fault(Code::json_malformed, wanted(), (again ? "twice " : "") + in_quotes(k));
  }
  key_ = k;
}

void Header::finish_tensor() {
  if (!has_type_ || !has_shape_ || !has_offsets_)
    fault(Code::json_malformed, wanted(),
          !has_type_    ? "no 'dtype'"
          : !has_shape_ ? "no 'shape'"
                        : "no 'data_offsets'");
  if (offsets_.size() != 2) fault(Code::external_bad_range, "two offsets", std::to_string(offsets_.size()));
  entries.back().begin = offsets_[0];
  entries.back().end = offsets_[1];
}

std::string range_text(uint64_t begin, uint64_t end) {
  return "[" + std::to_string(begin) + ", " + std::to_string(end) + ")";
}

/// Each tensor has the bytes its shape takes; together they fill the file's rest, none twice.
void check_ranges(const std::vector<Header::Entry>& entries, uint64_t available,
                  const std::filesystem::path& file) {
  std::vector<const Header::Entry*> by_offset;
  for (const Header::Entry& e : entries) {
    const auto count = static_cast<uint64_t>(checked_elements(e.shape, e.type, file, e.name));
    if (e.begin > e.end || e.end > available)
      throw checkpoint_error(Code::external_bad_range, file, e.name,
                             "offsets inside the " + std::to_string(available) + " bytes after the header",
                             range_text(e.begin, e.end));
    const auto tensor = [&] { return std::string(name_of(e.type)) + describe(e.shape); };
    const std::optional<uint64_t> bytes = packed_bytes(e.type, count);
    if (!bytes)
      throw checkpoint_error(Code::tensor_bad_data, file, e.name, "elements that fill whole bytes", tensor());
    if (e.end - e.begin != *bytes)
      throw checkpoint_error(Code::tensor_bad_data, file, e.name,
                             std::to_string(*bytes) + " bytes for " + tensor(),
                             std::to_string(e.end - e.begin));
    by_offset.push_back(&e);
  }
  std::stable_sort(by_offset.begin(), by_offset.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  uint64_t at = 0;
  for (const Header::Entry* e : by_offset) {
    if (e->begin != at)
      throw checkpoint_error(Code::external_bad_range, file, e->name,
                             "elements that begin at " + std::to_string(at) + ", where those before end",
                             range_text(e->begin, e->end) + (e->begin < at ? ", an overlap" : ", a hole"));
    at = e->end;
  }
  if (at != available)
    throw checkpoint_error(Code::external_bad_range, file, {}, "tensors that fill the file",
                           std::to_string(available - at) + " bytes at its end that are no tensor's");
}

}  // namespace

CheckpointContents read_safetensors(const std::shared_ptr<const FileBytes>& file) {
  const std::string_view bytes = file->view();
  const std::filesystem::path& path = file->path();
  if (bytes.size() < 8)
    throw checkpoint_error(Code::wire_malformed, path, {}, "eight bytes with the header's length",
                           std::to_string(bytes.size()) + " bytes");
  uint64_t length = 0;
  for (size_t i = 0; i < 8; ++i) length |= uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  if (length > longest_header)
    throw checkpoint_error(Code::wire_too_large, path, {},
                           "a header of at most " + std::to_string(longest_header) + " bytes",
                           std::to_string(length));
  if (length > bytes.size() - 8)
    throw checkpoint_error(Code::wire_malformed, path, {}, "a header of " + std::to_string(length) + " bytes",
                           "a file of " + std::to_string(bytes.size()));
  const std::string_view text = bytes.substr(8, length);
  if (!is_utf8(text))
    throw checkpoint_error(Code::wire_bad_utf8, path, {}, "a header in UTF-8", "other bytes");
  Header header(path);
  try {
    parse_json(text, header);
  } catch (const JsonFault& e) {
    throw checkpoint_error(Code::json_malformed, path, {}, "a header that is JSON",
                           "a fault at its byte " + std::to_string(e.byte()));
  }
  check_ranges(header.entries, bytes.size() - 8 - length, path);

  CheckpointContents contents;
  contents.metadata = std::move(header.metadata);
  for (Header::Entry& e : header.entries) {
    StoredTensor t;
    t.info.name = std::move(e.name);
    t.info.type = e.type;
    t.info.shape = std::move(e.shape);
    t.file = file;
    t.offset = 8 + length + e.begin;
    if (is_six_bits(t.info.type) && count_of(t.info.shape) > 0) {
      t.packed = e.end - e.begin;
      t.load = [path, name = t.info.name, type = t.info.type]() -> Tensor {
        throw checkpoint_error(Code::not_supported, path, name, "a type whose elements can be told apart",
                               std::string(name_in_file(type)) +
                                   ", of which the format does not say how four elements lie in three bytes",
                               "write the tensor as F8_E4M3, F16 or F32");
      };
    }
    complete(t);
    contents.tensors.push_back(std::move(t));
  }
  return contents;
}

bool safetensors_can_hold(DataType type) {
  return type != DataType::float4e2m1 && !is_six_bits(type) && !name_in_file(type).empty();
}

void save_safetensors(const std::filesystem::path& path,
                      const std::vector<std::pair<std::string, Tensor>>& tensors,
                      const std::map<std::string, std::string>& metadata) {
  std::string header = "{";
  if (!metadata.empty()) {
    header += "\"__metadata__\":{";
    for (const auto& [key, value] : metadata)
      header += (header.back() == '{' ? "" : ",") + json_text(key) + ":" + json_text(value);
    header += "}";
  }
  std::unordered_set<std::string_view> seen;
  std::vector<std::string_view> pieces(2);
  uint64_t at = 0;
  for (const auto& [name, t] : tensors) {
    if (!safetensors_can_hold(t.type()))
      throw checkpoint_error(Code::not_supported, path, name, "a type that safetensors files can hold",
                             std::string(name_of(t.type())), "cast it first");
    if (name == metadata_name)
      throw checkpoint_error(Code::bad_argument, path, name, "a name for a tensor", "that of the metadata",
                             "call it something else");
    if (!seen.insert(name).second)
      throw checkpoint_error(Code::graph_duplicate_name, path, name, "a name that is not taken", "one twice",
                             "write each tensor once");
    header += (header.size() > 1 ? "," : "") + json_text(name) + ":{\"dtype\":\"" +
              std::string(name_in_file(t.type())) + "\",\"shape\":[";
    for (size_t i = 0; i < t.shape().size(); ++i) header += (i ? "," : "") + std::to_string(t.shape()[i]);
    header += "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(at + t.bytes()) + "]}";
    at += t.bytes();
    pieces.emplace_back(static_cast<const char*>(t.data()), t.bytes());
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');  // elements may be mapped where they lie
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(header.size() >> 8 * i);
  pieces[0] = length, pieces[1] = header;
  write_file(path, pieces);
}

}  // namespace lathe
