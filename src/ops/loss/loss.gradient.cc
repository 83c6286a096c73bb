// Derivatives of losses over classes.
#include <cstdint>
#include <string>

#include "gradient/backward.h"

namespace lathe {
namespace {

/// For both losses over scores [N, C, …] and labels [N, …]: the one-hot classes of the labels [N, C, …], and
/// the weighted gradients of their losses [N, 1, …].
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

void gradient_loss(GradientTable& t) {
  t["NegativeLogLikelihoodLoss"] = negative_log_likelihood_loss;
  t["SoftmaxCrossEntropyLoss"] = softmax_cross_entropy_loss;
}

}  // namespace lathe
