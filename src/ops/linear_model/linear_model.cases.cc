#include "ops/cases.h"

namespace lathe {

void cases_linear_model(CaseTable& t) {
  t.add("LinearRegressor", "two targets", "ai.onnx.ml")
      .input<float>({3, 4},
                    {-0.65f, 1.31f, -0.48f, 1.38f, 1.14f, -0.21f, 0.85f, -1.86f, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("coefficients",
                 std::vector<float>{0.66f, 0.71f, 0.33f, -0.32f, -1.27f, -0.83f, -0.83f, -0.28f})
      .attribute("intercepts", std::vector<float>{2, -0.59f})
      .attribute("targets", int64_t{2})
      .tolerance(1e-05, 1e-05)
      .expect<float>({3, 2}, {1.9010999f, -0.83979994f, 3.479f, -2.0482f, 2.764f, -1.5564f});
  t.add("LinearClassifier", "three classes, softmax", "ai.onnx.ml")
      .input<float>({3, 4},
                    {-0.65f, 1.31f, -0.48f, 1.38f, 1.14f, -0.21f, 0.85f, -1.86f, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("coefficients", std::vector<float>{-0.21f, -0.51f, 0.33f, 1.79f, 1.56f, -0.49f, -0.93f,
                                                    1.54f, -0.02f, 0.74f, -1.71f, 1.47f})
      .attribute("intercepts", std::vector<float>{-0.75f, -0.02f, -1.21f})
      .attribute("classlabels_strings", std::vector<std::string>{"x", "y", "z"})
      .attribute("post_transform", std::string("SOFTMAX"))
      .tolerance(1e-05, 1e-05)
      .expect<std::string>({3}, {"z", "y", "z"})
      .expect<float>({3, 3}, {0.14736755f, 0.12882178f, 0.7238107f, 0.103389814f, 0.87664866f, 0.019961515f,
                              0.30145153f, 0.18640268f, 0.51214576f});
  t.add("SVMRegressor", "rbf", "ai.onnx.ml")
      .input<float>({3, 4},
                    {-0.65f, 1.31f, -0.48f, 1.38f, 1.14f, -0.21f, 0.85f, -1.86f, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("kernel_type", std::string("RBF"))
      .attribute("kernel_params", std::vector<float>{0.3f, 0, 3})
      .attribute("n_supports", int64_t{5})
      .attribute("support_vectors", std::vector<float>{-0.32f, 1.31f,  1.31f,  -0.11f, 1.07f,  -0.17f, -0.51f,
                                                       0.18f,  -1.19f, -0.73f, 0.83f,  1.08f,  -1.77f, 0.93f,
                                                       1.27f,  -0.22f, -1.75f, 0.73f,  -1.02f, 0.57f})
      .attribute("coefficients", std::vector<float>{-0.49f, 0.55f, -0.97f, -0.09f, 0.1f})
      .attribute("rho", std::vector<float>{0.25f})
      .tolerance(1e-05, 1e-05)
      .expect<float>({3, 1}, {0.12102804f, 0.27724668f, -0.15056975f});
  t.add("SVMRegressor", "one class", "ai.onnx.ml")
      .input<float>({3, 4},
                    {-0.65f, 1.31f, -0.48f, 1.38f, 1.14f, -0.21f, 0.85f, -1.86f, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("kernel_type", std::string("RBF"))
      .attribute("kernel_params", std::vector<float>{0.3f, 0, 3})
      .attribute("n_supports", int64_t{5})
      .attribute("support_vectors", std::vector<float>{-0.32f, 1.31f,  1.31f,  -0.11f, 1.07f,  -0.17f, -0.51f,
                                                       0.18f,  -1.19f, -0.73f, 0.83f,  1.08f,  -1.77f, 0.93f,
                                                       1.27f,  -0.22f, -1.75f, 0.73f,  -1.02f, 0.57f})
      .attribute("coefficients", std::vector<float>{-0.49f, 0.55f, -0.97f, -0.09f, 0.1f})
      .attribute("rho", std::vector<float>{0.25f})
      .attribute("one_class", int64_t{1})
      .expect<float>({3, 1}, {1, 1, -1});
}

}  // namespace lathe
