#include "compiler/fold.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "compiler/target.h"
#include "compiler/weights.h"
#include "eval/eval.h"
#include "passes/transposed_weights.h"
#include "runtime/read_buffer.h"
#include "tensor/alignment.h"
#include "tensor/contents.h"

namespace lathe {
namespace {

/// Weights of so many bytes or more are read from their file.
constexpr size_t large = size_t{1} << 20;

class Folder {
 public:
  explicit Folder(const FoldOptions& o) : options_(o), left_(o.limit) {}

  void run(Graph& g) {
    for (ValueId c : g.captures())
      if (const ValueInfo& outer = g.parent()->value(g.value(c).captured); outer.is_constant()) {
        g.value(c).constant = outer.constant;
        g.value(c).type = outer.type;
      }
    std::optional<UseIndex> uses;  // found when they are needed
    for (NodeId id : g.order()) {
      if (options_.control) options_.control->check();
      if (!foldable(g, g.node(id)) || stays_quantized(g, g.node(id), uses) ||
          keeps_transpose(g, g.node(id), uses) || !fold(g, id, uses))
        for (const Body& b : g.node(id).bodies) run(*b.graph);
    }
  }
  Folds take() { return std::move(made_); }

 private:
  bool foldable(const Graph& g, const Node& n) const {
    if (!n.bodies.empty() || !options_.kernels->reference_of(n.domain, n.op)) return false;
    // Nodes that the builder made have no schema, and are never random.
    const OpSchema* schema = options_.schemas->find(n.domain, n.op);
    if (schema ? !schema->deterministic() : n.domain != "lathe") return false;
    if (options_.weights_only &&
        std::ranges::any_of(n.outputs, [&](ValueId v) { return may_be_followed(g, v); }))
      return false;
    const auto constant = [&](ValueId v) { return v == no_id || g.value(v).is_constant(); };
    return std::ranges::all_of(n.inputs, constant) && std::ranges::all_of(n.outputs, [&](ValueId v) {
             return v == no_id || g.value(v).type.is_tensor();
           });
  }

  /// True for integers and booleans of which there are few, or an unknown number.
  static bool may_be_followed(const Graph& g, ValueId v) {
    const ValueType& t = g.value(v).type;
    if (t.elem != DataType::int64 && t.elem != DataType::int32 && t.elem != DataType::boolean) return false;
    if (!t.shape) return true;
    int64_t count = 1;
    for (const Dim& d : *t.shape) {
      if (!d.is_constant()) return true;
      count = std::min(count * std::min(d.constant(), max_tracked_values + 1), max_tracked_values + 1);
    }
    return count <= max_tracked_values;
  }

  bool stays_quantized(const Graph& g, const Node& n, std::optional<UseIndex>& uses) const {
    using D = FoldOptions::Dequantize;
    if (n.op != "DequantizeLinear" || options_.dequantize == D::all) return false;
    if (options_.dequantize == D::none) return true;
    if (!uses) uses.emplace(g);
    return std::ranges::any_of(built_in_targets(), [&](const Target& t) {
      return t.keeps_integers && t.keeps_integers(g, *uses, n);
    });
  }

  bool keeps_transpose(const Graph& g, const Node& n, std::optional<UseIndex>& uses) const {
    if (!options_.leave_transposes || n.op != "Transpose") return false;
    if (!uses) uses.emplace(g);
    return is_transpose_for_products(g, n, [&](ValueId v) -> const std::vector<Use>& { return uses->of(v); });
  }

  bool fold(Graph& g, NodeId id, std::optional<UseIndex>& uses) {
    const Node n = g.node(id);
    std::vector<Value> inputs;
    std::vector<Fold::Operand> from;
    bool copied = false;
    for (ValueId v : n.inputs) {
      from.push_back(v == no_id ? Fold::Operand{}
                                : Fold::Operand{g.value(v).constant, g.value(v).name, source_of(g, v)});
      inputs.push_back(v == no_id ? Value() : readable(*from.back().constant, copied));
    }
    std::vector<DataType> types;
    for (ValueId v : n.outputs) types.push_back(v == no_id ? DataType::undefined : g.value(v).type.elem);
    std::vector<Value> results;
    if (options_.limit == 0) return false;
    const uint64_t left = left_ + std::min(freed_by(g, id, uses), UINT64_MAX - left_);
    if (left == 0) return false;
    try {
      results = evaluate_node(
          g, id, inputs, {.kernels = options_.kernels, .control = options_.control, .memory_limit = left});
    } catch (const Error& e) {
      if (e.code() == Code::cancelled || e.code() == Code::deadline) throw;
      return false;
    }
    drop_pages(from);
    uint64_t bytes = 0;
    for (const Value& v : results) bytes += v.is_tensor() ? v.tensor().bytes() : 0;
    if (bytes > left) return false;
    left_ = left - bytes;
    g.remove_node(id);
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (n.outputs[i] == no_id) continue;
      auto constant = std::make_shared<const Value>(owned(results[i]));
      made_[constant.get()] = {n.op, n.domain, n.attributes, from, types, static_cast<uint32_t>(i), constant};
      ValueInfo& v = g.value(n.outputs[i]);
      v.constant = std::move(constant);
      v.type.shape = SymShape(results[i].tensor().shape().begin(), results[i].tensor().shape().end());
    }
    return true;
  }

  /// The bytes of weights that only this node reads: its results replace them.
  static uint64_t freed_by(const Graph& g, NodeId id, std::optional<UseIndex>& uses) {
    uint64_t bytes = 0;
    for (ValueId v : std::set<ValueId>(g.node(id).inputs.begin(), g.node(id).inputs.end())) {
      if (v == no_id || g.value(v).source.empty() || !g.value(v).constant->is_tensor()) continue;
      if (!uses) uses.emplace(g);
      const bool alone =
          !g.is_output(v) && std::ranges::all_of(uses->of(v), [&](const Use& u) { return u.node == id; });
      if (alone) bytes += g.value(v).constant->tensor().bytes();
    }
    return bytes;
  }

  /// Returns a value whose elements can be read, at an aligned address. One large weight of a node is
  /// `copied` into memory that is reused for the next one.
  Value readable(const Value& v, bool& copied) {
    if (!v.is_tensor()) return v;
    if (!copied && v.tensor().bytes() >= large)
      if (const std::optional<Tensor> copy = buffer_.copy(v.tensor())) {
        copied = true;
        return *copy;
      }
    return aligned(v.tensor());
  }
  /// Drops the pages of large weights that have been folded: they are seldom read again.
  static void drop_pages(const std::vector<Fold::Operand>& read) {
    constexpr size_t worth_it = size_t{1} << 16;
    for (const Fold::Operand& o : read)
      if (o.constant && o.constant->is_tensor() && o.constant->tensor().bytes() >= worth_it)
        drop_mapped_pages(o.constant->tensor().data(), o.constant->tensor().bytes());
  }

  const FoldOptions& options_;
  uint64_t left_;
  Folds made_;
  ReadBuffer buffer_;
};

}  // namespace

Folds fold_constants(Graph& graph, const FoldOptions& options) {
  Folder f(options);
  f.run(graph);
  return f.take();
}

}  // namespace lathe
