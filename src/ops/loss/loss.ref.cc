#include "ops/loss/loss.h"

#include <limits>

#include "ops/compute.h"

namespace lathe {
namespace {

/// Computes the losses of the targets and reduces them: `log_probabilities` are [N, C, inner].
void losses(const NegativeLogLikelihoodLoss& op, KernelContext& c, const Tensor& log_probabilities) {
  const Shape& shape = log_probabilities.shape();
  const int64_t classes = shape[1], inner = count_between(shape, 2, shape.size());
  const double* logs = log_probabilities.as<double>().data();
  std::optional<Tensor> weights;
  if (c.has(2)) weights = in_double(c.in(2), c);
  if (weights && weights->size() != classes)
    c.fail(Code::run_bad_shape, std::to_string(classes) + " weights", std::to_string(weights->size()));
  Tensor& out = c.out(0);
  const Tensor& target = c.in(1);
  const bool each = op.reduction == "none";
  double sum = 0, total_weight = 0;
  Poller poll(c);
  for (int64_t i = 0; i < target.size(); ++i) {
    poll.did(8);
    const int64_t right = load_int(target, i);
    double loss = 0, weight = 0;
    if (!op.ignore_index || right != *op.ignore_index) {
      if (right < 0 || right >= classes)
        c.fail(Code::run_bad_value, "classes from 0 to " + std::to_string(classes - 1), std::to_string(right),
               "set ignore_index to the class that is to cost nothing");
      weight = weights ? weights->as<double>()[static_cast<size_t>(right)] : 1;
      loss = -logs[(i / inner * classes + right) * inner + i % inner] * weight;
    }
    if (each) store_double(out, i, loss);
    sum += loss;
    total_weight += weight;
  }
  if (!each) store_double(out, 0, op.reduction == "sum" ? sum : sum / total_weight);
}

void negative_log_likelihood(const NegativeLogLikelihoodLoss& op, KernelContext& c) {
  losses(op, c, in_double(c.in(0), c));
}

void softmax_cross_entropy(const SoftmaxCrossEntropyLoss& op, KernelContext& c) {
  const Tensor scores = in_double(c.in(0), c);
  Tensor logs = temporary(c, DataType::float64, scores.shape());
  const int64_t classes = scores.dim(1), inner = count_between(scores.shape(), 2, scores.shape().size());
  const double* from = scores.as<double>().data();
  double* to = logs.as<double>().data();
  Poller poll(c);
  for (int64_t line = 0; line < scores.dim(0) * inner; ++line) {
    const int64_t first = line / inner * classes * inner + line % inner;
    double greatest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t k = 0; k < classes; ++k) greatest = std::max(greatest, from[first + k * inner]);
    for (int64_t k = 0; k < classes; ++k) sum += std::exp(from[first + k * inner] - greatest);
    for (int64_t k = 0; k < classes; ++k)
      to[first + k * inner] = from[first + k * inner] - greatest - std::log(sum);
    poll.did(16 * classes);
  }
  losses(op, c, logs);
  if (!c.wants(1)) return;
  Tensor& out = c.out(1);
  for (int64_t i = 0; i < logs.size(); ++i, poll.did(1)) store_double(out, i, to[i]);
}

}  // namespace

void reference_loss(KernelCatalog& k) {
  k.reference<NegativeLogLikelihoodLoss>("NegativeLogLikelihoodLoss", negative_log_likelihood);
  k.reference<SoftmaxCrossEntropyLoss>("SoftmaxCrossEntropyLoss", softmax_cross_entropy);
}

}  // namespace lathe
