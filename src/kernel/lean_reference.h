// Reference kernels whose memory is what they read and what they make.
#pragma once

#include "kernel/kernel.h"

namespace lathe {

/// As KernelCatalog::reference, of a kernel that takes nothing from KernelContext::scratch(): so an engine
/// knows its memory exactly, instead of allowing for copies of all operands.
template <class Op>
void lean_reference(KernelCatalog& k, std::string op, void (*run)(const Op&, KernelContext&),
                    std::string domain = {}) {
  std::string name = op + ".ref";
  k.add<Op>(
      {.op = std::move(op), .domain = std::move(domain), .name = std::move(name), .backend = "reference"},
      {.run = run});
}

}  // namespace lathe
