#include "passes/driver.h"

#include <algorithm>
#include <map>
#include <new>
#include <set>
#include <tuple>

#include "base/glob.h"
#include "graph/traverse.h"
#include "ops/refused/refused.h"
#include "passes/checks.h"
#include "passes/onnxruntime_types.h"
#include "passes/patch_applier.h"
#include "passes/refused_nodes.h"

namespace lathe {
namespace {

/// Limits of sweeps over one graph, and of patches at one node in a sweep. Passes that need more undo each
/// other's work; every patch was correct, so that is no reason to fail.
constexpr int max_iterations = 50;
constexpr int max_patches_per_node = 100;

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
    throw Error(Code::bad_argument, "optimize", "'+' or '-' and the name of a pass: " + names,
                "'" + o.switches[i] + "'");
  }
  return list;
}

/// Returns the oldest opset that may express a node of the newest version.
int min_opset(const OpSchema& schema) {
  const std::vector<Version>& all = schema.versions();
  size_t i = all.size() - 1;
  while (i > 0 && !all[i - 1].deprecated && (all[i].into_previous || !all[i].from_previous)) --i;
  return all[i].since;
}

class Driver {
 public:
  Driver(const SchemaCatalog& schemas, const PassOptions& options)
      : schemas_(schemas), options_(options), patches_(schemas), passes_(chosen(options)) {
    for (const Pass* p : passes_) {
      if (p->anchors.empty()) everywhere_.push_back(p);
      for (std::string_view op : p->anchors) by_op_[op].push_back(p);
    }
  }

  void run(Graph& root) {
    // Contents that folding has added since the import are checked against the operators that read them
    // before any pass relies on them.
    refuse_faulty_nodes(root, schemas_, patches_.state());
    if (!passes_.empty()) each_graph(root, [this](Graph& g) { optimize(g); });
  }
  Rewriting take() { return std::move(done_); }

 private:
  void optimize(Graph& g) {
    UseIndex uses(g);
    const std::vector<NodeId> all = g.order();
    for (auto at = all.rbegin(); at != all.rend(); ++at) remove_if_unread(g, uses, *at);
    bool changed = true;
    for (int sweep = 0; changed && sweep < max_iterations; ++sweep) {
      changed = false;
      for (NodeId id : g.order()) {
        if (options_.control) options_.control->check();
        for (int i = 0; i < max_patches_per_node && g.node(id).alive && improve(g, uses, id); ++i)
          changed = true;
      }
    }
    done_.at_rest = done_.at_rest && !changed;
  }

  /// Applies the first patch that a pass has for this node.
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

  /// Removes the node if nothing reads it, and then what only it read. Without recursion: models are deep.
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
    if (has_declined_.contains({&pass, &g, id})) return false;
    const std::string name = g.node(id).name;
    Diagnostic fault;
    try {
      const std::optional<Patch> patch = pass.propose(view_of(g, uses), id);
      if (!patch || patch->empty() || !can_be_expressed(*patch)) return false;
      const Patch::Staged staged = patches_.stage(*patch, g);
      if (!others_take(*patch, staged, g) || drops_check(pass, *patch, staged, g, uses)) {
        patches_.take_back(*patch, staged, g);
        return false;
      }
      const std::vector<ValueId> better = better_known(g, staged);
      std::vector<NodeId> left;  // perhaps unread now
      for (NodeId n : patch->removed())
        for (ValueId v : g.node(n).inputs) left.push_back(g.value(v).producer);
      for (const auto& [from, to] : staged.replaced) left.push_back(g.value(from).producer);
      patch->commit(g, uses, staged);
      for (NodeId n : left)
        if (n != no_id && n != id) remove_if_unread(g, uses, n);
      infer_readers(g, uses, better);
      done_.patches.push_back({pass.name, name, patch->reason()});
      return true;
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline || e.code() == Code::graph_too_large)
        throw;
      fault = e.diagnostic();
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::exception& e) {
      fault.expected = "a patch or none";
      fault.got = e.what();
    }
    fault.code = Code::internal;
    fault.stage = "pass " + std::string(pass.name);
    if (fault.node.empty()) fault.node = name;
    fault.remedy = "--passes=-" + std::string(pass.name) + " leaves the pass out; please report it";
    if (!options_.decline_faulty) throw Error(std::move(fault));
    has_declined_.insert({&pass, &g, id});
    done_.declined.push_back(std::move(fault));
    return false;
  }

  bool others_take(const Patch& patch, const Patch::Staged& staged, const Graph& g) const {
    const auto takes = [&](NodeId n) {
      return onnxruntime_takes(g, g.node(n), schemas_, options_.written_opset);
    };
    return !options_.for_others || std::ranges::all_of(staged.added, takes) ||
           !std::ranges::all_of(patch.removed(), takes);
  }

  /// Returns whether the patch drops a change of shape that a run may refuse, and nothing refuses the same in
  /// its place: the same operator by the same sizes.
  bool drops_check(const Pass& pass, const Patch& patch, const Patch::Staged& staged, const Graph& g,
                   const UseIndex& uses) {
    const View view = view_of(g, uses);
    std::set<ValueId> replaced;
    for (const auto& [from, to] : staged.replaced) replaced.insert(from);
    const std::set<NodeId> removed(patch.removed().begin(), patch.removed().end());
    std::set<NodeId> gone;
    const auto is_read_now = [&](ValueId v) {
      return g.is_output(v) || std::ranges::any_of(uses.of(v), [&](const Use& u) {
               return !gone.contains(u.node) && !removed.contains(u.node);
             });
    };
    const auto is_read = [&](ValueId v) {
      if (std::ranges::any_of(staged.added,
                              [&](NodeId n) { return std::ranges::count(g.node(n).inputs, v) > 0; }))
        return true;
      // Readers of the value that it replaces read it from then on.
      for (const auto& [from, to] : staged.replaced)
        if (to == v && is_read_now(from)) return true;
      return !replaced.contains(v) && is_read_now(v);
    };
    std::vector<NodeId> waiting(removed.begin(), removed.end());
    for (ValueId v : replaced) waiting.push_back(g.value(v).producer);
    while (!waiting.empty()) {
      const NodeId id = waiting.back();
      waiting.pop_back();
      if (id == no_id || gone.contains(id)) continue;
      const Node& n = g.node(id);
      if (!removed.contains(id) &&
          std::ranges::any_of(n.outputs, [&](ValueId v) { return v != no_id && is_read(v); }))
        continue;
      gone.insert(id);
      for (ValueId v : n.inputs)
        if (v != no_id) waiting.push_back(g.value(v).producer);
      const auto checks_the_same = [&](const Node& other) {
        return other.op == n.op && other.domain == n.domain && other.inputs[1] == n.inputs[1] &&
               (n.op != "Concat" || other.inputs == n.inputs);
      };
      bool checked = std::ranges::any_of(staged.added, [&](NodeId a) { return checks_the_same(g.node(a)); });
      for (const auto& [from, to] : staged.replaced) {
        const NodeId equal = g.value(to).producer;
        checked = checked || (equal != id && !removed.contains(equal) && checks_the_same(g.node(equal)) &&
                              g.node(equal).inputs == n.inputs);
      }
      if (pass.keeps_checks && removed.contains(id)) continue;
      if (!checked && may_refuse(view, n)) return true;
    }
    return false;
  }

  View view_of(const Graph& g, const UseIndex& uses) {
    return View(g, uses, patches_.state(), schemas_, options_.exchangeable, constants_, options_.for_others);
  }

  bool can_be_expressed(const Patch& patch) const {
    // Nodes that cannot run stay where they are.
    if (std::ranges::any_of(patch.added(), [](const Node& n) { return n.op == refused_operator; }))
      return false;
    return options_.newest_opset == 0 || std::ranges::all_of(patch.added(), [&](const Node& n) {
             const OpSchema* schema = n.domain.empty() ? schemas_.find(n.domain, n.op) : nullptr;
             return !schema || min_opset(*schema) <= options_.newest_opset;
           });
  }

  /// Returns the values that replace others and of which more is known: their readers have not been checked
  /// against that.
  std::vector<ValueId> better_known(const Graph& g, const Patch::Staged& staged) const {
    std::vector<ValueId> better;
    for (const auto& [from, to] : staged.replaced)
      if (is_better_known(g.value(from).type, patches_.state().values(g, from), g, to)) better.push_back(to);
    return better;
  }
  bool is_better_known(const ValueType& type, const std::optional<std::vector<Dim>>& values, const Graph& g,
                       ValueId now) const {
    const auto more = [](const std::vector<Dim>& before, const std::vector<Dim>& after) {
      return !std::ranges::equal(before, after,
                                 [](const Dim& a, const Dim& b) { return a == b || b.has_unknown(); });
    };
    const ValueType& t = g.value(now).type;
    if (without_shape(type) != without_shape(t)) return true;
    if (t.shape && (!type.shape || more(*type.shape, *t.shape))) return true;
    const auto known = patches_.state().values(g, now);
    return known && (!values || more(*values, *known));
  }
  /// Infers the readers of these values, and those of results that become better known. Nodes that cannot run
  /// are refused.
  void infer_readers(Graph& g, const UseIndex& uses, std::vector<ValueId> waiting) {
    while (!waiting.empty()) {
      const ValueId v = waiting.back();
      waiting.pop_back();
      for (const Use& use : std::vector<Use>(uses.of(v))) {
        const Operands outputs = g.node(use.node).outputs;
        std::vector<std::pair<ValueType, std::optional<std::vector<Dim>>>> before;
        for (ValueId made : outputs)
          before.emplace_back(g.value(made).type, patches_.state().values(g, made));
        refuse_if_faulty(g, use.node, schemas_, patches_.state());
        for (size_t i = 0; i < outputs.size(); ++i)
          if (outputs[i] != no_id && is_better_known(before[i].first, before[i].second, g, outputs[i]))
            waiting.push_back(outputs[i]);
      }
    }
  }

  const SchemaCatalog& schemas_;
  const PassOptions& options_;
  PatchApplier patches_;
  std::vector<const Pass*> passes_, everywhere_;
  std::map<std::string_view, std::vector<const Pass*>> by_op_;
  ConstantIndex constants_;
  std::set<std::tuple<const Pass*, const Graph*, NodeId>> has_declined_;
  Rewriting done_;
};

}  // namespace

Rewriting run_passes(Graph& graph, const SchemaCatalog& schemas, const PassOptions& options) {
  Driver d(schemas, options);
  d.run(graph);
  return d.take();
}

}  // namespace lathe
