// LinearClassifier, LinearRegressor, SVMClassifier, SVMRegressor: [N, F] features → scores, and the labels of
// the greatest.
#pragma once

#include <algorithm>
#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

/// Rows of a batch: one row may come without its axis.
template <class D>
D rows_of(const ShapeContext<D>& c) {
  c.require(c.rank(0) == 1 || c.rank(0) == 2, "[N, features]", c.text(c.shape(0)));
  return c.rank(0) == 1 ? D(1) : c.shape(0)[0];
}

struct LinearRegressor {
  std::vector<float> coefficients, intercepts;  // [targets, F], [targets]
  int64_t targets = 1;
  std::string post_transform = "NONE";
  void fields(auto&& f) {
    f("coefficients", coefficients);
    f("intercepts", intercepts);
    f("targets", targets);
    f("post_transform", post_transform);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (targets < 1) c.fail(Code::node_bad_attribute, "targets from 1", std::to_string(targets), {});
    c.output(0, {rows_of(c), D(targets)});
  }
};

struct Labeled {
  std::vector<int64_t> classlabels_ints;
  std::vector<std::string> classlabels_strings;
  void fields(auto&& f) {
    f("classlabels_ints", classlabels_ints);
    f("classlabels_strings", classlabels_strings);
  }
  size_t labels() const { return std::max(classlabels_ints.size(), classlabels_strings.size()); }
  template <class D>
  void check_labels(ShapeContext<D>& c) const {
    if (!classlabels_ints.empty() && !classlabels_strings.empty())
      c.fail(Code::node_bad_attribute, "classlabels_ints or classlabels_strings", "both", {});
  }
};

/// There are as many scores as intercepts; for two labels one score may count for both.
struct LinearClassifier : Labeled {
  std::vector<float> coefficients, intercepts;  // [scores, F], [scores]
  int64_t multi_class = 0;                      // changes no result
  std::string post_transform = "NONE";
  void fields(auto&& f) {
    Labeled::fields(f);
    f("coefficients", coefficients);
    f("intercepts", intercepts);
    f("multi_class", multi_class);
    f("post_transform", post_transform);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    check_labels(c);
    const D rows = rows_of(c);
    c.output(0, {rows});
    const auto features = known(c.shape(0).back());
    std::optional<D> scores;
    if (!intercepts.empty())
      scores = D(scores_for(static_cast<int64_t>(intercepts.size())));
    else if (features && *features > 0)
      scores = D(scores_for(static_cast<int64_t>(coefficients.size()) / *features));
    else
      scores = c.data_dependent();
    if (scores) c.output(1, {rows, *scores});
  }
  /// Columns that this many scores come out as.
  int64_t scores_for(int64_t computed) const { return computed == 1 && labels() == 2 ? 2 : computed; }
};

struct SupportVectors {
  std::vector<float> coefficients, support_vectors, rho, kernel_params;
  std::string kernel_type = "LINEAR", post_transform = "NONE";
  void fields(auto&& f) {
    f("coefficients", coefficients);
    f("support_vectors", support_vectors);
    f("rho", rho);
    f("kernel_params", kernel_params);  // gamma, coef0, degree
    f("kernel_type", kernel_type);
    f("post_transform", post_transform);
  }
};

struct SVMRegressor : SupportVectors {
  int64_t n_supports = 0;  // 0: coefficients for the features themselves
  bool one_class = false;  // 1 or -1: of the class or not
  void fields(auto&& f) {
    SupportVectors::fields(f);
    f("n_supports", n_supports);
    f("one_class", one_class);
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    c.output(0, {rows_of(c), D(1)});
  }
};

struct SVMClassifier : SupportVectors, Labeled {
  std::vector<float> prob_a, prob_b;       // of a sigmoid for each pair of classes
  std::vector<int64_t> vectors_per_class;  // none: coefficients [classes, F] for the features themselves
  void fields(auto&& f) {
    SupportVectors::fields(f);
    Labeled::fields(f);
    f("prob_a", prob_a);
    f("prob_b", prob_b);
    f("vectors_per_class", vectors_per_class);
  }
  bool is_linear() const {
    return std::all_of(vectors_per_class.begin(), vectors_per_class.end(), [](int64_t n) { return n == 0; });
  }
  /// The number of columns: a probability or score for each class, or one for each pair of classes; a single
  /// score of two classes becomes two.
  size_t scores() const {
    const size_t classes = std::max<size_t>(labels(), 1);
    const size_t computed = is_linear() || !prob_a.empty() ? classes : classes * (classes - 1) / 2;
    return computed == 1 && classes == 2 ? 2 : computed;
  }
  template <class D>
  void shape(ShapeContext<D>& c) const {
    check_labels(c);
    const D rows = rows_of(c);
    c.output(0, {rows});
    c.output(1, {rows, D(static_cast<int64_t>(scores()))});
  }
};

}  // namespace lathe
