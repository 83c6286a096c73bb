// Common subexpressions: of two nodes that compute the same from the same inputs, one is removed.
#include <algorithm>
#include <set>
#include <vector>

#include "graph/traverse.h"
#include "passes/pass.h"

namespace lathe {
namespace {

/// At most this many readers of a value are compared: a value that everything reads (a constant)
/// distinguishes little.
constexpr size_t max_readers = 256;

bool equal(const AttributeValue& a, const AttributeValue& b) {
  if (a.index() != b.index()) return false;
  if (const Tensor* t = std::get_if<Tensor>(&a)) return same_contents(*t, std::get<Tensor>(b));
  if (const auto* list = std::get_if<std::vector<Tensor>>(&a))
    return std::ranges::equal(*list, std::get<std::vector<Tensor>>(b), same_contents);
  return std::visit(
      [&]<class T>(const T& x) {
        if constexpr (std::is_same_v<T, Tensor> || std::is_same_v<T, std::vector<Tensor>>)
          return false;  // above
        else
          return x == std::get<T>(b);
      },
      a);
}

/// Returns the value of a node's attribute, or the default of its signature if the node has none.
const AttributeValue* attribute_or_default(const Node& n, const OpSchema& schema, std::string_view name) {
  if (const AttributeValue* v = n.attributes.find(name)) return v;
  const AttributeDecl* declared = schema.newest().signature().attribute(name);
  return declared && declared->fallback ? &*declared->fallback : nullptr;
}

bool same_attributes(const Node& a, const Node& b, const OpSchema& schema) {
  const auto agrees = [&](const Node& with, const Attributes::Entry& e) {
    const AttributeValue* other = attribute_or_default(with, schema, e.name);
    return other && equal(e.value, *other);
  };
  return std::ranges::all_of(a.attributes, [&](const auto& e) { return agrees(b, e); }) &&
         std::ranges::all_of(b.attributes, [&](const auto& e) { return agrees(a, e); });
}

/// Inputs may be left out by an empty name or by a shorter list.
bool same_inputs(const Node& a, const Node& b) {
  const auto at = [](const Node& n, size_t i) { return i < n.inputs.size() ? n.inputs[i] : no_id; };
  for (size_t i = 0; i < std::max(a.inputs.size(), b.inputs.size()); ++i)
    if (at(a, i) != at(b, i)) return false;
  return true;
}

bool same_computation(const Node& a, const Node& b, const OpSchema& schema) {
  return a.op == b.op && a.domain == b.domain && a.overload == b.overload && same_inputs(a, b) &&
         a.bodies.empty() && b.bodies.empty() && same_attributes(a, b, schema);
}

/// Returns whether node `of` depends on results of `node`.
bool depends_on(const View& view, NodeId of, NodeId node) {
  std::set<NodeId> seen{of};
  for (std::vector<NodeId> open{of}; !open.empty();) {
    const NodeId next = open.back();
    open.pop_back();
    if (next == node) return true;
    const auto follow = [&](ValueId v) {
      if (v == no_id) return;
      const NodeId made_by = view.producer(v);
      if (made_by != no_id && seen.insert(made_by).second) open.push_back(made_by);
    };
    each_read(view.node(next), follow);
  }
  return false;
}

/// Takes the sizes of two values of the same shape from one of them: every layer of a decoder takes the
/// number of keys from its own keys, and what follows from it is then computed once for all.
std::optional<Patch> same_sizes(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const auto sizes = view.sizes(n.outputs[0]);
  if (!sizes || sizes->empty() || view.is_output(n.outputs[0]) ||
      std::ranges::any_of(*sizes, [](const Dim& d) { return d.has_unknown(); }))
    return std::nullopt;
  for (NodeId other = 0; other < view.graph().node_count(); ++other) {
    const Node& o = view.node(other);
    if (other == id || !o.alive || !View::is(o, "Shape") || view.sizes(o.outputs[0]) != sizes ||
        depends_on(view, other, id))
      continue;
    Patch p("'" + o.name + "' gives the same sizes");
    p.replace_uses(n.outputs[0], o.outputs[0]);
    p.remove(id);
    return p;
  }
  return std::nullopt;
}

std::optional<Patch> propose_share_results(const View& view, NodeId id) {
  const Node& n = view.node(id);
  const OpSchema* schema = view.schema(n);
  if (!schema || !schema->deterministic() || n.inputs.empty() || !n.bodies.empty()) return std::nullopt;
  ValueId rarest = no_id;
  for (ValueId v : n.inputs)
    if (v != no_id && (rarest == no_id || view.uses(v).size() < view.uses(rarest).size())) rarest = v;
  if (rarest == no_id || view.uses(rarest).size() > max_readers) return std::nullopt;
  for (const Use& u : view.uses(rarest)) {
    if (u.node == id) continue;
    const Node& other = view.node(u.node);
    if (!same_computation(n, other, *schema)) continue;
    // Outputs of the graph keep their own names, and so their nodes.
    const auto fits = [&](size_t i) {
      return n.outputs[i] == no_id ||
             (i < other.outputs.size() && other.outputs[i] != no_id && !view.is_output(n.outputs[i]));
    };
    bool all_fit = true;
    for (size_t i = 0; i < n.outputs.size(); ++i) all_fit = all_fit && fits(i);
    if (!all_fit) continue;
    Patch p("computed already by '" + other.name + "'");
    for (size_t i = 0; i < n.outputs.size(); ++i)
      if (n.outputs[i] != no_id) p.replace_uses(n.outputs[i], other.outputs[i]);
    p.remove(id);
    return p;
  }
  return View::is(n, "Shape") ? same_sizes(view, id) : std::nullopt;
}

}  // namespace

void pass_share_results(PassList& all) {
  all.push_back({.name = "share-results",
                 .description = "computes common subexpressions once",
                 .level = OptimizationLevel::basic,
                 .anchors = {},
                 .propose = propose_share_results});
}

}  // namespace lathe
