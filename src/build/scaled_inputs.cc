#include "build/scaled_inputs.h"

#include <optional>

#include "build/node_request.h"
#include "cpu/blocked.h"
#include "cpu/elementwise.h"

namespace lathe {
namespace {

/// What is done with the elements of `from`.
struct Scaling {
  ValueId from = no_id, factor = no_id, shift = no_id;
  Bounds bounds = {};
  std::vector<std::string> origin = {};
};

class ScaledInputs {
 public:
  ScaledInputs(Graph& g, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), kernels_(kernels), preference_(preference), uses_(g) {}

  void run() {
    for (NodeId id : graph_.order()) {
      if (!is_convolution(graph_.node(id))) continue;
      std::optional<Scaling> s = scaling_before(graph_.node(id).inputs[0]);
      if (!s || is_made_for_it(s->from) || !pays(graph_.node(id))) continue;
      Node scaled = with(graph_.node(id), *s);
      if (!has_kernel(scaled)) continue;
      graph_.remove_node(id);
      graph_.add_node(std::move(scaled));
    }
  }

 private:
  static bool is_convolution(const Node& n) {
    return n.domain == "lathe" && n.op == "BlockedConv" && n.attributes.get<int64_t>("group", 1) == 1 &&
           n.attributes.get<int64_t>("plain_input", 0) == 0;
  }
  const Node* maker(ValueId v) const {
    const NodeId p = graph_.value(v).producer;
    return p == no_id ? nullptr : &graph_.node(p);
  }
  bool read_once(ValueId v) const { return uses_.of(v).size() == 1 && !graph_.is_output(v); }

  /// Could whoever makes `v` scale it, since nobody else reads it?
  bool is_made_for_it(ValueId v) const {
    const Node* n = maker(v);
    return read_once(v) && n && n->op != "Concat" && n->op != "Block";
  }

  /// From the convolution backwards: bounds, a sum, a product.
  std::optional<Scaling> scaling_before(ValueId v) const {
    Scaling s{.from = v};
    if (const auto bounds = bounds_of_maker(v)) {
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
  void step_over(Scaling& s, size_t input = 0) const {
    const Node& n = *maker(s.from);
    s.origin.insert(s.origin.begin(), n.origin.begin(), n.origin.end());
    s.from = n.inputs[input];
  }
  std::optional<Bounds> bounds_of_maker(ValueId v) const {
    const Node* n = maker(v);
    const auto* describe = n && read_once(v) ? kernels_.pointwise_of(n->domain, n->op) : nullptr;
    if (!describe) return std::nullopt;
    const NodeRequest question(graph_, *n, preference_.isa, !preference_.refit);
    const auto op = kernels_.codec_of(n->domain, n->op)->decode(n->attributes);
    const auto program = (*describe)(op.get(), question.request());
    if (!program || program->operands != 1 || program->code.size() != 1 || program->code[0].arity != 1)
      return std::nullopt;
    const Pointwise::Instruction& f = program->code[0];
    return cpu::bounds_of(static_cast<UnaryOp>(f.op), f.a, f.b);
  }
  /// A constant [1, C / 16, 1…, 16] for an image like `y`.
  bool is_per_channel(ValueId v, ValueId y) const {
    const Tensor* t = v == no_id ? nullptr : graph_.constant_tensor(v);
    const auto& shape = graph_.value(y).type.shape;
    if (!t || t->type() != DataType::float32 || !shape || t->rank() != shape->size()) return false;
    const auto blocks = (*shape)[1].value();
    Shape wanted(t->rank(), 1);
    wanted.back() = cpu::channel_block;
    return blocks && (wanted[1] = *blocks, t->shape() == wanted);
  }

  /// For one image, where its size is known.
  bool pays(const Node& n) const {
    const Shape& w = graph_.constant_tensor(n.inputs[1])->shape();
    const size_t spatial = w.size() - 2;
    const auto &x = graph_.value(n.inputs[0]).type.shape, &y = graph_.value(n.outputs[0]).type.shape;
    if (!x || !y || x->size() != spatial + 3 || y->size() != spatial + 3) return false;
    cpu::BlockedShape s{.channels = n.attributes.get<int64_t>("channels", 0), .filters = w[0]};
    const auto number = [&](const char* name, size_t i, int64_t otherwise) {
      const auto list = n.attributes.get(name, std::vector<int64_t>());
      return i < list.size() ? list[i] : otherwise;
    };
    for (size_t i = 0; i < spatial; ++i) {
      const size_t at = 2 - spatial + i;
      const auto in = (*x)[i + 2].value(), out = (*y)[i + 2].value();
      if (!in || !out) return false;
      s.in[at] = *in, s.out[at] = *out, s.kernel[at] = w[i + 2];
      s.stride[at] = number("strides", i, 1);
      s.dilation[at] = number("dilations", i, 1);
      s.pad[at] = number("pads", i, 0);
    }
    return cpu::pays_to_scale(preference_.isa, s);
  }

  Node with(const Node& n, const Scaling& s) {
    Node scaled = n;
    scaled.origin = s.origin;
    scaled.origin.insert(scaled.origin.end(), n.origin.begin(), n.origin.end());
    scaled.inputs.resize(3, no_id);
    scaled.inputs[0] = s.from;
    scaled.inputs.push_back(s.factor != no_id ? s.factor : number_for_each(s.from, "one", 1));
    scaled.inputs.push_back(s.shift != no_id ? s.shift : number_for_each(s.from, "zero", 0));
    scaled.attributes.set("scaled", int64_t{1});
    scaled.attributes.set("scaled_least", s.bounds.least);
    scaled.attributes.set("scaled_greatest", s.bounds.greatest);
    return scaled;
  }
  ValueId number_for_each(ValueId x, const char* name, float number) {
    const SymShape& like = *graph_.value(x).type.shape;
    Shape shape(like.size(), 1);
    shape[1] = *like[1].value();
    shape.back() = cpu::channel_block;
    Tensor t(DataType::float32, shape);
    std::ranges::fill(t.as<float>(), number);
    return graph_.add_constant(graph_.fresh_name(name), std::move(t));
  }

  bool has_kernel(const Node& n) const {
    const NodeRequest question(graph_, n, preference_.isa, true);
    return !tactics_for(kernels_, "cpu", preference_.isa, n.domain, n.op, n.attributes, question.request())
                .empty();
  }

  Graph& graph_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  const UseIndex uses_;
};

}  // namespace

void use_scaled_inputs(Graph& graph, const KernelCatalog& kernels, const Preference& preference) {
  ScaledInputs(graph, kernels, preference).run();
}

}  // namespace lathe
