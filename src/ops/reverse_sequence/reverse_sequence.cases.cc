#include "ops/cases.h"

namespace lathe {

void cases_reverse_sequence(CaseTable& t) {
  t.add("ReverseSequence", "time_first")
      .input<float>({3, 2}, {0, 3, 1, 4, 2, 5})
      .input<int64_t>({2}, {3, 2})
      .expect<float>({3, 2}, {2, 4, 1, 3, 0, 5});
  t.add("ReverseSequence", "batch_first")
      .input<int32_t>({2, 3}, {0, 1, 2, 3, 4, 5})
      .input<int64_t>({2}, {0, 2})
      .attribute("batch_axis", int64_t{0})
      .attribute("time_axis", int64_t{1})
      .expect<int32_t>({2, 3}, {0, 1, 2, 4, 3, 5});
}

}  // namespace lathe
