// Reading published weights: safetensors, GGUF, NumPy's .npy and .npz, PyTorch's zip files, and the
// config.json beside them.
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

/// Describes one tensor of a checkpoint.
struct CheckpointTensor {
  std::string name;                     // unique in the checkpoint
  DataType type = DataType::undefined;  // element type; float32 for tensors in blocks
  Shape shape;                          // sizes, outermost first
  uint64_t bytes = 0;                   // elements, row-major
  std::filesystem::path file;           // file that holds the elements
  /// True where Checkpoint::tensor() returns the mapped bytes of the file. False where they must be
  /// rearranged first: views that are not contiguous, Fortran order, other byte orders, compressed members,
  /// addresses that are not aligned for the type.
  bool mapped = false;
  /// Name of the blocks of a few bits that the file has in place of elements, as "Q4_K" (GGUF); empty where
  /// there are none. Checkpoint::tensor() widens them, Checkpoint::blocks() returns them as they are.
  std::string blocks;
  uint64_t block_bytes = 0;  // bytes of all blocks; 0 where there are none
};

/// Names the format of a checkpoint's files.
enum class CheckpointFormat : uint8_t { safetensors, npy, npz, pytorch, gguf };
/// Returns the format's name: "safetensors", "npy", "npz", "pytorch", "gguf".
LATHE_API std::string_view name_of(CheckpointFormat f);

/// Options of Checkpoint::open.
struct CheckpointOptions {
  /// Reads the files into memory instead of mapping them, so that later changes to them have no effect.
  bool untrusted = false;
};

/// Named tensors in one file, or in shards with an index. Opening reads headers only: pages with elements are
/// loaded when they are touched. Nothing in a file is ever executed. Immutable; copies share everything;
/// thread-safe.
class LATHE_API Checkpoint {
 public:
  /// Opens a file (its content decides the format), or a directory with model.safetensors,
  /// model.safetensors.index.json, pytorch_model.bin or pytorch_model.bin.index.json, the first of them that
  /// is there. The path may also name an index, whose shards are beside it, or a part of a split GGUF file
  /// (Gguf::open describes these, and what it throws for them).
  ///
  /// Throws file_not_found (shards too), file_not_regular, file_unreadable; wire_malformed, wire_too_large,
  /// wire_bad_utf8, json_malformed, npy_malformed for a file that is not what it says; tensor_bad_type,
  /// tensor_bad_shape, tensor_bad_data, external_bad_range, graph_duplicate_name for what it says of a
  /// tensor, whose name the error gives; external_bad_path for an index that leaves its directory;
  /// not_supported for pickles that want anything but tensors, and for old PyTorch files.
  static Checkpoint open(const std::filesystem::path& path, const CheckpointOptions& options = {});

  /// Returns the format of the files.
  CheckpointFormat format() const;
  /// Returns the tensors in the order of the file; those of shards file by file.
  const std::vector<CheckpointTensor>& tensors() const;
  /// Returns the paths of the file or of the shards.
  const std::vector<std::filesystem::path>& files() const;
  /// Returns the text entries of safetensors' __metadata__; of GGUF the numbers, booleans and strings as
  /// text, without arrays and strings that are not UTF-8, which Gguf has too. Empty for other formats.
  const std::map<std::string, std::string>& metadata() const;

  /// Returns whether there is a tensor of that name.
  bool contains(std::string_view name) const;
  /// Returns the description of a tensor. Throws bad_argument, with similar names.
  const CheckpointTensor& at(std::string_view name) const;
  /// Returns a tensor whose elements are mapped where at(name).mapped, otherwise a copy; either way they
  /// outlive the checkpoint and must not be written to. Throws bad_argument as at() does, wire_malformed for
  /// damaged compressed members, run_out_of_memory.
  Tensor tensor(std::string_view name) const;

  /// Returns the mapped blocks of a tensor as uint8: its shape, with the last axis in bytes. Throws
  /// bad_argument as at() does, not_supported where CheckpointTensor::blocks is empty.
  Tensor blocks(std::string_view name) const;

  /// Returns groups of names that stand for the very same elements of one file (tied weights), in the order
  /// of tensors(). Reads no elements.
  std::vector<std::vector<std::string>> tied() const;
  /// Returns groups of names whose type, shape and bytes are equal, whether tied or stored twice. Reads all
  /// tensors that share type and shape with another. Biases of zeros are equal, too: this says what may be
  /// stored once, not what the model ties.
  std::vector<std::vector<std::string>> duplicates() const;

 private:
  friend Checkpoint checkpoint_of(struct CheckpointContents contents,
                                  std::vector<std::filesystem::path> files);
  struct State;
  explicit Checkpoint(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

/// The config.json of a Hugging Face model, read by key and type. Keys may lead into objects:
/// "text_config.hidden_size". Immutable; copies share; thread-safe.
class LATHE_API ModelConfig {
 public:
  /// Opens the file, or config.json of a directory. Throws file_not_found, file_not_regular, file_unreadable,
  /// json_malformed (also for nesting beyond 64), wire_too_large (beyond 16 MiB).
  static ModelConfig open(const std::filesystem::path& path);
  /// Reads JSON text; errors name `origin` in the place of a file. Throws as open() does.
  static ModelConfig parse(std::string_view json, std::string origin = "config.json");

  /// Returns the value of a key. T is bool, int64_t, double (which takes integers, too), std::string,
  /// ModelConfig (an object), or a std::vector of one of the first four. Throws bad_argument, which names the
  /// key, what was expected and what is there, or similar keys.
  template <class T>
  T get(std::string_view key) const;
  /// Returns the fallback where the key is absent or null; a value of another type throws all the same.
  template <class T>
  T get(std::string_view key, T fallback) const {
    return has(key) ? get<T>(key) : fallback;
  }
  /// Returns whether the key is there and not null.
  bool has(std::string_view key) const;
  /// Returns the keys of this object, in the order of the file.
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
