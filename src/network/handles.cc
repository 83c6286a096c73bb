// Tensors and layers as their handles see them.
#include <algorithm>
#include <charconv>
#include <map>

#include "network/family.h"
#include "network/state.h"

namespace lathe {
namespace {

Error misused(std::string expected, std::string got, std::string remedy = {}) {
  return Error(Code::bad_argument, "network", std::move(expected), std::move(got), std::move(remedy));
}

const Graph& graph_of(const TensorRef& t) {
  if (!t) throw misused("a tensor", "none");
  const Graph& g = NetworkAccess::state(t)->graph(NetworkAccess::scope(t));
  if (NetworkAccess::value(t) >= g.value_count())
    throw misused("a tensor of the network", "one that was taken back");
  return g;
}
const ValueInfo& info(const TensorRef& t) { return graph_of(t).value(NetworkAccess::value(t)); }

Graph& graph_of(const Layer& l) {
  if (!NetworkAccess::state(l)) throw misused("a layer", "none");
  Graph& g = NetworkAccess::state(l)->graph(NetworkAccess::scope(l));
  if (l.id() >= g.node_count() || !g.node(l.id()).alive)
    throw misused("a layer of the network", "one that was removed", "look it up again");
  return g;
}

NodeId first_of_layer(const Graph& g, NodeId n) { return nodes_of_layer(g, n).front(); }

}  // namespace

Size::Size(Dim number, int) : dim_(std::move(number)) {
  if (dim_.constant() < 0)
    throw Error(Code::tensor_bad_shape, "network", "a size of 0 or more", std::to_string(dim_.constant()),
                "give a size that is known when the network runs a name: \"N\"");
}

// ── TensorRef
// ───────────────────────────────────────────────────────────────────────────────────────────────

const std::string& TensorRef::name() const { return info(*this).name; }
DataType TensorRef::element_type() const {
  const ValueType& t = info(*this).type;
  return t.is_tensor() ? t.elem : DataType::undefined;
}
bool TensorRef::has_rank() const { return info(*this).type.shape.has_value(); }
SymShape TensorRef::shape() const {
  if (!has_rank()) throw misused("a tensor of known rank", "'" + name() + "' of type " + type());
  return *info(*this).type.shape;
}
std::string TensorRef::type() const { return info(*this).type.str(); }
bool TensorRef::is_network_input() const { return info(*this).is_input; }
bool TensorRef::is_network_output() const { return graph_of(*this).is_output(value_); }
const Tensor* TensorRef::constant() const { return graph_of(*this).constant_tensor(value_); }

void TensorRef::set_name(const std::string& name) {
  if (info(*this).name == name) return;
  Graph& g = state_->graph(scope_);
  if (name.empty() || g.fresh_name(name) != name)
    throw Error(Code::graph_duplicate_name, "network", "a name that is not taken", "'" + name + "'");
  g.rename(value_, name);
}

std::optional<Layer> TensorRef::producer() const {
  const ValueInfo& i = info(*this);
  if (i.producer == no_id) return std::nullopt;
  return NetworkAccess::layer(state_, scope_, first_of_layer(graph_of(*this), i.producer));
}

std::vector<Layer> TensorRef::consumers() const {
  const Graph& g = graph_of(*this);
  std::vector<Layer> readers;
  for (const Use& u : g.uses_of(value_)) {
    const Layer l = NetworkAccess::layer(state_, scope_, first_of_layer(g, u.node));
    if (std::ranges::find(readers, l) == readers.end()) readers.push_back(l);
  }
  return readers;
}

// ── Layer
// ───────────────────────────────────────────────────────────────────────────────────────────────────

const std::string& Layer::name() const {
  const Node& n = graph_of(*this).node(node_);
  const std::string& group = metadata_of(n, layer_key);
  return group.empty() ? n.name : group;
}

void Layer::set_name(const std::string& name) {
  Graph& g = graph_of(*this);
  const std::string before = this->name();
  if (name == before) return;
  if (name.empty() || !state_->layer_names.insert(name).second)
    throw Error(Code::graph_duplicate_name, "network", "a layer name that is not taken", "'" + name + "'");
  state_->layer_names.erase(before);
  const std::vector<NodeId> nodes = nodes_of_layer(g, node_);
  const bool grouped = !metadata_of(g.node(node_), layer_key).empty();
  for (NodeId id : nodes) {
    Node& n = g.node(id);
    n.name = grouped && n.name.starts_with(before + "/") ? name + n.name.substr(before.size()) : name;
    for (auto& [key, value] : n.metadata)
      if (key == layer_key) value = name;
  }
}

std::string Layer::kind() const {
  const Node& n = graph_of(*this).node(node_);
  const std::string& kind = metadata_of(n, kind_key);
  return kind.empty() ? std::string(family_of(n)) : kind;
}

std::vector<std::string> Layer::operators() const {
  const Graph& g = graph_of(*this);
  std::vector<std::string> names;
  for (NodeId id : nodes_of_layer(g, node_)) {
    const Node& n = g.node(id);
    names.push_back(n.domain.empty() ? n.op : n.domain + "::" + n.op);
  }
  return names;
}

std::vector<TensorRef> Layer::inputs() const {
  const Graph& g = graph_of(*this);
  const std::vector<NodeId> nodes = nodes_of_layer(g, node_);
  std::vector<TensorRef> read;
  auto add = [&](ValueId v) {
    if (v == no_id || std::ranges::find(nodes, g.value(v).producer) != nodes.end()) return;
    // Constants that the layer made for itself are not shown.
    if (nodes.size() > 1 && g.value(v).constant && g.value(v).name.starts_with(name() + "/")) return;
    const TensorRef t = NetworkAccess::tensor(state_, scope_, v);
    if (std::ranges::find(read, t) == read.end()) read.push_back(t);
  };
  for (NodeId id : nodes) {
    for (ValueId v : g.node(id).inputs) add(v);
    for (const Body& b : g.node(id).bodies)
      for (ValueId c : b.graph->captures()) add(b.graph->value(c).captured);
  }
  return read;
}

namespace {

/// Outputs of a layer of several nodes as recorded in its metadata; nothing if a file was changed in between.
std::optional<std::vector<ValueId>> declared_outputs(const Graph& g, const std::vector<NodeId>& nodes) {
  std::map<size_t, ValueId> by_number;
  for (NodeId id : nodes)
    for (size_t i = 0; i < g.node(id).outputs.size(); ++i) {
      const std::string& text = metadata_of(g.node(id), output_key + std::to_string(i));
      size_t number = 0;
      if (std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc())
        by_number[number] = g.node(id).outputs[i];
    }
  std::vector<ValueId> values;
  for (const auto& [number, v] : by_number) {
    if (number != values.size() || v == no_id) return std::nullopt;
    values.push_back(v);
  }
  if (values.empty()) return std::nullopt;
  return values;
}

/// Returns the values of the layer that are read outside of it, or by nobody.
std::vector<ValueId> derived_outputs(const Graph& g, const std::vector<NodeId>& nodes) {
  std::vector<ValueId> values;
  for (NodeId id : nodes)
    for (ValueId v : g.node(id).outputs) {
      if (v == no_id) continue;
      bool inside = false, outside = g.is_output(v);
      if (nodes.size() > 1)
        for (const Use& u : g.uses_of(v))
          (std::ranges::find(nodes, u.node) != nodes.end() ? inside : outside) = true;
      if (outside || !inside) values.push_back(v);
    }
  return values;
}

}  // namespace

std::vector<TensorRef> Layer::outputs() const {
  const Graph& g = graph_of(*this);
  const std::vector<NodeId> nodes = nodes_of_layer(g, node_);
  auto values = declared_outputs(g, nodes);
  if (!values) values = derived_outputs(g, nodes);
  std::vector<TensorRef> made;
  for (ValueId v : *values) made.push_back(NetworkAccess::tensor(state_, scope_, v));
  return made;
}

TensorRef Layer::get_input(size_t i) const {
  const auto all = inputs();
  if (i >= all.size())
    throw misused("an input of '" + name() + "' below " + std::to_string(all.size()), std::to_string(i));
  return all[i];
}

TensorRef Layer::get_output(size_t i) const {
  const auto all = outputs();
  if (i >= all.size())
    throw misused("an output of '" + name() + "' below " + std::to_string(all.size()), std::to_string(i));
  return all[i];
}

std::vector<std::string> Layer::bodies() const {
  const Graph& g = graph_of(*this);
  std::vector<std::string> names;
  for (NodeId id : nodes_of_layer(g, node_))
    for (const Body& b : g.node(id).bodies) names.push_back(b.name);
  return names;
}

Network Layer::body(std::string_view name) const {
  const Graph& g = graph_of(*this);
  for (NodeId id : nodes_of_layer(g, node_))
    for (const Body& b : g.node(id).bodies)
      if (b.name == name) return NetworkAccess::network(state_, state_->scope_of(b.graph));
  throw misused("a body of '" + this->name() + "'", "'" + std::string(name) + "'");
}

std::vector<std::pair<std::string, std::string>> Layer::metadata() const {
  auto list = graph_of(*this).node(node_).metadata;
  std::erase_if(list, [](const auto& m) { return is_layer_key(m.first); });
  return list;
}

void Layer::set_metadata(const std::string& key, const std::string& value) {
  if (is_layer_key(key)) throw misused("a key of your own", "'" + key + "'");
  auto& list = graph_of(*this).node(node_).metadata;
  for (auto& [k, v] : list)
    if (k == key) {
      v = value;
      return;
    }
  list.emplace_back(key, value);
}

}  // namespace lathe
