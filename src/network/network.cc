// Inputs, outputs, constants, and looking around.
#include "lathe/network.h"

#include <algorithm>

#include "network/state.h"

namespace lathe {
namespace {

Error taken(const std::string& name) {
  return Error(Code::graph_duplicate_name, "network", "a name that is not taken", "'" + name + "'");
}

TensorRef add_typed_input(const Network& n, const std::string& name, ValueType type) {
  Graph& g = NetworkAccess::graph(n);
  if (name.empty() || g.fresh_name(name) != name) throw taken(name);
  return NetworkAccess::tensor(NetworkAccess::state(n), NetworkAccess::scope(n),
                               g.add_input(name, std::move(type)));
}

/// A value of the network's own graph, not one that it captures.
ValueId own(const Network& n, const TensorRef& t) {
  const ValueId v = resolve(n, t);
  if (NetworkAccess::scope(t) != NetworkAccess::scope(n))
    throw Error(Code::bad_argument, "network", "a tensor of this body", "'" + t.name() + "' from around it",
                "use add_identity first");
  return v;
}

}  // namespace

Network::Network(const std::string& name) : state_(std::make_shared<NetworkState>()) {
  auto g = std::make_unique<Graph>();
  g->name = name;
  g->producer_name = "lathe";
  state_->reset(std::move(g));
}

std::string Network::name() const { return NetworkAccess::graph(*this).name; }
void Network::set_name(const std::string& name) { NetworkAccess::graph(*this).name = name; }

Network Network::clone() const {
  if (scope_ != 0)
    throw Error(Code::bad_argument, "network", "a whole network", "a body", "clone the network around it");
  Network copy(name());
  copy.state_->schemas = state_->schemas;
  const std::shared_ptr<Graph> graph = NetworkAccess::graph(*this).clone();
  copy.state_->calls = calls_for_clone(state_->calls, state_->scopes[0], graph);
  copy.state_->reset(graph);
  for (const auto& [scope, v] : state_->debug)
    if (scope == 0) copy.state_->debug.emplace(scope, v);
  copy.state_->infer_again();
  return copy;
}

TensorRef Network::add_input(const std::string& name, DataType type, const Sizes& shape) {
  if (type == DataType::undefined)
    throw Error(Code::node_bad_type, "network", "an element type of input '" + name + "'", "undefined");
  SymShape sizes;
  for (const Size& s : shape) sizes.push_back(s.dim());
  return add_typed_input(*this, name, ValueType::tensor(type, std::move(sizes)));
}

TensorRef Network::add_input(const std::string& name, std::string_view type) {
  return add_typed_input(*this, name, ValueType::parse(type));
}

void Network::set_default(const TensorRef& input, const Tensor& value) {
  ValueInfo& i = NetworkAccess::graph(*this).value(own(*this, input));
  if (!i.is_input) throw Error(Code::bad_argument, "network", "an input", "'" + i.name + "'");
  const ValueType given =
      ValueType::tensor(value.type(), SymShape(value.shape().begin(), value.shape().end()));
  if (!unify(i.type, given))
    throw Error(i.type.elem == given.elem ? Code::node_bad_shape : Code::node_bad_type, "network",
                "a default of '" + i.name + "' of type " + i.type.str(), given.str());
  i.constant = std::make_shared<const Value>(value.owned());
  i.source = i.name;
}

TensorRef Network::add_constant(const Tensor& t, const std::string& name) {
  if (!t.defined()) throw Error(Code::bad_argument, "network", "a tensor", "one without type");
  Graph& g = NetworkAccess::graph(*this);
  if (!name.empty() && g.fresh_name(name) != name) throw taken(name);
  const std::string called = name.empty() ? g.fresh_name("constant") : name;
  return NetworkAccess::tensor(state_, scope_, g.add_constant(called, t.owned(), called));
}

void Network::mark_output(const TensorRef& t, const std::string& name) {
  Graph& g = NetworkAccess::graph(*this);
  const ValueId v = own(*this, t);
  if (!name.empty()) {
    if (g.value(v).is_input && name != t.name())
      throw Error(Code::bad_argument, "network", "an output that is not an input under another name",
                  "'" + t.name() + "' as '" + name + "'", "use add_identity first");
    TensorRef(t).set_name(name);
  }
  if (g.is_output(v)) return;
  std::vector<ValueId> outputs = g.outputs();
  outputs.push_back(v);
  g.set_outputs(std::move(outputs));
}

void Network::unmark_output(const TensorRef& t) {
  Graph& g = NetworkAccess::graph(*this);
  std::vector<ValueId> outputs = g.outputs();
  if (!std::erase(outputs, own(*this, t)))
    throw Error(Code::bad_argument, "network", "an output", "'" + t.name() + "', which is none");
  g.set_outputs(std::move(outputs));
}

void Network::mark_debug(const TensorRef& t) { state_->debug.emplace(scope_, own(*this, t)); }
void Network::unmark_debug(const TensorRef& t) { state_->debug.erase({scope_, own(*this, t)}); }
bool Network::is_debug_tensor(const TensorRef& t) const {
  return state_->debug.contains({scope_, own(*this, t)});
}
std::vector<TensorRef> Network::debug_tensors() const {
  std::vector<TensorRef> list;
  for (const auto& [scope, v] : state_->debug)
    if (scope < state_->scopes.size() && state_->scopes[scope])
      list.push_back(NetworkAccess::tensor(state_, scope, v));
  return list;
}

std::vector<TensorRef> Network::inputs() const {
  std::vector<TensorRef> list;
  for (ValueId v : NetworkAccess::graph(*this).inputs())
    list.push_back(NetworkAccess::tensor(state_, scope_, v));
  return list;
}
std::vector<TensorRef> Network::outputs() const {
  std::vector<TensorRef> list;
  for (ValueId v : NetworkAccess::graph(*this).outputs())
    list.push_back(NetworkAccess::tensor(state_, scope_, v));
  return list;
}
std::vector<Layer> Network::layers() const {
  std::vector<Layer> list;
  for (NodeId n : layer_nodes(NetworkAccess::graph(*this)))
    list.push_back(NetworkAccess::layer(state_, scope_, n));
  return list;
}

size_t Network::num_inputs() const { return NetworkAccess::graph(*this).inputs().size(); }
size_t Network::num_outputs() const { return NetworkAccess::graph(*this).outputs().size(); }
size_t Network::num_layers() const { return layer_nodes(NetworkAccess::graph(*this)).size(); }

namespace {

template <class T>
T element(const std::vector<T>& list, size_t i, const char* what) {
  if (i >= list.size())
    throw Error(Code::bad_argument, "network", std::string(what) + " below " + std::to_string(list.size()),
                std::to_string(i));
  return list[i];
}

}  // namespace

TensorRef Network::get_input(size_t i) const { return element(inputs(), i, "the number of an input"); }
TensorRef Network::get_output(size_t i) const { return element(outputs(), i, "the number of an output"); }
Layer Network::get_layer(size_t i) const { return element(layers(), i, "the number of a layer"); }

std::optional<Layer> Network::find_layer(uint32_t id) const {
  const Graph& g = NetworkAccess::graph(*this);
  if (id >= g.node_count() || !g.node(id).alive) return std::nullopt;
  return NetworkAccess::layer(state_, scope_, nodes_of_layer(g, id).front());
}

std::optional<Layer> Network::find_layer(std::string_view name) const {
  for (const Layer& l : layers())
    if (l.name() == name) return l;
  return std::nullopt;
}

std::optional<TensorRef> Network::find_tensor(std::string_view name) const {
  const ValueId v = NetworkAccess::graph(*this).find_value(name);
  if (v == no_id) return std::nullopt;
  return NetworkAccess::tensor(state_, scope_, v);
}

std::vector<Layer> Network::find(const std::function<bool(const Layer&)>& wanted) const {
  std::vector<Layer> list;
  for (const Layer& l : layers())
    if (wanted(l)) list.push_back(l);
  return list;
}

std::string Network::describe(GraphFormat format) const {
  const Graph& g = NetworkAccess::graph(*this);
  switch (format) {
    case GraphFormat::json:
      return g.json();
    case GraphFormat::dot:
      return g.dot();
    case GraphFormat::text:
      break;
  }
  return g.text();
}

std::string Network::text() const {
  std::string out;
  auto list = [](const std::vector<TensorRef>& tensors, bool typed) {
    std::string s;
    for (const TensorRef& t : tensors)
      s += (s.empty() ? "" : ", ") + t.name() + (typed ? ": " + t.type() : "");
    return s;
  };
  out += "network " + name() + " (" + list(inputs(), true) + ") -> (" + list(outputs(), true) + ")\n";
  for (const Layer& l : layers()) {
    std::string ops;
    for (const std::string& op : l.operators()) ops += (ops.empty() ? "" : " ") + op;
    out += "  " + std::to_string(l.id()) + " " + l.name() + ": " + l.kind() + "(" + list(l.inputs(), false) +
           ") -> " + list(l.outputs(), true) + "  # " + ops + "\n";
  }
  return out;
}

}  // namespace lathe
