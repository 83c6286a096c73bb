#include "build/arithmetic.h"

#include <algorithm>

namespace lathe {
namespace {

/// Operators of domain lathe are the builder's own: forms of standard ones, or movement.
Arithmetic arithmetic_of_step(const SchemaCatalog& schemas, const PlanStep& s) {
  if (s.kernel.empty() || !s.bodies.empty()) return Arithmetic::none;
  if (s.domain != "lathe") return arithmetic_of(schemas, s.domain, s.op).value_or(Arithmetic::per_output);
  if (is_contraction(s.op)) return Arithmetic::contraction;
  constexpr std::string_view prefix = "Blocked";
  return s.op.starts_with(prefix)
             ? arithmetic_of(schemas, "", s.op.substr(prefix.size())).value_or(Arithmetic::per_output)
             : Arithmetic::none;
}

}  // namespace

std::optional<Arithmetic> arithmetic_of(const SchemaCatalog& schemas, std::string_view domain,
                                        std::string_view op) {
  if (domain.empty() && is_contraction(op)) return Arithmetic::contraction;
  const OpSchema* schema = schemas.find(domain, op);
  if (!schema) return std::nullopt;
  if (schema->contract().exact) return Arithmetic::none;
  return schema->contract().per_reduced ? Arithmetic::per_input : Arithmetic::per_output;
}

void tell_arithmetic(Plan& plan, const SchemaCatalog& schemas) {
  for (PlanGraph& g : plan.graphs)
    for (PlanStep& s : g.steps) {
      s.arithmetic = arithmetic_of_step(schemas, s);
      const auto counts = [&](const std::string& op) {
        return arithmetic_of(schemas, "", op).value_or(Arithmetic::per_output) != Arithmetic::none;
      };
      s.fused_arithmetic =
          static_cast<uint16_t>(std::min<ptrdiff_t>(std::ranges::count_if(s.fused, counts), UINT16_MAX));
    }
}

}  // namespace lathe
