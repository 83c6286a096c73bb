#include "ops/cases.h"

namespace lathe {

void cases_expand(CaseTable& t) {
  t.add("Expand", "column")
      .input<float>({2, 1}, {1, 2})
      .input<int64_t>({2}, {2, 3})
      .expect<float>({2, 3}, {1, 1, 1, 2, 2, 2});
  t.add("Expand", "both_ways")
      .input<float>({2, 1}, {1, 2})
      .input<int64_t>({3}, {2, 1, 2})
      .expect<float>({2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2});
  t.add("Expand", "shorter_shape")
      .input<bool>({2, 1}, {true, false})
      .input<int64_t>({1}, {1})
      .expect<bool>({2, 1}, {true, false});
  t.add("Expand", "to_empty")
      .input<float>({2, 1}, {1, 2})
      .input<int64_t>({2}, {2, 0})
      .expect<float>({2, 0}, {});
  t.add("Expand", "string_scalar")
      .input<std::string>({}, {"x"})
      .input<int64_t>({1}, {2})
      .expect<std::string>({2}, {"x", "x"});
  t.add("Tile", "matrix")
      .input<float>({1, 2}, {1, 2})
      .input<int64_t>({2}, {2, 2})
      .expect<float>({2, 4}, {1, 2, 1, 2, 1, 2, 1, 2});
  t.add("Tile", "never").input<float>({1, 2}, {1, 2}).input<int64_t>({2}, {1, 0}).expect<float>({1, 0}, {});
  t.add("Tile", "opset_1")
      .at_opset(1)
      .input<float>({1, 2}, {1, 2})
      .input<float>({}, {2})
      .as_constant()
      .input<float>({}, {1})
      .as_constant()
      .expect<float>({1, 4}, {1, 2, 1, 2});
}

}  // namespace lathe
