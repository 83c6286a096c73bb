#include "targets/cpu/low_bit_matmuls.h"

#include <algorithm>
#include <optional>
#include <set>

#include "passes/pass.h"
#include "targets/cpu/quantized_view.h"
#include "tensor/low_bit.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

/// Smaller matrices are read fast enough as floats.
constexpr int64_t min_low_bit_weights = 4096;
/// With fewer numbers for each scale, most of what is read would be scales.
constexpr int64_t min_block = 8;

bool is_known_float(DataType t) {
  return t == DataType::float32 || t == DataType::float16 || t == DataType::bfloat16;
}

/// Returns whether the shape is that of a parameter for each of `blocks` blocks: [n, blocks, 1].
bool is_for_blocks(const Shape& s, const Shape& numbers) {
  return s.size() == 3 && s[0] == numbers[0] && s[1] == numbers[1] && s[2] == 1;
}

bool transposes_matrix(const Attributes& transpose) {
  const auto perm = transpose.get<Ints>("perm", {});
  return perm.empty() || perm == Ints{1, 0};
}

/// The operator and its inputs, whether it is still a node or has been folded.
struct Made {
  const std::string* op = nullptr;
  const Attributes* attributes = nullptr;
  struct Operand {
    ValueId value = no_id;        // no_id where there is none
    Fold::Operand constant = {};  // null: a run computes it
  };
  std::vector<Operand> from;
};

/// Constant numbers behind a product, with the parameters of their blocks.
struct LowBitWeights {
  Made dequantize = {};
  bool transposed = false;
  bool in_blocks = false;  // blocks are an axis of their own
  Made::Operand minimum = {};
};

class LowBitMatMuls {
 public:
  LowBitMatMuls(Graph& g, const Folds& folds, const KernelCatalog& kernels, const Preference& preference)
      : graph_(g), view_(g, folds), folds_(folds), kernels_(kernels), preference_(preference) {}

  bool run() {
    for (NodeId id : graph_.order()) {
      const Node& n = graph_.node(id);
      if (View::is(n, "MatMul")) convert(id, false);
      if (View::is(n, "Gemm") && is_plain(n)) convert(id, n.attributes.get<int64_t>("transB", 0) != 0);
    }
    for (NodeId id : graph_.order()) {
      const Node& n = graph_.node(id);
      if (View::is(n, "Gather") && n.attributes.get<int64_t>("axis", 0) == 0) convert_gather(id);
    }
    return changed_;
  }

 private:
  static bool is_plain(const Node& gemm) {
    return gemm.attributes.get<float>("alpha", 1) == 1 && gemm.attributes.get<float>("beta", 1) == 1 &&
           gemm.attributes.get<int64_t>("transA", 0) == 0;
  }

  Made::Operand operand(ValueId v) const {
    if (v == no_id) return {};
    const ValueInfo& i = graph_.value(v);
    return {v, {i.is_constant() ? i.constant : nullptr, i.name, i.source}};
  }
  std::optional<Made> made(const Made::Operand& o) const {
    if (const NodeId p = o.value == no_id ? no_id : graph_.value(o.value).producer; p != no_id) {
      const Node& n = graph_.node(p);
      if (!n.domain.empty()) return std::nullopt;
      Made m{&n.op, &n.attributes, {}};
      for (ValueId v : n.inputs) m.from.push_back(operand(v));
      return m;
    }
    const auto fold = o.constant.constant ? folds_.find(o.constant.constant.get()) : folds_.end();
    if (fold == folds_.end() || !fold->second.domain.empty()) return std::nullopt;
    Made m{&fold->second.op, &fold->second.attributes, {}};
    for (const Fold::Operand& c : fold->second.from) m.from.push_back({no_id, c});
    return m;
  }
  std::optional<DataType> type(const Made::Operand& o) const {
    if (o.constant.constant && o.constant.constant->is_tensor()) return o.constant.constant->tensor().type();
    if (o.value == no_id || !graph_.value(o.value).type.is_tensor()) return std::nullopt;
    return graph_.value(o.value).type.elem;
  }
  /// Returns whether the operator is a Cast that only widens.
  bool widens(const Made& m) const {
    if (*m.op != "Cast" || m.from.empty()) return false;
    const auto from = type(m.from[0]);
    return from && is_known_float(*from) &&
           m.attributes->get<int64_t>("to", 0) == static_cast<int64_t>(DataType::float32);
  }

  /// Returns the DequantizeLinear behind an operand, and what is between them.
  std::optional<LowBitWeights> weights(Made::Operand o, bool transposed) const {
    LowBitWeights w;
    w.transposed = transposed;
    for (;;) {
      const auto m = made(o);
      if (!m || m->from.empty()) return std::nullopt;
      if (*m->op == "DequantizeLinear") {
        w.dequantize = *m;
        return w;
      }
      o = m->from[0];
      if (*m->op == "Add" && w.in_blocks && w.minimum.value == no_id && !w.minimum.constant.constant) {
        const bool first = narrow(m->from[0]).constant != nullptr;
        w.minimum = m->from[first ? 0 : 1];
        o = m->from[first ? 1 : 0];
      } else if (w.in_blocks) {
        if (!widens(*m) && *m->op != "Identity") return std::nullopt;
      } else if (*m->op == "Transpose" && transposes_matrix(*m->attributes)) {
        w.transposed = !w.transposed;
      } else if (*m->op == "Reshape" && w.transposed && merges_blocks(*m)) {
        w.in_blocks = true;
      } else if (!widens(*m) && *m->op != "Identity") {
        return std::nullopt;
      }
    }
  }
  /// Returns whether a Reshape takes [n, blocks, block] to [n, blocks * block].
  bool merges_blocks(const Made& reshape) const {
    const Made::Operand& from = reshape.from[0];
    const Made::Operand& shape = reshape.from.size() > 1 ? reshape.from[1] : from;
    if (!shape.constant.constant || from.value == no_id || !graph_.value(from.value).type.shape) return false;
    const SymShape& s = *graph_.value(from.value).type.shape;
    if (s.size() != 3 || !std::ranges::all_of(s, &Dim::is_constant)) return false;
    const Tensor& to = shape.constant.constant->tensor();
    if (to.type() != DataType::int64 || to.size() != 2 ||
        reshape.attributes->get<int64_t>("allowzero", 0) != 0)
      return false;
    const auto sizes = to.as<int64_t>();
    return (sizes[0] == s[0].constant() || sizes[0] == 0 || (sizes[0] == -1 && sizes[1] > 0)) &&
           (sizes[1] == s[1].constant() * s[2].constant() || sizes[1] == -1);
  }

  /// Returns the constant itself, before any Cast to float32.
  Fold::Operand narrow(Made::Operand o) const {
    while (const auto m = made(o)) {
      if (!widens(*m)) break;
      o = m->from[0];
    }
    return o.constant;
  }

  /// The constants of numbers with blocks along the terms of a product, or along a row that is gathered.
  struct Operands {
    Fold::Operand numbers, scale, zero, minimum;  // the last two: null where there is none
    int64_t block = 0;
    bool transposed = false;
  };
  std::optional<Operands> operands_behind(ValueId v, bool transposed) const {
    const auto found = weights(operand(v), transposed);
    if (!found || found->dequantize.from.size() < 2) return std::nullopt;
    const Made& d = found->dequantize;
    Operands o{.numbers = d.from[0].constant,
               .scale = narrow(d.from[1]),
               .zero = d.from.size() > 2 ? d.from[2].constant : Fold::Operand{},
               .minimum = narrow(found->minimum),
               .block = d.attributes->get<int64_t>("block_size", 0),
               .transposed = found->transposed};
    const bool has_zero = d.from.size() > 2 && (d.from[2].value != no_id || o.zero.constant);
    if (!o.numbers.constant || !o.scale.constant || (has_zero && !o.zero.constant)) return std::nullopt;
    const Tensor &numbers = o.numbers.constant->tensor(), &scales = o.scale.constant->tensor();
    const size_t rank = found->in_blocks ? 3 : 2;
    const int64_t terms = found->in_blocks ? 2 : o.transposed ? 1 : 0;
    int64_t axis = d.attributes->get<int64_t>("axis", 1);
    if (axis < 0) axis += static_cast<int64_t>(rank);
    if (numbers.rank() != rank || numbers.size() < min_low_bit_weights || o.block < min_block ||
        axis != terms || scales.rank() != rank)
      return std::nullopt;
    if (!found->in_blocks) return o;
    const auto fits = [&](const Fold::Operand& of_blocks) {
      return is_for_blocks(of_blocks.constant->tensor().shape(), numbers.shape());
    };
    if (numbers.shape()[2] != o.block || !o.minimum.constant || !fits(o.scale) || !fits(o.minimum) ||
        (has_zero && !fits(o.zero)))
      return std::nullopt;
    return o;
  }

  void convert(NodeId id, bool transposed) {
    const Node product = graph_.node(id);
    const auto o = operands_behind(product.inputs[1], transposed);
    if (!o) return;
    Node n = product;
    n.domain = "lathe";
    n.op = "LowBitMatMul";
    n.attributes = {};
    n.attributes.set("block_size", o->block);
    n.attributes.set("transposed", int64_t{o->transposed});
    const ValueId y = product.outputs[0],
                  bias = View::is(product, "Gemm") && product.inputs.size() > 2 ? product.inputs[2] : no_id;
    n.inputs = {product.inputs[0], view_.add(o->numbers), view_.add(o->scale), added_or_none(o->zero)};
    if (o->minimum.constant) n.inputs.push_back(view_.add(o->minimum));
    n.outputs = {
        bias == no_id ? y : graph_.add_value(graph_.fresh_name(graph_.value(y).name), graph_.value(y).type)};
    if (!has_kernel(graph_, n, kernels_, preference_)) return;
    if (o->transposed) multiplied_.insert(o->numbers.constant.get());
    const ValueId sums = n.outputs[0];
    graph_.remove_node(id);
    graph_.add_node(std::move(n));
    changed_ = true;
    if (bias == no_id) return;
    Node add;
    add.op = "Add";
    add.name = product.name;
    add.origin = product.origin;
    add.inputs = {sums, bias};
    add.outputs = {y};
    graph_.add_node(std::move(add));
  }

  void convert_gather(NodeId id) {
    Node n = graph_.node(id);
    const auto o = operands_behind(n.inputs[0], true);
    if (!o || !o->transposed) return;
    n.domain = "lathe";
    n.op = "LowBitGather";
    n.attributes = {};
    n.attributes.set("block_size", o->block);
    n.attributes.set("packed", int64_t{multiplied_.contains(o->numbers.constant.get())});
    n.inputs = {view_.add(o->numbers), n.inputs[1], view_.add(o->scale), added_or_none(o->zero)};
    if (o->minimum.constant) n.inputs.push_back(view_.add(o->minimum));
    if (!has_kernel(graph_, n, kernels_, preference_)) return;
    graph_.remove_node(id);
    graph_.add_node(std::move(n));
    changed_ = true;
  }
  ValueId added_or_none(const Fold::Operand& o) { return o.constant ? view_.add(o) : no_id; }

  Graph& graph_;
  QuantizedView view_;
  const Folds& folds_;
  const KernelCatalog& kernels_;
  const Preference& preference_;
  std::set<const Value*> multiplied_;  // numbers of products, whose rows are their columns
  bool changed_ = false;
};

/// Returns whether only products read the value, as their right operand, with their terms along `axis`, or
/// Gather, of rows along it.
bool is_right_side(const Graph& g, const UseIndex& uses, ValueId v, bool transposed, int64_t axis) {
  const std::vector<Use>& readers = uses.of(v);
  return !readers.empty() && !g.is_output(v) && std::ranges::all_of(readers, [&](const Use& u) {
    const Node& n = g.node(u.node);
    if (u.input == 0 && View::is(n, "Transpose") && transposes_matrix(n.attributes))
      return is_right_side(g, uses, n.outputs[0], !transposed, axis);
    if (u.input == 0 && View::is(n, "Cast")) return is_right_side(g, uses, n.outputs[0], transposed, axis);
    if (u.input == 0 && View::is(n, "Gather"))
      return !transposed && axis == 1 && n.attributes.get<int64_t>("axis", 0) == 0;
    if (u.input != 1) return false;
    const bool trans_b = View::is(n, "Gemm") && n.attributes.get<int64_t>("transB", 0) != 0;
    return (View::is(n, "MatMul") || View::is(n, "Gemm")) && axis == (transposed != trans_b ? 1 : 0);
  });
}

/// Returns the matrix [n, k] that an Add of a constant for each block and a Reshape make of numbers [n,
/// blocks, block]; no_id where there is none.
ValueId matrix_of_blocks(const Graph& g, const UseIndex& uses, const Node& dequantize) {
  ValueId v = dequantize.outputs[0];
  for (std::string_view op : {"Add", "Reshape"}) {
    if (uses.of(v).size() != 1 || g.is_output(v) || uses.of(v)[0].input == UINT32_MAX) return no_id;
    const Node* n = &g.node(uses.of(v)[0].node);
    if (View::is(*n, "Cast")) {
      v = n->outputs[0];
      if (uses.of(v).size() != 1 || g.is_output(v) || uses.of(v)[0].input == UINT32_MAX) return no_id;
      n = &g.node(uses.of(v)[0].node);
    }
    if (!View::is(*n, op) || (op == "Reshape" && n->inputs[0] != v)) return no_id;
    v = n->outputs[0];
  }
  const ValueType& t = g.value(v).type;
  return t.shape && t.shape->size() == 2 ? v : no_id;
}

}  // namespace

bool stays_low_bit(const Graph& g, const UseIndex& uses, const Node& n) {
  if (!View::is(n, "DequantizeLinear") || n.outputs[0] == no_id) return false;
  const Tensor* numbers = g.constant_tensor(n.inputs[0]);
  if (!numbers || !is_low_bit(numbers->type()) || numbers->size() < min_low_bit_weights ||
      !is_known_float(g.value(n.outputs[0]).type.elem) ||
      n.attributes.get<int64_t>("block_size", 0) < min_block)
    return false;
  if (numbers->rank() == 3) {
    const ValueId matrix = matrix_of_blocks(g, uses, n);
    return matrix != no_id && is_right_side(g, uses, matrix, false, 1);
  }
  if (numbers->rank() != 2) return false;
  const int64_t axis = n.attributes.get<int64_t>("axis", 1);
  return is_right_side(g, uses, n.outputs[0], false, axis < 0 ? axis + 2 : axis);
}

bool use_low_bit_matmuls(Graph& graph, const Folds& folds, const KernelCatalog& kernels,
                         const Preference& preference) {
  return LowBitMatMuls(graph, folds, kernels, preference).run();
}

}  // namespace lathe
