// Makes steps of elementwise regions: as the target runs them, and apart where it does not.
#include <algorithm>

#include "compiler/graph_lowering.h"
#include "compiler/node_query.h"
#include "graph/traverse.h"

namespace lathe {
namespace {

/// Returns the attributes of the operator Pointwise.
Attributes attributes_of(const Pointwise& program) {
  Attributes a;
  a.set("code", program.integers());
  a.set("constants", program.constants());
  return a;
}

}  // namespace

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

/// Returns why edges into a step were not fused, and why a region that ends there is no step of the target;
/// `reader` is the node that reads the edges. If it reads row means, these are named instead.
std::vector<std::string> GraphLowering::reasons(NodeId last, NodeId reader) const {
  std::vector<std::string> reasons = regions_.reasons(last);
  if (const auto means = reader == no_id ? std::nullopt : row_means_for(graph_.node(reader))) {
    const std::string edge = " (" + graph_.value(graph_.node(reader).inputs[0]).name + "): ";
    for (std::string& why : reasons)
      if (const size_t at = why.find(edge); at != std::string::npos)
        why = why.substr(0, at) + " (" + made_.values[*means].name + "): the mean is that of all rows";
  }
  if (const auto refused = refused_.find(last); refused != refused_.end()) reasons.push_back(refused->second);
  return reasons;
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
  return s;
}

}  // namespace lathe
