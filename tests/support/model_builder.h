// Small models in the file's structure, as tests write them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/type.h"
#include "lathe/onnx.h"
#include "onnx/import_types.h"

namespace lathe::test {

inline onnx::AttributeProto int_attribute(std::string name, int64_t v) {
  onnx::AttributeProto a;
  a.name = std::move(name);
  a.type = onnx::AttributeProto::INT;
  a.i = v;
  return a;
}
inline onnx::AttributeProto string_attribute(std::string name, std::string_view v) {
  onnx::AttributeProto a;
  a.name = std::move(name);
  a.type = onnx::AttributeProto::STRING;
  a.s = onnx::Bytes(std::string(v));
  return a;
}
inline onnx::AttributeProto ints_attribute(std::string name, std::vector<int64_t> v) {
  onnx::AttributeProto a;
  a.name = std::move(name);
  a.type = onnx::AttributeProto::INTS;
  a.ints = std::move(v);
  return a;
}
inline onnx::AttributeProto graph_attribute(std::string name, onnx::GraphProto g) {
  onnx::AttributeProto a;
  a.name = std::move(name);
  a.type = onnx::AttributeProto::GRAPH;
  a.g = std::move(g);
  return a;
}
/// An attribute that refers to attribute `of` of the function's call.
inline onnx::AttributeProto reference_attribute(std::string name, std::string of,
                                                onnx::AttributeProto::Type type) {
  onnx::AttributeProto a;
  a.name = std::move(name);
  a.ref_attr_name = std::move(of);
  a.type = type;
  return a;
}
inline onnx::TensorProto int64_tensor(std::string name, std::vector<int64_t> dims,
                                      std::vector<int64_t> data) {
  onnx::TensorProto t;
  t.name = std::move(name);
  t.dims = std::move(dims);
  t.data_type = static_cast<int32_t>(DataType::int64);
  t.int64_data = std::move(data);
  return t;
}
inline onnx::TensorProto float_tensor(std::string name, std::vector<int64_t> dims, std::vector<float> data) {
  onnx::TensorProto t;
  t.name = std::move(name);
  t.dims = std::move(dims);
  t.data_type = static_cast<int32_t>(DataType::float32);
  t.float_data = std::move(data);
  return t;
}
inline onnx::AttributeProto tensor_attribute(std::string name, onnx::TensorProto v) {
  onnx::AttributeProto a;
  a.name = std::move(name);
  a.type = onnx::AttributeProto::TENSOR;
  a.t = std::move(v);
  return a;
}

inline onnx::NodeProto make_node(std::string op, std::vector<std::string> inputs,
                                 std::vector<std::string> outputs,
                                 std::vector<onnx::AttributeProto> attributes = {}, std::string domain = {}) {
  onnx::NodeProto n;
  n.op_type = std::move(op);
  n.input = std::move(inputs);
  n.output = std::move(outputs);
  n.attribute = std::move(attributes);
  if (!domain.empty()) n.domain = std::move(domain);
  return n;
}
/// "x", "float[N,3]"; no type where the text is empty.
inline onnx::ValueInfoProto make_value(std::string name, std::string_view type) {
  onnx::ValueInfoProto v;
  v.name = std::move(name);
  if (!type.empty()) v.type = export_type(ValueType::parse(type));
  return v;
}

struct ModelBuilder {
  explicit ModelBuilder(int64_t opset, int64_t ir_version = 10) {
    model.proto.ir_version = ir_version;
    model.proto.graph.emplace().name = "test";
    import_opset("", opset);
  }
  ModelBuilder& import_opset(std::string domain, int64_t version) {
    model.proto.opset_import.push_back({std::move(domain), version, {}});
    return *this;
  }
  onnx::GraphProto& graph() { return *model.proto.graph; }
  ModelBuilder& input(std::string name, std::string_view type) {
    graph().input.push_back(make_value(std::move(name), type));
    return *this;
  }
  ModelBuilder& output(std::string name, std::string_view type = {}) {
    graph().output.push_back(make_value(std::move(name), type));
    return *this;
  }
  ModelBuilder& declare(std::string name, std::string_view type) {
    graph().value_info.push_back(make_value(std::move(name), type));
    return *this;
  }
  ModelBuilder& initializer(onnx::TensorProto t) {
    graph().initializer.push_back(std::move(t));
    return *this;
  }
  ModelBuilder& node(std::string op, std::vector<std::string> inputs, std::vector<std::string> outputs,
                     std::vector<onnx::AttributeProto> attributes = {}, std::string domain = {}) {
    graph().node.push_back(make_node(std::move(op), std::move(inputs), std::move(outputs),
                                     std::move(attributes), std::move(domain)));
    return *this;
  }
  ModelBuilder& function(std::string domain, std::string name, std::vector<std::string> inputs,
                         std::vector<std::string> outputs, std::vector<onnx::NodeProto> nodes,
                         std::vector<std::string> attributes = {}, int64_t opset = 0) {
    onnx::FunctionProto f;
    f.domain = std::move(domain);
    f.name = std::move(name);
    f.input = std::move(inputs);
    f.output = std::move(outputs);
    f.node = std::move(nodes);
    f.attribute = std::move(attributes);
    if (opset) f.opset_import.push_back({std::string(), opset, {}});
    model.proto.functions.push_back(std::move(f));
    return *this;
  }

  onnx::Model model;
};

/// A body: inputs and outputs as {name, type}.
using NamedTypes = std::vector<std::pair<std::string, std::string>>;
inline onnx::GraphProto make_body(const NamedTypes& inputs, std::vector<onnx::NodeProto> nodes,
                                  const NamedTypes& outputs) {
  onnx::GraphProto g;
  g.name = "body";
  for (const auto& [name, type] : inputs) g.input.push_back(make_value(name, type));
  g.node = std::move(nodes);
  for (const auto& [name, type] : outputs) g.output.push_back(make_value(name, type));
  return g;
}

}  // namespace lathe::test
