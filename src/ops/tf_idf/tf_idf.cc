#include "ops/tf_idf/tf_idf.h"

#include "schema/schema.h"

namespace lathe {

void declare_tf_idf(SchemaCatalog& c) {
  c.add("TfIdfVectorizer")
      .version(
          9,
          "(X: T) -> (Y: T1) {mode: string!, ngram_indexes: ints!, weights: floats, ngram_counts: ints!, "
          "pool_int64s: ints, pool_strings: strings, max_skip_count: int!, min_gram_length: int!, "
          "max_gram_length: int!} [T: string int32 int64; T1: float]")
      .rule<TfIdf>()
      .tolerance({.epsilons = 4});
}

}  // namespace lathe
