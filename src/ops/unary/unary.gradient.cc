// Derivatives of functions of one operand.
#include <cmath>
#include <numbers>

#include "gradient/terms.h"

namespace lathe {
namespace {

// Functions that return f'(x). At a corner of f it is the derivative from one side, or 0, as in PyTorch.
Term of_abs(Backward&, Term x, Term) { return call("Sign", x); }
Term of_acos(Backward&, Term x, Term) { return -1.0 / call("Sqrt", 1 - square(x)); }
Term of_acosh(Backward&, Term x, Term) { return 1 / call("Sqrt", square(x) - 1); }
Term of_asin(Backward&, Term x, Term) { return 1 / call("Sqrt", 1 - square(x)); }
Term of_asinh(Backward&, Term x, Term) { return 1 / call("Sqrt", 1 + square(x)); }
Term of_atan(Backward&, Term x, Term) { return 1 / (1 + square(x)); }
Term of_atanh(Backward&, Term x, Term) { return 1 / (1 - square(x)); }
Term of_cos(Backward&, Term x, Term) { return -call("Sin", x); }
Term of_cosh(Backward&, Term x, Term) { return call("Sinh", x); }
Term of_erf(Backward&, Term x, Term) { return (2 / std::sqrt(std::numbers::pi)) * call("Exp", -square(x)); }
Term of_exp(Backward&, Term, Term y) { return y; }
Term of_log(Backward&, Term x, Term) { return call("Reciprocal", x); }
Term of_reciprocal(Backward&, Term, Term y) { return -square(y); }
Term of_sin(Backward&, Term x, Term) { return call("Cos", x); }
Term of_sinh(Backward&, Term x, Term) { return call("Cosh", x); }
Term of_sqrt(Backward&, Term, Term y) { return 0.5 / y; }
Term of_tan(Backward&, Term, Term y) { return 1 + square(y); }
Term of_tanh(Backward&, Term, Term y) { return 1 - square(y); }
void neg(Backward& b) { b.give(0, b.add("Neg", {b.gradient()})); }
/// Steps: 0 wherever there is a derivative.
void flat(Backward&) {}

}  // namespace

void gradient_unary(GradientTable& t) {
  t["Abs"] = unary_rule<of_abs>;
  t["Acos"] = unary_rule<of_acos>;
  t["Acosh"] = unary_rule<of_acosh>;
  t["Asin"] = unary_rule<of_asin>;
  t["Asinh"] = unary_rule<of_asinh>;
  t["Atan"] = unary_rule<of_atan>;
  t["Atanh"] = unary_rule<of_atanh>;
  t["Cos"] = unary_rule<of_cos>;
  t["Cosh"] = unary_rule<of_cosh>;
  t["Erf"] = unary_rule<of_erf>;
  t["Exp"] = unary_rule<of_exp>;
  t["Log"] = unary_rule<of_log>;
  t["Reciprocal"] = unary_rule<of_reciprocal>;
  t["Sin"] = unary_rule<of_sin>;
  t["Sinh"] = unary_rule<of_sinh>;
  t["Sqrt"] = unary_rule<of_sqrt>;
  t["Tan"] = unary_rule<of_tan>;
  t["Tanh"] = unary_rule<of_tanh>;
  t["Neg"] = neg;
  t["Ceil"] = t["Floor"] = t["Round"] = t["Sign"] = flat;
}

}  // namespace lathe
