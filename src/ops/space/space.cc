#include "ops/space/space.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Channels first is pixels first with the two exchanged.
std::vector<ValueId> space_to_depth(DecomposeContext& c) {
  const auto op = decode<SpaceToDepth>(c.node().attributes);
  const auto channels = known(size_of(c, input(c, 0), 1));
  if (op.mode != "CRD") unsupported({}, {});
  if (!channels) unsupported("a known number of channels", c.input_type(0).str());
  const ValueId pixels_first = one(c, "SpaceToDepth", {input(c, 0)}, with("blocksize", op.blocksize));
  const ValueId apart = reshaped(c, pixels_first, {0, op.blocksize * op.blocksize, *channels, -1});
  return {reshaped_to(c, transposed(c, apart, {0, 2, 1, 3}), one(c, "Shape", {pixels_first}))};
}

/// The other way round.
std::vector<ValueId> depth_to_space(DecomposeContext& c) {
  const auto op = decode<DepthToSpace>(c.node().attributes);
  const ValueId x = input(c, 0);
  const auto channels = known(size_of(c, x, 1));
  if (op.mode != "CRD" || c.opset() >= 11) unsupported({}, {});
  if (!channels) unsupported("a known number of channels", c.input_type(0).str());
  const int64_t pixels = op.blocksize * op.blocksize;
  const ValueId apart = reshaped(c, x, {0, *channels / pixels, pixels, -1});
  const ValueId pixels_first = reshaped_to(c, transposed(c, apart, {0, 2, 1, 3}), one(c, "Shape", {x}));
  return {one(c, "DepthToSpace", {pixels_first}, with("blocksize", op.blocksize))};
}

}  // namespace
}  // namespace decomposition

void declare_space(SchemaCatalog& c) {
  c.add("DepthToSpace")
      .version(1, "(input: T) -> (output: T) {blocksize: int!} [T: @all]")
      .version(11, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all]")
      .version(13, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .version(28, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .rule<DepthToSpace>()
      .decompose(decomposition::depth_to_space)
      .tolerance({.exact = true});
  c.add("SpaceToDepth")
      .version(1, "(input: T) -> (output: T) {blocksize: int!} [T: @all]")
      .version(13, "(input: T) -> (output: T) {blocksize: int!} [T: @all_13]")
      .version(28, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .rule<SpaceToDepth>()
      .decompose(decomposition::space_to_depth)
      .tolerance({.exact = true});
}

}  // namespace lathe
