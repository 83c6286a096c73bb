#include "ops/cases.h"

namespace lathe {

void cases_cumulative(CaseTable& t) {
  auto sum = [&](const char* name) -> OpCase& {
    return t.add("CumSum", name).input<float>({5}, {1, 2, 3, 4, 5}).input<int64_t>({}, {0});
  };
  sum("plain").expect<float>({5}, {1, 3, 6, 10, 15});
  sum("exclusive").attribute("exclusive", int64_t{1}).expect<float>({5}, {0, 1, 3, 6, 10});
  sum("reverse").attribute("reverse", int64_t{1}).expect<float>({5}, {15, 14, 12, 9, 5});
  sum("reverse exclusive")
      .attribute("reverse", int64_t{1})
      .attribute("exclusive", int64_t{1})
      .expect<float>({5}, {14, 12, 9, 5, 0});
  t.add("CumSum", "rows, negative axis")
      .input<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6})
      .input<int32_t>({}, {-2})
      .expect<int64_t>({2, 3}, {1, 2, 3, 5, 7, 9});
  t.add("CumProd", "columns")
      .input<double>({2, 2}, {1, 2, 3, 4})
      .input<int64_t>({}, {1})
      .expect<double>({2, 2}, {1, 2, 3, 12});
  t.add("CumSum", "empty").input<float>({0, 3}, {}).input<int64_t>({}, {0}).expect<float>({0, 3}, {});
  t.add("CumProd", "exclusive from the end, axis 0")
      .input<float>({2, 3}, {1, 2, 3, -1, 0.5f, 4})
      .input<int32_t>({}, {0})
      .attribute("exclusive", int64_t{1})
      .attribute("reverse", int64_t{1})
      .expect<float>({2, 3}, {-1, 0.5f, 4, 1, 1, 1});
  t.add("CumProd", "exclusive from the end, axis 1")
      .input<float>({2, 3}, {1, 2, 3, -1, 0.5f, 4})
      .input<int32_t>({}, {1})
      .attribute("exclusive", int64_t{1})
      .attribute("reverse", int64_t{1})
      .expect<float>({2, 3}, {6, 3, 1, 2, 4, 1});
  t.add("CumSum", "exclusive columns")
      .input<float>({2, 3}, {1, 2, 3, -1, 0.5f, 4})
      .input<int64_t>({}, {0})
      .attribute("exclusive", int64_t{1})
      .expect<float>({2, 3}, {0, 0, 0, 1, 2, 3});
  t.add("CumSum", "wraps around")
      .input<int32_t>({3}, {2147483647, 1, 5})
      .input<int64_t>({1}, {0})
      .expect<int32_t>({3}, {2147483647, -2147483648, -2147483643});
}

}  // namespace lathe
