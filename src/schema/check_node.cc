#include "schema/check_node.h"

#include <algorithm>

#include "base/nearest.h"

namespace lathe {

Diagnostic node_fault(const Graph& g, const Node& n, std::string stage, Code code, std::string expected,
                      std::string got, std::string remedy) {
  Diagnostic d;
  d.code = code;
  d.stage = std::move(stage);
  d.node = n.name;
  d.op = n.op;
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  for (ValueId v : n.inputs) {
    if (v == no_id) {
      d.inputs.push_back("(left out)");
      continue;
    }
    const ValueInfo& i = g.value(v);
    d.inputs.push_back(i.type.known() ? i.name + ": " + i.type.str() : i.name);
  }
  return d;
}

Diagnostic at_node(const Graph& g, const Node& n, std::string_view stage, const Error& e) {
  Diagnostic d = e.diagnostic();
  if (!d.op.empty()) return d;  // a node inside one of this node's bodies
  Diagnostic here = node_fault(g, n, std::string(stage), d.code, std::move(d.expected), std::move(d.got),
                               std::move(d.remedy));
  here.severity = d.severity;
  if (!d.node.empty() && d.node != n.name) here.got += " (" + d.node + ")";
  return here;
}

std::string versioned_name(const OpSchema& schema, const Version& version) {
  const std::string name = schema.domain().empty() ? schema.name() : schema.domain() + "::" + schema.name();
  return name + "-" + std::to_string(version.since);
}

namespace {

std::string count_text(size_t least, size_t most) {
  if (most == SIZE_MAX) return "at least " + std::to_string(least);
  return least == most ? std::to_string(least) : std::to_string(least) + " to " + std::to_string(most);
}

std::string parameters_text(const std::vector<Parameter>& list) {
  std::string t;
  for (const Parameter& p : list) t += (t.empty() ? "" : ", ") + p.name;
  return t;
}

/// Values up to the last that is there.
size_t count_present(const std::vector<ValueId>& list) {
  size_t n = list.size();
  while (n > 0 && list[n - 1] == no_id) --n;
  return n;
}

bool kind_fits(const AttributeDecl& a, const Node& n) {
  const AttributeValue* v = n.attributes.find(a.name);
  const std::string_view kind = v ? kind_of(*v) : n.body(a.name) ? "graph" : "";
  if (kind == a.kind) return true;
  // Types are kept as text, sparse tensors as dense ones.
  return (a.kind == "type" && kind == "string") || (a.kind == "sparse" && kind == "tensor");
}

std::string list_text(const std::vector<std::string>& items) {
  constexpr size_t most = 12;
  std::string t;
  for (size_t i = 0; i < items.size() && i < most; ++i) t += (i ? ", " : "") + items[i];
  return items.size() > most ? t + ", …" : t;
}

}  // namespace

std::vector<Diagnostic> check_signature(const Graph& g, const Node& n, const OpSchema& schema,
                                        const Version& version) {
  const Signature& s = version.signature();
  const std::string name = versioned_name(schema, version);
  std::vector<Diagnostic> found;
  auto fault = [&](Code code, std::string expected, std::string got, std::string remedy) {
    found.push_back(node_fault(g, n, "check", code, std::move(expected), std::move(got), std::move(remedy)));
  };

  const size_t inputs = count_present(n.inputs), outputs = count_present(n.outputs);
  // Optional inputs may be left out, but some operators want the place of one written.
  bool too_few = n.inputs.size() < s.min_inputs;
  for (size_t i = inputs; i < s.min_inputs; ++i)
    too_few = too_few || s.input(i).arity != Parameter::Arity::optional;
  if (too_few || inputs > s.max_inputs)
    fault(Code::node_bad_arity,
          count_text(s.min_inputs, s.max_inputs) + " inputs of " + name + " (" + parameters_text(s.inputs) +
              ")",
          std::to_string(inputs), "compare the node with the operator's signature");
  for (size_t i = 0; i < inputs && i < s.max_inputs; ++i)
    if (n.inputs[i] == no_id && s.input(i).arity != Parameter::Arity::optional)
      fault(Code::node_bad_arity, "input " + std::to_string(i) + " (" + s.input(i).name + ") of " + name,
            "nothing", "only optional inputs may be left out");
  if (outputs < s.min_outputs || outputs > s.max_outputs)
    fault(Code::node_bad_arity,
          count_text(s.min_outputs, s.max_outputs) + " outputs of " + name + " (" +
              parameters_text(s.outputs) + ")",
          std::to_string(outputs), "compare the node with the operator's signature");

  std::vector<std::string> known;
  for (const AttributeDecl& a : s.attributes) known.push_back(a.name);
  auto unknown = [&](const std::string& attribute) {
    const auto near = nearest_names(attribute, known, 1);
    fault(Code::node_bad_attribute, "attributes that " + name + " has", "'" + attribute + "'",
          near.empty() ? "remove it, or check the model's opset" : "did you mean '" + near[0] + "'?");
  };
  for (const auto& a : n.attributes)
    if (!s.attribute(a.name)) unknown(a.name);
  for (const Body& b : n.bodies)
    if (!s.attribute(b.name)) unknown(b.name);
  for (const AttributeDecl& a : s.attributes) {
    const AttributeValue* v = n.attributes.find(a.name);
    const bool present = v || n.body(a.name);
    if (!present && a.required)
      fault(Code::node_bad_attribute, "attribute '" + a.name + "' (" + a.kind + ") of " + name, "none",
            "add it");
    else if (present && !kind_fits(a, n))
      fault(Code::node_bad_attribute, "attribute '" + a.name + "' of kind " + a.kind,
            "kind " + std::string(v ? kind_of(*v) : "graph"),
            "write it as the kind that " + name + " declares");
  }
  return found;
}

bool is_complete(const ValueType& t) {
  switch (t.kind) {
    case ValueType::Kind::none:
      return false;
    case ValueType::Kind::tensor:
    case ValueType::Kind::sparse:
      return t.elem != DataType::undefined;
    default:
      return t.inner && is_complete(*t.inner);
  }
}

std::optional<std::string> refused_input(const Signature& s, size_t i, const ValueType& t) {
  const Parameter& p = s.input(i);
  const TypeVariable* variable = s.variable(p.type);
  if (variable ? variable->allows(t) : t.str(false) == p.type) return std::nullopt;
  return "input " + std::to_string(i) + " (" + p.name + ") of " +
         (variable ? "a type among " + list_text(variable->types) : "type " + p.type);
}

std::vector<Diagnostic> check_input_types(const Graph& g, const Node& n, const OpSchema& schema,
                                          const Version& version) {
  std::vector<Diagnostic> found;
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    if (n.inputs[i] == no_id) continue;
    const ValueType& t = g.value(n.inputs[i]).type;
    if (!is_complete(t)) continue;
    auto expected = refused_input(version.signature(), i, t);
    if (!expected) continue;
    const auto allows = [&](const Version& v) {
      return v.since > version.since && !v.deprecated && i < v.signature().max_inputs &&
             !refused_input(v.signature(), i, t);
    };
    const auto later = std::ranges::find_if(schema.versions(), allows);
    found.push_back(
        node_fault(g, n, "check", Code::node_bad_type,
                   std::move(*expected) + ", as " + versioned_name(schema, version) + " has it", t.str(false),
                   later == schema.versions().end()
                       ? "insert a Cast, or correct what produces the input"
                       : "write the model for opset " + std::to_string(later->since) + ", or insert a Cast"));
  }
  return found;
}

bool same_value(const AttributeValue& a, const AttributeValue& b) {
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, std::vector<Tensor>>)
          return false;
        else
          return std::holds_alternative<T>(b) && std::get<T>(b) == x;
      },
      a);
}

}  // namespace lathe
