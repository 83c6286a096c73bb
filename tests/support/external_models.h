// Models with external tensors, in every place where a tensor can be.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lathe/onnx.h"

namespace lathe::testing {

using ExternalEntries = std::vector<std::pair<std::string, std::string>>;

/// float32[n], outside.
inline onnx::TensorProto external_tensor(int64_t n, const ExternalEntries& entries, std::string name = "w") {
  onnx::TensorProto t;
  t.name = std::move(name);
  t.dims = {n};
  t.data_type = static_cast<int32_t>(DataType::float32);
  t.data_location = 1;
  for (const auto& [key, value] : entries) t.external_data.push_back({key, value, {}});
  return t;
}

inline onnx::ModelProto empty_model() {
  onnx::ModelProto m;
  m.ir_version = 10;
  onnx::OperatorSetIdProto& o = m.opset_import.emplace_back();
  o.domain = "";
  o.version = 21;
  m.graph.emplace().name = "g";
  return m;
}

inline onnx::ModelProto model_of(onnx::TensorProto t) {
  onnx::ModelProto m = empty_model();
  m.graph->initializer.push_back(std::move(t));
  return m;
}

inline onnx::NodeProto constant_node(onnx::AttributeProto value) {
  onnx::NodeProto n;
  n.op_type = "Constant";
  n.output = {"c"};
  n.attribute.push_back(std::move(value));
  return n;
}

/// The same tensor as initializer, sparse_initializer, Constant value, Constant sparse_value, in a function
/// body, in a subgraph and in a training graph.
inline std::vector<std::pair<std::string, onnx::ModelProto>> models_with(const onnx::TensorProto& t) {
  using namespace onnx;
  SparseTensorProto sparse;
  sparse.values = t;
  sparse.indices = from_tensor(Tensor::from<int64_t>({1}, std::vector<int64_t>{0}));
  sparse.dims = {10};
  AttributeProto value, sparse_value;
  value.name = "value";
  value.type = AttributeProto::TENSOR;
  value.t = t;
  sparse_value.name = "sparse_value";
  sparse_value.type = AttributeProto::SPARSE_TENSOR;
  sparse_value.sparse_tensor = sparse;

  std::vector<std::pair<std::string, ModelProto>> all;
  const auto add = [&](const char* where) -> ModelProto& {
    return all.emplace_back(where, empty_model()).second;
  };
  add("initializer").graph->initializer = {t};
  add("sparse_initializer").graph->sparse_initializer = {sparse};
  add("Constant value").graph->node = {constant_node(value)};
  add("Constant sparse_value").graph->node = {constant_node(sparse_value)};
  FunctionProto f;
  f.name = "f";
  f.node = {constant_node(value)};
  add("function body").functions = {f};
  AttributeProto body;
  body.name = "then_branch";
  body.type = AttributeProto::GRAPH;
  body.g.emplace().initializer = {t};
  NodeProto branch;
  branch.op_type = "If";
  branch.attribute = {body};
  add("subgraph").graph->node = {branch};
  TrainingInfoProto training;
  training.algorithm.emplace().initializer = {t};
  add("training graph").training_info = {training};
  return all;
}

}  // namespace lathe::testing
