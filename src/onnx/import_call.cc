// Replaces a node by other nodes: a call by the body of the function, with the attributes of the call, and an
// If by the branch that is always taken.
#include <algorithm>

#include "onnx/import_graph.h"
#include "onnx/import_types.h"

namespace lathe {
namespace {

struct ResolvedAttribute {
  const onnx::AttributeProto* attribute;
  const ImportScope* scope;  // the scope of names in a graph attribute
};

/// Follows references to the attributes of calls. Nothing if the call leaves it out and the function has no
/// default.
std::optional<ResolvedAttribute> resolve(const onnx::AttributeProto& a, const ImportScope& scope) {
  const std::string_view name = text(a.ref_attr_name);
  if (name.empty()) return ResolvedAttribute{&a, &scope};
  if (!scope.function)
    throw Error(Code::node_bad_attribute, "import", "references to attributes inside functions only",
                "one to '" + std::string(name) + "'", "give the attribute a value");
  const auto named = [&](const std::vector<onnx::AttributeProto>& list) {
    return std::ranges::find_if(list, [&](const auto& x) { return text(x.name) == name; });
  };
  if (const auto given = named(scope.call->attribute); given != scope.call->attribute.end())
    if (const auto r = resolve(*given, *scope.caller)) return r;  // else as if it were not given
  const auto fallback = named(scope.function->attribute_proto);
  if (fallback == scope.function->attribute_proto.end()) return std::nullopt;
  if (fallback->ref_attr_name)
    throw Error(Code::node_bad_attribute, "import", "defaults of attributes that are values", "a reference",
                "give the default a value");
  return ResolvedAttribute{&*fallback, &scope};
}

}  // namespace

bool declares_attribute(const onnx::FunctionProto& f, std::string_view name) {
  return std::ranges::find(f.attribute, name) != f.attribute.end() ||
         std::ranges::any_of(f.attribute_proto, [&](const auto& a) { return text(a.name) == name; });
}

void GraphImporter::add_attributes(ImportScope& scope, const onnx::NodeProto& p, Node& n) {
  for (const onnx::AttributeProto& a : p.attribute) {
    const std::string name(text(a.name));
    if (name.empty())
      throw Error(Code::node_bad_attribute, "import", "attributes with names", "one without", "name it");
    if (n.attributes.has(name) || n.body(name))
      throw Error(Code::node_bad_attribute, "import", "attributes that are given once",
                  "'" + name + "' twice", "remove one of them");
    if (scope.uncalled && !text(a.ref_attr_name).empty()) {
      add_reference(scope, a, n);
      continue;
    }
    const auto r = resolve(a, scope);
    if (!r) continue;
    if (attribute_type(*r->attribute) == onnx::AttributeProto::GRAPH && r->attribute->g)
      add_body(*scope.graph, *r->scope, name, *r->attribute->g, n);
    else
      n.attributes.set(name, import_attribute(*r->attribute, &model_, options_.control));
  }
}

void GraphImporter::inline_call(ImportScope& scope, const onnx::NodeProto& p, const onnx::FunctionProto& f,
                                const Node& call) {
  auto too_many = [&](std::string_view what, size_t got, size_t most) {
    if (got > most)
      throw Error(Code::node_bad_arity, "import",
                  "at most " + std::to_string(most) + " " + std::string(what) + " of function " + call.op,
                  std::to_string(got), "compare the call with the function");
  };
  too_many("inputs", p.input.size(), f.input.size());
  too_many("outputs", p.output.size(), f.output.size());
  for (const onnx::AttributeProto& a : p.attribute)
    if (!declares_attribute(f, text(a.name)))
      throw Error(Code::node_bad_attribute, "import", "attributes that function " + call.op + " has",
                  "'" + std::string(text(a.name)) + "'", "compare the call with the function");
  if (scope.uncalled) return;
  ImportScope inner{.graph = scope.graph,
                    .opsets = &opsets_of(f, scope),
                    .prefix = call.name + "/",
                    .call = &p,
                    .function = &f,
                    .caller = &scope};
  for (size_t i = 0; i < f.input.size(); ++i)
    inner.values[f.input[i]] = i < call.inputs.size() ? call.inputs[i] : no_id;
  inline_nodes(inner, f.node, f.output, call, "function " + call.op);
}

const OpsetMap& GraphImporter::opsets_of(const onnx::FunctionProto& f, const ImportScope& scope) {
  auto [opsets, fresh] = function_opsets_.try_emplace(&f);
  if (fresh) {
    opsets->second = read_opsets(f.opset_import, "function " + std::string(text(f.name)), findings_);
    if (opsets->second.empty()) opsets->second = *scope.opsets;
  }
  return opsets->second;
}

void GraphImporter::inline_nodes(ImportScope& inner, const std::vector<onnx::NodeProto>& nodes,
                                 const std::vector<std::string>& outputs, const Node& n,
                                 std::string_view what) {
  const Nesting level(nesting_, options_.max_nesting);
  --nodes_;  // the node itself is removed
  for (size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i] != no_id) inner.results.try_emplace(outputs[i], n.outputs[i]);
  fill_nodes(inner, nodes);
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == no_id || stopped_) continue;
    const auto v = find(inner, outputs[i]);
    if (!v || *v == no_id)
      throw Error(Code::graph_undefined_value, "import",
                  "outputs that a node of " + std::string(what) + " gives", "'" + outputs[i] + "'", {});
    if (*v == n.outputs[i]) continue;
    // The output is an input of the function, or one result has two names.
    Node same;
    same.op = "Identity";
    same.name = inner.prefix + same.op;
    same.inputs = {*v};
    same.outputs = {n.outputs[i]};
    same.origin = n.origin;
    add_inferred(*inner.graph, std::move(same));
  }
}

std::optional<bool> GraphImporter::known_condition(const Graph& g, ValueId v) {
  if (v == no_id) return std::nullopt;
  const auto value = known_values_.of(g, v);
  if (!value || !value->is_tensor() || value->tensor().type() != DataType::boolean ||
      value->tensor().size() != 1)
    return std::nullopt;
  return value->tensor().as<bool>()[0];
}

bool GraphImporter::inline_live_branch(Graph& g, const Node& n) {
  if (n.op != "If" || !n.domain.empty()) return false;
  const auto condition = known_condition(g, n.inputs[0]);
  if (!condition) return false;
  const auto branch = [&](bool taken) { return n.body(taken ? "then_branch" : "else_branch"); };
  const Graph* dead = branch(!*condition);
  const auto live = pending_.find(branch(*condition));
  if (!dead || live == pending_.end()) return false;
  const size_t before = findings_.size();
  fill_body(const_cast<Graph&>(*dead));
  bool faulty = false;
  for (size_t i = before; i < findings_.size() && !stopped_; ++i) {
    faulty |= findings_[i].severity == Diagnostic::Severity::error;
    findings_[i].severity = Diagnostic::Severity::warning;
  }
  if (!faulty) return false;
  const PendingBody taken = live->second;
  const onnx::GraphProto& body = *taken.proto;
  ImportScope inner{.graph = &g,
                    .outer = taken.outer,
                    .opsets = taken.outer->opsets,
                    .prefix = n.name + "/",
                    .call = taken.outer->call,
                    .function = taken.outer->function,
                    .caller = taken.outer->caller};
  declare_types(inner, body);
  add_initializers(inner, body);
  std::vector<std::string> outputs;
  for (const onnx::ValueInfoProto& o : body.output) outputs.emplace_back(text(o.name));
  if (outputs.size() != n.outputs.size())
    throw Error(Code::node_bad_arity, "import",
                "a branch with " + std::to_string(n.outputs.size()) + " outputs",
                std::to_string(outputs.size()), "give both branches as many outputs as the node has");
  inline_nodes(inner, body.node, outputs, n, "the branch that is taken");
  return true;
}

}  // namespace lathe
