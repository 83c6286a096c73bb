#include "targets/cpu/cpu.h"

#include "base/cpu.h"
#include "compiler/cache_updates.h"
#include "compiler/lowering_passes.h"
#include "cpu/elementwise.h"
#include "targets/cpu/bf16_arithmetic.h"
#include "targets/cpu/blocked_layout.h"
#include "targets/cpu/channels_last.h"
#include "targets/cpu/conv_depthwise_fusion.h"
#include "targets/cpu/f16_activations.h"
#include "targets/cpu/int8_weights.h"
#include "targets/cpu/low_bit_matmuls.h"
#include "targets/cpu/quantized_layout.h"
#include "targets/cpu/scaled_inputs.h"
#include "targets/cpu/window_attributes.h"

namespace lathe {
namespace {

using enum LoweringStage;

std::vector<LoweringPass> passes_of_cpu() {
  return {
      {.name = "low-bit-matmuls",
       .description = "multiplies by weights of 4 and 8 bits in blocks without widening them",
       .stage = integer_weights,
       .run = [](LoweringContext& l,
                 Graph& g) { return use_low_bit_matmuls(g, l.folds, l.kernels, l.preference); }},
      {.name = "bf16-products",
       .description = "products with constant weights in bfloat16, where that precision is asked for",
       .stage = integer_arithmetic,
       .needs = bfloat16_products,
       .run = [](LoweringContext&, Graph& g) { return use_bf16_arithmetic(g); },
       .in_bodies = true,
       .narrows_constants = true,
       .required = true},
      // Of weights that may be exchanged, neither zero points nor scales are known.
      {.name = "quantized-layout",
       .description = "convolutions of bytes, and the nodes between them, in blocks of channels",
       .stage = integer_arithmetic,
       .needs = has_vectors | fixed_weights,
       .run = [](LoweringContext& l,
                 Graph& g) { return use_quantized_layout(g, l.folds, l.kernels, l.preference); }},
      {.name = "quantized-products",
       .description = "products of bytes between QuantizeLinear and DequantizeLinear",
       .stage = integer_arithmetic,
       .needs = has_vectors | fixed_weights,
       .run = [](LoweringContext& l,
                 Graph& g) { return use_quantized_products(g, l.folds, l.kernels, l.preference); }},
      {.name = "blocked-layout",
       .description = "convolutions, and the nodes between them, in blocks of 16 channels",
       .stage = layout,
       .needs = has_vectors,
       .provides = channel_blocks,
       .run =
           [](LoweringContext& l, Graph& g) {
             return adds_nodes(g, [&] { use_blocked_layout(g, l.kernels, l.preference, l.tuner); });
           }},
      {.name = "channels-last",
       .description =
           "images are put in blocks, and taken out of them, with their channels last where a Transpose "
           "does so",
       .stage = layout,
       .needs = has_vectors | channel_blocks,
       .run = [](LoweringContext&, Graph& g) { return adds_nodes(g, [&] { use_channels_last(g); }); }},
      constant_folding(channel_blocks),
      {.name = "bf16-convolutions",
       .description = "convolutions in bfloat16, where that precision is asked for",
       .stage = layout,
       .needs = has_vectors | bfloat16_products,
       .run = [](LoweringContext&, Graph& g) { return use_bf16_convolutions(g); },
       .narrows_constants = true,
       .required = true},
      {.name = "conv-depthwise-fusion",
       .description = "a convolution and the depthwise one behind it, strip by strip",
       .stage = layout,
       .needs = has_vectors,
       .run =
           [](LoweringContext& l, Graph& g) {
             return adds_nodes(g, [&] { use_conv_depthwise_fusion(g, l.kernels, l.preference); });
           }},
      {.name = "scaled-inputs",
       .description = "factors and shifts of channels where a convolution reads its input",
       .stage = layout,
       .needs = has_vectors,
       .run = [](LoweringContext& l,
                 Graph& g) { return adds_nodes(g, [&] { use_scaled_inputs(g, l.kernels, l.preference); }); }},
      {.name = "f16-activations",
       .description = "images that take the most memory stay in 16 bits between convolutions",
       .stage = layout,
       .needs = has_vectors | widened_floats,
       .run =
           [](LoweringContext& l, Graph& g) {
             return adds_nodes(g, [&] { use_f16_activations(g, l.kernels, l.preference); });
           }},
      {.name = "cache-updates",
       .description = "rows are written into a KV cache while it gets longer, without copying it first",
       .stage = layout,
       .run = [](LoweringContext&, Graph& g) { return use_cache_updates(g); },
       .in_bodies = true},
  };
}

Target::Fusion fusion_of_cpu() {
  return {.converts = [](DataType type) { return cpu::casts(type); },
          .max_axes = cpu::OperandAxes::max_axes,
          .refuse = [](const Pointwise& p) -> std::optional<std::string> {
            if (cpu::buffers_of(p) <= cpu::PointwiseCode::max_buffers) return std::nullopt;
            return "the program would have more results at once than it has buffers";
          }};
}

DeviceInfo describe_cpu() {
  DeviceInfo d{.name = "cpu", .facts = {.description = cpu_features().name}, .memory = {}};
  const PhysicalMemory memory = physical_memory();
  d.memory = {.total = memory.total, .free = memory.free};
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512})
    if (isa <= choose_isa("")) d.facts.instruction_sets.emplace_back(name_of(isa));
  return d;
}

/// Its kernels have rows of their results in the first-level cache when they are done with them.
bool is_depthwise_conv(const Node& n) {
  if (n.domain != "lathe") return false;
  if (n.op == "BlockedConvDepthwise") return n.attributes.get<std::vector<int64_t>>("pool_shape", {}).empty();
  return n.op == "BlockedConv" && is_depthwise(n.attributes);
}

}  // namespace

const Target& cpu_target() {
  static const Target target{
      .name = "cpu",
      .describe = describe_cpu,
      .passes = passes_of_cpu(),
      .keeps_integers =
          [](const Graph& g, const UseIndex& uses, const Node& dequantize) {
            return stays_int8(g, uses, dequantize) || stays_low_bit(g, uses, dequantize);
          },
      .fusion = fusion_of_cpu(),
      .makes_row_means = is_depthwise_conv,
      .reads_row_means =
          [](const Node& n) { return n.domain == "lathe" && n.op == "BlockedGlobalAveragePool"; }};
  return target;
}

}  // namespace lathe
