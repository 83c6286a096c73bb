#include "compiler/plugin_passes.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "compiler/lowering_passes.h"
#include "passes/pass.h"
#include "passes/patch_applier.h"
#include "runtime/plugin_kernel.h"

namespace lathe {
namespace {

/// Limits of sweeps over one graph, and of patches at one node in a sweep: a pass that needs more undoes its
/// own work.
constexpr int max_sweeps = 50, max_patches_per_node = 100;

std::optional<uint32_t> optional_id(ValueId v) { return v == no_id ? std::nullopt : std::optional(v); }
std::vector<std::optional<uint32_t>> optional_ids(const Operands& operands) {
  std::vector<std::optional<uint32_t>> list;
  for (ValueId v : operands) list.push_back(optional_id(v));
  return list;
}

class GraphOfPass final : public GraphView {
 public:
  GraphOfPass(const Graph& g, const UseIndex& uses, const LoweringContext& l)
      : graph_(g), uses_(uses), l_(l) {}

  std::string_view op(uint32_t n) const override { return node(n).op; }
  std::string_view domain(uint32_t n) const override { return node(n).domain; }
  std::string_view name(uint32_t n) const override { return node(n).name; }
  std::shared_ptr<const AttributeView> attributes(uint32_t n) const override {
    return attribute_view(node(n).attributes);
  }
  std::vector<std::optional<uint32_t>> inputs(uint32_t n) const override {
    return optional_ids(node(n).inputs);
  }
  std::vector<std::optional<uint32_t>> outputs(uint32_t n) const override {
    return optional_ids(node(n).outputs);
  }
  OperandView value(uint32_t v) const override {
    const ValueInfo& info = value_info(v);
    const bool is_tensor = info.type.kind == ValueType::Kind::tensor;
    return {.present = true,
            .type = is_tensor ? info.type.elem : DataType::undefined,
            .shape = info.type.shape,
            .constant = info.is_constant(),
            .value = l_.preference.refit || info.is_input ? nullptr : graph_.constant_tensor(v)};
  }
  std::optional<uint32_t> producer(uint32_t v) const override { return optional_id(value_info(v).producer); }
  std::vector<uint32_t> readers(uint32_t v) const override {
    value_info(v);
    std::vector<uint32_t> list;
    for (const Use& u : uses_.of(v)) list.push_back(u.node);
    return list;
  }
  bool is_output(uint32_t v) const override {
    value_info(v);
    const auto tapped = l_.taps.find(&graph_);
    return graph_.is_output(v) ||
           (tapped != l_.taps.end() && std::ranges::find(tapped->second, v) != tapped->second.end());
  }

 private:
  const Node& node(uint32_t n) const {
    if (n >= graph_.node_count() || !graph_.node(n).alive)
      throw Error(Code::internal, "build", "a node of the graph", std::to_string(n));
    return graph_.node(n);
  }
  const ValueInfo& value_info(uint32_t v) const {
    if (v >= graph_.value_count())
      throw Error(Code::internal, "build", "a value of the graph", std::to_string(v));
    return graph_.value(v);
  }

  const Graph& graph_;
  const UseIndex& uses_;
  const LoweringContext& l_;
};

class PatchOfPass final : public PatchBuilder {
 public:
  /// `stays`: nodes that are kept for taps, though their values are replaced.
  PatchOfPass(std::string reason, std::function<bool(NodeId)> stays)
      : patch_(std::move(reason)), stays_(std::move(stays)) {}
  uint32_t add_constant(std::string name, Tensor elements) override {
    return patch_.add_constant(std::move(name), std::move(elements));
  }
  std::vector<uint32_t> add_node(std::string op, std::string domain,
                                 std::vector<std::optional<uint32_t>> inputs, size_t outputs,
                                 std::vector<std::pair<std::string, PluginAttribute>> attributes) override {
    std::vector<ValueId> operands;
    for (const std::optional<uint32_t>& v : inputs) operands.push_back(v.value_or(no_id));
    Attributes all;
    for (auto& [name, value] : attributes)
      std::visit([&, &name = name](auto& v) { all.set(std::move(name), std::move(v)); }, value);
    return patch_.add_node(std::move(op), std::move(operands), outputs, std::move(all),
                           domain == "ai.onnx" ? "" : std::move(domain));
  }
  void remove(uint32_t node) override {
    if (!stays_(node) && std::ranges::find(patch_.removed(), node) == patch_.removed().end())
      patch_.remove(node);
  }
  void replace(uint32_t from, uint32_t to) override {
    replaced_.push_back(from);
    patch_.replace_uses(from, to);
  }
  const Patch& patch() const { return patch_; }
  const std::vector<ValueId>& replaced() const { return replaced_; }

 private:
  Patch patch_;
  std::function<bool(NodeId)> stays_;
  std::vector<ValueId> replaced_;
};

/// One pass over one graph.
class Rewriter {
 public:
  Rewriter(const PluginPass& pass, LoweringContext& l) : pass_(pass), l_(l), patches_(l.schemas) {}

  bool run(Graph& g) {
    bool changed = false, again = true;
    UseIndex uses(g);
    for (int sweep = 0; again; ++sweep) {
      again = false;
      for (NodeId id : order_of(g)) {
        if (l_.options.control) l_.options.control->check();
        for (int i = 0; is_wanted(g, uses, id) && improve(g, uses, id); ++i) {
          again = true;
          if (i >= max_patches_per_node || sweep >= max_sweeps)
            fail(g.node(id), "a pass that comes to an end", "one that goes on to propose patches");
        }
      }
      changed |= again;
    }
    return changed;
  }

 private:
  [[noreturn]] void fail(const Node& n, std::string expected, std::string got) const {
    throw Error(Code::build_plugin_failed, "build", std::move(expected), std::move(got),
                "--passes=-" + pass_.name + " leaves the pass out")
        .at("pass " + pass_.name, n.name, n.op);
  }

  std::vector<NodeId> order_of(const Graph& g) const {
    try {
      return g.order();
    } catch (const Error& e) {
      fail(Node(), "a graph without cycles", e.diagnostic().got);
    }
  }

  bool is_tapped(const Graph& g, ValueId v) const {
    const auto tapped = l_.taps.find(&g);
    return tapped != l_.taps.end() && std::ranges::find(tapped->second, v) != tapped->second.end();
  }

  bool makes_tapped(const Graph& g, NodeId id) const {
    return id < g.node_count() &&
           std::ranges::any_of(g.node(id).outputs, [&](ValueId v) { return v != no_id && is_tapped(g, v); });
  }

  /// Returns whether a node is there and something but taps reads what it makes: others are about to be
  /// removed.
  static bool is_wanted(const Graph& g, const UseIndex& uses, NodeId id) {
    const Node& n = g.node(id);
    return n.alive && (!n.bodies.empty() || std::ranges::any_of(n.outputs, [&](ValueId v) {
             return v != no_id && uses.is_read(v);
           }));
  }

  bool improve(Graph& g, UseIndex& uses, NodeId id) {
    const Node anchor = g.node(id);
    PatchOfPass made(pass_.name, [&](NodeId n) { return makes_tapped(g, n); });
    try {
      if (!pass_.rewrite(GraphOfPass(g, uses, l_), id, made) || made.patch().empty()) return false;
      // New nodes take over the name of one that they replace.
      if (std::ranges::all_of(g.node(id).outputs,
                              [&](ValueId v) {
                                return v == no_id ||
                                       std::ranges::find(made.replaced(), v) != made.replaced().end();
                              }) &&
          !reads_own_result(made, g, id))
        made.remove(id);
      require_replaced(made, g, uses);
      if (renames_tap(made, g)) return false;
      const Patch::Staged staged = patches_.stage(made.patch(), g);
      made.patch().commit(g, uses, staged);
      return true;
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
      fail(anchor, e.diagnostic().expected.empty() ? "a patch that fits" : e.diagnostic().expected,
           e.diagnostic().got);
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      fail(anchor, "a pass that ends well", e.what());
    } catch (...) {
      fail(anchor, "a pass that ends well", "an exception of no known type");
    }
  }

  static bool reads_own_result(const PatchOfPass& made, const Graph& g, NodeId id) {
    return std::ranges::any_of(made.patch().added(), [&](const Node& n) {
      return std::ranges::any_of(n.inputs,
                                 [&](ValueId v) { return v < g.value_count() && g.value(v).producer == id; });
    });
  }

  /// Whatever a removed node made is replaced, or read by removed nodes alone.
  static void require_replaced(const PatchOfPass& made, const Graph& g, const UseIndex& uses) {
    const std::vector<NodeId>& removed = made.patch().removed();
    const auto is_gone = [&](const Use& u) { return std::ranges::find(removed, u.node) != removed.end(); };
    for (const Node& added : made.patch().added())
      for (ValueId v : added.inputs)
        if (v < g.value_count() && std::ranges::find(removed, g.value(v).producer) != removed.end())
          throw Error(Code::internal, "build", "new nodes that read what stays", g.value(v).name);
    for (NodeId n : removed) {
      if (n >= g.node_count() || !g.node(n).alive)
        throw Error(Code::internal, "build", "a node of the graph to remove", std::to_string(n));
      for (ValueId v : g.node(n).outputs) {
        if (v == no_id || std::ranges::find(made.replaced(), v) != made.replaced().end()) continue;
        if (g.is_output(v) || !std::ranges::all_of(uses.of(v), is_gone))
          throw Error(Code::internal, "build", "a replacement for " + g.value(v).name + ", which is read",
                      "none");
      }
    }
  }

  /// Returns whether a patch replaces a tapped output of the graph: that hands its name on, by which the tap
  /// is known.
  bool renames_tap(const PatchOfPass& made, const Graph& g) const {
    return std::ranges::any_of(
        made.replaced(), [&](ValueId v) { return v < g.value_count() && is_tapped(g, v) && g.is_output(v); });
  }

  const PluginPass& pass_;
  LoweringContext& l_;
  PatchApplier patches_;
};

}  // namespace

LoweringPass lowering_pass_of(const PluginPass& pass) {
  const auto is_taken = [&](std::string_view name) { return name == pass.name; };
  const std::vector<LoweringPass> own = lowering_passes();
  if (std::ranges::any_of(own, is_taken, &LoweringPass::name) ||
      std::ranges::any_of(all_passes(), is_taken, &Pass::name))
    throw Error(Code::build_plugin_failed, "build", "a pass with a name of its own", "'" + pass.name + "'");
  return {.name = pass.name,
          .description = pass.description,
          .target = pass.backend,
          .stage = LoweringStage::layout,
          .run = [&pass](LoweringContext& l, Graph& g) { return Rewriter(pass, l).run(g); },
          .in_bodies = true};
}

}  // namespace lathe
