#include "ops/cases.h"

namespace lathe {

void cases_loss(CaseTable& t) {
  t.add("NegativeLogLikelihoodLoss", "mean")
      .input<float>({2, 3}, {0.5f, 1.59f, 1.1f, -1.1f, -0.8f, 1.49f})
      .input<int64_t>({2}, {2, 0})
      .expect<float>({}, {0});
  t.add("NegativeLogLikelihoodLoss", "weighted mean")
      .input<float>({2, 3}, {0.5f, 1.59f, 1.1f, -1.1f, -0.8f, 1.49f})
      .input<int64_t>({2}, {2, 0})
      .input<float>({3}, {0.5f, 2, 1})
      .expect<float>({}, {-0.36666667f});
  t.add("NegativeLogLikelihoodLoss", "sum, one class ignored")
      .input<float>({2, 3}, {0.5f, 1.59f, 1.1f, -1.1f, -0.8f, 1.49f})
      .input<int64_t>({2}, {2, 0})
      .input<float>({3}, {0.5f, 2, 1})
      .attribute("reduction", std::string("sum"))
      .attribute("ignore_index", int64_t{0})
      .expect<float>({}, {-1.1f});
  t.add("NegativeLogLikelihoodLoss", "each, of a map of places")
      .input<float>({2, 3, 2}, {-1.98f, 1.28f, 1.19f, -0.13f, -0.79f, -0.89f, -0.98f, -0.22f, 0.02f, 0.21f,
                                1.98f, 1.17f})
      .input<int32_t>({2, 2}, {0, -1, 2, 1})
      .attribute("reduction", std::string("none"))
      .attribute("ignore_index", int64_t{-1})
      .expect<float>({2, 2}, {1.98f, -0, -1.98f, -0.21f});
  t.add("NegativeLogLikelihoodLoss", "mean of what is not ignored")
      .input<float>({2, 3, 2}, {-1.98f, 1.28f, 1.19f, -0.13f, -0.79f, -0.89f, -0.98f, -0.22f, 0.02f, 0.21f,
                                1.98f, 1.17f})
      .input<int32_t>({2, 2}, {0, -1, 2, 1})
      .attribute("ignore_index", int64_t{-1})
      .expect<float>({}, {-0.07f});
  t.add("SoftmaxCrossEntropyLoss", "mean, with the logarithms")
      .input<float>({2, 3, 2}, {-1.98f, 1.28f, 1.19f, -0.13f, -0.79f, -0.89f, -0.98f, -0.22f, 0.02f, 0.21f,
                                1.98f, 1.17f})
      .input<int32_t>({2, 2}, {0, -1, 2, 1})
      .attribute("ignore_index", int64_t{-1})
      .expect<float>({}, {1.6538545f})
      .expect<float>({2, 3, 2},
                     {-3.3355763f, -0.30624932f, -0.16557615f, -1.7162492f, -2.1455762f, -2.4762492f,
                      -3.1362007f, -1.8797867f, -2.1362007f, -1.4497868f, -0.17620064f, -0.48978677f});
  t.add("SoftmaxCrossEntropyLoss", "weighted, each")
      .input<float>({2, 3}, {0.5f, 1.59f, 1.1f, -1.1f, -0.8f, 1.49f})
      .input<int64_t>({2}, {2, 0})
      .input<float>({3}, {0.5f, 2, 1})
      .attribute("reduction", std::string("none"))
      .expect<float>({2}, {1.1572359f, 1.3761812f});
  t.add("SoftmaxCrossEntropyLoss", "version 12")
      .input<float>({2, 3}, {0.5f, 1.59f, 1.1f, -1.1f, -0.8f, 1.49f})
      .input<int64_t>({2}, {2, 0})
      .attribute("reduction", std::string("sum"))
      .at_opset(12)
      .expect<float>({}, {3.9095984f});
}

}  // namespace lathe
