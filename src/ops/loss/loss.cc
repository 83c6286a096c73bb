#include "ops/loss/loss.h"

#include "schema/schema.h"

namespace lathe {

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
      .contract({.epsilons = 8, .per_reduced = true});
  c.add("SoftmaxCrossEntropyLoss")
      .version(12,
               "(scores: T, labels: Tind, weights?: T) -> (output: T, log_prob?: T) {ignore_index: int, "
               "reduction: string = 'mean'} [T: @float; Tind: @index]")
      .version(13,
               "(scores: T, labels: Tind, weights?: T) -> (output: T, log_prob?: T) {ignore_index: int, "
               "reduction: string = 'mean'} [T: @float_13; Tind: @index]")
      .rule<SoftmaxCrossEntropyLoss>()
      .contract({.epsilons = 8, .per_reduced = true});
}

}  // namespace lathe
