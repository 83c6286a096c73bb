// Networks as .onnx files, and back.
#include <algorithm>

#include "lathe/builder.h"
#include "network/state.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"

namespace lathe {
namespace {

Network network_of(std::unique_ptr<Graph> graph, std::shared_ptr<const SchemaCatalog> schemas) {
  Network n(graph->name);
  NetworkAccess::state(n)->schemas = std::move(schemas);
  NetworkAccess::state(n)->reset(std::move(graph));
  NetworkAccess::state(n)->infer_again();
  return n;
}

/// Gives names to nodes that have none in the file, or not their own, since names identify layers.
void name_nodes(Graph& g) {
  std::unordered_set<std::string> seen;
  for (NodeId id : g.order()) {
    Node& n = g.node(id);
    const std::string hint = n.name.empty() ? n.op : n.name;
    n.name = hint;
    for (size_t i = seen.size(); !seen.insert(n.name).second; ++i) n.name = hint + "_" + std::to_string(i);
  }
}

}  // namespace

onnx::Model Network::to_model(int opset) const {
  if (scope_ != 0)
    throw Error(Code::bad_argument, "network", "a whole network", "a body", "save the network around it");
  return export_model(NetworkAccess::graph(*this), SchemaCatalog::standard(), {.opset = opset});
}

void Network::save(const std::filesystem::path& path, const onnx::SaveOptions& options) const {
  onnx::save(to_model(), path, options);
}

Network Parser::parse(const std::filesystem::path& file, const onnx::LoadOptions& options) {
  diagnostics_.clear();
  try {
    return parse(onnx::Model::load(file, options));
  } catch (const Error& e) {
    if (diagnostics_.empty()) diagnostics_.push_back(e.diagnostic());
    throw;
  }
}

Network Parser::parse(const onnx::Model& model) {
  diagnostics_.clear();
  std::unique_ptr<Graph> g = import_model(model, *schemas_, {}, &diagnostics_);
  name_nodes(*g);
  return network_of(std::move(g), schemas_);
}

size_t Parser::num_errors() const {
  return static_cast<size_t>(
      std::ranges::count(diagnostics_, Diagnostic::Severity::error, &Diagnostic::severity));
}

bool Parser::supports_operator(std::string_view op, std::string_view domain) const {
  return schemas_->find(domain, op) != nullptr;
}

}  // namespace lathe
