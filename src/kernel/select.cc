#include "kernel/select.h"

#include <algorithm>

#include "base/cpu.h"

namespace lathe {
namespace {

/// Returns whether all operands have fixed-width elements: devices hold no others.
bool fits_device(const KernelQuery& r) {
  const auto fixed = [](const KernelQuery::Operand& o) { return !o.present || bits_of(o.type) > 0; };
  return std::ranges::all_of(r.inputs, fixed) && std::ranges::all_of(r.outputs, fixed);
}

}  // namespace

Support should_run(const Kernel& k, const void* op, const KernelQuery& r) {
  if (k.isa > r.isa) return Support::no("needs " + std::string(name_of(k.isa)));
  if (k.memory != host_memory && !fits_device(r))
    return Support::no("only tensors of numbers live on the device");
  if (Support can = supports_states(k, r); !can.accepted) return can;
  Support can = k.supports ? k.supports(op, r) : Support::yes();
  if (!can.accepted || !k.is_preferred) return can;
  Support should = k.is_preferred(op, r);
  return should.accepted ? can : should;
}

Support supports_states(const Kernel& k, const KernelQuery& r) {
  const auto takes = [&](size_t i) { return i < 32 && (k.takes_states >> i & 1) != 0; };
  for (size_t i = 0; i < r.inputs.size(); ++i) {
    if (r.inputs[i].grows_along >= 0 && !takes(i)) return Support::no("reads dense tensors, not a state");
    if (r.inputs[i].in_blocks && !k.takes_blocks)
      return Support::no("reads a state in one piece, not in blocks");
  }
  for (size_t o = 0; o < r.outputs.size(); ++o) {
    const auto appends = [&](const Kernel::Appended& a) {
      return a.output == o && a.input < r.inputs.size() && r.inputs[a.input].grows_along >= 0;
    };
    if (r.outputs[o].grows_along >= 0 && std::ranges::none_of(k.appends, appends))
      return Support::no("does not append to a state");
  }
  return Support::yes();
}

std::shared_ptr<const void> decode_for(const Kernel& kernel, const OpCodec& codec,
                                       const Attributes& attributes, const Tunables& tunables) {
  auto op = kernel.decode ? kernel.decode(attributes) : codec.decode(attributes);
  return tunables.empty() || !kernel.tuned ? op : kernel.tuned(op.get(), tunables);
}

bool knows(const Kernel& kernel, const void* op, const KernelQuery& query, const Tunables& tunables) {
  if (tunables.empty()) return true;
  if (!kernel.tactics || !kernel.tuned) return false;
  const std::vector<Tunables> all = kernel.tactics(op, query);
  return std::ranges::find(all, tunables) != all.end();
}

std::string tactic_text(std::string_view kernel, const Tunables& tunables) {
  std::string text(kernel);
  for (size_t i = 0; i < tunables.size(); ++i) text += (i ? ", " : " [") + std::to_string(tunables[i]);
  return tunables.empty() ? text : text + "]";
}

std::vector<Tactic> tactics_for(const KernelCatalog& kernels, std::string_view backend, Isa min_isa,
                                std::string_view domain, std::string_view op, const Attributes& attributes,
                                const KernelQuery& query) {
  std::vector<Tactic> list;
  const OpCodec* codec = kernels.codec_of(domain, op);
  if (!codec) return list;
  for (const Kernel* k : kernels.candidates(domain, op)) {
    if (k->backend != backend || k->isa < min_isa || k->isa > query.isa) continue;
    const auto decoded = decode_for(*k, *codec, attributes);
    if (k->supports && !k->supports(decoded.get(), query).accepted) continue;
    if (!supports_states(*k, query).accepted) continue;
    list.push_back({k});
    if (!k->tactics || !k->tuned) continue;
    for (Tunables& t : k->tactics(decoded.get(), query)) list.push_back({k, std::move(t)});
  }
  return list;
}

Isa choose_isa(const std::string& requested) {
  const CpuFeatures& cpu = cpu_features();
  const Isa best = cpu.avx512 ? Isa::avx512 : cpu.avx2 ? Isa::avx2 : Isa::generic;
  if (requested.empty()) return best;
  for (Isa isa : {Isa::generic, Isa::avx2, Isa::avx512})
    if (requested == name_of(isa)) return std::min(isa, best);
  throw Error(Code::build_bad_option, "build", "isa: generic, avx2 or avx512", "'" + requested + "'");
}

Choice select_kernel(const KernelCatalog& kernels, const Preference& preference, std::string_view domain,
                     std::string_view op, const Attributes& attributes, const KernelQuery& given) {
  KernelQuery query = given;
  if (!query.likely) query.likely = &preference.likely;
  query.strict |= preference.strict;
  const OpCodec* codec = kernels.codec_of(domain, op);
  const std::vector<const Kernel*> all = kernels.candidates(domain, op);
  Choice choice;
  const auto consider = [&](std::string_view backend) {
    for (const Kernel* k : all) {
      if (k->backend != backend) continue;
      choice.op = decode_for(*k, *codec, attributes);
      choice.support = should_run(*k, choice.op.get(), query);
      if (choice.support.accepted) {
        choice.kernel = k;
        return true;
      }
      choice.refusals.push_back(k->name + ": " + choice.support.reason);
    }
    return false;
  };
  if (codec)
    for (const std::string& backend : preference.backends)
      if (consider(backend)) break;
  if (codec && !choice.kernel) consider("reference");
  std::string said;
  for (const std::string& r : choice.refusals) said += (said.empty() ? "" : "; ") + r;
  if (!choice.kernel)
    throw Error(Code::build_no_kernel, "build", "a kernel", all.empty() ? "none for this operator" : said,
                "`lathe ops` lists what there is");
  kernels.require_component_of(domain, op);
  if (choice.kernel->backend == "reference" && !preference.allow_reference)
    throw Error(Code::build_reference_forbidden, "build", "a kernel other than the reference",
                said.empty() ? "no other kernel" : said,
                "allow the reference, or change the node so that a kernel accepts it");
  return choice;
}

}  // namespace lathe
