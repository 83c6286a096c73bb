// A pass is a rewrite that looks at one node and proposes a patch. The driver (driver.h) applies it and
// checks the result. A pass does no arithmetic on weights: it adds the nodes that do it, and constant folding
// computes them, so that the weight program knows every stored array's origin.
//
// One file a rewrite, src/passes/<name>.pass.cc, with `void pass_<name>(PassList&)`; the build finds it.
#pragma once

#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "lathe/build_options.h"
#include "passes/constant_index.h"
#include "schema/infer.h"

namespace lathe {

/// Constants that may be exchanged later, by address: weights of the file.
using Exchangeable = std::set<const Value*>;

/// A graph as passes see it: with the readers of values and their known contents.
class View {
 public:
  View(const Graph& graph, const UseIndex& uses, const InferState& state, const SchemaCatalog& schemas,
       const Exchangeable& exchangeable, ConstantIndex& constants, bool for_others = false)
      : graph_(graph),
        uses_(uses),
        state_(state),
        schemas_(schemas),
        exchangeable_(exchangeable),
        constants_(constants),
        for_others_(for_others) {}

  const Graph& graph() const { return graph_; }
  const Node& node(NodeId n) const { return graph_.node(n); }
  const OpSchema* schema(const Node& n) const { return schemas_.find(n.domain, n.op); }
  /// True if the node is this operator of ai.onnx.
  static bool is(const Node& n, std::string_view op) { return n.op == op && n.domain.empty(); }
  NodeId producer(ValueId v) const { return v == no_id ? no_id : graph_.value(v).producer; }
  /// The node of this operator that makes `v` as its first output; null when something else does.
  const Node* made_by(ValueId v, std::string_view op) const;

  const ValueType& type(ValueId v) const;
  std::optional<size_t> rank(ValueId v) const;
  /// True if both are tensors of known types, equal in element type and shape.
  bool same_type(ValueId a, ValueId b) const;

  const std::vector<Use>& uses(ValueId v) const { return uses_.of(v); }
  bool is_output(ValueId v) const { return graph_.is_output(v); }
  /// Returns whether the graph is saved for other runtimes, of which some do not accept all of the standard.
  bool for_others() const { return for_others_; }
  /// True if the value is read once, by an input of a node of this graph, and is not an output of it.
  bool read_once(ValueId v) const {
    return uses(v).size() == 1 && uses(v)[0].input != UINT32_MAX && !is_output(v);
  }

  /// A constant tensor that no input of the graph can override, for its type and shape; null when it is none.
  const Tensor* constant(ValueId v) const;
  bool is_constant(ValueId v) const { return constant(v) != nullptr; }
  /// A constant whose elements a rewrite may depend on; null also for weights that may be exchanged later.
  const Tensor* contents(ValueId v) const;
  /// Returns whether it is a weight that may be exchanged later.
  bool is_exchangeable(const std::shared_ptr<const Value>& constant) const {
    return exchangeable_.contains(constant.get());
  }
  /// The first constant of the graph whose contents are those of constant `v`; else `v` itself.
  ValueId first_like(ValueId v) const;
  /// The number that all elements of a (small) constant equal.
  std::optional<double> uniform(ValueId v) const;
  /// The elements of a small integer tensor, computed or constant, if all are known numbers. Nothing for
  /// weights that may be exchanged: shape inference does not depend on them.
  std::optional<std::vector<int64_t>> integers(ValueId v) const;
  /// The same, if some are known by their symbols only.
  std::optional<std::vector<Dim>> sizes(ValueId v) const;

 private:
  const Graph& graph_;
  const UseIndex& uses_;
  const InferState& state_;
  const SchemaCatalog& schemas_;
  const Exchangeable& exchangeable_;
  ConstantIndex& constants_;
  bool for_others_;
};

struct Pass {
  std::string_view name;         // "eliminate-identity"
  std::string_view description;  // one sentence, for people
  OptimizationLevel level;
  std::vector<std::string_view> anchors;  // operators of ai.onnx that it looks at; empty: every node
  /// A patch, or nothing. `anchor` is alive.
  std::optional<Patch> (*propose)(const View& view, NodeId anchor);
  /// False: runs only if it is switched on by name, because kernels do not yet make it worthwhile.
  bool by_default = true;
  /// Its results agree with those that it replaces wherever these are finite for finite inputs.
  bool finite_only = false;
  /// The pass itself makes sure that a run still refuses what the removed nodes refused. Of other passes the
  /// driver declines patches that leave out a change of shape which might be refused (checks.h).
  bool keeps_checks = false;
  /// Its results are faster with this library's kernels only: it does not run for models that are saved.
  bool for_own_kernels = false;
};

using PassList = std::vector<Pass>;
/// In the order of their files' names. Immutable.
const PassList& all_passes();

/// Removes the node, whose readers read `by` instead. Returns nothing if it makes an output of the graph:
/// outputs keep their names.
std::optional<Patch> forward(const View& view, NodeId node, ValueId by, std::string reason);

}  // namespace lathe
