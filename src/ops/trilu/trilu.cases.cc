#include "ops/cases.h"

namespace lathe {

void cases_trilu(CaseTable& t) {
  t.add("Trilu", "upper").input<float>({2, 3}, {1, 2, 3, 4, 5, 6}).expect<float>({2, 3}, {1, 2, 3, 0, 5, 6});
  t.add("Trilu", "lower_below")
      .input<int64_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8})
      .input<int64_t>({}, {-1})
      .attribute("upper", int64_t{0})
      .expect<int64_t>({2, 2, 2}, {0, 0, 3, 0, 0, 0, 7, 0});
  t.add("Trilu", "far_diagonal")
      .input<float>({1, 2}, {1, 2})
      .input<int64_t>({}, {INT64_MAX})
      .expect<float>({1, 2}, {0, 0});
}

}  // namespace lathe
