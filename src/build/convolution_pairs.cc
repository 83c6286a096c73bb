#include "build/convolution_pairs.h"

#include <optional>

#include "build/node_request.h"
#include "cpu/blocked_pair.h"

namespace lathe {
namespace {

/// What the attributes say of a convolution; those of the second one begin with "depthwise_".
struct Window {
  int64_t stride(size_t axis) const { return strides[axis]; }
  int64_t dilation(size_t axis) const { return dilations[axis]; }
  int64_t pad_begin(size_t axis) const { return pads[axis]; }
  int64_t pad_end(size_t axis) const { return pads[pads.size() / 2 + axis]; }
  std::vector<int64_t> strides, dilations, pads;
};
struct Convolution {
  Convolution(const Attributes& a, const char* channels_name, const std::string& prefix, size_t spatial)
      : channels(a.get<int64_t>(channels_name, 0)),
        window{a.get(prefix + "strides", std::vector<int64_t>(spatial, 1)),
               a.get(prefix + "dilations", std::vector<int64_t>(spatial, 1)),
               a.get(prefix + "pads", std::vector<int64_t>(2 * spatial, 0))} {}
  int64_t channels;
  Window window;
};

class ConvolutionPairs {
 public:
  ConvolutionPairs(Graph& g, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), kernels_(kernels), preference_(preference), uses_(g) {}

  void run() {
    for (NodeId id : graph_.order()) {
      const auto pair = pair_before(graph_.node(id));
      if (!pair) continue;
      Node joined = join(graph_.node(pair->first), graph_.node(id), pair->between);
      if (!pays(joined)) continue;
      graph_.remove_node(id);
      graph_.add_node(std::move(joined));
    }
  }

 private:
  struct Pair {
    NodeId first;
    std::optional<Pointwise::Instruction> between;
  };

  std::optional<Pair> pair_before(const Node& second) const {
    if (!is_convolution(second)) return std::nullopt;
    Pair pair{.first = only_maker(second.inputs[0]), .between = std::nullopt};
    if (pair.first == no_id) return std::nullopt;
    if (const auto f = function(graph_.node(pair.first))) {
      pair.between = *f;
      pair.first = only_maker(graph_.node(pair.first).inputs[0]);
    }
    return pair.first != no_id && is_convolution(graph_.node(pair.first)) ? std::optional(pair)
                                                                          : std::nullopt;
  }

  static bool is_convolution(const Node& n) { return n.domain == "lathe" && n.op == "BlockedConv"; }
  /// Who makes a value that one node reads; no_id where others read it too.
  NodeId only_maker(ValueId v) const {
    return uses_.of(v).size() == 1 && !graph_.is_output(v) ? graph_.value(v).producer : no_id;
  }
  /// Of single elements of one value, in one instruction.
  std::optional<Pointwise::Instruction> function(const Node& n) const {
    const auto* describe = kernels_.pointwise_of(n.domain, n.op);
    if (!describe) return std::nullopt;
    const NodeRequest question(graph_, n, preference_.isa, !preference_.refit);
    const auto op = kernels_.codec_of(n.domain, n.op)->decode(n.attributes);
    const auto program = (*describe)(op.get(), question.request());
    if (!program || program->operands != 1 || program->code.size() != 1 || program->code[0].arity != 1)
      return std::nullopt;
    return program->code[0];
  }

  /// Is there a kernel, and does it pay?
  bool pays(const Node& n) const {
    const NodeRequest question(graph_, n, preference_.isa, true);
    const auto tactics =
        tactics_for(kernels_, "cpu", preference_.isa, n.domain, n.op, n.attributes, question.request());
    if (tactics.empty()) return false;
    const auto shape = shape_of(n);
    return shape && cpu::pays_as_pair(preference_.isa, *shape);
  }

  /// For one image, where its size is known.
  std::optional<cpu::PairShape> shape_of(const Node& n) const {
    const Shape &w = graph_.constant_tensor(n.inputs[1])->shape(),
                &depthwise = graph_.constant_tensor(n.inputs[3])->shape();
    const size_t spatial = w.size() - 2;
    const auto& sizes = graph_.value(n.inputs[0]).type.shape;
    Shape x = {1, 1};
    for (size_t axis = 2; sizes && axis < 2 + spatial; ++axis) {
      const auto size = axis < sizes->size() ? (*sizes)[axis].value() : std::nullopt;
      if (!size) return std::nullopt;
      x.push_back(*size);
    }
    if (x.size() != 2 + spatial) return std::nullopt;
    const Convolution first(n.attributes, "channels", "", spatial),
        second(n.attributes, "filters", "depthwise_", spatial);
    cpu::PairShape s{.first = cpu::blocked_window(first, w),
                     .second = cpu::blocked_window(second, depthwise)};
    s.first.plain = n.attributes.get<int64_t>("plain_input", 0) != 0;
    cpu::fit_pair(s, first.window, second.window, x, spatial);
    return s;
  }

  static Node join(const Node& first, const Node& second,
                   const std::optional<Pointwise::Instruction>& between) {
    Node n;
    n.name = second.name;
    n.domain = "lathe";
    n.op = "BlockedConvPair";
    n.origin = first.origin;
    n.origin.insert(n.origin.end(), second.origin.begin(), second.origin.end());
    n.inputs = {first.inputs[0], first.inputs[1], input(first, 2), second.inputs[1], input(second, 2)};
    n.outputs = second.outputs;
    n.attributes = first.attributes;
    for (const char* list : {"dilations", "pads", "strides"})
      n.attributes.set(std::string("depthwise_") + list,
                       second.attributes.get<std::vector<int64_t>>(list, {}));
    n.attributes.set("group", second.attributes.get<int64_t>("group", 1));
    n.attributes.set("filters", second.attributes.get<int64_t>("channels", 0));
    n.attributes.set("activation", between ? int64_t{between->op} : int64_t{-1});
    n.attributes.set("alpha", between ? between->a : 0.0F);
    n.attributes.set("beta", between ? between->b : 0.0F);
    return n;
  }
  static ValueId input(const Node& n, size_t i) { return i < n.inputs.size() ? n.inputs[i] : no_id; }

  Graph& graph_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  const UseIndex uses_;
};

}  // namespace

void use_convolution_pairs(Graph& graph, const KernelCatalog& kernels, const Preference& preference) {
  ConvolutionPairs(graph, kernels, preference).run();
}

}  // namespace lathe
