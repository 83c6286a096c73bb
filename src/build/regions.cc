#include "build/regions.h"

#include <algorithm>
#include <optional>
#include <set>

#include "build/node_request.h"
#include "cpu/pointwise.h"

namespace lathe {
namespace {

bool is_tensor_of(const ValueInfo& v, DataType type) {
  return v.type.kind == ValueType::Kind::tensor && v.type.elem == type && v.type.shape;
}
bool is_float_tensor(const ValueInfo& v) { return is_tensor_of(v, DataType::float32); }
/// Can it be in a program?
bool is_number(const ValueInfo& v) { return is_float_tensor(v) || is_tensor_of(v, DataType::boolean); }
/// Can it be what a program gives?
bool is_result(const ValueInfo& v) { return is_number(v.type.elem) && is_tensor_of(v, v.type.elem); }

/// The programs of nodes as one. Nothing where it would be too long, or have too many operands or results at
/// once.
std::optional<Region> compose(const Graph& g, const std::map<NodeId, Pointwise>& programs, NodeId anchor,
                              std::vector<NodeId> nodes) {
  Region r{anchor, std::move(nodes), {}, {}};
  std::vector<ValueId> operands;
  if (anchor != no_id) operands.push_back(g.node(anchor).outputs[0]);
  struct Source {
    bool made;  // by an instruction; else an operand
    size_t index;
  };
  std::map<ValueId, Source> made;
  std::vector<Source> reads;  // of all instructions
  for (NodeId n : r.nodes) {
    const Node& node = g.node(n);
    const Pointwise& p = programs.at(n);
    const size_t first = r.program.code.size();
    const auto source = [&](uint16_t value) -> Source {
      if (value >= p.operands) return {true, first + value - p.operands};
      const ValueId v = node.inputs[value];
      if (const auto at = made.find(v); at != made.end()) return at->second;
      const auto at = std::ranges::find(operands, v);
      const auto index = static_cast<size_t>(at - operands.begin());
      if (at == operands.end()) operands.push_back(v);
      return {false, index};
    };
    // What changes nothing is no instruction, unless there would be none.
    if (p.changes_nothing()) {
      const Source same = source(0);
      if (same.made || n != r.nodes.back()) {
        made[node.outputs[0]] = same;
        continue;
      }
    }
    for (const Pointwise::Instruction& s : p.code) {
      for (uint16_t v : s.reads()) reads.push_back(source(v));
      r.program.code.push_back(s);
    }
    made[node.outputs[0]] = {true, r.program.code.size() - 1};
  }
  if (operands.size() > Pointwise::most_operands || r.program.code.size() > Pointwise::most_instructions)
    return std::nullopt;
  r.program.operands = static_cast<uint16_t>(operands.size());
  auto read = reads.begin();
  for (Pointwise::Instruction& s : r.program.code)
    for (uint16_t& v : s.reads()) {
      v = static_cast<uint16_t>(read->made ? operands.size() + read->index : read->index);
      ++read;
    }
  if (cpu::PointwiseCode::buffers(r.program) > cpu::PointwiseCode::most_buffers) return std::nullopt;
  r.operands.assign(operands.begin() + (anchor != no_id), operands.end());
  return r;
}

}  // namespace

class RegionMaker {
 public:
  RegionMaker(Regions& made, const Graph& g, const std::vector<NodeId>& order, const KernelCatalog& kernels,
              const Preference& preference)
      : made_(made), graph_(g), order_(order), kernels_(kernels), preference_(preference), uses_(g.uses()) {}

  void run() {
    made_.graph_ = &graph_;
    for (size_t i = 0; i < order_.size(); ++i) {
      position_[order_[i]] = i;
      find_program(order_[i]);
    }
    for (size_t i = order_.size(); i-- > 0;)
      if (made_.programs_.contains(order_[i]) && !made_.last_.contains(order_[i])) grow(order_[i]);
    for (const NodeId id : order_)
      if (!made_.programs_.contains(id)) explain_front(id);
  }

 private:
  void find_program(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.outputs.size() != 1 || !is_result(graph_.value(n.outputs[0]))) return;
    if (auto program = program_of(graph_, n, kernels_, preference_))
      made_.programs_.emplace(id, std::move(*program));
  }

  /// Keeps the reason for every operand that a node on the main path makes.
  void explain(NodeId last, const std::vector<ValueId>& operands,
               const std::map<ValueId, std::string>& refused) {
    for (ValueId v : operands) {
      const NodeId p = graph_.value(v).producer;
      if (p == no_id || !position_.contains(p)) continue;
      const auto known = refused.find(v);
      made_.reasons_[last].push_back(graph_.node(p).op + " (" + graph_.value(v).name +
                                     "): " + (known != refused.end() ? known->second : why_apart(p)));
    }
  }

  /// Keeps the reasons for the edges of a node that is no part of a program: those from elementwise
  /// operators, and all of them where it is elementwise itself. Of operators in front of a kernel most have
  /// gone behind the one that makes what they read; those that stay take a tenth of DenseNet-121's time, of
  /// most networks' hardly any (docs/performance.md).
  void explain_front(NodeId id) {
    const Node& n = graph_.node(id);
    const auto at = made_.last_.find(id);
    std::vector<std::string>& reasons = made_.reasons_[at == made_.last_.end() ? id : at->second];
    for (const ValueId v : std::set<ValueId>(n.inputs.begin(), n.inputs.end())) {
      const NodeId p = v == no_id ? no_id : graph_.value(v).producer;
      if (p == no_id || !position_.contains(p)) continue;
      const std::string edge = graph_.node(p).op + " (" + graph_.value(v).name + "): ";
      if (is_elementwise(n))
        reasons.push_back(edge + "what " + n.op + " does with it " + unsayable);
      else if (is_elementwise(graph_.node(p)))
        reasons.push_back(edge + "kernels of " + n.op + " begin with what is in memory");
    }
  }

  static constexpr const char* unsayable = "cannot be said in numbers of float32, or truths, that are known";
  bool is_elementwise(const Node& n) const { return kernels_.pointwise_of(n.domain, n.op) != nullptr; }

  /// Of a node whose result nothing else speaks against.
  std::string why_apart(NodeId p) const {
    const Node& n = graph_.node(p);
    if (made_.last_.contains(p)) return "it is part of another step";
    if (made_.programs_.contains(p) || can_be_anchor(p)) return "the program would be too long";
    if (is_elementwise(n)) return std::string("what it does ") + unsayable;
    if (n.outputs.size() != 1 || !n.bodies.empty()) return "it makes more than one result";
    return "no kernel of it does more than its own operator";
  }

  void grow(NodeId last) {
    std::set<NodeId> inside{last};
    Region region = *compose(graph_, made_.programs_, no_id, {last});
    std::map<ValueId, std::string> refused;
    for (bool grown = true; grown;) {
      grown = false;
      for (ValueId v : region.operands) {
        const NodeId p = graph_.value(v).producer;
        if (p == no_id || !made_.programs_.contains(p)) continue;
        if (auto larger = with(region, p, v, last, inside, refused)) {
          region = std::move(*larger);
          inside.insert(p);
          grown = true;
          break;
        }
      }
    }
    NodeId anchor = no_id;
    for (ValueId v : region.operands) {
      const NodeId p = graph_.value(v).producer;
      if (p == no_id || made_.programs_.contains(p) || !can_be_anchor(p)) continue;
      if (!may_take(p, v, last, inside, refused)) continue;
      if (!is_float_tensor(graph_.value(v))) {
        refused[v] = "numbers would be in the memory of its truths";
        continue;
      }
      const ValueInfo& result = graph_.value(graph_.node(last).outputs[0]);
      if (!is_float_tensor(result) &&
          (is_number(result) || !any_kernel(kernels_, graph_.node(p), &Kernel::narrows))) {
        refused[v] = is_number(result) ? "its numbers would be in the memory of truths"
                                       : "its numbers would be in memory of 16 bits";
        continue;
      }
      if (anchor != no_id && position_[p] < position_[anchor]) {
        refused[v] = "another operand's kernel does it";
        continue;
      }
      if (auto larger = compose(graph_, made_.programs_, p, region.nodes)) {
        if (anchor != no_id) refused[graph_.node(anchor).outputs[0]] = "another operand's kernel does it";
        anchor = p;
      }
    }
    if (anchor != no_id) region = *compose(graph_, made_.programs_, anchor, region.nodes);
    explain(last, region.operands, refused);
    if (region.nodes.size() == 1 && anchor == no_id) return;
    for (NodeId n : region.nodes) made_.last_[n] = last;
    if (anchor != no_id) made_.last_[anchor] = last;
    made_.regions_.emplace(last, std::move(region));
  }

  /// Only what reads no other memory than its own inputs: a kernel that fuses, with one output.
  bool can_be_anchor(NodeId p) const {
    const Node& n = graph_.node(p);
    return position_.contains(p) && !made_.last_.contains(p) && n.outputs.size() == 1 && n.bodies.empty() &&
           any_kernel(kernels_, n, &Kernel::finishes);
  }

  bool may_take(NodeId p, ValueId v, NodeId last, const std::set<NodeId>& inside,
                std::map<ValueId, std::string>& refused) const {
    const ValueInfo& value = graph_.value(v);
    const ValueInfo& result = graph_.value(graph_.node(last).outputs[0]);
    if (made_.last_.contains(p) || !position_.contains(p)) return false;
    if (graph_.is_output(v)) {
      refused[v] = "its result is an output";
    } else if (!std::ranges::all_of(uses_[v], [&](const Use& u) {
                 return inside.contains(u.node) || !position_.contains(u.node);
               })) {
      refused[v] = "its result is read elsewhere too";
    } else if (!is_number(value)) {
      refused[v] = "its result is rounded to 16 bits";
    } else if (*value.type.shape != *result.type.shape) {
      refused[v] = "its result has another shape";
    } else {
      return true;
    }
    return false;
  }

  std::optional<Region> with(const Region& region, NodeId p, ValueId v, NodeId last, std::set<NodeId>& inside,
                             std::map<ValueId, std::string>& refused) const {
    if (!may_take(p, v, last, inside, refused)) return std::nullopt;
    std::vector<NodeId> nodes = region.nodes;
    const auto at =
        std::ranges::upper_bound(nodes, position_.at(p), {}, [&](NodeId n) { return position_.at(n); });
    nodes.insert(at, p);
    auto larger = compose(graph_, made_.programs_, no_id, std::move(nodes));
    if (!larger) refused[v] = "the program would be too long";
    return larger;
  }

  Regions& made_;
  const Graph& graph_;
  const std::vector<NodeId>& order_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  std::vector<std::vector<Use>> uses_;
  std::map<NodeId, size_t> position_;
};

Regions::Regions(const Graph& graph, const std::vector<NodeId>& order, const KernelCatalog& kernels,
                 const Preference& preference) {
  RegionMaker(*this, graph, order, kernels, preference).run();
}

const Region* Regions::ending_at(NodeId n) const {
  const auto at = regions_.find(n);
  return at == regions_.end() ? nullptr : &at->second;
}

bool Regions::is_swallowed(NodeId n) const { return last_of(n) != n; }

NodeId Regions::last_of(NodeId n) const {
  const auto at = last_.find(n);
  return at == last_.end() ? n : at->second;
}

std::vector<std::string> Regions::reasons(NodeId n) const {
  const auto at = reasons_.find(n);
  return at == reasons_.end() ? std::vector<std::string>{} : at->second;
}

Region Regions::up_to(const Region& r, ValueId v) const {
  std::vector<NodeId> wanted{graph_->value(v).producer}, nodes;
  for (size_t i = 0; i < wanted.size(); ++i)
    for (ValueId in : graph_->node(wanted[i]).inputs) {
      const NodeId p = in == no_id ? no_id : graph_->value(in).producer;
      if (p != no_id && std::ranges::find(r.nodes, p) != r.nodes.end() &&
          std::ranges::find(wanted, p) == wanted.end())
        wanted.push_back(p);
    }
  bool anchored = false;
  for (NodeId n : wanted)
    for (ValueId in : graph_->node(n).inputs)
      anchored |= r.anchor != no_id && in == graph_->node(r.anchor).outputs[0];
  anchored &= is_float_tensor(graph_->value(v));
  for (NodeId n : r.nodes)
    if (std::ranges::find(wanted, n) != wanted.end()) nodes.push_back(n);
  return *compose(*graph_, programs_, anchored ? r.anchor : no_id, std::move(nodes));
}

}  // namespace lathe
