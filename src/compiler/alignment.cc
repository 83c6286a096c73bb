#include "compiler/alignment.h"

#include <algorithm>

#include "base/file.h"
#include "graph/traverse.h"
#include "plan/weight_use.h"
#include "tensor/alignment.h"

namespace lathe {
namespace {

bool is_odd(const Value& v) { return v.is_tensor() && !is_aligned(v.tensor()); }

/// Returns whether the node is folded, which aligns what it reads, before anything else is done.
bool will_be_folded(const Graph& g, const Node& n) {
  return n.bodies.empty() &&
         std::ranges::all_of(n.inputs, [&](ValueId v) { return v == no_id || g.value(v).is_constant(); });
}

/// A weight that kernels pack, or a table whose rows are copied.
bool is_weight(const Graph& g, const Use& use) {
  const Node& n = g.node(use.node);
  if (!n.domain.empty()) return false;
  if (will_be_folded(g, n)) return true;
  if (n.op == "MatMul" || n.op == "Gemm" || n.op == "Conv") return use.input == 1;
  if (n.op == "LSTM" || n.op == "GRU" || n.op == "RNN") return use.input == 1 || use.input == 2;
  return n.op == "Gather" && use.input == 0;
}

void align_constants_of(Graph& g) {
  const UseIndex uses(g);
  for (ValueId v = 0; v < g.value_count(); ++v) {
    ValueInfo& info = g.value(v);
    if (!info.constant || !is_odd(*info.constant)) continue;
    if (info.captured != no_id) {  // the enclosing graph has aligned it
      info.constant = g.parent()->value(info.captured).constant;
      continue;
    }
    const auto weight = [&](const Use& u) { return u.input != UINT32_MAX && is_weight(g, u); };
    if (info.is_constant() && !g.is_output(v) && std::ranges::all_of(uses.of(v), weight)) continue;
    info.constant = std::make_shared<const Value>(aligned(info.constant->tensor()));
  }
}
}  // namespace

void align_constants(Graph& root) { each_graph(root, align_constants_of); }

void finalize_weights(Plan& plan, const KernelCatalog& kernels) {
  constexpr size_t small = size_t{1} << 16;
  const auto is_small = [](const Value& v) {
    return v.is_tensor() && v.tensor().bytes() <= small && is_mapped(v.tensor().data(), v.tensor().bytes());
  };
  std::vector<bool> read(plan.weights.size());
  each_read(plan, [&](const PlanStep* step, size_t input, uint32_t w) {
    read[w] = true;
    Value& v = plan.weights[w].value;
    const Kernel* const kernel = step ? kernels.by_name(step->kernel) : nullptr;
    const bool any_alignment = kernel && kernel->any_alignment == static_cast<int>(input);
    if (is_small(v) || (is_odd(v) && !any_alignment)) v = v.tensor().clone();
  });
  MappedPages unread;
  for (size_t i = 0; i < read.size(); ++i)
    if (const Value& v = plan.weights[i].value; !read[i] && v.is_tensor())
      unread.drop_soon(v.tensor().data(), v.tensor().bytes());
}

}  // namespace lathe
