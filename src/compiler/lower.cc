#include "compiler/lower.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <set>
#include <span>

#include "compiler/makers.h"
#include "compiler/node_query.h"
#include "compiler/regions.h"
#include "compiler/states.h"
#include "compiler/target.h"
#include "compiler/weights.h"
#include "runtime/program.h"

namespace lathe {
namespace {

PlanType plan_type(const ValueType& t) {
  using From = ValueType::Kind;
  using To = PlanType::Kind;
  PlanType p;
  switch (t.kind) {
    case From::none:
      p.kind = To::none;
      break;
    case From::tensor:
      p.kind = To::tensor;
      break;
    case From::sparse:
      p.kind = To::sparse;
      break;
    case From::sequence:
      p.kind = To::sequence;
      break;
    case From::map:
      p.kind = To::map;
      break;
    case From::optional:
      p.kind = To::optional;
      break;
  }
  const ValueType* inner = &t;
  while ((inner->kind == From::sequence || inner->kind == From::optional) && inner->inner)
    inner = inner->inner.get();
  p.elem = inner->elem;
  p.shape = t.shape;
  p.text = onnx_text(t);
  return p;
}

/// Of the operator Pointwise.
Attributes attributes_of(const Pointwise& program) {
  Attributes a;
  a.set("code", program.integers());
  a.set("constants", program.constants());
  return a;
}

class GraphLowering;

/// The state that the graphs of one plan share.
class Lowering {
 public:
  Lowering(Plan& p, const Folds& folds, const TappedValues& t, const KernelCatalog& k, const Preference& pref,
           const Target* to, RunControl* c, Packing& pack, const Search& s)
      : plan(p),
        weights(p.weights, folds),
        taps(t),
        kernels(k),
        preference(pref),
        target(to),
        control(c),
        packing(pack),
        search(s) {}

  /// Lowers a graph; returns its index, and fills in where its captures are.
  uint32_t graph(const Graph& g, std::vector<std::pair<ValueId, uint32_t>>& captures);
  std::span<const ValueId> taps_of(const Graph& g) const {
    const auto at = taps.find(&g);
    return at == taps.end() ? std::span<const ValueId>() : at->second;
  }
  /// The plan's number for the memory that a kernel wants its operands in.
  MemorySpace space_of(const Kernel& k) {
    if (k.memory == host_memory) return host_memory;
    const auto at = std::ranges::find(plan.backends, k.backend);
    const auto index = at - plan.backends.begin();
    if (at == plan.backends.end()) plan.backends.push_back(k.backend);
    return static_cast<MemorySpace>(index + 1);
  }

  Plan& plan;
  WeightTable weights;
  const TappedValues& taps;
  const KernelCatalog& kernels;
  const Preference& preference;
  const Target* target;  // null: none that is known here
  RunControl* control;
  Packing& packing;
  const Search& search;
};

/// One graph on its way into the plan.
class GraphLowering {
 public:
  GraphLowering(Lowering& all, const Graph& graph) : all_(all), graph_(graph) {}
  PlanGraph run();
  /// The plan's value for one of the graph; makes the copy step where it lives in another memory.
  uint32_t value_in(ValueId v, MemorySpace space);

 private:
  std::vector<NodeId> live_nodes(bool with_taps) const;
  void find_regions(std::span<const NodeId> main, std::span<const NodeId> for_taps);
  bool is_tapped_inside(const Node& n) const;
  void lower(NodeId id);
  void lower(const Region& r);
  std::optional<std::string> refusal_of(const Region& r) const;
  void lower_apart(const Region& r, std::string reason);
  void add_step(const Region& r);
  void move_operands(const Region& r, MemorySpace space, PlanStep& step);
  void lower_for_taps(const Region& r);
  void find_averaged(std::span<const NodeId> main);
  void add_row_means(const Node& n, const std::vector<ValueId>& results, PlanStep& step);
  std::optional<uint32_t> row_means_for(const Node& n) const;
  std::vector<std::string> reasons(NodeId last, NodeId reader) const;
  PlanStep describe(const Node& n, const std::vector<ValueId>& outputs);
  PlanStep describe(const Region& r);
  Choice choose(PlanStep& step, bool by_reference);
  Choice choose_as_it_is(PlanStep& step, bool by_reference) const;
  void add(PlanStep step);
  bool is_by_reference(NodeId id) const {
    return all_.search.by_reference && all_.search.by_reference(graph_, id);
  }
  void add_bodies(const Node& n, PlanStep& step);
  void place_outputs(const std::vector<ValueId>& outputs, MemorySpace space, const PlanStep& step);
  void share_memory(const Node& n, const Kernel& kernel, const PlanStep& step);
  uint32_t value_anywhere(ValueId v);
  uint32_t add_value(ValueId v, ValueRole role, MemorySpace space);
  bool is_constant(ValueId v) const { return graph_.value(v).is_constant(); }
  bool grows(int32_t value) const {
    return value >= 0 && all_.plan.grows_along(made_.values[static_cast<size_t>(value)]) >= 0;
  }
  bool has_growing(const PlanStep& step) const {
    const auto is = [&](int32_t v) { return grows(v); };
    return std::ranges::any_of(step.inputs, is) || std::ranges::any_of(step.outputs, is);
  }
  uint32_t dense(uint32_t value);
  uint32_t dense_in(ValueId v, MemorySpace space) { return dense(value_in(v, space)); }
  void make_dense(PlanStep& step);
  uint32_t add_dense_value(uint32_t state, std::string_view suffix);
  int32_t state_of(ValueId v, ValueRole role, MemorySpace space) const;

  Lowering& all_;
  const Graph& graph_;
  PlanGraph made_;
  Regions regions_;
  std::vector<bool> read_for_taps_;  // by value: read by taps, or by nodes that are computed for them
  std::map<std::pair<ValueId, MemorySpace>, uint32_t> index_;
  std::map<NodeId, std::string> refused_;  // why a region that ends there is no step of the target
  std::set<ValueId> averaged_;             // values on the main path that are averaged over all pixels
  std::map<ValueId, uint32_t> row_means_;  // of averaged values, the plan's value of the row means
  std::map<uint32_t, uint32_t> dense_;     // of states that grow, the plan's value of a dense copy
  std::vector<PlanStep> after_;            // steps that append results of the current step to states
};

uint32_t Lowering::graph(const Graph& g, std::vector<std::pair<ValueId, uint32_t>>& captures) {
  const auto index = static_cast<uint32_t>(plan.graphs.size());
  plan.graphs.emplace_back();  // bodies come after the graph they are in
  GraphLowering lowering(*this, g);
  PlanGraph made = lowering.run();
  for (ValueId v : g.captures())
    if (!g.value(v).constant) captures.emplace_back(g.value(v).captured, lowering.value_in(v, host_memory));
  for (ValueId v : taps_of(g))
    plan.taps.push_back({g.value(v).name, index, lowering.value_in(v, host_memory)});
  plan.graphs[index] = std::move(made);
  return index;
}

PlanGraph GraphLowering::run() {
  for (ValueId v : graph_.inputs()) made_.inputs.push_back(add_value(v, ValueRole::input, host_memory));
  for (ValueId v : graph_.captures())
    if (!is_constant(v)) add_value(v, ValueRole::captured, host_memory);
  // Nodes that are computed for taps alone come last: they may read values that the main path has fused.
  std::vector<NodeId> order = live_nodes(false);
  const std::set<NodeId> main(order.begin(), order.end());
  std::ranges::copy_if(live_nodes(true), std::back_inserter(order),
                       [&](NodeId id) { return !main.contains(id); });
  if (all_.search.fuse && all_.preference.fuse && all_.target && all_.target->fusion) {
    find_regions(std::span(order).first(main.size()), std::span(order).subspan(main.size()));
    find_averaged(std::span(order).first(main.size()));
  }
  for (NodeId id : order) {
    if (all_.control) all_.control->check();
    if (regions_.is_fused(id)) continue;
    try {
      if (const Region* r = regions_.ending_at(id))
        lower(*r);
      else
        lower(id);
    } catch (const Error& e) {
      throw e.at("build", graph_.node(id).name, graph_.node(id).op);
    }
  }
  for (size_t i = 0; i < graph_.outputs().size(); ++i) {
    const uint32_t v = value_in(graph_.outputs()[i], host_memory);
    const int32_t state = made_.values[v].state;
    const bool is_new = state >= 0 && all_.plan.states[static_cast<size_t>(state)].output == i;
    made_.outputs.push_back(is_new ? v : dense(v));
  }
  for (ValueId v : all_.taps_of(graph_)) value_in(v, host_memory);
  return std::move(made_);
}

bool GraphLowering::is_tapped_inside(const Node& n) const {
  return std::ranges::any_of(n.bodies, [&](const Body& b) {
    if (!all_.taps_of(*b.graph).empty()) return true;
    const std::vector<NodeId> inner = b.graph->order();
    return std::ranges::any_of(inner, [&](NodeId id) { return is_tapped_inside(b.graph->node(id)); });
  });
}

/// The live nodes in order: those that the graph's outputs need or, with taps, that taps need as well.
std::vector<NodeId> GraphLowering::live_nodes(bool with_taps) const {
  std::vector<bool> live = outputs_of(graph_);
  if (with_taps)
    for (ValueId v : all_.taps_of(graph_)) live[v] = true;
  return makers_of(graph_, std::move(live), [&](const Node& n) { return with_taps && is_tapped_inside(n); });
}

/// The main path has the same regions as without taps. Further steps compute what taps read inside a region.
void GraphLowering::find_regions(std::span<const NodeId> main, std::span<const NodeId> for_taps) {
  std::vector<NodeId> order(main.begin(), main.end());
  std::erase_if(order, [&](NodeId id) { return is_by_reference(id); });
  regions_ = Regions(graph_, order, all_.kernels, all_.preference, *all_.target);
  read_for_taps_.assign(graph_.value_count(), false);
  for (ValueId v : all_.taps_of(graph_)) read_for_taps_[v] = true;
  for (NodeId id : for_taps) each_read(graph_.node(id), [&](ValueId v) { read_for_taps_[v] = true; });
}

void GraphLowering::find_averaged(std::span<const NodeId> main) {
  for (NodeId id : main)
    if (all_.target->reads_row_means && all_.target->reads_row_means(graph_.node(id)))
      averaged_.insert(graph_.node(id).inputs[0]);
}

/// Makes a depthwise convolution compute the means of rows while these are in the first-level cache, if its
/// result is to be averaged: otherwise all of it would be read again.
void GraphLowering::add_row_means(const Node& n, const std::vector<ValueId>& results, PlanStep& step) {
  if (averaged_.empty() || !averaged_.contains(results[0]) || !all_.target->makes_row_means ||
      !all_.target->makes_row_means(n))
    return;
  // No kernel computes row means of f16 activations.
  const auto is_float = [&](ValueId v) { return graph_.value(v).type.elem == DataType::float32; };
  if (!is_float(n.inputs[0]) || !is_float(results[0])) return;
  PlanValue means = made_.values[static_cast<size_t>(step.outputs[0])];
  if (!means.type.shape) return;
  means.name += ".row_means";
  (*means.type.shape)[means.type.shape->size() - 2] = Dim(1);
  row_means_[results[0]] = static_cast<uint32_t>(made_.values.size());
  step.outputs.push_back(static_cast<int32_t>(made_.values.size()));
  step.fused.push_back("RowMeans");
  made_.values.push_back(std::move(means));
}

/// Returns the row means that a mean over all pixels reads instead of the pixels.
std::optional<uint32_t> GraphLowering::row_means_for(const Node& n) const {
  const bool reads = !row_means_.empty() && all_.target->reads_row_means(n);
  const auto at = reads ? row_means_.find(n.inputs[0]) : row_means_.end();
  return at == row_means_.end() ? std::nullopt : std::optional(at->second);
}

/// Returns why edges into a step were not fused; `reader` is the node that reads them. If it reads row means,
/// these are named instead.
std::vector<std::string> GraphLowering::reasons(NodeId last, NodeId reader) const {
  std::vector<std::string> reasons = regions_.reasons(last);
  const auto means = reader == no_id ? std::nullopt : row_means_for(graph_.node(reader));
  if (!means) return reasons;
  const std::string edge = " (" + graph_.value(graph_.node(reader).inputs[0]).name + "): ";
  for (std::string& why : reasons)
    if (const size_t at = why.find(edge); at != std::string::npos)
      why = why.substr(0, at) + " (" + made_.values[*means].name + "): the mean is that of all rows";
  return reasons;
}

void GraphLowering::lower(NodeId id) {
  const Node& n = graph_.node(id);
  PlanStep step = describe(n, n.outputs);
  add_row_means(n, n.outputs, step);
  step.unfused = reasons(id, id);
  if (const auto refused = refused_.find(id); refused != refused_.end())
    step.unfused.push_back(refused->second);
  const Choice choice = choose(step, is_by_reference(id));
  const bool is_dense = !has_growing(step);
  const MemorySpace space = all_.space_of(*choice.kernel);
  if (!row_means_for(n))
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] != no_id) {
        const uint32_t in = value_in(n.inputs[i], space);
        step.inputs[i] = static_cast<int32_t>(is_dense ? dense(in) : in);
      }
  add_bodies(n, step);
  if (space == host_memory) all_.packing.add(all_.plan, made_, step, *choice.kernel, choice.op);
  place_outputs(n.outputs, space, step);
  share_memory(n, *choice.kernel, step);
  add(std::move(step));
}

void GraphLowering::add(PlanStep step) {
  made_.steps.push_back(std::move(step));
  for (PlanStep& s : std::exchange(after_, {})) {
    choose_as_it_is(s, false);
    made_.steps.push_back(std::move(s));
  }
}

void GraphLowering::lower(const Region& r) {
  if (auto why = refusal_of(r)) return lower_apart(r, std::move(*why));
  add_step(r);
  lower_for_taps(r);
}

/// Returns why no kernel of a device runs a region as one step. The host's kernels run all that the regions
/// have.
std::optional<std::string> GraphLowering::refusal_of(const Region& r) const {
  if (all_.target->in_host_memory) return std::nullopt;
  const Node* const anchor = r.anchor == no_id ? nullptr : &graph_.node(r.anchor);
  const std::string op = anchor ? anchor->op : "Pointwise", domain = anchor ? anchor->domain : "lathe";
  const Attributes attributes = anchor ? anchor->attributes : attributes_of(r.program);
  NodeQuery query(graph_, anchor ? anchor->inputs.list() : r.operands,
                  graph_.node(r.nodes.back()).outputs.list(), all_.preference.isa, true);
  if (anchor) query.set_epilogue(graph_, r.program, r.operands);
  query.set_refit(all_.preference.refit);
  const auto is_state = [&](ValueId v) {
    const auto at = v == no_id ? index_.end() : index_.find({v, host_memory});
    return at != index_.end() && grows(static_cast<int32_t>(at->second));
  };
  if (std::ranges::any_of(r.operands, is_state) || (anchor && std::ranges::any_of(anchor->inputs, is_state)))
    return "a state that grows is in host memory";
  std::string said;
  for (const Kernel* k : all_.kernels.candidates(domain, op)) {
    if (k->backend != all_.target->name) continue;
    const auto decoded = decode_for(*k, *all_.kernels.codec_of(domain, op), attributes);
    const Support support = should_run(*k, decoded.get(), query.kernel_query());
    if (support.accepted) return std::nullopt;
    said += (said.empty() ? "" : "; ") + k->name + ": " + support.reason;
  }
  return said.empty() ? all_.target->name + " has no kernel for elementwise regions" : said;
}

/// Each node becomes a step of its own, of its program where the device takes that.
void GraphLowering::lower_apart(const Region& r, std::string reason) {
  refused_[r.nodes.back()] = std::move(reason);
  if (r.anchor != no_id) lower(r.anchor);
  const bool single = r.anchor == no_id && r.nodes.size() == 1;
  for (NodeId n : r.nodes) {
    const std::optional<Region> alone = single ? std::nullopt : regions_.alone(n);
    if (alone && !refusal_of(*alone))
      add_step(*alone);
    else
      lower(n);
  }
}

void GraphLowering::add_step(const Region& r) {
  PlanStep step = describe(r);
  if (r.anchor != no_id) add_row_means(graph_.node(r.anchor), graph_.node(r.nodes.back()).outputs, step);
  const Choice choice = choose(step, false);
  const MemorySpace space = all_.space_of(*choice.kernel);
  if (!all_.target->in_host_memory) move_operands(r, space, step);
  if (space == host_memory) all_.packing.add(all_.plan, made_, step, *choice.kernel, choice.op);
  place_outputs(graph_.node(r.nodes.back()).outputs, space, step);
  add(std::move(step));
}

/// The step reads its operands in the memory of its kernel, wherever they are.
void GraphLowering::move_operands(const Region& r, MemorySpace space, PlanStep& step) {
  const bool is_dense = !has_growing(step);
  const auto moved = [&](ValueId v) {
    if (v == no_id) return -1;
    const uint32_t here = value_in(v, space);
    return static_cast<int32_t>(is_dense ? dense(here) : here);
  };
  const std::vector<ValueId>& inputs = r.anchor == no_id ? r.operands : graph_.node(r.anchor).inputs.list();
  std::ranges::transform(inputs, step.inputs.begin(), moved);
  if (step.epilogue) std::ranges::transform(r.operands, step.epilogue->operands.begin(), moved);
}

/// Adds steps that compute what taps read of a region's inside.
void GraphLowering::lower_for_taps(const Region& r) {
  const auto reads_anchor = [&](const Region& part) {
    return part.anchor == no_id && r.anchor != no_id &&
           std::ranges::find(part.operands, graph_.node(r.anchor).outputs[0]) != part.operands.end();
  };
  bool anchor_made = r.anchor != no_id && read_for_taps_[graph_.node(r.anchor).outputs[0]];
  if (anchor_made) lower(r.anchor);
  for (NodeId n : r.nodes) {
    const ValueId v = graph_.node(n).outputs[0];
    if (n == r.nodes.back() || !read_for_taps_[v]) continue;
    const std::optional<Region> part = regions_.up_to(r, v);
    const bool as_one = part && !refusal_of(*part);
    if (!anchor_made && r.anchor != no_id && (!as_one || reads_anchor(*part))) {
      lower(r.anchor);
      anchor_made = true;
    }
    if (!as_one)
      for (const NodeId before :
           std::span(r.nodes).first(static_cast<size_t>(std::ranges::find(r.nodes, n) - r.nodes.begin()) + 1))
        lower(before);
    else if (part->anchor == no_id && part->nodes.size() == 1)
      lower(n);
    else
      add_step(*part);
  }
}

/// If no kernel takes the states that a node reads or makes, it reads dense copies and makes dense tensors.
Choice GraphLowering::choose(PlanStep& step, bool by_reference) {
  if (has_growing(step)) {
    try {
      return choose_as_it_is(step, by_reference);
    } catch (const Error& e) {
      if (e.code() != Code::build_no_kernel) throw;
      make_dense(step);
    }
  }
  return choose_as_it_is(step, by_reference);
}

void GraphLowering::make_dense(PlanStep& step) {
  for (int32_t& v : step.inputs)
    if (grows(v)) v = static_cast<int32_t>(dense(static_cast<uint32_t>(v)));
  for (int32_t& v : step.outputs) {
    if (!grows(v)) continue;
    const auto made = static_cast<uint32_t>(v);
    const PlanState& state = all_.plan.states[static_cast<size_t>(made_.values[made].state)];
    // Elements behind the old value could be appended, but rows written within it would be lost.
    if (state.update != PlanState::Update::append)
      throw Error(Code::build_no_kernel, "build", "a kernel that writes into " + made_.values[made].name,
                  "none that takes its state")
          .at("build", step.node, step.op);
    v = static_cast<int32_t>(add_dense_value(made, ".joined"));
    PlanStep s;
    s.op = "Append";
    s.domain = "lathe";
    s.node = made_.values[made].name;
    s.attributes.set("axis", static_cast<int64_t>(state.axis));
    s.attributes.set("joined", int64_t{1});
    s.inputs = {static_cast<int32_t>(made_.inputs[state.input]), v};
    s.outputs = {static_cast<int32_t>(made)};
    after_.push_back(std::move(s));
  }
}

/// The value itself, or a dense copy of a state that grows.
uint32_t GraphLowering::dense(uint32_t value) {
  if (!grows(static_cast<int32_t>(value))) return value;
  if (const auto at = dense_.find(value); at != dense_.end()) return at->second;
  const uint32_t copy = add_dense_value(value, ".dense");
  PlanStep s;
  s.op = "Contiguous";
  s.domain = "lathe";
  s.node = made_.values[value].name;
  s.attributes.set("axis", static_cast<int64_t>(all_.plan.grows_along(made_.values[value])));
  s.inputs = {static_cast<int32_t>(value)};
  s.outputs = {static_cast<int32_t>(copy)};
  choose_as_it_is(s, false);
  made_.steps.push_back(std::move(s));
  return dense_[value] = copy;
}

uint32_t GraphLowering::add_dense_value(uint32_t state, std::string_view suffix) {
  PlanValue v = made_.values[state];
  v.name += suffix;
  v.role = ValueRole::computed;
  v.state = -1;
  made_.values.push_back(std::move(v));
  return static_cast<uint32_t>(made_.values.size() - 1);
}

/// Returns which state a value of the main graph is, or -1.
int32_t GraphLowering::state_of(ValueId v, ValueRole role, MemorySpace space) const {
  if (graph_.parent() || space != host_memory) return -1;
  for (size_t i = 0; i < all_.plan.states.size(); ++i) {
    const PlanState& s = all_.plan.states[i];
    const bool is_old = role == ValueRole::input && graph_.inputs()[s.input] == v,
               is_new = role == ValueRole::computed && graph_.outputs()[s.output] == v;
    if (is_old || is_new) return static_cast<int32_t>(i);
  }
  return -1;
}

Choice GraphLowering::choose_as_it_is(PlanStep& step, bool by_reference) const {
  const StepQuery query(all_.plan, made_, step);
  Preference preference = all_.preference;
  if (by_reference) preference.backends = {"reference"};
  Choice choice =
      select_kernel(all_.kernels, preference, step.domain, step.op, step.attributes, query.kernel_query());
  step.kernel = choice.kernel->name;
  step.refusals = std::move(choice.refusals);
  return choice;
}

PlanStep GraphLowering::describe(const Region& r) {
  const Node& last = graph_.node(r.nodes.back());
  PlanStep s;
  const auto operands = [&] {
    std::vector<int32_t> list;
    const auto here = [&](ValueId v) {
      return dense(all_.target->in_host_memory ? value_in(v, host_memory) : value_anywhere(v));
    };
    for (ValueId v : r.operands) list.push_back(static_cast<int32_t>(here(v)));
    return list;
  };
  if (r.anchor != no_id) {
    if (all_.target->in_host_memory)
      for (ValueId v : graph_.node(r.anchor).inputs)
        if (v != no_id) value_in(v, host_memory);
    s = describe(graph_.node(r.anchor), last.outputs);
    s.epilogue = {r.program, operands()};
  } else {
    s.op = "Pointwise";
    s.domain = "lathe";
    s.node = last.name;
    s.attributes = attributes_of(r.program);
    s.inputs = operands();
    s.outputs = {static_cast<int32_t>(add_value(last.outputs[0], ValueRole::computed, host_memory))};
  }
  for (NodeId id : r.nodes) {
    const Node& n = graph_.node(id);
    s.fused.push_back(n.op);
    if (!n.origin.empty())
      s.origin.insert(s.origin.end(), n.origin.begin(), n.origin.end());
    else if (!n.name.empty())
      s.origin.push_back(n.name);
  }
  s.unfused = reasons(r.nodes.back(), r.anchor);
  if (const auto refused = refused_.find(r.nodes.back()); refused != refused_.end())
    s.unfused.push_back(refused->second);
  return s;
}

/// The step as kernels are queried for it. The memory spaces of its operands follow from the kernel.
PlanStep GraphLowering::describe(const Node& n, const std::vector<ValueId>& outputs) {
  PlanStep s;
  s.op = n.op;
  s.domain = n.domain;
  s.node = n.name;
  s.origin = n.origin;
  if (s.origin.empty() && !n.name.empty()) s.origin.push_back(n.name);
  s.attributes = n.attributes;
  for (ValueId v : n.inputs) s.inputs.push_back(v == no_id ? -1 : static_cast<int32_t>(value_anywhere(v)));
  if (const auto means = row_means_for(n)) s.inputs = {static_cast<int32_t>(*means)};
  for (ValueId v : outputs)
    s.outputs.push_back(v == no_id ? -1
                                   : static_cast<int32_t>(add_value(v, ValueRole::computed, host_memory)));
  return s;
}

void GraphLowering::add_bodies(const Node& n, PlanStep& step) {
  for (const Body& b : n.bodies) {
    std::vector<std::pair<ValueId, uint32_t>> captures;
    PlanBody body{b.name, all_.graph(*b.graph, captures), {}};
    for (auto [outer, inner] : captures) body.captures.emplace_back(dense_in(outer, host_memory), inner);
    step.bodies.push_back(std::move(body));
  }
}

void GraphLowering::place_outputs(const std::vector<ValueId>& outputs, MemorySpace space,
                                  const PlanStep& step) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i] == no_id || space == host_memory) continue;
    const auto index = static_cast<uint32_t>(step.outputs[i]);
    made_.values[index].memory = space;
    made_.values[index].state = -1;
    index_.erase({outputs[i], host_memory});
    index_[{outputs[i], space}] = index;
  }
}

/// The output of a kernel that changes nothing has the memory of its input.
void GraphLowering::share_memory(const Node& n, const Kernel& kernel, const PlanStep& step) {
  const auto source = static_cast<size_t>(kernel.alias);
  if (kernel.alias >= 0 && source < step.inputs.size() && step.inputs[source] >= 0 && !n.outputs.empty() &&
      n.outputs[0] != no_id && !graph_.is_output(n.outputs[0]))
    made_.values[static_cast<size_t>(step.outputs[0])].alias_of = step.inputs[source];
}

uint32_t GraphLowering::add_value(ValueId v, ValueRole role, MemorySpace space) {
  const ValueInfo& info = graph_.value(v);
  PlanValue p;
  p.name = info.name;
  p.type = plan_type(info.type);
  p.role = role;
  p.memory = space;
  p.state = state_of(v, role, space);
  if (info.constant && role != ValueRole::captured)
    p.weight = static_cast<int32_t>(all_.weights.add(info.constant, info.name, source_of(graph_, v)));
  const auto index = static_cast<uint32_t>(made_.values.size());
  made_.values.push_back(std::move(p));
  index_[{v, space}] = index;
  return index;
}

uint32_t GraphLowering::value_anywhere(ValueId v) {
  for (size_t space = 0; space <= all_.plan.backends.size(); ++space)
    if (const auto at = index_.find({v, static_cast<MemorySpace>(space)}); at != index_.end())
      return at->second;
  if (is_constant(v)) return add_value(v, ValueRole::constant, host_memory);
  throw Error(Code::graph_undefined_value, "build", "a value that is made before it is read",
              graph_.value(v).name);
}

uint32_t GraphLowering::value_in(ValueId v, MemorySpace space) {
  if (const auto known = index_.find({v, space}); known != index_.end()) return known->second;
  if (is_constant(v)) return add_value(v, ValueRole::constant, space);
  uint32_t from = value_anywhere(v);
  // Devices cannot copy to one another, only through the host.
  if (space != host_memory && made_.values[from].memory != host_memory) from = value_in(v, host_memory);
  from = dense(from);
  const uint32_t to = add_value(v, ValueRole::computed, space);
  PlanStep copy;
  copy.op = "Copy";
  copy.node = graph_.value(v).name;
  copy.inputs = {static_cast<int32_t>(from)};
  copy.outputs = {static_cast<int32_t>(to)};
  made_.steps.push_back(std::move(copy));
  return to;
}

/// Returns the inputs and axes that the sizes of the symbols are read from.
std::vector<Plan::Symbol> symbols_of(const PlanGraph& main) {
  std::vector<Plan::Symbol> list;
  for (uint32_t i = 0; i < main.inputs.size(); ++i) {
    const PlanType& type = main.values[main.inputs[i]].type;
    if (!type.shape) continue;
    for (uint32_t axis = 0; axis < type.shape->size(); ++axis) {
      const Dim& d = (*type.shape)[axis];
      const auto name = d.symbol_name();
      if (name && !d.has_unknown() &&
          std::ranges::none_of(list, [&](const auto& s) { return s.name == *name; }))
        list.push_back({*name, i, axis});
    }
  }
  return list;
}

}  // namespace

std::string onnx_text(const ValueType& t) {
  switch (t.kind) {
    case ValueType::Kind::none:
      return "unknown";
    case ValueType::Kind::tensor:
      return "tensor(" + std::string(onnx_name_of(t.elem)) + ")";
    case ValueType::Kind::sparse:
      return "sparse_tensor(" + std::string(onnx_name_of(t.elem)) + ")";
    case ValueType::Kind::sequence:
      return "seq(" + (t.inner ? onnx_text(*t.inner) : "unknown") + ")";
    case ValueType::Kind::optional:
      return "optional(" + (t.inner ? onnx_text(*t.inner) : "unknown") + ")";
    case ValueType::Kind::map:
      return "map(" + std::string(onnx_name_of(t.elem)) + "," + (t.inner ? onnx_text(*t.inner) : "unknown") +
             ")";
  }
  return "unknown";
}

Plan lower(const Graph& graph, const Folds& folds, const TappedValues& taps, const KernelCatalog& kernels,
           const Preference& preference, const Target* target, RunControl* control, Packing& packing,
           const Search& search, std::vector<PlanState> states) {
  Plan plan;
  plan.states = std::move(states);
  plan.target = {.device = preference.backends.front(), .isa = preference.isa};
  plan.built_for = preference.isa;
  plan.refit = preference.refit;
  plan.strict = preference.strict;
  plan.likely = preference.likely;
  Lowering lowering(plan, folds, taps, kernels, preference, target, control, packing, search);
  std::vector<std::pair<ValueId, uint32_t>> captures;
  lowering.graph(graph, captures);
  settle_states(plan);
  plan.symbols = symbols_of(plan.graphs[0]);
  plan.metadata = graph.metadata;
  plan.producer = graph.producer_name;
  plan.description = graph.doc;
  return plan;
}

}  // namespace lathe
