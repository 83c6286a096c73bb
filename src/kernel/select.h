// Asks the kernels of an operator which of them can run a node, and remembers why the others cannot.
#pragma once

#include "kernel/kernel.h"

namespace lathe {

struct Preference {
  std::vector<std::string> backends;  // best first
  Isa isa = Isa::generic;
  bool allow_reference = true;
  bool fuse = false;        // elementwise operators become parts of other steps
  bool refit = false;       // weights may be exchanged: nothing but packing may depend on what they hold
  bool strict = false;      // nothing may depend on the size of the batch
  LikelySizes likely = {};  // of symbols
};

struct Choice {
  const Kernel* kernel = nullptr;
  std::shared_ptr<const void> op;  // decoded for it
  Verdict verdict;
  std::vector<std::string> refusals;  // "softmax.avx512: only float32"
};

/// The operator as a kernel wants to see it.
std::shared_ptr<const void> decode_for(const Kernel& kernel, const OpCodec& codec,
                                       const Attributes& attributes, const Tunables& tunables = {});

/// May the kernel be told this? `op` is the operator of a kernel that has been told nothing.
bool knows(const Kernel& kernel, const void* op, const KernelRequest& request, const Tunables& tunables);

/// "blocked_conv.winograd4.avx2 [65536]".
std::string tactic_text(std::string_view kernel, const Tunables& tunables);

struct Tactic {
  const Kernel* kernel = nullptr;
  Tunables tunables = {};
  std::string text() const { return tactic_text(kernel->name, tunables); }
};
/// All that can run a node with kernels of one backend, for instruction sets from `least` up; best kernel
/// first as the catalog has it, whatever `prefer` would say.
std::vector<Tactic> tactics_for(const KernelCatalog& kernels, std::string_view backend, Isa least,
                                std::string_view domain, std::string_view op, const Attributes& attributes,
                                const KernelRequest& request);

/// The best instruction set of this machine, or the one wanted where that is less. Throws build_bad_option on
/// an unknown name.
Isa choose_isa(const std::string& wanted);

/// Throws build_no_kernel with all refusals, or build_reference_forbidden.
Choice select_kernel(const KernelCatalog& kernels, const Preference& preference, std::string_view domain,
                     std::string_view op, const Attributes& attributes, const KernelRequest& request);

}  // namespace lathe
