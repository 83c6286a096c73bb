// Tensor data in files beside the model.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "base/file.h"
#include "lathe/onnx.h"

namespace lathe::onnx {

/// The files that a model's tensors refer to. Thread-safe: each file is opened once, however many tensors it
/// has, so that nobody can exchange it between check and use.
class Model::ExternalFiles {
 public:
  using Opener = std::function<std::shared_ptr<const FileBytes>()>;
  /// Returns the file of that name; `open` is called for a new name.
  std::shared_ptr<const FileBytes> find(const std::string& name, const Opener& open);
  /// Records that a tensor has this range. Returns the range of another tensor if both share a part but not
  /// all: tied weights are common, overlapping ones are a sign of forgery.
  std::optional<std::pair<uint64_t, uint64_t>> claim(const std::string& name, uint64_t offset,
                                                     uint64_t length);
  std::vector<std::shared_ptr<const FileBytes>> all() const;

 private:
  struct Open {
    std::shared_ptr<const FileBytes> file;
    std::map<uint64_t, uint64_t> lengths;  // by offset
  };
  mutable std::mutex mutex_;
  std::map<std::string, Open> open_;
};

/// The location of an external tensor's data, as the tensor gives it.
struct ExternalReference {
  std::vector<std::string> path;  // components beneath the model's directory
  uint64_t offset = 0;
  std::optional<uint64_t> length;

  std::string location() const;
};
/// Checks all that can be checked without the file. Throws external_bad_path, external_bad_key,
/// external_bad_range.
ExternalReference parse_reference(const TensorProto& p);

/// Returns the `size` bytes that an external tensor names, mapped (or read, for untrusted models). Throws
/// external_* (12xx).
Bytes open_external(const TensorProto& p, const Model* where, uint64_t size);

}  // namespace lathe::onnx
