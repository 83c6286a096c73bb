// Makes generators of models that are not plans yet: GGUF files, checkpoints, ONNX files and what lies beside
// them.
#include <algorithm>
#include <fstream>

#include "base/file.h"
#include "base/pages.h"
#include "base/plan_magic.h"
#include "causal_lm/companion_files.h"
#include "causal_lm/wanted_rows.h"
#include "exporters/export_decoder.h"
#include "exporters/gguf_source.h"
#include "generate/generator_impl.h"
#include "lathe/checkpoint.h"
#include "lathe/error.h"
#include "lathe/generate.h"
#include "onnx/load.h"
#include "text/text_files.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

/// The length of contexts where nothing says for how many tokens a model was made.
constexpr int64_t usual_context = 2048;

bool is_file(const fs::path& p) {
  std::error_code ignored;
  return fs::is_regular_file(p, ignored);
}
bool is_plan(const fs::path& p) {
  if (!is_file(p)) return false;
  std::ifstream in(p, std::ios::binary);
  char first[plan_magic.size()] = {};
  return in.read(first, sizeof first) && std::string_view(first, sizeof first) == plan_magic;
}
bool is_folder(const fs::path& p) {
  std::error_code ignored;
  return fs::is_directory(p, ignored);
}

/// Returns the decoder in a folder, and the folder of its companions; empty if there is none.
fs::path decoder_in(const fs::path& folder) {
  if (const fs::path config = folder / "genai_config.json"; is_file(config)) {
    const auto name = ModelConfig::open(config).get<std::string>("model.decoder.filename", "");
    if (!name.empty() && fs::path(name).filename() == name) return folder / name;
  }
  for (const char* name : {"model.onnx", "decoder_model.onnx", "onnx/model.onnx", "onnx/decoder_model.onnx"})
    if (is_file(folder / name)) return folder / name;
  return {};
}

std::optional<std::string> batch_symbol(const onnx::Model& m) {
  for (const onnx::ValueInfoProto& in : m.proto.graph->input)
    if (in.name == "input_ids" && in.type && in.type->tensor_type && in.type->tensor_type->shape &&
        !in.type->tensor_type->shape->dim.empty())
      return in.type->tensor_type->shape->dim[0].dim_param;
  return std::nullopt;
}

Generator build(onnx::Model model, CompanionFiles companions, const GeneratorOptions& options) {
  if (!model.proto.graph) throw Error(Code::not_supported, "generate", "a model with a graph", "none");
  if (std::ranges::none_of(model.proto.graph->input, [](const onnx::ValueInfoProto& i) {
        return Decoder::is_tokens(i.name.value_or(""));
      }))
    throw Decoder::no_decoder("an input input_ids", "none");
  select_logits_rows(model);
  BuildOptions build = options.build;
  build.numerics = Numerics::strict;
  build.states = {{"auto", "", options.kv_type, kv_block}};
  build.state_capacity = options.context_length > 0      ? options.context_length
                         : companions.context_length > 0 ? companions.context_length
                                                         : usual_context;
  if (const auto batch = batch_symbol(model); batch && !batch->empty()) build.shapes[*batch] = 1;
  const auto engine = [&] {
    try {
      return Engine::build(model, build);
    } catch (const Error& e) {
      if (e.code() != Code::build_bad_state) throw;
      throw Decoder::no_decoder("keys and values as states: " + e.diagnostic().expected, e.diagnostic().got);
    }
  };
  return GeneratorAccess::make(std::make_shared<const Generator::Impl>(engine(), std::move(companions.files),
                                                                       0, options.prompt_piece));
}

Generator open_model(const fs::path& path, const GeneratorOptions& options) {
  if (exporters::is_gguf(path) || (is_folder(path) && decoder_in(path).empty())) {
    exporters::ExportOptions how;
    how.load.untrusted = options.build.load.untrusted;
    exporters::ExportedDecoder decoder = exporters::export_decoder(path, how);
    CompanionFiles companions = decoder.gguf ? companions_of_gguf(*decoder.gguf) : companions_of_folder(path);
    companions.add_config(decoder.config, "config.json");
    return build(std::move(decoder.model), std::move(companions), options);
  }
  const fs::path file = is_folder(path) ? decoder_in(path) : path;
  fs::path folder = file.parent_path();
  if (folder.filename() == "onnx" && text::read_tokenizer_files(folder).empty())
    folder = folder.parent_path();
  return build(onnx::load_model(file, options.build.load, options.build.control),
               companions_of_folder(folder), options);
}

}  // namespace

Generator Generator::open(const fs::path& path, const GeneratorOptions& options) {
  if (is_plan(path)) return load(path, options);
  Generator made = open_model(path, options);
  return_freed_heap();  // the model's weights, from before they were packed
  return made;
}

}  // namespace lathe
