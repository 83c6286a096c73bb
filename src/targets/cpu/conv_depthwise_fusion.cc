#include "targets/cpu/conv_depthwise_fusion.h"

#include <algorithm>
#include <optional>
#include <span>

#include "compiler/node_query.h"
#include "cpu/nchw16c.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

class ConvDepthwiseFusion {
 public:
  ConvDepthwiseFusion(Graph& g, const KernelCatalog& kernels, const Preference& preference)
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
    if (!is_pool(second) && !(is_convolution(second) && is_depthwise(second.attributes))) return std::nullopt;
    Pair pair{.first = only_maker(second.inputs[0]), .between = std::nullopt};
    if (pair.first == no_id) return std::nullopt;
    if (const auto f = function_of(graph_, graph_.node(pair.first), kernels_, preference_)) {
      pair.between = *f;
      pair.first = only_maker(graph_.node(pair.first).inputs[0]);
    }
    return pair.first != no_id && is_convolution(graph_.node(pair.first)) ? std::optional(pair)
                                                                          : std::nullopt;
  }

  static bool is_pool(const Node& n) { return n.domain == "lathe" && n.op == "BlockedMaxPool"; }
  static bool is_convolution(const Node& n) { return n.domain == "lathe" && n.op == "BlockedConv"; }
  /// Returns the node that makes a value with one reader; no_id if others read it too.
  NodeId only_maker(ValueId v) const {
    return uses_.of(v).size() == 1 && !graph_.is_output(v) ? graph_.value(v).producer : no_id;
  }
  /// Returns whether a kernel supports the node and the fusion pays.
  bool pays(const Node& n) const {
    if (!can_run(graph_, n, kernels_, "cpu", preference_)) return false;
    const auto shape = shape_of(n);
    return shape && cpu::pays_conv_depthwise(preference_.isa, *shape);
  }

  /// Returns the shape for one image; nothing if its size is not known.
  std::optional<cpu::ConvDepthwiseShape> shape_of(const Node& n) const {
    const Shape& w = graph_.constant_tensor(n.inputs[1])->shape();
    const size_t spatial = w.size() - 2;
    const auto pool = n.attributes.get<std::vector<int64_t>>("pool_shape", {});
    const Shape second_weights =
        pool.empty() ? graph_.constant_tensor(n.inputs[3])->shape() : cpu::pool_weights(w[0], pool);
    const auto x = one_image(graph_, n.inputs[0], spatial);
    if (!x) return std::nullopt;
    const ConvolutionAttributes first(n.attributes, "channels", "", spatial),
        second(n.attributes, "filters", "second_", spatial);
    cpu::ConvDepthwiseShape s{.first = cpu::blocked_window(first, w),
                              .second = cpu::blocked_window(second, second_weights),
                              .pools = !pool.empty()};
    s.first.nchw = n.attributes.get<int64_t>("nchw_input", 0) != 0;
    cpu::fit_conv_depthwise(s, first.window, second.window, *x, spatial);
    // A pool that rounds up may have more windows.
    const auto y = one_image(graph_, n.outputs[0], spatial);
    const std::span<const int64_t> made(s.second.out + 2 - spatial, spatial);
    return y && std::equal(made.begin(), made.end(), y->begin() + 2) ? std::optional(s) : std::nullopt;
  }

  Node join(const Node& first, const Node& second,
            const std::optional<Pointwise::Instruction>& between) const {
    using Ints = std::vector<int64_t>;
    Node n;
    n.name = second.name;
    n.domain = "lathe";
    n.op = "BlockedConvDepthwise";
    n.origin = first.origin;
    n.origin.insert(n.origin.end(), second.origin.begin(), second.origin.end());
    n.inputs = {first.inputs[0], first.inputs[1], input(first, 2)};
    if (!is_pool(second))
      for (ValueId v : {second.inputs[1], input(second, 2)}) n.inputs.push_back(v);
    n.outputs = second.outputs;
    n.attributes = first.attributes;
    for (const char* list : {"dilations", "pads", "strides"})
      n.attributes.set(std::string("second_") + list, second.attributes.get<Ints>(list, {}));
    const int64_t filters = graph_.constant_tensor(first.inputs[1])->shape()[0];
    n.attributes.set("group", filters);
    n.attributes.set("filters", filters);
    if (is_pool(second)) n.attributes.set("pool_shape", second.attributes.get<Ints>("kernel_shape", {}));
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

void use_conv_depthwise_fusion(Graph& graph, const KernelCatalog& kernels, const Preference& preference) {
  ConvDepthwiseFusion(graph, kernels, preference).run();
}

}  // namespace lathe
