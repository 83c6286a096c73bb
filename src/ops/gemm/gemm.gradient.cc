// The derivative of Gemm.
#include <cstdint>

#include "gradient/backward.h"

namespace lathe {
namespace {

void gemm(Backward& b) {
  const float alpha = b.attributes().get("alpha", 1.0f), beta = b.attributes().get("beta", 1.0f);
  const bool ta = b.attributes().get<int64_t>("transA", 0) != 0,
             tb = b.attributes().get<int64_t>("transB", 0) != 0;
  const auto product = [&](ValueId left, bool transposed_left, ValueId right, bool transposed_right) {
    Attributes a = with("alpha", alpha);
    a.set("transA", int64_t{transposed_left});
    a.set("transB", int64_t{transposed_right});
    return b.add("Gemm", {left, right}, std::move(a));
  };
  const ValueId g = b.gradient();
  if (b.wants(0)) b.give(0, ta ? product(b.x(1), tb, g, true) : product(g, false, b.x(1), !tb));
  if (b.wants(1)) b.give(1, tb ? product(g, true, b.x(0), ta) : product(b.x(0), !ta, g, false));
  if (b.wants(2)) b.give_broadcast(2, (double{beta} * Term{&b, g}).id);
}

}  // namespace

void gradient_gemm(GradientTable& t) { t["Gemm"] = gemm; }

}  // namespace lathe
