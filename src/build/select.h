// Asks the kernels of an operator which of them can run a node, and remembers why the others cannot.
#pragma once

#include "kernel/kernel.h"
#include "runtime/extensions.h"

namespace lathe {

struct Preference {
  std::vector<std::string> backends;  // best first
  Isa isa = Isa::generic;
  bool allow_reference = true;
};

struct Choice {
  const Kernel* kernel = nullptr;
  std::shared_ptr<const void> op;  // decoded for it
  Verdict verdict;
  std::vector<std::string> refusals;  // "softmax.avx512: only float32"
};

/// Throws build_no_kernel with all refusals, or build_reference_forbidden.
Choice select_kernel(const KernelCatalog& kernels, const Preference& preference, std::string_view domain,
                     std::string_view op, const Attributes& attributes, const KernelRequest& request);

}  // namespace lathe
