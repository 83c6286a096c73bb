#include "ops/linear_model/linear_model.h"

#include <array>

#include "ops/compute.h"
#include "ops/linear_model/class_scores.h"

namespace lathe {
namespace {

/// The features, row by row.
struct Rows {
  explicit Rows(KernelContext& c)
      : x(c.in(0)),
        features(x.dim(x.rank() - 1)),
        count(x.rank() == 1 ? 1 : x.dim(0)),
        line(static_cast<size_t>(features), c.scratch()) {}
  std::span<const double> operator[](int64_t row) {
    for (int64_t i = 0; i < features; ++i) line[static_cast<size_t>(i)] = load_double(x, row * features + i);
    return line;
  }
  const Tensor& x;
  int64_t features, count;
  std::pmr::vector<double> line;
};

double dot(std::span<const double> x, const float* y) {
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) sum += x[i] * static_cast<double>(y[i]);
  return sum;
}

size_t greatest(std::span<const double> scores) {
  return static_cast<size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

/// Calls done(row, scores) with coefficients [scores, F] · features + intercepts.
template <class F>
void linear_scores(KernelContext& c, const std::vector<float>& coefficients,
                   const std::vector<float>& intercepts, size_t scores, F&& done) {
  Rows rows(c);
  // There are models with more of them than features are given: the first count, as in ONNX Runtime.
  if (coefficients.size() < scores * static_cast<size_t>(rows.features))
    bad_attribute(c, std::to_string(scores) + " times " + std::to_string(rows.features) + " coefficients",
                  std::to_string(coefficients.size()));
  if (!intercepts.empty() && intercepts.size() != scores)
    bad_attribute(c, std::to_string(scores) + " intercepts", std::to_string(intercepts.size()));
  std::pmr::vector<double> of_row(scores, c.scratch());
  Poller poll(c);
  for (int64_t row = 0; row < rows.count; ++row) {
    const auto x = rows[row];
    for (size_t k = 0; k < scores; ++k)
      of_row[k] = dot(x, coefficients.data() + k * x.size()) +
                  (intercepts.empty() ? 0 : static_cast<double>(intercepts[k]));
    poll.did(static_cast<int64_t>(scores * (x.size() + 8)));
    done(row, std::span<double>(of_row));
  }
}

void regress(const LinearRegressor& op, KernelContext& c) {
  const PostTransform after = transform_named(op.post_transform, c);
  linear_scores(c, op.coefficients, op.intercepts, static_cast<size_t>(op.targets),
                [&](int64_t row, std::span<double> scores) {
                  transform(scores, after);
                  store_row(c.out(0), row, scores);
                });
}

/// Two scores from one for two labels: that of the first is the negative of the second.
std::array<double, 2> both_of(double score, PostTransform after) {
  std::array<double, 2> both{-score, score};
  transform(both, after);
  return both;
}

void classify(const LinearClassifier& op, KernelContext& c) {
  const PostTransform after = transform_named(op.post_transform, c);
  const ClassLabels labels{op.classlabels_ints, op.classlabels_strings};
  const auto features = static_cast<size_t>(c.in(0).dim(c.in(0).rank() - 1));
  const size_t computed = !op.intercepts.empty() ? op.intercepts.size()
                          : features             ? op.coefficients.size() / features
                                                 : 0;
  if (computed == 0)
    bad_attribute(c, "coefficients for a score or more", std::to_string(op.coefficients.size()));
  if (labels.size() != 0 && computed != 1 && labels.size() < computed)
    bad_attribute(c, "a label for each of " + std::to_string(computed) + " scores",
                  std::to_string(labels.size()));
  const bool two = op.scores_for(static_cast<int64_t>(computed)) == 2 && computed == 1;
  const Shape shape{c.in(0).rank() == 1 ? 1 : c.in(0).dim(0), two ? 2 : static_cast<int64_t>(computed)};
  Tensor* out = c.wants(1) ? &c.out(1, DataType::float32, shape) : nullptr;
  linear_scores(c, op.coefficients, op.intercepts, computed, [&](int64_t row, std::span<double> scores) {
    if (c.wants(0)) {
      if (computed > 1)
        labels.store(c.out(0), row, greatest(scores));
      else if (two)
        labels.store(c.out(0), row, scores[0] > 0 ? 1 : 0);
      else if (labels.type() == DataType::string)
        c.out(0).as<std::string>()[static_cast<size_t>(row)] =
            scores[0] > 0 ? op.classlabels_strings[0] : std::string();
      else
        c.out(0).as<int64_t>()[static_cast<size_t>(row)] = scores[0] <= 0  ? 0
                                                           : labels.size() ? op.classlabels_ints[0]
                                                                           : 1;
    }
    if (!out) return;
    if (two) {
      store_row(*out, row, both_of(scores[0], after));
    } else {
      transform(scores, after);
      store_row(*out, row, scores);
    }
  });
}

/// The kernel function that compares support vectors.
class VectorKernel {
 public:
  VectorKernel(const SupportVectors& op, bool linear, KernelContext& c) {
    constexpr std::string_view names[] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    const auto* found = std::find(std::begin(names), std::end(names), op.kernel_type);
    if (found == std::end(names))
      bad_attribute(c, "kernel_type LINEAR, POLY, RBF or SIGMOID", op.kernel_type);
    kind_ = linear ? Kind::linear : static_cast<Kind>(found - names);
    if (!op.kernel_params.empty() && op.kernel_params.size() != 3)
      bad_attribute(c, "kernel_params gamma, coef0 and degree", std::to_string(op.kernel_params.size()));
    for (size_t i = 0; i < op.kernel_params.size(); ++i)
      params_[i] = static_cast<double>(op.kernel_params[i]);
  }
  double operator()(std::span<const double> x, const float* y) const {
    const auto [gamma, coef0, degree] = params_;
    switch (kind_) {
      case Kind::linear:
        return dot(x, y);
      case Kind::poly:
        return std::pow(gamma * dot(x, y) + coef0, degree);
      case Kind::sigmoid:
        return std::tanh(gamma * dot(x, y) + coef0);
      default: {
        double sum = 0;
        for (size_t i = 0; i < x.size(); ++i)
          sum += (x[i] - static_cast<double>(y[i])) * (x[i] - static_cast<double>(y[i]));
        return std::exp(-gamma * sum);
      }
    }
  }

 private:
  enum class Kind : uint8_t { linear, poly, rbf, sigmoid };
  Kind kind_ = Kind::linear;
  std::array<double, 3> params_{};
};

double offset_of(const SupportVectors& op, size_t i, KernelContext& c) {
  if (i >= op.rho.size())
    bad_attribute(c, std::to_string(i + 1) + " or more rho", std::to_string(op.rho.size()));
  return static_cast<double>(op.rho[i]);
}

void svm_regress(const SVMRegressor& op, KernelContext& c) {
  const PostTransform after = transform_named(op.post_transform, c);
  Rows rows(c);
  const auto features = static_cast<size_t>(rows.features);
  const bool linear = op.n_supports <= 0;
  const size_t vectors = linear ? 0 : static_cast<size_t>(op.n_supports);
  const VectorKernel kernel(op, linear, c);
  if (op.coefficients.size() != (linear ? features : vectors) ||
      (!linear && op.support_vectors.size() != vectors * features))
    bad_attribute(
        c, "a coefficient for each support vector, and vectors of " + std::to_string(features) + " features",
        std::to_string(op.coefficients.size()) + " coefficients, " +
            std::to_string(op.support_vectors.size()) + " numbers");
  Poller poll(c);
  for (int64_t row = 0; row < rows.count; ++row) {
    const auto x = rows[row];
    double score = offset_of(op, 0, c);
    if (linear) score += kernel(x, op.coefficients.data());
    for (size_t k = 0; k < vectors; ++k, poll.did(rows.features + 16))
      score += static_cast<double>(op.coefficients[k]) * kernel(x, op.support_vectors.data() + k * features);
    if (op.one_class) score = score > 0 ? 1 : -1;
    transform({&score, 1}, after);
    store_double(c.out(0), row, score);
    poll.did(rows.features + 16);
  }
}

/// Probabilities of k classes from those of pairs [k, k] (Wu, Lin and Weng 2004, their second method): the p
/// that minimizes the sum over pairs of (r_ji p_i - r_ij p_j)², found by iteration over the classes until it
/// converges.
void couple(std::span<const double> pairs, std::span<double> p, std::pmr::memory_resource* memory,
            Poller& poll) {
  const size_t k = p.size();
  std::pmr::vector<double> q(k * k, memory), qp(k, memory);
  for (size_t i = 0; i < k; ++i) {
    p[i] = 1 / static_cast<double>(k);
    for (size_t j = 0; j < k; ++j) {
      if (j == i) continue;
      q[i * k + i] += pairs[j * k + i] * pairs[j * k + i];
      q[i * k + j] = -pairs[j * k + i] * pairs[i * k + j];
    }
  }
  for (size_t round = 0; round < std::max<size_t>(100, k); ++round) {
    double pqp = 0, error = 0;
    for (size_t i = 0; i < k; ++i) {
      qp[i] = 0;
      for (size_t j = 0; j < k; ++j) qp[i] += q[i * k + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (size_t i = 0; i < k; ++i) error = std::max(error, std::abs(qp[i] - pqp));
    poll.did(static_cast<int64_t>(8 * k * k));
    if (error < 0.005 / static_cast<double>(k)) return;
    for (size_t i = 0; i < k; ++i) {
      const double step = (pqp - qp[i]) / q[i * k + i];
      p[i] += step;
      pqp = (pqp + step * (step * q[i * k + i] + 2 * qp[i])) / ((1 + step) * (1 + step));
      for (size_t j = 0; j < k; ++j) {
        qp[j] = (qp[j] + step * q[i * k + j]) / (1 + step);
        p[j] /= 1 + step;
      }
    }
  }
}

/// Every pair of classes is decided by the support vectors of both.
class PairwiseMachine {
 public:
  PairwiseMachine(const SVMClassifier& op, size_t features, KernelContext& c)
      : op_(op),
        c_(c),
        features_(features),
        kernel_(op, false, c),
        classes_(op.vectors_per_class.size()),
        values_(c.scratch()),
        starts_(c.scratch()) {
    size_t total = 0;
    for (int64_t n : op.vectors_per_class) {
      if (n < 0) bad_attribute(c, "vectors_per_class from 0", std::to_string(n));
      starts_.push_back(total);
      total += static_cast<size_t>(n);
    }
    values_.resize(total);
    const size_t pairs = classes_ * (classes_ - 1) / 2;
    if (op.labels() != classes_)
      bad_attribute(c, "vectors_per_class for each label",
                    std::to_string(classes_) + " for " + std::to_string(op.labels()));
    if (op.support_vectors.size() != total * features || op.coefficients.size() != total * (classes_ - 1) ||
        op.rho.size() < pairs)
      bad_attribute(c,
                    std::to_string(total) + " support vectors of " + std::to_string(features) +
                        " features, coefficients against each other class, and a rho for each pair",
                    std::to_string(op.support_vectors.size()) + " numbers, " +
                        std::to_string(op.coefficients.size()) + " coefficients, " +
                        std::to_string(op.rho.size()) + " rho");
    if (!op.prob_a.empty() && (op.prob_a.size() < pairs || op.prob_b.size() < pairs))
      bad_attribute(c, "prob_a and prob_b for each of " + std::to_string(pairs) + " pairs",
                    std::to_string(op.prob_a.size()) + " and " + std::to_string(op.prob_b.size()));
  }
  /// Fills what each pair decides, and how often each class wins.
  void decide(std::span<const double> x, std::span<double> decisions, std::span<double> wins, Poller& poll) {
    for (size_t v = 0; v < values_.size(); ++v, poll.did(static_cast<int64_t>(features_) + 16))
      values_[v] = kernel_(x, op_.support_vectors.data() + v * features_);
    std::fill(wins.begin(), wins.end(), 0.0);
    size_t pair = 0;
    for (size_t i = 0; i < classes_; ++i)
      for (size_t j = i + 1; j < classes_; ++j, ++pair) {
        const double s = static_cast<double>(op_.rho[pair]) + sum(i, j - 1, poll) + sum(j, i, poll);
        decisions[pair] = s;
        wins[s > 0 ? i : j] += 1;
      }
  }
  void probabilities(std::span<const double> decisions, std::span<double> p, Poller& poll) const {
    std::pmr::vector<double> pairs(classes_ * classes_, c_.scratch());
    size_t pair = 0;
    for (size_t i = 0; i < classes_; ++i)
      for (size_t j = i + 1; j < classes_; ++j, ++pair) {
        const double first = 1 - logistic(decisions[pair] * static_cast<double>(op_.prob_a[pair]) +
                                          static_cast<double>(op_.prob_b[pair]));
        pairs[i * classes_ + j] = std::clamp(first, 1e-7, 1 - 1e-7);
        pairs[j * classes_ + i] = 1 - pairs[i * classes_ + j];
      }
    couple(pairs, p, c_.scratch(), poll);
  }

 private:
  /// The sum of class `of`'s vectors, weighted by row `row` of the coefficients.
  double sum(size_t of, size_t row, Poller& poll) const {
    const size_t end = starts_[of] + static_cast<size_t>(op_.vectors_per_class[of]);
    double s = 0;
    for (size_t v = starts_[of]; v < end; ++v)
      s += static_cast<double>(op_.coefficients[row * values_.size() + v]) * values_[v];
    poll.did(static_cast<int64_t>(end - starts_[of]));
    return s;
  }
  const SVMClassifier& op_;
  KernelContext& c_;
  size_t features_;
  VectorKernel kernel_;
  size_t classes_;
  std::pmr::vector<double> values_;
  std::pmr::vector<size_t> starts_;
};

void svm_classify(const SVMClassifier& op, KernelContext& c) {
  const PostTransform after = transform_named(op.post_transform, c);
  const ClassLabels labels{op.classlabels_ints, op.classlabels_strings};
  const auto store = [&](int64_t row, size_t best, std::span<double> scores) {
    if (c.wants(0)) labels.store(c.out(0), row, best);
    if (!c.wants(1)) return;
    if (scores.size() == 1 && op.scores() == 2) return store_row(c.out(1), row, both_of(scores[0], after));
    transform(scores, after);
    store_row(c.out(1), row, scores);
  };
  const size_t classes = std::max<size_t>(labels.size(), 1);
  if (op.is_linear()) {
    const std::vector<float> offsets(classes, static_cast<float>(offset_of(op, 0, c)));
    linear_scores(c, op.coefficients, offsets, classes, [&](int64_t row, std::span<double> scores) {
      store(row, classes == 1 ? (scores[0] > 0 ? 1 : 0) : greatest(scores), scores);
    });
    return;
  }
  Rows rows(c);
  PairwiseMachine machine(op, static_cast<size_t>(rows.features), c);
  std::pmr::vector<double> decisions(classes * (classes - 1) / 2, c.scratch()), wins(classes, c.scratch()),
      p(classes, c.scratch());
  Poller poll(c);
  for (int64_t row = 0; row < rows.count; ++row) {
    poll.did(64);
    machine.decide(rows[row], decisions, wins, poll);
    const size_t best = greatest(wins);
    if (op.prob_a.empty()) {
      store(row, best, decisions);
    } else {
      machine.probabilities(decisions, p, poll);
      store(row, best, p);
    }
  }
}

}  // namespace

void reference_linear_model(KernelCatalog& k) {
  k.reference<LinearRegressor>("LinearRegressor", regress, "ai.onnx.ml");
  k.reference<LinearClassifier>("LinearClassifier", classify, "ai.onnx.ml");
  k.reference<SVMRegressor>("SVMRegressor", svm_regress, "ai.onnx.ml");
  k.reference<SVMClassifier>("SVMClassifier", svm_classify, "ai.onnx.ml");
}

}  // namespace lathe
