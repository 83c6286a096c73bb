#include "ops/cases.h"

namespace lathe {

void cases_shape(CaseTable& t) {
  t.add("Shape", "all").random(DataType::float32, {2, 0, 3}).expect<int64_t>({3}, {2, 0, 3});
  t.add("Shape", "scalar").input<float>({}, {1}).expect<int64_t>({0}, {});
  t.add("Shape", "from_to")
      .random(DataType::float32, {2, 3, 4, 5})
      .attribute("start", int64_t{-3})
      .attribute("end", int64_t{-1})
      .expect<int64_t>({2}, {3, 4});
  t.add("Shape", "clamped")
      .random(DataType::float32, {2, 3})
      .attribute("start", int64_t{-10})
      .attribute("end", int64_t{10})
      .expect<int64_t>({2}, {2, 3});
  t.add("Shape", "nothing")
      .random(DataType::float32, {2, 3})
      .attribute("start", int64_t{2})
      .attribute("end", int64_t{1})
      .expect<int64_t>({0}, {});
  t.add("Size", "matrix").random(DataType::float32, {2, 3}).expect<int64_t>({}, {6});
  t.add("Size", "empty").random(DataType::float32, {2, 0}).expect<int64_t>({}, {0});
}

}  // namespace lathe
