#include "schema/infer.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "schema/check_node.h"
#include "tensor/contents_fit.h"
#include "tensor/element.h"

namespace lathe {

ValueType InferState::declared(const Graph& g, ValueId v) const {
  const auto at = declared_.find({&g, v});
  return at == declared_.end() ? ValueType{} : at->second;
}

void InferState::declare_bodies(const Graph& g) {
  for (NodeId id : g.order())
    for (const Body& b : g.node(id).bodies) {
      for (NodeId inner : b.graph->order())
        for (ValueId v : b.graph->node(inner).outputs)
          if (v != no_id) declare(*b.graph, v, b.graph->value(v).type);
      declare_bodies(*b.graph);
    }
}

std::optional<std::vector<Dim>> InferState::values(const Graph& graph, ValueId v) const {
  const Graph* g = &graph;
  for (;;) {
    if (const Tensor* t = g->constant_tensor(v)) return tracked_values(*t);
    if (const auto at = values_.find({g, v}); at != values_.end()) {
      const auto& shape = g->value(v).type.shape;
      if (!shape || !contents_fit(*shape, at->second.size())) return std::nullopt;
      return at->second;
    }
    if (g->value(v).captured == no_id) return std::nullopt;
    v = g->value(v).captured;
    g = g->parent();
  }
}

std::optional<std::vector<Dim>> tracked_values(const Tensor& t) {
  std::vector<int64_t> numbers;
  if (!read_integers(t, numbers)) return std::nullopt;
  return std::vector<Dim>(numbers.begin(), numbers.end());
}

std::optional<Tensor> tensor_of(const ValueType& type, const std::vector<Dim>& values) {
  if (!type.is_tensor() || !type.shape || type.elem == DataType::undefined || type.elem == DataType::string)
    return std::nullopt;
  Shape shape;
  for (const Dim& d : *type.shape) {
    if (!d.is_constant()) return std::nullopt;
    shape.push_back(d.constant());
  }
  if (!std::ranges::all_of(values, &Dim::is_constant) ||
      count_of(shape) != static_cast<int64_t>(values.size()))
    return std::nullopt;
  Tensor t(type.elem, std::move(shape));
  for (size_t i = 0; i < values.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    if (is_float(type.elem))
      store_double(t, at, static_cast<double>(values[i].constant()));
    else
      store_int(t, at, values[i].constant());
  }
  return t;
}

ValueType without_shape(const ValueType& t) {
  ValueType r = t;
  r.shape.reset();
  if (t.inner) r.inner = std::make_shared<const ValueType>(without_shape(*t.inner));
  return r;
}

std::optional<ValueType> refine(const ValueType& inferred, const ValueType& before) {
  auto both = unify(inferred, before);
  if (both && inferred.shape && before.shape)
    for (size_t i = 0; i < inferred.shape->size(); ++i) {
      const Dim &a = (*inferred.shape)[i], &b = (*before.shape)[i];
      (*both->shape)[i] = a.has_unknown() && !b.has_unknown() ? b : a;
    }
  return both;
}

namespace {

/// A tensor of these numbers, for rules that want a constant and get what shape arithmetic found out.
std::optional<Tensor> number_tensor(const Fact<Dim>& f) {
  if (!f.valued || !f.ranked ||
      (f.type != DataType::int64 && f.type != DataType::int32 && f.type != DataType::boolean))
    return std::nullopt;
  return tensor_of(ValueType::tensor(f.type, f.shape), f.values);
}

class NodeInference final : public InferContext {
 public:
  NodeInference(Graph& g, NodeId id, const SchemaCatalog& catalog, const OpSchema& schema, InferState& state)
      : g_(g), node_(g.node(id)), catalog_(catalog), schema_(schema), state_(state) {
    types_.resize(node_.outputs.size());
    values_.resize(node_.outputs.size());
    for (ValueId v : node_.inputs) {
      inputs_.push_back(v == no_id ? ValueType{} : g.value(v).type);
      facts_.push_back(v == no_id ? Fact<Dim>{} : fact_of(v));
    }
  }

  void run() {
    for (Diagnostic& d : check_signature(g_, node_, schema_, schema_.newest())) throw Error(std::move(d));
    try {
      if (schema_.attribute_check()) schema_.attribute_check()(node_.attributes);
      bind_types();
      if (schema_.infer_function())
        schema_.infer_function()(*this);
      else
        apply_rule();
    } catch (const Error& e) {
      throw Error(at_node(g_, node_, "infer", e));
    }
    for (size_t i = 0; i < node_.outputs.size(); ++i)
      if (node_.outputs[i] != no_id) store_output(i);
  }

  bool depends_on(size_t input) {
    if (schema_.infer_function()) return facts_[input].valued;
    bind_types();
    const std::vector<ValueType> signature = types_;
    apply_rule();
    const std::vector<ValueType> types = std::exchange(types_, signature);
    const auto values = std::exchange(values_, decltype(values_)(values_.size()));
    facts_[input].valued = false;
    facts_[input].constant = nullptr;
    try {
      apply_rule();
    } catch (const Error&) {
      return true;
    }
    for (size_t i = 0; i < types.size(); ++i)
      if (!alike(types[i], types_[i]) || values[i] != values_[i]) return true;
    return false;
  }

  // The interface for infer functions.
  const Node& node() const override { return node_; }
  const ValueType& input(size_t i) const override {
    static const ValueType absent;
    return i < inputs_.size() ? inputs_[i] : absent;
  }
  const Fact<Dim>& fact(size_t i) const override {
    static const Fact<Dim> absent;
    return i < facts_.size() ? facts_[i] : absent;
  }
  void output(size_t i, ValueType t) override {
    if (i < types_.size()) types_[i] = std::move(t);
  }
  void output_values(size_t i, std::vector<Dim> values) override {
    if (i < values_.size() && static_cast<int64_t>(values.size()) <= max_tracked_values)
      values_[i] = std::move(values);
  }
  std::vector<ValueType> infer_body(size_t body, std::span<const ValueType> inputs) override;

 private:
  Fact<Dim> fact_of(ValueId v) {
    const ValueType& t = g_.value(v).type;
    Fact<Dim> f;
    f.present = true;
    if (t.is_tensor()) f.type = t.elem;
    if (t.shape) {
      f.ranked = true;
      f.shape = *t.shape;
    }
    f.constant = g_.constant_tensor(v);
    if (auto values = state_.values(g_, v)) {
      f.valued = true;
      f.values = std::move(*values);
    }
    if (!f.constant)
      if (auto t = number_tensor(f)) f.constant = &made_.emplace_back(std::move(*t));
    return f;
  }

  /// Unknown sizes are alike, although each is one of its own.
  static bool alike(const ValueType& a, const ValueType& b) {
    if (without_shape(a) != without_shape(b) || a.shape.has_value() != b.shape.has_value()) return false;
    return !a.shape || std::ranges::equal(*a.shape, *b.shape, [](const Dim& x, const Dim& y) {
      return x == y || (x.has_unknown() && y.has_unknown());
    });
  }

  void bind_types();
  void apply_rule();
  void store_output(size_t i);

  Graph& g_;
  const Node& node_;
  const SchemaCatalog& catalog_;
  const OpSchema& schema_;
  InferState& state_;
  std::vector<ValueType> inputs_;
  std::vector<Fact<Dim>> facts_;
  std::deque<Tensor> made_;
  std::vector<ValueType> types_;                         // of the outputs, as far as inferred
  std::vector<std::optional<std::vector<Dim>>> values_;  // of the outputs
};

void NodeInference::bind_types() {
  const Signature& s = schema_.newest().signature();
  std::map<std::string_view, std::pair<ValueType, std::string>>
      bound;  // variable → its type, and the input that bound it
  auto fault = [&](std::string expected, const ValueType& got) {
    throw Error(Code::node_bad_type, "infer", std::move(expected), got.str(false),
                "insert a Cast, or correct what produces the input");
  };
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!is_complete(inputs_[i])) continue;
    if (auto expected = refused_input(s, i, inputs_[i])) fault(std::move(*expected), inputs_[i]);
    const Parameter& p = s.input(i);
    const TypeVariable* variable = s.variable(p.type);
    if (!variable || p.arity == Parameter::Arity::heterogeneous) continue;
    const auto [at, fresh] = bound.try_emplace(variable->name, without_shape(inputs_[i]), p.name);
    if (!fresh && at->second.first != without_shape(inputs_[i]))
      fault("input " + std::to_string(i) + " (" + p.name + ") of the type of input " + at->second.second +
                ", " + at->second.first.str(false),
            inputs_[i]);
  }
  for (size_t i = 0; i < types_.size(); ++i) {
    const Parameter& p = s.output(i);
    const TypeVariable* variable = s.variable(p.type);
    if (!variable)
      types_[i] = ValueType::parse(p.type);
    else if (const auto at = bound.find(variable->name); at != bound.end())
      types_[i] = at->second.first;
    else if (variable->types.size() == 1)
      types_[i] = ValueType::parse(variable->types[0]);
  }
  for (const auto& [output, type_of_output] : schema_.output_types()) {
    if (output >= types_.size()) continue;
    const DataType t = type_of_output(node_, inputs_);
    if (t != DataType::undefined) types_[output] = ValueType::tensor(t);
  }
}

void NodeInference::apply_rule() {
  if (!schema_.shape_rule()) return;
  if (!schema_.is_partial())
    for (size_t i = 0; i < facts_.size(); ++i) {
      const bool may_be_tensor =
          !inputs_[i].known() || inputs_[i].is_tensor() || inputs_[i].kind == ValueType::Kind::sparse;
      if (facts_[i].present && may_be_tensor && !facts_[i].ranked) return;
    }
  std::vector<Fact<Dim>> out(node_.outputs.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].present = node_.outputs[i] != no_id;
    out[i].type = types_[i].elem;
  }
  ShapeContext<Dim> context(facts_, out);
  schema_.shape_rule()(node_.attributes, context);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i].ranked &&
        (types_[i].is_tensor() || types_[i].kind == ValueType::Kind::sparse || !types_[i].known())) {
      if (!types_[i].known()) types_[i].kind = ValueType::Kind::tensor;
      types_[i].shape = std::move(out[i].shape);
    }
    if (out[i].valued) values_[i] = std::move(out[i].values);
  }
}

void NodeInference::store_output(size_t i) {
  const ValueId v = node_.outputs[i];
  ValueInfo& value = g_.value(v);
  // Elements in a row tell how many there are.
  if (auto& shape = types_[i].shape; values_[i] && shape && shape->size() == 1 && !(*shape)[0].is_constant())
    (*shape)[0] = Dim(static_cast<int64_t>(values_[i]->size()));
  auto merged = refine(types_[i], value.type);
  if (!merged) {
    const bool types_agree = unify(without_shape(types_[i]), without_shape(value.type)).has_value();
    if (types_agree && state_.believe_inferred) merged = types_[i];
    if (!merged)
      throw Error(node_fault(g_, node_, "infer", types_agree ? Code::node_bad_shape : Code::node_bad_type,
                             "output '" + value.name + "' of type " + value.type.str() + ", as declared",
                             types_[i].str(),
                             "correct or remove the declaration in value_info or in the graph's outputs"));
  }
  value.type = std::move(*merged);
  if (values_[i] && value.type.is_tensor() && is_tracked(value.type.elem))
    state_.set_values(g_, v, std::move(*values_[i]));
  else
    state_.forget_values(g_, v);
}

std::vector<ValueType> NodeInference::infer_body(size_t body, std::span<const ValueType> inputs) {
  Graph& b = *node_.bodies.at(body).graph;
  if (inputs.size() != b.inputs().size())
    throw Error(Code::node_bad_arity, "infer",
                node_.bodies[body].name + " with " + std::to_string(inputs.size()) + " inputs",
                std::to_string(b.inputs().size()),
                "give the body the inputs that " + node_.op + " passes to it");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = b.inputs()[i];
    const ValueType declared = state_.declared(b, v);
    auto merged = refine(inputs[i], declared);
    if (!merged && !unify(without_shape(inputs[i]), without_shape(declared)))
      throw Error(
          Code::node_bad_type, "infer",
          "input " + std::to_string(i) + " of " + node_.bodies[body].name + " of type " + declared.str(),
          inputs[i].str(), "make the body's declaration agree with what " + node_.op + " passes to it");
    b.value(v).type =
        merged ? std::move(*merged) : inputs[i];  // the body may declare the sizes of one iteration only
  }
  for (ValueId v : b.captures()) {
    const ValueInfo& outer = g_.value(b.value(v).captured);
    b.value(v).type = outer.type;
    b.value(v).constant = outer.is_constant() ? outer.constant : nullptr;
  }
  if (!state_.fill_body || !state_.fill_body(b)) {
    state_.body_budget -= static_cast<int64_t>(b.node_count()) + 1;
    if (state_.body_budget < 0)
      throw Error(Code::graph_too_large, "infer", "bodies whose types converge after few rounds",
                  "nested loops that go on widening",
                  "declare the shapes of the loops' states, or nest fewer loops");
    for (NodeId n : b.order())
      for (ValueId v : b.node(n).outputs)
        if (v != no_id) b.value(v).type = state_.declared(b, v);
    infer_graph(b, catalog_, state_);
  }
  std::vector<ValueType> outputs;
  for (ValueId v : b.outputs()) outputs.push_back(b.value(v).type);
  return outputs;
}

}  // namespace

void infer_node(Graph& g, NodeId n, const SchemaCatalog& catalog, InferState& state) {
  const Node& node = g.node(n);
  if (const OpSchema* schema = catalog.find(node.domain, node.op))
    NodeInference(g, n, catalog, *schema, state).run();
}

void infer_or_note(Graph& g, NodeId n, const SchemaCatalog& catalog, InferState& state) {
  state.faults->erase({&g, n});
  try {
    infer_node(g, n, catalog, state);
  } catch (const Error& e) {
    if (e.code() == Code::cancelled || e.code() == Code::deadline || e.code() == Code::graph_too_large) throw;
    state.faults->insert_or_assign({&g, n}, at_node(g, g.node(n), "infer", e));
    for (ValueId v : g.node(n).outputs)
      if (v != no_id) state.forget_values(g, v);
  }
}

bool depends_on_contents(Graph& g, NodeId n, size_t input, const SchemaCatalog& catalog, InferState& state) {
  const Node& node = g.node(n);
  const OpSchema* schema = catalog.find(node.domain, node.op);
  return schema && NodeInference(g, n, catalog, *schema, state).depends_on(input);
}

void infer_graph(Graph& g, const SchemaCatalog& catalog, InferState& state,
                 std::vector<Diagnostic>* findings) {
  for (NodeId n : g.order()) try {
      if (state.faults)
        infer_or_note(g, n, catalog, state);
      else
        infer_node(g, n, catalog, state);
    } catch (const Error& e) {
      if (!findings) throw;
      findings->push_back(e.diagnostic());
    }
}

}  // namespace lathe
