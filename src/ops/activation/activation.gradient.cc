// Derivatives of activations, of Clip and PRelu; broadcast operands get sums.
#include <cmath>
#include <numbers>
#include <string>

#include "gradient/terms.h"

namespace lathe {
namespace {

float attribute(const Backward& b, const char* name, float fallback) {
  return b.attributes().get(name, fallback);
}
Term sigmoid(Term x) { return call("Sigmoid", x); }
Term of_sigmoid(Backward&, Term, Term y) { return y * (1 - y); }
Term of_softplus(Backward&, Term x, Term) { return sigmoid(x); }
Term of_softsign(Backward&, Term x, Term) { return 1 / square(1 + call("Abs", x)); }
Term of_relu(Backward&, Term x, Term) { return as_number(positive(x), x); }
Term of_leaky_relu(Backward& b, Term x, Term) {
  return choose(positive(x), as_term(x, 1), as_term(x, attribute(b, "alpha", 0.01f)));
}
Term of_thresholded_relu(Backward& b, Term x, Term) {
  return as_number(call("Greater", x, as_term(x, attribute(b, "alpha", 1))), x);
}
Term of_elu(Backward& b, Term x, Term) {
  return choose(positive(x), as_term(x, 1), attribute(b, "alpha", 1) * call("Exp", x));
}
Term of_celu(Backward& b, Term x, Term) {
  return choose(positive(x), as_term(x, 1), call("Exp", x / as_term(x, attribute(b, "alpha", 1))));
}
Term of_selu(Backward& b, Term x, Term) {
  const double alpha = attribute(b, "alpha", 1.6732632f), gamma = attribute(b, "gamma", 1.0507010f);
  return choose(positive(x), as_term(x, gamma), (alpha * gamma) * call("Exp", x));
}
Term of_hard_sigmoid(Backward& b, Term x, Term y) {
  const Term slopes = call("And", positive(y), call("Less", y, as_term(y, 1)));
  return double{attribute(b, "alpha", 0.2f)} * as_number(slopes, x);
}
Term of_hard_swish(Backward&, Term x, Term) {
  const Term middle = 0.5 + (1 / 3.0) * x;
  return choose(call("LessOrEqual", x, as_term(x, -3)), as_term(x, 0),
                choose(call("GreaterOrEqual", x, as_term(x, 3)), as_term(x, 1), middle));
}
Term of_swish(Backward& b, Term x, Term y) {
  const double alpha = attribute(b, "alpha", 1);
  const Term s = sigmoid(alpha * x);
  return s + alpha * (y * (1 - s));
}
Term of_mish(Backward&, Term x, Term) {
  const Term t = call("Tanh", call("Softplus", x));
  return t + x * (sigmoid(x) * (1 - square(t)));
}
Term of_gelu(Backward& b, Term x, Term) {
  if (b.attributes().get<std::string>("approximate", "none") == "tanh") {
    const double c = std::sqrt(2 / std::numbers::pi);
    const Term t = call("Tanh", c * (x + 0.044715 * (x * square(x))));
    return 0.5 * (1 + t) + (0.5 * c) * (x * ((1 - square(t)) * (1 + (3 * 0.044715) * square(x))));
  }
  const Term below = 0.5 * (1 + call("Erf", std::sqrt(0.5) * x));
  return below + (1 / std::sqrt(2 * std::numbers::pi)) * (x * call("Exp", -0.5 * square(x)));
}
void clip(Backward& b) {
  const Term g{&b, b.gradient()}, x{&b, b.x()}, zero = as_term(x, 0);
  Term through = g;
  for (size_t i : {1, 2}) {
    if (!b.has(i)) continue;
    const Term bound{&b, b.x(i)};
    const Term beyond = call(i == 1 ? "Less" : "Greater", x, bound);
    through = choose(beyond, zero, through);
    if (b.wants(i)) b.give_broadcast(i, choose(beyond, g, zero).id);
  }
  b.give(0, through.id);
}
void prelu(Backward& b) {
  const Term g{&b, b.gradient()}, x{&b, b.x(0)}, slope{&b, b.x(1)}, zero = as_term(x, 0);
  const Term below = call("Less", x, zero);
  if (b.wants(0)) b.give_broadcast(0, choose(below, g * slope, g).id);
  if (b.wants(1)) b.give_broadcast(1, choose(below, g * x, zero).id);
}

}  // namespace

void gradient_activation(GradientTable& t) {
  t["Celu"] = unary_rule<of_celu>;
  t["Elu"] = unary_rule<of_elu>;
  t["Gelu"] = unary_rule<of_gelu>;
  t["HardSigmoid"] = unary_rule<of_hard_sigmoid>;
  t["HardSwish"] = unary_rule<of_hard_swish>;
  t["LeakyRelu"] = unary_rule<of_leaky_relu>;
  t["Mish"] = unary_rule<of_mish>;
  t["Relu"] = unary_rule<of_relu>;
  t["Selu"] = unary_rule<of_selu>;
  t["Sigmoid"] = unary_rule<of_sigmoid>;
  t["Softplus"] = unary_rule<of_softplus>;
  t["Softsign"] = unary_rule<of_softsign>;
  t["Swish"] = unary_rule<of_swish>;
  t["ThresholdedRelu"] = unary_rule<of_thresholded_relu>;
  t["Clip"] = clip;
  t["PRelu"] = prelu;
}

}  // namespace lathe
