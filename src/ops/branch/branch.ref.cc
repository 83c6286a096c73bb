#include "ops/branch/branch.h"

#include "ops/pass_value.h"

namespace lathe {
namespace {

void run_branch(const If&, KernelContext& c) {
  const Tensor& condition = c.in(0);
  if (condition.size() != 1) c.fail(Code::run_bad_shape, "a condition of one element", describe(condition));
  KernelBody& body = c.body(condition.as<bool>()[0] ? 1 : 0);
  body.run({});
  for (size_t i = 0; i < c.outputs(); ++i) pass_value(c, i, body.output(i));
}

}  // namespace

void reference_branch(KernelCatalog& k) { k.reference<If>("If", run_branch); }

}  // namespace lathe
