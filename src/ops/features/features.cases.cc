#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_features(CaseTable& t) {
  t.add("ArrayFeatureExtractor", "columns", "ai.onnx.ml")
      .input<float>({3, 4},
                    {-0.65f, 1.31f, -0.48f, 1.38f, 1.14f, -0.21f, 0.85f, -1.86f, -0.44f, 1.44f, 0.32f, 0.23f})
      .input<int64_t>({1, 2}, {2, 0})
      .expect<float>({3, 2}, {-0.48f, -0.65f, 0.85f, 1.14f, 0.32f, -0.44f});
  t.add("ArrayFeatureExtractor", "of one row of words", "ai.onnx.ml")
      .input<std::string>({3}, {"a", "b", "c"})
      .input<int64_t>({1}, {1})
      .expect<std::string>({1, 1}, {"b"});
  t.add("Binarizer", "a threshold is 0", "ai.onnx.ml")
      .input<float>({4}, {1, 1.5f, 2, NAN})
      .attribute("threshold", 1.5f)
      .expect<float>({4}, {0, 0, 1, 0});
  t.add("FeatureVectorizer", "a column, and two cut to one", "ai.onnx.ml")
      .input<int64_t>({2, 1}, {1, 2})
      .input<int64_t>({2, 2}, {3, 4, 5, 6})
      .attribute("inputdimensions", std::vector<int64_t>{1, 1})
      .expect<float>({2, 2}, {1, 3, 2, 5});
  t.add("Imputer", "NaN by columns", "ai.onnx.ml")
      .input<float>({2, 2}, {1, NAN, NAN, 4})
      .attribute("imputed_value_floats", std::vector<float>{7, 8})
      .attribute("replaced_value_float", NAN)
      .expect<float>({2, 2}, {1, 8, 7, 4});
  t.add("Imputer", "integers", "ai.onnx.ml")
      .input<int64_t>({1, 2}, {0, 2})
      .attribute("imputed_value_int64s", std::vector<int64_t>{5})
      .attribute("replaced_value_int64", int64_t{0})
      .expect<int64_t>({1, 2}, {5, 2});
  t.add("Normalizer", "MAX", "ai.onnx.ml")
      .input<float>({3, 4}, {-0.65f, 1.31f, -0.48f, 1.38f, 0, 0, 0, 0, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("norm", std::string("MAX"))
      .expect<float>({3, 4}, {-0.47101447f, 0.9492753f, -0.3478261f, 1, 0, 0, 0, 0, -0.30555555f, 1,
                              0.22222221f, 0.15972222f});
  t.add("Normalizer", "L1", "ai.onnx.ml")
      .input<float>({3, 4}, {-0.65f, 1.31f, -0.48f, 1.38f, 0, 0, 0, 0, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("norm", std::string("L1"))
      .expect<float>({3, 4}, {-0.17015706f, 0.34293193f, -0.12565444f, 0.36125654f, 0, 0, 0, 0, -0.18106996f,
                              0.5925926f, 0.13168724f, 0.09465021f});
  t.add("Normalizer", "L2", "ai.onnx.ml")
      .input<float>({3, 4}, {-0.65f, 1.31f, -0.48f, 1.38f, 0, 0, 0, 0, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("norm", std::string("L2"))
      .expect<float>({3, 4}, {-0.31443188f, 0.6337012f, -0.23219585f, 0.6675631f, 0, 0, 0, 0, -0.28269672f,
                              0.9251893f, 0.20559761f, 0.14777328f});
  t.add("Scaler", "by columns", "ai.onnx.ml")
      .input<float>({3, 4},
                    {-0.65f, 1.31f, -0.48f, 1.38f, 1.14f, -0.21f, 0.85f, -1.86f, -0.44f, 1.44f, 0.32f, 0.23f})
      .attribute("offset", std::vector<float>{1, 2, 3, 0.5f})
      .attribute("scale", std::vector<float>{2, 0.5f, 1, 4})
      .expect<float>({3, 4}, {-3.3f, -0.34500003f, -3.48f, 3.52f, 0.27999997f, -1.105f, -2.15f, -9.440001f,
                              -2.88f, -0.27999997f, -2.68f, -1.0799999f});
  t.add("Scaler", "one for all, of integers", "ai.onnx.ml")
      .input<int64_t>({1, 2}, {1, 2})
      .attribute("offset", std::vector<float>{1})
      .attribute("scale", std::vector<float>{0.5f})
      .expect<float>({1, 2}, {0, 0.5f});
}

}  // namespace lathe
