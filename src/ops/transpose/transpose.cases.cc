#include "ops/cases.h"

namespace lathe {

void cases_transpose(CaseTable& t) {
  t.add("Transpose", "reversed")
      .input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
      .expect<float>({3, 2}, {1, 4, 2, 5, 3, 6});
  t.add("Transpose", "021")
      .input<int64_t>({2, 1, 3}, {1, 2, 3, 4, 5, 6})
      .attribute("perm", std::vector<int64_t>{0, 2, 1})
      .expect<int64_t>({2, 3, 1}, {1, 2, 3, 4, 5, 6});
  t.add("Transpose", "102")
      .input<int16_t>({2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})
      .attribute("perm", std::vector<int64_t>{1, 0, 2})
      .expect<int16_t>({3, 2, 2}, {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11});
  t.add("Transpose", "strings")
      .input<std::string>({2, 2}, {"a", "b", "c", "d"})
      .expect<std::string>({2, 2}, {"a", "c", "b", "d"});
  t.add("Transpose", "empty").input<float>({2, 0, 3}, {}).expect<float>({3, 0, 2}, {});
  t.add("Transpose", "scalar").input<double>({}, {7}).expect<double>({}, {7});
  t.add("Transpose", "nchw_to_nhwc")
      .random(DataType::float32, {1, 64, 56, 56})
      .attribute("perm", std::vector<int64_t>{0, 2, 3, 1});
  t.add("Transpose", "heads")
      .random(DataType::float16, {2, 128, 12, 64})
      .attribute("perm", std::vector<int64_t>{0, 2, 1, 3});
  t.add("Transpose", "matrix").random(DataType::float32, {513, 1027});
}

}  // namespace lathe
