// Reference kernels that need no memory besides their inputs and outputs.
#pragma once

#include "kernel/kernel.h"

namespace lathe {

/// The same as KernelCatalog::reference for a kernel that takes nothing from KernelContext::scratch(): so an
/// engine knows its memory exactly, and need not allow for copies of all operands.
template <class Op>
void lean_reference(KernelCatalog& k, std::string op, void (*run)(const Op&, KernelContext&),
                    std::string domain = {}) {
  std::string name = op + ".ref";
  k.add<Op>(
      {.op = std::move(op), .domain = std::move(domain), .name = std::move(name), .backend = "reference"},
      {.run = run});
}

}  // namespace lathe
