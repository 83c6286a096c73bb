// import_tool MODEL [OUT]: imports a model, prints the inferred types of its outputs as JSON, one line, and
// saves the graph at the lowest opset. For tests that compare with other runtimes.
#include <iostream>
#include <nlohmann/json.hpp>

#include "onnx/exporter.h"
#include "onnx/importer.h"

namespace {

/// Values whose shapes are not wholly numbers and symbols of the inputs.
size_t unresolved(const lathe::Graph& g) {
  size_t n = 0;
  for (lathe::NodeId id : g.order()) {
    for (lathe::ValueId v : g.node(id).outputs) {
      if (v == lathe::no_id) continue;
      const lathe::ValueType& t = g.value(v).type;
      bool known = t.known() && (!t.is_tensor() || t.shape);
      if (t.shape)
        for (const lathe::Dim& d : *t.shape) known &= !d.has_unknown();
      n += !known;
    }
    for (const lathe::Body& b : g.node(id).bodies) n += unresolved(*b.graph);
  }
  return n;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 2) return 2;
  const auto model = lathe::onnx::Model::load(argv[1]);
  std::vector<lathe::Diagnostic> findings;
  const auto& catalog = lathe::SchemaCatalog::standard();
  nlohmann::json j;
  auto graph = lathe::import_leniently(model, catalog, {}, findings);
  bool failed = false;
  for (const auto& d : findings) {
    failed |= d.severity == lathe::Diagnostic::Severity::error;
    if (j["findings"].size() < 20)
      j["findings"].push_back({{"code", lathe::code_name(d.code)}, {"text", d.message()}});
  }
  if (!failed) {
    graph->check();
    for (lathe::ValueId v : graph->outputs()) j["outputs"][graph->value(v).name] = graph->value(v).type.str();
    for (lathe::ValueId v : graph->inputs()) j["inputs"][graph->value(v).name] = graph->value(v).type.str();
    j["nodes"] = graph->live_nodes();
    j["unresolved"] = unresolved(*graph);
    if (argc > 2) {
      auto out = lathe::export_model(*graph, catalog);
      j["opset"] = *out.proto.opset_import.at(0).version;
      j["ir_version"] = *out.proto.ir_version;
      lathe::onnx::SaveOptions save;
      save.data = lathe::onnx::SaveOptions::Data::single_file;
      lathe::onnx::save(out, argv[2], save);
    }
  }
  std::cout << j.dump() << "\n";
  return failed ? 1 : 0;
} catch (const lathe::Error& e) {
  std::cout
      << nlohmann::json{{"findings", {{{"code", lathe::code_name(e.code())}, {"text", e.what()}}}}}.dump()
      << "\n";
  return 1;
}
