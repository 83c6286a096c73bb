// The derivative of Where; broadcast operands get sums.
#include "gradient/backward.h"

namespace lathe {
namespace {

void where(Backward& b) {
  const Term c{&b, b.x(0)}, g{&b, b.gradient()}, zero = as_term(g, 0);
  if (b.wants(1)) b.give_broadcast(1, choose(c, g, zero).id);
  if (b.wants(2)) b.give_broadcast(2, choose(c, zero, g).id);
}

}  // namespace

void gradient_where(GradientTable& t) { t["Where"] = where; }

}  // namespace lathe
