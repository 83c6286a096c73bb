#include "ops/regex/regex.h"

#include "schema/schema.h"

namespace lathe {
namespace {

/// A malformed pattern is reported when the model is read, if the component is installed.
void infer_match(InferContext& c) {
  if (component("regex").table) Pattern(c.node().attributes.get<std::string>("pattern", {}));
  ValueType t = c.input(0);
  t.elem = DataType::boolean;
  c.output(0, std::move(t));
}

}  // namespace

void declare_regex(SchemaCatalog& c) {
  c.add("RegexFullMatch")
      .version(20, "(X: T1) -> (Y: T2) {pattern: string} [T1: string; T2: bool]")
      .rule<RegexFullMatch>()
      .infer(infer_match)
      .tolerance({.exact = true});
}

}  // namespace lathe
