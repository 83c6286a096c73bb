#include "ops/microsoft/microsoft.h"

namespace lathe {
namespace {

/// No version of theirs: the one at which the standard's operators replace them.
constexpr int standard_from = 1'000'000;

}  // namespace

void declare_microsoft(SchemaCatalog& c) {
  using namespace microsoft;
  for (const auto family : {fused_operators(), norm_operators(), attention_operators(),
                            group_query_operators(), quantized_operators(), block_operators()})
    for (const Declared& d : family)
      c.add("com.microsoft", d.name).version(1, d.signature).deprecated(standard_from, d.into_standard);
  for (const Declared& d : operators_in_the_standards_domain())
    c.add("", d.name).version(1, d.signature).deprecated(standard_from, d.into_standard);
}

}  // namespace lathe
