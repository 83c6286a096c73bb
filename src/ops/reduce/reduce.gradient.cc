// Derivatives of reductions.
#include <cstdint>
#include <vector>

#include "gradient/terms.h"

namespace lathe {
namespace {

/// An output of a reduction, or its gradient, as it would be with keepdims: it broadcasts to x.
Term kept(Backward& b, ValueId v) {
  if (b.attributes().get<int64_t>("keepdims", 1) != 0 || !b.has(1))
    return {&b, v};  // a scalar broadcasts as it is
  return {&b, b.add("Unsqueeze", {v, b.x(1)})};
}
/// Returns whether a reduction does nothing, as some without axes do.
bool does_nothing(const Backward& b) {
  return !b.has(1) && b.attributes().get<int64_t>("noop_with_empty_axes", 0) != 0;
}

template <Term f(Backward& b, Term g, Term x, Term y)>
void reduction(Backward& b) {
  if (does_nothing(b)) b.refuse("a reduction over some axes", "one over none");
  give_expanded(b, f(b, kept(b, b.gradient()), {&b, b.x()}, kept(b, b.y())));
}
Term of_sum(Backward&, Term g, Term, Term) { return g; }
/// In equal shares to those that are it.
Term of_extreme(Backward& b, Term g, Term x, Term y) {
  const Term is{&b, b.add("CastLike", {call("Equal", x, y).id, x.id})};
  std::vector<ValueId> inputs{is.id};
  if (b.has(1)) inputs.push_back(b.x(1));
  const Term ties{&b, b.add("ReduceSum", std::move(inputs), with("keepdims", int64_t{1}))};
  return g * is / ties;
}
Term of_sum_square(Backward&, Term g, Term x, Term) { return 2 * (g * x); }
Term of_l1(Backward&, Term g, Term x, Term) { return g * call("Sign", x); }
Term of_l2(Backward&, Term g, Term x, Term y) {
  const Term zero = as_term(x, 0);
  return choose(call("Equal", y, zero), zero, g * x / y);
}
Term of_log_sum(Backward&, Term g, Term, Term y) { return g / call("Exp", y); }
Term of_log_sum_exp(Backward&, Term g, Term x, Term y) { return g * call("Exp", x - y); }

}  // namespace

void gradient_reduce(GradientTable& t) {
  t["ReduceSum"] = reduction<of_sum>;
  t["ReduceMean"] = reduction<gradient_of_mean>;
  t["ReduceMax"] = t["ReduceMin"] = reduction<of_extreme>;
  t["ReduceSumSquare"] = reduction<of_sum_square>;
  t["ReduceL1"] = reduction<of_l1>;
  t["ReduceL2"] = reduction<of_l2>;
  t["ReduceLogSum"] = reduction<of_log_sum>;
  t["ReduceLogSumExp"] = reduction<of_log_sum_exp>;
}

}  // namespace lathe
