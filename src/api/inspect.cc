// Inspection of models: a summary, the graph, the normal form.
#include <functional>
#include <set>

#include "api/work.h"
#include "base/declared_sums.h"
#include "compiler/lower.h"
#include "compiler/plugin_schemas.h"
#include "lathe/check.h"
#include "lathe/model_summary.h"
#include "lathe/normalize.h"
#include "onnx/checker.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"

namespace lathe {
namespace {

/// A graph with the operators that it was imported with.
struct ImportedGraph {
  std::shared_ptr<const Extensions> extensions;
  std::shared_ptr<const SchemaCatalog> schemas;
  std::unique_ptr<Graph> graph;
};

ImportedGraph import_with(const onnx::Model& model, const std::map<std::string, int64_t>& sizes,
                          const std::vector<std::filesystem::path>& plugins) {
  ImportedGraph imported{Extensions::load(plugins), {}, {}};
  imported.schemas = schemas_with(*imported.extensions);
  ImportOptions options;
  options.shapes = sizes;
  imported.graph = import_model(model, *imported.schemas, options);
  return imported;
}

IoInfo io_info(const ValueInfo& v) {
  IoInfo io{
      .name = v.name, .type = onnx_text(v.type), .shape = v.type.shape, .optional = v.is_input && v.constant};
  if (v.type.is_tensor()) io.element_type = v.type.elem;
  return io;
}

/// Calls f with every node, and every graph, of a model: bodies and functions too.
struct Walk {
  std::function<void(const onnx::NodeProto&)> node;
  std::function<void(const onnx::GraphProto&)> graph;

  void operator()(const onnx::GraphProto& g) const {
    graph(g);
    nodes(g.node);
  }
  void nodes(const std::vector<onnx::NodeProto>& list) const {
    for (const auto& n : list) {
      node(n);
      for (const auto& a : n.attribute) {
        if (a.g) (*this)(*a.g);
        for (const auto& g : a.graphs) (*this)(g);
      }
    }
  }
};

void count_parameters(const onnx::TensorProto& t, ModelSummary& s) {
  const auto type = static_cast<DataType>(t.data_type.value_or(0));
  const int64_t count = checked_count(t.dims, type, t.name.value_or(""));
  s.parameters += count;
  s.parameter_bytes += bytes_for(type, static_cast<size_t>(count));
}

void count_file(const onnx::ModelProto& p, ModelSummary& s) {
  Walk walk;
  walk.node = [&](const onnx::NodeProto& n) {
    const std::string domain(canonical_domain(n.domain.value_or("")));
    ++s.nodes;
    ++s.operators[(domain.empty() ? "" : domain + ".") + n.op_type.value_or("")];
  };
  walk.graph = [&](const onnx::GraphProto& g) {
    for (const auto& t : g.initializer) count_parameters(t, s);
    for (const auto& t : g.sparse_initializer)
      if (t.values) count_parameters(*t.values, s);
  };
  if (p.graph) walk(*p.graph);
  for (const auto& f : p.functions) walk.nodes(f.node);
}

}  // namespace

std::vector<Diagnostic> check(const onnx::Model& model, const std::vector<std::filesystem::path>& plugins) {
  const auto extensions = Extensions::load(plugins);
  return check_model(model, *schemas_with(*extensions));
}

ModelSummary inspect(const onnx::Model& model, const std::map<std::string, int64_t>& sizes,
                     const std::vector<std::filesystem::path>& plugins) {
  const onnx::ModelProto& p = model.proto;
  const ImportedGraph imported = import_with(model, sizes, plugins);
  const Graph* const g = imported.graph.get();
  ModelSummary s;
  s.graph_name = g->name;
  s.producer = p.producer_name.value_or("");
  if (p.producer_version && !p.producer_version->empty()) s.producer += " " + *p.producer_version;
  s.ir_version = p.ir_version.value_or(0);
  for (const auto& o : p.opset_import)
    s.opsets[std::string(canonical_domain(o.domain.value_or("")))] = o.version.value_or(0);
  s.functions = static_cast<int64_t>(p.functions.size());
  count_file(p, s);
  std::set<std::string> seen;
  for (ValueId v : g->inputs()) {
    s.inputs.push_back(io_info(g->value(v)));
    if (!g->value(v).type.shape) continue;
    for (const Dim& d : *g->value(v).type.shape)
      for (const std::string& symbol : d.symbols())
        if (seen.insert(symbol).second) s.symbols.push_back(symbol);
  }
  const DeclaredSums sums = declared_sums(s.symbols);
  std::erase_if(s.symbols, [&](const std::string& symbol) { return sums.contains(symbol); });
  for (IoInfo& io : s.inputs)
    if (io.shape)
      for (Dim& d : *io.shape) d = d.substitute(sums);
  for (ValueId v : g->outputs()) s.outputs.push_back(io_info(g->value(v)));
  const Work work = work_of(*g, *imported.schemas);
  s.flops = work.flops.substitute(sums);
  s.flops_unknown = work.unknown_nodes;
  return s;
}

std::string describe_graph(const onnx::Model& model, GraphFormat format,
                           const std::map<std::string, int64_t>& sizes,
                           const std::vector<std::filesystem::path>& plugins) {
  const ImportedGraph imported = import_with(model, sizes, plugins);
  const Graph* const g = imported.graph.get();
  switch (format) {
    case GraphFormat::json:
      return g->json();
    case GraphFormat::dot:
      return g->dot();
    case GraphFormat::text:
      break;
  }
  return g->text();
}

namespace {

/// Returns whether a function of the model is written in an opset that is newer than this one.
bool has_newer_functions(const onnx::Model& model, int opset) {
  for (const auto& f : model.proto.functions)
    for (const auto& o : f.opset_import)
      if (canonical_domain(o.domain.value_or("")).empty() && o.version.value_or(1) > opset) return true;
  return false;
}

}  // namespace

onnx::Model normalize(const onnx::Model& model, int opset) {
  ImportOptions options;
  // Functions are not converted: if they stayed, they would use operators that the opset does not have.
  options.inline_functions = opset != 0 && has_newer_functions(model, opset);
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  return export_model(*import_model(model, catalog, options), catalog, {.opset = opset});
}

}  // namespace lathe
