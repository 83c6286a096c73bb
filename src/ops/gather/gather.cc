#include "ops/gather/gather.h"

#include <algorithm>

#include "schema/downgrade.h"

namespace lathe {
namespace {

/// Indices were counted from the front too.
bool gather_1_from_11(RewriteContext& c) {
  const auto indices = constant_ints(c, 1);
  return indices && std::ranges::all_of(*indices, [](int64_t i) { return i >= 0; }) && axes_from_front(c);
}

}  // namespace

void declare_gather(SchemaCatalog& c) {
  c.add("Gather")
      .version(1, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .version(11, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]", nullptr,
               gather_1_from_11)
      .version(13, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all_13; Tind: @index]")
      .rule<Gather>()
      .contract({.exact = true});
  c.add("GatherElements")
      .version(11, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all; Tind: @index]")
      .version(13, "(data: T, indices: Tind) -> (output: T) {axis: int = 0} [T: @all_13; Tind: @index]")
      .rule<GatherElements>()
      .contract({.exact = true});
  c.add("GatherND")
      .version(11, "(data: T, indices: int64) -> (output: T) [T: @all]")
      .version(12, "(data: T, indices: int64) -> (output: T) {batch_dims: int = 0} [T: @all]")
      .version(13, "(data: T, indices: int64) -> (output: T) {batch_dims: int = 0} [T: @all_13]")
      .rule<GatherND>()
      .contract({.exact = true});
}

}  // namespace lathe
