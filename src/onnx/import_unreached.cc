// Checks the parts of a file that no run of the main graph reaches, for callers that request all findings:
// functions that nothing calls, and the graphs for training.
#include <algorithm>

#include "onnx/import_graph.h"
#include "onnx/import_types.h"

namespace lathe {
namespace {

/// Returns a value of the kind that a reference to an attribute has, for checks that read kinds only.
AttributeValue value_of_kind(const onnx::AttributeProto& reference) {
  using A = onnx::AttributeProto;
  switch (reference.type.value_or(A::UNDEFINED)) {
    case A::FLOAT:
      return 0.0f;
    case A::INT:
      return int64_t{0};
    case A::STRING:
    case A::TYPE_PROTO:
      return std::string();
    case A::TENSOR:
    case A::SPARSE_TENSOR:
      return Tensor(DataType::float32, {0});
    case A::FLOATS:
      return std::vector<float>();
    case A::INTS:
      return std::vector<int64_t>();
    case A::STRINGS:
      return std::vector<std::string>();
    case A::TENSORS:
      return std::vector<Tensor>();
    default:
      throw Error(Code::node_bad_attribute, "import", "a reference to an attribute that says its kind",
                  "'" + std::string(text(reference.name)) + "' of kind " +
                      std::to_string(reference.type.value_or(A::UNDEFINED)),
                  "give the reference a type");
  }
}

}  // namespace

void GraphImporter::add_reference(const ImportScope& scope, const onnx::AttributeProto& a, Node& n) {
  const std::string_view wanted = text(a.ref_attr_name);
  if (!declares_attribute(*scope.function, wanted))
    throw Error(Code::node_bad_attribute, "import", "references to attributes that the function has",
                "one to '" + std::string(wanted) + "'", "declare it in the function, or give a value");
  const std::string name(text(a.name));
  if (a.type == onnx::AttributeProto::GRAPH)
    n.bodies.push_back({name, std::make_shared<Graph>(scope.graph)});
  else
    n.attributes.set(name, value_of_kind(a));
}

Graph& GraphImporter::scratch_graph(Graph* parent, std::string name) {
  bodies_.push_back(std::make_shared<Graph>(parent));
  bodies_.back()->name = std::move(name);
  nodes_ = 0;
  return *bodies_.back();
}

void GraphImporter::check_function(const ImportScope& main, const onnx::FunctionProto& f) {
  const std::string name = "function " + std::string(text(f.domain)) + "::" + std::string(text(f.name));
  ImportScope scope{.graph = &scratch_graph(nullptr, name),
                    .opsets = &opsets_of(f, main),
                    .function = &f,
                    .uncalled = true};
  for (const std::string& input : f.input) define(scope, input, name);
  fill_nodes(scope, f.node);
  for (const std::string& output : f.output)
    if (!scope.values.contains(output))
      report(scope_fault(Code::graph_undefined_value, name, "outputs that a node or an input gives",
                         "'" + output + "'", suggestion(scope, output, "remove the output")));
}

void GraphImporter::check_training_graph(ImportScope& main, const onnx::GraphProto& g) {
  // The training graph can read the inference graph.
  ImportScope scope{
      .graph = &scratch_graph(main.graph, std::string(text(g.name))), .outer = &main, .opsets = main.opsets};
  for (const onnx::ValueInfoProto& i : g.input) {
    const ValueId v = define(scope, text(i.name), "graph '" + scope.graph->name + "'");
    if (i.type) scope.graph->value(v).type = import_type(*i.type);
  }
  fill(scope, g);
}

void GraphImporter::check_bindings(const onnx::Entries& bindings, const std::optional<onnx::GraphProto>& g,
                                   const onnx::TrainingInfoProto& training, std::string_view what) {
  auto variables = initializer_names(*model_.proto.graph);
  if (training.algorithm) variables.merge(initializer_names(*training.algorithm));
  for (const auto& b : bindings) {
    if (!variables.contains(text(b.key)))
      report(scope_fault(Code::graph_undefined_value, what, "a binding of an initializer",
                         "'" + std::string(text(b.key)) + "'", "name an initializer, or remove the binding"));
    const bool given =
        g && std::ranges::any_of(g->output, [&](const auto& o) { return text(o.name) == text(b.value); });
    if (!given)
      report(scope_fault(Code::graph_undefined_value, what, "a binding to an output of its graph",
                         "'" + std::string(text(b.value)) + "'", "name an output, or remove the binding"));
  }
}

void GraphImporter::check_unreached(ImportScope& main) {
  const auto collected = [&](const std::string& what, auto&& look) {
    try {
      look();
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
      report(e.at("import", what, "").diagnostic());
    }
  };
  for (const onnx::FunctionProto& f : model_.proto.functions)
    if (!function_opsets_.contains(&f))
      collected("function " + std::string(text(f.name)), [&] { check_function(main, f); });
  const size_t before = findings_.size();
  for (const onnx::TrainingInfoProto& t : model_.proto.training_info) {
    for (const auto* g : {&t.initialization, &t.algorithm})
      if (*g) collected("training_info", [&] { check_training_graph(main, **g); });
    check_bindings(t.initialization_binding, t.initialization, t, "initialization_binding");
    check_bindings(t.update_binding, t.algorithm, t, "update_binding");
  }
  // Other programs run the training, and they have operators of their own.
  for (size_t i = before; i < findings_.size(); ++i)
    if (findings_[i].code == Code::node_unknown_operator || findings_[i].code == Code::node_unknown_domain ||
        (is_gradient("ai.onnx.preview.training", findings_[i].op) &&
         findings_[i].code == Code::node_cannot_convert))
      findings_[i].severity = Diagnostic::Severity::warning;
}

}  // namespace lathe
