// Reads models and single messages from bytes and files.
#include "base/fault.h"
#include "base/file.h"
#include "base/plan_magic.h"
#include "lathe/error.h"
#include "lathe/onnx.h"
#include "onnx/each_tensor.h"
#include "onnx/external.h"
#include "onnx/load.h"
#include "onnx/tensor_data.h"
#include "onnx/wire_fields.h"
#include "onnx/wire_reader.h"
#include "onnx/wire_writer.h"

namespace lathe::onnx {
namespace {

bool is_text_file(const std::filesystem::path& path) {
  return path.extension() == ".txt" || path.extension() == ".onnxtxt";
}

/// Rejects files that users often pass instead of models.
void check_is_model(std::string_view bytes) {
  if (bytes.empty())
    throw Error(Code::wire_malformed, "parse", "an ONNX model", "an empty file", "fetch the file again");
  if (bytes.starts_with("version https://git-lfs"))
    throw Error(Code::wire_malformed, "parse", "an ONNX model", "a pointer of Git LFS", "run 'git lfs pull'");
  if (bytes.starts_with(plan_magic))
    throw Error(
        Code::wire_malformed, "parse", "an ONNX model", "a plan, which is built already",
        "load it (Engine::load, lathe.load(), `lathe run PLAN`), or build the model it was made from");
  if (bytes.starts_with("GGUF"))
    throw Error(Code::wire_malformed, "parse", "an ONNX model", "a GGUF file",
                "`lathe generate` and Generator::open take it as it is, `lathe export` makes ONNX of it");
}

}  // namespace

Model::Model() : files_(std::make_shared<ExternalFiles>()) {}

Model Model::load(const std::filesystem::path& path, const LoadOptions& options) {
  return load_model(path, options, nullptr);
}

Model load_model(const std::filesystem::path& path, const LoadOptions& options, RunControl* control) {
  const auto ask = [control] {
    if (control) control->check();
  };
  File f = open_regular(path);
  const auto file = options.untrusted ? read_file(std::move(f), path, ask) : map_file(std::move(f), path);
  Model m;
  m.directory = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  m.options = options;
  m.external_files().find(path.string(), [&] { return file; });
  try {
    check_is_model(file->view());
    m.proto = is_text_file(path) ? from_text<ModelProto>(file->view(), control)
                                 : wire::read<ModelProto>(file->view(), options, file, control);
  } catch (const Error& e) {
    Diagnostic d = e.diagnostic();
    d.node = path.string() + (d.node.empty() ? "" : ", " + d.node);
    throw Error(std::move(d));
  }
  // The bytes of messages are between the weights, and the kernel maps pages around each of them.
  file->drop_pages();
  if (options.external_data)
    each_tensor(m.proto, [&](const TensorProto& t) {
      ask();
      if (t.is_external()) check_external(t, m);
    });
  return m;
}

Model Model::parse(std::string_view bytes, const LoadOptions& options, std::shared_ptr<const void> owner) {
  check_is_model(bytes);
  Model m;
  m.proto = onnx::parse<ModelProto>(bytes, options, std::move(owner));
  m.options = options;
  return m;
}

void check_not_truncated(const Model& m) {
  for (const auto& file : m.external_files().all())
    if (file->truncated())
      throw file_error(Code::external_truncated, file->path(),
                       "a file of at least " + std::to_string(file->view().size()) + " bytes, as it was",
                       "a shorter one", "do not change files while they are in use");
}

void exit_on_truncated_file() { exit_on_truncated_mapping(); }

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

#define LATHE_MESSAGE(M)                                                                            \
  template LATHE_API M parse<M>(std::string_view, const LoadOptions&, std::shared_ptr<const void>); \
  template LATHE_API std::string serialize<M>(const M&);
LATHE_WHOLE_MESSAGES(LATHE_MESSAGE)
#undef LATHE_MESSAGE

}  // namespace lathe::onnx
