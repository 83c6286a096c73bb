// The derivative of CumSum.
#include <cstdint>

#include "gradient/backward.h"

namespace lathe {
namespace {

void cum_sum(Backward& b) {
  Attributes a = b.attributes();
  a.set("reverse", int64_t{a.get<int64_t>("reverse", 0) == 0});
  b.give(0, b.add("CumSum", {b.gradient(), b.x(1)}, std::move(a)));
}

}  // namespace

void gradient_cumulative(GradientTable& t) { t["CumSum"] = cum_sum; }

}  // namespace lathe
