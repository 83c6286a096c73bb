#include "ops/space/space.h"

#include "schema/words.h"

namespace lathe {

namespace spelling {
using namespace words;
namespace {

/// Channels first is pixels first with the two exchanged.
std::vector<ValueId> space_to_depth(SpellContext& c) {
  const auto op = decode<SpaceToDepth>(c.node().attributes);
  const auto channels = known(size_of(c, input(c, 0), 1));
  if (op.mode != "CRD") unsaid({}, {});
  if (!channels) unsaid("a known number of channels", c.input_type(0).str());
  const ValueId pixels_first = one(c, "SpaceToDepth", {input(c, 0)}, with("blocksize", op.blocksize));
  const ValueId apart = reshaped(c, pixels_first, {0, op.blocksize * op.blocksize, *channels, -1});
  return {reshaped_to(c, transposed(c, apart, {0, 2, 1, 3}), one(c, "Shape", {pixels_first}))};
}

/// The other way round.
std::vector<ValueId> depth_to_space(SpellContext& c) {
  const auto op = decode<DepthToSpace>(c.node().attributes);
  const ValueId x = input(c, 0);
  const auto channels = known(size_of(c, x, 1));
  if (op.mode != "CRD" || c.opset() >= 11) unsaid({}, {});
  if (!channels) unsaid("a known number of channels", c.input_type(0).str());
  const int64_t pixels = op.blocksize * op.blocksize;
  const ValueId apart = reshaped(c, x, {0, *channels / pixels, pixels, -1});
  const ValueId pixels_first = reshaped_to(c, transposed(c, apart, {0, 2, 1, 3}), one(c, "Shape", {x}));
  return {one(c, "DepthToSpace", {pixels_first}, with("blocksize", op.blocksize))};
}

}  // namespace
}  // namespace spelling

void declare_space(SchemaCatalog& c) {
  c.add("DepthToSpace")
      .version(1, "(input: T) -> (output: T) {blocksize: int!} [T: @all]")
      .version(11, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all]")
      .version(13, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .version(28, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .rule<DepthToSpace>()
      .spelled(spelling::depth_to_space)
      .contract({.exact = true});
  c.add("SpaceToDepth")
      .version(1, "(input: T) -> (output: T) {blocksize: int!} [T: @all]")
      .version(13, "(input: T) -> (output: T) {blocksize: int!} [T: @all_13]")
      .version(28, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .rule<SpaceToDepth>()
      .spelled(spelling::space_to_depth)
      .contract({.exact = true});
}

}  // namespace lathe
