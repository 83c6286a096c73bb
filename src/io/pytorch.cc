#include "io/pytorch.h"

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "io/pickle.h"

namespace lathe {
namespace {

using Kind = PickleObject::Kind;

constexpr uint64_t longest_pickle = uint64_t{32} << 20;
constexpr size_t max_visits = size_t{1} << 22, max_name_bytes = size_t{64} << 20;
constexpr int max_dictionaries = 64;
/// A view that repeats its storage's elements (torch.expand) may have so many of them.
constexpr int64_t max_repeated = int64_t{1} << 24;

struct Named {
  std::string_view name;
  DataType type;
};
constexpr Named storages[] = {{"torch.FloatStorage", DataType::float32},
                              {"torch.DoubleStorage", DataType::float64},
                              {"torch.HalfStorage", DataType::float16},
                              {"torch.BFloat16Storage", DataType::bfloat16},
                              {"torch.LongStorage", DataType::int64},
                              {"torch.IntStorage", DataType::int32},
                              {"torch.ShortStorage", DataType::int16},
                              {"torch.CharStorage", DataType::int8},
                              {"torch.ByteStorage", DataType::uint8},
                              {"torch.BoolStorage", DataType::boolean},
                              {"torch.ComplexFloatStorage", DataType::complex64},
                              {"torch.ComplexDoubleStorage", DataType::complex128},
                              // Bytes, whose type the tensor has (_rebuild_tensor_v3).
                              {"torch.storage.UntypedStorage", DataType::uint8}};
constexpr Named dtypes[] = {{"torch.float32", DataType::float32},
                            {"torch.float64", DataType::float64},
                            {"torch.float16", DataType::float16},
                            {"torch.bfloat16", DataType::bfloat16},
                            {"torch.int64", DataType::int64},
                            {"torch.int32", DataType::int32},
                            {"torch.int16", DataType::int16},
                            {"torch.int8", DataType::int8},
                            {"torch.uint64", DataType::uint64},
                            {"torch.uint32", DataType::uint32},
                            {"torch.uint16", DataType::uint16},
                            {"torch.uint8", DataType::uint8},
                            {"torch.bool", DataType::boolean},
                            {"torch.complex64", DataType::complex64},
                            {"torch.complex128", DataType::complex128},
                            {"torch.float8_e4m3fn", DataType::float8e4m3fn},
                            {"torch.float8_e4m3fnuz", DataType::float8e4m3fnuz},
                            {"torch.float8_e5m2", DataType::float8e5m2},
                            {"torch.float8_e5m2fnuz", DataType::float8e5m2fnuz}};
constexpr std::string_view rebuild = "torch._utils._rebuild_tensor",
                           rebuild_v2 = "torch._utils._rebuild_tensor_v2",
                           rebuild_v3 = "torch._utils._rebuild_tensor_v3",
                           parameter = "torch._utils._rebuild_parameter";

std::optional<DataType> type_in(std::span<const Named> table, std::string_view name) {
  for (const Named& n : table)
    if (n.name == name) return n.type;
  return std::nullopt;
}

bool allowed(std::string_view global) {
  return global == "collections.OrderedDict" || global == "torch.Size" || global == rebuild ||
         global == rebuild_v2 || global == rebuild_v3 || global == parameter || type_in(storages, global) ||
         type_in(dtypes, global);
}

/// Whether these strides are those of a row-major tensor.
bool is_row_major(const Shape& shape, const std::vector<int64_t>& strides) {
  int64_t expected = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] == 0) return true;
    if (shape[axis] != 1 && strides[axis] != expected) return false;
    expected *= shape[axis];
  }
  return true;
}

class Archive {
 public:
  Archive(const std::shared_ptr<const FileBytes>& file, const std::vector<ZipMember>& members,
          const ZipMember& pickle)
      : file_(file),
        prefix_(pickle.name.substr(0, pickle.name.size() - std::string_view("data.pkl").size())) {
    for (const ZipMember& m : members) members_[m.name] = &m;
    check_byte_order();
  }

  std::vector<StoredTensor> read(const PickleObject& root) {
    walk(root, 0);
    return std::move(tensors_);
  }

 private:
  [[noreturn]] void fault(Code code, std::string expected, std::string got) const {
    throw checkpoint_error(code, file_->path(), path_, std::move(expected), std::move(got));
  }
  void check_byte_order() const;
  void walk(const PickleObject& o, int depth);
  void enter(std::string_view name, const PickleObject& o, int depth);
  void add(const PickleObject& call);
  const PickleObject& argument(const PickleObject& call, size_t i, Kind kind, const char* what) const;
  std::vector<int64_t> numbers(const PickleObject& list, const char* what) const;
  /// Type, element count and member of a storage.
  const ZipMember& open_storage(const PickleObject& s, DataType& type, int64_t& count) const;
  void place(StoredTensor& t, const ZipMember& m, int64_t count, int64_t offset,
             std::vector<int64_t> strides) const;

  const std::shared_ptr<const FileBytes>& file_;
  std::string prefix_;
  std::unordered_map<std::string_view, const ZipMember*> members_;
  std::vector<StoredTensor> tensors_;
  std::string path_;
  size_t visits_ = 0, name_bytes_ = 0;
};

void Archive::check_byte_order() const {
  const auto found = members_.find(prefix_ + "byteorder");
  if (found == members_.end() || member_prefix(*file_, *found->second, 8) == "little") return;
  throw checkpoint_error(Code::not_supported, file_->path(), {}, "a file in little-endian byte order",
                         "another one", "save it again on a little-endian machine");
}

void Archive::enter(std::string_view name, const PickleObject& o, int depth) {
  if (o.kind != Kind::call && o.kind != Kind::list && o.kind != Kind::dict) return;
  const size_t before = path_.size();
  if (before) path_ += '.';
  path_ += name;
  walk(o, depth + 1);
  path_.resize(before);
}

void Archive::walk(const PickleObject& o, int depth) {
  if (depth > max_dictionaries)
    fault(Code::wire_too_deep, "tensors at most " + std::to_string(max_dictionaries) + " dictionaries deep",
          "more");
  if (++visits_ > max_visits || name_bytes_ > max_name_bytes)
    throw checkpoint_error(Code::wire_too_large, file_->path(), {},
                           "at most " + std::to_string(max_visits) + " objects, and names of 64 MiB", "more",
                           "store the model as safetensors");
  if (o.kind == Kind::call) return add(o);
  if (o.kind == Kind::list)
    for (size_t i = 0; i < o.items.size(); ++i) enter(std::to_string(i), *o.items[i], depth);
  if (o.kind == Kind::dict)
    for (size_t i = 0; i < o.items.size(); i += 2) {
      const PickleObject& key = *o.items[i];
      if (key.kind == Kind::text)
        enter(key.text, *o.items[i + 1], depth);
      else if (key.kind == Kind::integer)
        enter(std::to_string(key.integer), *o.items[i + 1], depth);
      else if (o.items[i + 1]->kind == Kind::call)
        fault(Code::wire_malformed, "a name or number for each tensor", "another key");
    }
}

const PickleObject& Archive::argument(const PickleObject& call, size_t i, Kind kind, const char* what) const {
  const auto& arguments = call.items[0]->items;
  if (i >= arguments.size() || arguments[i]->kind != kind)
    fault(Code::wire_malformed,
          std::string(what) + " as argument " + std::to_string(i) + " of " +
              (call.kind == Kind::call ? std::string(call.text) : "a storage"),
          i < arguments.size() ? "something else" : "fewer");
  return *arguments[i];
}

std::vector<int64_t> Archive::numbers(const PickleObject& list, const char* what) const {
  if (list.items.size() > max_rank)
    fault(Code::tensor_bad_shape, "a rank of at most " + std::to_string(max_rank),
          std::to_string(list.items.size()));
  std::vector<int64_t> v;
  for (const PickleObject* o : list.items) {
    if (o->kind != Kind::integer || o->integer < 0)
      fault(Code::tensor_bad_shape, std::string(what) + " of integers that are not negative",
            o->kind == Kind::integer ? std::to_string(o->integer) : "something else");
    v.push_back(o->integer);
  }
  return v;
}

const ZipMember& Archive::open_storage(const PickleObject& s, DataType& type, int64_t& count) const {
  const std::string_view global = argument(s, 1, Kind::global, "a storage type").text;
  const auto known = type_in(storages, global);
  if (argument(s, 0, Kind::text, "'storage'").text != "storage" || !known)
    fault(Code::wire_malformed, "a storage", in_quotes(global));
  type = *known;
  count = argument(s, 4, Kind::integer, "a number of elements").integer;
  const std::string name = prefix_ + "data/" + std::string(argument(s, 2, Kind::text, "a key").text);
  const auto found = members_.find(name);
  if (found == members_.end()) fault(Code::wire_malformed, "a member " + in_quotes(name), "none");
  const ZipMember& m = *found->second;
  if (m.deflated)
    throw checkpoint_error(Code::not_supported, file_->path(), path_, "storages as torch.save writes them",
                           "a compressed member " + in_quotes(name), "unpack the archive and zip it with -0");
  const auto element = static_cast<uint64_t>(bits_of(type)) / 8;
  if (count < 0 || static_cast<uint64_t>(count) > m.size / element)
    fault(Code::tensor_bad_data, std::to_string(count) + " elements of " + std::string(name_of(type)),
          std::to_string(m.size) + " bytes");
  return m;
}

/// Checks that every element by shape, strides and offset is one of the storage's `count`.
void Archive::place(StoredTensor& t, const ZipMember& m, int64_t count, int64_t offset,
                    std::vector<int64_t> strides) const {
  const Shape& shape = t.info.shape;
  if (strides.size() != shape.size())
    fault(Code::tensor_bad_shape, std::to_string(shape.size()) + " strides", std::to_string(strides.size()));
  const int64_t elements = checked_elements(shape, t.info.type, file_->path(), path_);
  if (elements > std::max(count, max_repeated))
    fault(Code::tensor_bad_data,
          "a view of at most as many elements as its storage of " + std::to_string(count),
          std::to_string(elements));
  int64_t last = offset;
  bool overflow = offset < 0;
  for (size_t axis = 0; axis < shape.size() && elements; ++axis) {
    int64_t span;
    overflow |= __builtin_mul_overflow(shape[axis] - 1, strides[axis], &span) ||
                __builtin_add_overflow(last, span, &last);
  }
  if (overflow || (elements ? last >= count : offset > count))
    fault(Code::external_bad_range, "elements inside the storage's " + std::to_string(count),
          "strides and an offset that leave it");
  t.file = file_;
  t.offset = m.offset + static_cast<uint64_t>(offset) * (static_cast<uint64_t>(bits_of(t.info.type)) / 8);
  if (!is_row_major(shape, strides)) t.strides = std::move(strides);
}

void Archive::add(const PickleObject& call) {
  if (call.text == parameter) {
    const PickleObject& data = argument(call, 0, Kind::call, "a tensor");
    if (data.text == parameter) fault(Code::wire_malformed, "a parameter of a tensor", "one of a parameter");
    return add(data);
  }
  if (call.text != rebuild && call.text != rebuild_v2 && call.text != rebuild_v3)
    fault(Code::wire_malformed, "a tensor", "a call of " + in_quotes(call.text));
  StoredTensor t;
  t.info.name = path_.empty() ? file_->path().stem().string() : path_;
  name_bytes_ += t.info.name.size();
  int64_t count = 0;
  const ZipMember& m = open_storage(argument(call, 0, Kind::storage, "a storage"), t.info.type, count);
  if (call.text == rebuild_v3) {
    const std::string_view dtype = argument(call, 6, Kind::global, "a dtype").text;
    const auto type = type_in(dtypes, dtype);
    if (!type) fault(Code::tensor_bad_type, "a dtype", in_quotes(dtype));
    t.info.type = *type;
    count /= bits_of(*type) / 8;
  }
  const auto size = numbers(argument(call, 2, Kind::list, "a size"), "a size");
  t.info.shape = Shape(size.begin(), size.end());
  place(t, m, count, argument(call, 1, Kind::integer, "an offset").integer,
        numbers(argument(call, 3, Kind::list, "strides"), "strides"));
  complete(t);
  tensors_.push_back(std::move(t));
}

}  // namespace

CheckpointContents read_pytorch(const std::shared_ptr<const FileBytes>& file,
                                const std::vector<ZipMember>& members, const ZipMember& pickle) {
  if (pickle.size > longest_pickle)
    throw checkpoint_error(Code::wire_too_large, file->path(), {},
                           "a pickle of at most " + std::to_string(longest_pickle) + " bytes",
                           std::to_string(pickle.size), "store the model as safetensors");
  std::string bytes(pickle.size, '\0');
  read_member(*file, pickle, bytes.data());
  const Pickle graph = read_pickle(bytes, file->path(), allowed);
  CheckpointContents contents;
  contents.format = CheckpointFormat::pytorch;
  contents.tensors = Archive(file, members, pickle).read(*graph.root);
  return contents;
}

}  // namespace lathe
