// Derivatives of what is computed element by element; broadcast operands get sums.
#include <cmath>
#include <numbers>

#include "gradient/backward.h"

namespace lathe {
namespace {

constexpr double pi = std::numbers::pi;

/// y = f(x): the gradient times f'(x), which the function says in terms of x and y.
template <Term f(Backward& b, Term x, Term y)>
void unary(Backward& b) {
  const Term g{&b, b.gradient()};
  b.give(0, (g * f(b, {&b, b.x()}, {&b, b.y()})).id);
}
float attribute(const Backward& b, const char* name, float fallback) {
  return b.attributes().get(name, fallback);
}

Term truth(Term condition, Term like) { return {like.b, like.b->add("CastLike", {condition.id, like.id})}; }
Term square(Term x) { return x * x; }
Term sigmoid(Term x) { return call("Sigmoid", x); }
Term positive(Term x) { return call("Greater", x, as_term(x, 0)); }

// What f'(x) is. Where a function has a corner, the derivative from one side, or 0, as PyTorch has it.
Term of_abs(Backward&, Term x, Term) { return call("Sign", x); }
Term of_acos(Backward&, Term x, Term) { return -1.0 / call("Sqrt", 1 - square(x)); }
Term of_acosh(Backward&, Term x, Term) { return 1 / call("Sqrt", square(x) - 1); }
Term of_asin(Backward&, Term x, Term) { return 1 / call("Sqrt", 1 - square(x)); }
Term of_asinh(Backward&, Term x, Term) { return 1 / call("Sqrt", 1 + square(x)); }
Term of_atan(Backward&, Term x, Term) { return 1 / (1 + square(x)); }
Term of_atanh(Backward&, Term x, Term) { return 1 / (1 - square(x)); }
Term of_cos(Backward&, Term x, Term) { return -call("Sin", x); }
Term of_cosh(Backward&, Term x, Term) { return call("Sinh", x); }
Term of_erf(Backward&, Term x, Term) { return (2 / std::sqrt(pi)) * call("Exp", -square(x)); }
Term of_exp(Backward&, Term, Term y) { return y; }
Term of_log(Backward&, Term x, Term) { return call("Reciprocal", x); }
Term of_reciprocal(Backward&, Term, Term y) { return -square(y); }
Term of_sigmoid(Backward&, Term, Term y) { return y * (1 - y); }
Term of_sin(Backward&, Term x, Term) { return call("Cos", x); }
Term of_sinh(Backward&, Term x, Term) { return call("Cosh", x); }
Term of_softplus(Backward&, Term x, Term) { return sigmoid(x); }
Term of_softsign(Backward&, Term x, Term) { return 1 / square(1 + call("Abs", x)); }
Term of_sqrt(Backward&, Term, Term y) { return 0.5 / y; }
Term of_tan(Backward&, Term, Term y) { return 1 + square(y); }
Term of_tanh(Backward&, Term, Term y) { return 1 - square(y); }
Term of_relu(Backward&, Term x, Term) { return truth(positive(x), x); }
Term of_leaky_relu(Backward& b, Term x, Term) {
  return choose(positive(x), as_term(x, 1), as_term(x, attribute(b, "alpha", 0.01f)));
}
Term of_thresholded_relu(Backward& b, Term x, Term) {
  return truth(call("Greater", x, as_term(x, attribute(b, "alpha", 1))), x);
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
  return double{attribute(b, "alpha", 0.2f)} * truth(slopes, x);
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
    const double c = std::sqrt(2 / pi);
    const Term t = call("Tanh", c * (x + 0.044715 * (x * square(x))));
    return 0.5 * (1 + t) + (0.5 * c) * (x * ((1 - square(t)) * (1 + (3 * 0.044715) * square(x))));
  }
  const Term below = 0.5 * (1 + call("Erf", std::sqrt(0.5) * x));
  return below + (1 / std::sqrt(2 * pi)) * (x * call("Exp", -0.5 * square(x)));
}

void identity(Backward& b) { b.give(0, b.gradient()); }
void neg(Backward& b) { b.give(0, b.add("Neg", {b.gradient()})); }
/// Steps: 0 wherever there is a derivative.
void flat(Backward&) {}
void cast(Backward& b) { b.give(0, b.add("CastLike", {b.gradient(), b.x()})); }

// ── Several operands

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
/// Of Max and Min: to those that are it, in equal shares.
void extreme(Backward& b) {
  const Term g{&b, b.gradient()}, y{&b, b.y()};
  const size_t n = b.node().inputs.size();
  std::vector<Term> is;
  for (size_t i = 0; i < n; ++i) is.push_back(truth(call("Equal", {&b, b.x(i)}, y), y));
  Term ties = is[0];
  for (size_t i = 1; i < n; ++i) ties = ties + is[i];
  for (size_t i = 0; i < n; ++i)
    if (b.wants(i)) b.give_broadcast(i, (g * is[i] / ties).id);
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
void where(Backward& b) {
  const Term c{&b, b.x(0)}, g{&b, b.gradient()}, zero = as_term(g, 0);
  if (b.wants(1)) b.give_broadcast(1, choose(c, g, zero).id);
  if (b.wants(2)) b.give_broadcast(2, choose(c, zero, g).id);
}
void prelu(Backward& b) {
  const Term g{&b, b.gradient()}, x{&b, b.x(0)}, slope{&b, b.x(1)}, zero = as_term(x, 0);
  const Term below = call("Less", x, zero);
  if (b.wants(0)) b.give_broadcast(0, choose(below, g * slope, g).id);
  if (b.wants(1)) b.give_broadcast(1, choose(below, g * x, zero).id);
}
/// y = x * mask / (1 - ratio) in training; else itself.
void dropout(Backward& b) {
  const Tensor* training = b.constant(b.x(2));
  if (training && training->size() != 1) b.refuse("one training_mode", std::to_string(training->size()));
  if (!b.has(2) || (training && !training->as<bool>()[0])) return identity(b);
  if (b.node().outputs.size() < 2 || b.y(1) == no_id || !training)
    b.refuse("Dropout with a constant training_mode, and its mask among its outputs", "one without");
  const Term g{&b, b.gradient()};
  const Term kept = b.has(1) ? 1 - Term{&b, b.add("CastLike", {b.x(1), g.id})} : as_term(g, 0.5);
  b.give(0, (g * truth({&b, b.y(1)}, g) / kept).id);
}

}  // namespace

void add_elementwise_rules(RuleTable& t) {
  t["Abs"] = unary<of_abs>;
  t["Acos"] = unary<of_acos>;
  t["Acosh"] = unary<of_acosh>;
  t["Asin"] = unary<of_asin>;
  t["Asinh"] = unary<of_asinh>;
  t["Atan"] = unary<of_atan>;
  t["Atanh"] = unary<of_atanh>;
  t["Celu"] = unary<of_celu>;
  t["Cos"] = unary<of_cos>;
  t["Cosh"] = unary<of_cosh>;
  t["Elu"] = unary<of_elu>;
  t["Erf"] = unary<of_erf>;
  t["Exp"] = unary<of_exp>;
  t["Gelu"] = unary<of_gelu>;
  t["HardSigmoid"] = unary<of_hard_sigmoid>;
  t["HardSwish"] = unary<of_hard_swish>;
  t["LeakyRelu"] = unary<of_leaky_relu>;
  t["Log"] = unary<of_log>;
  t["Mish"] = unary<of_mish>;
  t["Reciprocal"] = unary<of_reciprocal>;
  t["Relu"] = unary<of_relu>;
  t["Selu"] = unary<of_selu>;
  t["Sigmoid"] = unary<of_sigmoid>;
  t["Sin"] = unary<of_sin>;
  t["Sinh"] = unary<of_sinh>;
  t["Softplus"] = unary<of_softplus>;
  t["Softsign"] = unary<of_softsign>;
  t["Sqrt"] = unary<of_sqrt>;
  t["Swish"] = unary<of_swish>;
  t["Tan"] = unary<of_tan>;
  t["Tanh"] = unary<of_tanh>;
  t["ThresholdedRelu"] = unary<of_thresholded_relu>;
  t["Identity"] = identity;
  t["Neg"] = neg;
  t["Cast"] = t["CastLike"] = cast;
  t["Ceil"] = t["Floor"] = t["Round"] = t["Sign"] = flat;
  t["Add"] = t["Sum"] = add;
  t["Sub"] = sub;
  t["Mul"] = mul;
  t["Div"] = div;
  t["Pow"] = pow;
  t["Mean"] = mean;
  t["Max"] = t["Min"] = extreme;
  t["Clip"] = clip;
  t["Where"] = where;
  t["PRelu"] = prelu;
  t["Dropout"] = dropout;
}

}  // namespace lathe
