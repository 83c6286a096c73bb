#include "onnx/importer.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "base/declared_sums.h"
#include "onnx/import_graph.h"
#include "onnx/import_types.h"
#include "schema/check_node.h"

namespace lathe {
namespace {

Diagnostic model_fault(Code code, std::string expected, std::string got, std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.stage = "import";
  d.node = "model";
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  return d;
}

/// Returns whether a dim_param names a size. Exporters write "", "?", "-1", "*" and "None" for sizes that
/// they do not know: two of these are not equal.
bool is_name(std::string_view s) {
  return s != "None" &&
         std::ranges::any_of(s, [](unsigned char c) { return std::isalpha(c) || c == '_' || c >= 0x80; });
}

/// The sizes of the inputs. Names of whole dimensions are symbols; so are expressions over those, after fixed
/// sizes are replaced by numbers.
class InputSymbols {
 public:
  InputSymbols(const onnx::GraphProto& g, const std::map<std::string, int64_t>& fixed) {
    std::set<std::string> names;
    for (const onnx::ValueInfoProto& i : g.input)
      each_name(i, [&](const std::string& name) { names.insert(name); });
    sums_ = declared_sums({names.begin(), names.end()});
    for (const auto& [name, size] : fixed) fixed_.emplace(name, Dim(size));
  }

  ValueType type_of(const onnx::ValueInfoProto& input) {
    return import_type(*input.type, [&](const onnx::TensorShapeProto::Dimension& d, size_t axis) {
      return of_its_own(size_of(d, input.name.value_or("") + "." + std::to_string(axis)).substitute(fixed_));
    });
  }
  /// Returns names that should be fixed and that no input has.
  std::vector<std::string> unused() const {
    std::vector<std::string> r;
    for (const auto& [name, size] : fixed_)
      if (!used_.contains(name)) r.push_back(name);
    return r;
  }
  const std::set<std::string>& used() const { return used_; }

 private:
  template <class F>
  static void each_name(const onnx::ValueInfoProto& i, F&& f) {
    if (!i.type || !i.type->tensor_type || !i.type->tensor_type->shape) return;
    for (const auto& d : i.type->tensor_type->shape->dim)
      if (d.dim_param && is_name(*d.dim_param)) f(*d.dim_param);
  }
  Dim size_of(const onnx::TensorShapeProto::Dimension& d, const std::string& place) {
    if (d.dim_value && *d.dim_value >= 0) return *d.dim_value;
    const Dim size = d.dim_param && is_name(*d.dim_param) ? named(*d.dim_param) : Dim::symbol(place);
    for (std::string& s : size.symbols()) used_.insert(std::move(s));
    return size;
  }
  Dim named(const std::string& text) const {
    const auto sum = sums_.find(text);
    return sum == sums_.end() ? Dim::symbol(text) : sum->second;
  }

  DeclaredSums sums_;
  std::set<std::string> used_;
  std::map<std::string, Dim, std::less<>> fixed_;
};

/// Gives sizes of outputs that inference does not know the names of the file, if these have no other meaning:
/// users look for them.
void name_unknown_outputs(Graph& g, const onnx::GraphProto& proto, const std::set<std::string>& taken) {
  std::map<std::string, Dim, std::less<>> renamed;
  std::set<std::string> names = taken;
  for (ValueId v : g.inputs())
    for (const Dim& d : g.value(v).type.shape.value_or(SymShape()))
      for (std::string& s : d.symbols()) names.insert(std::move(s));
  for (const onnx::ValueInfoProto& o : proto.output) {
    const ValueId v = o.name ? g.find_value(*o.name) : no_id;
    if (v == no_id || !o.type || !o.type->tensor_type || !o.type->tensor_type->shape ||
        !g.value(v).type.shape)
      continue;
    const auto& declared = o.type->tensor_type->shape->dim;
    const SymShape& shape = *g.value(v).type.shape;
    for (size_t i = 0; i < shape.size() && i < declared.size(); ++i) {
      const auto unknown = shape[i].symbol_name();
      const std::string& name = declared[i].dim_param ? *declared[i].dim_param : std::string();
      if (!unknown || !shape[i].has_unknown() || !is_name(name) || renamed.contains(*unknown)) continue;
      if (names.insert(name).second) renamed.emplace(*unknown, Dim::symbol(name));
    }
  }
  if (renamed.empty()) return;
  for (ValueId v = 0; v < g.value_count(); ++v)
    if (auto& shape = g.value(v).type.shape)
      for (Dim& d : *shape)
        if (d.has_unknown()) d = d.substitute(renamed);
}

void check_ir_version(const onnx::ModelProto& m, std::vector<Diagnostic>& findings) {
  const int64_t ir = m.ir_version.value_or(0);
  if (ir < 1 || ir > newest_ir_version)
    findings.push_back(model_fault(
        Code::model_bad_ir_version, "an ir_version from 1 to " + std::to_string(newest_ir_version),
        m.ir_version ? std::to_string(ir) : "none",
        ir > newest_ir_version
            ? "save the model with an older version of ONNX, or use a newer version of this program"
            : "is this an ONNX file?"));
}

}  // namespace

std::unordered_set<std::string_view> initializer_names(const onnx::GraphProto& g) {
  std::unordered_set<std::string_view> names;
  for (const onnx::TensorProto& t : g.initializer)
    if (t.name) names.insert(*t.name);
  for (const onnx::SparseTensorProto& t : g.sparse_initializer)
    if (t.values && t.values->name) names.insert(*t.values->name);
  return names;
}

OpsetMap read_opsets(const std::vector<onnx::OperatorSetIdProto>& imports, std::string_view where,
                     std::vector<Diagnostic>& findings) {
  OpsetMap opsets;
  auto fault = [&](std::string expected, std::string got, std::string remedy) {
    Diagnostic d;
    d.code = Code::model_bad_opset;
    d.stage = "import";
    d.node = where;
    d.expected = std::move(expected);
    d.got = std::move(got);
    d.remedy = std::move(remedy);
    findings.push_back(std::move(d));
  };
  for (const onnx::OperatorSetIdProto& o : imports) {
    const std::string domain(canonical_domain(text(o.domain)));
    const int64_t version = o.version.value_or(0);
    const int64_t most = domain.empty() ? newest_opset : INT32_MAX;
    if (version < 1 || version > most)
      fault("an opset of domain '" + (domain.empty() ? "ai.onnx" : domain) + "' from 1 to " +
                std::to_string(most),
            std::to_string(version),
            version > most ? "convert the model to an older opset, or use a newer version of this program"
                           : "correct the opset_import");
    const auto [at, fresh] = opsets.try_emplace(domain, version);
    if (!fresh && at->second != version) {
      // Merged files have both "" and "ai.onnx". Other tools take the last one silently.
      fault("one version of each domain",
            "'" + domain + "' in " + std::to_string(at->second) + " and " + std::to_string(version),
            "remove the wrong one: the last one is believed, as in ONNX Runtime");
      findings.back().severity = Diagnostic::Severity::warning;
      at->second = version;
    }
  }
  return opsets;
}

const Diagnostic* first_error(const std::vector<Diagnostic>& findings) {
  for (const Diagnostic& d : findings)
    if (d.severity == Diagnostic::Severity::error) return &d;
  return nullptr;
}

std::unique_ptr<Graph> import_leniently(const onnx::Model& model, const SchemaCatalog& catalog,
                                        const ImportOptions& options, std::vector<Diagnostic>& findings) {
  const onnx::ModelProto& m = model.proto;
  auto graph = std::make_unique<Graph>();
  check_ir_version(m, findings);
  OpsetMap opsets = read_opsets(m.opset_import, "model", findings);
  if (opsets.empty()) {
    // Before IR version 3 there was no such field, and only one opset.
    if (m.ir_version.value_or(0) >= 1 && *m.ir_version < 3)
      opsets.emplace("", 1);
    else
      findings.push_back(model_fault(Code::model_empty, "an opset_import", "none",
                                     "say which operator set the model is written in"));
  }
  if (!m.graph)
    findings.push_back(model_fault(Code::model_empty, "a graph", "none", "is this an ONNX file?"));
  if (first_error(findings)) return graph;

  const onnx::GraphProto& g = *m.graph;
  graph->name = g.name.value_or("");
  graph->doc = g.doc_string.value_or(m.doc_string.value_or(""));
  for (const auto& e : m.metadata_props)
    graph->metadata.emplace_back(e.key.value_or(""), e.value.value_or(""));
  graph->producer_name = m.producer_name.value_or("");
  graph->producer_version = m.producer_version.value_or("");
  graph->model_domain = m.domain.value_or("");
  graph->model_version = m.model_version.value_or(0);
  for (const auto& [domain, version] : opsets)
    if (!domain.empty()) graph->opsets[domain] = version;

  const FunctionTable functions(m.functions, options.max_nodes, options.max_nesting, findings);
  if (!options.inline_functions) graph->functions = m.functions;

  GraphImporter importer(model, catalog, options, functions, findings);
  ImportScope scope{.graph = graph.get(), .opsets = &opsets};
  InputSymbols symbols(g, options.shapes);
  const auto initialized = initializer_names(g);
  // Before IR version 4 every initializer had to be an input too, so that this means nothing there.
  const bool have_defaults = *m.ir_version >= 4 && !options.fix_defaults;
  for (const onnx::ValueInfoProto& i : g.input) {
    const std::string name = i.name.value_or("");
    const bool has_default = initialized.contains(name);
    if (has_default && !have_defaults) continue;
    auto fault = [&](Code code, std::string expected, std::string got, std::string remedy) {
      findings.push_back(model_fault(code, std::move(expected), std::move(got), std::move(remedy)));
      findings.back().node = "input '" + name + "'";
    };
    if (name.empty()) {
      fault(Code::graph_undefined_value, "inputs with names", "one without", "name it");
      continue;
    }
    ValueType type;
    try {
      if (i.type) type = symbols.type_of(i);
    } catch (const Error& e) {
      findings.push_back(e.at("import", name, "").diagnostic());
    }
    if (!(type.known() || has_default) || (type.is_tensor() && type.elem == DataType::undefined))
      fault(Code::node_bad_type, "inputs with types", "none", "declare the input's element type");
    const ValueId v = graph->add_input(graph->fresh_name(name), std::move(type));
    graph->value(v).doc = i.doc_string.value_or("");
    const auto [at, fresh] = scope.values.try_emplace(*i.name, v);
    if (!fresh)
      fault(Code::graph_duplicate_name, "inputs of different names", "'" + name + "' twice",
            "rename one of them");
  }
  for (const auto& [symbol, size] : options.shapes)
    if (size < 0)
      findings.push_back(model_fault(Code::build_bad_option, "sizes of symbols that are not negative",
                                     symbol + "=" + std::to_string(size), "fix it to what inputs have"));
  if (const auto unused = symbols.unused(); !unused.empty()) {
    std::string known;
    for (const std::string& s : symbols.used()) known += (known.empty() ? "" : ", ") + s;
    findings.push_back(model_fault(Code::build_bad_option, "symbols of the inputs' shapes (" + known + ")",
                                   "'" + unused[0] + "'", "fix only symbols that the model has"));
  }
  try {
    importer.fill(scope, g);
    if (options.unreached) importer.check_unreached(scope);
  } catch (const Error& e) {
    if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
    findings.push_back(e.at("import", "graph '" + graph->name + "'", "").diagnostic());
  }
  name_unknown_outputs(*graph, g, symbols.used());
  return graph;
}

std::unique_ptr<Graph> import_model(const onnx::Model& model, const SchemaCatalog& catalog,
                                    const ImportOptions& options, std::vector<Diagnostic>* findings) {
  std::vector<Diagnostic> found;
  auto graph = import_leniently(model, catalog, options, found);
  const Diagnostic* error = first_error(found);
  if (findings) findings->insert(findings->end(), found.begin(), found.end());
  if (error) throw Error(*error);
  return graph;
}

}  // namespace lathe
