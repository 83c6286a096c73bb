#include "compiler/blocked_layout.h"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>
#include <set>

#include "compiler/blocked_movements.h"
#include "compiler/measured_layout.h"
#include "compiler/node_query.h"
#include "compiler/window_attributes.h"
#include "cpu/nchw16c.h"
#include "cpu/support.h"
#include "tensor/channel_groups.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

class BlockedLayout {
 public:
  BlockedLayout(Graph& g, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), kernels_(kernels), preference_(preference), order_(g.order()) {}

  void run(Tuner* tuner) {
    for (NodeId n : order_)
      if (can_be_blocked(n)) chosen_[n] = new_group(n);
    drop_what_grows_at_the_end();
    if (chosen_.empty()) return;
    if (!tuner || !drop_what_was_measured_slow(*tuner)) drop_what_does_not_pay();
    convert_chosen();
  }

 private:
  // What can be blocked.

  bool can_be_blocked(NodeId id) const {
    const Node& n = graph_.node(id);
    if (!n.domain.empty() || !n.bodies.empty() || n.outputs.empty() || n.outputs[0] == no_id ||
        !channels(n.outputs[0]))
      return false;
    if (n.op == "Conv") return is_conv(n);
    if (n.inputs.empty() || n.inputs[0] == no_id) return false;
    if (n.op == "MaxPool" || n.op == "AveragePool") return is_pool(n);
    if (n.op == "GlobalAveragePool") return is_chosen(n.inputs[0]);
    if (is_norm(n)) return is_chosen(n.inputs[0]) && sums_floats(n);
    if (n.op == "Concat") return is_concat(n);
    if (n.op == "DepthToSpace") return is_depth_to_space(n);
    if (n.op == "Resize") return is_chosen(n.inputs[0]) && resizes_pixels(graph_, n);
    if (n.op == "Split") return is_chosen(n.inputs[0]) && splits_blocks(graph_, n);
    return is_pointwise(n);
  }

  /// Of a float32 image [N, C, H, W] or [N, C, W] with a known number of channels.
  std::optional<int64_t> channels(ValueId v) const {
    const ValueType& t = graph_.value(v).type;
    if (t.kind != ValueType::Kind::tensor || t.elem != DataType::float32 || !t.shape || t.shape->size() < 3 ||
        t.shape->size() > 4)
      return std::nullopt;
    return (*t.shape)[1].value();
  }
  size_t rank(ValueId v) const { return graph_.value(v).type.shape->size(); }

  bool is_conv(const Node& n) const {
    const auto c = channels(n.inputs[0]);
    const Tensor* w = graph_.constant_tensor(n.inputs[1]);
    if (!c || !w || !are_weights(*w) || w->rank() != rank(n.inputs[0]) || !explicit_pads(n)) return false;
    const int64_t group = n.attributes.get<int64_t>("group", 1), m = w->dim(0);
    // Filters that fill less than half of a block would waste more than blocks gain.
    if (m < cpu::channel_block / 2) return false;
    if (group > 1 && group == *c) return m == *c;
    return weight_sets(*c, m, group, cpu::channel_block) > 0;
  }

  /// Convolutions widen weights of 16 bits themselves.
  static bool are_weights(const Tensor& t) {
    return t.type() == DataType::float32 || t.type() == DataType::float16 || t.type() == DataType::bfloat16;
  }

  bool is_pool(const Node& n) const {
    const bool indices = n.outputs.size() > 1 && n.outputs[1] != no_id;
    return !indices && explicit_pads(n) && is_chosen(n.inputs[0]);
  }

  static bool is_norm(const Node& n) {
    return n.op == "InstanceNormalization" || n.op == "GroupNormalization";
  }
  /// Are statistics taken in float32, as elements are, and of any?
  bool sums_floats(const Node& n) const {
    constexpr auto as_elements = static_cast<int64_t>(DataType::float32);
    return n.attributes.get<int64_t>("stash_type", as_elements) == as_elements && *channels(n.inputs[0]) > 0;
  }

  /// Blocks side by side: only the last input may end with one that is not full.
  bool is_concat(const Node& n) const {
    if (n.attributes.get<int64_t>("axis", 0) != 1) return false;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const auto c = channels(n.inputs[i]);
      if (!c || !is_chosen(n.inputs[i]) || (i + 1 < n.inputs.size() && *c % cpu::channel_block != 0))
        return false;
    }
    return true;
  }

  /// Of whole blocks for each pixel.
  bool is_depth_to_space(const Node& n) const {
    return is_chosen(n.inputs[0]) && n.attributes.get<std::string>("mode", "DCR") == "DCR" &&
           *channels(n.outputs[0]) % cpu::channel_block == 0;
  }

  bool is_pointwise(const Node& n) const {
    const auto* describe = kernels_.pointwise_of(n.domain, n.op);
    if (!describe || n.outputs.size() != 1) return false;
    const NodeQuery query(graph_, n, preference_.isa, !preference_.refit);
    if (cpu::refuse_unless_float32(query.kernel_query())) return false;
    const auto op = kernels_.codec_of(n.domain, n.op)->decode(n.attributes);
    if (!(*describe)(op.get(), query.kernel_query())) return false;
    const ValueId y = n.outputs[0];
    bool any = false;
    for (ValueId v : n.inputs) {
      if (v == no_id) continue;
      any |= is_chosen(v);
      const bool like_y = channels(v) == channels(y) && rank(v) == rank(y);
      if (!is_single(v, rank(y)) && !like_y && !is_per_channel(v, y)) return false;
    }
    return any;
  }

  bool is_single(ValueId v, size_t max_axes) const {
    const auto& shape = graph_.value(v).type.shape;
    return shape && shape->size() <= max_axes &&
           std::ranges::all_of(*shape, [](const Dim& d) { return d == Dim(1); });
  }
  /// A constant [C, 1, 1] or [C, 1] for an image like `y`.
  bool is_per_channel(ValueId v, ValueId y) const {
    const Tensor* t = graph_.constant_tensor(v);
    Shape wanted(rank(y) - 1, 1);
    wanted[0] = *channels(y);
    return t && t->type() == DataType::float32 && t->shape() == wanted;
  }

  bool is_chosen(ValueId v) const {
    const NodeId p = graph_.value(v).producer;
    return p != no_id && chosen_.contains(p);
  }

  /// An image that no convolution reads any more had better leave its blocks before it is resized, with
  /// whatever follows.
  void drop_what_grows_at_the_end() {
    const std::vector<std::vector<Use>> uses = graph_.uses();
    const auto any_reader = [&](const Node& n, const std::set<NodeId>& of) {
      return std::ranges::any_of(n.outputs, [&](ValueId v) {
        return v != no_id && std::ranges::any_of(uses[v], [&](const Use& u) { return of.contains(u.node); });
      });
    };
    std::set<NodeId> lead_on, dropped;
    for (NodeId id : order_ | std::views::reverse)
      if (chosen_.contains(id) && (graph_.node(id).op == "Conv" || any_reader(graph_.node(id), lead_on)))
        lead_on.insert(id);
    for (NodeId id : order_) {
      if (!chosen_.contains(id) || lead_on.contains(id)) continue;
      const Node& n = graph_.node(id);
      const bool follows = std::ranges::any_of(
          n.inputs, [&](ValueId v) { return v != no_id && dropped.contains(graph_.value(v).producer); });
      if (n.op == "Resize" || follows) dropped.insert(id);
    }
    for (NodeId id : dropped) chosen_.erase(id);
  }

  // What pays: groups of nodes that hand blocks to one another.

  size_t new_group(NodeId n) {
    const size_t own = parent_.size();
    parent_.push_back(own);
    const Node& node = graph_.node(n);
    worth_.push_back(worth(node));
    for (ValueId v : node.inputs)
      if (v != no_id && is_chosen(v)) join(chosen_.at(graph_.value(v).producer), own);
    return own;
  }
  size_t root(size_t i) const {
    while (parent_[i] != i) i = parent_[i];
    return i;
  }
  void join(size_t a, size_t b) {
    a = root(a), b = root(b);
    if (a == b) return;
    parent_[b] = a;
    worth_[a] += worth_[b];
  }
  /// Of one pixel a row: blocked convolutions take neighbors in a row together.
  bool is_column(ValueId v) const {
    const SymShape& s = *graph_.value(v).type.shape;
    return s.size() == 4 && s[3].value() == 1 && s[2].value() != 1;
  }
  /// Changing the layout back and forth costs about as much as one convolution without reach gains.
  int64_t worth(const Node& n) const {
    if (n.op != "Conv" || is_column(n.inputs[0])) return 0;
    const Tensor& w = *graph_.constant_tensor(n.inputs[1]);
    return w.size() > w.dim(0) * w.dim(1) ? 2 : 1;
  }
  void drop_what_does_not_pay() {
    std::erase_if(chosen_, [&](const auto& c) { return worth_[root(c.second)] < 2; });
  }

  /// False where times are missing.
  bool drop_what_was_measured_slow(Tuner& tuner) {
    const std::unique_ptr<Graph> copy = graph_.clone();
    BlockedLayout all(*copy, kernels_, preference_);
    all.chosen_ = chosen_;
    all.convert_chosen();
    const auto pays = worth_blocking({graph_, *copy, all.converted_}, kernels_, preference_, tuner);
    if (!pays) return false;
    std::erase_if(chosen_, [&](const auto& c) { return !pays->contains(c.first); });
    return true;
  }

  // The new nodes.

  void convert_chosen() {
    for (NodeId n : order_)
      if (chosen_.contains(n)) convert(n);
  }

  void convert(NodeId id) {
    const Node old = graph_.node(id);
    const ValueId v = old.outputs[0];
    Node n;
    n.name = old.name;
    n.origin = old.origin;
    n.op = old.op;
    n.attributes = old.attributes;
    if (old.op == "Conv")
      describe_conv(old, n);
    else if (is_norm(old))
      describe_norm(old, n);
    else if (old.op == "Resize" || old.op == "Split")
      describe_movement(old, n);
    else
      for (ValueId in : old.inputs)
        n.inputs.push_back(in == no_id || is_single(in, rank(v)) ? in : blocked(in, rank(v)));
    const bool windows = old.op == "MaxPool" || old.op == "AveragePool";
    if (windows || old.op == "GlobalAveragePool" || old.op == "DepthToSpace") {
      n.domain = "lathe";
      n.op = "Blocked" + old.op;
      if (old.op == "DepthToSpace") n.attributes.erase("mode");  // the one that has blocks
      if (windows) make_explicit(n, n.attributes.get<Ints>("kernel_shape", {}).size());
    }
    std::vector<ValueId> made{v};
    if (old.op == "Split") made = old.outputs;
    for (ValueId one : made) n.outputs.push_back(add_blocked_value(one));
    graph_.remove_node(id);
    converted_[id] = graph_.add_node(std::move(n));
    for (ValueId one : made) {
      Attributes all;
      all.set("channels", *channels(one));
      add("lathe", "Unblock", {form_.at(one)}, one, std::move(all));
    }
  }

  void describe_movement(const Node& old, Node& n) {
    n.attributes = {};
    old.op == "Resize" ? describe_resize(graph_, old, n) : describe_split(graph_, old, n);
    n.inputs.set(0, blocked(old.inputs[0], rank(old.inputs[0])));
  }

  void describe_norm(const Node& old, Node& n) {
    const int64_t c = *channels(old.inputs[0]);
    n.domain = "lathe";
    n.op = "BlockedGroupNormalization";
    n.inputs = {blocked(old.inputs[0], rank(old.inputs[0])), old.inputs[1], old.inputs[2]};
    n.attributes.erase("stash_type");
    if (old.op == "InstanceNormalization") n.attributes.set("num_groups", c);
    n.attributes.set("channels", c);
  }

  void describe_conv(const Node& old, Node& n) {
    const int64_t c = *channels(old.inputs[0]);
    const bool nchw = !form_.contains(old.inputs[0]) && c < cpu::channel_block &&
                      old.attributes.get<int64_t>("group", 1) == 1;
    n.domain = "lathe";
    n.op = "BlockedConv";
    n.inputs = old.inputs;
    if (!nchw) n.inputs.set(0, blocked(old.inputs[0], rank(old.inputs[0])));
    n.attributes.erase("kernel_shape");
    make_explicit(n, rank(old.inputs[0]) - 2);
    n.attributes.set("channels", c);
    n.attributes.set("nchw_input", int64_t{nchw});
  }

  /// The blocked form of a value, for images with so many axes; made where there is none.
  ValueId blocked(ValueId v, size_t axes_of_image) {
    if (const auto at = form_.find(v); at != form_.end()) return at->second;
    ValueId from = v;
    if (rank(v) < axes_of_image) {  // an element for each channel
      ValueType type = graph_.value(v).type;
      type.shape->insert(type.shape->begin(), Dim(1));
      from = graph_.add_value(graph_.fresh_name(graph_.value(v).name), std::move(type));
      const ValueId axes =
          graph_.add_constant(graph_.fresh_name("axes"), Tensor::from<int64_t>({1}, Ints{0}));
      add("", "Unsqueeze", {v, axes}, from);
    }
    const ValueId made = add_blocked_value(from);
    add("lathe", "Block", {from}, made);
    return form_[v] = made;
  }

  ValueId add_blocked_value(ValueId v) {
    ValueType type = graph_.value(v).type;
    SymShape& s = *type.shape;
    s[1] = Dim((*s[1].value() + cpu::channel_block - 1) / cpu::channel_block);
    s.push_back(Dim(cpu::channel_block));
    const ValueId made =
        graph_.add_value(graph_.fresh_name(graph_.value(v).name + ".blocked"), std::move(type));
    graph_.value(made).written = graph_.value(v).written;
    form_[v] = made;
    return made;
  }

  void add(std::string domain, std::string op, std::vector<ValueId> inputs, ValueId output,
           Attributes attributes = {}) {
    Node n;
    n.domain = std::move(domain);
    n.op = std::move(op);
    n.inputs = std::move(inputs);
    n.outputs = {output};
    n.attributes = std::move(attributes);
    graph_.add_node(std::move(n));
  }

  Graph& graph_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  std::vector<NodeId> order_;
  std::map<NodeId, size_t> chosen_;  // and the group of each
  std::vector<size_t> parent_;       // of groups
  std::vector<int64_t> worth_;
  std::map<ValueId, ValueId> form_;
  std::map<NodeId, NodeId> converted_;
};

}  // namespace

void use_blocked_layout(Graph& graph, const KernelCatalog& kernels, const Preference& preference,
                        Tuner* tuner) {
  BlockedLayout(graph, kernels, preference).run(tuner);
}

}  // namespace lathe
