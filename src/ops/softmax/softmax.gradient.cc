// Derivatives of Softmax and LogSoftmax.
#include <cstdint>

#include "gradient/backward.h"

namespace lathe {
namespace {

Term sum_over(Term v, int64_t axis) {
  return {v.b, v.b->add("ReduceSum", {v.id, v.b->ints({axis})}, with("keepdims", int64_t{1}))};
}
void softmax(Backward& b) {
  const int64_t axis = b.attributes().get<int64_t>("axis", -1);
  const Term g{&b, b.gradient()}, y{&b, b.y()};
  b.give(0, (y * (g - sum_over(g * y, axis))).id);
}
void log_softmax(Backward& b) {
  const int64_t axis = b.attributes().get<int64_t>("axis", -1);
  const Term g{&b, b.gradient()}, y{&b, b.y()};
  b.give(0, (g - call("Exp", y) * sum_over(g, axis)).id);
}

}  // namespace

void gradient_softmax(GradientTable& t) {
  t["Softmax"] = softmax;
  t["LogSoftmax"] = log_softmax;
}

}  // namespace lathe
