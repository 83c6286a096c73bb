#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_where(CaseTable& t) {
  t.add("Where", "broadcast")
      .input<bool>({2, 1}, {true, false})
      .input<float>({2}, {1, 2})
      .input<float>({}, {9})
      .expect<float>({2, 2}, {1, 2, 9, 9});
  t.add("Where", "strings")
      .input<bool>({2}, {false, true})
      .input<std::string>({2}, {"a", "b"})
      .input<std::string>({1}, {"c"})
      .expect<std::string>({2}, {"c", "b"});
  t.add("Where", "int64")
      .input<bool>({}, {true})
      .input<int64_t>({2}, {INT64_MIN, 2})
      .input<int64_t>({2}, {3, 4})
      .expect<int64_t>({2}, {INT64_MIN, 2});
  t.add("Where", "empty")
      .input<bool>({0}, {})
      .input<float>({1}, {1})
      .input<float>({0}, {})
      .expect<float>({0}, {});
  t.add("Where", "attention mask")
      .random(DataType::boolean, {1, 1, 33, 33}, 0, 2)
      .random(DataType::float32, {4, 8, 33, 33})
      .random(DataType::float32, {});
}

}  // namespace lathe
