#include "ops/reverse_sequence/reverse_sequence.h"

#include "schema/words.h"

namespace lathe {

void declare_reverse_sequence(SchemaCatalog& c) {
  c.add("ReverseSequence")
      .version(
          10,
          "(input: T, sequence_lens: int64) -> (Y: T) {batch_axis: int = 1, time_axis: int = 0} [T: @all]")
      .version(
          28,
          "(input: T, sequence_lens: int64) -> (Y: T) {batch_axis: int = 1, time_axis: int = 0} [T: @all_13]")
      .rule<ReverseSequence>()
      .spelled(words::in_wider_types)
      .contract({.exact = true});
}

}  // namespace lathe
