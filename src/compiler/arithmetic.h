// Tells the steps of a plan how their arithmetic is counted, which only the operators' declarations know.
#pragma once

#include <optional>

#include "kernel/kernel.h"
#include "plan/plan.h"
#include "schema/schema.h"

namespace lathe {

/// Nothing for an operator that the catalog does not have.
std::optional<Arithmetic> arithmetic_of(const SchemaCatalog& schemas, std::string_view domain,
                                        std::string_view op);

/// Fills in `arithmetic` and `fused_arithmetic` of every step.
void record_arithmetic(Plan& plan, const SchemaCatalog& schemas, const KernelCatalog& kernels);

}  // namespace lathe
