#include "ops/refused/refused.h"

#include "kernel/lean_reference.h"

namespace lathe {
namespace {

void refuse(const Refused& refused, KernelContext&) {
  Diagnostic d;
  d.code = static_cast<Code>(refused.code);
  d.stage = "run";
  d.op = refused.op;
  d.expected = refused.expected;
  d.got = refused.got;
  d.remedy = refused.remedy;
  throw Error(std::move(d));
}

}  // namespace

void reference_refused(KernelCatalog& k) {
  k.replaces(refused_operator, {});
  lean_reference<Refused>(k, refused_operator, refuse, "lathe");
  // Also for engines without the reference: a branch that is never taken is no reason to refuse a model.
  k.add<Refused>({.op = refused_operator, .domain = "lathe", .name = "refused"}, {.run = refuse});
}

}  // namespace lathe
