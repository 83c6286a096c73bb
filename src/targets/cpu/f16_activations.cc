#include "targets/cpu/f16_activations.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/makers.h"
#include "compiler/node_query.h"
#include "compiler/regions.h"
#include "passes/patterns.h"
#include "targets/cpu/cpu.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

/// Images with fewer bytes as float32 are not worth the widening.
constexpr int64_t min_bytes = int64_t{1} << 19;
/// The share of the memory of a float32 model that a 16-bit model should take.
constexpr double share = 0.55;
/// The bytes that strips take if images take `images` bytes together.
double strips_of(double images) { return std::min(2.0 * (1 << 20), images / 8); }

bool is_one_of(const Node& n, std::string_view domain, std::initializer_list<std::string_view> ops) {
  return n.domain == domain && std::ranges::find(ops, n.op) != ops.end();
}
/// Returns whether the node moves elements, whatever they are.
bool only_moves(const Node& n) {
  return keeps_order(n) || is_one_of(n, "", {"Concat", "Split", "Slice", "Transpose"}) ||
         is_one_of(n, "lathe", {"BlockedDepthToSpace", "Unblock"});
}
/// The inputs that are moved: one, or all of a Concat.
std::span<const ValueId> moved(const Node& n) {
  return std::span(n.inputs).first(n.op == "Concat" ? n.inputs.size() : 1);
}
class F16Activations {
 public:
  F16Activations(Graph& g, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g),
        kernels_(kernels),
        preference_(preference),
        main_(makers_of(g, outputs_of(g), [](const Node&) { return false; })) {}

  void run() {
    const bool any = std::ranges::any_of(main_, [&](NodeId id) {
      return !graph_.node(id).outputs.empty() && written(graph_.node(id).outputs[0]);
    });
    if (!any) return;
    find_images();
    join_groups();
    choose();
    if (!chosen_.empty()) change();
  }

 private:
  struct Image {
    ValueId value;
    NodeId maker;               // the node whose kernel makes it
    size_t made = 0, last = 0;  // positions of the node that makes it, and of the last one that reads it
    double bytes = 0;           // as float32
    bool can_be_f16 = false;
    std::span<const NodeId> readers = {};
  };

  bool written(ValueId v) const { return v != no_id && graph_.value(v).written != DataType::undefined; }

  // Finding images and the nodes that can work with f16.

  /// Finds the values that are in memory, and for how long: results of regions, and of nodes that are in
  /// none. Inputs of a Concat are subviews of its output, and a Reshape shares the memory of its input.
  void find_images() {
    const Regions regions(graph_, main_, kernels_, preference_, cpu_target());
    std::map<NodeId, size_t> position;
    for (size_t i = 0; i < main_.size(); ++i) position[main_[i]] = i;
    for (NodeId id : main_) each_read(graph_.node(id), [&](ValueId v) { readers_[v].push_back(id); });
    for (size_t i = 0; i < main_.size(); ++i) {
      if (regions.is_fused(main_[i])) continue;
      for (ValueId v : graph_.node(main_[i]).outputs) {
        if (v == no_id) continue;
        const Region* region = regions.ending_at(main_[i]);
        const NodeId maker = region && region->anchor != no_id ? region->anchor : main_[i];
        Image image{v, maker, i, i, bytes(v)};
        image.readers = readers_[v];
        for (NodeId r : image.readers) image.last = std::max(image.last, position.at(regions.last_of(r)));
        image.can_be_f16 = can_be_f16(image);
        index_[v] = images_.size();
        images_.push_back(std::move(image));
      }
    }
    for (size_t i = images_.size(); i-- > 0;) {
      const Node& n = graph_.node(graph_.value(images_[i].value).producer);
      if (n.op != "Concat" && !keeps_order(n)) continue;
      for (ValueId part : moved(n))
        if (const auto at = index_.find(part); at != index_.end())
          images_[at->second].last = std::max(images_[at->second].last, images_[i].last);
      images_[i].bytes = 0;
    }
  }

  double bytes(ValueId v) const {
    const ValueType& t = graph_.value(v).type;
    if (t.kind != ValueType::Kind::tensor || !t.shape) return 0;
    double n = bits_of(t.elem) / 8.0;
    for (const Dim& d : *t.shape) n *= static_cast<double>(d.evaluate(preference_.likely).value_or(0));
    return n;
  }

  bool can_be_f16(const Image& image) const {
    const ValueInfo& v = graph_.value(image.value);
    return written(image.value) && v.type.elem == DataType::float32 && v.type.shape &&
           !graph_.is_output(image.value) && may_make(graph_.node(image.maker)) &&
           std::ranges::all_of(image.readers, [&](NodeId id) { return may_read(id, image); });
  }
  bool makes_f16(const Node& n) const { return any_kernel(kernels_, "cpu", n, &Kernel::writes_f16); }
  /// Kernels that write f16 activations read them too. A fused pair of convolutions does not: each of its
  /// panels would widen the same pixels.
  bool takes_f16(const Node& n) const {
    return makes_f16(n) && !is_one_of(n, "lathe", {"BlockedConvDepthwise"});
  }
  /// Returns whether kernels widen this input themselves.
  bool widens(const Node& n, size_t input) const {
    return takes_f16(n) ? input == 0 : is_one_of(n, "", {"NonMaxSuppression"}) && input < 2;
  }
  bool may_make(const Node& n) const { return only_moves(n) || makes_f16(n) || is_program(n); }
  /// Returns whether the node can read the image without a float32 copy of it if it is large.
  bool may_read(NodeId id, const Image& image) const {
    const Node& n = graph_.node(id);
    if (!n.bodies.empty()) return false;
    if (only_moves(n) || image.bytes < min_bytes) return true;
    // A Cast of an image of another shape could not be fused into the reader.
    const auto shape = [&](ValueId v) { return graph_.value(v).type.shape; };
    if (is_program(n)) return shape(n.outputs[0]) == shape(image.value);
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (n.inputs[i] == image.value && !widens(n, i)) return false;
    return true;
  }
  bool is_program(const Node& n) const {
    const auto program = program_of(graph_, n, kernels_, preference_);
    return program && program->is_of_floats();
  }

  // Choosing the images that are worth it.

  /// Inputs and outputs of nodes that only move elements form groups: all of them are f16, or none is.
  void join_groups() {
    for (size_t i = 0; i < images_.size(); ++i) group_.push_back(i);
    for (NodeId id : main_) {
      const Node& n = graph_.node(id);
      if (!only_moves(n) || !index_.contains(n.outputs[0])) continue;
      const size_t whole = index_.at(n.outputs[0]);
      const auto join = [&](ValueId v) {
        if (const auto at = index_.find(v); at != index_.end())
          group_[root(at->second)] = root(whole);
        else
          images_[whole].can_be_f16 = false;
      };
      std::ranges::for_each(moved(n), join);
      std::ranges::for_each(n.outputs, join);
    }
    for (size_t i = 0; i < images_.size(); ++i)
      if (!images_[i].can_be_f16) images_[root(i)].can_be_f16 = false;
  }
  size_t root(size_t i) const {
    while (group_[i] != i) i = group_[i];
    return i;
  }

  void choose() {
    std::vector<double> alive(main_.size());
    for (const Image& image : images_)
      for (size_t i = image.made + (in_place(image) ? 1 : 0); i <= image.last; ++i) alive[i] += image.bytes;
    const double most = *std::ranges::max_element(alive);
    const Weights constants = weights();
    const double rest = share * (constants.as_float32 + most) - constants.as_is;
    if (most <= rest) return;
    const double left = shrink(alive, std::max(0.0, rest - strips_of(most)));
    if (most - left < min_bytes / 2) chosen_.clear();  // not worth it
  }
  /// Returns whether the image overwrites an input that its maker is the last to read.
  bool in_place(const Image& image) const {
    const Node& n = graph_.node(image.maker);
    if (!any_kernel(kernels_, "cpu", n, &Kernel::overwrites)) return false;
    return std::ranges::any_of(n.inputs, [&](ValueId v) {
      const auto at = index_.find(v);
      return at != index_.end() && images_[at->second].last == image.made &&
             images_[at->second].bytes == image.bytes;
    });
  }
  /// While the most memory that any moment needs exceeds `allowed`, takes the largest image that is alive
  /// then. Returns the most memory that is needed after that.
  double shrink(std::vector<double>& alive, double allowed) {
    double hopeless = 0;
    for (;;) {
      const auto most = std::ranges::max_element(alive);
      if (*most <= allowed) return std::max(*most, hopeless);
      const auto moment = static_cast<size_t>(most - alive.begin());
      const auto rank = [&](const Image& image) {
        const size_t i = static_cast<size_t>(&image - images_.data());
        const bool would_do = image.bytes >= min_bytes && images_[root(i)].can_be_f16 &&
                              !taken_.contains(root(i)) && image.made <= moment && moment <= image.last;
        return would_do ? image.bytes : 0;
      };
      const auto largest = std::ranges::max_element(images_, {}, rank);
      if (rank(*largest) == 0) {
        hopeless = std::max(hopeless, std::exchange(*most, 0));
        continue;
      }
      take(root(static_cast<size_t>(largest - images_.begin())), alive);
    }
  }
  void take(size_t group, std::vector<double>& alive) {
    taken_.insert(group);
    for (size_t i = 0; i < images_.size(); ++i) {
      const Image& image = images_[i];
      if (root(i) != group) continue;
      chosen_.insert(image.value);
      for (size_t at = image.made; at <= image.last; ++at) alive[at] -= image.bytes / 2;
    }
  }

  /// Bytes of all constants in a plan, which holds them as they are and packed: as float32, and as they are.
  struct Weights {
    double as_float32 = 0, as_is = 0;
  };
  Weights weights() const {
    Weights all;
    std::set<ValueId> seen;
    for (NodeId id : main_) {
      const Node& n = graph_.node(id);
      for (size_t i = 0; i < n.inputs.size(); ++i) {
        const Tensor* t = n.inputs[i] == no_id ? nullptr : graph_.constant_tensor(n.inputs[i]);
        if (!t || !seen.insert(n.inputs[i]).second) continue;
        const double bytes = static_cast<double>(t->size()) * std::max(4.0, bits_of(t->type()) / 8.0);
        all.as_float32 += bytes * (1 + (i == 1 ? points_for_weight(n) : 1));
        all.as_is += 2 * static_cast<double>(t->bytes());
      }
    }
    return all;
  }
  /// The ratio by which packing in float32 enlarges a convolution's weights: transformed weights of
  /// Winograd's algorithm are more numbers.
  double points_for_weight(const Node& n) const {
    if (!is_one_of(n, "lathe", {"BlockedConv"}) || n.attributes.get<int64_t>("group", 1) != 1) return 1;
    const auto s = blocked_shape_of(graph_, n);
    if (!s) return 1;
    const cpu::Filtering f = cpu::fastest_winograd(preference_.isa, *s);
    if (f.output == 0 || cpu::prefers_untransformed(preference_.isa, *s, f)) return 1;
    return static_cast<double>(cpu::winograd_weights_size(*s, f)) /
           static_cast<double>(cpu::untransformed_weights_size(*s));
  }

  // Changing the graph.

  /// Adds all nodes anew, so that they keep their order with new nodes in between.
  void change() {
    const std::set<NodeId> main(main_.begin(), main_.end());
    std::set<NodeId> makers;
    for (const Image& image : images_)
      if (chosen_.contains(image.value)) makers.insert(image.maker);
    for (NodeId id : graph_.order()) {
      Node n = graph_.node(id);
      if (main.contains(id) && !only_moves(n)) read_f16(n);
      if (makers.contains(id) && takes_f16(n)) read_given(n);
      graph_.remove_node(id);
      graph_.add_node(n);
      if (main.contains(id)) make_f16(std::move(n));
    }
  }

  void read_f16(Node& n) {
    std::map<ValueId, ValueId> wide;
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      const ValueId v = n.inputs[i];
      const auto at = f16_.find(v);
      if (at == f16_.end()) continue;
      if (widens(n, i)) {
        n.inputs.set(i, at->second);
        continue;
      }
      // Each reader gets a Cast of its own, which can be fused into it.
      const auto [made, first] = wide.try_emplace(v, no_id);
      if (first) {
        made->second =
            graph_.add_value(graph_.fresh_name(graph_.value(v).name + ".wide"), graph_.value(v).type);
        add_cast(graph_, at->second, made->second);
      }
      n.inputs.set(i, made->second);
    }
  }

  /// If a node that makes an f16 activation reads a Cast of an f16 value of the model, it reads that value
  /// itself.
  void read_given(Node& n) const {
    const ValueId x = n.inputs[0];
    const NodeId p = graph_.value(x).producer;
    const auto readers = readers_.find(x);
    if (p == no_id || !is_one_of(graph_.node(p), "", {"Cast"}) || readers == readers_.end() ||
        readers->second.size() != 1)
      return;
    const ValueId given = graph_.node(p).inputs[0];
    if (cpu::is_f16(graph_.value(given).type.elem)) n.inputs.set(0, given);
  }

  void make_f16(Node n) {
    if (!chosen_.contains(n.outputs[0])) return;
    for (ValueId& v : n.outputs) {
      if (!chosen_.contains(v)) continue;
      ValueType type = graph_.value(v).type;
      type.elem = graph_.value(v).written;
      const ValueId made =
          graph_.add_value(graph_.fresh_name(graph_.value(v).name + ".f16"), std::move(type));
      if (!only_moves(n)) add_cast(graph_, v, made);
      v = f16_[v] = made;
    }
    if (!only_moves(n)) return;
    // The node with float32 stays for taps.
    for (size_t i = 0; i < moved(n).size(); ++i) n.inputs.set(i, f16_.at(n.inputs[i]));
    graph_.add_node(std::move(n));
  }

  Graph& graph_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  const std::vector<NodeId> main_;
  std::map<ValueId, std::vector<NodeId>> readers_;
  std::vector<Image> images_;
  std::map<ValueId, size_t> index_;
  std::vector<size_t> group_;
  std::set<size_t> taken_;  // groups
  std::set<ValueId> chosen_;
  std::map<ValueId, ValueId> f16_;
};

}  // namespace

void use_f16_activations(Graph& graph, const KernelCatalog& kernels, const Preference& preference) {
  F16Activations(graph, kernels, preference).run();
}

}  // namespace lathe
