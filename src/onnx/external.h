// Data that lies in files beside the model.
#pragma once

#include <functional>
#include <map>
#include <mutex>

#include "lathe/onnx.h"

namespace lathe::onnx {

struct ExternalFile {
  std::string_view bytes;
  std::shared_ptr<const void> owner;
};

/// Thread-safe: each file is opened once, however many tensors lie in it.
class Model::ExternalFiles {
 public:
  ExternalFile open(const std::string& location, const std::function<ExternalFile()>& how);

 private:
  std::mutex mutex_;
  std::map<std::string, ExternalFile> open_;
};

/// The `size` bytes that an external tensor names, mapped (or read, for untrusted models). Paths stay beneath
/// the model's directory. Throws external_* (12xx).
Bytes open_external(const TensorProto& p, const Model* where, uint64_t size);

}  // namespace lathe::onnx
