// Finds the kernels of an operator that support a node, and records why the others do not.
#pragma once

#include "kernel/kernel.h"

namespace lathe {

struct Preference {
  std::vector<std::string> backends;  // best first
  Isa isa = Isa::generic;
  bool allow_reference = true;
  bool fuse = false;        // elementwise operators are fused into other steps
  bool refit = false;       // weights may be exchanged: nothing but packing may depend on their contents
  bool strict = false;      // nothing may depend on the size of the batch
  LikelySizes likely = {};  // of symbols
};

struct Choice {
  const Kernel* kernel = nullptr;
  std::shared_ptr<const void> op;  // decoded for this kernel
  Support support;
  std::vector<std::string> refusals;  // "softmax.avx512: only float32"
};

/// Returns whether a kernel takes those operands that are states which grow in place.
Support supports_states(const Kernel& kernel, const KernelQuery& query);

/// Returns whether the kernel can run a node, and is not thought to be slower than others.
Support should_run(const Kernel& kernel, const void* op, const KernelQuery& query);

/// The operator as the struct that the kernel reads.
std::shared_ptr<const void> decode_for(const Kernel& kernel, const OpCodec& codec,
                                       const Attributes& attributes, const Tunables& tunables = {});

/// Returns whether these are tunables of the kernel. `op` is its operator, decoded without tunables.
bool knows(const Kernel& kernel, const void* op, const KernelQuery& query, const Tunables& tunables);

/// The text of a tactic: "blocked_conv.winograd4.avx2 [65536]".
std::string tactic_text(std::string_view kernel, const Tunables& tunables);

struct Tactic {
  const Kernel* kernel = nullptr;
  Tunables tunables = {};
  std::string text() const { return tactic_text(kernel->name, tunables); }
};
/// All tactics of one backend's kernels that can run a node, for instruction sets from `min_isa` up; the best
/// kernel of the catalog first. `is_preferred` is ignored.
std::vector<Tactic> tactics_for(const KernelCatalog& kernels, std::string_view backend, Isa min_isa,
                                std::string_view domain, std::string_view op, const Attributes& attributes,
                                const KernelQuery& query);

/// The best instruction set of this machine, or `requested` if that is less. Throws build_bad_option on an
/// unknown name.
Isa choose_isa(const std::string& requested);

/// Chooses the kernel for a node. Throws build_no_kernel with all refusals, or build_reference_forbidden.
Choice select_kernel(const KernelCatalog& kernels, const Preference& preference, std::string_view domain,
                     std::string_view op, const Attributes& attributes, const KernelQuery& query);

}  // namespace lathe
