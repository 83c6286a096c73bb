// A GGUF file with its parts, and its tensors as those of a checkpoint.
#include "lathe/gguf.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "base/nearest.h"
#include "base/utf8.h"
#include "io/gguf.h"
#include "tensor/alignment.h"

namespace lathe {

namespace fs = std::filesystem;

namespace {

constexpr uint64_t max_parts = 512;
constexpr const char *part_key = "split.no", *parts_key = "split.count", *tensors_key = "split.tensors.count";

/// What each part says of itself may differ from part to part.
bool is_of_part(std::string_view key) { return key.starts_with("split.") || key == "general.alignment"; }

uint64_t split_number(const GgufPart& part, const char* key) {
  const GgufValue* v = part.find(key);
  if (!v)
    throw checkpoint_error(Code::wire_malformed, part.file->path(), key, "this key in a part of a split file",
                           "none");
  try {
    return v->get<uint64_t>();
  } catch (const Error& e) {
    throw checkpoint_error(Code::wire_malformed, part.file->path(), key, e.diagnostic().expected,
                           e.diagnostic().got);
  }
}

/// The ending of a part's name; `part` counts from 0.
std::string part_ending(uint64_t part, uint64_t parts) {
  char text[64];
  std::snprintf(text, sizeof text, "-%05llu-of-%05llu.gguf", static_cast<unsigned long long>(part + 1),
                static_cast<unsigned long long>(parts));
  return text;
}

std::shared_ptr<const FileBytes> open_part(const fs::path& path, const fs::path& beside,
                                           const FileOpener& open) {
  try {
    return open(path);
  } catch (const Error& e) {
    if (e.code() != Code::file_not_found) throw;
    throw checkpoint_error(Code::file_not_found, beside, {}, "all parts of the split file beside it",
                           "no " + in_quotes(path.filename().string()), "download the missing file");
  }
}

/// Refuses a part that belongs to another file.
void check_part(const GgufPart& part, uint64_t number, const GgufPart& first) {
  for (const auto& [key, expected] : {std::pair{part_key, number},
                                      {parts_key, split_number(first, parts_key)},
                                      {tensors_key, split_number(first, tensors_key)}})
    if (const uint64_t got = split_number(part, key); got != expected)
      throw checkpoint_error(Code::wire_malformed, part.file->path(), key, std::to_string(expected),
                             std::to_string(got), "download all parts of one model again");
}

/// Names are different in one part; this looks at all of them.
void check_names(const std::vector<GgufPart>& parts) {
  std::vector<std::pair<std::string_view, const GgufPart*>> names;
  for (const GgufPart& part : parts)
    for (const GgufTensor& t : part.tensors) names.emplace_back(t.name, &part);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice != names.end())
    throw checkpoint_error(Code::graph_duplicate_name, twice->second->file->path(), twice->first,
                           "names that differ",
                           "this one in " + in_quotes((twice + 1)->second->file->path().string()) + " too");
}

/// The metadata of all parts: keys that only later ones have follow those of the first. Refuses keys of which
/// two parts say different things, except for what each says of itself.
std::vector<std::pair<std::string, GgufValue>> merged_metadata(const std::vector<GgufPart>& parts) {
  std::vector<std::pair<std::string, GgufValue>> merged;
  std::unordered_map<std::string_view, const GgufValue*> known;
  for (const GgufPart& part : parts)
    for (const auto& [key, value] : part.metadata) {
      const auto [there, added] = known.emplace(key, &value);
      if (added)
        merged.emplace_back(key, value);
      else if (!is_of_part(key) && value != *there->second)
        throw checkpoint_error(Code::wire_malformed, part.file->path(), key,
                               "the value of the parts before, " + in_quotes(there->second->text()),
                               in_quotes(value.text()), "download all parts of one model again");
    }
  return merged;
}

}  // namespace

std::vector<GgufPart> read_gguf_parts(const std::shared_ptr<const FileBytes>& file, const FileOpener& open) {
  std::vector<GgufPart> parts;
  parts.push_back(read_gguf_part(file));
  const uint64_t count = parts[0].find(parts_key) ? split_number(parts[0], parts_key) : 1;
  if (count <= 1) return parts;
  const fs::path& path = file->path();
  if (count > max_parts)
    throw checkpoint_error(Code::wire_too_large, path, parts_key,
                           "at most " + std::to_string(max_parts) + " parts", std::to_string(count),
                           "merge them by llama-gguf-split");
  const uint64_t given = split_number(parts[0], part_key);
  const std::string name = path.filename().string(), ending = part_ending(given, count);
  if (given >= count || !name.ends_with(ending))
    throw checkpoint_error(Code::wire_malformed, path, part_key,
                           given < count ? "a name that ends with " + in_quotes(ending)
                                         : "a part before " + std::to_string(count),
                           given < count ? in_quotes(name) : std::to_string(given),
                           "give the parts the names with which they were published");
  GgufPart here = std::move(parts[0]);
  parts.clear();
  uint64_t tensors = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (i == given) {
      parts.push_back(std::move(here));
    } else {
      const std::string other = name.substr(0, name.size() - ending.size()) + part_ending(i, count);
      parts.push_back(read_gguf_part(open_part(path.parent_path() / other, path, open)));
    }
    check_part(parts.back(), i, parts[0]);
    for (GgufTensor& t : parts.back().tensors) t.part = i;
    tensors += parts.back().tensors.size();
  }
  if (const uint64_t expected = split_number(parts[0], tensors_key); tensors != expected)
    throw checkpoint_error(Code::wire_malformed, path, tensors_key,
                           std::to_string(expected) + " tensors in all parts", std::to_string(tensors),
                           "download all parts of one model again");
  check_names(parts);
  return parts;
}

Tensor gguf_raw(const GgufTensor& t, const std::shared_ptr<const FileBytes>& file) {
  const GgufTypeInfo& info = info_of(t.type);
  Shape shape = t.shape;
  if (shape.empty()) shape.push_back(1);
  shape.back() = shape.back() / info.elements * info.bytes;
  return Tensor::view(DataType::uint8, std::move(shape), const_cast<char*>(file->view().data() + t.offset),
                      std::const_pointer_cast<FileBytes>(file));
}

Tensor gguf_float32(const GgufTensor& t, const std::shared_ptr<const FileBytes>& file) {
  const GgufTypeInfo& info = info_of(t.type);
  if (!info.decodes)
    throw checkpoint_error(Code::not_supported, file->path(), t.name,
                           "a type whose elements this version can decode", std::string(info.name),
                           "quantize the model to another type, as Q8_0 or Q4_K");
  Tensor out(DataType::float32, t.shape);
  decode_gguf(t.type, file->view().data() + t.offset, static_cast<size_t>(out.size()) / info.elements,
              static_cast<float*>(out.data()));
  return out;
}

std::vector<std::pair<fs::path, CheckpointContents>> read_gguf(const std::shared_ptr<const FileBytes>& file,
                                                               const FileOpener& open) {
  std::vector<std::pair<fs::path, CheckpointContents>> all;
  const std::vector<GgufPart> parts = read_gguf_parts(file, open);
  for (const GgufPart& part : parts) {
    CheckpointContents& contents = all.emplace_back(part.file->path(), CheckpointContents{}).second;
    contents.format = CheckpointFormat::gguf;
    for (const GgufTensor& t : part.tensors) {
      StoredTensor s;
      const GgufTypeInfo& info = info_of(t.type);
      s.info.name = t.name;
      s.info.shape = t.shape;
      s.info.type = info.plain == DataType::undefined ? DataType::float32 : info.plain;
      s.file = part.file;
      s.offset = t.offset;
      if (info.plain == DataType::undefined) {
        s.info.blocks = info.name;
        s.info.block_bytes = s.packed = t.bytes;
        s.load = [t, from = part.file] { return gguf_float32(t, from); };
        s.load_blocks = [t, from = part.file] { return gguf_raw(t, from); };
      }
      complete(s);
      contents.tensors.push_back(std::move(s));
    }
  }
  for (const auto& [key, value] : merged_metadata(parts)) {
    if (value.type() == GgufValueType::array) continue;
    std::string text = value.text();
    if (is_utf8(text)) all.front().second.metadata.emplace(key, std::move(text));
  }
  return all;
}

struct Gguf::State {
  uint32_t version = 0;
  std::vector<fs::path> files;
  std::vector<std::shared_ptr<const FileBytes>> opened;
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<GgufTensor> tensors;
  std::unordered_map<std::string_view, size_t> keys, names;

  const GgufTensor& tensor(std::string_view name) const;
  Error unknown(std::string_view name, const std::vector<std::string>& known, const char* what) const;
};

Error Gguf::State::unknown(std::string_view name, const std::vector<std::string>& known,
                           const char* what) const {
  std::string near;
  for (const std::string& n : nearest_names(name, known)) near += (near.empty() ? "" : ", ") + in_quotes(n);
  return checkpoint_error(Code::bad_argument, files.front(), {},
                          "one of its " + std::to_string(known.size()) + what, in_quotes(name),
                          near.empty() ? "`lathe inspect` lists them" : "near to it: " + near);
}

const GgufTensor& Gguf::State::tensor(std::string_view name) const {
  if (const auto found = names.find(name); found != names.end()) return tensors[found->second];
  std::vector<std::string> known;
  for (const GgufTensor& t : tensors) known.push_back(t.name);
  throw unknown(name, known, " tensors");
}

Gguf Gguf::open(const fs::path& path, const CheckpointOptions& options) {
  const FileOpener open = [&](const fs::path& p) { return open_checkpoint_file(p, options); };
  std::vector<GgufPart> parts = read_gguf_parts(open(path), open);
  auto state = std::make_shared<State>();
  state->version = parts[0].version;
  state->metadata = merged_metadata(parts);
  for (GgufPart& part : parts) {
    state->files.push_back(part.file->path());
    state->opened.push_back(part.file);
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(state->tensors));
  }
  for (size_t i = 0; i < state->metadata.size(); ++i) state->keys[state->metadata[i].first] = i;
  for (size_t i = 0; i < state->tensors.size(); ++i) state->names[state->tensors[i].name] = i;
  return Gguf(std::move(state));
}

const std::vector<fs::path>& Gguf::files() const { return state_->files; }
uint32_t Gguf::version() const { return state_->version; }
const std::vector<std::pair<std::string, GgufValue>>& Gguf::metadata() const { return state_->metadata; }

const GgufValue* Gguf::find(std::string_view key) const {
  const auto found = state_->keys.find(key);
  return found == state_->keys.end() ? nullptr : &state_->metadata[found->second].second;
}

const GgufValue& Gguf::value(std::string_view key) const {
  if (const GgufValue* v = find(key)) return *v;
  std::vector<std::string> known;
  for (const auto& [k, v] : state_->metadata) known.push_back(k);
  throw state_->unknown(key, known, " keys");
}

const std::vector<GgufTensor>& Gguf::tensors() const { return state_->tensors; }
bool Gguf::contains(std::string_view name) const { return state_->names.contains(name); }
const GgufTensor& Gguf::at(std::string_view name) const { return state_->tensor(name); }

Tensor Gguf::tensor(std::string_view name) const {
  const GgufTensor& t = state_->tensor(name);
  const auto& file = state_->opened[t.part];
  const DataType plain = info_of(t.type).plain;
  if (plain == DataType::undefined) return gguf_float32(t, file);
  const Tensor mapped = Tensor::view(plain, t.shape, const_cast<char*>(file->view().data() + t.offset),
                                     std::const_pointer_cast<FileBytes>(file));
  return aligned(mapped);
}

Tensor Gguf::float32(std::string_view name) const {
  const GgufTensor& t = state_->tensor(name);
  return t.type == GgufType::f32 ? tensor(name) : gguf_float32(t, state_->opened[t.part]);
}

GgufNumbers Gguf::numbers(std::string_view name) const {
  const GgufTensor& t = state_->tensor(name);
  const auto& file = state_->opened[t.part];
  if (number_type_of(t.type) == DataType::undefined)
    throw checkpoint_error(Code::not_supported, file->path(), name,
                           "blocks of whole numbers with scales, as Q8_0 or Q4_K",
                           std::string(name_of(t.type)), "ask for tensor()");
  return split_gguf(t.type, file->view().data() + t.offset, t.shape);
}

Tensor Gguf::raw(std::string_view name) const {
  const GgufTensor& t = state_->tensor(name);
  return gguf_raw(t, state_->opened[t.part]);
}

}  // namespace lathe
