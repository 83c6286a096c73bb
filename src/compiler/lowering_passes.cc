#include "compiler/lowering_passes.h"

#include <algorithm>
#include <utility>

#include "compiler/dead_code.h"
#include "compiler/float_arithmetic.h"
#include "compiler/optimize.h"
#include "compiler/unfold.h"
#include "graph/traverse.h"

namespace lathe {
namespace {

bool fold(LoweringContext& l, Graph& g, uint64_t limit) {
  Folds made = fold_constants(g, {.schemas = &l.schemas,
                                  .kernels = &l.kernels,
                                  .control = l.options.control,
                                  .weights_only = true,
                                  .limit = limit});
  const bool changed = !made.empty();
  l.folds.merge(std::move(made));
  return changed;
}
uint16_t facts_of(const LoweringContext& l) {
  int facts = 0;
  if (l.options.precision == Precision::bfloat16) facts |= bfloat16_products;
  if (l.preference.isa != Isa::generic) facts |= has_vectors;
  if (!l.preference.refit) facts |= fixed_weights;
  return static_cast<uint16_t>(facts);
}

LoweringPass float_arithmetic() {
  return {.name = "float-arithmetic",
          .description = "models of 16-bit floats calculate in float32",
          .provides = widened_floats,
          // The reference, which a search assigns nodes to, takes no mixed types.
          .run =
              [](LoweringContext& l, Graph& g) {
                return use_float_arithmetic(g, l.preference,
                                            {.schemas = &l.schemas,
                                             .kernels = &l.kernels,
                                             .mixed = !l.search.by_reference,
                                             .as_written = l.options.level == OptimizationLevel::none});
              },
          .required = true};
}
// Behind those that look at what weights hold.
LoweringPass unfolding() {
  return {
      .name = "unfold-repeated",
      .description = "large constants that repeat a few numbers are made when they are read",
      .needs = fixed_weights,
      .run = [](LoweringContext& l,
                Graph& g) { return adds_nodes(g, [&] { unfold_repeated(g, l.folds, UnfoldFor::plans); }); },
      .required = true};
}
LoweringPass finding_states() {
  return {.name = "states",
          .description = "finds how a run makes the new value of each state",
          .run =
              [](LoweringContext& l, Graph& g) {
                l.states = use_states(g, l.state_positions, l.options.state_capacity);
                return !l.states.empty();
              },
          .required = true};
}

}  // namespace

bool fold_in_budget(LoweringContext& l, Graph& g) { return fold(l, g, fold_budget(g, l.options, l.folds)); }

std::vector<LoweringPass> lowering_passes(std::span<const Target> targets) {
  std::vector<LoweringPass> all{float_arithmetic()};
  const auto add = [&](LoweringStage stage) {
    for (const Target& t : targets)
      for (LoweringPass p : t.passes)
        if (p.stage == stage) {
          p.target = t.name;
          all.push_back(p);
        }
  };
  add(LoweringStage::integer_weights);
  all.push_back(constant_folding(widened_floats));
  add(LoweringStage::integer_arithmetic);
  all.push_back(constant_folding());  // weights that no operator takes as integers after all
  add(LoweringStage::layout);
  all.push_back(unfolding());
  all.push_back(finding_states());
  return all;
}

std::string facts_text(uint16_t facts) {
  constexpr std::pair<LoweringFact, std::string_view> names[] = {
      {has_vectors, "vectors"},
      {fixed_weights, "fixed weights"},
      {bfloat16_products, "precision bfloat16"},
      {widened_floats, "widened floats"},
      {channel_blocks, "channel blocks"},
  };
  std::string text;
  for (const auto& [fact, name] : names)
    if (facts & fact) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

std::vector<std::string_view> optional_names(std::span<const LoweringPass> passes) {
  std::vector<std::string_view> names;
  for (const LoweringPass& p : passes)
    if (!p.required) names.push_back(p.name);
  return names;
}

namespace {

/// The values that taps keep of one graph.
std::vector<ValueId> kept_in(const LoweringContext& l, const Graph& g) {
  const auto tapped = l.taps.find(&g);
  return tapped == l.taps.end() ? std::vector<ValueId>() : tapped->second;
}

/// Runs a pass on the main graph and, where it wants that, on bodies. Returns whether it changed any.
bool run(const LoweringPass& p, LoweringContext& l) {
  if (!p.in_bodies) return p.run(l, l.graph);
  bool changed = false;
  each_graph(l.graph, [&](Graph& g) {
    if (!p.run(l, g)) return;
    changed = true;
    if (&g != &l.graph) remove_unread(g, kept_in(l, g));
  });
  return changed;
}

}  // namespace

void run_lowering_passes(LoweringContext& l) {
  std::vector<std::string> switches = l.options.passes;
  const auto left_out = take_lowering_switches(switches, lowering_passes_with(l.target));
  uint16_t facts = facts_of(l);
  size_t changes = 0;
  const std::span<const Target> targets = l.target ? std::span(l.target, 1) : std::span<const Target>();
  for (const LoweringPass& p : l.search.lowering ? *l.search.lowering : lowering_passes(targets)) {
    if ((facts & p.needs) != p.needs) continue;
    // A search by nodes needs the nodes that the optimizer left.
    if (!p.target.empty() && (l.search.by_reference || (!p.required && !l.preference.fuse))) continue;
    if (!p.required && (changes == l.search.lowering_changes || left_out.contains(p.name))) continue;
    if (l.options.control) l.options.control->check();
    if (!run(p, l)) continue;
    facts |= p.provides;
    changes += !p.required;
    if (!p.required && l.search.lowered) l.search.lowered->push_back(p.name);
    if (p.narrows_constants) fold(l, l.graph, UINT64_MAX);
    remove_unread(l.graph, kept_in(l, l.graph));
  }
}

std::vector<LoweringPass> lowering_passes_with(const Target* target) {
  std::vector<LoweringPass> all = lowering_passes();
  if (target &&
      std::ranges::find(built_in_targets(), target->name, &Target::name) == built_in_targets().end())
    all.insert(all.end(), target->passes.begin(), target->passes.end());
  return all;
}

std::string lowering_switches(std::span<const LoweringPass> known) {
  std::string names;
  for (std::string_view name : optional_names(known))
    names += (names.empty() ? "" : ", ") + std::string(name);
  return "'-' and the name of a lowering pass: " + names;
}

std::set<std::string, std::less<>> take_lowering_switches(std::vector<std::string>& switches,
                                                          std::span<const LoweringPass> known) {
  const std::vector<std::string_view> all = optional_names(known);
  std::set<std::string, std::less<>> names;
  std::erase_if(switches, [&](const std::string& s) {
    const std::string_view name = s.starts_with('-') ? std::string_view(s).substr(1) : std::string_view();
    if (std::ranges::find(all, name) == all.end()) return false;
    names.emplace(name);
    return true;
  });
  return names;
}

}  // namespace lathe
