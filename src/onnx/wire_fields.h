// The one description of the messages of onnx.proto and onnx-data.proto: for each, the numbers and names of
// its fields, in ascending order as protobuf writes them, and the members that hold them. Reader, writer and
// all that walk a model use it; how a member looks on the wire follows from its C++ type.
//
//   visit_fields(node, [](int number, std::string_view name, auto& member, auto... packed) { … });
//
// `packed` is there where numbers are written as one packed field.
#pragma once

#include "lathe/onnx.h"

namespace lathe::onnx::wire {

struct Packed {};

template <class M, class Message>
concept Is = std::is_same_v<std::remove_const_t<M>, Message>;

void visit_fields(Is<StringStringEntryProto> auto& m, auto&& f) {
  f(1, "key", m.key);
  f(2, "value", m.value);
}
void visit_fields(Is<TensorProto::Segment> auto& m, auto&& f) {
  f(1, "begin", m.begin);
  f(2, "end", m.end);
}
void visit_fields(Is<TensorProto> auto& m, auto&& f) {
  f(1, "dims", m.dims);
  f(2, "data_type", m.data_type);
  f(3, "segment", m.segment);
  f(4, "float_data", m.float_data, Packed());
  f(5, "int32_data", m.int32_data, Packed());
  f(6, "string_data", m.string_data);
  f(7, "int64_data", m.int64_data, Packed());
  f(8, "name", m.name);
  f(9, "raw_data", m.raw_data);
  f(10, "double_data", m.double_data, Packed());
  f(11, "uint64_data", m.uint64_data, Packed());
  f(12, "doc_string", m.doc_string);
  f(13, "external_data", m.external_data);
  f(14, "data_location", m.data_location);
  f(16, "metadata_props", m.metadata_props);
}
void visit_fields(Is<SparseTensorProto> auto& m, auto&& f) {
  f(1, "values", m.values);
  f(2, "indices", m.indices);
  f(3, "dims", m.dims);
}
void visit_fields(Is<TensorShapeProto::Dimension> auto& m, auto&& f) {
  f(1, "dim_value", m.dim_value);
  f(2, "dim_param", m.dim_param);
  f(3, "denotation", m.denotation);
}
void visit_fields(Is<TensorShapeProto> auto& m, auto&& f) { f(1, "dim", m.dim); }
void visit_fields(Is<TypeProto::Tensor> auto& m, auto&& f) {
  f(1, "elem_type", m.elem_type);
  f(2, "shape", m.shape);
}
void visit_fields(Is<TypeProto::Sequence> auto& m, auto&& f) { f(1, "elem_type", m.elem_type); }
void visit_fields(Is<TypeProto::Map> auto& m, auto&& f) {
  f(1, "key_type", m.key_type);
  f(2, "value_type", m.value_type);
}
void visit_fields(Is<TypeProto::Opaque> auto& m, auto&& f) {
  f(1, "domain", m.domain);
  f(2, "name", m.name);
}
void visit_fields(Is<TypeProto> auto& m, auto&& f) {
  f(1, "tensor_type", m.tensor_type);
  f(4, "sequence_type", m.sequence_type);
  f(5, "map_type", m.map_type);
  f(6, "denotation", m.denotation);
  f(7, "opaque_type", m.opaque_type);
  f(8, "sparse_tensor_type", m.sparse_tensor_type);
  f(9, "optional_type", m.optional_type);
}
void visit_fields(Is<ValueInfoProto> auto& m, auto&& f) {
  f(1, "name", m.name);
  f(2, "type", m.type);
  f(3, "doc_string", m.doc_string);
  f(4, "metadata_props", m.metadata_props);
}
void visit_fields(Is<AttributeProto> auto& m, auto&& f) {
  f(1, "name", m.name);
  f(2, "f", m.f);
  f(3, "i", m.i);
  f(4, "s", m.s);
  f(5, "t", m.t);
  f(6, "g", m.g);
  f(7, "floats", m.floats);
  f(8, "ints", m.ints);
  f(9, "strings", m.strings);
  f(10, "tensors", m.tensors);
  f(11, "graphs", m.graphs);
  f(13, "doc_string", m.doc_string);
  f(14, "tp", m.tp);
  f(15, "type_protos", m.type_protos);
  f(20, "type", m.type);
  f(21, "ref_attr_name", m.ref_attr_name);
  f(22, "sparse_tensor", m.sparse_tensor);
  f(23, "sparse_tensors", m.sparse_tensors);
}
void visit_fields(Is<IntIntListEntryProto> auto& m, auto&& f) {
  f(1, "key", m.key);
  f(2, "value", m.value);
}
void visit_fields(Is<SimpleShardedDimProto> auto& m, auto&& f) {
  f(1, "dim_value", m.dim_value);
  f(2, "dim_param", m.dim_param);
  f(3, "num_shards", m.num_shards);
}
void visit_fields(Is<ShardedDimProto> auto& m, auto&& f) {
  f(1, "axis", m.axis);
  f(2, "simple_sharding", m.simple_sharding);
}
void visit_fields(Is<ShardingSpecProto> auto& m, auto&& f) {
  f(1, "tensor_name", m.tensor_name);
  f(2, "device", m.device);
  f(3, "index_to_device_group_map", m.index_to_device_group_map);
  f(4, "sharded_dim", m.sharded_dim);
}
void visit_fields(Is<NodeDeviceConfigurationProto> auto& m, auto&& f) {
  f(1, "configuration_id", m.configuration_id);
  f(2, "sharding_spec", m.sharding_spec);
  f(3, "pipeline_stage", m.pipeline_stage);
}
void visit_fields(Is<DeviceConfigurationProto> auto& m, auto&& f) {
  f(1, "name", m.name);
  f(2, "num_devices", m.num_devices);
  f(3, "device", m.device);
}
void visit_fields(Is<NodeProto> auto& m, auto&& f) {
  f(1, "input", m.input);
  f(2, "output", m.output);
  f(3, "name", m.name);
  f(4, "op_type", m.op_type);
  f(5, "attribute", m.attribute);
  f(6, "doc_string", m.doc_string);
  f(7, "domain", m.domain);
  f(8, "overload", m.overload);
  f(9, "metadata_props", m.metadata_props);
  f(10, "device_configurations", m.device_configurations);
}
void visit_fields(Is<TensorAnnotation> auto& m, auto&& f) {
  f(1, "tensor_name", m.tensor_name);
  f(2, "quant_parameter_tensor_names", m.quant_parameter_tensor_names);
}
void visit_fields(Is<GraphProto> auto& m, auto&& f) {
  f(1, "node", m.node);
  f(2, "name", m.name);
  f(5, "initializer", m.initializer);
  f(10, "doc_string", m.doc_string);
  f(11, "input", m.input);
  f(12, "output", m.output);
  f(13, "value_info", m.value_info);
  f(14, "quantization_annotation", m.quantization_annotation);
  f(15, "sparse_initializer", m.sparse_initializer);
  f(16, "metadata_props", m.metadata_props);
}
void visit_fields(Is<OperatorSetIdProto> auto& m, auto&& f) {
  f(1, "domain", m.domain);
  f(2, "version", m.version);
}
void visit_fields(Is<FunctionProto> auto& m, auto&& f) {
  f(1, "name", m.name);
  f(4, "input", m.input);
  f(5, "output", m.output);
  f(6, "attribute", m.attribute);
  f(7, "node", m.node);
  f(8, "doc_string", m.doc_string);
  f(9, "opset_import", m.opset_import);
  f(10, "domain", m.domain);
  f(11, "attribute_proto", m.attribute_proto);
  f(12, "value_info", m.value_info);
  f(13, "overload", m.overload);
  f(14, "metadata_props", m.metadata_props);
}
void visit_fields(Is<TrainingInfoProto> auto& m, auto&& f) {
  f(1, "initialization", m.initialization);
  f(2, "algorithm", m.algorithm);
  f(3, "initialization_binding", m.initialization_binding);
  f(4, "update_binding", m.update_binding);
}
void visit_fields(Is<ModelProto> auto& m, auto&& f) {
  f(1, "ir_version", m.ir_version);
  f(2, "producer_name", m.producer_name);
  f(3, "producer_version", m.producer_version);
  f(4, "domain", m.domain);
  f(5, "model_version", m.model_version);
  f(6, "doc_string", m.doc_string);
  f(7, "graph", m.graph);
  f(8, "opset_import", m.opset_import);
  f(14, "metadata_props", m.metadata_props);
  f(20, "training_info", m.training_info);
  f(25, "functions", m.functions);
  f(26, "configuration", m.configuration);
}
void visit_fields(Is<SequenceProto> auto& m, auto&& f) {
  f(1, "name", m.name);
  f(2, "elem_type", m.elem_type);
  f(3, "tensor_values", m.tensor_values);
  f(4, "sparse_tensor_values", m.sparse_tensor_values);
  f(5, "sequence_values", m.sequence_values);
  f(6, "map_values", m.map_values);
  f(7, "optional_values", m.optional_values);
}
void visit_fields(Is<MapProto> auto& m, auto&& f) {
  f(1, "name", m.name);
  f(2, "key_type", m.key_type);
  f(3, "keys", m.keys);
  f(4, "string_keys", m.string_keys);
  f(5, "values", m.values);
}
void visit_fields(Is<OptionalProto> auto& m, auto&& f) {
  f(1, "name", m.name);
  f(2, "elem_type", m.elem_type);
  f(3, "tensor_value", m.tensor_value);
  f(4, "sparse_tensor_value", m.sparse_tensor_value);
  f(5, "sequence_value", m.sequence_value);
  f(6, "map_value", m.map_value);
  f(7, "optional_value", m.optional_value);
}

/// Returns whether the field is a member of a oneof: the message has at most one of them, and the last one
/// counts.
constexpr bool is_alternative(const auto&, int) { return false; }
constexpr bool is_alternative(const TypeProto&, int number) { return number != 6; }
constexpr bool is_alternative(const TensorShapeProto::Dimension&, int number) { return number <= 2; }
constexpr bool is_alternative(const SimpleShardedDimProto&, int number) { return number <= 2; }

/// Messages are the types with a description.
template <class T>
concept Message = requires(T& m) {
  visit_fields(m, [](int, std::string_view, auto&, auto...) {});
};

/// The messages that can be read and written by themselves.
#define LATHE_WHOLE_MESSAGES(F) \
  F(ModelProto)                 \
  F(GraphProto)                 \
  F(NodeProto)                  \
  F(TensorProto)                \
  F(SparseTensorProto)          \
  F(AttributeProto)             \
  F(FunctionProto)              \
  F(ValueInfoProto)             \
  F(TypeProto)                  \
  F(SequenceProto)              \
  F(MapProto)                   \
  F(OptionalProto)

}  // namespace lathe::onnx::wire
