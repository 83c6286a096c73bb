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
  t.add("Trilu", "upper above")
      .input<double>({3, 4}, {-2.25, 3, -2.25, 3.25, 0, 1, 2.25, 0.25, -1.75, -2.5, -3.25, 2})
      .input<int64_t>({}, {1})
      .expect<double>({3, 4}, {0, 3, -2.25, 3.25, 0, 0, 2.25, 0.25, 0, 0, 0, 2});
  t.add("Trilu", "lower")
      .input<float>({3, 4}, {-2.25f, 3, -2.25f, 3.25f, 0, 1, 2.25f, 0.25f, -1.75f, -2.5f, -3.25f, 2})
      .attribute("upper", int64_t{0})
      .expect<float>({3, 4}, {-2.25f, 0, 0, 0, 0, 1, 0, 0, -1.75f, -2.5f, -3.25f, 0});
}

}  // namespace lathe
