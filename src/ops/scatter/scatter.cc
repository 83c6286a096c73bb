#include "ops/scatter/scatter.h"

#include "schema/downgrade.h"

namespace lathe {
namespace {

void scatter_elements_from_scatter(UpgradeContext& u) { u.node().op = "ScatterElements"; }

/// The first reductions were sums and products.
bool scatter_16_from_18(RewriteContext& c) {
  const auto reduction = c.node().attributes.get<std::string>("reduction", "none");
  return reduction != "max" && reduction != "min";
}

}  // namespace

void declare_scatter(SchemaCatalog& c) {
  c.add("ScatterElements")
      .version(11,
               "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .version(
          13,
          "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} [T: @all_13; Tind: @index]")
      .version(16,
               "(data: T, indices: Tind, updates: T) -> (output: T) {reduction: string = 'none', axis: int = "
               "0} [T: @all_13; Tind: @index]")
      .version(18,
               "(data: T, indices: Tind, updates: T) -> (output: T) {reduction: string = 'none', axis: int = "
               "0} [T: @all_13; Tind: @index]",
               nullptr, scatter_16_from_18)
      .rule<ScatterElements>()
      .contract({.epsilons = 8});
  c.add("Scatter")
      .version(9,
               "(data: T, indices: Tind, updates: T) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .deprecated(11, scatter_elements_from_scatter)
      .rule<ScatterElements>()
      .contract({.exact = true});
  c.add("ScatterND")
      .version(11, "(data: T, indices: int64, updates: T) -> (output: T) [T: @all]")
      .version(13, "(data: T, indices: int64, updates: T) -> (output: T) [T: @all_13]")
      .version(
          16,
          "(data: T, indices: int64, updates: T) -> (output: T) {reduction: string = 'none'} [T: @all_13]")
      .version(
          18,
          "(data: T, indices: int64, updates: T) -> (output: T) {reduction: string = 'none'} [T: @all_13]",
          nullptr, scatter_16_from_18)
      .rule<ScatterND>()
      .contract({.epsilons = 8});
  c.add("TensorScatter")
      .version(24,
               "(past_cache: T, update: T, write_indices?: int64) -> (present_cache: T) {mode: string = "
               "'linear', axis: int = -2} [T: @all_ir12]")
      .rule<TensorScatter>()
      .contract({.exact = true});
}

}  // namespace lathe
