#include "onnx/import_types.h"

#include "lathe/error.h"
#include "onnx/tensor_data.h"

namespace lathe {
namespace {

DataType element_type(std::optional<int32_t> t) {
  if (!t) return DataType::undefined;
  if (*t < 0 || *t >= data_type_count)
    throw Error(Code::tensor_bad_type, "import", "an element type below " + std::to_string(data_type_count),
                std::to_string(*t), "the file is damaged, or made by a newer version of ONNX");
  return static_cast<DataType>(*t);
}

ValueType tensor_type(ValueType::Kind kind, const onnx::TypeProto::Tensor& p,
                      const DimensionReader& dimension) {
  ValueType t;
  t.kind = kind;
  t.elem = element_type(p.elem_type);
  if (!p.shape) return t;
  if (p.shape->dim.size() > max_rank)
    throw Error(Code::tensor_bad_shape, "import", "at most " + std::to_string(max_rank) + " dimensions",
                std::to_string(p.shape->dim.size()), {});
  t.shape.emplace();
  for (size_t i = 0; i < p.shape->dim.size(); ++i) t.shape->push_back(dimension(p.shape->dim[i], i));
  return t;
}

ValueType import_nested(const onnx::TypeProto& p, const DimensionReader& dimension, int depth) {
  if (depth > 64) throw Error(Code::graph_too_deep, "import", "at most 64 nested types", "more", {});
  auto inner = [&](const onnx::Boxed<onnx::TypeProto>& t) {
    return t ? import_nested(*t, declared_dimension, depth + 1) : ValueType{};
  };
  if (p.tensor_type) return tensor_type(ValueType::Kind::tensor, *p.tensor_type, dimension);
  if (p.sparse_tensor_type) return tensor_type(ValueType::Kind::sparse, *p.sparse_tensor_type, dimension);
  if (p.sequence_type) return ValueType::sequence(inner(p.sequence_type->elem_type));
  if (p.optional_type) return ValueType::optional(inner(p.optional_type->elem_type));
  if (p.map_type) return ValueType::map(element_type(p.map_type->key_type), inner(p.map_type->value_type));
  return {};
}

[[noreturn]] void unsupported(const onnx::AttributeProto& p, std::string_view kind) {
  throw Error(Code::node_bad_attribute, "import", "an attribute kind that operators of the standard use",
              "'" + p.name.value_or("") + "' of kind " + std::string(kind), {});
}

}  // namespace

Dim declared_dimension(const onnx::TensorShapeProto::Dimension& d, size_t) {
  return d.dim_value && *d.dim_value >= 0 ? Dim(*d.dim_value) : Dim::unknown();
}

ValueType import_type(const onnx::TypeProto& p, const DimensionReader& dimension) {
  return import_nested(p, dimension, 0);
}

onnx::TypeProto export_type(const ValueType& t) {
  onnx::TypeProto p;
  auto tensor = [&] {
    onnx::TypeProto::Tensor r;
    if (t.elem != DataType::undefined) r.elem_type = static_cast<int32_t>(t.elem);
    if (!t.shape) return r;
    r.shape.emplace();
    for (const Dim& d : *t.shape) {
      onnx::TensorShapeProto::Dimension out;
      if (d.is_constant())
        out.dim_value = d.constant();
      else if (!d.has_unknown())
        out.dim_param = d.symbol_name().value_or(d.str());
      r.shape->dim.push_back(std::move(out));
    }
    return r;
  };
  auto inner = [&] { return t.inner ? export_type(*t.inner) : onnx::TypeProto{}; };
  switch (t.kind) {
    case ValueType::Kind::none:
      break;
    case ValueType::Kind::tensor:
      p.tensor_type = tensor();
      break;
    case ValueType::Kind::sparse:
      p.sparse_tensor_type = tensor();
      break;
    case ValueType::Kind::sequence:
      p.sequence_type = onnx::TypeProto::Sequence{inner(), {}};
      break;
    case ValueType::Kind::optional:
      p.optional_type = onnx::TypeProto::Sequence{inner(), {}};
      break;
    case ValueType::Kind::map:
      p.map_type = onnx::TypeProto::Map{static_cast<int32_t>(t.elem), inner(), {}};
      break;
  }
  return p;
}

onnx::AttributeProto::Type attribute_type(const onnx::AttributeProto& p) {
  using A = onnx::AttributeProto;
  if (p.type && *p.type != A::UNDEFINED) {
    if (*p.type < 0 || *p.type > A::TYPE_PROTOS)
      throw Error(Code::node_bad_attribute, "import",
                  "an attribute kind up to " + std::to_string(A::TYPE_PROTOS),
                  "'" + p.name.value_or("") + "' of kind " + std::to_string(*p.type),
                  "the file is damaged, or made by a newer version of ONNX");
    return static_cast<A::Type>(*p.type);
  }
  if (p.f) return A::FLOAT;
  if (p.i) return A::INT;
  if (p.s) return A::STRING;
  if (p.t) return A::TENSOR;
  if (p.g) return A::GRAPH;
  if (p.sparse_tensor) return A::SPARSE_TENSOR;
  if (p.tp) return A::TYPE_PROTO;
  if (!p.floats.empty()) return A::FLOATS;
  if (!p.strings.empty()) return A::STRINGS;
  if (!p.tensors.empty()) return A::TENSORS;
  return A::INTS;  // an empty list does not show its kind; integers are most common
}

AttributeValue import_attribute(const onnx::AttributeProto& p, const onnx::Model* model,
                                RunControl* control) {
  using A = onnx::AttributeProto;
  auto text = [](const onnx::Bytes& b) { return std::string(b.view()); };
  auto missing = [&](std::string_view what) {
    return Error(Code::node_bad_attribute, "import",
                 "attribute '" + p.name.value_or("") + "' with a " + std::string(what), "none", {});
  };
  switch (attribute_type(p)) {
    case A::FLOAT:
      return p.f.value_or(0);
    case A::INT:
      return p.i.value_or(0);
    case A::STRING:
      return p.s ? text(*p.s) : std::string();
    case A::TENSOR:
      if (!p.t) throw missing("tensor");
      return onnx::to_tensor(*p.t, model, control);
    case A::SPARSE_TENSOR:
      if (!p.sparse_tensor) throw missing("sparse tensor");
      return onnx::to_dense(*p.sparse_tensor, model);
    case A::TYPE_PROTO:
      if (!p.tp) throw missing("type");
      return import_type(*p.tp).str();
    case A::FLOATS:
      return p.floats;
    case A::INTS:
      return p.ints;
    case A::STRINGS: {
      std::vector<std::string> all;
      for (const onnx::Bytes& b : p.strings) all.push_back(text(b));
      return all;
    }
    case A::TENSORS: {
      std::vector<Tensor> all;
      for (const onnx::TensorProto& t : p.tensors) all.push_back(onnx::to_tensor(t, model, control));
      return all;
    }
    case A::GRAPH:
      unsupported(p, "graph");
    case A::GRAPHS:
      unsupported(p, "graphs");
    case A::SPARSE_TENSORS:
      unsupported(p, "sparse tensors");
    case A::TYPE_PROTOS:
      unsupported(p, "types");
    case A::UNDEFINED:
      break;
  }
  unsupported(p, "undefined");
}

}  // namespace lathe
