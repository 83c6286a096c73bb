#include "ops/tokenize/tokenize.h"

#include "schema/schema.h"

namespace lathe {

void declare_tokenize(SchemaCatalog& c) {
  c.add("com.microsoft", "Tokenizer")
      .version(1,
               "(X: T) -> (Y: T) {mark: int, pad_value: string, tokenexp: string, separators: strings, "
               "mincharnum: int} [T: string]")
      .rule<TokenizeStrings>()
      .tolerance({.exact = true});
}

}  // namespace lathe
