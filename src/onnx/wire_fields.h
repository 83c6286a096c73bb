// The one description of the messages of onnx.proto and onnx-data.proto: for each, the numbers of its fields
// and the members that hold them. Reader and writer both walk it; how a member looks on the wire follows from
// its C++ type.
//
//   visit_fields(node, [](int number, auto& member, auto... packed) { … });   `packed`: written as one packed
//   field
#pragma once

#include "lathe/onnx.h"

namespace lathe::onnx::wire {

struct Packed {};

template <class M, class Message>
concept Is = std::is_same_v<std::remove_const_t<M>, Message>;

void visit_fields(Is<StringStringEntryProto> auto& m, auto&& f) {
  f(1, m.key);
  f(2, m.value);
}
void visit_fields(Is<TensorProto::Segment> auto& m, auto&& f) {
  f(1, m.begin);
  f(2, m.end);
}
void visit_fields(Is<TensorProto> auto& m, auto&& f) {
  f(1, m.dims);
  f(2, m.data_type);
  f(3, m.segment);
  f(4, m.float_data, Packed());
  f(5, m.int32_data, Packed());
  f(6, m.string_data);
  f(7, m.int64_data, Packed());
  f(8, m.name);
  f(12, m.doc_string);
  f(9, m.raw_data);
  f(13, m.external_data);
  f(14, m.data_location);
  f(10, m.double_data, Packed());
  f(11, m.uint64_data, Packed());
  f(16, m.metadata_props);
}
void visit_fields(Is<SparseTensorProto> auto& m, auto&& f) {
  f(1, m.values);
  f(2, m.indices);
  f(3, m.dims);
}
void visit_fields(Is<TensorShapeProto::Dimension> auto& m, auto&& f) {
  f(1, m.dim_value);
  f(2, m.dim_param);
  f(3, m.denotation);
}
void visit_fields(Is<TensorShapeProto> auto& m, auto&& f) { f(1, m.dim); }
void visit_fields(Is<TypeProto::Tensor> auto& m, auto&& f) {
  f(1, m.elem_type);
  f(2, m.shape);
}
void visit_fields(Is<TypeProto::Sequence> auto& m, auto&& f) { f(1, m.elem_type); }
void visit_fields(Is<TypeProto::Map> auto& m, auto&& f) {
  f(1, m.key_type);
  f(2, m.value_type);
}
void visit_fields(Is<TypeProto::Opaque> auto& m, auto&& f) {
  f(1, m.domain);
  f(2, m.name);
}
void visit_fields(Is<TypeProto> auto& m, auto&& f) {
  f(1, m.tensor_type);
  f(4, m.sequence_type);
  f(5, m.map_type);
  f(9, m.optional_type);
  f(8, m.sparse_tensor_type);
  f(7, m.opaque_type);
  f(6, m.denotation);
}
void visit_fields(Is<ValueInfoProto> auto& m, auto&& f) {
  f(1, m.name);
  f(2, m.type);
  f(3, m.doc_string);
  f(4, m.metadata_props);
}
void visit_fields(Is<AttributeProto> auto& m, auto&& f) {
  f(1, m.name);
  f(21, m.ref_attr_name);
  f(13, m.doc_string);
  f(20, m.type);
  f(2, m.f);
  f(3, m.i);
  f(4, m.s);
  f(5, m.t);
  f(6, m.g);
  f(22, m.sparse_tensor);
  f(14, m.tp);
  f(7, m.floats);
  f(8, m.ints);
  f(9, m.strings);
  f(10, m.tensors);
  f(11, m.graphs);
  f(23, m.sparse_tensors);
  f(15, m.type_protos);
}
void visit_fields(Is<IntIntListEntryProto> auto& m, auto&& f) {
  f(1, m.key);
  f(2, m.value);
}
void visit_fields(Is<SimpleShardedDimProto> auto& m, auto&& f) {
  f(1, m.dim_value);
  f(2, m.dim_param);
  f(3, m.num_shards);
}
void visit_fields(Is<ShardedDimProto> auto& m, auto&& f) {
  f(1, m.axis);
  f(2, m.simple_sharding);
}
void visit_fields(Is<ShardingSpecProto> auto& m, auto&& f) {
  f(1, m.tensor_name);
  f(2, m.device);
  f(3, m.index_to_device_group_map);
  f(4, m.sharded_dim);
}
void visit_fields(Is<NodeDeviceConfigurationProto> auto& m, auto&& f) {
  f(1, m.configuration_id);
  f(2, m.sharding_spec);
  f(3, m.pipeline_stage);
}
void visit_fields(Is<DeviceConfigurationProto> auto& m, auto&& f) {
  f(1, m.name);
  f(2, m.num_devices);
  f(3, m.device);
}
void visit_fields(Is<NodeProto> auto& m, auto&& f) {
  f(1, m.input);
  f(2, m.output);
  f(3, m.name);
  f(4, m.op_type);
  f(7, m.domain);
  f(8, m.overload);
  f(5, m.attribute);
  f(6, m.doc_string);
  f(9, m.metadata_props);
  f(10, m.device_configurations);
}
void visit_fields(Is<TensorAnnotation> auto& m, auto&& f) {
  f(1, m.tensor_name);
  f(2, m.quant_parameter_tensor_names);
}
void visit_fields(Is<GraphProto> auto& m, auto&& f) {
  f(1, m.node);
  f(2, m.name);
  f(5, m.initializer);
  f(15, m.sparse_initializer);
  f(10, m.doc_string);
  f(11, m.input);
  f(12, m.output);
  f(13, m.value_info);
  f(14, m.quantization_annotation);
  f(16, m.metadata_props);
}
void visit_fields(Is<OperatorSetIdProto> auto& m, auto&& f) {
  f(1, m.domain);
  f(2, m.version);
}
void visit_fields(Is<FunctionProto> auto& m, auto&& f) {
  f(1, m.name);
  f(4, m.input);
  f(5, m.output);
  f(6, m.attribute);
  f(11, m.attribute_proto);
  f(7, m.node);
  f(8, m.doc_string);
  f(9, m.opset_import);
  f(10, m.domain);
  f(13, m.overload);
  f(12, m.value_info);
  f(14, m.metadata_props);
}
void visit_fields(Is<TrainingInfoProto> auto& m, auto&& f) {
  f(1, m.initialization);
  f(2, m.algorithm);
  f(3, m.initialization_binding);
  f(4, m.update_binding);
}
void visit_fields(Is<ModelProto> auto& m, auto&& f) {
  f(1, m.ir_version);
  f(8, m.opset_import);
  f(2, m.producer_name);
  f(3, m.producer_version);
  f(4, m.domain);
  f(5, m.model_version);
  f(6, m.doc_string);
  f(7, m.graph);
  f(14, m.metadata_props);
  f(20, m.training_info);
  f(25, m.functions);
  f(26, m.configuration);
}
void visit_fields(Is<SequenceProto> auto& m, auto&& f) {
  f(1, m.name);
  f(2, m.elem_type);
  f(3, m.tensor_values);
  f(4, m.sparse_tensor_values);
  f(5, m.sequence_values);
  f(6, m.map_values);
  f(7, m.optional_values);
}
void visit_fields(Is<MapProto> auto& m, auto&& f) {
  f(1, m.name);
  f(2, m.key_type);
  f(3, m.keys);
  f(4, m.string_keys);
  f(5, m.values);
}
void visit_fields(Is<OptionalProto> auto& m, auto&& f) {
  f(1, m.name);
  f(2, m.elem_type);
  f(3, m.tensor_value);
  f(4, m.sparse_tensor_value);
  f(5, m.sequence_value);
  f(6, m.map_value);
  f(7, m.optional_value);
}

/// Messages are the types with a description.
template <class T>
concept Message = requires(T& m) {
  visit_fields(m, [](int, auto&, auto...) {});
};

}  // namespace lathe::onnx::wire
