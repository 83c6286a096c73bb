#include "passes/refused_nodes.h"

#include <functional>
#include <map>

#include "graph/traverse.h"
#include "ops/refused/refused.h"

namespace lathe {

void refuse_node(Graph& g, NodeId id, const Diagnostic& fault) {
  // Import already knew all types and numbers of operands.
  if (fault.code == Code::node_bad_type || fault.code == Code::node_bad_arity) return;
  Node& n = g.node(id);
  const auto set = [&](const char* name, AttributeValue v) { n.attributes.set(name, std::move(v)); };
  set("refused_op", n.op);
  set("refused_domain", n.domain);
  set("refused_code", static_cast<int64_t>(fault.code));
  set("refused_expected", fault.expected);
  set("refused_got", fault.got);
  set("refused_remedy", fault.remedy);
  n.op = refused_operator;
  n.domain = "lathe";
}

/// Refuses the nodes whose faults are noted while `infer` runs. Noting ends when it returns or throws.
static void refuse_noted(InferState& state, const std::function<void()>& infer) {
  std::map<InferState::Fault, Diagnostic> faults;
  state.faults = &faults;
  try {
    infer();
  } catch (...) {
    state.faults = nullptr;
    throw;
  }
  state.faults = nullptr;
  for (const auto& [at, fault] : faults) refuse_node(*at.graph, at.node, fault);
}

void refuse_faulty_nodes(Graph& root, const SchemaCatalog& schemas, InferState& state) {
  state.declare_bodies(root);
  refuse_noted(state, [&] { infer_graph(root, schemas, state); });
}

void refuse_if_faulty(Graph& g, NodeId n, const SchemaCatalog& schemas, InferState& state) {
  refuse_noted(state, [&] { infer_or_note(g, n, schemas, state); });
}

namespace {
void restore(Graph& g) {
  for (NodeId id = 0; id < g.node_count(); ++id) {
    Node& n = g.node(id);
    if (!n.alive || n.op != refused_operator || n.domain != "lathe") continue;
    n.op = n.attributes.get<std::string>("refused_op", "");
    n.domain = n.attributes.get<std::string>("refused_domain", "");
    for (const char* name : {"refused_op", "refused_domain", "refused_code", "refused_expected",
                             "refused_got", "refused_remedy"})
      n.attributes.erase(name);
  }
}
}  // namespace

void restore_refused_nodes(Graph& root) { each_graph(root, restore); }

}  // namespace lathe
