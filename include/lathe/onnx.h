// lathe::onnx — the ONNX file as it is. Plain structs with the names of onnx.proto (ONNX 1.23, IR version
// 14); reading and writing is lossless: optional fields remember whether they were there, and what is not
// understood is kept in `unknown`.
#pragma once

#include <concepts>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/export.h"
#include "lathe/tensor.h"
#include "lathe/value.h"

namespace lathe::onnx {

/// Bytes that are owned, or a view into a mapped file (kept alive by `owner`). Copies share.
class Bytes {
 public:
  Bytes() = default;
  Bytes(std::string s) : owner_(std::make_shared<const std::string>(std::move(s))) {
    view_ = *static_cast<const std::string*>(owner_.get());
  }
  Bytes(std::string_view view, std::shared_ptr<const void> owner) : view_(view), owner_(std::move(owner)) {}
  std::string_view view() const { return view_; }
  const char* data() const { return view_.data(); }
  size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  friend bool operator==(const Bytes& a, const Bytes& b) { return a.view_ == b.view_; }

 private:
  std::string_view view_;
  std::shared_ptr<const void> owner_;
};

/// An optional whose value lies on the heap: for messages that contain themselves, and for large ones that
/// are mostly absent. Copies are deep.
template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(std::same_as<T> auto v) : p_(std::make_unique<T>(std::move(v))) {}  // NOLINT: as std::optional
  Boxed(const Boxed& o) : p_(o.p_ ? std::make_unique<T>(*o.p_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& o) { return *this = Boxed(o); }
  Boxed& operator=(Boxed&&) noexcept = default;

  bool has_value() const { return p_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  T& operator*() { return *p_; }
  const T& operator*() const { return *p_; }
  T* operator->() { return p_.get(); }
  const T* operator->() const { return p_.get(); }
  T& emplace() { return *(p_ = std::make_unique<T>()); }
  void reset() { p_.reset(); }

 private:
  std::unique_ptr<T> p_;
};

/// Fields of a message that this version does not know, as they were on the wire.
using Unknown = std::string;

struct StringStringEntryProto {
  std::optional<std::string> key, value;
  Unknown unknown;
};
using Entries = std::vector<StringStringEntryProto>;

struct TensorProto {
  struct Segment {
    std::optional<int64_t> begin, end;
    Unknown unknown;
  };
  std::vector<int64_t> dims;
  std::optional<int32_t> data_type;
  std::optional<Segment> segment;
  std::vector<float> float_data;
  std::vector<int32_t> int32_data;
  std::vector<Bytes> string_data;
  std::vector<int64_t> int64_data;
  std::optional<std::string> name, doc_string;
  std::optional<Bytes> raw_data;
  Entries external_data;
  std::optional<int32_t> data_location;  // 1: external
  std::vector<double> double_data;
  std::vector<uint64_t> uint64_data;
  Entries metadata_props;
  Unknown unknown;

  bool is_external() const { return data_location && *data_location == 1; }
};

struct SparseTensorProto {
  std::optional<TensorProto> values, indices;
  std::vector<int64_t> dims;
  Unknown unknown;
};

struct TensorShapeProto {
  struct Dimension {
    std::optional<int64_t> dim_value;  // at most one of both
    std::optional<std::string> dim_param;
    std::optional<std::string> denotation;
    Unknown unknown;
  };
  std::vector<Dimension> dim;
  Unknown unknown;
};

struct TypeProto {
  struct Tensor {
    std::optional<int32_t> elem_type;
    std::optional<TensorShapeProto> shape;
    Unknown unknown;
  };
  struct Sequence {
    Boxed<TypeProto> elem_type;
    Unknown unknown;
  };
  struct Map {
    std::optional<int32_t> key_type;
    Boxed<TypeProto> value_type;
    Unknown unknown;
  };
  struct Opaque {
    std::optional<std::string> domain, name;
    Unknown unknown;
  };
  // oneof
  std::optional<Tensor> tensor_type;
  Boxed<Sequence> sequence_type;
  Boxed<Map> map_type;
  Boxed<Sequence> optional_type;  // same fields as Sequence
  Boxed<Tensor> sparse_tensor_type;
  Boxed<Opaque> opaque_type;
  std::optional<std::string> denotation;
  Unknown unknown;
};

struct ValueInfoProto {
  std::optional<std::string> name;
  std::optional<TypeProto> type;
  std::optional<std::string> doc_string;
  Entries metadata_props;
  Unknown unknown;
};

struct GraphProto;

struct AttributeProto {
  enum Type {
    UNDEFINED = 0,
    FLOAT = 1,
    INT = 2,
    STRING = 3,
    TENSOR = 4,
    GRAPH = 5,
    FLOATS = 6,
    INTS = 7,
    STRINGS = 8,
    TENSORS = 9,
    GRAPHS = 10,
    SPARSE_TENSOR = 11,
    SPARSE_TENSORS = 12,
    TYPE_PROTO = 13,
    TYPE_PROTOS = 14,
  };
  std::optional<std::string> name, ref_attr_name, doc_string;
  std::optional<int32_t> type;
  std::optional<float> f;
  std::optional<int64_t> i;
  std::optional<Bytes> s;
  Boxed<TensorProto> t;
  Boxed<GraphProto> g;
  Boxed<SparseTensorProto> sparse_tensor;
  Boxed<TypeProto> tp;
  std::vector<float> floats;
  std::vector<int64_t> ints;
  std::vector<Bytes> strings;
  std::vector<TensorProto> tensors;
  std::vector<GraphProto> graphs;
  std::vector<SparseTensorProto> sparse_tensors;
  std::vector<TypeProto> type_protos;
  Unknown unknown;
};

struct IntIntListEntryProto {
  std::optional<int64_t> key;
  std::vector<int64_t> value;
  Unknown unknown;
};
struct SimpleShardedDimProto {
  std::optional<int64_t> dim_value;
  std::optional<std::string> dim_param;
  std::optional<int64_t> num_shards;
  Unknown unknown;
};
struct ShardedDimProto {
  std::optional<int64_t> axis;
  std::vector<SimpleShardedDimProto> simple_sharding;
  Unknown unknown;
};
struct ShardingSpecProto {
  std::optional<std::string> tensor_name;
  std::vector<int64_t> device;
  std::vector<IntIntListEntryProto> index_to_device_group_map;
  std::vector<ShardedDimProto> sharded_dim;
  Unknown unknown;
};
struct NodeDeviceConfigurationProto {
  std::optional<std::string> configuration_id;
  std::vector<ShardingSpecProto> sharding_spec;
  std::optional<int32_t> pipeline_stage;
  Unknown unknown;
};
struct DeviceConfigurationProto {
  std::optional<std::string> name;
  std::optional<int32_t> num_devices;
  std::vector<std::string> device;
  Unknown unknown;
};

struct NodeProto {
  std::vector<std::string> input, output;
  std::optional<std::string> name, op_type, domain, overload;
  std::vector<AttributeProto> attribute;
  std::optional<std::string> doc_string;
  Entries metadata_props;
  std::vector<NodeDeviceConfigurationProto> device_configurations;
  Unknown unknown;
};

struct TensorAnnotation {
  std::optional<std::string> tensor_name;
  Entries quant_parameter_tensor_names;
  Unknown unknown;
};

struct GraphProto {
  std::vector<NodeProto> node;
  std::optional<std::string> name;
  std::vector<TensorProto> initializer;
  std::vector<SparseTensorProto> sparse_initializer;
  std::optional<std::string> doc_string;
  std::vector<ValueInfoProto> input, output, value_info;
  std::vector<TensorAnnotation> quantization_annotation;
  Entries metadata_props;
  Unknown unknown;
};

struct OperatorSetIdProto {
  std::optional<std::string> domain;
  std::optional<int64_t> version;
  Unknown unknown;
};

struct FunctionProto {
  std::optional<std::string> name;
  std::vector<std::string> input, output, attribute;
  std::vector<AttributeProto> attribute_proto;
  std::vector<NodeProto> node;
  std::optional<std::string> doc_string;
  std::vector<OperatorSetIdProto> opset_import;
  std::optional<std::string> domain, overload;
  std::vector<ValueInfoProto> value_info;
  Entries metadata_props;
  Unknown unknown;
};

struct TrainingInfoProto {
  std::optional<GraphProto> initialization, algorithm;
  Entries initialization_binding, update_binding;
  Unknown unknown;
};

struct ModelProto {
  std::optional<int64_t> ir_version;
  std::vector<OperatorSetIdProto> opset_import;
  std::optional<std::string> producer_name, producer_version, domain;
  std::optional<int64_t> model_version;
  std::optional<std::string> doc_string;
  std::optional<GraphProto> graph;
  Entries metadata_props;
  std::vector<TrainingInfoProto> training_info;
  std::vector<FunctionProto> functions;
  std::vector<DeviceConfigurationProto> configuration;
  Unknown unknown;
};

/// onnx-data.proto: values as test data and tools store them.
struct SequenceProto;
struct MapProto;
struct OptionalProto;
struct SequenceProto {
  std::optional<std::string> name;
  std::optional<int32_t> elem_type;  // 1 tensor, 2 sparse, 3 sequence, 4 map, 5 optional
  std::vector<TensorProto> tensor_values;
  std::vector<SparseTensorProto> sparse_tensor_values;
  std::vector<SequenceProto> sequence_values;
  std::vector<MapProto> map_values;
  std::vector<OptionalProto> optional_values;
  Unknown unknown;
};
struct MapProto {
  std::optional<std::string> name;
  std::optional<int32_t> key_type;
  std::vector<int64_t> keys;
  std::vector<Bytes> string_keys;
  Boxed<SequenceProto> values;
  Unknown unknown;
};
struct OptionalProto {
  std::optional<std::string> name;
  std::optional<int32_t> elem_type;
  std::optional<TensorProto> tensor_value;
  std::optional<SparseTensorProto> sparse_tensor_value;
  Boxed<SequenceProto> sequence_value;
  Boxed<MapProto> map_value;
  Boxed<OptionalProto> optional_value;
  Unknown unknown;
};

/// How files that a model refers to are opened.
struct LoadOptions {
  /// Read into private memory instead of mapping, so that a file that changes afterwards cannot hurt. Tensors
  /// are then copied.
  bool untrusted = false;
  /// Directories (besides none) whose files may be reached through symbolic or hard links: Hugging Face's
  /// cache is made of links.
  std::vector<std::filesystem::path> link_roots;
  /// Look at external data at all; false leaves TensorProtos external.
  bool external_data = true;
  /// Refuse models of more bytes than this (message only; external data apart).
  uint64_t max_bytes = uint64_t{1} << 46;
  int max_depth = 400;  // nesting of messages
};

/// A model in memory: the message, and what its tensors point into. Movable; const access is thread-safe.
class LATHE_API Model {
 public:
  Model();
  ModelProto proto;
  /// Where external data is looked for; empty for models from bytes (external data is then refused).
  std::filesystem::path directory;
  /// Options it was loaded with; used when external tensors are opened.
  LoadOptions options;

  /// Maps the file; weights stay in it until touched. Files of external data are opened and every reference
  /// to them is checked (not when LoadOptions::external_data is false). Text (.txt, .onnxtxt) is recognised.
  /// Throws Error (1xxx; 21xx for external tensors whose type or dims are wrong).
  static Model load(const std::filesystem::path& path, const LoadOptions& options = {});
  /// Borrows nothing: `bytes` is copied unless `owner` keeps it alive.
  static Model parse(std::string_view bytes, const LoadOptions& options = {},
                     std::shared_ptr<const void> owner = {});

  /// Files of external data that are open already, by location; shared by copies of the model.
  class ExternalFiles;
  ExternalFiles& external_files() const { return *files_; }

 private:
  std::shared_ptr<ExternalFiles> files_;
};

/// Throws Code::external_truncated where a file that a model maps has become shorter: touching what is
/// missing would raise SIGBUS. Thread-safe.
LATHE_API void check_not_truncated(const Model& m);
/// For programs, not for libraries: from now on a SIGBUS of the process prints that error and exits with
/// code 1.
LATHE_API void exit_on_truncated_file();

struct SaveOptions {
  /// keep: tensors stay inside or outside as they are; saved to another directory, those outside are copied
  /// there. single_file: all inside, whatever the size (other tools stop at 2 GB). external: outside, from
  /// the threshold on; strings stay inside.
  enum class Data : uint8_t { keep, single_file, external };
  Data data = Data::keep;
  std::string external_name;          // file name beside the model; default: <model>.data
  int64_t external_threshold = 1024;  // in bytes
  bool text = false;  // the text format, which has no place for doc strings of nodes and the like
};

/// Streams it out beside the target and renames: nothing half-written is left, weights are never held twice.
/// External data goes into one file, each tensor at a multiple of 64 bytes (4096 from 4096 bytes on). Throws
/// file_write_failed, external_* for references that lead nowhere or out of the directory.
LATHE_API void save(const Model& m, const std::filesystem::path& path, const SaveOptions& options = {});

// One message from and to bytes, for every message type above. `parse` throws Error (11xx).
// Instantiated for ModelProto, GraphProto, NodeProto, TensorProto, SparseTensorProto, AttributeProto,
// FunctionProto, ValueInfoProto, TypeProto, SequenceProto, MapProto, OptionalProto.
template <class Message>
LATHE_API Message parse(std::string_view bytes, const LoadOptions& options = {},
                        std::shared_ptr<const void> owner = {});
template <class Message>
LATHE_API std::string serialize(const Message& m);

/// The ONNX text format (onnx/docs/Syntax.md). For ModelProto, GraphProto, FunctionProto, NodeProto. It has
/// no place for metadata and doc strings below the model, denotations, quantization annotations, training and
/// device information, whether empty texts are present, and unknown fields; all else comes back, tensors as
/// typed data. to_text throws Error (21xx) on tensors that to_tensor refuses, from_text throws text_syntax.
template <class Message>
LATHE_API std::string to_text(const Message& m);
template <class Message>
LATHE_API Message from_text(std::string_view text);

/// The tensor a TensorProto describes, checked (types, counts, ranges). A view where raw little-endian bytes
/// lie aligned in mapped memory, else a copy. `where` opens external data: the model that it belongs to; null
/// refuses it. Throws Error (12xx, 21xx).
LATHE_API lathe::Tensor to_tensor(const TensorProto& p, const Model* where = nullptr);
LATHE_API TensorProto from_tensor(const lathe::Tensor& t, std::string name = {});
/// Sparse to dense of the declared shape, checked; and kept sparse.
LATHE_API lathe::Tensor to_dense(const SparseTensorProto& p, const Model* where = nullptr);
LATHE_API lathe::SparseTensor to_sparse(const SparseTensorProto& p, const Model* where = nullptr);
LATHE_API lathe::Value to_value(const SequenceProto& p);
LATHE_API lathe::Value to_value(const OptionalProto& p);
LATHE_API lathe::Value to_value(const MapProto& p);

}  // namespace lathe::onnx
