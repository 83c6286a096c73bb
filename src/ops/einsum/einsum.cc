#include "ops/einsum/einsum.h"

#include "schema/words.h"

namespace lathe {

void declare_einsum(SchemaCatalog& c) {
  c.add("Einsum")
      .version(12, "(Inputs*1: T) -> (Output: T) {equation: string!} [T: @number]")
      .version(28, "(Inputs*1: T) -> (Output: T) {equation: string!} [T: @number_13]")
      .rule<Einsum>()
      .spelled(words::in_wider_types)
      .contract({.epsilons = 4, .per_reduced = true});
}

}  // namespace lathe
