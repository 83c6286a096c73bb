// The blocked layout while it is built: the chosen nodes, the values in channel blocks, and what its rules
// share. A rule says which nodes of its operator can work on blocks, and describes the nodes that replace
// them; each has a file.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "graph/graph.h"
#include "kernel/select.h"
#include "tune/tuner.h"

namespace lathe {

class BlockedLayout {
 public:
  BlockedLayout(Graph& g, const KernelCatalog& kernel_catalog, const Preference& preferred)
      : graph(g), kernels(kernel_catalog), preference(preferred), order_(g.order()) {}

  /// Chooses the nodes that work on blocks and converts them. `tuner`: decides by measured times; null: by a
  /// rule of thumb.
  void run(Tuner* tuner);

  Graph& graph;
  const KernelCatalog& kernels;
  const Preference& preference;

  // For rules.

  /// The channels of a float32 image [N, C, H, W] or [N, C, W]; nothing if it is no such image or has an
  /// unknown number.
  std::optional<int64_t> channels(ValueId v) const;
  size_t rank(ValueId v) const { return graph.value(v).type.shape->size(); }
  /// True if the value has one element and at most `max_axes` axes.
  bool is_single(ValueId v, size_t max_axes) const;
  /// True if a chosen node makes the value.
  bool is_chosen(ValueId v) const {
    const NodeId p = graph.value(v).producer;
    return p != no_id && chosen_.contains(p);
  }
  bool has_blocks(ValueId v) const { return form_.contains(v); }
  /// Returns the blocked form of a value for images with so many axes, and makes it if there is none.
  ValueId blocked(ValueId v, size_t axes_of_image);

 private:
  bool can_be_blocked(NodeId id) const;
  void drop_what_grows_at_the_end();
  size_t new_group(NodeId n);
  size_t root(size_t i) const;
  void join(size_t a, size_t b);
  int64_t worth(const Node& n) const;
  void drop_what_does_not_pay();
  bool drop_what_was_measured_slow(Tuner& tuner);
  void convert_chosen();
  void convert(NodeId id);
  ValueId add_blocked_value(ValueId v);
  void add(std::string domain, std::string op, std::vector<ValueId> inputs, ValueId output,
           Attributes attributes = {});

  std::vector<NodeId> order_;
  std::map<NodeId, size_t> chosen_;  // nodes, and the group of each
  std::vector<size_t> parent_;       // the parent of each group (union-find)
  std::vector<int64_t> worth_;
  std::map<ValueId, ValueId> form_;
  std::map<NodeId, NodeId> converted_;
};

struct BlockedRule {
  std::string_view op;  // empty: any other
  /// Returns whether the node can work on blocks, where those before it are decided.
  bool (*fits)(const BlockedLayout& l, const Node& n);
  /// Describes the blocked node: `n` has the name, operator and attributes of `old`, and gets inputs.
  void (*describe)(BlockedLayout& l, const Node& old, Node& n);
  bool all_outputs = false;  // several outputs, all in blocks
};

// The functions that rules consist of, by file.

bool fits_conv(const BlockedLayout& l, const Node& n);  // blocked/conv.cc
void describe_blocked_conv(BlockedLayout& l, const Node& old, Node& n);
bool fits_pool(const BlockedLayout& l, const Node& n);  // blocked/pool.cc
void describe_blocked_pool(BlockedLayout& l, const Node& old, Node& n);
void describe_blocked_global_pool(BlockedLayout& l, const Node& old, Node& n);
bool fits_norm(const BlockedLayout& l, const Node& n);  // blocked/norm.cc
void describe_blocked_norm(BlockedLayout& l, const Node& old, Node& n);
bool fits_concat(const BlockedLayout& l, const Node& n);  // blocked/channels.cc
bool fits_depth_to_space(const BlockedLayout& l, const Node& n);
void describe_blocked_depth_to_space(BlockedLayout& l, const Node& old, Node& n);
bool fits_resize(const BlockedLayout& l, const Node& n);  // blocked/movement.cc
bool fits_split(const BlockedLayout& l, const Node& n);
void describe_blocked_movement(BlockedLayout& l, const Node& old, Node& n);
bool fits_pointwise(const BlockedLayout& l, const Node& n);  // blocked/pointwise.cc
/// Returns whether a chosen node makes the first input.
bool fits_reader(const BlockedLayout& l, const Node& n);
/// Describes the same operator, with all inputs but single numbers in blocks.
void describe_alike(BlockedLayout& l, const Node& old, Node& n);

}  // namespace lathe
