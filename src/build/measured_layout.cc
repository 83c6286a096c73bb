#include "build/measured_layout.h"

#include <cmath>

#include "build/min_cut.h"
#include "build/node_request.h"
#include "cpu/blocked.h"

namespace lathe {
namespace {

class MeasuredLayout {
 public:
  MeasuredLayout(const BothLayouts& both, const KernelCatalog& kernels, const Preference& preference,
                 Tuner& tuner)
      : both_(both), plain_(both.plain), kernels_(kernels), preference_(preference), tuner_(tuner) {
    preference_.allow_reference = true;  // what is asked here need not run
  }

  std::optional<std::set<NodeId>> run() {
    find_values();
    if (!ask()) return std::nullopt;
    tuner_.answer(questions_);
    if (!look_up()) return std::nullopt;
    return cut();
  }

 private:
  /// An image that nodes in different layouts may make and read.
  struct Shared {
    NodeId producer = no_id;                      // one that can be blocked
    std::vector<NodeId> readers;                  // those that would read blocks, once each per input
    bool read_plain = false;                      // by others, too
    size_t unblock = SIZE_MAX, block = SIZE_MAX;  // questions
  };
  struct Times {
    size_t plain = SIZE_MAX, blocked = SIZE_MAX;  // questions; none: nothing to pay
    /// Of what is elementwise: the node that it is fused with, where both are in the same layout, and what it
    /// takes alone.
    NodeId anchor = no_id;
    size_t alone = SIZE_MAX;
  };

  void find_values() {
    uses_ = plain_.uses();
    for (ValueId v = 0; v < plain_.value_count(); ++v) {
      const ValueInfo& info = plain_.value(v);
      if (info.is_constant()) continue;
      Shared s;
      if (both_.converted.contains(info.producer)) s.producer = info.producer;
      s.read_plain = plain_.is_output(v);
      for (const Use& u : uses_[v])
        if (!both_.converted.contains(u.node))
          s.read_plain = true;
        else if (reads_blocks(u))
          s.readers.push_back(u.node);
      if (s.producer != no_id || !s.readers.empty()) shared_.emplace(v, std::move(s));
    }
  }
  /// A convolution of few channels, or a single element, is read as it is in either layout.
  bool reads_blocks(const Use& u) const {
    const Node& made = both_.blocked.node(both_.converted.at(u.node));
    return made.inputs[u.input] != plain_.node(u.node).inputs[u.input];
  }
  bool is_elementwise(const Node& n) const { return kernels_.pointwise_of(n.domain, n.op) != nullptr; }
  /// The last of those whose results nobody else reads.
  NodeId anchor_of(const Node& n) const {
    NodeId anchor = no_id;
    for (ValueId v : n.inputs) {
      const NodeId p = v == no_id ? no_id : plain_.value(v).producer;
      if (both_.converted.contains(p) && uses_[v].size() == 1 && !plain_.is_output(v)) anchor = p;
    }
    return anchor;
  }

  // Questions.

  bool ask() {
    for (const auto& [from, to] : both_.converted) {
      Times& c = choices_[from];
      if (is_elementwise(plain_.node(from))) {
        c.anchor = anchor_of(plain_.node(from));
        if (c.anchor != no_id && !ask(plain_, from, c.alone)) return false;
      } else if (!ask(plain_, from, c.plain) || !ask(both_.blocked, to, c.blocked)) {
        return false;
      }
    }
    for (auto& [v, s] : shared_) {
      if (s.producer != no_id && (s.read_plain || !s.readers.empty()) &&
          !ask_conversion("Unblock", v, s.unblock))
        return false;
      if (!s.readers.empty() && !ask_conversion("Block", v, s.block)) return false;
    }
    return true;
  }
  bool ask(const Graph& g, NodeId id, size_t& index) {
    const Node& n = g.node(id);
    const NodeRequest request(g, n, preference_.isa, true);
    return ask(n.domain, n.op, n.attributes, request.request(), n.name, index);
  }
  bool ask_conversion(const char* op, ValueId v, size_t& index) {
    const SymShape& plain = *plain_.value(v).type.shape;
    SymShape blocks = plain;
    const int64_t channels = *plain[1].value();
    blocks[1] = Dim((channels + cpu::channel_block - 1) / cpu::channel_block);
    blocks.push_back(Dim(cpu::channel_block));
    const bool back = std::string_view(op) == "Unblock";
    Attributes attributes;
    if (back) attributes.set("channels", channels);
    const KernelRequest::Operand a{true, DataType::float32, back ? blocks : plain, nullptr},
        b{true, DataType::float32, back ? plain : blocks, nullptr};
    return ask("lathe", op, attributes, {.inputs = {&a, 1}, .outputs = {&b, 1}, .isa = preference_.isa},
               plain_.value(v).name, index);
  }
  bool ask(const std::string& domain, const std::string& op, const Attributes& attributes,
           const KernelRequest& request, const std::string& node, size_t& index) {
    const Choice usual = select_kernel(kernels_, preference_, domain, op, attributes, request);
    auto q = tuner_.question({usual.kernel, {}}, domain, op, attributes, request, node);
    if (!q) return false;
    index = questions_.size();
    questions_.push_back(std::move(*q));
    return true;
  }
  bool look_up() {
    for (const Question& q : questions_) {
      const auto t = tuner_.time(q);
      if (!t) return false;
      costs_.push_back(std::llround(*t * 100));
    }
    return true;
  }
  int64_t cost(size_t question) const { return question == SIZE_MAX ? 0 : costs_[question]; }

  // The source's side is laid out in blocks.

  std::set<NodeId> cut() const {
    MinCut network;
    std::map<NodeId, size_t> place;
    for (const auto& [node, c] : choices_) {
      const size_t at = place[node] = network.add_node();
      network.add_edge(MinCut::source, at, cost(c.plain));
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
        // Paid once, if made in blocks and read plain by any.
        const size_t plain = network.add_node();
        network.add_edge(maker, plain, cost(s.unblock));
        if (s.read_plain) network.add_edge(plain, MinCut::sink, MinCut::never);
        for (NodeId r : s.readers) network.add_edge(plain, place.at(r), MinCut::never);
      }
      if (s.block != SIZE_MAX) {
        // Paid once, if made plain and read in blocks by any.
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
  const Graph& plain_;
  const KernelCatalog& kernels_;
  Preference preference_;
  Tuner& tuner_;
  std::vector<std::vector<Use>> uses_;
  std::map<ValueId, Shared> shared_;
  std::map<NodeId, Times> choices_;
  std::vector<Question> questions_;
  std::vector<int64_t> costs_;  // of questions, in hundredths of a microsecond
};

}  // namespace

std::optional<std::set<NodeId>> worth_blocking(const BothLayouts& both, const KernelCatalog& kernels,
                                               const Preference& preference, Tuner& tuner) {
  return MeasuredLayout(both, kernels, preference, tuner).run();
}

}  // namespace lathe
