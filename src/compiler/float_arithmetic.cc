#include "compiler/float_arithmetic.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string_view>

#include "compiler/makers.h"
#include "compiler/node_query.h"
#include "tensor/element.h"

namespace lathe {
namespace {

/// Constants up to this many elements are widened when the engine is built: biases, scales.
constexpr int64_t small_constant = 4096;

bool is_f16(const ValueType& t) {
  return t.kind == ValueType::Kind::tensor && (t.elem == DataType::float16 || t.elem == DataType::bfloat16);
}

class Widening {
 public:
  Widening(Graph& g, const Preference& preference, const FloatArithmetic& options)
      : graph_(g), preference_(preference), options_(options) {}

  bool run() {
    bool changed = false;
    for (NodeId id : graph_.order()) {
      for (ValueId& v : graph_.node(id).inputs)
        if (const auto at = instead_.find(v); at != instead_.end()) v = at->second;
      for (const Body& b : graph_.node(id).bodies) changed |= Widening(*b.graph, preference_, options_).run();
      const Node& n = graph_.node(id);
      if ((n.op == "Cast" || n.op == "CastLike") && n.domain.empty()) {
        pass_cast(id);
      } else if (should_widen(graph_.node(id))) {
        widen(id);
        changed = true;
      }
    }
    return changed;
  }

 private:
  bool is_f16(ValueId v) const { return v != no_id && lathe::is_f16(graph_.value(v).type); }

  /// 16-bit operators that calculate in float32 need not heed a Cast to 16 bits, and a Cast of their results
  /// to float32 does nothing. A Cast to 16 bits and back is there to round, and stays.
  void pass_cast(NodeId id) {
    Node& n = graph_.node(id);
    const ValueId x = n.inputs[0], y = n.outputs[0];
    if (y == no_id || graph_.value(x).type.kind != ValueType::Kind::tensor) return;
    const DataType from = graph_.value(x).type.elem, to = graph_.value(y).type.elem;
    if (from == DataType::float32 && is_f16(y)) {
      if (options_.as_written) return;
      form_[y] = x;
      unheeded_.insert(y);
    } else if (to == DataType::float32 && computed(x) && !unheeded_.contains(x)) {
      n.op = "Identity";
      n.inputs = {form_.at(x)};
      n.attributes = {};
      instead_[y] = n.inputs[0];  // an output or a body may still need it under that name
    }
  }

  /// Returns whether there is a float32 form that has not been rounded.
  bool computed(ValueId v) const { return form_.contains(v) && !rounded_.contains(v); }

  bool should_widen(const Node& n) const {
    const auto half = [&](ValueId v) { return is_f16(v); };
    if (!n.bodies.empty() ||
        (std::ranges::none_of(n.inputs, half) && std::ranges::none_of(n.outputs, half)) || !may_be_float(n))
      return false;
    bool fast = false;
    for (const Kernel* k : options_.kernels->candidates(n.domain, n.op)) fast |= is_preferred(*k);
    if (!fast) return false;
    if (!accepted(n)) return true;
    return !writes_into(n) &&
           std::ranges::any_of(n.inputs, [&](ValueId v) { return v != no_id && computed(v); });
  }

  /// Returns whether the operator takes float32 instead, and the types of its results follow from those of
  /// its operands.
  bool may_be_float(const Node& n) const {
    const OpSchema* schema = options_.schemas->find(n.domain, n.op);
    if (!schema || schema->infer_function()) return false;
    // QuantizeLinear divides in the type of its scale.
    if (n.op == "QuantizeLinear" && is_f16(n.inputs[1])) return false;
    const Signature& s = schema->newest().signature();
    const ValueType wide = ValueType::tensor(DataType::float32);
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (n.inputs[i] == no_id) continue;
      if (graph_.value(n.inputs[i]).type.kind != ValueType::Kind::tensor) return false;
      const TypeVariable* v = s.variable(s.input(i).type);
      if (is_f16(n.inputs[i]) && !(v && v->allows(wide))) return false;
    }
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (!is_f16(n.outputs[o])) continue;
      bool bound = false;
      for (size_t i = 0; i < n.inputs.size(); ++i)
        bound |= is_f16(n.inputs[i]) && s.input(i).type == s.output(o).type;
      if (!bound) return false;
    }
    return true;
  }

  bool is_preferred(const Kernel& k) const {
    return k.backend != "reference" && k.isa <= preference_.isa &&
           std::ranges::find(preference_.backends, k.backend) != preference_.backends.end();
  }

  /// Returns whether a kernel other than the reference supports the node and checks the types of the operands
  /// `mixed`: one that would accept complex numbers there too takes them for what the others are.
  bool accepted(const Node& n, std::span<const size_t> mixed = {}) const {
    const NodeQuery query(graph_, n, preference_.isa, true);
    const OpCodec* codec = options_.kernels->codec_of(n.domain, n.op);
    return std::ranges::any_of(options_.kernels->candidates(n.domain, n.op), [&](const Kernel* k) {
      if (!is_preferred(*k)) return false;
      if (!k->supports) return mixed.empty();
      const auto op = decode_for(*k, *codec, n.attributes);
      return k->supports(op.get(), query.kernel_query()).accepted &&
             std::ranges::all_of(mixed, [&](size_t i) {
               std::vector<KernelQuery::Operand> inputs(query.kernel_query().inputs.begin(),
                                                        query.kernel_query().inputs.end());
               inputs[i].type = DataType::complex64;
               KernelQuery other = query.kernel_query();
               other.inputs = inputs;
               return !k->supports(op.get(), other).accepted;
             });
    });
  }

  void widen(NodeId id) {
    Node n = graph_.node(id);
    if (n.op == "Clip") bound(n);
    // Operators that move elements move unrounded ones, so a Cast of the model would round their results too.
    const bool unheeded =
        accepted(n) && std::ranges::any_of(n.inputs, [&](ValueId v) { return unheeded_.contains(v); });
    std::vector<size_t> small_inputs, small_outputs;  // may stay in 16 bits
    for (size_t i = 0; i < n.inputs.size(); ++i) {
      if (!is_f16(n.inputs[i])) continue;
      if (options_.mixed && (is_large(n.inputs[i]) || is_key_or_value(n, i)))
        small_inputs.push_back(i);
      else
        n.inputs.set(i, widened(n.inputs[i]));
    }
    std::vector<std::pair<ValueId, ValueId>> narrow;  // a result in float32, and as it was
    const auto widen_result = [&](size_t output) {
      const ValueId v = n.outputs[output];
      const ValueId wide = add_float(v);
      narrow.emplace_back(wide, v);
      if (!options_.as_written) {
        form_[v] = wide;
        if (unheeded) unheeded_.insert(v);
        graph_.value(wide).written = graph_.value(v).type.elem;
      }
      n.outputs.set(output, wide);
    };
    for (size_t o = 0; o < n.outputs.size(); ++o) {
      if (!is_f16(n.outputs[o])) continue;
      if (options_.mixed && hands_on(n, o))
        small_outputs.push_back(o);
      else
        widen_result(o);
    }
    if ((!small_inputs.empty() || !small_outputs.empty()) && !accepted(n, small_inputs)) {
      for (size_t i : small_inputs) n.inputs.set(i, widened(n.inputs[i]));
      for (size_t o : small_outputs) widen_result(o);
    }
    graph_.remove_node(id);
    graph_.add_node(std::move(n));
    for (const auto& [wide, v] : narrow) add_cast(graph_, wide, v);
  }

  bool is_large(ValueId v) const {
    const Tensor* t = graph_.constant_tensor(v);
    return t && t->size() > small_constant;
  }
  static bool is_attention(const Node& n) { return n.op == "Attention" && n.domain.empty(); }
  /// True for keys and values of earlier calls, and for those that the model keeps in 16 bits.
  bool is_key_or_value(const Node& n, size_t input) const {
    if (!is_attention(n)) return false;
    return input == 4 || input == 5 || ((input == 1 || input == 2) && !computed(n.inputs[input]));
  }
  static bool hands_on(const Node& n, size_t output) {
    return is_attention(n) && (output == 1 || output == 2);
  }
  /// Returns whether the node writes rows into a 16-bit tensor that exists, such as a cache. Sums are better
  /// computed in float32, so it must have no reduction.
  bool writes_into(const Node& n) const {
    static constexpr std::string_view writers[] = {"TensorScatter", "ScatterND", "ScatterElements"};
    return n.domain.empty() && std::ranges::find(writers, n.op) != std::end(writers) &&
           n.attributes.get<std::string>("reduction", "none") == "none" && !computed(n.inputs[0]);
  }

  /// A bound that is left out is the greatest number of the type, which is another one in float32.
  void bound(Node& n) {
    n.inputs.resize(3, no_id);
    const float greatest =
        graph_.value(n.inputs[0]).type.elem == DataType::float16 ? 65504.0f : to_float(BFloat16{0x7f7f});
    for (const auto& [i, by] : {std::pair(1, -greatest), std::pair(2, greatest)}) {
      const auto at = static_cast<size_t>(i);
      if (!n.inputs.has(at))
        n.inputs.set(at, graph_.add_constant(graph_.fresh_name("bound"), Tensor::scalar(by)));
    }
  }

  ValueId widened(ValueId v) {
    if (const auto at = form_.find(v); at != form_.end()) return at->second;
    rounded_.insert(v);
    form_[v] = add_float(v);
    add_cast(graph_, v, form_[v]);
    return form_[v];
  }

  ValueId add_float(ValueId v) {
    ValueType type = graph_.value(v).type;
    type.elem = DataType::float32;
    return graph_.add_value(graph_.fresh_name(graph_.value(v).name + ".float"), std::move(type));
  }

  Graph& graph_;
  const Preference& preference_;
  const FloatArithmetic& options_;
  std::map<ValueId, ValueId> form_;     // float32 forms of 16-bit values
  std::set<ValueId> unheeded_;          // 16-bit values whose form a Cast of the model would round
  std::set<ValueId> rounded_;           // values whose form was widened from their 16 bits
  std::map<ValueId, ValueId> instead_;  // for casts that do nothing, what they read
};

}  // namespace

bool use_float_arithmetic(Graph& graph, const Preference& preference, const FloatArithmetic& options) {
  return Widening(graph, preference, options).run();
}

}  // namespace lathe
