#include "ops/optional/optional.h"

#include "ops/pass_value.h"

namespace lathe {
namespace {

void make_optional(const MakeOptional&, KernelContext& c) {
  c.set(0, c.has(0) ? owned(c.value(0)) : Value());
}

void optional_has_element(const OptionalHasElement&, KernelContext& c) { c.out(0).as<bool>()[0] = c.has(0); }

void optional_get_element(const OptionalGetElement&, KernelContext& c) {
  if (!c.has(0))
    c.fail(Code::run_bad_value, "an optional with an element", "an empty one",
           "ask OptionalHasElement first");
  pass_value(c, 0, c.value(0));
}

}  // namespace

void reference_optional(KernelCatalog& k) {
  k.reference<MakeOptional>("Optional", make_optional);
  k.reference<OptionalHasElement>("OptionalHasElement", optional_has_element);
  k.reference<OptionalGetElement>("OptionalGetElement", optional_get_element);
}

}  // namespace lathe
