// Layers for any operator, plug-ins, conditionals and assertions; and layers that are refused by name.
#include "base/nearest.h"
#include "network/bodies.h"
#include "schema/check_node.h"

namespace lathe {

Network begin_body(LayerMaker& m, const std::string& name) {
  const auto& state = NetworkAccess::state(m.network());
  auto g = std::make_shared<Graph>(&m.graph());
  g->name = name;
  return NetworkAccess::network(state, state->scope_of(g));
}

Body end_body(const Network& body, const std::string& name, const std::vector<TensorRef>& outputs) {
  std::vector<ValueId> values;
  for (const TensorRef& t : outputs) values.push_back(resolve(body, t));
  NetworkAccess::graph(body).set_outputs(std::move(values));
  return {name, NetworkAccess::state(body)->scopes[NetworkAccess::scope(body)]};
}

Body build_body(LayerMaker& m, const std::string& name, const BodyBuilder& fill) {
  if (!fill) m.fail(Code::bad_argument, "something that fills " + name, "nothing");
  Network body = begin_body(m, name);
  const std::vector<TensorRef> outputs = fill(body);
  return end_body(body, name, outputs);
}

Layer Network::add_if_conditional(const TensorRef& condition, const BranchBuilder& then_branch,
                                  const BranchBuilder& else_branch, const std::string& name) {
  LayerMaker m(*this, "if_conditional", name);
  m.made_by("add_if_conditional", condition, BodyOfCall{"then_branch"}, BodyOfCall{"else_branch"}, m.name());
  Node n;
  n.op = "If";
  n.inputs = {m.use(condition)};
  n.bodies = {build_body(m, "then_branch", then_branch), build_body(m, "else_branch", else_branch)};
  const auto& yes = n.bodies[0].graph->outputs();
  const auto& no = n.bodies[1].graph->outputs();
  if (yes.empty() || yes.size() != no.size())
    m.fail(Code::node_bad_arity, "branches of the same number of outputs, one at least",
           std::to_string(yes.size()) + " and " + std::to_string(no.size()));
  for (size_t i = 0; i < yes.size(); ++i) {
    const ValueType& a = n.bodies[0].graph->value(yes[i]).type;
    const ValueType& b = n.bodies[1].graph->value(no[i]).type;
    if (!join(a, b))
      m.fail(Code::node_bad_type, "the same type of output " + std::to_string(i) + " in both branches",
             a.str() + " and " + b.str());
    n.outputs.push_back(m.graph().add_value(m.graph().fresh_name(m.name() + "/If")));
  }
  return m.finish(m.graph().node(m.add(std::move(n))).outputs);
}

Layer Network::add_assertion(const TensorRef& x, const TensorRef& condition, const std::string& message) {
  if (message.empty())
    throw Error(Code::bad_argument, "network", "a message for who meets the assertion", "none");
  std::string name = message;
  for (size_t i = 2; state_->layer_names.contains(name); ++i) name = message + " (" + std::to_string(i) + ")";
  LayerMaker m(*this, "assertion", name);
  m.made_by("add_assertion", x, condition, m.name());
  const ValueId c = m.use(condition);
  if (m.type(c) != DataType::boolean)
    m.fail(Code::node_bad_type, "a condition of type bool", m.graph().value(c).type.str());
  if (const auto known = state_->infer.values(m.graph(), c))
    for (const Dim& d : *known)
      if (d == Dim(0)) m.fail(Code::bad_argument, "a condition that may be true", "one that is always false");
  // A list of one thing, which is x, and as index how often the condition is false: x whole, or an index
  // beyond the list, which no runtime passes over.
  const ValueId wrong = m.op("Cast", {m.op("Not", {c})}, Attrs().type("to", DataType::int64));
  const ValueId index = m.op("ReduceSum", {wrong}, Attrs().number("keepdims", 0));
  const ValueId list = m.op("Unsqueeze", {m.use(x), m.ints({0})});
  return m.finish(m.op("Gather", {list, index}, Attrs().number("axis", 0)));
}

Layer Network::add_operator(const std::string& op, const std::vector<TensorRef>& inputs,
                            const OperatorOptions& o) {
  const SchemaCatalog& catalog = SchemaCatalog::standard();
  LayerMaker m(*this, op, o.name);
  if (!catalog.find(o.domain, op)) {
    std::vector<std::string> names;
    for (const auto& [key, schema] : catalog.all())
      if (key.first == o.domain) names.push_back(key.second);
    std::string near;
    for (const std::string& s : nearest_names(op, names)) near += (near.empty() ? "" : ", ") + s;
    m.fail(
        catalog.knows_domain(o.domain) ? Code::node_unknown_operator : Code::node_unknown_domain,
        "an operator of ONNX" + (o.domain.empty() ? std::string() : ", or of domain " + o.domain), op,
        near.empty() ? "see 'lathe ops'; use add_plugin for one of your own" : "did you mean " + near + "?");
  }
  Node n;
  n.op = op;
  n.domain = o.domain;
  for (const TensorRef& t : inputs) n.inputs.push_back(m.use_if(t));
  for (const auto& [name, value] : o.attributes) n.attributes.set(name, value);
  for (const auto& [name, fill] : o.bodies) n.bodies.push_back(build_body(m, name, fill));
  n.metadata = o.metadata;
  constexpr size_t max_outputs = 1 << 16;
  if (o.outputs > max_outputs)
    m.fail(Code::node_bad_arity, "at most " + std::to_string(max_outputs) + " outputs",
           std::to_string(o.outputs));
  Graph& g = m.graph();
  auto output = [&](const std::string& name) {
    if (!name.empty() && g.fresh_name(name) != name)
      m.fail(Code::graph_duplicate_name, "an output name that is not taken", "'" + name + "'");
    return g.add_value(name.empty() ? g.fresh_name(m.name() + "/" + op) : name);
  };
  if (o.output_names.empty())
    for (size_t i = 0; i < o.outputs; ++i) n.outputs.push_back(output(""));
  else
    for (const std::string& name : o.output_names) n.outputs.push_back(name.empty() ? no_id : output(name));
  const NodeId id = m.add(std::move(n));
  return m.finish_as_is(id, !o.output_names.empty());
}

Layer Network::add_plugin(const std::string& domain, const std::string& op,
                          const std::vector<TensorRef>& inputs, const std::vector<std::string>& output_types,
                          const OperatorOptions& o) {
  LayerMaker m(*this, op, o.name);
  if (domain.empty() || domain == "ai.onnx" || SchemaCatalog::standard().find(domain, op))
    m.fail(Code::bad_argument, "an operator that this library does not have", op, "use add_operator");
  if (!o.bodies.empty()) m.fail(Code::not_supported, "a plug-in without bodies", "bodies");
  const auto type = [&](const std::string& text) {
    try {
      return ValueType::parse(text);
    } catch (const Error& e) {
      throw e.at("network", m.name(), op);
    }
  };
  Graph& g = m.graph();
  Node n;
  n.op = op;
  n.domain = domain;
  for (const TensorRef& t : inputs) n.inputs.push_back(m.use_if(t));
  for (const auto& [name, value] : o.attributes) n.attributes.set(name, value);
  n.metadata = o.metadata;
  for (size_t i = 0; i < output_types.size(); ++i) {
    const bool called = i < o.output_names.size() && !o.output_names[i].empty();
    const std::string name = g.fresh_name(called ? o.output_names[i] : m.name() + "/" + op);
    const ValueId made = g.add_value(name, type(output_types[i]));
    n.outputs.push_back(made);
    state_->infer.declare(g, made, g.value(made).type);
  }
  const NodeId id = m.add(std::move(n));
  return m.finish_as_is(id, !o.output_names.empty());
}

Layer Network::add_moe(const std::vector<TensorRef>&, const std::string& name) {
  LayerMaker(*this, "moe", name)
      .fail(Code::not_supported, "a layer of this version", "a mixture of experts",
            "build it of add_topk, add_gather and add_matrix_multiply");
}

Layer Network::add_dist_collective(const TensorRef&, const std::string& operation, const std::string& name) {
  LayerMaker(*this, "dist_collective", name)
      .fail(Code::not_supported, "a layer of this version", "the collective operation " + operation,
            "networks run on one machine");
}

}  // namespace lathe
