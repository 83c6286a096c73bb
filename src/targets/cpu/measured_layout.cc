#include "targets/cpu/measured_layout.h"

#include <cmath>

#include "compiler/node_query.h"
#include "cpu/nchw16c.h"
#include "targets/cpu/min_cut.h"

namespace lathe {
namespace {

class MeasuredLayout {
 public:
  MeasuredLayout(const BothLayouts& both, const KernelCatalog& kernels, const Preference& preference,
                 Tuner& tuner)
      : both_(both), nchw_(both.nchw), kernels_(kernels), preference_(preference), tuner_(tuner) {
    preference_.allow_reference = true;  // kernels are only queried here, not run
  }

  std::optional<std::set<NodeId>> run() {
    find_values();
    if (!add_tasks()) return std::nullopt;
    tuner_.measure_all(tasks_);
    if (!look_up()) return std::nullopt;
    return cut();
  }

 private:
  /// An image that nodes in different layouts may make and read.
  struct Shared {
    NodeId producer = no_id;                      // one that can be blocked
    std::vector<NodeId> readers;                  // those that would read blocks, once each per input
    bool read_nchw = false;                       // by other nodes or as an output
    size_t unblock = SIZE_MAX, block = SIZE_MAX;  // tasks
  };
  struct Times {
    size_t nchw = SIZE_MAX, blocked = SIZE_MAX;  // tasks; SIZE_MAX: costs nothing
    /// For elementwise operators: the node that it is fused with if both are in the same layout, and the task
    /// of the operator alone.
    NodeId anchor = no_id;
    size_t alone = SIZE_MAX;
  };

  void find_values() {
    uses_ = nchw_.uses();
    for (ValueId v = 0; v < nchw_.value_count(); ++v) {
      const ValueInfo& info = nchw_.value(v);
      if (info.is_constant()) continue;
      Shared s;
      if (both_.converted.contains(info.producer)) s.producer = info.producer;
      s.read_nchw = nchw_.is_output(v);
      for (const Use& u : uses_[v])
        if (!both_.converted.contains(u.node))
          s.read_nchw = true;
        else if (reads_blocks(u))
          s.readers.push_back(u.node);
      if (s.producer != no_id || !s.readers.empty()) shared_.emplace(v, std::move(s));
    }
  }
  /// Convolutions of few channels, and readers of single elements, read the same in either layout.
  bool reads_blocks(const Use& u) const {
    const Node& made = both_.blocked.node(both_.converted.at(u.node));
    return made.inputs[u.input] != nchw_.node(u.node).inputs[u.input];
  }
  bool is_elementwise(const Node& n) const { return kernels_.pointwise_of(n.domain, n.op) != nullptr; }
  /// Returns the last of the producers whose results only this node reads.
  NodeId anchor_of(const Node& n) const {
    NodeId anchor = no_id;
    for (ValueId v : n.inputs) {
      const NodeId p = v == no_id ? no_id : nchw_.value(v).producer;
      if (both_.converted.contains(p) && uses_[v].size() == 1 && !nchw_.is_output(v)) anchor = p;
    }
    return anchor;
  }

  // Tasks.

  bool add_tasks() {
    for (const auto& [from, to] : both_.converted) {
      Times& c = choices_[from];
      if (is_elementwise(nchw_.node(from))) {
        c.anchor = anchor_of(nchw_.node(from));
        if (c.anchor != no_id && !add_tasks(nchw_, from, c.alone)) return false;
      } else if (!add_tasks(nchw_, from, c.nchw) || !add_tasks(both_.blocked, to, c.blocked)) {
        return false;
      }
    }
    for (auto& [v, s] : shared_) {
      if (s.producer != no_id && (s.read_nchw || !s.readers.empty()) &&
          !add_conversion("Unblock", v, s.unblock))
        return false;
      if (!s.readers.empty() && !add_conversion("Block", v, s.block)) return false;
    }
    return true;
  }
  bool add_tasks(const Graph& g, NodeId id, size_t& index) {
    const Node& n = g.node(id);
    const NodeQuery query(g, n, preference_.isa, true);
    return add_tasks(n.domain, n.op, n.attributes, query.kernel_query(), n.name, index);
  }
  bool add_conversion(const char* op, ValueId v, size_t& index) {
    const SymShape& nchw = *nchw_.value(v).type.shape;
    SymShape blocks = nchw;
    const int64_t channels = *nchw[1].value();
    blocks[1] = Dim((channels + cpu::channel_block - 1) / cpu::channel_block);
    blocks.push_back(Dim(cpu::channel_block));
    const bool back = std::string_view(op) == "Unblock";
    Attributes attributes;
    if (back) attributes.set("channels", channels);
    const KernelQuery::Operand a{true, DataType::float32, back ? blocks : nchw, nullptr},
        b{true, DataType::float32, back ? nchw : blocks, nullptr};
    return add_tasks("lathe", op, attributes, {.inputs = {&a, 1}, .outputs = {&b, 1}, .isa = preference_.isa},
                     nchw_.value(v).name, index);
  }
  bool add_tasks(const std::string& domain, const std::string& op, const Attributes& attributes,
                 const KernelQuery& query, const std::string& node, size_t& index) {
    const Choice usual = select_kernel(kernels_, preference_, domain, op, attributes, query);
    auto q = tuner_.task({usual.kernel, {}}, domain, op, attributes, query, node);
    if (!q) return false;
    index = tasks_.size();
    tasks_.push_back(std::move(*q));
    return true;
  }
  bool look_up() {
    for (const TuningTask& q : tasks_) {
      const auto t = tuner_.time(q);
      if (!t) return false;
      costs_.push_back(std::llround(*t * 100));
    }
    return true;
  }
  int64_t cost(size_t task) const { return task == SIZE_MAX ? 0 : costs_[task]; }

  // Nodes on the source's side are laid out in blocks.

  std::set<NodeId> cut() const {
    MinCut network;
    std::map<NodeId, size_t> place;
    for (const auto& [node, c] : choices_) {
      const size_t at = place[node] = network.add_node();
      network.add_edge(MinCut::source, at, cost(c.nchw));
      network.add_edge(at, MinCut::sink, cost(c.blocked));
    }
    for (const auto& [node, c] : choices_)
      if (c.anchor != no_id) {
        network.add_edge(place.at(node), place.at(c.anchor), cost(c.alone));
        network.add_edge(place.at(c.anchor), place.at(node), cost(c.alone));
      }
    for (const auto& [v, s] : shared_) {
      const size_t maker = s.producer == no_id ? MinCut::sink : place.at(s.producer);
      if (s.unblock != SIZE_MAX) {
        // Paid once if the value is made in blocks and any node reads it in NCHW.
        const size_t nchw = network.add_node();
        network.add_edge(maker, nchw, cost(s.unblock));
        if (s.read_nchw) network.add_edge(nchw, MinCut::sink, MinCut::never);
        for (NodeId r : s.readers) network.add_edge(nchw, place.at(r), MinCut::never);
      }
      if (s.block != SIZE_MAX) {
        // Paid once if the value is made in NCHW and any node reads it in blocks.
        const size_t blocks = network.add_node();
        network.add_edge(blocks, maker, cost(s.block));
        for (NodeId r : s.readers) network.add_edge(place.at(r), blocks, MinCut::never);
      }
    }
    const std::vector<bool> side = network.source_side();
    std::set<NodeId> blocked;
    for (const auto& [node, at] : place)
      if (side[at]) blocked.insert(node);
    return blocked;
  }

  const BothLayouts& both_;
  const Graph& nchw_;
  const KernelCatalog& kernels_;
  Preference preference_;
  Tuner& tuner_;
  std::vector<std::vector<Use>> uses_;
  std::map<ValueId, Shared> shared_;
  std::map<NodeId, Times> choices_;
  std::vector<TuningTask> tasks_;
  std::vector<int64_t> costs_;  // of tasks, in hundredths of a microsecond
};

}  // namespace

std::optional<std::set<NodeId>> worth_blocking(const BothLayouts& both, const KernelCatalog& kernels,
                                               const Preference& preference, Tuner& tuner) {
  return MeasuredLayout(both, kernels, preference, tuner).run();
}

}  // namespace lathe
