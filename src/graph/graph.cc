#include "graph/graph.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>
#include <utility>

namespace lathe {

struct Graph::Nothing {
  ValueInfo value;
  Node node;
};

Graph::Graph(Graph* parent) : parent_(parent) {}
Graph::~Graph() = default;

const ValueInfo& Graph::value(ValueId v) const {
  static const ValueInfo nothing;
  return v < values_.size() ? values_[v] : nothing;
}

ValueInfo& Graph::value(ValueId v) {
  if (v < values_.size()) return values_[v];
  if (!nothing_) nothing_ = std::make_unique<Nothing>();
  return nothing_->value = ValueInfo();
}

const Node& Graph::node(NodeId n) const {
  static const Node nothing = [] {
    Node none;
    none.alive = false;
    return none;
  }();
  return n < nodes_.size() ? nodes_[n] : nothing;
}

Node& Graph::node(NodeId n) {
  if (n < nodes_.size()) return nodes_[n];
  if (!nothing_) nothing_ = std::make_unique<Nothing>();
  return nothing_->node = std::as_const(*this).node(no_id);
}

const Graph* Node::body(std::string_view which) const {
  for (const Body& b : bodies)
    if (b.name == which) return b.graph.get();
  return nullptr;
}

ValueId Graph::add_value(std::string value_name, ValueType type) {
  const auto id = static_cast<ValueId>(values_.size());
  ValueInfo v;
  v.name = value_name.empty() ? fresh_name("value") : std::move(value_name);
  v.type = std::move(type);
  by_name_.try_emplace(v.name, id);
  values_.push_back(std::move(v));
  return id;
}

ValueId Graph::add_input(std::string value_name, ValueType type) {
  const ValueId v = add_value(std::move(value_name), std::move(type));
  values_[v].is_input = true;
  inputs_.push_back(v);
  return v;
}

ValueId Graph::add_constant(std::string value_name, Tensor t, std::string source) {
  SymShape shape(t.shape().begin(), t.shape().end());
  ValueType type = ValueType::tensor(t.type(), std::move(shape));
  return add_constant(std::move(value_name), Value(std::move(t)), std::move(type), std::move(source));
}

ValueId Graph::add_constant(std::string value_name, Value value, ValueType type, std::string source) {
  const ValueId v = add_value(std::move(value_name), std::move(type));
  values_[v].constant = std::make_shared<const Value>(std::move(value));
  values_[v].source = std::move(source);
  return v;
}

ValueId Graph::capture(ValueId outer) {
  for (ValueId v = 0; v < values_.size(); ++v)
    if (values_[v].captured == outer) return v;
  const ValueInfo& source = parent_->value(outer);
  const ValueId v = add_value(source.name, source.type);
  values_[v].captured = outer;
  if (source.is_constant()) values_[v].constant = source.constant;
  return v;
}

const Tensor* Graph::constant_tensor(ValueId v) const {
  if (v == no_id) return nullptr;
  const ValueInfo& i = values_[v];
  return i.is_constant() && i.constant->is_tensor() ? &i.constant->tensor() : nullptr;
}

std::string Graph::fresh_name(std::string_view hint) const {
  auto taken = [&](const std::string& candidate) {
    for (const Graph* g = this; g; g = g->parent_)
      if (g->by_name_.contains(candidate)) return true;
    return false;
  };
  std::string candidate(hint);
  // Counting from the number of values, here and around, finds a free name at once nearly always.
  size_t next = 0;
  for (const Graph* g = this; g; g = g->parent_) next += g->values_.size();
  while (taken(candidate)) candidate = std::string(hint) + "." + std::to_string(next++);
  return candidate;
}

ValueId Graph::find_value(std::string_view value_name) const {
  const auto at = by_name_.find(value_name);
  return at == by_name_.end() ? no_id : at->second;
}

std::vector<ValueId> Graph::captures() const {
  std::vector<ValueId> list;
  for (ValueId v = 0; v < values_.size(); ++v)
    if (values_[v].captured != no_id) list.push_back(v);
  return list;
}

NodeId Graph::add_node(Node n) {
  const auto id = static_cast<NodeId>(nodes_.size());
  std::sort(n.bodies.begin(), n.bodies.end(), [](const Body& a, const Body& b) { return a.name < b.name; });
  for (uint32_t i = 0; i < n.outputs.size(); ++i) {
    if (n.outputs[i] == no_id) continue;
    values_[n.outputs[i]].producer = id;
    values_[n.outputs[i]].output = i;
  }
  nodes_.push_back(std::move(n));
  return id;
}

NodeId Graph::add_node(std::string op, std::vector<ValueId> inputs, size_t outputs, Attributes attributes,
                       std::string node_name) {
  Node n;
  n.op = std::move(op);
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  n.name = std::move(node_name);
  for (size_t i = 0; i < outputs; ++i)
    n.outputs.push_back(add_value(fresh_name(n.name.empty() ? n.op : n.name)));
  return add_node(std::move(n));
}

size_t Graph::live_nodes() const {
  return static_cast<size_t>(
      std::count_if(nodes_.begin(), nodes_.end(), [](const Node& n) { return n.alive; }));
}

void Graph::remove_node(NodeId id) {
  Node& n = nodes_[id];
  n.alive = false;
  for (ValueId v : n.outputs)
    if (v != no_id && values_[v].producer == id) values_[v].producer = no_id;
  n.bodies.clear();
}

std::vector<std::vector<Use>> Graph::uses() const {
  std::vector<std::vector<Use>> all(values_.size());
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& n = nodes_[id];
    if (!n.alive) continue;
    for (uint32_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != no_id) all[n.inputs[i]].push_back({id, i});
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures()) all[b.graph->value(c).captured].push_back({id, UINT32_MAX});
  }
  return all;
}

std::vector<Use> Graph::uses_of(ValueId v) const {
  std::vector<Use> found;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& n = nodes_[id];
    if (!n.alive) continue;
    for (uint32_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] == v) found.push_back({id, i});
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures())
        if (b.graph->value(c).captured == v) found.push_back({id, UINT32_MAX});
  }
  return found;
}

bool Graph::is_output(ValueId v) const {
  return std::find(outputs_.begin(), outputs_.end(), v) != outputs_.end();
}

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& n : nodes_) {
    if (!n.alive) continue;
    std::replace(n.inputs.begin(), n.inputs.end(), from, to);
    for (Body& b : n.bodies)
      for (ValueId c : b.graph->captures())
        if (b.graph->value(c).captured == from) b.graph->value(c).captured = to;
  }
  std::replace(outputs_.begin(), outputs_.end(), from, to);
}

void Graph::rename(ValueId v, std::string name) {
  if (const auto at = by_name_.find(values_[v].name); at != by_name_.end() && at->second == v)
    by_name_.erase(at);
  values_[v].name = std::move(name);
  by_name_.try_emplace(values_[v].name, v);
}

void Graph::truncate(size_t values, size_t nodes) {
  while (nodes_.size() > nodes) nodes_.pop_back();
  for (; values_.size() > values; values_.pop_back()) {
    const auto at = by_name_.find(values_.back().name);
    if (at != by_name_.end() && at->second == values_.size() - 1) by_name_.erase(at);
  }
  std::erase_if(inputs_, [&](ValueId v) { return v >= values; });
  std::erase_if(outputs_, [&](ValueId v) { return v >= values; });
}

void Graph::swap_names(ValueId a, ValueId b) {
  std::swap(values_[a].name, values_[b].name);
  by_name_[values_[a].name] = a;
  by_name_[values_[b].name] = b;
}

std::vector<NodeId> Graph::order() const {
  // Kahn's algorithm with the smallest id first: stable, and iterative, so that depth costs no stack.
  std::vector<uint32_t> waiting(nodes_.size(), 0);
  std::vector<std::vector<NodeId>> readers(nodes_.size());
  auto depend = [&](NodeId reader, ValueId v) {
    const NodeId p = v == no_id ? no_id : values_[v].producer;
    if (p == no_id) return;
    readers[p].push_back(reader);
    ++waiting[reader];
  };
  std::priority_queue<NodeId, std::vector<NodeId>, std::greater<>> ready;
  size_t live = 0;
  for (NodeId id = 0; id < nodes_.size(); ++id) {
    const Node& n = nodes_[id];
    if (!n.alive) continue;
    ++live;
    for (ValueId v : n.inputs) depend(id, v);
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures()) depend(id, b.graph->value(c).captured);
    if (waiting[id] == 0) ready.push(id);
  }
  std::vector<NodeId> sorted;
  sorted.reserve(live);
  while (!ready.empty()) {
    const NodeId id = ready.top();
    ready.pop();
    sorted.push_back(id);
    for (NodeId r : readers[id])
      if (--waiting[r] == 0) ready.push(r);
  }
  if (sorted.size() != live) {
    Diagnostic d;
    d.code = Code::graph_cycle;
    d.stage = "check";
    for (NodeId id = 0; id < nodes_.size(); ++id)
      if (nodes_[id].alive && waiting[id]) {
        d.node = nodes_[id].name;
        d.op = nodes_[id].op;
        d.node_index = id;
        break;
      }
    d.expected = "a graph without cycles";
    d.got = std::to_string(live - sorted.size()) + " nodes that wait for each other";
    d.remedy = "a node may only read what earlier nodes made; use Loop for recurrence";
    throw Error(std::move(d));
  }
  return sorted;
}

void Graph::check() const {
  auto fault = [&](const Node* n, std::string expected, std::string got) {
    Diagnostic d;
    d.code = Code::internal;
    d.stage = "graph";
    if (n) d.node = n->name, d.op = n->op;
    d.expected = std::move(expected);
    d.got = std::move(got);
    throw Error(std::move(d));
  };
  auto valid = [&](ValueId v) { return v == no_id || v < values_.size(); };
  for (ValueId v : inputs_)
    if (v >= values_.size()) fault(nullptr, "inputs that exist", std::to_string(v));
  for (ValueId v : outputs_)
    if (v >= values_.size()) fault(nullptr, "outputs that exist", std::to_string(v));
  std::vector<bool> produced(values_.size(), false);
  for (const Node& n : nodes_) {
    if (!n.alive) continue;
    for (ValueId v : n.inputs)
      if (!valid(v)) fault(&n, "inputs that exist", std::to_string(v));
    for (ValueId v : n.outputs) {
      if (!valid(v)) fault(&n, "outputs that exist", std::to_string(v));
      if (v == no_id) continue;
      if (produced[v]) fault(&n, "one producer for '" + values_[v].name + "'", "two");
      produced[v] = true;
    }
    for (const Body& b : n.bodies) {
      if (b.graph->parent() != this) fault(&n, "bodies that belong to this graph", b.name);
      for (ValueId c : b.graph->captures())
        if (b.graph->value(c).captured >= values_.size())
          fault(&n, "captures that exist", b.graph->value(c).name);
      b.graph->check();
    }
  }
  auto available = [&](ValueId v) {
    const ValueInfo& i = values_[v];
    return produced[v] || i.is_input || i.constant || i.captured != no_id;
  };
  for (const Node& n : nodes_)
    if (n.alive)
      for (ValueId v : n.inputs)
        if (v != no_id && !available(v)) fault(&n, "inputs that something produces", values_[v].name);
  for (ValueId v : outputs_)
    if (!available(v)) fault(nullptr, "outputs that something produces", values_[v].name);
  (void)order();
}

std::unique_ptr<Graph> Graph::clone(Graph* parent) const {
  auto g = std::make_unique<Graph>(parent);
  g->name = name;
  g->doc = doc;
  g->metadata = metadata;
  g->functions = functions;
  g->opsets = opsets;
  g->producer_name = producer_name;
  g->producer_version = producer_version;
  g->model_domain = model_domain;
  g->model_version = model_version;
  g->values_ = values_;
  g->nodes_ = nodes_;
  g->inputs_ = inputs_;
  g->outputs_ = outputs_;
  g->by_name_ = by_name_;
  for (Node& n : g->nodes_)
    for (Body& b : n.bodies) b.graph = b.graph->clone(g.get());
  return g;
}

}  // namespace lathe
