#include "verify/fault_localizer.h"

#include <algorithm>
#include <tuple>

#include "compiler/regions.h"
#include "verify/stateful_run.h"

namespace lathe {
namespace {

std::string joined(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& w : items) text += (text.empty() ? "" : ", ") + w;
  return text;
}

/// "MatMul fc, Add shift".
std::string list_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  constexpr size_t most = 8;
  std::vector<std::string> items;
  for (NodeId id : nodes)
    if (items.size() < most) items.push_back(graph.node(id).op + " " + label_of(graph, graph.node(id)));
  return joined(items) + (nodes.size() > most ? ", …" : "");
}

std::vector<std::string> labels_of(const Graph& graph, const std::vector<NodeId>& nodes) {
  std::vector<std::string> list;
  for (NodeId id : nodes) list.push_back(label_of(graph, graph.node(id)));
  return list;
}

/// Every node of a graph and of its bodies, producers first, bodies before the node that has them.
void all_nodes(const Graph& graph, std::vector<std::pair<const Graph*, NodeId>>& list) {
  for (NodeId id : graph.order()) {
    for (const Body& b : graph.node(id).bodies) all_nodes(*b.graph, list);
    list.emplace_back(&graph, id);
  }
}

bool has_node(const Graph& graph, NodeId id, const std::string& name) {
  const Node& n = graph.node(id);
  if (n.name == name) return true;
  return std::ranges::any_of(n.bodies, [&](const Body& b) {
    const std::vector<NodeId> inner = b.graph->order();
    return std::ranges::any_of(inner, [&](NodeId i) { return has_node(*b.graph, i, name); });
  });
}

/// Other ones in every run: no two can be compared.
bool draws_random_numbers(const Graph& graph, const SchemaCatalog& schemas) {
  const std::vector<NodeId> order = graph.order();
  return std::ranges::any_of(order, [&](NodeId id) {
    const Node& n = graph.node(id);
    const OpSchema* schema = schemas.find(n.domain, n.op);
    const bool training = View::is(n, "Dropout") && n.inputs.size() > 2 && n.inputs[2] != no_id;
    if ((training || (schema && !schema->deterministic())) && !n.attributes.has("seed")) return true;
    return std::ranges::any_of(n.bodies,
                               [&](const Body& b) { return draws_random_numbers(*b.graph, schemas); });
  });
}

std::vector<ValueId> outputs_of(const Graph& graph, NodeId id) {
  std::vector<ValueId> list;
  for (ValueId v : graph.node(id).outputs)
    if (v != no_id) list.push_back(v);
  return list;
}

/// The first number for which `wrong` holds, given that it does for `n` and then for all that follow.
template <class F>
size_t first_wrong(size_t n, F&& wrong) {
  size_t right = 0;
  while (n - right > 1) {
    const size_t middle = right + (n - right) / 2;
    (wrong(middle) ? n : right) = middle;
  }
  return n;
}

}  // namespace

std::optional<FaultLocalizer::Fault> FaultLocalizer::find() const {
  if (draws_random_numbers(run_.model, variants_.schemas())) return std::nullopt;
  const Optimum all = variants_.optimized(run_.model, run_.level);
  if (auto f = faulty_pass(all.patches.size())) return f;
  return faulty_step(all);
}

// Passes

bool FaultLocalizer::right_after(size_t patches) const {
  progress_("the graph after " + std::to_string(patches) + " patches");
  const Optimum o = variants_.optimized(run_.model, run_.level, patches);
  try {
    return tolerance_difference(variants_.evaluate(*o.graph, run_.inputs), run_.want,
                                output_names(run_.model), run_.held)
        .within;
  } catch (const Error& e) {
    if (stops_everything(e)) throw;
    return false;
  }
}

std::optional<size_t> FaultLocalizer::faulty_change(size_t n, const std::function<bool(size_t)>& right) {
  if (n == 0 || right(n) || !right(0)) return std::nullopt;
  return first_wrong(n, [&](size_t after) { return !right(after); });
}

std::optional<FaultLocalizer::Fault> FaultLocalizer::faulty_pass(size_t patches) const {
  const auto n = faulty_change(patches, [&](size_t after) { return after == 0 || right_after(after); });
  return n ? report_patch(*n, patches) : std::nullopt;
}

/// Compares the values that the patch replaced with their replacements. Everything before them is the same.
Difference FaultLocalizer::across(const Graph& before, const Graph& after, const PatchTraces& traces,
                                  const std::vector<double>& slack) const {
  std::vector<ValueId> from, to;
  std::vector<std::string> names;
  for (const auto& [f, t] : traces.replaced) {
    from.push_back(f);
    to.push_back(t);
    names.push_back(before.value(f).name);
  }
  const auto list = [](const Values& known, const std::vector<ValueId>& wanted) {
    std::vector<Value> values;
    for (ValueId v : wanted) values.push_back(known.contains(v) ? known.at(v) : Value());
    return values;
  };
  return tolerance_difference(list(values_of(after, to), to), list(values_of(before, from), from), names,
                              run_.held, slack);
}

std::optional<FaultLocalizer::Fault> FaultLocalizer::report_patch(size_t number, size_t of) const {
  const Optimum before = variants_.optimized(run_.model, run_.level, number - 1),
                after = variants_.optimized(run_.model, run_.level, number);
  const Graph& g = *before.graph;
  const AppliedPatch& patch = after.patches.back();
  const PatchTraces traces = patch_traces(g, *after.graph);
  std::vector<ValueId> replaced;
  for (const auto& [from, to] : traces.replaced) replaced.push_back(from);
  const std::vector<NodeId> old = nodes_for(g, replaced, traces.known);
  const auto piece = piece_of(g, old, replaced);
  const Difference d = across(g, *after.graph, traces, piece ? piece->slack : std::vector<double>());
  if (d.within) return std::nullopt;

  std::string op;
  for (NodeId id : g.order())
    if (g.node(id).name == patch.node) op = g.node(id).op;
  Fault f = report_fault(Fault::Kind::pass, patch.node, op, reproduce_grown(g, replaced, traces.known));
  f.pass = patch.pass;
  f.reason = patch.reason;
  f.nodes = labels_of(g, old);
  f.diagnostic.expected = d.expected;
  f.diagnostic.got = d.got + " after pass " + f.pass + " ('" + f.reason + "', patch " +
                     std::to_string(number) + " of " + std::to_string(of) + ": " + list_of(g, old) +
                     (traces.made.empty() ? "" : " became " + list_of(*after.graph, traces.made)) + ")";
  f.diagnostic.remedy = "--passes=-" + f.pass + " leaves the pass out; please report it";
  return f;
}

// Steps

std::vector<Value> FaultLocalizer::run(const Engine& engine) const {
  Context context = engine.create_context();
  return run_statefully(engine, context, run_.inputs, variants_.options().control);
}

std::optional<FaultLocalizer::Fault> FaultLocalizer::faulty_step(const Optimum& all) const {
  progress_("every step on its own inputs");
  StepByStep seen;
  try {
    seen = step_by_step(variants_, all, run_.level, run_.inputs, run_.held);
    if (seen.first) return report_step(all, *seen.first);
    const std::vector<Value> plain = run(variants_.engine(all, run_.level));
    if (identical(plain, seen.outputs)) return std::nullopt;
    if (auto f = faulty_lowering_pass(all, plain, seen.outputs)) return f;
    return report_memory(plain, seen.outputs, *all.graph);
  } catch (const Error& e) {
    if (stops_everything(e)) throw;
    return report_thrower(all, e);
  }
}

FaultLocalizer::Fault FaultLocalizer::report_memory(const std::vector<Value>& got,
                                                    const std::vector<Value>& want,
                                                    const Graph& graph) const {
  Fault f = report_fault(Fault::Kind::memory, "", "", std::nullopt);
  const Difference d = tolerance_difference(got, want, output_names(graph), run_.held);
  f.diagnostic.expected = d.within ? "the same bits with and without taps" : d.expected;
  f.diagnostic.got = d.within ? "others" : d.got + " where inner values are not kept";
  return f;
}

/// Taps keep operators from becoming one.
std::optional<FaultLocalizer::Fault> FaultLocalizer::faulty_lowering_pass(
    const Optimum& all, const std::vector<Value>& got, const std::vector<Value>& want) const {
  const auto agrees = [&](const std::vector<Value>& with) {
    return tolerance_difference(with, want, output_names(*all.graph), run_.held).within;
  };
  if (agrees(got)) return std::nullopt;
  std::vector<std::string_view> passes;
  variants_.engine(all, run_.level, {}, {.lowered = &passes});
  const auto n = faulty_change(passes.size(), [&](size_t after) {
    if (after == passes.size()) return false;
    progress_("the graph after " + std::to_string(after) + " lowering passes");
    return agrees(run(variants_.engine(all, run_.level, {}, {.lowering_changes = after})));
  });
  return n ? std::optional(report_lowering_pass(all, passes[*n - 1])) : std::nullopt;
}

/// The node is the first whose results are wrong when they alone are kept.
FaultLocalizer::Fault FaultLocalizer::report_lowering_pass(const Optimum& all, std::string_view name) const {
  const Graph& g = *all.graph;
  const std::vector<NodeId> order = nodes_for(g, g.outputs());
  const auto wrong = [&](size_t n) {
    progress_("the first " + std::to_string(n) + " of " + std::to_string(order.size()) + " nodes");
    return !agrees_alone(all, outputs_of(g, order[n - 1]));
  };
  const NodeId node = order[first_wrong(order.size(), wrong) - 1];
  std::optional<ReproducedPiece> reproduced = reproduce_grown(g, outputs_of(g, node), reads_of(g, node));
  const std::string label = label_of(g, g.node(node));
  std::vector<std::string> nodes{label};
  std::string kernel;
  if (reproduced) {
    nodes = labels_of(*reproduced->piece.graph, reproduced->piece.graph->order());
    for (const StepInfo& step : reproduced->failure.steps)
      if (step.node == label) kernel = step.kernel;
  }
  Fault f = report_fault(Fault::Kind::pass, label, g.node(node).op, std::move(reproduced));
  f.nodes = std::move(nodes);
  f.kernel = std::move(kernel);
  name_lowering_pass(f, name);
  return f;
}

/// Returns whether an engine that taps only these values agrees with the reference on them.
bool FaultLocalizer::agrees_alone(const Optimum& all, const std::vector<ValueId>& values) const {
  const Graph& g = *all.graph;
  const Values known = values_of(g, values);
  std::vector<Value> got(values.size()), want;
  std::vector<std::string> names;
  for (ValueId v : values) {
    names.push_back(g.value(v).name);
    want.push_back(known.contains(v) ? known.at(v) : Value());
  }
  const Engine engine = variants_.engine(all, run_.level, {{&g, values}});
  Context context = engine.create_context();
  context.on_tap([&](std::string_view name, const Value& v) {
    const auto at = std::ranges::find(names, name);
    if (at != names.end()) got[static_cast<size_t>(at - names.begin())] = owned(v);
  });
  run_statefully(engine, context, run_.inputs, variants_.options().control);
  return tolerance_difference(got, want, names, run_.held).within;
}

void FaultLocalizer::name_lowering_pass(Fault& f, std::string_view name) const {
  f.pass = name;
  f.diagnostic.got += ", not before lowering pass " + f.pass;
  f.diagnostic.remedy = "--passes=-" + f.pass + " leaves it out; please report it";
}

/// The lowering pass from which on it fails; empty: it fails without them too.
std::string_view FaultLocalizer::lowering_pass_behind(const Piece& piece) const {
  if (run_.level != OptimizationLevel::all) return {};
  std::vector<std::string_view> passes;
  reproducer_.failure(piece, {.lowered = &passes});
  const auto n = faulty_change(passes.size(), [&](size_t after) {
    return after < passes.size() && !reproducer_.failure(piece, {.lowering_changes = after});
  });
  return n ? passes[*n - 1] : std::string_view();
}

FaultLocalizer::Fault FaultLocalizer::report_step(const Optimum& all, const TracedStep& s) const {
  const Graph& g = *all.graph;
  std::string name = label_of(g, g.node(s.node)), op = g.node(s.node).op;
  progress_("node " + name);
  std::optional<ReproducedPiece> reproduced =
      reproduce(reproducer_.piece(cut(g, {s.node}, s.alone.outputs), s.inputs));
  if (!reproduced) {
    if (auto f = fusion_with(all, s.node)) return *std::move(f);
    reproduced = reproduce_grown(g, s.alone.outputs, reads_of(g, s.node));
  }
  if (!reproduced) {
    Fault f = report_fault(Fault::Kind::memory, name, op, std::nullopt);
    f.nodes = {name};
    f.diagnostic.expected = "what the reference makes of the node's inputs";
    f.diagnostic.got = "something else in this model, though not from the node alone";
    return f;
  }
  if (!g.node(s.node).bodies.empty())
    if (const auto found = inside(reproduced->piece)) std::tie(name, op) = *found;
  std::string kernel;
  for (const StepInfo& step : reproduced->failure.steps)
    if (kernel.empty() && (step.op == op || step.node == name)) kernel = step.kernel;
  const std::string_view pass = lowering_pass_behind(reproduced->piece);
  Fault f = report_fault(Fault::Kind::kernel, name, op, std::move(reproduced));
  f.nodes = {name};
  f.kernel = kernel;
  f.diagnostic.got += kernel.empty() ? " from its kernel" : " from kernel " + kernel;
  if (!pass.empty()) name_lowering_pass(f, pass);
  return f;
}

/// Producers first; empty: in none.
std::vector<NodeId> FaultLocalizer::region_of(const Optimum& all, NodeId node) const {
  const std::shared_ptr<const Target> target = variants_.target();
  if (run_.level != OptimizationLevel::all || !target || !target->fusion) return {};
  const Graph& g = *all.graph;
  const std::vector<NodeId> order = nodes_for(g, g.outputs());
  const Regions regions(g, order, variants_.kernels(),
                        {.backends = {target->name}, .isa = variants_.isa(), .fuse = true}, *target);
  for (NodeId last : order) {
    const Region* r = regions.ending_at(last);
    if (!r || (r->anchor != node && std::ranges::find(r->nodes, node) == r->nodes.end())) continue;
    std::vector<NodeId> nodes = r->nodes;
    if (r->anchor != no_id) nodes.insert(nodes.begin(), r->anchor);
    return nodes;
  }
  return {};
}

/// The region that the node is in, where that is wrong and its operators one by one are right.
std::optional<FaultLocalizer::Fault> FaultLocalizer::fusion_with(const Optimum& all, NodeId node) const {
  const Graph& g = *all.graph;
  const std::vector<NodeId> nodes = region_of(all, node);
  if (nodes.empty()) return std::nullopt;
  std::optional<ReproducedPiece> reproduced =
      reproduce(piece_of(g, nodes, {g.node(nodes.back()).outputs[0]}));
  if (!reproduced || reproducer_.failure(reproduced->piece, {.fuse = false})) return std::nullopt;
  std::string kernel;
  for (const StepInfo& step : reproduced->failure.steps)
    if (!step.fused.empty()) kernel = step.kernel;
  Fault f = report_fault(Fault::Kind::fusion, label_of(g, g.node(nodes[0])), g.node(nodes[0]).op,
                         std::move(reproduced));
  f.nodes = labels_of(g, nodes);
  f.kernel = kernel;
  f.diagnostic.got +=
      " where " + list_of(g, nodes) + " are one step of kernel " + kernel + ", not where they are several";
  return f;
}

std::optional<std::pair<std::string, std::string>> FaultLocalizer::inside(const Piece& piece) const {
  const Optimum o = variants_.optimized(*piece.graph, run_.level);
  std::vector<std::pair<const Graph*, NodeId>> nodes;
  all_nodes(*o.graph, nodes);
  std::map<std::pair<const Graph*, NodeId>, size_t> number;
  for (size_t i = 0; i < nodes.size(); ++i) number[nodes[i]] = i;
  const auto wrong = [&](size_t fast) {
    progress_("node " + std::to_string(fast) + " of " + std::to_string(nodes.size()));
    return reproducer_.fails(o, piece, {.by_reference = [&](const Graph& g, NodeId id) {
                               const auto at = number.find({&g, id});
                               return at != number.end() && at->second >= fast;
                             }});
  };
  if (!wrong(nodes.size()) || wrong(0)) return std::nullopt;
  const auto [graph, id] = nodes[first_wrong(nodes.size(), wrong) - 1];
  return std::pair(label_of(*graph, graph->node(id)), graph->node(id).op);
}

FaultLocalizer::Fault FaultLocalizer::report_thrower(const Optimum& all, const Error& e) const {
  const Graph& g = *all.graph;
  const std::string& name = e.diagnostic().node;
  std::string op = e.diagnostic().op;
  std::optional<ReproducedPiece> reproduced;
  for (NodeId id : nodes_for(g, g.outputs())) {
    if (reproduced || name.empty() || !has_node(g, id, name)) continue;
    if (op.empty()) op = g.node(id).op;
    reproduced = reproduce_grown(g, outputs_of(g, id), reads_of(g, id));
    if (const std::vector<NodeId> nodes = region_of(all, id); !reproduced && !nodes.empty())
      reproduced = reproduce_grown(g, {g.node(nodes.back()).outputs[0]}, cut(g, nodes, {}).inputs);
  }
  const bool fusion = reproduced && run_.level == OptimizationLevel::all &&
                      !reproducer_.failure(reproduced->piece, {.fuse = false});
  Fault f = report_fault(fusion ? Fault::Kind::fusion : Fault::Kind::kernel, name, op, std::move(reproduced));
  if (!name.empty()) f.nodes = {name};
  const Difference d = failed_run(e);
  f.diagnostic.expected = d.expected;
  f.diagnostic.got = d.got + (fusion ? ", which it does not with fusing off" : "");
  return f;
}

// Reproductions

FaultLocalizer::Values FaultLocalizer::values_of(const Graph& graph,
                                                 const std::vector<ValueId>& wanted) const {
  Values found;
  for (ValueId v : wanted) {
    const ValueInfo& info = graph.value(v);
    if (info.constant) found[v] = *info.constant;
    const auto input = std::ranges::find(graph.inputs(), v);
    const auto i = static_cast<size_t>(input - graph.inputs().begin());
    if (input != graph.inputs().end() && !run_.inputs[i].empty()) found[v] = run_.inputs[i];
  }
  try {
    variants_.evaluate(graph, run_.inputs,
                       [&](const Graph& g, const Node& n, size_t output, const Value& value) {
                         if (&g == &graph && std::ranges::find(wanted, n.outputs[output]) != wanted.end())
                           found[n.outputs[output]] = owned(value);
                       });
  } catch (const Error& e) {
    if (stops_everything(e)) throw;
  }
  return found;
}

std::optional<Piece> FaultLocalizer::piece_of(const Graph& graph, const std::vector<NodeId>& nodes,
                                              const std::vector<ValueId>& outputs) const {
  if (nodes.empty()) return std::nullopt;
  Cut c = cut(graph, nodes, outputs);
  const Values known = values_of(graph, c.inputs);
  std::vector<Value> inputs;
  for (ValueId v : c.inputs) {
    if (!known.contains(v)) return std::nullopt;
    inputs.push_back(known.at(v));
  }
  return reproducer_.piece(std::move(c), std::move(inputs));
}

std::optional<FaultLocalizer::ReproducedPiece> FaultLocalizer::reproduce(std::optional<Piece> piece) const {
  if (!piece) return std::nullopt;
  auto failure = reproducer_.failure(*piece);
  if (!failure) return std::nullopt;
  return ReproducedPiece{*std::move(piece), *std::move(failure)};
}

std::optional<FaultLocalizer::ReproducedPiece> FaultLocalizer::reproduce_grown(
    const Graph& graph, const std::vector<ValueId>& outputs, std::vector<ValueId> known) const {
  constexpr int max_steps_back = 6;
  std::vector<NodeId> tried;
  for (int back = 0; back <= max_steps_back; ++back) {
    const std::vector<NodeId> nodes = nodes_for(graph, outputs, known);
    if (nodes == tried) break;
    if (auto reproduced = reproduce(piece_of(graph, nodes, outputs))) return reproduced;
    tried = nodes;
    std::vector<ValueId> further;
    for (ValueId v : known)
      if (graph.value(v).producer != no_id)
        for (ValueId read : reads_of(graph, graph.value(v).producer)) further.push_back(read);
    known = std::move(further);
  }
  return std::nullopt;
}

/// Reproduces the fault with the whole model, from the file again unless sizes were fixed at import.
std::optional<FaultLocalizer::ReproducedPiece> FaultLocalizer::whole_model() const {
  Piece p{run_.model.clone(), run_.inputs, run_.want, {}};
  if (!variants_.options().shapes.empty()) return reproduce(std::move(p));
  auto failure = reproducer_.failure_of(run_.file, p);
  if (!failure) return std::nullopt;
  return ReproducedPiece{std::move(p), *std::move(failure)};
}

FaultLocalizer::Fault FaultLocalizer::report_fault(Fault::Kind kind, std::string node, std::string op,
                                                   std::optional<ReproducedPiece> reproduced) const {
  if (!reproduced) reproduced = whole_model();
  Fault f;
  f.kind = kind;
  f.shapes = run_.shapes;
  f.values = run_.values;
  f.level = run_.level;
  f.diagnostic.code = Code::internal;
  f.diagnostic.stage = "verify";
  f.diagnostic.node = std::move(node);
  f.diagnostic.op = std::move(op);
  f.diagnostic.remedy = "please report it, with the model that shows it";
  f.confirmed = reproduced.has_value();
  f.reproduction = reproduced ? std::move(reproduced->failure.model) : run_.file;
  if (reproduced) {
    f.diagnostic.expected = reproduced->failure.difference.expected;
    f.diagnostic.got = reproduced->failure.difference.got;
    f.atol = reproduced->failure.difference.atol;
    f.rtol = reproduced->failure.difference.rtol;
  }
  const Graph& g = reproduced ? *reproduced->piece.graph : run_.model;
  const std::vector<Value>& inputs = reproduced ? reproduced->piece.inputs : run_.inputs;
  const std::vector<Value>& expected = reproduced ? reproduced->piece.expected : run_.want;
  for (size_t i = 0; i < inputs.size(); ++i) f.inputs.emplace_back(g.value(g.inputs()[i]).name, inputs[i]);
  for (size_t i = 0; i < expected.size(); ++i)
    f.expected.emplace_back(g.value(g.outputs()[i]).name, expected[i]);
  return f;
}

}  // namespace lathe
