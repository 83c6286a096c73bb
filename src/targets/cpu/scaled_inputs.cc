#include "targets/cpu/scaled_inputs.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/makers.h"
#include "compiler/node_query.h"
#include "cpu/elementwise.h"
#include "cpu/nchw16c.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

/// The operations on the elements of `from`. A gate is a computed factor, without any of the others.
struct Scaling {
  ValueId from = no_id, factor = no_id, shift = no_id, gate = no_id;
  Bounds bounds = {};
  std::vector<std::string> origin = {};
};

class ScaledInputs {
 public:
  ScaledInputs(Graph& g, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), kernels_(kernels), preference_(preference), uses_(g) {
    for (NodeId id : makers_of(g, outputs_of(g), [](const Node&) { return false; })) makers_.insert(id);
  }

  void run() {
    for (NodeId id : graph_.order()) {
      if (!is_convolution(graph_.node(id))) continue;
      std::optional<Scaling> s = scaling_before(graph_.node(id).inputs[0]);
      if (!s) s = gate_before(graph_.node(id).inputs[0]);
      if (!s || is_scaled_when_made(s->from) || !pays(graph_.node(id), *s)) continue;
      Node scaled = with(graph_.node(id), *s);
      if (!can_run(graph_, scaled, kernels_, "cpu", preference_)) continue;
      graph_.remove_node(id);
      graph_.add_node(std::move(scaled));
    }
  }

 private:
  static bool is_convolution(const Node& n) {
    return n.domain == "lathe" && n.op == "BlockedConv" && n.attributes.get<int64_t>("group", 1) == 1 &&
           n.attributes.get<int64_t>("nchw_input", 0) == 0;
  }
  const Node* maker(ValueId v) const {
    const NodeId p = graph_.value(v).producer;
    return p == no_id ? nullptr : &graph_.node(p);
  }
  /// Returns whether one node reads the value. Nodes for taps do not count: they must not change what is
  /// computed.
  bool read_once(ValueId v) const {
    const auto counts = [&](const Use& u) { return makers_.contains(u.node); };
    return std::ranges::count_if(uses_.of(v), counts) == 1 && !graph_.is_output(v);
  }

  /// Returns whether the maker of `v` can scale it as it makes it, since nothing else reads it.
  bool is_scaled_when_made(ValueId v) const {
    const Node* n = maker(v);
    if (!n || !read_once(v)) return false;
    return kernels_.pointwise_of(n->domain, n->op) ||
           any_kernel(kernels_, "cpu", *n, &Kernel::fuses_epilogue);
  }

  /// Matches from the convolution backwards: bounds, a sum, a product.
  std::optional<Scaling> scaling_before(ValueId v) const {
    Scaling s{.from = v};
    const auto function =
        read_once(v) && maker(v) ? function_of(graph_, *maker(v), kernels_, preference_) : std::nullopt;
    if (function)
      if (const auto bounds = cpu::bounds_of(static_cast<UnaryOp>(function->op), function->a, function->b)) {
        s.bounds = *bounds;
        step_over(s);
      }
    for (auto [op, constant] : {std::pair{"Add", &s.shift}, {"Mul", &s.factor}})
      if (const Node* n = maker(s.from); n && n->domain.empty() && n->op == op && read_once(s.from))
        for (size_t i : {0, 1})
          if (*constant == no_id && is_per_channel(n->inputs[i], n->outputs[0])) {
            *constant = n->inputs[i];
            step_over(s, 1 - i);
          }
    if (s.from == v) return std::nullopt;
    return s;
  }
  std::optional<Scaling> gate_before(ValueId v) const {
    const Node* n = maker(v);
    if (!n || !n->domain.empty() || n->op != "Mul" || !read_once(v)) return std::nullopt;
    for (size_t i : {0, 1})
      if (shape_of(n->inputs[1 - i]) == shape_of(v) && is_gate(n->inputs[i], v)) {
        Scaling s{.from = v, .gate = n->inputs[i]};
        step_over(s, 1 - i);
        return s;
      }
    return std::nullopt;
  }
  void step_over(Scaling& s, size_t input = 0) const {
    const Node& n = *maker(s.from);
    s.origin.insert(s.origin.begin(), n.origin.begin(), n.origin.end());
    s.from = n.inputs[input];
  }
  const std::optional<SymShape>& shape_of(ValueId v) const { return graph_.value(v).type.shape; }
  /// The shape [1, C / 16, 1…, 16] for an image: the blocks of a convolution's channels are known.
  Shape per_channel(ValueId image) const {
    const SymShape& like = *graph_.value(image).type.shape;
    Shape shape(like.size(), 1);
    shape[1] = *like[1].value();
    shape.back() = cpu::channel_block;
    return shape;
  }
  bool is_per_channel(ValueId v, ValueId image) const {
    const Tensor* t = v == no_id ? nullptr : graph_.constant_tensor(v);
    return t && t->type() == DataType::float32 && t->shape() == per_channel(image);
  }

  /// True for float32 of the shape per_channel(), for all images or for each.
  bool is_gate(ValueId v, ValueId image) const {
    const auto &gate = shape_of(v), &x = shape_of(image);
    if (graph_.value(v).type.elem != DataType::float32 || !gate || !x || gate->size() != x->size())
      return false;
    Shape wanted = per_channel(image);
    for (size_t axis = 1; axis < wanted.size(); ++axis)
      if ((*gate)[axis].value() != wanted[axis]) return false;
    return (*gate)[0] == (*x)[0] || (*gate)[0].value() == 1;
  }

  /// Decides for one image; false if its size is not known.
  bool pays(const Node& n, const Scaling& scaling) const {
    const auto s = blocked_shape_of(graph_, n);
    if (!s) return false;
    return scaling.gate != no_id ? cpu::pays_to_gate(preference_.isa, *s)
                                 : cpu::pays_to_scale(preference_.isa, *s);
  }

  Node with(const Node& n, const Scaling& s) {
    Node scaled = n;
    scaled.origin = s.origin;
    scaled.origin.insert(scaled.origin.end(), n.origin.begin(), n.origin.end());
    scaled.inputs.resize(3, no_id);
    scaled.inputs.set(0, s.from);
    if (s.gate != no_id) {
      scaled.inputs.push_back(s.gate);
      scaled.attributes.set("gated", int64_t{1});
      return scaled;
    }
    scaled.inputs.push_back(s.factor != no_id ? s.factor : number_for_each(s.from, "one", 1));
    scaled.inputs.push_back(s.shift != no_id ? s.shift : number_for_each(s.from, "zero", 0));
    scaled.attributes.set("scaled", int64_t{1});
    scaled.attributes.set("scaled_least", s.bounds.least);
    scaled.attributes.set("scaled_greatest", s.bounds.greatest);
    return scaled;
  }
  ValueId number_for_each(ValueId image, const char* name, float number) {
    Tensor t(DataType::float32, per_channel(image));
    std::ranges::fill(t.as<float>(), number);
    return graph_.add_constant(graph_.fresh_name(name), std::move(t));
  }

  Graph& graph_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  const UseIndex uses_;
  std::set<NodeId> makers_;  // the nodes that the graph's outputs need
};

}  // namespace

void use_scaled_inputs(Graph& graph, const KernelCatalog& kernels, const Preference& preference) {
  ScaledInputs(graph, kernels, preference).run();
}

}  // namespace lathe
