#include "ops/cases.h"

namespace lathe {

void cases_top_k(CaseTable& t) {
  t.add("TopK", "largest of rows")
      .input<float>({2, 4}, {1, 4, 2, 3, 8, 5, 7, 6})
      .input<int64_t>({1}, {2})
      .as_constant()
      .expect<float>({2, 2}, {4, 3, 8, 7})
      .expect<int64_t>({2, 2}, {1, 3, 0, 2});
  t.add("TopK", "smallest of columns, k as data")
      .input<int64_t>({3, 2}, {3, 1, 1, 2, 2, 3})
      .input<int64_t>({1}, {1})
      .attribute("axis", int64_t{0})
      .attribute("largest", int64_t{0})
      .expect<int64_t>({1, 2}, {1, 1})
      .expect<int64_t>({1, 2}, {1, 0});
  t.add("TopK", "ties keep their order")
      .input<float>({4}, {1, 1, 1, 1})
      .input<int64_t>({1}, {3})
      .expect<float>({3}, {1, 1, 1})
      .expect<int64_t>({3}, {0, 1, 2});
  t.add("TopK", "none of them")
      .input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
      .input<int64_t>({1}, {0})
      .expect<float>({2, 0}, {})
      .expect<int64_t>({2, 0}, {});
  t.add("TopK", "NaN comes first, and what is equal in order")
      .input<float>({1, 6}, {0, NAN, -0.0f, INFINITY, NAN, 0})
      .input<int64_t>({1}, {5})
      .expect<float>({1, 5}, {NAN, NAN, INFINITY, 0, -0.0f})
      .expect<int64_t>({1, 5}, {1, 4, 3, 0, 2});
  t.add("TopK", "bytes")
      .input<uint8_t>({2, 3}, {200, 7, 200, 0, 255, 3})
      .input<int64_t>({1}, {2})
      .expect<uint8_t>({2, 2}, {200, 200, 255, 3})
      .expect<int64_t>({2, 2}, {0, 2, 1, 2});
  t.add("TopK", "float16").random(DataType::float16, {3, 100}).input<int64_t>({1}, {5}).outputs_wanted(2);
  t.add("TopK", "version 1")
      .input<float>({3}, {1, 3, 2})
      .attribute("k", int64_t{1})
      .at_opset(9)
      .expect<float>({1}, {3})
      .expect<int64_t>({1}, {1});
}

}  // namespace lathe
