#include "lathe/checkpoint.h"

#include <algorithm>
#include <unordered_map>

#include "base/nearest.h"
#include "io/bounded_json.h"
#include "io/gguf.h"
#include "io/stored_tensor.h"

namespace lathe {

namespace fs = std::filesystem;

struct Checkpoint::State {
  CheckpointFormat format = CheckpointFormat::safetensors;
  std::vector<CheckpointTensor> infos;
  std::vector<StoredTensor> stored;  // the same, in the same order
  std::vector<fs::path> files;
  std::map<std::string, std::string> metadata;
  std::unordered_map<std::string_view, size_t> by_name;

  size_t find(std::string_view name) const;
  /// Makes `infos` and `by_name` of `stored`. Throws graph_duplicate_name.
  void index();
};

std::shared_ptr<const FileBytes> open_checkpoint_file(const fs::path& path,
                                                      const CheckpointOptions& options) {
  File f = open_regular(path);
  return options.untrusted ? read_file(std::move(f), path) : map_file(std::move(f), path);
}

namespace {

bool has_pickle_magic(std::string_view bytes) {
  return bytes.size() > 1 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

CheckpointContents read_contents(const std::shared_ptr<const FileBytes>& file) {
  const std::string_view bytes = file->view();
  if (bytes.starts_with("PK\3\4") || bytes.starts_with("PK\5\6")) return read_zip_checkpoint(file);
  if (bytes.starts_with("\x93NUMPY")) return read_npy(file);
  if (file->path().extension() == ".safetensors" || (bytes.size() > 8 && bytes[8] == '{'))
    return read_safetensors(file);
  if (has_pickle_magic(bytes) || bytes.substr(0, 300).find("ustar") == 257)
    throw checkpoint_error(Code::not_supported, file->path(), {},
                           "PyTorch's zip format (the default since 1.6)", "its old format, a bare pickle",
                           "load it in PyTorch and save its state_dict again, or as safetensors");
  throw checkpoint_error(Code::wire_malformed, file->path(), {},
                         "a checkpoint: safetensors, GGUF, .npy, .npz, or PyTorch's zip file",
                         bytes.empty() ? "an empty file" : "a file that begins like none of them",
                         "check the path");
}

/// Refuses names that lead out of the index's directory.
void check_shard_name(const fs::path& index, const std::string& tensor, const std::string& shard) {
  const bool plain = !shard.empty() && shard != "." && shard != ".." &&
                     shard.find_first_of(std::string_view("/\\\0", 3)) == std::string::npos;
  if (!plain)
    throw checkpoint_error(Code::external_bad_path, index, tensor, "the name of a file beside the index",
                           in_quotes(shard));
}

using WeightMap = std::map<std::string, std::string>;  // tensor → shard

WeightMap read_index(const fs::path& path) {
  const Json j = parse_bounded_json(path);
  const Json* map = j.find("weight_map");
  if (!map || !map->is_object())
    throw checkpoint_error(Code::json_malformed, path, {}, "an index with an object 'weight_map'", "none");
  WeightMap weights;
  for (const auto& [tensor, shard] : map->items()) {
    if (!shard.is_string())
      throw checkpoint_error(Code::json_malformed, path, tensor, "the name of a file", shard.type_name());
    check_shard_name(path, tensor, shard.get<std::string>());
    weights[tensor] = shard.get<std::string>();
  }
  return weights;
}

std::shared_ptr<const FileBytes> open_shard(const fs::path& index, const std::string& shard,
                                            const CheckpointOptions& options) {
  try {
    return open_checkpoint_file(index.parent_path() / shard, options);
  } catch (const Error& e) {
    if (e.code() != Code::file_not_found) throw;
    throw checkpoint_error(Code::file_not_found, index, {}, "all its shards beside the index",
                           "no " + in_quotes(shard), "download the missing file");
  }
}

/// The first of the files that a model's directory may have.
fs::path file_in(const fs::path& directory) {
  for (const char* name : {"model.safetensors", "model.safetensors.index.json", "pytorch_model.bin",
                           "pytorch_model.bin.index.json"}) {
    // A link that leads nowhere is there too: half a download is no reason to take another file.
    std::error_code ignored;
    if (fs::exists(fs::symlink_status(directory / name, ignored))) return directory / name;
  }
  throw checkpoint_error(Code::file_not_found, directory, {},
                         "model.safetensors or pytorch_model.bin, or one's .index.json", "none of them",
                         "give the path of the checkpoint's file");
}

}  // namespace

std::string_view name_of(CheckpointFormat f) {
  switch (f) {
    case CheckpointFormat::safetensors:
      return "safetensors";
    case CheckpointFormat::npy:
      return "npy";
    case CheckpointFormat::npz:
      return "npz";
    case CheckpointFormat::pytorch:
      return "pytorch";
    case CheckpointFormat::gguf:
      return "gguf";
  }
  return "unknown";
}

size_t Checkpoint::State::find(std::string_view name) const {
  if (const auto found = by_name.find(name); found != by_name.end()) return found->second;
  std::vector<std::string> names;
  for (const CheckpointTensor& t : infos) names.push_back(t.name);
  std::string near;
  for (const std::string& n : nearest_names(name, names)) near += (near.empty() ? "" : ", ") + in_quotes(n);
  throw checkpoint_error(Code::bad_argument, files.empty() ? fs::path() : files.front(), {},
                         "the name of one of its " + std::to_string(infos.size()) + " tensors",
                         in_quotes(name),
                         near.empty() ? "`lathe inspect` lists them" : "near to it: " + near);
}

void Checkpoint::State::index() {
  for (const StoredTensor& t : stored) infos.push_back(t.info);
  for (size_t i = 0; i < infos.size(); ++i) {
    const auto [first, added] = by_name.emplace(infos[i].name, i);
    if (!added)
      throw checkpoint_error(Code::graph_duplicate_name, infos[i].file, infos[i].name, "names that differ",
                             "this one in " + in_quotes(infos[first->second].file.string()) + " too");
  }
}

Checkpoint checkpoint_of(CheckpointContents contents, std::vector<fs::path> files) {
  auto state = std::make_shared<Checkpoint::State>();
  state->format = contents.format;
  state->files = std::move(files);
  state->metadata = std::move(contents.metadata);
  state->stored = std::move(contents.tensors);
  state->index();
  return Checkpoint(std::move(state));
}

Checkpoint Checkpoint::open(const fs::path& given, const CheckpointOptions& options) {
  std::error_code ignored;
  const fs::path path = fs::is_directory(given, ignored) ? file_in(given) : given;
  auto state = std::make_shared<State>();
  const auto add = [&](const fs::path& file, CheckpointContents contents) {
    state->format = contents.format;
    state->files.push_back(file);
    state->metadata.merge(contents.metadata);
    std::move(contents.tensors.begin(), contents.tensors.end(), std::back_inserter(state->stored));
  };
  WeightMap weights;
  if (path.string().ends_with(".index.json")) {
    weights = read_index(path);
    std::map<std::string, bool> shards;  // sorted: the order of their numbers
    for (const auto& [tensor, shard] : weights) shards[shard] = true;
    for (const auto& [shard, used] : shards) {
      const auto file = open_shard(path, shard, options);
      add(file->path(), read_contents(file));
    }
  } else {
    const FileOpener open = [&](const fs::path& p) { return open_checkpoint_file(p, options); };
    const auto file = open(path);
    if (begins_as_gguf(file->view()))
      for (auto& [part, contents] : read_gguf(file, open)) add(part, std::move(contents));
    else
      add(path, read_contents(file));
  }
  state->index();
  for (const auto& [tensor, shard] : weights) {
    const auto found = state->by_name.find(tensor);
    if (found == state->by_name.end())
      throw checkpoint_error(Code::tensor_bad_data, path, tensor, "this tensor in " + in_quotes(shard),
                             "no such tensor in any shard");
    if (const fs::path at = state->infos[found->second].file.filename(); at != shard)
      throw checkpoint_error(Code::tensor_bad_data, path, tensor, "this tensor in " + in_quotes(shard),
                             "it is in " + in_quotes(at.string()));
  }
  return Checkpoint(std::move(state));
}

CheckpointFormat Checkpoint::format() const { return state_->format; }
const std::vector<CheckpointTensor>& Checkpoint::tensors() const { return state_->infos; }
const std::vector<fs::path>& Checkpoint::files() const { return state_->files; }
const std::map<std::string, std::string>& Checkpoint::metadata() const { return state_->metadata; }
bool Checkpoint::contains(std::string_view name) const { return state_->by_name.contains(name); }
const CheckpointTensor& Checkpoint::at(std::string_view name) const {
  return state_->infos[state_->find(name)];
}
Tensor Checkpoint::tensor(std::string_view name) const { return load(state_->stored[state_->find(name)]); }

Tensor Checkpoint::blocks(std::string_view name) const {
  const StoredTensor& t = state_->stored[state_->find(name)];
  if (t.info.blocks.empty())
    throw checkpoint_error(Code::not_supported, t.info.file, name, "a tensor that is stored in blocks",
                           "elements of " + std::string(name_of(t.info.type)), "ask for tensor()");
  return t.load_blocks();
}

std::vector<std::vector<std::string>> Checkpoint::tied() const {
  using Place = std::tuple<const FileBytes*, uint64_t, DataType, std::vector<int64_t>, std::vector<int64_t>>;
  std::map<Place, std::vector<std::string>> places;
  std::vector<const std::vector<std::string>*> order;
  for (const StoredTensor& t : state_->stored) {
    if (t.info.bytes == 0) continue;
    auto& names = places[{t.file.get(), t.offset, t.info.type,
                          std::vector<int64_t>(t.info.shape.begin(), t.info.shape.end()), t.strides}];
    if (names.empty()) order.push_back(&names);
    names.push_back(t.info.name);
  }
  std::vector<std::vector<std::string>> groups;
  for (const auto* names : order)
    if (names->size() > 1) groups.push_back(*names);
  return groups;
}

namespace {

/// The bytes that tell a tensor from others of its type and shape.
struct Elements {
  explicit Elements(const StoredTensor& t) {
    if (t.packed) {
      bytes = {t.data(), t.packed};
      return;
    }
    tensor = load(t);
    bytes = {static_cast<const char*>(tensor.data()), tensor.bytes()};
  }
  Tensor tensor;
  std::string_view bytes;
};

}  // namespace

std::vector<std::vector<std::string>> Checkpoint::duplicates() const {
  std::map<std::tuple<DataType, std::string, std::vector<int64_t>>, std::vector<size_t>> alike;
  for (size_t i = 0; i < state_->infos.size(); ++i) {
    const CheckpointTensor& t = state_->infos[i];
    if (t.bytes) alike[{t.type, t.blocks, std::vector<int64_t>(t.shape.begin(), t.shape.end())}].push_back(i);
  }
  std::map<size_t, std::vector<std::string>> groups;  // by the first of each
  for (const auto& [kind, candidates] : alike) {
    if (candidates.size() < 2) continue;
    std::unordered_multimap<size_t, size_t> firsts;  // hash of the bytes → index
    for (size_t i : candidates) {
      const Elements t(state_->stored[i]);
      const size_t hash = std::hash<std::string_view>()(t.bytes);
      const auto [begin, end] = firsts.equal_range(hash);
      const auto same = std::find_if(begin, end, [&](const auto& first) {
        return Elements(state_->stored[first.second]).bytes == t.bytes;
      });
      if (same == end)
        firsts.emplace(hash, i);
      else
        groups[same->second].push_back(state_->infos[i].name);
    }
  }
  std::vector<std::vector<std::string>> list;
  for (auto& [first, names] : groups) {
    names.insert(names.begin(), state_->infos[first].name);
    list.push_back(std::move(names));
  }
  return list;
}

}  // namespace lathe
