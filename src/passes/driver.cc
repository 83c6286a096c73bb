#include "passes/driver.h"

#include <algorithm>
#include <map>

#include "base/glob.h"

namespace lathe {
namespace {

/// Sweeps over one graph, and patches at one node in a sweep; a set of passes that needs more works against
/// itself. Whatever it did is right, so that is no reason to fail.
constexpr int most_sweeps = 50;
constexpr int most_patches_of_a_node = 100;

std::vector<const Pass*> chosen(const PassOptions& o) {
  const PassList& all = o.passes ? *o.passes : all_passes();
  std::vector<const Pass*> list;
  std::vector<bool> fits(o.switches.size(), false);
  for (const Pass& p : all) {
    bool on = p.by_default && p.level <= o.level && !(o.for_others && p.for_own_kernels);
    for (size_t i = 0; i < o.switches.size(); ++i) {
      const std::string& s = o.switches[i];
      if (s.size() < 2 || !glob_match(std::string_view(s).substr(1), p.name)) continue;
      fits[i] = true;
      on = s[0] == '+';
    }
    if (on) list.push_back(&p);
  }
  for (size_t i = 0; i < o.switches.size(); ++i) {
    const bool signed_word = o.switches[i].starts_with('+') || o.switches[i].starts_with('-');
    if (fits[i] && signed_word) continue;
    std::string names;
    for (const Pass& p : all) names += (names.empty() ? "" : ", ") + std::string(p.name);
    if (!o.or_else.empty()) names += "; or " + o.or_else;
    throw Error(Code::bad_argument, "optimise", "'+' or '-' and the name of a pass: " + names,
                "'" + o.switches[i] + "'");
  }
  return list;
}

/// The oldest opset that may say what a node of the newest version says.
int least_opset(const OpSchema& schema) {
  const std::vector<Version>& all = schema.versions();
  size_t i = all.size() - 1;
  while (i > 0 && !all[i - 1].deprecated && (all[i].into_previous || !all[i].from_previous)) --i;
  return all[i].since;
}

class Driver {
 public:
  Driver(const SchemaCatalog& schemas, const PassOptions& options)
      : schemas_(schemas), options_(options), passes_(chosen(options)) {
    for (const Pass* p : passes_) {
      if (p->anchors.empty()) everywhere_.push_back(p);
      for (std::string_view op : p->anchors) by_op_[op].push_back(p);
    }
  }

  void run(Graph& root) {
    if (passes_.empty()) return;
    // Contents of small tensors are not kept in a graph: they are found anew, the types stay.
    state_.declare_bodies(root);
    std::vector<Diagnostic> ignored;
    infer_graph(root, schemas_, state_, &ignored);
    optimise(root);
  }
  Rewriting take() { return std::move(done_); }

 private:
  void optimise(Graph& g) {
    UseIndex uses(g);
    bool changed = true;
    for (int sweep = 0; changed && sweep < most_sweeps; ++sweep) {
      changed = false;
      for (NodeId id : g.order()) {
        if (options_.control) options_.control->check();
        for (int i = 0; i < most_patches_of_a_node && g.node(id).alive && improve(g, uses, id); ++i)
          changed = true;
      }
    }
    done_.at_rest = done_.at_rest && !changed;
    for (NodeId id : g.order())
      for (const Body& b : g.node(id).bodies) optimise(*b.graph);
  }

  /// The first patch that a pass has for this node.
  bool improve(Graph& g, UseIndex& uses, NodeId id) {
    if (done_.patches.size() >= options_.stop_after) return false;
    const Node& n = g.node(id);
    if (remove_if_unread(g, uses, id)) return false;
    auto try_passes = [&](const std::vector<const Pass*>& passes) {
      return std::ranges::any_of(passes, [&](const Pass* p) { return try_pass(*p, g, uses, id); });
    };
    const auto special = n.domain.empty() ? by_op_.find(n.op) : by_op_.end();
    return (special != by_op_.end() && try_passes(special->second)) || try_passes(everywhere_);
  }

  /// What patches leave behind, and what only that read. Without recursion: models are deep.
  bool remove_if_unread(Graph& g, UseIndex& uses, NodeId id) {
    if (options_.level == OptimizationLevel::none) return false;
    std::vector<NodeId> waiting{id};
    while (!waiting.empty()) {
      const NodeId next = waiting.back();
      waiting.pop_back();
      const Node& n = g.node(next);
      if (!n.alive ||
          std::ranges::any_of(n.outputs, [&](ValueId v) { return v != no_id && uses.is_read(v); }))
        continue;
      for (ValueId v : n.inputs)
        if (v != no_id && g.value(v).producer != no_id) waiting.push_back(g.value(v).producer);
      uses.removing(next);
      g.remove_node(next);
    }
    return !g.node(id).alive;
  }

  bool try_pass(const Pass& pass, Graph& g, UseIndex& uses, NodeId id) {
    const std::optional<Patch> patch = pass.propose(
        View(g, uses, state_, schemas_, options_.exchangeable, constants_, options_.for_others), id);
    if (!patch || patch->empty() || !can_be_said(*patch)) return false;
    const std::string name = g.node(id).name;
    try {
      const Patch::Applied done = patch->apply(g, uses);
      for (NodeId n : done.added) {
        if (!schemas_.find(g.node(n).domain, g.node(n).op))
          throw Error(Code::internal, "optimise", "an operator that there is", g.node(n).op);
        infer_node(g, n, schemas_, state_);
      }
      for (const auto& [from, to] : done.replaced) check_same(g, from, to);
    } catch (const Error& e) {
      Diagnostic d = e.diagnostic();
      d.code = Code::internal;
      d.stage = "pass " + std::string(pass.name);
      if (d.node.empty()) d.node = name;
      d.remedy = "--passes=-" + std::string(pass.name) + " leaves the pass out; please report it";
      throw Error(std::move(d));
    }
    done_.patches.push_back({pass.name, name, patch->reason()});
    return true;
  }

  bool can_be_said(const Patch& patch) const {
    return options_.newest_opset == 0 || std::ranges::all_of(patch.added(), [&](const Node& n) {
             const OpSchema* schema = n.domain.empty() ? schemas_.find(n.domain, n.op) : nullptr;
             return !schema || least_opset(*schema) <= options_.newest_opset;
           });
  }

  /// What is known of a value must not change when another takes its place; more may become known.
  void check_same(Graph& g, ValueId from, ValueId to) {
    const ValueType &before = g.value(from).type, &now = g.value(to).type;
    const std::optional<ValueType> both = refine(now, before);
    if (!both) throw Error(Code::internal, "optimise", before.str(), now.str());
    if (!g.value(to).is_input && !g.value(to).constant) g.value(to).type = *both;
  }

  const SchemaCatalog& schemas_;
  const PassOptions& options_;
  std::vector<const Pass*> passes_, everywhere_;
  std::map<std::string_view, std::vector<const Pass*>> by_op_;
  InferState state_;
  ConstantIndex constants_;
  Rewriting done_;
};

}  // namespace

Rewriting run_passes(Graph& graph, const SchemaCatalog& schemas, const PassOptions& options) {
  Driver d(schemas, options);
  d.run(graph);
  return d.take();
}

}  // namespace lathe
