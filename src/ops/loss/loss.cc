#include "ops/loss/loss.h"

#include "schema/node_builder.h"

namespace lathe {

namespace decomposition {
using namespace node_builder;
namespace {

/// Negates the log probabilities of the targets and weights them; the weight of those to ignore is 0.
std::vector<ValueId> negative_log_likelihood(DecomposeContext& c) {
  if (c.opset() >= 12) return in_wider_types(c);
  const auto op = decode<NegativeLogLikelihoodLoss>(c.node().attributes);
  const ValueId x = widened(c, input(c, 0));
  const DataType type = elem_of(c, x);
  ValueId right = input(c, 1), ignored = no_id, weight = no_id;
  if (op.ignore_index) {
    const DataType index = elem_of(c, right);
    Tensor number(index, {});
    store_int(number, 0, *op.ignore_index);
    ignored = one(c, "Equal", {right, c.add_constant(std::move(number), "ignored")});
    Tensor unit(index, {});
    store_int(unit, 0, 1);
    const ValueId counts = one(c, "Sub", {c.add_constant(std::move(unit), "one"), cast(c, ignored, index)});
    right = one(c, "Mul", {right, counts});
  }
  c.note_from_front(right);
  const ValueId places = unsqueezed(c, right, {1});
  c.note_from_front(places);
  const ValueId logs =
      one(c, "Squeeze", {one(c, "GatherElements", {x, places}, with("axis", int64_t{1})), ints(c, {1})});
  ValueId each = one(c, "Neg", {logs});
  if (has(c, 2)) weight = gathered(c, widened(c, input(c, 2)), right, 0);
  if (ignored != no_id) {
    const ValueId counts = one(c, "Sub", {number(c, 1, type), cast(c, ignored, type)});
    weight = weight == no_id ? counts : one(c, "Mul", {weight, counts});
  }
  if (weight != no_id) each = one(c, "Mul", {each, weight});
  if (ignored != no_id) each = one(c, "Where", {ignored, number(c, 0, type), each});
  const auto whole = [&](std::string_view reduction, ValueId v) {
    return one(c, reduction, {v}, with("keepdims", int64_t{0}));
  };
  if (op.reduction == "sum") each = whole("ReduceSum", each);
  if (op.reduction == "mean")
    each = weight == no_id ? whole("ReduceMean", each)
                           : one(c, "Div", {whole("ReduceSum", each), whole("ReduceSum", weight)});
  return {cast(c, each, elem_of(c, input(c, 0)))};
}

std::vector<ValueId> softmax_cross_entropy(DecomposeContext& c) {
  if (c.opset() >= 12) return in_wider_types(c);
  const ValueId given = input(c, 0);
  const DataType type = elem_of(c, given);
  const ValueId logs = one(c, "LogSoftmax", {widened(c, given)}, with("axis", int64_t{1}));
  std::vector<ValueId> inputs{logs, input(c, 1)};
  if (has(c, 2)) inputs.push_back(widened(c, input(c, 2)));
  const ValueId loss = one(c, "NegativeLogLikelihoodLoss", std::move(inputs), c.node().attributes);
  return {cast(c, loss, type), wants(c, 1) ? cast(c, logs, type) : no_id};
}

}  // namespace
}  // namespace decomposition

void declare_loss(SchemaCatalog& c) {
  c.add("NegativeLogLikelihoodLoss")
      .version(12,
               "(input: T, target: Tind, weight?: T) -> (loss: T) {ignore_index: int, reduction: string = "
               "'mean'} [T: @float; Tind: @index]")
      .version(13,
               "(input: T, target: Tind, weight?: T) -> (loss: T) {ignore_index: int, reduction: string = "
               "'mean'} [T: @float; Tind: @index]")
      .version(22,
               "(input: T, target: Tind, weight?: T) -> (loss: T) {ignore_index: int, reduction: string = "
               "'mean'} [T: @float_13; Tind: @index]")
      .rule<NegativeLogLikelihoodLoss>()
      .decompose(decomposition::negative_log_likelihood)
      .tolerance({.epsilons = 8, .per_reduced = true});
  c.add("SoftmaxCrossEntropyLoss")
      .version(12,
               "(scores: T, labels: Tind, weights?: T) -> (output: T, log_prob?: T) {ignore_index: int, "
               "reduction: string = 'mean'} [T: @float; Tind: @index]")
      .version(13,
               "(scores: T, labels: Tind, weights?: T) -> (output: T, log_prob?: T) {ignore_index: int, "
               "reduction: string = 'mean'} [T: @float_13; Tind: @index]")
      .rule<SoftmaxCrossEntropyLoss>()
      .decompose(decomposition::softmax_cross_entropy)
      .tolerance({.epsilons = 8, .per_reduced = true});
}

}  // namespace lathe
