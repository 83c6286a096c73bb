#include "exporters/file_weights.h"

#include <algorithm>

#include "base/error_about.h"
#include "nn/access.h"
#include "nn/convert.h"
#include "onnx/tensor_data.h"

namespace lathe::exporters {

void FileWeights::add(Checkpoint checkpoint, const nn::Module& module, const nn::BindOptions& variants,
                      const std::string& path) {
  Source source{std::move(checkpoint), {}};
  for (const nn::NamedParameter& p : module.named_parameters()) {
    std::vector<std::string>& found = source.names[nn::detail::join(path, p.name)];
    std::vector<std::string> paths{p.name};
    paths.insert(paths.end(), p.aliases.begin(), p.aliases.end());
    for (const std::string& own : paths)
      for (std::string& name : nn::detail::path_variants(own, variants))
        if (source.checkpoint.contains(name) && std::ranges::find(found, name) == found.end())
          found.push_back(std::move(name));
  }
  sources_.push_back(std::move(source));
}

std::vector<std::string> FileWeights::unused(const std::vector<onnx::Model>& models) const {
  std::set<std::string> written;
  for (const onnx::Model& m : models)
    for (const onnx::TensorProto& t : m.proto.graph->initializer) written.insert(*t.name);
  std::vector<std::string> all;
  for (const Source& source : sources_) {
    std::set<std::string> used;
    for (const auto& [parameter, names] : source.names)
      if (written.contains(parameter))
        for (const std::string& name : names)
          if (nn::detail::same_elements(source.checkpoint, names.front(), name)) used.insert(name);
    for (const CheckpointTensor& t : source.checkpoint.tensors())
      if (!used.contains(t.name)) all.push_back(t.name);
  }
  return all;
}

onnx::Model FileWeights::reread(const onnx::Model& model) const {
  onnx::Model made = model;
  for (onnx::TensorProto& t : made.proto.graph->initializer)
    for (const Source& source : sources_) {
      const auto at = source.names.find(*t.name);
      if (at == source.names.end() || at->second.empty()) continue;
      const std::string& name = at->second.front();
      Tensor weights = source.checkpoint.tensor(name);
      if (!std::ranges::equal(t.dims, weights.shape()))
        throw error_about(Code::run_bad_value, "validate", *t.name,
                          "weights as the checkpoint has them under '" + name + "': " + describe(weights),
                          describe(Shape(t.dims.begin(), t.dims.end())));
      if (const auto type = static_cast<DataType>(*t.data_type); weights.type() != type)
        weights = nn::converted(weights, type);
      const std::string_view bytes(static_cast<const char*>(weights.data()), weights.bytes());
      t.raw_data = weights.owner() ? onnx::Bytes(bytes, weights.owner()) : onnx::Bytes(std::string(bytes));
      break;
    }
  return made;
}

}  // namespace lathe::exporters
