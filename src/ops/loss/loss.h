// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: scores [N, C, d1, …], classes [N, d1, …] → a loss
// for each of the classes, or their sum or weighted mean.
#pragma once

#include <optional>
#include <string>

#include "tensor/attributes.h"
#include "tensor/shape_rule.h"

namespace lathe {

struct NegativeLogLikelihoodLoss {
  std::optional<int64_t> ignore_index;  // a class that costs nothing
  std::string reduction = "mean";
  void fields(auto&& f) {
    f("ignore_index", ignore_index);
    f("reduction", reduction);
  }

  template <class D>
  void shape(ShapeContext<D>& c) const {
    if (reduction != "none" && reduction != "sum" && reduction != "mean")
      c.fail(Code::node_bad_attribute, "reduction none, sum or mean", reduction, {});
    const auto &scores = c.shape(0), &classes = c.shape(1);
    c.require(scores.size() >= 2 && classes.size() + 1 == scores.size(),
              "scores [N, C, d1, …] and classes [N, d1, …]", c.text(scores) + " and " + c.text(classes));
    std::vector<D> each;
    for (size_t i = 0; i < classes.size(); ++i)
      each.push_back(c.same(scores[i == 0 ? 0 : i + 1], classes[i], "sizes of scores and classes"));
    if (c.has(2)) {
      c.require(c.rank(2) == 1, "a weight for each class", c.text(c.shape(2)));
      c.same(c.shape(2)[0], scores[1], "the weights and the classes");
    }
    c.output(0, reduction == "none" ? each : std::vector<D>());
  }
};

struct SoftmaxCrossEntropyLoss : NegativeLogLikelihoodLoss {
  template <class D>
  void shape(ShapeContext<D>& c) const {
    NegativeLogLikelihoodLoss::shape(c);
    c.output(1, c.shape(0));  // the logarithms of the probabilities
  }
};

}  // namespace lathe
