#include "targets/cpu/blocked_layout.h"

#include <algorithm>
#include <memory>
#include <ranges>
#include <set>
#include <string_view>

#include "cpu/nchw16c.h"
#include "targets/cpu/blocked/layout.h"
#include "targets/cpu/measured_layout.h"

namespace lathe {
namespace {

constexpr BlockedRule rules_by_operator[] = {
    {"Conv", fits_conv, describe_blocked_conv},
    {"MaxPool", fits_pool, describe_blocked_pool},
    {"AveragePool", fits_pool, describe_blocked_pool},
    {"GlobalAveragePool", fits_reader, describe_blocked_global_pool},
    {"InstanceNormalization", fits_norm, describe_blocked_norm},
    {"GroupNormalization", fits_norm, describe_blocked_norm},
    {"Concat", fits_concat, describe_alike},
    {"DepthToSpace", fits_depth_to_space, describe_blocked_depth_to_space},
    {"Resize", fits_resize, describe_blocked_movement},
    {"Split", fits_split, describe_blocked_movement, true},
    {"", fits_pointwise, describe_alike},
};

const BlockedRule& rule_of(const Node& n) {
  return *std::ranges::find_if(rules_by_operator,
                               [&](const BlockedRule& r) { return r.op == n.op || r.op.empty(); });
}

/// True for images with one pixel in each row: blocked convolutions compute neighbors of a row together.
bool is_column(const Graph& g, ValueId v) {
  const SymShape& s = *g.value(v).type.shape;
  return s.size() == 4 && s[3].value() == 1 && s[2].value() != 1;
}

}  // namespace

void BlockedLayout::run(Tuner* tuner) {
  for (NodeId n : order_)
    if (can_be_blocked(n)) chosen_[n] = new_group(n);
  drop_what_grows_at_the_end();
  if (chosen_.empty()) return;
  if (!tuner || !drop_what_was_measured_slow(*tuner)) drop_what_does_not_pay();
  convert_chosen();
}

bool BlockedLayout::can_be_blocked(NodeId id) const {
  const Node& n = graph.node(id);
  if (!n.domain.empty() || !n.bodies.empty() || n.outputs.empty() || n.outputs[0] == no_id ||
      !channels(n.outputs[0]) || n.inputs.empty() || n.inputs[0] == no_id)
    return false;
  return rule_of(n).fits(*this, n);
}

std::optional<int64_t> BlockedLayout::channels(ValueId v) const {
  const ValueType& t = graph.value(v).type;
  if (t.kind != ValueType::Kind::tensor || t.elem != DataType::float32 || !t.shape || t.shape->size() < 3 ||
      t.shape->size() > 4)
    return std::nullopt;
  return (*t.shape)[1].value();
}

bool BlockedLayout::is_single(ValueId v, size_t max_axes) const {
  const auto& shape = graph.value(v).type.shape;
  return shape && shape->size() <= max_axes &&
         std::ranges::all_of(*shape, [](const Dim& d) { return d == Dim(1); });
}

/// If no convolution follows a Resize, the Resize and the nodes behind it are not blocked: the image leaves
/// its blocks before it is resized.
void BlockedLayout::drop_what_grows_at_the_end() {
  const std::vector<std::vector<Use>> uses = graph.uses();
  const auto any_reader = [&](const Node& n, const std::set<NodeId>& of) {
    return std::ranges::any_of(n.outputs, [&](ValueId v) {
      return v != no_id && std::ranges::any_of(uses[v], [&](const Use& u) { return of.contains(u.node); });
    });
  };
  std::set<NodeId> lead_on, dropped;
  for (NodeId id : order_ | std::views::reverse)
    if (chosen_.contains(id) && (graph.node(id).op == "Conv" || any_reader(graph.node(id), lead_on)))
      lead_on.insert(id);
  for (NodeId id : order_) {
    if (!chosen_.contains(id) || lead_on.contains(id)) continue;
    const Node& n = graph.node(id);
    const bool follows = std::ranges::any_of(
        n.inputs, [&](ValueId v) { return v != no_id && dropped.contains(graph.value(v).producer); });
    if (n.op == "Resize" || follows) dropped.insert(id);
  }
  for (NodeId id : dropped) chosen_.erase(id);
}

// Groups of nodes that hand blocks to one another, and whether they pay.

size_t BlockedLayout::new_group(NodeId n) {
  const size_t own = parent_.size();
  parent_.push_back(own);
  const Node& node = graph.node(n);
  worth_.push_back(worth(node));
  for (ValueId v : node.inputs)
    if (v != no_id && is_chosen(v)) join(chosen_.at(graph.value(v).producer), own);
  return own;
}

size_t BlockedLayout::root(size_t i) const {
  while (parent_[i] != i) i = parent_[i];
  return i;
}

void BlockedLayout::join(size_t a, size_t b) {
  a = root(a), b = root(b);
  if (a == b) return;
  parent_[b] = a;
  worth_[a] += worth_[b];
}

/// Two conversions of the layout cost about as much as one convolution with filters of one pixel gains.
int64_t BlockedLayout::worth(const Node& n) const {
  if (n.op != "Conv" || is_column(graph, n.inputs[0])) return 0;
  const Tensor& w = *graph.constant_tensor(n.inputs[1]);
  return w.size() > w.dim(0) * w.dim(1) ? 2 : 1;
}

void BlockedLayout::drop_what_does_not_pay() {
  std::erase_if(chosen_, [&](const auto& c) { return worth_[root(c.second)] < 2; });
}

/// Returns false if times are missing.
bool BlockedLayout::drop_what_was_measured_slow(Tuner& tuner) {
  const std::unique_ptr<Graph> copy = graph.clone();
  BlockedLayout all(*copy, kernels, preference);
  all.chosen_ = chosen_;
  all.convert_chosen();
  const auto pays = worth_blocking({graph, *copy, all.converted_}, kernels, preference, tuner);
  if (!pays) return false;
  std::erase_if(chosen_, [&](const auto& c) { return !pays->contains(c.first); });
  return true;
}

void BlockedLayout::convert_chosen() {
  for (NodeId n : order_)
    if (chosen_.contains(n)) convert(n);
}

void BlockedLayout::convert(NodeId id) {
  const Node old = graph.node(id);
  const BlockedRule& rule = rule_of(old);
  Node n;
  n.name = old.name;
  n.origin = old.origin;
  n.op = old.op;
  n.attributes = old.attributes;
  rule.describe(*this, old, n);
  const std::vector<ValueId> made = rule.all_outputs ? old.outputs.list() : std::vector{old.outputs[0]};
  for (ValueId one : made) n.outputs.push_back(add_blocked_value(one));
  graph.remove_node(id);
  converted_[id] = graph.add_node(std::move(n));
  for (ValueId one : made) {
    Attributes all;
    all.set("channels", *channels(one));
    add("lathe", "Unblock", {form_.at(one)}, one, std::move(all));
  }
}

ValueId BlockedLayout::blocked(ValueId v, size_t axes_of_image) {
  if (const auto at = form_.find(v); at != form_.end()) return at->second;
  ValueId from = v;
  if (rank(v) < axes_of_image) {  // an element for each channel
    ValueType type = graph.value(v).type;
    type.shape->insert(type.shape->begin(), Dim(1));
    from = graph.add_value(graph.fresh_name(graph.value(v).name), std::move(type));
    const ValueId axes =
        graph.add_constant(graph.fresh_name("axes"), Tensor::from<int64_t>({1}, std::vector<int64_t>{0}));
    add("", "Unsqueeze", {v, axes}, from);
  }
  const ValueId made = add_blocked_value(from);
  add("lathe", "Block", {from}, made);
  return form_[v] = made;
}

ValueId BlockedLayout::add_blocked_value(ValueId v) {
  ValueType type = graph.value(v).type;
  SymShape& s = *type.shape;
  s[1] = Dim((*s[1].value() + cpu::channel_block - 1) / cpu::channel_block);
  s.push_back(Dim(cpu::channel_block));
  const ValueId made = graph.add_value(graph.fresh_name(graph.value(v).name + ".blocked"), std::move(type));
  graph.value(made).written = graph.value(v).written;
  form_[v] = made;
  return made;
}

void BlockedLayout::add(std::string domain, std::string op, std::vector<ValueId> inputs, ValueId output,
                        Attributes attributes) {
  Node n;
  n.domain = std::move(domain);
  n.op = std::move(op);
  n.inputs = std::move(inputs);
  n.outputs = {output};
  n.attributes = std::move(attributes);
  graph.add_node(std::move(n));
}

void use_blocked_layout(Graph& graph, const KernelCatalog& kernels, const Preference& preference,
                        Tuner* tuner) {
  BlockedLayout(graph, kernels, preference).run(tuner);
}

}  // namespace lathe
