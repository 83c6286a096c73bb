// Derivatives of what looks at many elements: reductions, softmax, normalisations.
#include "gradient/backward.h"

namespace lathe {
namespace {

/// An output of a reduction, or its gradient, as it would be with keepdims: it broadcasts to x.
Term kept(Backward& b, ValueId v) {
  if (b.attributes().get<int64_t>("keepdims", 1) != 0 || !b.has(1))
    return {&b, v};  // a scalar broadcasts as it is
  return {&b, b.add("Unsqueeze", {v, b.x(1)})};
}
/// Without axes, some reductions do nothing.
bool does_nothing(const Backward& b) {
  return !b.has(1) && b.attributes().get<int64_t>("noop_with_empty_axes", 0) != 0;
}
/// A term that broadcasts to x, in x's shape.
void give_spread(Backward& b, Term v) { b.give(0, b.add("Expand", {v.id, b.shape_of(b.x())})); }

template <Term f(Backward& b, Term g, Term x, Term y)>
void reduction(Backward& b) {
  if (does_nothing(b)) b.refuse("a reduction over some axes", "one over none");
  give_spread(b, f(b, kept(b, b.gradient()), {&b, b.x()}, kept(b, b.y())));
}
Term of_sum(Backward&, Term g, Term, Term) { return g; }
Term of_mean(Backward& b, Term g, Term x, Term y) {
  const Term all{&b, b.add("Size", {x.id})}, made{&b, b.add("Size", {y.id})};
  return g / Term{&b, b.add("CastLike", {(all / made).id, g.id})};
}
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
void cum_sum(Backward& b) {
  Attributes a = b.attributes();
  a.set("reverse", int64_t{a.get<int64_t>("reverse", 0) == 0});
  b.give(0, b.add("CumSum", {b.gradient(), b.x(1)}, std::move(a)));
}

std::vector<int64_t> spatial_axes(const Backward& b) {
  std::vector<int64_t> axes;
  for (size_t k = 2; k < b.rank(b.x()); ++k) axes.push_back(static_cast<int64_t>(k));
  return axes;
}
void global_average_pool(Backward& b) {
  give_spread(b, of_mean(b, {&b, b.gradient()}, {&b, b.x()}, {&b, b.y()}));
}
void global_max_pool(Backward& b) {
  const Term x{&b, b.x()}, y{&b, b.y()};
  const Term is{&b, b.add("CastLike", {call("Equal", x, y).id, x.id})};
  const Term ties{&b, b.add("ReduceSum", {is.id, b.ints(spatial_axes(b))}, with("keepdims", int64_t{1}))};
  b.give(0, (Term{&b, b.gradient()} * is / ties).id);
}

/// LayerNormalization and RMSNormalization: what is normalised is computed again; its derivative is that of
/// the scaled gradient, less what goes along the mean (`centred`) and along the result itself.
void normalization(Backward& b, bool centred) {
  for (size_t i = 1; i < b.node().outputs.size(); ++i)
    if (b.gradient(i) != no_id) b.refuse("the first output only", "output " + std::to_string(i));
  const auto rank = static_cast<int64_t>(b.rank(b.x()));
  const int64_t a = b.attributes().get<int64_t>("axis", -1);
  if (a < -rank || a >= rank) b.refuse("an axis of the input", std::to_string(a));
  std::vector<int64_t> axes;
  for (int64_t k = a < 0 ? a + rank : a; k < rank; ++k) axes.push_back(k);
  const auto mean = [&](Term v) {
    return Term{&b, b.add("ReduceMean", {v.id, b.ints(axes)}, with("keepdims", int64_t{1}))};
  };
  const Term x{&b, b.x(0)}, g{&b, b.gradient()}, scale{&b, b.x(1)};
  const Term from = centred ? x - mean(x) : x;
  const Term deviation = call("Sqrt", double{b.attributes().get("epsilon", 1e-5f)} + mean(from * from));
  const Term normal = from / deviation;
  if (b.wants(0)) {
    const Term scaled = g * scale;
    const Term across = scaled - normal * mean(scaled * normal);
    b.give(0, ((centred ? across - mean(scaled) : across) / deviation).id);
  }
  if (b.wants(1)) b.give_broadcast(1, (g * normal).id);
  if (b.wants(2)) b.give_broadcast(2, g.id);
}
void layer_normalization(Backward& b) { normalization(b, true); }
void rms_normalization(Backward& b) { normalization(b, false); }

/// With statistics that are given.
void batch_normalization(Backward& b) {
  if (b.attributes().get<int64_t>("training_mode", 0) != 0)
    b.refuse("statistics that are given", "training_mode");
  if (b.wants(3) || b.wants(4)) b.refuse("statistics that do not depend on xs", "some that do");
  if (b.rank(b.x()) < 2) b.refuse("channels in axis 1", "an input of rank " + std::to_string(b.rank(b.x())));
  std::vector<int64_t> column(b.rank(b.x()) - 1, 1), others{0};
  column[0] = -1;
  for (int64_t k : spatial_axes(b)) others.push_back(k);
  const auto per_channel = [&](ValueId v) { return Term{&b, b.add("Reshape", {v, b.ints(column)})}; };
  const auto over_others = [&](Term v) {
    return b.add("ReduceSum", {v.id, b.ints(others)}, with("keepdims", int64_t{0}));
  };
  const Term g{&b, b.gradient()};
  const Term deviation = call("Sqrt", double{b.attributes().get("epsilon", 1e-5f)} + per_channel(b.x(4)));
  if (b.wants(0)) b.give(0, (g * (per_channel(b.x(1)) / deviation)).id);
  if (b.wants(1)) b.give(1, over_others(g * ((Term{&b, b.x(0)} - per_channel(b.x(3))) / deviation)));
  if (b.wants(2)) b.give(2, over_others(g));
}

/// Of both losses over scores [N, C, …] and labels [N, …]: what each label takes part with in the loss, where
/// its class is [N, C, …], and the gradient of its loss [N, 1, …].
struct Labels {
  Term classes, gradient;
};
Labels labels_of(Backward& b) {
  const std::string reduction = b.attributes().get<std::string>("reduction", "mean");
  const ValueId labels = b.x(1);
  ValueId safe = labels, counted = no_id;
  if (const auto* ignored = b.attributes().get_if<int64_t>("ignore_index")) {
    const auto as_label = [&](int64_t v) {
      return b.add("CastLike", {b.add("Squeeze", {b.ints({v})}), labels});
    };
    counted = b.add("Not", {b.add("Equal", {labels, as_label(*ignored)})});
    safe = b.add("Where", {counted, labels, as_label(0)});
  }
  Attributes second = with("start", int64_t{1});
  second.set("end", int64_t{2});
  const ValueId off_on = b.add("CastLike", {b.ints({0, 1}), b.x(0)});
  const ValueId depth = b.add("Shape", {b.x(0)}, std::move(second));
  const Term classes{&b, b.add("OneHot", {safe, depth, off_on}, with("axis", int64_t{1}))};
  Term weight{
      &b, b.has(2) ? b.add("Gather", {b.x(2), safe}) : b.add("CastLike", {b.filled_like(labels, 1), b.x(0)})};
  if (counted != no_id) weight = weight * Term{&b, b.add("CastLike", {counted, weight.id})};
  Term g{&b, b.gradient()};
  if (reduction == "mean") g = g / Term{&b, b.add("ReduceSum", {weight.id}, with("keepdims", int64_t{0}))};
  return {classes, {&b, b.add("Unsqueeze", {(g * weight).id, b.ints({1})})}};
}
void negative_log_likelihood_loss(Backward& b) {
  if (b.wants(2)) b.refuse("weights that do not depend on xs", "some that do");
  const auto [classes, g] = labels_of(b);
  b.give(0, (-(classes * g)).id);
}
void softmax_cross_entropy_loss(Backward& b) {
  if (b.wants(2)) b.refuse("weights that do not depend on xs", "some that do");
  if (b.node().outputs.size() > 1 && b.gradient(1) != no_id)
    b.refuse("the loss alone", "log_prob, on the way to y");
  const auto [classes, g] = labels_of(b);
  const Term likely{&b, b.add("Softmax", {b.x(0)}, with("axis", int64_t{1}))};
  b.give(0, ((likely - classes) * g).id);
}

}  // namespace

void add_reduction_rules(RuleTable& t) {
  t["ReduceSum"] = reduction<of_sum>;
  t["ReduceMean"] = reduction<of_mean>;
  t["ReduceMax"] = t["ReduceMin"] = reduction<of_extreme>;
  t["ReduceSumSquare"] = reduction<of_sum_square>;
  t["ReduceL1"] = reduction<of_l1>;
  t["ReduceL2"] = reduction<of_l2>;
  t["ReduceLogSum"] = reduction<of_log_sum>;
  t["ReduceLogSumExp"] = reduction<of_log_sum_exp>;
  t["Softmax"] = softmax;
  t["LogSoftmax"] = log_softmax;
  t["CumSum"] = cum_sum;
  t["GlobalAveragePool"] = global_average_pool;
  t["NegativeLogLikelihoodLoss"] = negative_log_likelihood_loss;
  t["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy_loss;
  t["GlobalMaxPool"] = global_max_pool;
  t["LayerNormalization"] = layer_normalization;
  t["RMSNormalization"] = rms_normalization;
  t["BatchNormalization"] = batch_normalization;
}

}  // namespace lathe
