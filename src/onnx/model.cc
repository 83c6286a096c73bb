// Whole models: loaded by mapping, saved by streaming.
#include "base/file.h"
#include "lathe/error.h"
#include "lathe/onnx.h"
#include "onnx/external.h"
#include "onnx/wire_fields.h"
#include "onnx/wire_reader.h"
#include "onnx/wire_writer.h"

namespace lathe::onnx {

Model::Model() : files_(std::make_shared<ExternalFiles>()) {}

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  const File f = open_regular(path);
  const MappedBytes bytes = options.untrusted ? read_file(f, path) : map_file(f, path);
  Model m;
  try {
    m.proto = wire::read<ModelProto>(bytes.bytes, options, bytes.owner);
  } catch (const Error& e) {
    Diagnostic d = e.diagnostic();
    d.node = path.string() + (d.node.empty() ? "" : ", " + d.node);
    throw Error(std::move(d));
  }
  m.directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  m.options = options;
  return m;
}

Model Model::parse(std::string_view bytes, const LoadOptions& options, std::shared_ptr<const void> owner) {
  Model m;
  m.proto = onnx::parse<ModelProto>(bytes, options, std::move(owner));
  m.options = options;
  return m;
}

template <class M>
M parse(std::string_view bytes, const LoadOptions& options, std::shared_ptr<const void> owner) {
  return wire::read<M>(bytes, options, std::move(owner));
}

template <class M>
std::string serialize(const M& m) {
  std::string out;
  wire::write(m, [&](std::string_view piece) { out.append(piece); });
  return out;
}

#define LATHE_MESSAGE(M)                                                                  \
  template M parse<M>(std::string_view, const LoadOptions&, std::shared_ptr<const void>); \
  template std::string serialize<M>(const M&);
LATHE_MESSAGE(ModelProto)
LATHE_MESSAGE(GraphProto)
LATHE_MESSAGE(NodeProto)
LATHE_MESSAGE(TensorProto)
LATHE_MESSAGE(SparseTensorProto)
LATHE_MESSAGE(AttributeProto)
LATHE_MESSAGE(FunctionProto)
LATHE_MESSAGE(ValueInfoProto)
LATHE_MESSAGE(TypeProto)
LATHE_MESSAGE(SequenceProto)
LATHE_MESSAGE(MapProto)
LATHE_MESSAGE(OptionalProto)
#undef LATHE_MESSAGE

namespace {

/// Calls f for every tensor of a message, wherever it is: initializers, attributes, bodies, functions.
template <wire::Message M, class F>
void each_tensor(M& m, F& f);

template <class T, class F>
void each_tensor_in(T& member, F& f) {
  using U = std::remove_const_t<T>;
  if constexpr (wire::Message<U>)
    each_tensor(member, f);
  else if constexpr (requires {
                       member.has_value();
                       *member;
                     }) {
    if (member) each_tensor_in(*member, f);
  } else if constexpr (requires {
                         member.get();
                         *member;
                       }) {
    if (member) each_tensor_in(*member, f);
  } else if constexpr (requires {
                         member.begin();
                         member.emplace_back();
                       }) {
    if constexpr (wire::Message<typename U::value_type>)
      for (auto& x : member) each_tensor(x, f);
  }
}

template <wire::Message M, class F>
void each_tensor(M& m, F& f) {
  if constexpr (std::is_same_v<M, TensorProto>)
    f(m);
  else
    wire::visit_fields(m, [&](int, std::string_view, auto& member, auto...) { each_tensor_in(member, f); });
}

/// The bytes a tensor would have as raw data, where it can have them.
std::optional<Bytes> raw_bytes(const TensorProto& p, const Model& m) {
  if (!p.data_type || *p.data_type == static_cast<int32_t>(DataType::string)) return std::nullopt;
  const Tensor t = to_tensor(p, &m);
  if (bits_of(t.type()) == 8 && (t.type() == DataType::float6e2m3 || t.type() == DataType::float6e3m2))
    return std::nullopt;
  const std::string_view view(static_cast<const char*>(t.data()), t.bytes());
  return Bytes(view, t.owner());
}

void clear_data(TensorProto& p) {
  p.float_data.clear();
  p.int32_data.clear();
  p.int64_data.clear();
  p.double_data.clear();
  p.uint64_data.clear();
  p.raw_data.reset();
  p.external_data.clear();
  p.data_location.reset();
}

/// Every tensor inside the message. Views of mapped data are moved, not copied.
void internalize(ModelProto& proto, const Model& m) {
  auto take_in = [&](TensorProto& p) {
    if (!p.is_external()) return;
    const auto bytes = raw_bytes(p, m);
    clear_data(p);
    p.raw_data = *bytes;
  };
  each_tensor(proto, take_in);
}

/// Large tensors out into one file, aligned so that they can be mapped and read in place.
void externalize(ModelProto& proto, const Model& m, const std::string& name, int64_t threshold,
                 AtomicFile& data) {
  constexpr uint64_t page = 4096, line = 64;
  auto put_out = [&](TensorProto& p) {
    const auto bytes = raw_bytes(p, m);
    if (!bytes || static_cast<int64_t>(bytes->size()) < threshold) return;
    data.pad(bytes->size() >= page ? page : line);
    const uint64_t offset = data.written();
    data.write(bytes->view());
    clear_data(p);
    p.data_location = 1;
    auto entry = [&](const char* key, std::string value) {
      p.external_data.push_back({key, std::move(value), {}});
    };
    entry("location", name);
    entry("offset", std::to_string(offset));
    entry("length", std::to_string(bytes->size()));
  };
  each_tensor(proto, put_out);
}

std::string external_name(const std::filesystem::path& model, const SaveOptions& options) {
  const std::string name =
      options.external_name.empty() ? model.filename().string() + ".data" : options.external_name;
  const std::filesystem::path as_path(name);
  if (as_path.has_parent_path() || name == "." || name == ".." ||
      name.find_first_of(std::string("\\\0", 2)) != std::string::npos)
    throw file_error(Code::external_bad_path, name, "the name of a file beside the model", "a path",
                     "give a plain file name");
  return name;
}

}  // namespace

void save(const Model& m, const std::filesystem::path& path, const SaveOptions& options) {
  ModelProto proto = m.proto;  // large bytes are shared, not copied
  std::optional<AtomicFile> data;
  if (options.data == SaveOptions::Data::single_file) internalize(proto, m);
  if (options.data == SaveOptions::Data::external) {
    const std::string name = external_name(path, options);
    data.emplace(path.parent_path() / name);
    externalize(proto, m, name, options.external_threshold, *data);
  }
  AtomicFile out(path);
  wire::write(proto, [&](std::string_view piece) { out.write(piece); });
  // The data first: a model never refers to a file that is not there yet.
  if (data) data->commit();
  out.commit();
}

}  // namespace lathe::onnx
