#include "gradient/gradient.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "gradient/backward.h"
#include "graph/traverse.h"
#include "lathe/error.h"
#include "tensor/element.h"

namespace lathe {
namespace {

const GradientTable& rules() {
  static const GradientTable table = [] {
    GradientTable t;
    collect_all_gradients(t);
    return t;
  }();
  return table;
}

/// Returns whether a value is a tensor of floats; nothing else has derivatives.
bool is_real(const Graph& g, ValueId v) {
  const ValueType& t = g.value(v).type;
  return t.is_tensor() && is_float(t.elem);
}

/// The part of the graph that computes y from the values that it depends on.
class Function {
 public:
  Function(const Graph& g, const Derivative& what) : g_(g), ends_(what.of.begin(), what.of.end()) {
    collect(what.y);
    for (ValueId v : what.of) depends_.insert(v);
    find_dependent();
  }
  /// The nodes between them, producers first.
  const std::vector<NodeId>& nodes() const { return nodes_; }
  bool depends(ValueId v) const { return v != no_id && depends_.contains(v); }

 private:
  /// Collects the nodes without recursion, since a chain may have any length.
  void collect(ValueId y) {
    std::unordered_set<NodeId> seen;
    std::vector<std::pair<NodeId, bool>> stack;
    const auto visit = [&](ValueId v) {
      if (v == no_id || ends_.contains(v)) return;
      const NodeId n = g_.value(v).producer;
      if (n != no_id && !seen.contains(n)) stack.emplace_back(n, false);
    };
    visit(y);
    while (!stack.empty()) {
      const auto [n, done] = stack.back();
      stack.pop_back();
      if (done) {
        nodes_.push_back(n);
      } else if (seen.insert(n).second) {
        stack.emplace_back(n, true);
        each_read(g_.node(n), visit);
      }
    }
  }
  void find_dependent() {
    std::vector<NodeId> kept;
    for (NodeId n : nodes_) {
      const Node& node = g_.node(n);
      bool any = false;
      each_read(node, [&](ValueId v) { any |= depends(v); });
      if (!any) continue;
      kept.push_back(n);
      for (ValueId v : node.outputs)
        if (v != no_id && !ends_.contains(v)) depends_.insert(v);
    }
    nodes_ = std::move(kept);
  }

  const Graph& g_;
  std::unordered_set<ValueId> ends_, depends_;
  std::vector<NodeId> nodes_;
};

/// Computes the function again, with other values in place of some.
void substitute(Graph& g, Derivative& what, const AddNode& add) {
  std::unordered_map<ValueId, ValueId> stands_for;
  for (size_t i = 0; i < what.of.size(); ++i)
    if (what.of[i] != what.at[i]) stands_for[what.of[i]] = what.at[i];
  if (stands_for.empty()) return;
  const auto now = [&](ValueId v) {
    const auto at = stands_for.find(v);
    return at == stands_for.end() ? v : at->second;
  };
  const Function again(g, what);
  for (NodeId id : again.nodes()) {
    Node n = g.node(id);
    bool other = false;
    for (ValueId& v : n.inputs) {
      other |= now(v) != v;
      v = now(v);
    }
    if (!n.bodies.empty())
      throw Error(Code::node_cannot_convert, "import", "operators without bodies between xs and y", n.op,
                  "give Gradient the tensors that xs and zs name")
          .at("import", n.name, n.op);
    if (!other) continue;
    const std::vector<ValueId> before = n.outputs;
    for (ValueId& v : n.outputs)
      if (v != no_id) v = g.add_value(g.fresh_name(g.value(v).name));
    n.name += "/again";
    const std::vector<ValueId> after = add(std::move(n));
    for (size_t i = 0; i < before.size(); ++i)
      if (before[i] != no_id) stands_for[before[i]] = after[i];
  }
  what.y = now(what.y);
  what.of = what.at;
}

}  // namespace

std::vector<ValueId> differentiate(Graph& g, const Derivative& asked, const AddNode& add) {
  Derivative what = asked;
  for (size_t i = 0; i <= what.differentiated; ++i) {
    const ValueId v = i < what.differentiated ? what.at[i] : what.y;
    if (!is_real(g, v))
      throw Error(Code::node_bad_type, "import", "xs and y of floats",
                  "'" + g.value(v).name + "' of type " + g.value(v).type.str(),
                  "insert a Cast, and name what it gives");
  }
  substitute(g, what, add);
  // Values that zs name are constant, even if they depend on xs.
  const Function all(g, what);
  std::unordered_set<ValueId> varying;
  for (size_t i = 0; i < what.differentiated; ++i) varying.insert(what.of[i]);
  for (NodeId id : all.nodes()) {
    const Node& n = g.node(id);
    bool any = false;
    each_read(n, [&](ValueId v) { any |= varying.contains(v); });
    if (any)
      for (ValueId v : n.outputs)
        if (v != no_id && is_real(g, v) && std::ranges::find(what.of, v) == what.of.end()) varying.insert(v);
  }

  // Adds to the gradient of a value so far.
  std::unordered_map<ValueId, ValueId> arrived;
  const auto arrive = [&](ValueId at, ValueId gradient) {
    auto [place, first] = arrived.try_emplace(at, gradient);
    if (first) return;
    Backward b(g, Node{}, {}, {}, add);
    place->second = b.add("Add", {place->second, gradient});
  };
  const std::vector<NodeId> order = all.nodes();
  if (varying.contains(what.y)) arrived[what.y] = Backward(g, Node{}, {}, {}, add).filled_like(what.y, 1);
  for (size_t i = order.size(); i-- > 0;) {
    const Node n = g.node(order[i]);
    std::vector<ValueId> gradients;
    bool any = false;
    for (ValueId v : n.outputs) {
      const auto at = v == no_id ? arrived.end() : arrived.find(v);
      gradients.push_back(at == arrived.end() ? no_id : at->second);
      any |= gradients.back() != no_id;
    }
    if (!any) continue;
    std::vector<bool> differentiated;
    for (ValueId v : n.inputs) differentiated.push_back(v != no_id && varying.contains(v));
    Backward b(g, n, std::move(gradients), std::move(differentiated), add);
    const auto rule = n.domain.empty() ? rules().find(n.op) : rules().end();
    if (rule == rules().end())
      b.refuse("an operator whose derivative is known (docs/reference/operators.md lists them)",
               "none for it");
    rule->second(b);
    for (size_t k = 0; k < n.inputs.size(); ++k)
      if (b.given()[k] != no_id && b.wants(k)) arrive(n.inputs[k], b.given()[k]);
  }
  std::vector<ValueId> found;
  for (size_t i = 0; i < what.differentiated; ++i) {
    const auto at = arrived.find(what.of[i]);
    found.push_back(at != arrived.end() ? at->second
                                        : Backward(g, Node{}, {}, {}, add).zeros_like(what.of[i]));
  }
  return found;
}

std::vector<std::string> differentiable_operators() {
  std::vector<std::string> names;
  for (const auto& [name, rule] : rules()) names.push_back(name);
  return names;
}

// ── Backward

void Backward::refuse(std::string expected, std::string got) const {
  throw Error(Code::node_cannot_convert, "import", std::move(expected) + ", between xs and y of a Gradient",
              std::move(got),
              "let xs name what this node gives, or write the derivative with other operators")
      .at("import", node_.name, node_.op);
}

size_t Backward::rank(ValueId v) const {
  if (!type(v).shape) refuse("values of known rank", "'" + g_.value(v).name + "'");
  return type(v).shape->size();
}

int64_t Backward::size(ValueId v, size_t axis) const {
  const auto n = axis < rank(v) ? (*type(v).shape)[axis].value() : std::nullopt;
  if (!n)
    refuse("a known size of axis " + std::to_string(axis),
           "'" + g_.value(v).name + "' of type " + type(v).str());
  return *n;
}

std::vector<ValueId> Backward::add_all(std::string_view op, std::vector<ValueId> inputs, size_t outputs,
                                       Attributes attributes) {
  Node n;
  n.op = op;
  n.inputs = std::move(inputs);
  n.attributes = std::move(attributes);
  for (size_t i = 0; i < outputs; ++i)
    n.outputs.push_back(g_.add_value(g_.fresh_name("gradient/" + node_.name + "/" + n.op)));
  return add_(std::move(n));
}

ValueId Backward::number(double v, ValueId like) {
  Tensor t(type(like).elem, Shape{});
  store_double(t, 0, v);
  return g_.add_constant(g_.fresh_name("gradient/number"), std::move(t));
}

ValueId Backward::ints(const std::vector<int64_t>& v) {
  return g_.add_constant(g_.fresh_name("gradient/ints"), Tensor::from({static_cast<int64_t>(v.size())}, v));
}

ValueId Backward::shaped_like(ValueId v, ValueId like) {
  return add("Reshape", {v, shape_of(like)}, with("allowzero", int64_t{1}));
}

ValueId Backward::filled_like(ValueId v, double value) {
  Tensor t(type(v).elem, Shape{1});
  store_double(t, 0, value);
  return add("ConstantOfShape", {shape_of(v)}, with("value", std::move(t)));
}

ValueId Backward::summed_to(ValueId v, ValueId like) {
  const size_t from = rank(v), to = rank(like);
  if (to > from)
    refuse("results of no lower rank than their operands", "one of rank " + std::to_string(from));
  const SymShape wide = *type(v).shape, narrow = *type(like).shape;
  std::vector<int64_t> axes;
  bool certain = true;
  for (size_t k = 0; k < from; ++k) {
    const Dim n = k + to < from ? Dim(1) : narrow[k + to - from];
    if (n == wide[k]) continue;
    if (n == Dim(1))
      axes.push_back(static_cast<int64_t>(k));
    else
      certain = false;  // a size that may be 1
  }
  if (certain && axes.empty() && from == to) return v;
  Attributes keep = with("keepdims", int64_t{1});
  if (certain)
    return shaped_like(axes.empty() ? v : add("ReduceSum", {v, ints(axes)}, std::move(keep)), like);
  // The axes to sum over follow from sizes that only a run knows.
  const ValueId padding = ints(std::vector<int64_t>(from - to, 1));
  const ValueId sizes = add("Concat", {padding, shape_of(like)}, with("axis", int64_t{0}));
  const ValueId repeated = add("Not", {add("Equal", {sizes, shape_of(v)})});
  const ValueId which = add("Compress",
                            {ints([&] {
                               std::vector<int64_t> all;
                               for (size_t k = 0; k < from; ++k) all.push_back(static_cast<int64_t>(k));
                               return all;
                             }()),
                             repeated},
                            with("axis", int64_t{0}));
  keep.set("noop_with_empty_axes", int64_t{1});
  return shaped_like(add("ReduceSum", {v, which}, std::move(keep)), like);
}

}  // namespace lathe
