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
  t.add("GatherElements", "last of three axes")
      .input<float>({2, 3, 4}, {-0.75f, 1.75f, -4,     -1.5f, -2.75f, -3.25f, -2.5f,  -1.25f,
                                -0.75f, 0.25f, -0.75f, 1.5f,  -2.25f, 3,      -3.75f, 1.25f,
                                -0.75f, 0.5f,  -3,     -2.5f, 2.5f,   3.75f,  -1.5f,  1.5f})
      .input<int32_t>({2, 3, 2}, {0, -1, 3, 1, -2, 2, 1, 1, -4, 0, 3, 3})
      .attribute("axis", int64_t{-1})
      .expect<float>({2, 3, 2},
                     {-0.75f, -1.5f, -1.25f, -3.25f, -0.75f, -0.75f, 3, 3, -0.75f, -0.75f, 1.5f, 1.5f});
  t.add("GatherElements", "first of three axes, of doubles")
      .input<double>({2, 3, 4},
                     {-0.75, 1.75, -4,    -1.5, -2.75, -3.25, -2.5, -1.25, -0.75, 0.25, -0.75, 1.5,
                      -2.25, 3,    -3.75, 1.25, -0.75, 0.5,   -3,   -2.5,  2.5,   3.75, -1.5,  1.5})
      .input<int64_t>({1, 3, 4}, {1, 0, -2, 1, 0, 0, 1, 1, 1, 1, 1, -1})
      .expect<double>({1, 3, 4}, {-2.25, 1.75, -4, 1.25, -2.75, -3.25, -3, -2.5, 2.5, 3.75, -1.5, 1.5});
  t.add("GatherND", "batches of rows and elements")
      .input<float>({2, 3, 4}, {-0.75f, 1.75f, -4,     -1.5f, -2.75f, -3.25f, -2.5f,  -1.25f,
                                -0.75f, 0.25f, -0.75f, 1.5f,  -2.25f, 3,      -3.75f, 1.25f,
                                -0.75f, 0.5f,  -3,     -2.5f, 2.5f,   3.75f,  -1.5f,  1.5f})
      .input<int64_t>({2, 2, 2}, {0, -1, 2, 1, 1, 0, 0, 0})
      .attribute("batch_dims", int64_t{1})
      .expect<float>({2, 2}, {-1.5f, 0.25f, -0.75f, -2.25f});
}

}  // namespace lathe
