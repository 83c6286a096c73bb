#include "ops/cases.h"

namespace lathe {

void cases_split(CaseTable& t) {
  t.add("Split", "sizes")
      .input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
      .input<int64_t>({2}, {1, 2})
      .attribute("axis", int64_t{1})
      .expect<float>({2, 1}, {1, 4})
      .expect<float>({2, 2}, {2, 3, 5, 6});
  t.add("Split", "num_outputs_uneven")
      .input<int32_t>({5}, {1, 2, 3, 4, 5})
      .attribute("num_outputs", int64_t{2})
      .expect<int32_t>({3}, {1, 2, 3})
      .expect<int32_t>({2}, {4, 5});
  t.add("Split", "num_outputs_more_than_parts")
      .input<float>({5}, {1, 2, 3, 4, 5})
      .attribute("num_outputs", int64_t{4})
      .expect<float>({2}, {1, 2})
      .expect<float>({2}, {3, 4})
      .expect<float>({1}, {5})
      .expect<float>({0}, {});
  t.add("Split", "size_zero")
      .input<float>({2}, {1, 2})
      .input<int64_t>({3}, {0, 2, 0})
      .expect<float>({0}, {})
      .expect<float>({2}, {1, 2})
      .expect<float>({0}, {});
  t.add("Split", "opset_2_equal")
      .at_opset(2)
      .input<float>({4}, {1, 2, 3, 4})
      .expect<float>({2}, {1, 2})
      .expect<float>({2}, {3, 4});
  t.add("Split", "opset_11_sizes")
      .at_opset(11)
      .input<float>({1, 3}, {1, 2, 3})
      .attribute("axis", int64_t{-1})
      .attribute("split", std::vector<int64_t>{2, 1})
      .expect<float>({1, 2}, {1, 2})
      .expect<float>({1, 1}, {3});
  t.add("Split", "qkv")
      .random(DataType::float32, {2, 33, 96})
      .attribute("axis", int64_t{2})
      .attribute("num_outputs", int64_t{3})
      .outputs_wanted(3);
}

}  // namespace lathe
