#include <memory>
#include <optional>
#include <vector>

#include "fuzz/targets.h"
#include "graph/graph.h"
#include "lathe/check.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "schema/schema.h"

namespace lathe::fuzz {

void import(Bytes data) {
  using namespace onnx;
  std::optional<Model> model;
  // The bytes are a file, or text, which small changes leave well-formed more often.
  if (code_of([&] { model = Model::parse(chars(data)); }) != Code::none)
    if (code_of([&] { model.emplace().proto = from_text<ModelProto>(chars(data)); }) != Code::none) return;
  bool accepted = true;
  for (const Diagnostic& d : check(*model)) accepted = accepted && d.severity != Diagnostic::Severity::error;
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  std::unique_ptr<Graph> graph;
  const Code imported = code_of([&] { graph = import_model(*model, catalog); });
  require(!accepted || imported == Code::none, "what the checker accepts is imported");
  if (!graph) return;
  Model written;
  if (code_of([&] { written = export_model(*graph, catalog); }) != Code::none) return;
  require(code_of([&] { import_model(written, catalog); }) == Code::none, "what is written can be read");
}

}  // namespace lathe::fuzz
