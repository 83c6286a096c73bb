#include "compiler/regions.h"

#include <algorithm>
#include <optional>
#include <set>

#include "compiler/compose.h"
#include "compiler/followed_contents.h"
#include "compiler/node_query.h"

namespace lathe {
namespace {

bool is_tensor_of(const ValueInfo& v, DataType type) {
  return v.type.kind == ValueType::Kind::tensor && v.type.elem == type && v.type.shape;
}
bool is_float_tensor(const ValueInfo& v) { return is_tensor_of(v, DataType::float32); }

}  // namespace

class RegionMaker {
 public:
  RegionMaker(Regions& made, const Graph& g, const std::vector<NodeId>& order, const KernelCatalog& kernels,
              const Preference& preference)
      : made_(made), graph_(g), order_(order), kernels_(kernels), preference_(preference), uses_(g.uses()) {}

  void run() {
    made_.graph_ = &graph_;
    followed_ = followed_contents(graph_, order_, kernels_);
    for (size_t i = 0; i < order_.size(); ++i) {
      position_[order_[i]] = i;
      find_program(order_[i]);
    }
    floats_alone_ = true;
    grow_all();
    floats_alone_ = false;
    if (!others_.empty()) {
      keep_anchored();
      grow_all();
    }
    for (const NodeId id : order_)
      if (!made_.programs_.contains(id)) explain_front(id);
  }

 private:
  /// Returns whether the value can be inside a program.
  bool is_inside(const ValueInfo& v) const {
    return fusion().converts(v.type.elem) && is_tensor_of(v, v.type.elem);
  }
  /// Returns whether the value can be the result of a program.
  bool is_result(const ValueInfo& v) const {
    return is_inside(v) || (is_number(v.type.elem) && is_tensor_of(v, v.type.elem));
  }

  const Target::Fusion& fusion() const { return *made_.target_->fusion; }

  void grow_all() {
    for (size_t i = order_.size(); i-- > 0;)
      if (has_program(order_[i]) && !made_.last_.contains(order_[i])) grow(order_[i]);
  }
  bool has_program(NodeId id) const {
    return made_.programs_.contains(id) && !(floats_alone_ && others_.contains(id));
  }
  /// Keeps those regions of float32 alone that have an anchor: operators of other types cannot enlarge
  /// them.
  void keep_anchored() {
    std::erase_if(made_.regions_, [](const auto& r) { return r.second.anchor == no_id; });
    std::erase_if(made_.last_, [&](const auto& l) { return !made_.regions_.contains(l.second); });
    std::erase_if(made_.reasons_, [&](const auto& r) { return !made_.regions_.contains(r.first); });
  }

  void find_program(NodeId id) {
    const Node& n = graph_.node(id);
    if (n.outputs.size() != 1 || !is_result(graph_.value(n.outputs[0])) || followed_[n.outputs[0]] ||
        !can_walk(n))
      return;
    auto program = program_of(graph_, n, kernels_, preference_);
    if (!program) return;
    if (auto why = fusion().refuse ? fusion().refuse(*program) : std::nullopt) {
      if (!made_.target_->in_host_memory) made_.reasons_[id].push_back(*why);
      refused_.emplace(id, std::move(*why));
      return;
    }
    if (!program->is_of_floats()) others_.insert(id);
    made_.programs_.emplace(id, std::move(*program));
  }

  /// Broadcasting over more axes than programs support has kernels of its own.
  bool can_walk(const Node& n) const {
    const std::vector<Dim>& shape = *graph_.value(n.outputs[0]).type.shape;
    return shape.size() <= fusion().max_axes || std::ranges::all_of(n.inputs, [&](ValueId v) {
             return v == no_id || graph_.value(v).type.shape == shape;
           });
  }

  std::string edge_from(ValueId v) const {
    const ValueInfo& value = graph_.value(v);
    return graph_.node(value.producer).op + " (" + value.name + "): ";
  }

  /// Keeps the reason for every operand that a node on the main path makes.
  void explain(NodeId last, const std::vector<ValueId>& operands,
               const std::map<ValueId, std::string>& refused) {
    for (ValueId v : operands) {
      const NodeId p = graph_.value(v).producer;
      if (p == no_id || !position_.contains(p)) continue;
      const auto known = refused.find(v);
      made_.reasons_[last].push_back(edge_from(v) + (known != refused.end() ? known->second : why_apart(p)));
    }
  }

  /// Explains the inputs that the program does not read, although the operator's own kernel has them.
  void explain_unread(NodeId id, const std::vector<ValueId>& operands) {
    for (const ValueId v : graph_.node(id).inputs) {
      const NodeId p = v == no_id ? no_id : graph_.value(v).producer;
      if (p != no_id && position_.contains(p) && std::ranges::find(operands, v) == operands.end())
        made_.reasons_[id].push_back(edge_from(v) + "its elements are not read");
    }
  }

  /// Keeps the reasons for the edges of a node that is no part of a program: those from elementwise
  /// operators, and all of them if it is elementwise itself. Most operators in front of a kernel were fused
  /// behind the kernel that makes their input; the others take a tenth of DenseNet-121's time, and hardly any
  /// of most networks' (docs/performance.md).
  void explain_front(NodeId id) {
    const Node& n = graph_.node(id);
    const auto at = made_.last_.find(id);
    std::vector<std::string>& reasons = made_.reasons_[at == made_.last_.end() ? id : at->second];
    for (const ValueId v : std::set<ValueId>(n.inputs.begin(), n.inputs.end())) {
      const NodeId p = v == no_id ? no_id : graph_.value(v).producer;
      if (p == no_id || !position_.contains(p)) continue;
      const std::string edge = edge_from(v);
      if (const auto refused = refused_.find(id); refused != refused_.end())
        reasons.push_back(edge + refused->second);
      else if (is_elementwise(n) && has_unknown_shape(n))
        reasons.push_back(edge + shape_of_runs);
      else if (is_elementwise(n))
        reasons.push_back(edge + (is_followed(n) ? "sizes may follow from what " + n.op + " makes of it"
                                                 : "what " + n.op + " does with it " + not_expressible));
      else if (is_elementwise(graph_.node(p)))
        reasons.push_back(edge + "kernels of " + n.op + " begin with what is in memory");
    }
  }

  static constexpr const char* not_expressible =
      "cannot be expressed in the functions that programs have for its type";
  bool is_followed(const Node& n) const {
    return std::ranges::any_of(n.outputs, [&](ValueId v) { return v != no_id && followed_[v]; });
  }
  bool is_elementwise(const Node& n) const { return kernels_.pointwise_of(n.domain, n.op) != nullptr; }

  static constexpr const char* shape_of_runs = "only runs know the shape of the result";
  bool has_unknown_shape(const Node& n) const {
    return n.outputs.size() == 1 && n.outputs[0] != no_id && !graph_.value(n.outputs[0]).type.shape;
  }

  static constexpr const char* of_floats_alone = "behind a kernel only numbers of float32 are computed";

  /// Returns why a node was not fused, if there is no reason at the edge itself.
  std::string why_apart(NodeId p) const {
    const Node& n = graph_.node(p);
    if (made_.last_.contains(p)) return "it is part of another step";
    if (made_.programs_.contains(p) && !has_program(p)) return of_floats_alone;
    if (made_.programs_.contains(p) || can_be_anchor(p)) return "the program would be too long";
    if (const auto refused = refused_.find(p); refused != refused_.end()) return refused->second;
    if (is_elementwise(n) && is_followed(n)) return "sizes may follow from its contents";
    if (has_unknown_shape(n)) return shape_of_runs;
    if (is_elementwise(n)) return std::string("what it does ") + not_expressible;
    if (n.outputs.size() != 1 || !n.bodies.empty()) return "it makes more than one result";
    return "no kernel of it does more than its own operator";
  }

  void grow(NodeId last) {
    std::set<NodeId> inside{last};
    Composed alone = compose(graph_, made_.programs_, fusion(), no_id, {last});
    if (!alone.region) return;  // the target takes the operator's own program, but not with its conversions
    Region region = std::move(*alone.region);
    std::map<ValueId, std::string> refused;
    for (bool grown = true; grown;) {
      grown = false;
      for (ValueId v : region.operands) {
        const NodeId p = graph_.value(v).producer;
        if (p == no_id || !has_program(p)) continue;
        if (auto larger = with(region, p, v, last, inside, refused)) {
          region = std::move(*larger);
          inside.insert(p);
          grown = true;
          break;
        }
      }
    }
    NodeId anchor = no_id;
    std::optional<Region> anchored;
    for (ValueId v : region.operands) {
      const NodeId p = graph_.value(v).producer;
      if (p == no_id || made_.programs_.contains(p) || !can_be_anchor(p)) continue;
      if (!may_take(p, v, last, inside, refused)) continue;
      if (!region.program.is_of_floats()) {
        refused[v] = of_floats_alone;
        continue;
      }
      if (!is_float_tensor(graph_.value(v))) {
        refused[v] = "numbers would be in the memory of its booleans";
        continue;
      }
      const ValueInfo& result = graph_.value(graph_.node(last).outputs[0]);
      if (!is_float_tensor(result) &&
          (is_inside(result) ||
           !any_kernel(kernels_, made_.target_->name, graph_.node(p), &Kernel::writes_f16))) {
        refused[v] = is_inside(result) ? "its numbers would be in the memory of booleans"
                                       : "its numbers would be in memory of 16 bits";
        continue;
      }
      if (anchor != no_id && position_[p] < position_[anchor]) {
        refused[v] = "another operand's kernel does it";
        continue;
      }
      if (Composed larger = compose(graph_, made_.programs_, fusion(), p, region.nodes); larger.region) {
        if (anchor != no_id) refused[graph_.node(anchor).outputs[0]] = "another operand's kernel does it";
        anchor = p;
        anchored = std::move(larger.region);
      } else {
        refused[v] = std::move(larger.refusal);
      }
    }
    if (anchored) region = std::move(*anchored);
    explain(last, region.operands, refused);
    if (region.nodes.size() == 1 && anchor == no_id && has_own_kernel(last))
      return explain_unread(last, region.operands);
    for (NodeId n : region.nodes) made_.last_[n] = last;
    if (anchor != no_id) made_.last_[anchor] = last;
    made_.regions_.emplace(last, std::move(region));
  }

  /// Returns whether a node that stands alone has a kernel besides that for programs: all have one in host
  /// memory.
  bool has_own_kernel(NodeId id) const {
    const Node& n = graph_.node(id);
    const auto is_target = [&](const Kernel* k) { return k->backend == made_.target_->name; };
    return made_.target_->in_host_memory ||
           std::ranges::any_of(kernels_.candidates(n.domain, n.op), is_target);
  }

  /// An anchor has one output and no bodies, and one of its kernels fuses an epilogue: it reads only its own
  /// inputs.
  bool can_be_anchor(NodeId p) const {
    const Node& n = graph_.node(p);
    return position_.contains(p) && !made_.last_.contains(p) && n.outputs.size() == 1 && n.bodies.empty() &&
           any_kernel(kernels_, made_.target_->name, n, &Kernel::fuses_epilogue);
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
    } else if (!is_inside(value)) {
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
    Composed larger = compose(graph_, made_.programs_, fusion(), no_id, std::move(nodes));
    if (!larger.region) refused[v] = std::move(larger.refusal);
    return std::move(larger.region);
  }

  Regions& made_;
  const Graph& graph_;
  const std::vector<NodeId>& order_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  std::vector<std::vector<Use>> uses_;
  std::map<NodeId, size_t> position_;
  std::vector<bool> followed_;             // by value: others' sizes may follow from its contents
  std::set<NodeId> others_;                // nodes whose programs are not of float32 alone
  std::map<NodeId, std::string> refused_;  // elementwise nodes that the target does not take, and why
  bool floats_alone_ = false;              // true while these are left out
};

Regions::Regions(const Graph& graph, const std::vector<NodeId>& order, const KernelCatalog& kernels,
                 const Preference& preference, const Target& target)
    : target_(&target) {
  RegionMaker(*this, graph, order, kernels, preference).run();
}

const Region* Regions::ending_at(NodeId n) const {
  const auto at = regions_.find(n);
  return at == regions_.end() ? nullptr : &at->second;
}

bool Regions::is_fused(NodeId n) const { return last_of(n) != n; }

NodeId Regions::last_of(NodeId n) const {
  const auto at = last_.find(n);
  return at == last_.end() ? n : at->second;
}

std::vector<std::string> Regions::reasons(NodeId n) const {
  const auto at = reasons_.find(n);
  return at == reasons_.end() ? std::vector<std::string>{} : at->second;
}

std::optional<Region> Regions::alone(NodeId n) const {
  if (!programs_.contains(n)) return std::nullopt;
  return compose(*graph_, programs_, *target_->fusion, no_id, {n}).region;
}

std::optional<Region> Regions::up_to(const Region& r, ValueId v) const {
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
  return compose(*graph_, programs_, *target_->fusion, anchored ? r.anchor : no_id, std::move(nodes)).region;
}

}  // namespace lathe
