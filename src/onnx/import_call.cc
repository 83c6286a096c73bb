// Calls of functions: attributes that refer to those of the call, and the body in place of the node.
#include <algorithm>

#include "onnx/import_graph.h"
#include "onnx/import_types.h"

namespace lathe {
namespace {

struct ResolvedAttribute {
  const onnx::AttributeProto* attribute;
  const ImportScope* scope;  // what names in a graph attribute mean
};

/// Follows references to the attributes of calls. Nothing where the call leaves it out and the function has
/// no default.
std::optional<ResolvedAttribute> resolve(const onnx::AttributeProto& a, const ImportScope& scope) {
  ResolvedAttribute r{&a, &scope};
  while (!text(r.attribute->ref_attr_name).empty()) {
    const std::string_view name = text(r.attribute->ref_attr_name);
    if (!r.scope->function)
      throw Error(Code::node_bad_attribute, "import", "references to attributes inside functions only",
                  "one to '" + std::string(name) + "'", "give the attribute a value");
    auto named = [&](const std::vector<onnx::AttributeProto>& list) {
      return std::find_if(list.begin(), list.end(), [&](const auto& x) { return text(x.name) == name; });
    };
    if (const auto given = named(r.scope->call->attribute); given != r.scope->call->attribute.end()) {
      r = {&*given, r.scope->caller};
      continue;
    }
    const auto fallback = named(r.scope->function->attribute_proto);
    if (fallback == r.scope->function->attribute_proto.end()) return std::nullopt;
    if (fallback->ref_attr_name)
      throw Error(Code::node_bad_attribute, "import", "defaults of attributes that are values", "a reference",
                  "give the default a value");
    return ResolvedAttribute{&*fallback, r.scope};
  }
  return r;
}

}  // namespace

void GraphImporter::add_attributes(ImportScope& scope, const onnx::NodeProto& p, Node& n) {
  for (const onnx::AttributeProto& a : p.attribute) {
    const std::string name(text(a.name));
    if (name.empty())
      throw Error(Code::node_bad_attribute, "import", "attributes with names", "one without", "name it");
    if (n.attributes.has(name) || n.body(name))
      throw Error(Code::node_bad_attribute, "import", "attributes that are given once",
                  "'" + name + "' twice", "remove one of them");
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
  const Nesting level(nesting_, options_.max_nesting);
  --nodes_;  // the call itself goes
  auto too_many = [&](std::string_view what, size_t got, size_t most) {
    if (got > most)
      throw Error(Code::node_bad_arity, "import",
                  "at most " + std::to_string(most) + " " + std::string(what) + " of function " + call.op,
                  std::to_string(got), "compare the call with the function");
  };
  too_many("inputs", p.input.size(), f.input.size());
  too_many("outputs", p.output.size(), f.output.size());
  for (const onnx::AttributeProto& a : p.attribute) {
    auto is_named = [&](const auto& x) { return text(x.name) == text(a.name); };
    const bool declared =
        std::find(f.attribute.begin(), f.attribute.end(), text(a.name)) != f.attribute.end() ||
        std::any_of(f.attribute_proto.begin(), f.attribute_proto.end(), is_named);
    if (!declared)
      throw Error(Code::node_bad_attribute, "import", "attributes that function " + call.op + " has",
                  "'" + std::string(text(a.name)) + "'", "compare the call with the function");
  }
  auto [opsets, fresh] = function_opsets_.try_emplace(&f);
  if (fresh) {
    opsets->second = read_opsets(f.opset_import, "function " + call.op, findings_);
    if (opsets->second.empty()) opsets->second = *scope.opsets;
  }
  ImportScope inner{.graph = scope.graph,
                    .opsets = &opsets->second,
                    .prefix = call.name + "/",
                    .call = &p,
                    .function = &f,
                    .caller = &scope};
  for (size_t i = 0; i < f.input.size(); ++i)
    inner.values[f.input[i]] = i < call.inputs.size() ? call.inputs[i] : no_id;
  for (size_t i = 0; i < call.outputs.size(); ++i)
    if (call.outputs[i] != no_id) inner.results.try_emplace(f.output[i], call.outputs[i]);
  fill_nodes(inner, f.node);
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (call.outputs[i] == no_id || stopped_) continue;
    const auto v = inner.values.find(f.output[i]);
    if (v == inner.values.end() || v->second == no_id)
      throw Error(Code::graph_undefined_value, "import",
                  "outputs that a node of function " + call.op + " gives", "'" + f.output[i] + "'", {});
    if (v->second == call.outputs[i]) continue;
    // An input handed through, or one result under two names.
    Node same;
    same.op = "Identity";
    same.name = inner.prefix + same.op;
    same.inputs = {v->second};
    same.outputs = {call.outputs[i]};
    same.origin = call.origin;
    add_inferred(*scope.graph, std::move(same));
  }
}

}  // namespace lathe
