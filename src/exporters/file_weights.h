// The weights of exported models as the checkpoint files have them, read anew and by their own names: how
// weights were bound to modules has no influence.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "lathe/checkpoint.h"
#include "lathe/nn.h"
#include "lathe/onnx.h"

namespace lathe::exporters {

class FileWeights {
 public:
  /// Adds the checkpoint of `module`, whose paths begin with `path` in the models. `variants`: the options of
  /// its binding.
  void add(Checkpoint checkpoint, const nn::Module& module, const nn::BindOptions& variants,
           const std::string& path);

  /// Returns the names of tensors whose elements are in none of the models: nothing reads them, or the tensor
  /// whose other name they are holds something else. `models`: every model that is written, as emitted.
  std::vector<std::string> unused(const std::vector<onnx::Model>& models) const;

  /// Returns the model with its weights replaced by the elements of the files, in the model's types. Throws
  /// run_bad_value for weights whose shape differs from the file's.
  onnx::Model reread(const onnx::Model& model) const;

 private:
  struct Source {
    Checkpoint checkpoint;
    /// For every parameter's name in the models, the names that the file may have for it, the likeliest
    /// first.
    std::map<std::string, std::vector<std::string>> names;
  };
  std::vector<Source> sources_;
};

}  // namespace lathe::exporters
