#include "compiler/lowering_passes.h"

#include <algorithm>
#include <utility>

#include "compiler/bf16_arithmetic.h"
#include "compiler/blocked_layout.h"
#include "compiler/cache_updates.h"
#include "compiler/channels_last.h"
#include "compiler/conv_depthwise_fusion.h"
#include "compiler/dead_code.h"
#include "compiler/f16_activations.h"
#include "compiler/float_arithmetic.h"
#include "compiler/low_bit_matmuls.h"
#include "compiler/optimize.h"
#include "compiler/quantized_layout.h"
#include "compiler/scaled_inputs.h"
#include "compiler/unfold.h"

namespace lathe {
namespace {

bool fold(LoweringContext& l, uint64_t limit) {
  Folds made = fold_constants(l.graph, {.schemas = &l.schemas,
                                        .kernels = &l.kernels,
                                        .control = l.options.control,
                                        .weights_only = true,
                                        .limit = limit});
  const bool changed = !made.empty();
  l.folds.merge(std::move(made));
  return changed;
}
bool fold_in_budget(LoweringContext& l) { return fold(l, fold_budget(l.graph, l.options, l.folds)); }

/// Runs a pass that adds a node for whatever it changes.
template <class F>
bool adds_nodes(LoweringContext& l, F&& pass) {
  const size_t before = l.graph.node_count();
  pass();
  return l.graph.node_count() != before;
}

uint16_t facts_of(const LoweringContext& l) {
  const Preference& p = l.preference;
  // A search by nodes needs the nodes that the optimizer left.
  const bool cpu = p.backends.front() == "cpu" && !l.search.by_reference;
  int facts = 0;
  if (cpu && p.fuse) facts |= of_cpu;
  if (cpu && l.options.precision == Precision::bfloat16) facts |= bfloat16_products;
  if (p.isa != Isa::generic) facts |= has_vectors;
  if (!p.refit) facts |= fixed_weights;
  return static_cast<uint16_t>(facts);
}

constexpr LoweringPass constant_folding = {
    .name = "constant-folding",
    .description = "computes what depends on weights only",
    .run = fold_in_budget,
    .required = true,
};
constexpr LoweringPass only_after(LoweringPass p, int needs) {
  p.needs = static_cast<uint16_t>(needs);
  return p;
}

constexpr LoweringPass all_passes_in_order[] = {
    {.name = "float-arithmetic",
     .description = "models of 16-bit floats calculate in float32",
     .provides = widened_floats,
     // The reference, which a search assigns nodes to, takes no mixed types.
     .run =
         [](LoweringContext& l) {
           return use_float_arithmetic(l.graph, l.preference,
                                       {.schemas = &l.schemas,
                                        .kernels = &l.kernels,
                                        .mixed = !l.search.by_reference,
                                        .as_written = l.options.level == OptimizationLevel::none});
         },
     .required = true},
    // Runs before the remaining low-bit weights become floats.
    {.name = "low-bit-matmuls",
     .description = "multiplies by weights of 4 and 8 bits in blocks without widening them",
     .needs = of_cpu,
     .run =
         [](LoweringContext& l) { return use_low_bit_matmuls(l.graph, l.folds, l.kernels, l.preference); }},
    only_after(constant_folding, widened_floats),
    {.name = "bf16-products",
     .description = "products with constant weights in bfloat16, where that precision is asked for",
     .needs = bfloat16_products,
     .run = [](LoweringContext& l) { return use_bf16_arithmetic(l.graph); },
     .narrows_constants = true,
     .required = true},
    // If weights may be exchanged, neither zero points nor scales are known.
    {.name = "quantized-layout",
     .description = "convolutions of bytes, and the nodes between them, in blocks of channels",
     .needs = of_cpu | has_vectors | fixed_weights,
     .run =
         [](LoweringContext& l) { return use_quantized_layout(l.graph, l.folds, l.kernels, l.preference); }},
    {.name = "quantized-products",
     .description = "products of bytes between QuantizeLinear and DequantizeLinear",
     .needs = of_cpu | has_vectors | fixed_weights,
     .run =
         [](LoweringContext& l) {
           return use_quantized_products(l.graph, l.folds, l.kernels, l.preference);
         }},
    constant_folding,  // weights that no operator takes as bytes after all
    {.name = "blocked-layout",
     .description = "convolutions, and the nodes between them, in blocks of 16 channels",
     .needs = of_cpu | has_vectors,
     .provides = channel_blocks,
     .run =
         [](LoweringContext& l) {
           return adds_nodes(l, [&] { use_blocked_layout(l.graph, l.kernels, l.preference, l.tuner); });
         }},
    {.name = "channels-last",
     .description =
         "images are put in blocks, and taken out of them, with their channels last where a Transpose "
         "does so",
     .needs = of_cpu | has_vectors | channel_blocks,
     .run = [](LoweringContext& l) { return adds_nodes(l, [&] { use_channels_last(l.graph); }); }},
    only_after(constant_folding, of_cpu | has_vectors | channel_blocks),
    {.name = "bf16-convolutions",
     .description = "convolutions in bfloat16, where that precision is asked for",
     .needs = of_cpu | has_vectors | bfloat16_products,
     .run = [](LoweringContext& l) { return use_bf16_convolutions(l.graph); },
     .narrows_constants = true,
     .required = true},
    {.name = "conv-depthwise-fusion",
     .description = "a convolution and the depthwise one behind it, strip by strip",
     .needs = of_cpu | has_vectors,
     .run =
         [](LoweringContext& l) {
           return adds_nodes(l, [&] { use_conv_depthwise_fusion(l.graph, l.kernels, l.preference); });
         }},
    {.name = "scaled-inputs",
     .description = "factors and shifts of channels where a convolution reads its input",
     .needs = of_cpu | has_vectors,
     .run =
         [](LoweringContext& l) {
           return adds_nodes(l, [&] { use_scaled_inputs(l.graph, l.kernels, l.preference); });
         }},
    {.name = "f16-activations",
     .description = "images that take the most memory stay in 16 bits between convolutions",
     .needs = of_cpu | has_vectors | widened_floats,
     .run =
         [](LoweringContext& l) {
           return adds_nodes(l, [&] { use_f16_activations(l.graph, l.kernels, l.preference); });
         }},
    // Runs after the passes that read the contents of weights.
    {.name = "unfold-repeated",
     .description = "large constants that repeat a few numbers are made when they are read",
     .needs = fixed_weights,
     .run =
         [](LoweringContext& l) {
           return adds_nodes(l, [&] { unfold_repeated(l.graph, l.folds, UnfoldFor::plans); });
         },
     .required = true},
    {.name = "cache-updates",
     .description = "rows are written into a KV cache while it gets longer, without copying it first",
     .needs = of_cpu,
     .run = [](LoweringContext& l) { return use_cache_updates(l.graph); }},
    {.name = "states",
     .description = "finds how a run makes the new value of each state",
     .run =
         [](LoweringContext& l) {
           l.states = use_states(l.graph, l.state_positions, l.options.state_capacity);
           return !l.states.empty();
         },
     .required = true},
};

}  // namespace

std::span<const LoweringPass> lowering_passes() { return all_passes_in_order; }

std::string facts_text(uint16_t facts) {
  constexpr std::pair<LoweringFact, std::string_view> names[] = {
      {of_cpu, "cpu"},
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

void run_lowering_passes(LoweringContext& l) {
  std::vector<std::string> switches = l.options.passes;
  const auto left_out = take_lowering_switches(switches);
  const auto tapped = l.taps.find(&l.graph);
  const std::vector<ValueId> kept = tapped == l.taps.end() ? std::vector<ValueId>() : tapped->second;
  uint16_t facts = facts_of(l);
  for (const LoweringPass& p : l.search.lowering ? std::span(*l.search.lowering) : lowering_passes()) {
    if ((facts & p.needs) != p.needs) continue;
    if (!p.required && (p.name == l.search.without || left_out.contains(p.name))) continue;
    if (l.options.control) l.options.control->check();
    if (!p.run(l)) continue;
    facts |= p.provides;
    if (p.narrows_constants) fold(l, UINT64_MAX);
    remove_unread(l.graph, kept);
  }
}

std::string lowering_switches() {
  std::string names;
  for (std::string_view name : optional_names()) names += (names.empty() ? "" : ", ") + std::string(name);
  return "'-' and the name of a lowering pass: " + names;
}

std::set<std::string, std::less<>> take_lowering_switches(std::vector<std::string>& switches) {
  const std::vector<std::string_view> known = optional_names();
  std::set<std::string, std::less<>> names;
  std::erase_if(switches, [&](const std::string& s) {
    const std::string_view name = s.starts_with('-') ? std::string_view(s).substr(1) : std::string_view();
    if (std::ranges::find(known, name) == known.end()) return false;
    names.emplace(name);
    return true;
  });
  return names;
}

}  // namespace lathe
