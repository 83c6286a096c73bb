// Weights as they are published: safetensors, NumPy's .npy and .npz, PyTorch's zip files; and the config.json
// that lies beside them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/export.h"
#include "lathe/tensor.h"

namespace lathe {

/// What a checkpoint says of one tensor.
struct CheckpointTensor {
  std::string name;
  DataType type = DataType::undefined;
  Shape shape;
  uint64_t bytes = 0;          // of the elements, row-major
  std::filesystem::path file;  // the file it lies in
  /// Whether Checkpoint::tensor() gives the file's own bytes. False where they must be rearranged first:
  /// views that are not contiguous, Fortran order, other byte orders, compressed members, addresses that
  /// elements of the type may not have.
  bool mapped = false;
};

enum class CheckpointFormat : uint8_t { safetensors, npy, npz, pytorch };
LATHE_API std::string_view name_of(CheckpointFormat f);

struct CheckpointOptions {
  /// Reads the files into memory instead of mapping them: what happens to them afterwards does not matter.
  bool untrusted = false;
};

/// Named tensors in one file, or in shards with an index. Opening reads headers only: pages with elements are
/// loaded when somebody touches them. Nothing in a file is ever executed. Immutable; copies share everything;
/// thread-safe.
class LATHE_API Checkpoint {
 public:
  /// A file (its content says which format), or a directory with model.safetensors,
  /// model.safetensors.index.json, pytorch_model.bin or pytorch_model.bin.index.json, the first of them that
  /// is there. An index may be given itself; its shards lie beside it.
  ///
  /// Throws file_not_found (shards too), file_not_regular, file_unreadable; wire_malformed, wire_too_large,
  /// wire_bad_utf8, json_malformed, npy_malformed for a file that is not what it says; tensor_bad_type,
  /// tensor_bad_shape, tensor_bad_data, external_bad_range, graph_duplicate_name for what it says of a
  /// tensor, whose name the error gives; external_bad_path for an index that leaves its directory;
  /// not_supported for pickles that want anything but tensors, and for old PyTorch files.
  static Checkpoint open(const std::filesystem::path& path, const CheckpointOptions& options = {});

  CheckpointFormat format() const;
  /// In the order of the file; of shards, file by file.
  const std::vector<CheckpointTensor>& tensors() const;
  const std::vector<std::filesystem::path>& files() const;
  /// The text entries of safetensors' __metadata__.
  const std::map<std::string, std::string>& metadata() const;

  bool contains(std::string_view name) const;
  /// Throws bad_argument, with names that are near.
  const CheckpointTensor& at(std::string_view name) const;
  /// The elements, mapped where at(name).mapped, else a copy; either way they outlive the checkpoint. They
  /// are not to be written to. Throws bad_argument as at() does, wire_malformed for damaged compressed
  /// members, run_out_of_memory.
  Tensor tensor(std::string_view name) const;

  /// Groups of names for the very same elements of one file: tied weights, in the order of tensors(). Reads
  /// nothing.
  std::vector<std::vector<std::string>> tied() const;
  /// Groups of names whose type, shape and bytes are equal, whether tied or stored twice. Reads all tensors
  /// that share type and shape with another. Biases of zeros are equal too: this says what may be stored
  /// once, not what the model ties.
  std::vector<std::vector<std::string>> duplicates() const;

 private:
  struct State;
  explicit Checkpoint(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// A config.json as Hugging Face's models have it, read by key and type. Keys may lead into objects:
/// "text_config.hidden_size". Immutable; copies share; thread-safe.
class LATHE_API ModelConfig {
 public:
  /// The file, or config.json of a directory. Throws file_not_found, file_not_regular, file_unreadable,
  /// json_malformed (nesting beyond 64 too), wire_too_large (beyond 16 MiB).
  static ModelConfig open(const std::filesystem::path& path);
  /// `origin` stands in errors where a file's path would.
  static ModelConfig parse(std::string_view json, std::string origin = "config.json");

  /// T is bool, int64_t, double (integers are taken too), std::string, ModelConfig (an object), or a
  /// std::vector of one of the first four.
  /// Throws bad_argument, naming the key, what was expected and what is there, or keys that are near.
  template <class T>
  T get(std::string_view key) const;
  /// The fallback where the key is absent or null. A value of another type is an error all the same.
  template <class T>
  T get(std::string_view key, T fallback) const {
    return has(key) ? get<T>(key) : fallback;
  }
  /// Whether the key is there and not null.
  bool has(std::string_view key) const;
  /// Keys of this object, in the order of the file.
  std::vector<std::string> keys() const;

 private:
  struct State;
  explicit ModelConfig(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

template <>
LATHE_API bool ModelConfig::get(std::string_view key) const;
template <>
LATHE_API int64_t ModelConfig::get(std::string_view key) const;
template <>
LATHE_API double ModelConfig::get(std::string_view key) const;
template <>
LATHE_API std::string ModelConfig::get(std::string_view key) const;
template <>
LATHE_API ModelConfig ModelConfig::get(std::string_view key) const;
template <>
LATHE_API std::vector<bool> ModelConfig::get(std::string_view key) const;
template <>
LATHE_API std::vector<int64_t> ModelConfig::get(std::string_view key) const;
template <>
LATHE_API std::vector<double> ModelConfig::get(std::string_view key) const;
template <>
LATHE_API std::vector<std::string> ModelConfig::get(std::string_view key) const;

}  // namespace lathe
