#include <algorithm>

#include "base/component.h"
#include "kernel/kernel.h"

namespace lathe {

void register_all_references(KernelCatalog& all);
void register_all_cpu_kernels(KernelCatalog& all);

std::string_view name_of(Isa isa) {
  switch (isa) {
    case Isa::generic:
      return "generic";
    case Isa::avx2:
      return "avx2";
    case Isa::avx512:
      return "avx512";
  }
  return "generic";
}

namespace {

/// Reference kernels come last, wide instruction sets first.
bool before(const Kernel* a, const Kernel* b) {
  const bool ra = a->backend == "reference", rb = b->backend == "reference";
  if (ra != rb) return rb;
  if (a->isa != b->isa) return a->isa > b->isa;
  return a->priority > b->priority;
}

}  // namespace

void KernelCatalog::add(Kernel k) {
  k.domain = canonical_domain(k.domain);
  k.folder = folder_;
  const auto [named, fresh] = by_name_.try_emplace(k.name, nullptr);
  if (!fresh) throw Error(Code::internal, "build", "kernel names that are unique", "'" + k.name + "' twice");
  kernels_.push_back(std::make_unique<Kernel>(std::move(k)));
  const Kernel* made = named->second = kernels_.back().get();
  // A key that owns its strings is made only if it is new: hundreds of kernels are added before the first
  // model is read.
  auto of_op = by_op_.find(OpKeyView{made->domain, made->op});
  if (of_op == by_op_.end()) of_op = by_op_.try_emplace({made->domain, made->op}).first;
  auto& list = of_op->second;
  list.insert(std::upper_bound(list.begin(), list.end(), made, before), made);
}

void KernelCatalog::add_codec(const std::string& op, const std::string& domain, OpCodec c) {
  if (!codec_of(domain, op)) codecs_.try_emplace({std::string(canonical_domain(domain)), op}, std::move(c));
}

void KernelCatalog::needs(const std::string& op, std::string component, const std::string& domain) {
  components_[{std::string(canonical_domain(domain)), op}] = std::move(component);
}

std::string_view KernelCatalog::component_of(std::string_view domain, std::string_view op) const {
  const auto at = components_.find(OpKeyView{canonical_domain(domain), op});
  return at == components_.end() ? std::string_view() : std::string_view(at->second);
}

void KernelCatalog::require_component_of(std::string_view domain, std::string_view op) const {
  if (const std::string_view name = component_of(domain, op); !name.empty()) require_component(name);
}

void KernelCatalog::replaces(const std::string& op, std::vector<std::string> originals) {
  if (!replaced_by_.try_emplace(op, std::move(originals)).second)
    throw Error(Code::internal, "build", "an internal form declared once", "'" + op + "' twice");
}

void KernelCatalog::replaces_described(const std::string& op) {
  replaces(op, {});
  described_by_ = op;
}

std::vector<std::string> KernelCatalog::internal_forms_of(std::string_view domain,
                                                          std::string_view op) const {
  std::vector<std::string> forms;
  if (!canonical_domain(domain).empty()) return forms;
  const bool described = pointwise_of(domain, op) != nullptr;
  for (const auto& [form, originals] : replaced_by_)
    if (std::ranges::find(originals, op) != originals.end() || (described && form == described_by_))
      forms.push_back(form);
  return forms;
}

const OpCodec* KernelCatalog::codec_of(std::string_view domain, std::string_view op) const {
  const auto at = codecs_.find(OpKeyView{canonical_domain(domain), op});
  return at == codecs_.end() ? nullptr : &at->second;
}

const KernelCatalog::Describe* KernelCatalog::pointwise_of(std::string_view domain,
                                                           std::string_view op) const {
  const auto at = pointwise_.find(OpKeyView{canonical_domain(domain), op});
  return at == pointwise_.end() ? nullptr : &at->second;
}

std::vector<const Kernel*> KernelCatalog::candidates(std::string_view domain, std::string_view op) const {
  const auto at = by_op_.find(OpKeyView{canonical_domain(domain), op});
  return at == by_op_.end() ? std::vector<const Kernel*>{} : at->second;
}

const Kernel* KernelCatalog::by_name(std::string_view name) const {
  const auto at = by_name_.find(name);
  return at == by_name_.end() ? nullptr : at->second;
}

const Kernel* KernelCatalog::reference_of(std::string_view domain, std::string_view op) const {
  for (const Kernel* k : candidates(domain, op))
    if (k->backend == "reference") return k;
  return nullptr;
}

const KernelCatalog& KernelCatalog::standard() {
  static const KernelCatalog catalog = [] {
    KernelCatalog c;
    register_all_references(c);
    register_all_cpu_kernels(c);
    return c;
  }();
  return catalog;
}

}  // namespace lathe
