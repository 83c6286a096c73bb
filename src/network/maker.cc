#include "network/maker.h"

#include <algorithm>
#include <map>

#include "base/dim_terms.h"
#include "tensor/element.h"

namespace lathe {
namespace {

std::string free_layer_name(const NetworkState& s, const Graph& g, std::string_view kind) {
  for (size_t i = s.layer_names.size();; ++i) {
    std::string name = std::string(kind) + "_" + std::to_string(i);
    if (!s.layer_names.contains(name) && g.find_value(name) == no_id) return name;
  }
}

}  // namespace

LayerMaker::LayerMaker(const Network& n, std::string_view kind, const std::string& name)
    : network_(n),
      state_(*NetworkAccess::state(n)),
      graph_(NetworkAccess::graph(n)),
      kind_(kind),
      name_(name.empty() ? free_layer_name(state_, graph_, kind) : name),
      values_(graph_.value_count()),
      node_count_(graph_.node_count()),
      scopes_(state_.scopes.size()) {
  if (state_.layer_names.contains(name_)) {
    done_ = true;
    fail(Code::graph_duplicate_name, "a layer name that is not taken", "'" + name_ + "'",
         "choose another, or leave it empty");
  }
  state_.layer_names.insert(name_);  // now: layers of its bodies come before it is finished
}

LayerMaker::~LayerMaker() {
  if (done_) return;
  state_.layer_names.erase(name_);
  for (auto v = static_cast<ValueId>(values_); v < graph_.value_count(); ++v)
    state_.infer.forget_values(graph_, v);
  std::erase_if(calls(), [&](const auto& known) { return known.first >= node_count_; });
  graph_.truncate(values_, node_count_);
  for (size_t s = scopes_; s < state_.scopes.size(); ++s) state_.scopes[s].reset();
}

std::map<NodeId, std::shared_ptr<const LayerCall>>& LayerMaker::calls() {
  return state_.calls[state_.scopes[NetworkAccess::scope(network_)]];
}

void LayerMaker::fail(Code code, std::string expected, std::string got, std::string remedy) const {
  Diagnostic d;
  d.code = code;
  d.stage = "network";
  d.node = name_;
  d.op = kind_;
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  throw Error(std::move(d));
}

ValueId LayerMaker::use(const TensorRef& t) try { return resolve(network_, t); } catch (const Error& e) {
  throw e.at("network", name_, kind_);
}

const SymShape& LayerMaker::shape(ValueId v) const {
  const ValueType& t = graph_.value(v).type;
  if (!t.is_tensor() || !t.shape)
    fail(Code::node_bad_shape, "a tensor of known rank", "'" + graph_.value(v).name + "' of type " + t.str(),
         "reshape it first, or declare its shape");
  return *t.shape;
}

size_t LayerMaker::axis(int64_t a, size_t rank) const {
  const auto r = static_cast<int64_t>(rank);
  if (a < -r || a >= r)
    fail(Code::node_bad_attribute, "an axis from " + std::to_string(-r) + " to " + std::to_string(r - 1),
         std::to_string(a));
  return static_cast<size_t>(a < 0 ? a + r : a);
}

std::vector<ValueId> LayerMaker::ops(std::string op, std::vector<ValueId> inputs, size_t outputs,
                                     Attributes a) {
  Node n;
  n.op = std::move(op);
  n.inputs = std::move(inputs);
  const OpSchema* schema = state_.schemas->find(n.domain, n.op);
  n.inputs.trim(schema ? schema->newest().signature().min_inputs : 0);
  n.attributes = std::move(a);
  for (size_t i = 0; i < outputs; ++i)
    n.outputs.push_back(graph_.add_value(graph_.fresh_name(name_ + "/" + n.op)));
  return graph_.node(add(std::move(n))).outputs;
}

NodeId LayerMaker::add(Node n) {
  // Inference names the node that it finds a fault in: it is to name the layer.
  n.name = name_;
  const NodeId id = graph_.add_node(std::move(n));
  nodes_.push_back(id);
  state_.infer.body_budget = InferState().body_budget;  // a limit of one layer, not of all
  infer_node(graph_, id, *state_.schemas, state_.infer);
  return id;
}

ValueId LayerMaker::constant(Tensor t) {
  constants_.push_back(graph_.add_constant(graph_.fresh_name(name_ + "/constant"), std::move(t)));
  return constants_.back();
}
ValueId LayerMaker::ints(std::vector<int64_t> v) {
  return constant(Tensor::from<int64_t>({static_cast<int64_t>(v.size())}, v));
}
ValueId LayerMaker::integer(int64_t v) { return constant(Tensor::scalar<int64_t>(v)); }
ValueId LayerMaker::scalar(DataType type, double v) {
  if (!is_float(type) && !is_integer(type) && type != DataType::boolean)
    fail(Code::node_bad_type, "a tensor of numbers", std::string(name_of(type)));
  Tensor t(type, Shape{});
  store_double(t, 0, v);
  return constant(std::move(t));
}

ValueId LayerMaker::size_in(ValueId v, size_t axis) {
  const auto a = static_cast<int64_t>(axis);
  return op("Shape", {v}, Attrs().number("start", a).number("end", a + 1));
}

/// Returns the size of a symbol from a tensor that has it as a size: an input of the network or any value
/// here.
std::optional<ValueId> LayerMaker::size_of_symbol(const std::string& symbol) {
  auto axis_with = [&](const ValueInfo& i) -> std::optional<size_t> {
    if (!i.type.is_tensor() || !i.type.shape) return std::nullopt;
    for (size_t a = 0; a < i.type.shape->size(); ++a)
      if ((*i.type.shape)[a].symbol_name() == symbol) return a;
    return std::nullopt;
  };
  std::vector<Graph*> around;
  for (Graph* g = &graph_; g; g = g->parent()) around.push_back(g);
  for (auto g = around.rbegin(); g != around.rend(); ++g) {
    auto found = [&](ValueId v) -> std::optional<ValueId> {
      const auto a = axis_with((*g)->value(v));
      if (!a) return std::nullopt;
      for (auto inner = g + 1; inner < around.rend(); ++inner) v = (*inner)->capture(v);
      return size_in(v, *a);
    };
    for (ValueId v : (*g)->inputs())
      if (auto s = found(v)) return s;
    for (ValueId v = 0; v < (*g)->value_count(); ++v)
      if ((*g)->value(v).producer != no_id)
        if (auto s = found(v)) return s;
  }
  return std::nullopt;
}

ValueId LayerMaker::size(const Dim& d) {
  if (d.is_constant()) return ints({d.constant()});
  auto atom = [&](const DimAtom& a) -> ValueId {
    switch (a.kind) {
      case DimAtom::Kind::symbol:
        if (auto v = size_of_symbol(a.name)) return *v;
        fail(Code::bad_argument, "sizes that the shapes of the network's inputs have", "'" + a.name + "'",
             "add an input with that size");
      case DimAtom::Kind::floor: {
        // Sizes divided by sizes: ONNX rounds towards zero, which is the same for numbers that are not
        // negative; Mod has the divisor's sign, so that this is right for all.
        const ValueId n = size(a.args[0]), by = size(a.args[1]);
        return op("Div", {op("Sub", {n, op("Mod", {n, by})}), by});
      }
      case DimAtom::Kind::min:
      case DimAtom::Kind::max:
      case DimAtom::Kind::broadcast: {
        std::vector<ValueId> all;
        for (const Dim& x : a.args) all.push_back(size(x));
        // Sizes that broadcast give the one that is not 1: 0 and 1 give 0.
        if (a.kind != DimAtom::Kind::broadcast)
          return op(a.kind == DimAtom::Kind::min ? "Min" : "Max", std::move(all));
        ValueId result = all[0];
        for (size_t i = 1; i < all.size(); ++i)
          result = op("Where", {op("Equal", {result, ints({1})}), all[i], result});
        return result;
      }
    }
    fail(Code::internal, "a kind of expression that is known", "another one");
  };
  ValueId sum = no_id;
  auto plus = [&](ValueId v) { sum = sum == no_id ? v : op("Add", {sum, v}); };
  for (const DimMonomial& m : d.terms()->monomials) {
    ValueId product = no_id;
    for (const auto& f : m.factors)
      for (int32_t i = 0; i < f.power; ++i) {
        const ValueId v = atom(*f.atom);
        product = product == no_id ? v : op("Mul", {product, v});
      }
    if (m.coefficient != 1) product = op("Mul", {product, ints({m.coefficient})});
    plus(product);
  }
  if (DimAccess::constant_part(d)) plus(ints({DimAccess::constant_part(d)}));
  return sum;
}

ValueId LayerMaker::sizes(const SymShape& s) {
  if (std::ranges::all_of(s, &Dim::is_constant)) {
    std::vector<int64_t> numbers;
    for (const Dim& d : s) numbers.push_back(d.constant());
    return ints(std::move(numbers));
  }
  std::vector<ValueId> each;
  for (const Dim& d : s) each.push_back(size(d));
  return each.size() == 1 ? each[0] : op("Concat", std::move(each), Attrs().number("axis", 0));
}

void LayerMaker::call(ValueId v, const std::string& name) {
  graph_.rename(v, graph_.fresh_name(name));
  named_.push_back(v);
}

Layer LayerMaker::finish_as_is(NodeId id, bool named) {
  std::vector<ValueId> wanted;
  for (ValueId v : graph_.node(id).outputs)
    if (v != no_id) wanted.push_back(v);
  for (size_t i = 0; i < wanted.size() && !named; ++i)
    call(wanted[i], wanted.size() == 1 ? name_ : name_ + "." + std::to_string(i));
  if (const std::string& group = metadata_of(graph_.node(id), layer_key); !group.empty()) {
    state_.layer_names.erase(name_);
    state_.layer_names.insert(group);
  }
  done_ = true;
  return NetworkAccess::layer(NetworkAccess::state(network_), NetworkAccess::scope(network_), id);
}

Layer LayerMaker::finish(std::vector<ValueId> outputs) {
  const auto made_here = [&](ValueId v) {
    return v != no_id && std::ranges::find(nodes_, graph_.value(v).producer) != nodes_.end();
  };
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!made_here(outputs[i]) || std::find(outputs.begin(), outputs.begin() + static_cast<ptrdiff_t>(i),
                                            outputs[i]) != outputs.begin() + static_cast<ptrdiff_t>(i))
      outputs[i] = op("Identity", {outputs[i]});
  for (size_t i = 0; i < outputs.size(); ++i)
    if (std::ranges::find(named_, outputs[i]) == named_.end())
      call(outputs[i], outputs.size() == 1 ? name_ : name_ + "." + std::to_string(i));
  // One node that gives just this is known by itself; else it is written down what is whose.
  if (nodes_.size() > 1 || graph_.node(nodes_[0]).outputs != outputs) {
    std::map<std::string, int> many;
    for (NodeId id : nodes_) {
      Node& n = graph_.node(id);
      const int before = many[n.op]++;
      n.name = name_ + "/" + n.op + (before ? "." + std::to_string(before) : "");
      n.metadata.emplace_back(layer_key, name_);
      n.metadata.emplace_back(kind_key, kind_);
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      const ValueInfo& v = graph_.value(outputs[i]);
      graph_.node(v.producer).metadata.emplace_back(output_key + std::to_string(v.output), std::to_string(i));
    }
  }
  if (call_) {
    call_->name = name_;
    call_->constants = constants_;
    for (NodeId id : nodes_) call_->inputs.push_back(graph_.node(id).inputs);
    for (ValueId v : outputs) call_->outputs.push_back({v, graph_.value(v).name});
    calls()[nodes_.front()] = call_;
  }
  done_ = true;
  return NetworkAccess::layer(NetworkAccess::state(network_), NetworkAccess::scope(network_), nodes_.front());
}

void CallText::write(const TensorRef& t) {
  if (!t)
    text_ += "{}";
  else
    piece().tensor = maker_.use(t);
}
const std::string& CallText::layer_name() const { return maker_.name(); }

}  // namespace lathe
