// Makes queries for kernels from a node of a graph.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "graph/graph.h"
#include "kernel/kernel.h"
#include "kernel/select.h"

namespace lathe {

/// Makes the query for a node of the graph. `contents`: kernels may see the elements of constants.
class NodeQuery {
 public:
  NodeQuery(const Graph& g, const Node& n, Isa isa, bool contents)
      : NodeQuery(g, n.inputs.list(), n.outputs.list(), isa, contents) {}
  NodeQuery(const Graph& g, std::span<const ValueId> inputs, std::span<const ValueId> outputs, Isa isa,
            bool contents) {
    for (ValueId v : inputs) inputs_.push_back(operand(g, v, contents));
    for (ValueId v : outputs) outputs_.push_back(operand(g, v, contents));
    query_ = {.inputs = inputs_, .outputs = outputs_, .isa = isa};
  }
  const KernelQuery& kernel_query() const { return query_; }
  /// The region behind the node, which must outlive the query, and its operands from 1 on.
  void set_epilogue(const Graph& g, const Pointwise& program, std::span<const ValueId> operands) {
    for (ValueId v : operands) epilogue_operands_.push_back(operand(g, v, true));
    query_.epilogue = &program;
    query_.epilogue_operands = epilogue_operands_;
  }
  /// Constants may be exchanged: kernels see their contents for packing alone.
  void set_refit(bool refit) { query_.refit = refit; }

 private:
  static KernelQuery::Operand operand(const Graph& g, ValueId v, bool contents) {
    KernelQuery::Operand o;
    if (v == no_id) return o;
    const ValueType& t = g.value(v).type;
    o.present = true;
    o.type = t.kind == ValueType::Kind::tensor ? t.elem : DataType::undefined;
    o.shape = t.shape;
    o.constant = contents ? g.constant_tensor(v) : nullptr;
    return o;
  }
  std::vector<KernelQuery::Operand> inputs_, outputs_, epilogue_operands_;
  KernelQuery query_;
};

/// Returns what a node does to each element as a program over its inputs, if it can be expressed so.
inline std::optional<Pointwise> program_of(const Graph& g, const Node& n, const KernelCatalog& kernels,
                                           const Preference& preference) {
  const auto* describe = kernels.pointwise_of(n.domain, n.op);
  if (!describe) return std::nullopt;
  const NodeQuery query(g, n, preference.isa, !preference.refit);
  const auto op = kernels.codec_of(n.domain, n.op)->decode(n.attributes);
  return (*describe)(op.get(), query.kernel_query());
}

/// Returns the only instruction of the program, if it is a function of one float.
inline std::optional<Pointwise::Instruction> function_of(const Graph& g, const Node& n,
                                                         const KernelCatalog& kernels,
                                                         const Preference& preference) {
  const auto program = program_of(g, n, kernels, preference);
  if (!program || program->operands != 1 || program->code.size() != 1 || program->code[0].arity != 1 ||
      !program->is_of_floats())
    return std::nullopt;
  return program->code[0];
}

/// Returns whether one of the operator's kernels of a backend declares `what`, such as
/// &Kernel::fuses_epilogue.
inline bool any_kernel(const KernelCatalog& kernels, std::string_view backend, const Node& n,
                       bool Kernel::*what) {
  return std::ranges::any_of(kernels.candidates(n.domain, n.op),
                             [&](const Kernel* k) { return k->backend == backend && k->*what; });
}

/// Returns whether a kernel of the backend can run the node.
inline bool can_run(const Graph& g, const Node& n, const KernelCatalog& kernels, std::string_view backend,
                    const Preference& preference) {
  const NodeQuery query(g, n, preference.isa, true);
  return !tactics_for(kernels, backend, preference.isa, n.domain, n.op, n.attributes, query.kernel_query())
              .empty();
}

}  // namespace lathe
