// lathe::onnx — the messages of ONNX files. Plain structs with the names of onnx.proto (ONNX 1.23, IR version
// 14), whose comments define the fields; reading and writing is lossless: optional fields remember whether
// they were there, and fields that this version does not know are kept in `unknown`.
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

/// Bytes that are owned, or a view of a mapped file, which `owner` keeps alive. Copies share the bytes.
/// Immutable; thread-safe.
class Bytes {
 public:
  /// Makes no bytes.
  Bytes() = default;
  /// Makes bytes that are owned, or that `owner` keeps alive.
  Bytes(std::string s) : owner_(std::make_shared<const std::string>(std::move(s))) {
    view_ = *static_cast<const std::string*>(owner_.get());
  }
  Bytes(std::string_view view, std::shared_ptr<const void> owner) : view_(view), owner_(std::move(owner)) {}
  /// Returns the bytes.
  std::string_view view() const { return view_; }
  /// Returns the address of the first byte.
  const char* data() const { return view_.data(); }
  /// Returns the number of bytes.
  size_t size() const { return view_.size(); }
  /// Returns whether there are none.
  bool empty() const { return view_.empty(); }
  /// Returns what keeps the bytes alive.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  /// Returns whether the bytes are equal.
  friend bool operator==(const Bytes& a, const Bytes& b) { return a.view_ == b.view_; }

 private:
  std::string_view view_;
  std::shared_ptr<const void> owner_;
};

/// An optional whose value is on the heap: for messages that contain themselves, and for large ones that are
/// mostly absent. Copies are deep. The interface is that of std::optional; an absent value must not be read.
template <class T>
class Boxed {
 public:
  /// Makes an absent value.
  Boxed() = default;
  /// Makes a value, or a deep copy.
  Boxed(std::same_as<T> auto v) : p_(std::make_unique<T>(std::move(v))) {}  // NOLINT: as std::optional
  Boxed(const Boxed& o) : p_(o.p_ ? std::make_unique<T>(*o.p_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  /// Replaces the value with a deep copy.
  Boxed& operator=(const Boxed& o) { return *this = Boxed(o); }
  Boxed& operator=(Boxed&&) noexcept = default;

  /// Returns whether there is a value.
  bool has_value() const { return p_ != nullptr; }
  /// Returns whether there is a value.
  explicit operator bool() const { return has_value(); }
  /// Returns the value.
  T& operator*() { return *p_; }
  /// Returns the value.
  const T& operator*() const { return *p_; }
  /// Returns the address of the value; null where there is none.
  T* operator->() { return p_.get(); }
  /// Returns the address of the value; null where there is none.
  const T* operator->() const { return p_.get(); }
  /// Makes a new value with all fields absent.
  T& emplace() { return *(p_ = std::make_unique<T>()); }
  /// Removes the value.
  void reset() { p_.reset(); }

 private:
  std::unique_ptr<T> p_;
};

/// Fields of a message that this version does not know, as they were in the file.
using Unknown = std::string;

/// A key and a value of text.
struct StringStringEntryProto {
  std::optional<std::string> key, value;  // texts, UTF-8
  Unknown unknown;                        // fields of newer versions
};
/// Texts by key.
using Entries = std::vector<StringStringEntryProto>;

/// A dense tensor: element type, shape, and the elements in raw_data, in the list of their type, or in a file
/// (external_data).
struct TensorProto {
  /// The elements that a chunk of a tensor holds; no released tool writes it.
  struct Segment {
    std::optional<int64_t> begin, end;  // first element, and the one behind the last
    Unknown unknown;                    // fields of newer versions
  };
  std::vector<int64_t> dims;         // sizes, outermost first
  std::optional<int32_t> data_type;  // number of a DataType
  std::optional<Segment> segment;    // refused where it is there
  std::vector<float> float_data;     // elements of float32 and complex64
  std::vector<int32_t> int32_data;   // elements of integers up to 32 bits, bool, and floats up to 16 bits
  std::vector<Bytes> string_data;    // elements of string
  std::vector<int64_t> int64_data;   // elements of int64
  std::optional<std::string> name, doc_string;  // name in the graph; text for people
  std::optional<Bytes> raw_data;                // elements of any type but string, little-endian, packed
  Entries external_data;                        // location, offset, length, checksum
  std::optional<int32_t> data_location;         // 1: external
  std::vector<double> double_data;              // elements of float64 and complex128
  std::vector<uint64_t> uint64_data;            // elements of uint32 and uint64
  Entries metadata_props;                       // keys and values of tools
  Unknown unknown;                              // fields of newer versions

  /// Returns whether the elements are in another file (data_location EXTERNAL).
  bool is_external() const { return data_location && *data_location == 1; }
};

/// A sparse tensor in coordinate format.
struct SparseTensorProto {
  std::optional<TensorProto> values, indices;  // [NNZ]; int64 [NNZ, rank] or linear [NNZ]
  std::vector<int64_t> dims;                   // sizes, outermost first
  Unknown unknown;                             // fields of newer versions
};

/// A shape.
struct TensorShapeProto {
  /// One size of a shape: a number, a name, or neither.
  struct Dimension {
    std::optional<int64_t> dim_value;       // at most one of both
    std::optional<std::string> dim_param;   // name of the size, or an expression
    std::optional<std::string> denotation;  // meaning of the size or type, for people
    Unknown unknown;                        // fields of newer versions
  };
  std::vector<Dimension> dim;  // sizes, outermost first
  Unknown unknown;             // fields of newer versions
};

/// The type of a value: one of the types below.
struct TypeProto {
  /// The type of a dense or sparse tensor.
  struct Tensor {
    std::optional<int32_t> elem_type;       // number of a DataType
    std::optional<TensorShapeProto> shape;  // nothing: any rank
    Unknown unknown;                        // fields of newer versions
  };
  /// The type of a sequence, or of an optional.
  struct Sequence {
    Boxed<TypeProto> elem_type;  // type of the elements
    Unknown unknown;             // fields of newer versions
  };
  /// The type of a map.
  struct Map {
    std::optional<int32_t> key_type;  // number of a DataType: an integer type or string
    Boxed<TypeProto> value_type;      // type of the values
    Unknown unknown;                  // fields of newer versions
  };
  /// A type that ONNX does not define.
  struct Opaque {
    std::optional<std::string> domain, name;  // domain and name of the type
    Unknown unknown;                          // fields of newer versions
  };
  // oneof
  std::optional<Tensor> tensor_type;      // a dense tensor
  Boxed<Sequence> sequence_type;          // a sequence
  Boxed<Map> map_type;                    // a map
  Boxed<Sequence> optional_type;          // same fields as Sequence
  Boxed<Tensor> sparse_tensor_type;       // a sparse tensor
  Boxed<Opaque> opaque_type;              // another type
  std::optional<std::string> denotation;  // meaning of the size or type, for people
  Unknown unknown;                        // fields of newer versions
};

/// The name and type of a value.
struct ValueInfoProto {
  std::optional<std::string> name;        // name of the value
  std::optional<TypeProto> type;          // nothing: not known
  std::optional<std::string> doc_string;  // text for people
  Entries metadata_props;                 // keys and values of tools
  Unknown unknown;                        // fields of newer versions
};

struct GraphProto;

/// An attribute of a node: a name, and one value or a list of values.
struct AttributeProto {
  /// Names the field that holds the value.
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
  /// Name; name of the function's attribute that it takes its value from; text for people.
  std::optional<std::string> name, ref_attr_name, doc_string;
  std::optional<int32_t> type;                    // number of a Type
  std::optional<float> f;                         // value of FLOAT
  std::optional<int64_t> i;                       // value of INT
  std::optional<Bytes> s;                         // value of STRING
  Boxed<TensorProto> t;                           // value of TENSOR
  Boxed<GraphProto> g;                            // value of GRAPH
  Boxed<SparseTensorProto> sparse_tensor;         // value of SPARSE_TENSOR
  Boxed<TypeProto> tp;                            // value of TYPE_PROTO
  std::vector<float> floats;                      // values of FLOATS
  std::vector<int64_t> ints;                      // values of INTS
  std::vector<Bytes> strings;                     // values of STRINGS
  std::vector<TensorProto> tensors;               // values of TENSORS
  std::vector<GraphProto> graphs;                 // values of GRAPHS
  std::vector<SparseTensorProto> sparse_tensors;  // values of SPARSE_TENSORS
  std::vector<TypeProto> type_protos;             // values of TYPE_PROTOS
  Unknown unknown;                                // fields of newer versions
};

/// A number and a list of numbers.
struct IntIntListEntryProto {
  std::optional<int64_t> key;  // the number
  std::vector<int64_t> value;  // the list
  Unknown unknown;             // fields of newer versions
};
/// How one axis is divided among devices.
struct SimpleShardedDimProto {
  std::optional<int64_t> dim_value;      // size of the axis, as a number
  std::optional<std::string> dim_param;  // size of the axis, as a name
  std::optional<int64_t> num_shards;     // number of parts
  Unknown unknown;                       // fields of newer versions
};
/// How one axis is divided among devices, in one or more steps.
struct ShardedDimProto {
  std::optional<int64_t> axis;                         // divided axis
  std::vector<SimpleShardedDimProto> simple_sharding;  // parts of the axis, from the outermost division on
  Unknown unknown;                                     // fields of newer versions
};
/// How a tensor is divided among devices.
struct ShardingSpecProto {
  std::optional<std::string> tensor_name;                       // name of the value
  std::vector<int64_t> device;                                  // numbers of devices or of groups of them
  std::vector<IntIntListEntryProto> index_to_device_group_map;  // devices of each group
  std::vector<ShardedDimProto> sharded_dim;                     // divided axes
  Unknown unknown;                                              // fields of newer versions
};
/// How a node is divided among devices.
struct NodeDeviceConfigurationProto {
  std::optional<std::string> configuration_id;   // name of a DeviceConfigurationProto
  std::vector<ShardingSpecProto> sharding_spec;  // for inputs and outputs
  std::optional<int32_t> pipeline_stage;         // number of the stage
  Unknown unknown;                               // fields of newer versions
};
/// A set of devices.
struct DeviceConfigurationProto {
  std::optional<std::string> name;     // unique in the model
  std::optional<int32_t> num_devices;  // number of devices
  std::vector<std::string> device;     // names of the devices
  Unknown unknown;                     // fields of newer versions
};

/// A call of an operator or function.
struct NodeProto {
  std::vector<std::string> input, output;  // names of values; an empty name leaves one out
  /// Name of the node; operator; its domain, "": ai.onnx; overload of a function.
  std::optional<std::string> name, op_type, domain, overload;
  std::vector<AttributeProto> attribute;                            // attributes by name
  std::optional<std::string> doc_string;                            // text for people
  Entries metadata_props;                                           // keys and values of tools
  std::vector<NodeDeviceConfigurationProto> device_configurations;  // how it is divided among devices
  Unknown unknown;                                                  // fields of newer versions
};

/// Quantization parameters of a tensor.
struct TensorAnnotation {
  std::optional<std::string> tensor_name;  // name of the value
  Entries quant_parameter_tensor_names;    // SCALE_TENSOR, ZERO_POINT_TENSOR, … and names of constants
  Unknown unknown;                         // fields of newer versions
};

/// A graph: nodes, constants, inputs and outputs.
struct GraphProto {
  std::vector<NodeProto> node;                            // in topological order
  std::optional<std::string> name;                        // name of the graph
  std::vector<TensorProto> initializer;                   // constants, and defaults of inputs
  std::vector<SparseTensorProto> sparse_initializer;      // sparse constants
  std::optional<std::string> doc_string;                  // text for people
  std::vector<ValueInfoProto> input, output, value_info;  // inputs, outputs, and types of other values
  std::vector<TensorAnnotation> quantization_annotation;  // by value
  Entries metadata_props;                                 // keys and values of tools
  Unknown unknown;                                        // fields of newer versions
};

/// The version of a domain's operators.
struct OperatorSetIdProto {
  std::optional<std::string> domain;  // "": ai.onnx
  std::optional<int64_t> version;     // opset
  Unknown unknown;                    // fields of newer versions
};

/// A function of a model: an operator that nodes define.
struct FunctionProto {
  std::optional<std::string> name;  // operator that it defines
  /// Names of inputs, of outputs, and of attributes without default.
  std::vector<std::string> input, output, attribute;
  std::vector<AttributeProto> attribute_proto;   // attributes with defaults
  std::vector<NodeProto> node;                   // in topological order
  std::optional<std::string> doc_string;         // text for people
  std::vector<OperatorSetIdProto> opset_import;  // operators that the nodes are written in
  std::optional<std::string> domain, overload;   // domain of the operator; tells functions of one name apart
  std::vector<ValueInfoProto> value_info;        // types of inner values
  Entries metadata_props;                        // keys and values of tools
  Unknown unknown;                               // fields of newer versions
};

/// How a model is trained.
struct TrainingInfoProto {
  std::optional<GraphProto> initialization, algorithm;  // graphs that set and that update the weights
  Entries initialization_binding, update_binding;       // initializers and the outputs that they take
  Unknown unknown;                                      // fields of newer versions
};

/// A model: a graph, and the operators that it is written in.
struct ModelProto {
  std::optional<int64_t> ir_version;             // version of the file format
  std::vector<OperatorSetIdProto> opset_import;  // operators that the graph is written in
  /// Tool that wrote it, its version; name space of the model.
  std::optional<std::string> producer_name, producer_version, domain;
  std::optional<int64_t> model_version;                 // version of the model
  std::optional<std::string> doc_string;                // text for people
  std::optional<GraphProto> graph;                      // the graph that runs
  Entries metadata_props;                               // keys and values of tools
  std::vector<TrainingInfoProto> training_info;         // how to train it
  std::vector<FunctionProto> functions;                 // operators that the model defines
  std::vector<DeviceConfigurationProto> configuration;  // devices that nodes may be divided among
  Unknown unknown;                                      // fields of newer versions
};

/// onnx-data.proto: values as test data and tools store them.
struct SequenceProto;
struct MapProto;
struct OptionalProto;
/// A sequence as test data and tools store it (onnx-data.proto); one list holds the elements.
struct SequenceProto {
  std::optional<std::string> name;                      // name of the value
  std::optional<int32_t> elem_type;                     // 1 tensor, 2 sparse, 3 sequence, 4 map, 5 optional
  std::vector<TensorProto> tensor_values;               // elements that are tensors
  std::vector<SparseTensorProto> sparse_tensor_values;  // elements that are sparse tensors
  std::vector<SequenceProto> sequence_values;           // elements that are sequences
  std::vector<MapProto> map_values;                     // elements that are maps
  std::vector<OptionalProto> optional_values;           // elements that are optionals
  Unknown unknown;                                      // fields of newer versions
};
/// A map as test data and tools store it (onnx-data.proto).
struct MapProto {
  std::optional<std::string> name;  // name of the value
  std::optional<int32_t> key_type;  // number of a DataType
  std::vector<int64_t> keys;        // keys that are integers
  std::vector<Bytes> string_keys;   // keys that are strings
  Boxed<SequenceProto> values;      // a value for each key
  Unknown unknown;                  // fields of newer versions
};
/// An optional as test data and tools store it (onnx-data.proto).
struct OptionalProto {
  std::optional<std::string> name;  // name of the value
  /// 1 tensor, 2 sparse, 3 sequence, 4 map, 5 optional; 0 or nothing: undefined.
  std::optional<int32_t> elem_type;
  std::optional<TensorProto> tensor_value;               // value that is a tensor
  std::optional<SparseTensorProto> sparse_tensor_value;  // value that is a sparse tensor
  Boxed<SequenceProto> sequence_value;                   // value that is a sequence
  Boxed<MapProto> map_value;                             // value that is a map
  Boxed<OptionalProto> optional_value;                   // value that is an optional
  Unknown unknown;                                       // fields of newer versions
};

/// Options for opening a model and the files that it refers to.
struct LoadOptions {
  /// Reads files into private memory instead of mapping them, so that later changes to them have no effect.
  /// Tensors are then copied.
  bool untrusted = false;
  /// Directories, besides none, whose files may be reached through symbolic or hard links: Hugging Face's
  /// cache consists of links. Other links throw external_link.
  std::vector<std::filesystem::path> link_roots;
  /// Opens external data; false leaves TensorProtos external.
  bool external_data = true;
  /// Refuses models of more bytes (message only, without external data) with wire_too_large.
  uint64_t max_bytes = uint64_t{1} << 46;
  int max_depth = 400;  // deepest nesting of messages; beyond it wire_too_deep
};

/// A model in memory: the message, and the memory that its tensors point into. Movable; const access is
/// thread-safe.
class LATHE_API Model {
 public:
  /// Makes an empty model.
  Model();
  ModelProto proto;  // the message
  /// Directory of external data; empty for models from bytes, whose external data is refused.
  std::filesystem::path directory;
  /// Options that it was loaded with; they apply when external tensors are opened.
  LoadOptions options;

  /// Maps the file; weights stay in it until they are touched. Files of external data are opened and every
  /// reference to them is checked, unless LoadOptions::external_data is false. Text (.txt, .onnxtxt) is
  /// recognized. Throws file_*, wire_*, text_syntax, external_*, and tensor_* for external tensors whose type
  /// or dims are wrong. ONNX: onnx.load.
  static Model load(const std::filesystem::path& path, const LoadOptions& options = {});
  /// Reads the bytes of a file, which are copied unless `owner` keeps them alive. Throws wire_*.
  static Model parse(std::string_view bytes, const LoadOptions& options = {},
                     std::shared_ptr<const void> owner = {});

  /// Files of external data that are open already, by location; copies of the model share them.
  class ExternalFiles;
  /// Returns them, for the library's own use.
  ExternalFiles& external_files() const { return *files_; }

 private:
  std::shared_ptr<ExternalFiles> files_;
};

/// Throws Code::external_truncated where a file that a model maps has become shorter, since touching the
/// missing part would raise SIGBUS. Thread-safe.
LATHE_API void check_not_truncated(const Model& m);
/// Makes a SIGBUS of the process print that error and exit with code 1 from now on: for programs, not for
/// libraries.
LATHE_API void exit_on_truncated_file();

/// Options of save().
struct SaveOptions {
  /// Selects where tensors are stored. keep: inside or outside as they are; saved to another directory, those
  /// outside are copied there. single_file: all inside, whatever the size (other tools stop at 2 GB).
  /// external: outside from the threshold on; strings stay inside.
  enum class Data : uint8_t { keep, single_file, external };
  Data data = Data::keep;             // place of tensors
  std::string external_name;          // name of the data file beside the model; empty: <model>.data
  int64_t external_threshold = 1024;  // bytes from which on a tensor is stored outside
  bool text = false;                  // write the text format, which lacks doc strings of nodes and the like
};

/// Streams the model out beside the target and renames it: nothing half-written is left, and weights are
/// never in memory twice. External data goes into one file, each tensor at a multiple of 64 bytes (4096 for
/// tensors of 4096 bytes or more). Throws file_write_failed, and external_* for references that lead nowhere
/// or out of the directory. ONNX: onnx.save.
LATHE_API void save(const Model& m, const std::filesystem::path& path, const SaveOptions& options = {});

// One message from and to bytes. Instantiated for ModelProto, GraphProto, NodeProto, TensorProto,
// SparseTensorProto, AttributeProto, FunctionProto, ValueInfoProto, TypeProto, SequenceProto, MapProto,
// OptionalProto.
/// Reads one message, whose bytes are copied unless `owner` keeps them alive. Throws wire_malformed,
/// wire_too_deep, wire_too_large, wire_bad_utf8.
template <class Message>
LATHE_API Message parse(std::string_view bytes, const LoadOptions& options = {},
                        std::shared_ptr<const void> owner = {});
/// Returns the bytes of one message, unknown fields included.
template <class Message>
LATHE_API std::string serialize(const Message& m);

/// Returns a message in the ONNX text format (onnx/docs/Syntax.md). For ModelProto, GraphProto,
/// FunctionProto, NodeProto. The format has no place for metadata and doc strings below the model,
/// denotations, quantization annotations, training and device information, whether empty texts are present,
/// and unknown fields; all else can be read back, tensors as typed data. Throws tensor_* for tensors that
/// to_tensor refuses.
template <class Message>
LATHE_API std::string to_text(const Message& m);
/// Reads a message from the ONNX text format. Throws text_syntax.
template <class Message>
LATHE_API Message from_text(std::string_view text);

/// Returns the tensor that a TensorProto describes, checked (types, counts, ranges): a view where raw
/// little-endian bytes are aligned in mapped memory, otherwise a copy. `where` is the model that it belongs
/// to, for external data; null refuses that. Throws external_*, tensor_*.
LATHE_API lathe::Tensor to_tensor(const TensorProto& p, const Model* where = nullptr);
/// Returns a TensorProto with the elements in raw_data, which shares memory that the tensor owns (strings are
/// copied to string_data).
LATHE_API TensorProto from_tensor(const lathe::Tensor& t, std::string name = {});
/// Returns the dense tensor of a sparse one, checked. Throws external_*, tensor_*, sparse_bad_indices;
/// run_too_large beyond 2 GiB.
LATHE_API lathe::Tensor to_dense(const SparseTensorProto& p, const Model* where = nullptr);
/// Returns the sparse tensor, checked. Throws as to_dense() does.
LATHE_API lathe::SparseTensor to_sparse(const SparseTensorProto& p, const Model* where = nullptr);
/// Returns the value of a message of onnx-data.proto. Throws as to_tensor() does.
LATHE_API lathe::Value to_value(const SequenceProto& p);
/// Returns the value, or an empty Value for an absent one. Throws as to_tensor() does.
LATHE_API lathe::Value to_value(const OptionalProto& p);
/// Returns the map. Throws as to_tensor() does.
LATHE_API lathe::Value to_value(const MapProto& p);

}  // namespace lathe::onnx
