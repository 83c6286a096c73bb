#include "compiler/unfold.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

namespace lathe {
namespace {

/// Constants of no more bytes stay. The limit is higher in plans, whose bytes are only ever read.
constexpr uint64_t small_in_files = uint64_t{1} << 16, small_in_plans = uint64_t{1} << 20;
constexpr uint64_t min_growth = 3;

constexpr std::array repeating = {"ConstantOfShape", "Expand", "Range", "Tile"};
/// Operators between those and their readers: they keep the bytes, or write them once more.
constexpr std::array passing_on = {"Cast",    "CastLike", "Flatten",  "Identity",
                                   "Reshape", "Squeeze",  "Unsqueeze"};
/// Operators that read each element once; a product or a convolution has its weights packed instead.
constexpr std::array reading_once = {
    "Add",  "And",         "Concat", "Div",  "Equal", "Greater", "GreaterOrEqual",
    "Less", "LessOrEqual", "Max",    "Mean", "Min",   "Mod",     "Mul",
    "Not",  "Or",          "Pow",    "Sub",  "Sum",   "Where",   "Xor",
    "Cast", "CastLike"};

bool is_one_of(const std::string& op, const auto& list) { return std::ranges::find(list, op) != list.end(); }

uint64_t bytes_of(const Value& v) { return v.is_tensor() ? v.tensor().bytes() : 0; }

bool is_read_once(const Graph& g, const UseIndex& uses, ValueId v, int depth = 8) {
  return std::ranges::all_of(uses.of(v), [&](const Use& u) {
    const Node& n = g.node(u.node);
    if (!n.domain.empty()) return false;
    if (is_one_of(n.op, reading_once)) return true;
    return depth > 0 && u.input == 0 && (is_one_of(n.op, passing_on) || is_one_of(n.op, repeating)) &&
           is_read_once(g, uses, n.outputs[0], depth - 1);
  });
}

class Unfolding {
 public:
  Unfolding(const Folds& folds, UnfoldFor kind)
      : folds_(folds), kind_(kind), small_(kind == UnfoldFor::files ? small_in_files : small_in_plans) {}

  void run(Graph& g) {
    for (NodeId id : g.order())
      for (const Body& b : g.node(id).bodies) run(*b.graph);
    const UseIndex uses(g);
    std::vector<ValueId> found;
    made_.clear();
    for (ValueId v = 0; v < g.value_count(); ++v) {
      const ValueInfo& i = g.value(v);
      if (!i.is_constant() || i.captured != no_id || i.producer != no_id) continue;
      if (!becomes_node(*i.constant)) {
        made_.emplace(i.constant.get(), v);
      } else if (uses.is_read(v) && (kind_ == UnfoldFor::files || is_read_once(g, uses, v))) {
        made_.emplace(i.constant.get(), v);
        found.push_back(v);
      }
    }
    for (ValueId v : found) insert(g, v);
  }

 private:
  /// Returns the bytes that the constant needs: its own, or those of the constants that it was made of. A
  /// file may hold a chain of any length, so this is no recursion.
  uint64_t cost(const Value& of) {
    std::vector<const Value*> open{&of};
    while (!open.empty()) {
      const Value& v = *open.back();
      const size_t before = open.size();
      const Fold* fold = fold_of(v);
      if (fold && !cost_.contains(&v))
        for (const Fold::Operand& o : fold->from)
          if (o.constant && !cost_.contains(o.constant.get())) open.push_back(o.constant.get());
      if (open.size() > before) continue;  // its operands come first
      open.pop_back();
      uint64_t own = bytes_of(v), made = 0;
      if (fold)
        for (const Fold::Operand& o : fold->from) made += o.constant ? cost_.at(o.constant.get()) : 0;
      if (fold && own > small_ && made <= own / min_growth) own = made;
      cost_.emplace(&v, own);
    }
    return cost_.at(&of);
  }
  bool becomes_node(const Value& v) { return bytes_of(v) > small_ && cost(v) < bytes_of(v); }

  /// Returns null if the constant must stay one.
  const Fold* fold_of(const Value& v) const {
    const auto at = folds_.find(&v);
    if (at == folds_.end() || !at->second.domain.empty() || at->second.outputs.size() != 1) return nullptr;
    const std::string& op = at->second.op;
    return kind_ == UnfoldFor::files || is_one_of(op, repeating) || is_one_of(op, passing_on) ? &at->second
                                                                                              : nullptr;
  }

  void insert(Graph& g, ValueId wanted) {
    std::vector<ValueId> open{wanted};
    while (!open.empty()) {
      const ValueId v = open.back();
      open.pop_back();
      const std::shared_ptr<const Value> constant = g.value(v).constant;
      if (!constant) continue;
      const Fold& fold = *fold_of(*constant);
      Node n;
      n.op = fold.op;
      n.name = g.value(v).name;
      n.attributes = fold.attributes;
      for (const Fold::Operand& o : fold.from) {
        ValueId operand = no_id;
        if (o.constant) {
          const auto [at, fresh] = made_.try_emplace(o.constant.get(), no_id);
          if (fresh) {
            at->second = g.add_value(g.fresh_name(o.name), type_of(*o.constant));
            g.value(at->second).constant = o.constant;
            g.value(at->second).source = o.source;
          }
          operand = at->second;
          if (becomes_node(*o.constant)) open.push_back(operand);
        }
        n.inputs.push_back(operand);
      }
      g.value(v).constant.reset();
      g.value(v).source.clear();
      forget_in_bodies(g, v);
      n.outputs.push_back(v);
      g.add_node(std::move(n));
    }
  }
  /// Bodies that capture a constant hold it too.
  static void forget_in_bodies(const Graph& g, ValueId v) {
    for (const Use& u : g.uses_of(v)) {
      if (u.input != UINT32_MAX) continue;
      for (const Body& b : g.node(u.node).bodies)
        for (ValueId c : b.graph->captures())
          if (b.graph->value(c).captured == v) {
            b.graph->value(c).constant.reset();
            forget_in_bodies(*b.graph, c);
          }
    }
  }
  static ValueType type_of(const Value& v) {
    const Tensor& t = v.tensor();
    return ValueType::tensor(t.type(), SymShape(t.shape().begin(), t.shape().end()));
  }

  const Folds& folds_;
  const UnfoldFor kind_;
  const uint64_t small_;
  std::map<const Value*, uint64_t> cost_;
  std::map<const Value*, ValueId> made_;  // values of the current graph
};

}  // namespace

void unfold_repeated(Graph& graph, const Folds& folds, UnfoldFor kind) { Unfolding(folds, kind).run(graph); }

}  // namespace lathe
