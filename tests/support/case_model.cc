#include "support/case_model.h"

#include <algorithm>
#include <cmath>

#include "schema/schema.h"

namespace lathe::testing {
namespace {

onnx::AttributeProto attribute_of(const std::string& name, const AttributeValue& v) {
  onnx::AttributeProto a;
  a.name = name;
  auto kind = [&](onnx::AttributeProto::Type t) { a.type = t; };
  if (auto* i = std::get_if<int64_t>(&v)) a.i = *i, kind(onnx::AttributeProto::INT);
  if (auto* f = std::get_if<float>(&v)) a.f = *f, kind(onnx::AttributeProto::FLOAT);
  if (auto* s = std::get_if<std::string>(&v)) a.s = onnx::Bytes(*s), kind(onnx::AttributeProto::STRING);
  if (auto* t = std::get_if<Tensor>(&v)) a.t = onnx::from_tensor(*t), kind(onnx::AttributeProto::TENSOR);
  if (auto* x = std::get_if<std::vector<int64_t>>(&v)) a.ints = *x, kind(onnx::AttributeProto::INTS);
  if (auto* x = std::get_if<std::vector<float>>(&v)) a.floats = *x, kind(onnx::AttributeProto::FLOATS);
  if (auto* x = std::get_if<std::vector<std::string>>(&v)) {
    for (const std::string& s : *x) a.strings.emplace_back(s);
    kind(onnx::AttributeProto::STRINGS);
  }
  return a;
}

/// One unit in the last place, relative to the value.
double epsilon_of(DataType t) {
  switch (t) {
    case DataType::float64:
      return 0x1p-52;
    case DataType::float16:
      return 0x1p-10;
    case DataType::bfloat16:
      return 0x1p-7;
    default:
      return 0x1p-23;
  }
}

}  // namespace

onnx::TypeProto type_of_value(const Value& v) {
  onnx::TypeProto t;
  if (v.is_tensor()) {
    onnx::TypeProto::Tensor tensor;
    tensor.elem_type = static_cast<int32_t>(v.tensor().type());
    onnx::TensorShapeProto shape;
    for (int64_t d : v.tensor().shape()) {
      onnx::TensorShapeProto::Dimension dim;
      dim.dim_value = d;
      shape.dim.push_back(dim);
    }
    tensor.shape = shape;
    t.tensor_type = tensor;
  } else if (v.is_sequence()) {
    const auto& items = *v.sequence().items;
    onnx::TypeProto::Tensor element;
    element.elem_type = static_cast<int32_t>(items.empty() ? v.sequence().elem : items[0].tensor().type());
    onnx::TypeProto inner;
    inner.tensor_type = element;
    t.sequence_type = onnx::TypeProto::Sequence{inner, {}};
  }
  return t;
}

onnx::ModelProto model_of(const OpCase& c) {
  onnx::ModelProto m;
  m.ir_version = newest_ir_version;
  onnx::OperatorSetIdProto opset;
  opset.domain = "";
  opset.version = c.opset ? c.opset : newest_opset;
  m.opset_import.push_back(opset);
  if (!c.domain.empty()) {
    onnx::OperatorSetIdProto other;
    other.domain = c.domain;
    constexpr int newest_ml = 5;
    other.version = c.domain != "ai.onnx.ml" ? 1 : c.opset ? c.opset : newest_ml;
    m.opset_import.push_back(other);
  }
  onnx::GraphProto g;
  g.name = "case";
  onnx::NodeProto n;
  n.name = c.name;
  n.op_type = c.op;
  n.domain = c.domain;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const std::string name = "x" + std::to_string(i);
    if (c.inputs[i].empty()) {
      n.input.emplace_back();
      continue;
    }
    n.input.push_back(name);
    if (c.constant[i]) {
      g.initializer.push_back(onnx::from_tensor(c.inputs[i].tensor(), name));
      continue;
    }
    onnx::ValueInfoProto info;
    info.name = name;
    info.type = type_of_value(c.inputs[i]);
    g.input.push_back(info);
  }
  for (size_t i = 0; i < c.outputs; ++i) {
    onnx::ValueInfoProto info;
    info.name = "y" + std::to_string(i);
    n.output.push_back(*info.name);
    g.output.push_back(info);
  }
  for (const auto& a : c.attributes) n.attribute.push_back(attribute_of(a.name, a.value));
  g.node.push_back(std::move(n));
  m.graph = std::move(g);
  return m;
}

std::vector<Value> inputs_of(const OpCase& c) {
  std::vector<Value> list;
  for (size_t i = 0; i < c.inputs.size(); ++i)
    if (!c.inputs[i].empty() && !c.constant[i]) list.push_back(c.inputs[i]);
  return list;
}

Tolerance tolerance_of(const OpCase& c, const Value& v) {
  if (c.rtol || c.atol) return {c.rtol, c.atol};
  const OpSchema* schema = SchemaCatalog::standard().find(c.domain, c.op);
  if (!schema || !v.is_tensor() || !is_float(v.tensor().type())) return {0, 0};
  const ToleranceSpec& n = schema->tolerance();
  if (n.exact) return {0, 0};
  double e = n.epsilons * epsilon_of(v.tensor().type());
  if (n.per_reduced) {
    int64_t longest = 1;
    for (const Value& in : c.inputs)
      if (in.is_tensor())
        for (int64_t d : in.tensor().shape()) longest = std::max(longest, d);
    e *= std::sqrt(static_cast<double>(longest));
  }
  return {e, e};
}

bool is_random(const OpCase& c) {
  const OpSchema* s = SchemaCatalog::standard().find(c.domain, c.op);
  return s && s->tolerance().random;
}

}  // namespace lathe::testing
