#include "ops/cases.h"

namespace lathe {

void cases_gather(CaseTable& t) {
  t.add("Gather", "rows")
      .input<float>({3, 2}, {1, 2, 3, 4, 5, 6})
      .input<int64_t>({2, 2}, {0, 1, -1, 0})
      .expect<float>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 1, 2});
  t.add("Gather", "columns")
      .input<int32_t>({2, 3}, {1, 2, 3, 4, 5, 6})
      .input<int32_t>({2}, {2, 0})
      .attribute("axis", int64_t{1})
      .expect<int32_t>({2, 2}, {3, 1, 6, 4});
  t.add("Gather", "scalar_index")
      .input<std::string>({3}, {"a", "b", "c"})
      .input<int64_t>({}, {-2})
      .expect<std::string>({}, {"b"});
  t.add("Gather", "no_indices")
      .input<float>({3, 2}, {1, 2, 3, 4, 5, 6})
      .input<int64_t>({0}, {})
      .expect<float>({0, 2}, {});
  t.add("Gather", "empty_rows")
      .input<float>({3, 0}, {})
      .input<int64_t>({2}, {2, 0})
      .expect<float>({2, 0}, {});
  t.add("Gather", "many rows of nothing")
      .input<float>({int64_t{1} << 50, 3, 0}, {})
      .input<int64_t>({2}, {2, 0})
      .attribute("axis", int64_t{1})
      .expect<float>({int64_t{1} << 50, 2, 0}, {});
  t.add("Gather", "embedding")
      .random(DataType::float32, {1000, 64})
      .random(DataType::int64, {4, 17}, 0, 1000);

  t.add("GatherElements", "axis_1")
      .input<float>({2, 2}, {1, 2, 3, 4})
      .input<int64_t>({2, 2}, {0, 0, 1, 0})
      .attribute("axis", int64_t{1})
      .expect<float>({2, 2}, {1, 1, 4, 3});
  t.add("GatherElements", "negative")
      .input<int8_t>({3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9})
      .input<int32_t>({2, 3}, {-1, -2, 0, -3, 0, 0})
      .expect<int8_t>({2, 3}, {7, 5, 3, 1, 2, 3});

  t.add("GatherND", "elements")
      .input<int32_t>({2, 2}, {0, 1, 2, 3})
      .input<int64_t>({2, 2}, {0, 0, 1, -1})
      .expect<int32_t>({2}, {0, 3});
  t.add("GatherND", "rows")
      .input<int32_t>({2, 2}, {0, 1, 2, 3})
      .input<int64_t>({2, 1}, {1, 0})
      .expect<int32_t>({2, 2}, {2, 3, 0, 1});
  t.add("GatherND", "batches")
      .input<float>({2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .input<int64_t>({2, 1}, {1, 0})
      .attribute("batch_dims", int64_t{1})
      .expect<float>({2, 2}, {2, 3, 4, 5});
}

}  // namespace lathe
