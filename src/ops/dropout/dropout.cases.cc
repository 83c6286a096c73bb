#include "ops/cases.h"

namespace lathe {

void cases_dropout(CaseTable& t) {
  t.add("Dropout", "inference")
      .input<float>({3}, {1, 2, 3})
      .expect<float>({3}, {1, 2, 3})
      .expect<bool>({3}, {true, true, true});
  // The result of ONNX Runtime, which the standard leaves open before version 12: nothing is dropped.
  t.add("Dropout", "version 7, mask of floats")
      .input<float>({2}, {1, 2})
      .attribute("ratio", 0.5f)
      .at_opset(9)
      .expect<float>({2}, {1, 2})
      .expect<float>({2}, {0, 0});
  t.add("Dropout", "version 10, mask of booleans")
      .input<float>({2}, {1, 2})
      .attribute("ratio", 0.5f)
      .at_opset(11)
      .expect<float>({2}, {1, 2})
      .expect<bool>({2}, {false, false});
  // numpy.random.seed(0); numpy.random.uniform(0, 1, 4) is 0.549, 0.715, 0.603, 0.545
  t.add("Dropout", "training, seeded")
      .input<float>({4}, {1, 2, 3, 4})
      .input<float>({}, {0.6f})
      .input<bool>({}, {true})
      .attribute("seed", int64_t{0})
      .expect<float>({4}, {0, 5, 7.5f, 0})
      .expect<bool>({4}, {false, true, true, false})
      .tolerance(1e-6, 0);
}

}  // namespace lathe
