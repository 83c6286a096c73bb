#include "compiler/arithmetic.h"

#include <algorithm>

namespace lathe {
namespace {

/// Operators of domain lathe are the builder's own: forms of standard ones, or movement.
Arithmetic arithmetic_of_step(const SchemaCatalog& schemas, const KernelCatalog& kernels, const PlanStep& s) {
  if (s.kernel.empty() || !s.bodies.empty()) return Arithmetic::none;
  if (s.domain != "lathe") return arithmetic_of(schemas, s.domain, s.op).value_or(Arithmetic::per_output);
  const OpCodec* codec = kernels.codec_of(s.domain, s.op);
  if (codec && codec->operations) return Arithmetic::contraction;
  constexpr std::string_view prefix = "Blocked";
  return s.op.starts_with(prefix)
             ? arithmetic_of(schemas, "", s.op.substr(prefix.size())).value_or(Arithmetic::per_output)
             : Arithmetic::none;
}

}  // namespace

std::optional<Arithmetic> arithmetic_of(const SchemaCatalog& schemas, std::string_view domain,
                                        std::string_view op) {
  const OpSchema* schema = schemas.find(domain, op);
  if (!schema) return std::nullopt;
  if (schema->operations()) return Arithmetic::contraction;
  if (schema->tolerance().exact) return Arithmetic::none;
  return schema->tolerance().per_reduced ? Arithmetic::per_input : Arithmetic::per_output;
}

void record_arithmetic(Plan& plan, const SchemaCatalog& schemas, const KernelCatalog& kernels) {
  for (PlanGraph& g : plan.graphs)
    for (PlanStep& s : g.steps) {
      s.arithmetic = arithmetic_of_step(schemas, kernels, s);
      const auto counts = [&](const std::string& op) {
        return arithmetic_of(schemas, "", op).value_or(Arithmetic::per_output) != Arithmetic::none;
      };
      s.fused_arithmetic =
          static_cast<uint16_t>(std::min<ptrdiff_t>(std::ranges::count_if(s.fused, counts), UINT16_MAX));
    }
}

}  // namespace lathe
