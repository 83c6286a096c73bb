#include "build/quantized_layout.h"

#include <algorithm>
#include <map>

#include "build/quantized_view.h"
#include "build/window_attributes.h"
#include "tensor/element.h"

namespace lathe {
namespace {

constexpr int64_t block = 16;

class QuantizedLayout {
 public:
  QuantizedLayout(Graph& g, const Folds& folds, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), view_(g, folds), kernels_(kernels), preference_(preference) {}

  bool run() {
    for (NodeId id : graph_.order()) {
      if (!graph_.node(id).domain.empty()) continue;
      const std::string op = graph_.node(id).op;
      if (op == "QLinearConv") convert_linear_conv(id);
      if (op == "QuantizeLinear") convert(id);
    }
    return changed_;
  }

 private:
  /// What is being converted: the node whose output the new one makes, on which grid, of what.
  struct Target {
    NodeId last;
    QuantizedValue grid;
    Clamped of;
    NodeId source;  // the node that computes
  };

  void convert(NodeId id) {
    const auto grid = view_.stored(graph_.node(id));
    if (!grid || !is_image(grid->bytes)) return;
    const auto of = view_.clamped(graph_.node(id).inputs[0]);
    const NodeId source = graph_.value(of->value).producer;
    if (source == no_id || !view_.read_once(of->value)) return;
    const Target t{id, *grid, *of, source};
    const Node n = graph_.node(source);
    if (!n.domain.empty()) return;
    if (n.op == "Conv") convert_conv(t, n);
    if (n.op == "Add") convert_add(t, n);
    if (n.op == "MaxPool") convert_max_pool(t, n);
    if (n.op == "GlobalAveragePool") convert_mean(t, n);
  }

  /// [N, C, H, W] with a known number of channels.
  bool is_image(ValueId v) const {
    const ValueType& t = graph_.value(v).type;
    return t.is_tensor() && t.shape && t.shape->size() == 4 && (*t.shape)[1].value();
  }
  int64_t channels(ValueId v) const { return *(*graph_.value(v).type.shape)[1].value(); }
  bool same_shape(ValueId a, ValueId b) const {
    return *graph_.value(a).type.shape == *graph_.value(b).type.shape;
  }
  bool is_blocked(const QuantizedValue& q) const { return form_.contains(q.bytes); }

  // Convolution.

  void convert_conv(const Target& t, const Node& conv) {
    const auto x = view_.number(conv.inputs[0]);
    const auto w = view_.weights(conv.inputs[1]);
    if (!x || !is_image(x->bytes) || !w || w->tensor().rank() != 4 || !explicit_pads(conv)) return;
    if (w->scales() != 1 && w->axis != 0) return;
    const ValueId bias = conv.inputs.size() > 2 ? conv.inputs[2] : no_id;
    if (bias != no_id && !graph_.constant_tensor(bias)) return;
    add_conv(
        t, conv,
        {x->bytes, x->scale, view_.zero_or_made(x->zero, x->bytes), view_.add(w->bytes), view_.add(w->scale),
         view_.zero_or_made(*w), t.grid.scale, view_.zero_or_made(t.grid.zero, t.grid.bytes), bias});
  }

  void convert_linear_conv(NodeId id) {
    const Node n = graph_.node(id);
    if (!is_image(n.inputs[0]) || !is_image(n.outputs[0]) || !explicit_pads(n)) return;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const Target t{id, {n.outputs[0], n.inputs[6], n.inputs[7]}, {n.outputs[0], -infinity, infinity}, id};
    std::vector<ValueId> inputs = n.inputs;
    inputs.resize(9, no_id);
    add_conv(t, n, std::move(inputs));
  }

  /// `inputs` as BlockedByteConv has them, but for X.
  void add_conv(const Target& t, const Node& conv, std::vector<ValueId> inputs) {
    Node n = described(t, conv, "BlockedByteConv");
    n.attributes = conv.attributes;
    n.attributes.erase("kernel_shape");
    make_explicit(n, 2);
    n.attributes.set("channels", channels(inputs[0]));
    set_clamp(n, "", t.of);
    const ValueId x = inputs[0];
    inputs[0] = form_.contains(x) ? form_.at(x) : add_blocked_value(x);
    n.inputs = std::move(inputs);
    n.outputs = {add_blocked_value(t.grid.bytes)};
    if (!has_kernel(graph_, n, kernels_, preference_)) return;
    if (!form_.contains(x)) {
      form_[x] = n.inputs[0];
      add("Block", {x}, n.inputs[0]);
    }
    finish(t, std::move(n));
  }

  static void set_clamp(Node& n, const std::string& prefix, const Clamped& c) {
    n.attributes.set(prefix + "clamp_low", c.low);
    n.attributes.set(prefix + "clamp_high", c.high);
  }

  // What lies between.

  void convert_add(const Target& t, const Node& add) {
    const auto a = view_.number(add.inputs[0]), b = view_.number(add.inputs[1]);
    if (!a || !b || !is_blocked(*a) || !is_blocked(*b) || !same_shape(a->bytes, t.grid.bytes) ||
        !same_shape(b->bytes, t.grid.bytes))
      return;
    for (const auto& [own, other] : {std::pair(*a, *b), std::pair(*b, *a)})
      if (add_to_conv(t, add, own, other)) return;
    Node n = described(t, add, "BlockedByteAdd");
    set_clamp(n, "", t.of);
    n.inputs = {form_.at(a->bytes),
                a->scale,
                view_.zero_or_made(a->zero, a->bytes),
                form_.at(b->bytes),
                b->scale,
                view_.zero_or_made(b->zero, b->bytes),
                t.grid.scale,
                view_.zero_or_made(t.grid.zero, t.grid.bytes)};
    n.outputs = {add_blocked_value(t.grid.bytes)};
    if (has_kernel(graph_, n, kernels_, preference_)) finish(t, std::move(n));
  }

  /// Lets the convolution that made `own` for this sum alone add the other operand.
  bool add_to_conv(const Target& t, const Node& add, const QuantizedValue& own, const QuantizedValue& other) {
    const NodeId maker = graph_.value(form_.at(own.bytes)).producer;
    if (maker == no_id || own.bytes == other.bytes) return false;
    Node n = graph_.node(maker);
    if (n.op != "BlockedByteConv" || n.inputs.size() > 9 || !view_.read_once(own.bytes)) return false;
    for (ValueId v : add.inputs)
      if (!view_.read_once(v) && view_.number(v)->bytes == own.bytes) return false;
    n.inputs.resize(9, no_id);
    for (ValueId v : {form_.at(other.bytes), other.scale, view_.zero_or_made(other.zero, other.bytes),
                      t.grid.scale, view_.zero_or_made(t.grid.zero, t.grid.bytes)})
      n.inputs.push_back(v);
    set_clamp(n, "sum_", t.of);
    n.outputs = {add_blocked_value(t.grid.bytes)};
    if (!has_kernel(graph_, n, kernels_, preference_)) return false;
    n.origin = joined(n.origin, described(t, add, "").origin);
    // The other operand may come later than the convolution did: this node comes after both. What made the
    // convolution's own bytes stays, and is dead.
    finish(t, std::move(n));
    return true;
  }
  static std::vector<std::string> joined(std::vector<std::string> a, const std::vector<std::string>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  /// On one grid, the largest byte is that of the largest number.
  void convert_max_pool(const Target& t, const Node& pool) {
    const auto x = view_.number(pool.inputs[0]);
    const bool indices = pool.outputs.size() > 1 && pool.outputs[1] != no_id;
    if (!x || !is_blocked(*x) || indices || !explicit_pads(pool) || !same_grid(*x, t.grid) ||
        t.of.value != graph_.node(t.last).inputs[0])
      return;
    Node n = described(t, pool, "BlockedMaxPool");
    n.attributes = pool.attributes;
    make_explicit(n, 2);
    n.inputs = {form_.at(x->bytes)};
    n.outputs = {add_blocked_value(t.grid.bytes)};
    if (has_kernel(graph_, n, kernels_, preference_)) finish(t, std::move(n));
  }

  bool same_grid(const QuantizedValue& a, const QuantizedValue& b) const {
    const auto zero = [&](const QuantizedValue& q) {
      return q.zero == no_id ? 0 : load_int(*graph_.constant_tensor(q.zero), 0);
    };
    return view_.single_float(a.scale) == view_.single_float(b.scale) && zero(a) == zero(b) &&
           graph_.value(a.bytes).type.elem == graph_.value(b.bytes).type.elem;
  }

  void convert_mean(const Target& t, const Node& pool) {
    const auto x = view_.number(pool.inputs[0]);
    if (!x || !is_blocked(*x) || t.of.value != graph_.node(t.last).inputs[0]) return;
    Node n = described(t, pool, "BlockedByteGlobalAveragePool");
    n.inputs = {form_.at(x->bytes), x->scale, view_.zero_or_made(x->zero, x->bytes), t.grid.scale,
                view_.zero_or_made(t.grid.zero, t.grid.bytes)};
    n.outputs = {add_blocked_value(t.grid.bytes)};
    if (has_kernel(graph_, n, kernels_, preference_)) finish(t, std::move(n));
  }

  // The new nodes.

  Node described(const Target& t, const Node& source, std::string op) const {
    const auto names = [](const Node& n) {
      return n.origin.empty() && !n.name.empty() ? std::vector{n.name} : n.origin;
    };
    Node n;
    n.domain = "lathe";
    n.op = std::move(op);
    n.name = source.name;
    n.origin = names(source);
    if (t.last != t.source) n.origin = joined(n.origin, names(graph_.node(t.last)));
    return n;
  }

  /// The node takes the target's place; the plain bytes are made of its blocks for whoever wants them.
  void finish(const Target& t, Node n) {
    const ValueId made = n.outputs[0];
    graph_.remove_node(t.last);
    graph_.add_node(std::move(n));
    Attributes all;
    all.set("channels", channels(t.grid.bytes));
    add("Unblock", {made}, t.grid.bytes, std::move(all));
    form_[t.grid.bytes] = made;
    changed_ = true;
  }

  ValueId add_blocked_value(ValueId v) {
    ValueType type = graph_.value(v).type;
    SymShape& s = *type.shape;
    s[1] = Dim((*s[1].value() + block - 1) / block);
    s.push_back(Dim(block));
    type.elem = DataType::uint8;
    return graph_.add_value(graph_.fresh_name(graph_.value(v).name + ".blocked"), std::move(type));
  }

  void add(std::string op, std::vector<ValueId> inputs, ValueId output, Attributes attributes = {}) {
    Node n;
    n.domain = "lathe";
    n.op = std::move(op);
    n.inputs = std::move(inputs);
    n.outputs = {output};
    n.attributes = std::move(attributes);
    graph_.add_node(std::move(n));
  }

  Graph& graph_;
  QuantizedView view_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  std::map<ValueId, ValueId> form_;  // in blocks, by the plain bytes
  bool changed_ = false;
};

}  // namespace

bool use_quantized_layout(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                          const Preference& preference) {
  return QuantizedLayout(graph, folds, kernels, preference).run();
}

void remove_unread(Graph& graph, const std::vector<ValueId>& kept) {
  std::vector<bool> wanted(graph.value_count());
  for (ValueId v : graph.outputs()) wanted[v] = true;
  for (ValueId v : kept) wanted[v] = true;
  const std::vector<NodeId> order = graph.order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const Node& n = graph.node(*id);
    const bool read = !n.bodies.empty() ||
                      std::ranges::any_of(n.outputs, [&](ValueId v) { return v != no_id && wanted[v]; });
    if (!read) {
      graph.remove_node(*id);
      continue;
    }
    for (ValueId v : n.inputs)
      if (v != no_id) wanted[v] = true;
    for (const Body& b : n.bodies)
      for (ValueId c : b.graph->captures()) wanted[b.graph->value(c).captured] = true;
  }
}

}  // namespace lathe
