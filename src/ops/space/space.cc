#include "ops/space/space.h"

#include "schema/schema.h"

namespace lathe {

void declare_space(SchemaCatalog& c) {
  c.add("DepthToSpace")
      .version(1, "(input: T) -> (output: T) {blocksize: int!} [T: @all]")
      .version(11, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all]")
      .version(13, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .version(28, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .rule<DepthToSpace>()
      .contract({.exact = true});
  c.add("SpaceToDepth")
      .version(1, "(input: T) -> (output: T) {blocksize: int!} [T: @all]")
      .version(13, "(input: T) -> (output: T) {blocksize: int!} [T: @all_13]")
      .version(28, "(input: T) -> (output: T) {mode: string = 'DCR', blocksize: int!} [T: @all_13]")
      .rule<SpaceToDepth>()
      .contract({.exact = true});
}

}  // namespace lathe
