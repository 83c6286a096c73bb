#include "ops/cases.h"

namespace lathe {

void cases_select(CaseTable& t) {
  t.add("NonZero", "matrix")
      .input<bool>({2, 2}, {true, false, true, true})
      .expect<int64_t>({2, 3}, {0, 1, 1, 0, 0, 1});
  t.add("NonZero", "scalar").input<float>({}, {3}).expect<int64_t>({0, 1}, {});
  t.add("NonZero", "nothing").input<float>({2}, {0, -0.0f}).expect<int64_t>({1, 0}, {});

  t.add("Compress", "rows")
      .input<float>({3, 2}, {1, 2, 3, 4, 5, 6})
      .input<bool>({3}, {false, true, true})
      .attribute("axis", int64_t{0})
      .expect<float>({2, 2}, {3, 4, 5, 6});
  t.add("Compress", "elements")
      .input<std::string>({2, 2}, {"a", "b", "c", "d"})
      .input<bool>({3}, {false, true, true})
      .expect<std::string>({2}, {"b", "c"});

  t.add("Unique", "sorted")
      .input<float>({6}, {2, 1, 1, 3, 4, 3})
      .expect<float>({4}, {1, 2, 3, 4})
      .expect<int64_t>({4}, {1, 0, 3, 4})
      .expect<int64_t>({6}, {1, 0, 0, 2, 3, 2})
      .expect<int64_t>({4}, {2, 1, 2, 1});
  t.add("Unique", "in_order")
      .input<float>({6}, {2, 1, 1, 3, 4, 3})
      .attribute("sorted", int64_t{0})
      .expect<float>({4}, {2, 1, 3, 4})
      .expect<int64_t>({4}, {0, 1, 3, 4})
      .expect<int64_t>({6}, {0, 1, 1, 2, 3, 2})
      .expect<int64_t>({4}, {1, 2, 2, 1});
  t.add("Unique", "rows")
      .input<int64_t>({3, 3}, {1, 0, 0, 1, 0, 0, 2, 3, 4})
      .attribute("axis", int64_t{0})
      .expect<int64_t>({2, 3}, {1, 0, 0, 2, 3, 4})
      .expect<int64_t>({2}, {0, 2})
      .expect<int64_t>({3}, {0, 0, 1})
      .expect<int64_t>({2}, {2, 1});
  t.add("NonZero", "three axes")
      .input<double>({2, 2, 3}, {0, 1.5, 0, 0, 0, -2, 3, 0, 0, 0, 0, 0})
      .expect<int64_t>({3, 3}, {0, 0, 1, 0, 1, 0, 1, 2, 0});
  t.add("Compress", "middle axis")
      .input<float>({2, 3, 2},
                    {-0.75f, 1.75f, -4, -1.5f, -2.75f, -3.25f, -2.5f, -1.25f, -0.75f, 0.25f, -0.75f, 1.5f})
      .input<bool>({3}, {true, false, true})
      .attribute("axis", int64_t{1})
      .expect<float>({2, 2, 2}, {-0.75f, 1.75f, -2.75f, -3.25f, -2.5f, -1.25f, -0.75f, 1.5f});
}

}  // namespace lathe
