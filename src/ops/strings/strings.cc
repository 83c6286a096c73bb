#include "ops/strings/strings.h"

#include "schema/schema.h"

namespace lathe {

void declare_strings(SchemaCatalog& c) {
  c.add("StringNormalizer")
      .version(10,
               "(X: string) -> (Y: string) {stopwords: strings, locale: string, is_case_sensitive: int = 0, "
               "case_change_action: string = 'NONE'}")
      .rule<StringNormalizer>()
      .tolerance({.exact = true});
  c.add("StringConcat")
      .version(20, "(X: T, Y: T) -> (Z: T) [T: string]")
      .rule<StringConcat>()
      .tolerance({.exact = true});
  c.add("StringSplit")
      .version(
          20,
          "(X: T1) -> (Y: T2, Z: T3) {maxsplit: int, delimiter: string} [T1: string; T2: string; T3: int64]")
      .rule<StringSplit>()
      .tolerance({.exact = true});
}

}  // namespace lathe
