// What checkpoints say of the weights of exported models, read from their files anew and by their own names:
// what was bound to the modules, and how, has no say in it.
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
  /// The checkpoint of `module`, whose paths begin with `path` in the models. `spelling`: as it was bound.
  /// `models`: every model that is written, before anything is made of it.
  void add(Checkpoint checkpoint, const nn::Module& module, const nn::BindOptions& spelling,
           const std::string& path);

  /// Names of tensors whose elements are in none of the models: nothing reads them there, or what they are
  /// another name for holds something else.
  std::vector<std::string> unused(const std::vector<onnx::Model>& models) const;

  /// The model with the elements of the files in the place of its weights, of its own types. Throws
  /// run_bad_value for weights that are of another shape than the file has them.
  onnx::Model reread(const onnx::Model& model) const;

 private:
  struct Source {
    Checkpoint checkpoint;
    /// Of every parameter's name in the models what the file may call it, the likeliest first.
    std::map<std::string, std::vector<std::string>> names;
  };
  std::vector<Source> sources_;
};

}  // namespace lathe::exporters
