#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_gemm(CaseTable& t) {
  t.add("Gemm", "plain")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 4}, {-2, -3, 0, -2, 2, 1, -2, -1, -3, 2, 1, -3})
      .input<float>({2, 4}, {-2, 2, 1, -3, -2, 0, 1, -2})
      .expect<float>({2, 4}, {6, -1, -3, 2, 9, 6, -4, 3});
  t.add("Gemm", "scaled and transposed")
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .input<float>({4, 3}, {-2, 2, 1, -3, -2, 0, 1, -2, 2, -3, 2, -2})
      .input<float>({4}, {-1, 3, 2, -2})
      .attribute("transA", int64_t{1})
      .attribute("transB", int64_t{1})
      .attribute("alpha", 0.5f)
      .attribute("beta", 2.0f)
      .expect<float>({2, 4}, {0, 1.5f, 1.5f, -2.5f, 0.5f, 9, 4, -2});
  t.add("Gemm", "bias of one column")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .input<float>({2, 1}, {-1, 3})
      .expect<float>({2, 2}, {2, -3, 7, 6});
  t.add("Gemm", "scalar bias")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .input<float>({}, {2})
      .expect<float>({2, 2}, {5, 0, 6, 5});
  t.add("Gemm", "no bias")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({2, 3}, {0, 3, 2, 3, 3, -3})
      .attribute("transB", int64_t{1})
      .expect<float>({2, 2}, {-1, 9, 4, 3});
  t.add("Gemm", "beta of 0 ignores the bias")
      .input<float>({1, 2}, {0, 3})
      .input<float>({2, 1}, {-1, 3})
      .input<float>({1}, {NAN})
      .attribute("beta", 0.0f)
      .expect<float>({1, 1}, {9});
  t.add("Gemm", "int32")
      .input<int32_t>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<int32_t>({3, 2}, {1, -2, 3, 0, 0, 1})
      .input<int32_t>({2}, {-3, 2})
      .expect<int32_t>({2, 2}, {0, 0, 1, 5});
  t.add("Gemm", "nothing to sum")
      .input<float>({2, 0}, {})
      .input<float>({0, 2}, {})
      .input<float>({2}, {-3, 2})
      .expect<float>({2, 2}, {-3, 2, -3, 2});
  t.add("Gemm", "opset 6 broadcasts when told")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .input<float>({2}, {-3, 2})
      .attribute("broadcast", int64_t{1})
      .expect<float>({2, 2}, {0, 0, 1, 5})
      .at_opset(6);
  t.add("Gemm", "opset 1")
      .input<float>({2, 3}, {0, 1, -2, -2, 2, -1})
      .input<float>({3, 2}, {1, -2, 3, 0, 0, 1})
      .input<float>({2, 2}, {-1, -2, 0, 1})
      .expect<float>({2, 2}, {2, -4, 4, 4})
      .at_opset(1);
  t.add("Gemm", "float16")
      .random(DataType::float16, {3, 8})
      .random(DataType::float16, {8, 5})
      .random(DataType::float16, {5});
  t.add("Gemm", "classifier")
      .random(DataType::float32, {1, 512})
      .random(DataType::float32, {100, 512})
      .as_constant()
      .random(DataType::float32, {100})
      .as_constant()
      .attribute("transB", int64_t{1});
  t.add("Gemm", "odd sizes")
      .random(DataType::float32, {13, 29})
      .random(DataType::float32, {29, 35})
      .random(DataType::float32, {13, 1})
      .attribute("alpha", 0.25f);
}

}  // namespace lathe
