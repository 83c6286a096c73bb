// Derivatives of arithmetic on several operands; broadcast operands get sums.
#include <vector>

#include "gradient/terms.h"

namespace lathe {
namespace {

void add(Backward& b) {
  for (size_t i = 0; i < b.node().inputs.size(); ++i)
    if (b.wants(i)) b.give_broadcast(i, b.gradient());
}
void sub(Backward& b) {
  if (b.wants(0)) b.give_broadcast(0, b.gradient());
  if (b.wants(1)) b.give_broadcast(1, b.add("Neg", {b.gradient()}));
}
void mul(Backward& b) {
  for (size_t i : {0, 1})
    if (b.wants(i)) b.give_broadcast(i, b.add("Mul", {b.gradient(), b.x(1 - i)}));
}
void div(Backward& b) {
  const Term share = Term{&b, b.gradient()} / Term{&b, b.x(1)};
  if (b.wants(0)) b.give_broadcast(0, share.id);
  if (b.wants(1)) b.give_broadcast(1, (-(share * Term{&b, b.y()})).id);
}
void pow(Backward& b) {
  const Term g{&b, b.gradient()}, x{&b, b.x(0)}, y{&b, b.y()};
  const Term e{&b, b.add("CastLike", {b.x(1), x.id})};
  if (b.wants(0)) {
    // x^0 is 1 everywhere, although x^-1 is not finite at 0.
    const Term zero = as_term(x, 0);
    const Term slope = choose(call("Equal", e, zero), zero, e * call("Pow", x, e - 1));
    b.give_broadcast(0, (g * slope).id);
  }
  if (b.wants(1)) {
    const Term log = choose(positive(x), call("Log", x), as_term(x, 0));
    const Term slope = g * y * log;
    b.give_broadcast(1, b.add("CastLike", {slope.id, b.x(1)}));
  }
}
void mean(Backward& b) {
  const Term share = (1.0 / static_cast<double>(b.node().inputs.size())) * Term{&b, b.gradient()};
  for (size_t i = 0; i < b.node().inputs.size(); ++i)
    if (b.wants(i)) b.give_broadcast(i, share.id);
}
/// Max and Min: inputs that equal the output get equal shares of the gradient.
void extreme(Backward& b) {
  const Term g{&b, b.gradient()}, y{&b, b.y()};
  const size_t n = b.node().inputs.size();
  std::vector<Term> is;
  for (size_t i = 0; i < n; ++i) is.push_back(as_number(call("Equal", {&b, b.x(i)}, y), y));
  Term ties = is[0];
  for (size_t i = 1; i < n; ++i) ties = ties + is[i];
  for (size_t i = 0; i < n; ++i)
    if (b.wants(i)) b.give_broadcast(i, (g * is[i] / ties).id);
}

}  // namespace

void gradient_binary(GradientTable& t) {
  t["Add"] = t["Sum"] = add;
  t["Sub"] = sub;
  t["Mul"] = mul;
  t["Div"] = div;
  t["Pow"] = pow;
  t["Mean"] = mean;
  t["Max"] = t["Min"] = extreme;
}

}  // namespace lathe
