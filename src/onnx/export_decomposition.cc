#include "onnx/export_decomposition.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "onnx/export_version.h"
#include "schema/check_node.h"
#include "schema/infer.h"

namespace lathe {
namespace {

/// Adds the nodes of a decomposition to a graph, or to a body of the decomposed node.
class NodeDecomposition final : public DecomposeContext {
 public:
  NodeDecomposition(Graph& g, const Node& n, const SchemaCatalog& catalog, InferState& state, int opset,
                    FromFront& known)
      : g_(g), node_(n), catalog_(catalog), state_(state), opset_(opset), known_(known) {}

  Node& node() override { return node_; }
  Graph& graph() override { return g_; }
  int opset() const override { return opset_; }
  bool is_from_front(ValueId v) const override { return known_.contains({&g_, v}); }
  void note_from_front(ValueId v) override { known_.insert({&g_, v}); }
  const ValueType& type(ValueId v) const override {
    static const ValueType absent;
    return v == no_id ? absent : g_.value(v).type;
  }
  const Tensor* constant(ValueId v) const override { return g_.constant_tensor(v); }
  ValueId add_constant(Tensor t, std::string_view hint) override {
    return g_.add_constant(fresh(hint), std::move(t));
  }
  std::vector<ValueId> insert(std::string_view op, std::vector<ValueId> inputs, Attributes attrs,
                              size_t outputs) override {
    return insert_with_bodies(op, std::move(inputs), std::move(attrs), {}, outputs);
  }
  std::vector<ValueId> insert_with_bodies(std::string_view op, std::vector<ValueId> inputs, Attributes attrs,
                                          std::vector<Body> bodies, size_t outputs) override {
    Node n;
    n.op = op;
    n.name = node_.name + "/" + n.op;
    n.inputs = std::move(inputs);
    n.attributes = std::move(attrs);
    n.bodies = std::move(bodies);
    n.origin = node_.origin;
    for (size_t i = 0; i < outputs; ++i) n.outputs.push_back(g_.add_value(fresh(op)));
    std::vector<ValueId> made = n.outputs;
    infer_node(g_, g_.add_node(std::move(n)), catalog_, state_);
    return made;
  }
  std::unique_ptr<DecomposeContext> inside(Graph& body) override {
    return std::make_unique<NodeDecomposition>(body, node_, catalog_, state_, opset_, known_);
  }
  std::vector<ValueId> insert_body(std::string_view name, std::span<const ValueId> inputs) override;

 private:
  std::string fresh(std::string_view hint) const {
    return g_.fresh_name(node_.name + "/" + std::string(hint));
  }

  Graph& g_;
  Node node_;
  const SchemaCatalog& catalog_;
  InferState& state_;
  const int opset_;
  FromFront& known_;
};

/// Maps values of a body to those of the graph that takes over its nodes, which is the body's parent or, if
/// the node with the body moves into a body itself, inside of it.
class BodyValues {
 public:
  BodyValues(const Graph& body, Graph& to) : body_(body), to_(to), as_(body.value_count(), no_id) {}

  void set(ValueId v, ValueId as) { as_[v] = as; }
  ValueId of(ValueId v) {
    if (v == no_id || as_[v] != no_id) return v == no_id ? no_id : as_[v];
    const ValueInfo& from = body_.value(v);
    if (from.captured != no_id)
      as_[v] = &to_ == body_.parent() ? from.captured : to_.capture(from.captured);
    else if (from.constant)
      as_[v] = to_.add_constant(to_.fresh_name(from.name), *from.constant, from.type, from.source);
    else
      as_[v] = to_.add_value(to_.fresh_name(from.name), from.type);
    return as_[v];
  }

 private:
  const Graph& body_;
  Graph& to_;
  std::vector<ValueId> as_;
};

std::vector<ValueId> NodeDecomposition::insert_body(std::string_view name, std::span<const ValueId> inputs) {
  const Graph& body = *node_.body(name);
  BodyValues values(body, g_);
  for (size_t i = 0; i < inputs.size(); ++i) values.set(body.inputs().at(i), inputs[i]);
  for (NodeId id : body.order()) {
    Node n = body.node(id);
    n.name = node_.name + "/" + n.name;
    for (auto* list : {&n.inputs, &n.outputs})
      for (ValueId& v : *list) v = values.of(v);
    for (Body& b : n.bodies) {
      b.graph = b.graph->clone(&g_);
      for (ValueId c : b.graph->captures())
        b.graph->value(c).captured = values.of(b.graph->value(c).captured);
    }
    g_.add_node(std::move(n));
  }
  std::vector<ValueId> outputs;
  for (ValueId v : body.outputs()) outputs.push_back(values.of(v));
  return outputs;
}

class Decomposer {
 public:
  Decomposer(const SchemaCatalog& catalog, int opset) : catalog_(catalog), opset_(opset) {}

  const FromFront& known() const { return known_; }

  void run(Graph& g) {
    for (NodeId id : g.order())
      if (auto obstacle = express(g, id, 0)) refuse(g, id, std::move(*obstacle));
  }

 private:
  /// Decompositions that lead to each other are a bug; none needs nearly as many steps.
  static constexpr int max_depth = 16;

  /// Reports the first opset that can express the node, and what prevents that in the opset before it. The
  /// graph is unusable afterwards.
  [[noreturn]] void refuse(Graph& g, NodeId id, Obstacle o) const {
    const Node node = g.node(id);
    for (o.since = opset_ + 1; o.since < newest_opset; ++o.since) {
      auto next = Decomposer(catalog_, o.since).express_itself(g, id, 1);
      if (!next) break;
      o = {o.since, std::move(next->why), std::move(next->remedy)};
    }
    refuse_at(g, node, opset_, o);
  }

  std::optional<Obstacle> express(Graph& g, NodeId id, int depth) {
    const auto nodes = g.node_count();
    if (auto obstacle = express_itself(g, id, depth)) return obstacle;
    if (g.node_count() > nodes) return std::nullopt;  // other nodes replace it
    const std::vector<Body> bodies = g.node(id).bodies;
    for (const Body& b : bodies) {
      if (depth == 0) {
        run(*b.graph);
        continue;
      }
      for (NodeId inner : b.graph->order())
        if (auto obstacle = express(*b.graph, inner, depth + 1))
          return within(b.graph->node(inner).op, *obstacle);
    }
    return std::nullopt;
  }

  /// Expresses the node without its bodies.
  std::optional<Obstacle> express_itself(Graph& g, NodeId id, int depth) {
    const Node& n = g.node(id);
    const OpSchema* schema = n.domain.empty() ? catalog_.find("", n.op) : nullptr;
    if (!schema) return std::nullopt;
    if (const Version* version = schema->at(opset_); version && version->deprecated)
      return Obstacle{opset_,
                      "there is no " + n.op + " from opset " + std::to_string(version->since) + " on"};
    auto obstacle = obstacle_below(g, n, *schema, opset_, known_);
    return obstacle ? decompose(g, id, *schema, std::move(*obstacle), depth) : std::nullopt;
  }

  static Obstacle within(const std::string& op, const Obstacle& o) {
    return {o.since, "in older ones its " + op + " cannot be said: " + o.why, o.remedy};
  }

  /// Replaces a node that needs a newer opset by its decomposition.
  std::optional<Obstacle> decompose(Graph& g, NodeId id, const OpSchema& schema, Obstacle own, int depth) {
    if (!schema.decomposition() || depth == max_depth) return own;
    const Node node = g.node(id);
    NodeDecomposition context(g, node, catalog_, state_, opset_, known_);
    const auto first = static_cast<NodeId>(g.node_count());
    std::vector<ValueId> outputs;
    try {
      outputs = schema.decomposition()(context);
    } catch (const Error& e) {
      if (e.code() != Code::node_cannot_convert) throw;
      const Diagnostic& d = e.diagnostic();
      if (d.expected.empty()) return own;
      return Obstacle{own.since, "older ones want " + d.expected + ", not " + d.got, d.remedy};
    }
    const auto end = static_cast<NodeId>(g.node_count());
    for (NodeId made = first; made < end; ++made) {
      const std::string op = g.node(made).op;
      const auto o = express(g, made, depth + 1);
      if (!o) continue;
      // If the obstacle is the same operator with other types or attributes, it tells the cause itself.
      if (op == node.op && o->since == own.since) return o;
      return within(op, *o);
    }
    g.remove_node(id);
    std::map<ValueId, ValueId> given;
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      if (node.outputs[i] == no_id) continue;
      ValueId v = outputs.at(i);
      const auto [before, fresh] = given.try_emplace(v, node.outputs[i]);
      if (!fresh) v = before->second;
      const NodeId producer = g.value(v).producer;
      // A value that was there before, or that is another output of the node already, goes through an
      // Identity.
      if (!fresh || producer == no_id || producer < first) v = context.insert("Identity", {v}, {}, 1)[0];
      take_place(g, v, node.outputs[i], first);
    }
    return std::nullopt;
  }

  /// Replaces `wanted` by the value `v`, which a node from `first` on makes.
  static void take_place(Graph& g, ValueId v, ValueId replaced, NodeId first) {
    ValueInfo &from = g.value(v), &to = g.value(replaced);
    if (auto better = refine(to.type, from.type)) to.type = std::move(*better);
    to.output = from.output;
    to.producer = std::exchange(from.producer, no_id);
    g.node(to.producer).outputs.set(to.output, replaced);
    for (NodeId id = first; id < g.node_count(); ++id) read_instead(g.node(id), v, replaced);
  }
  static void read_instead(Node& n, ValueId v, ValueId replaced) {
    std::ranges::replace(n.inputs, v, replaced);
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures())
        if (b.graph->value(c).captured == v) b.graph->value(c).captured = replaced;
  }

  const SchemaCatalog& catalog_;
  const int opset_;
  InferState state_;
  FromFront known_;
};

}  // namespace

FromFront decompose_all(Graph& g, const SchemaCatalog& catalog, int opset) {
  Decomposer decomposer(catalog, opset);
  decomposer.run(g);
  return decomposer.known();
}

}  // namespace lathe
