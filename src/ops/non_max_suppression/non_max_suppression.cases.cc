#include <limits>

#include "ops/cases.h"

namespace lathe {

void cases_non_max_suppression(CaseTable& t) {
  t.add("NonMaxSuppression", "corners")
      .input<float>({1, 6, 4}, {0, 0,  1, 1,  0, 0.125f,  1, 1.125f,  0, -0.125f, 1, 0.875f,
                                0, 10, 1, 11, 0, 10.125f, 1, 11.125f, 0, 100,     1, 101})
      .input<float>({1, 1, 6}, {0.875f, 0.75f, 0.625f, 0.9375f, 0.5f, 0.25f})
      .input<int64_t>({1}, {3})
      .input<float>({1}, {0.5f})
      .input<float>({1}, {0})
      .expect<int64_t>({3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5});
  t.add("NonMaxSuppression", "limited")
      .input<float>({1, 6, 4}, {0, 0,  1, 1,  0, 0.125f,  1, 1.125f,  0, -0.125f, 1, 0.875f,
                                0, 10, 1, 11, 0, 10.125f, 1, 11.125f, 0, 100,     1, 101})
      .input<float>({1, 1, 6}, {0.875f, 0.75f, 0.625f, 0.9375f, 0.5f, 0.25f})
      .input<int64_t>({1}, {2})
      .input<float>({1}, {0.5f})
      .expect<int64_t>({2, 3}, {0, 0, 3, 0, 0, 0});
  t.add("NonMaxSuppression", "score threshold")
      .input<float>({1, 6, 4}, {0, 0,  1, 1,  0, 0.125f,  1, 1.125f,  0, -0.125f, 1, 0.875f,
                                0, 10, 1, 11, 0, 10.125f, 1, 11.125f, 0, 100,     1, 101})
      .input<float>({1, 1, 6}, {0.875f, 0.75f, 0.625f, 0.9375f, 0.5f, 0.25f})
      .input<int64_t>({1}, {3})
      .input<float>({1}, {0.5f})
      .input<float>({1}, {0.5f})
      .expect<int64_t>({2, 3}, {0, 0, 3, 0, 0, 0});
  t.add("NonMaxSuppression", "centers")
      .input<float>({1, 6, 4}, {0.5f,  0.5f, 1, 1, 0.625f,  0.5f, 1, 1, 0.375f, 0.5f, 1, 1,
                                10.5f, 0.5f, 1, 1, 10.625f, 0.5f, 1, 1, 100.5f, 0.5f, 1, 1})
      .input<float>({1, 1, 6}, {0.875f, 0.75f, 0.625f, 0.9375f, 0.5f, 0.25f})
      .input<int64_t>({1}, {3})
      .input<float>({1}, {0.5f})
      .input<float>({1}, {0})
      .attribute("center_point_box", int64_t{1})
      .expect<int64_t>({3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5});
  t.add("NonMaxSuppression", "flipped corners")
      .input<float>({1, 6, 4}, {1, 1,  0, 0,  1, 1.125f,  0, 0.125f,  1, 0.875f, 0, -0.125f,
                                1, 11, 0, 10, 1, 11.125f, 0, 10.125f, 1, 101,    0, 100})
      .input<float>({1, 1, 6}, {0.875f, 0.75f, 0.625f, 0.9375f, 0.5f, 0.25f})
      .input<int64_t>({1}, {3})
      .input<float>({1}, {0.5f})
      .expect<int64_t>({3, 3}, {0, 0, 3, 0, 0, 0, 0, 0, 5});
  t.add("NonMaxSuppression", "two batches and classes")
      .input<float>({2, 6, 4}, {0, 0,  1, 1,  0, 0.125f,  1, 1.125f,  0, -0.125f, 1, 0.875f,
                                0, 10, 1, 11, 0, 10.125f, 1, 11.125f, 0, 100,     1, 101,
                                0, 0,  1, 1,  0, 0.125f,  1, 1.125f,  0, -0.125f, 1, 0.875f,
                                0, 10, 1, 11, 0, 10.125f, 1, 11.125f, 0, 100,     1, 101})
      .input<float>({2, 2, 6}, {0.875f,  0.75f,  0.625f, 0.9375f, 0.5f,    0.25f,  0.25f,  0.5f,
                                0.9375f, 0.625f, 0.75f,  0.875f,  0.875f,  0.75f,  0.625f, 0.9375f,
                                0.5f,    0.25f,  0.25f,  0.5f,    0.9375f, 0.625f, 0.75f,  0.875f})
      .input<int64_t>({1}, {2})
      .input<float>({1}, {0.5f})
      .expect<int64_t>({8, 3}, {0, 0, 3, 0, 0, 0, 0, 1, 2, 0, 1, 5, 1, 0, 3, 1, 0, 0, 1, 1, 2, 1, 1, 5});
  t.add("NonMaxSuppression", "none without a limit")
      .input<float>({1, 6, 4}, {0, 0,  1, 1,  0, 0.125f,  1, 1.125f,  0, -0.125f, 1, 0.875f,
                                0, 10, 1, 11, 0, 10.125f, 1, 11.125f, 0, 100,     1, 101})
      .input<float>({1, 1, 6}, {0.875f, 0.75f, 0.625f, 0.9375f, 0.5f, 0.25f})
      .expect<int64_t>({0, 3}, {});
  t.add("NonMaxSuppression", "many batches without boxes")
      .input<float>({int64_t{1} << 50, 0, 4}, {})
      .input<float>({int64_t{1} << 50, 1, 0}, {})
      .input<int64_t>({1}, {3})
      .expect<int64_t>({0, 3}, {});
  t.add("NonMaxSuppression", "a detector's head")
      .random(DataType::float32, {2, 700, 4}, 0, 4)
      .random(DataType::float32, {2, 5, 700}, 0, 1)
      .input<int64_t>({1}, {100})
      .input<float>({1}, {0.45f})
      .input<float>({1}, {0.3f});
  t.add("NonMaxSuppression", "centers without a score threshold")
      .random(DataType::float32, {1, 300, 4}, -0.5, 3)
      .random(DataType::float32, {1, 3, 300}, -1, 1)
      .input<int64_t>({1}, {1000})
      .input<float>({1}, {0.2f})
      .attribute("center_point_box", int64_t{1});
  t.add("NonMaxSuppression", "many equal scores, no overlap allowed")
      .random(DataType::float32, {1, 200, 4}, 0, 1)
      .input<float>({1, 1, 200}, std::vector<float>(200, 0.5f))
      .input<int64_t>({1}, {1000})
      .input<float>({1}, {0});
  const float nan = std::numeric_limits<float>::quiet_NaN(), huge = std::numeric_limits<float>::infinity();
  t.add("NonMaxSuppression", "scores and boxes that are no numbers")
      .input<float>({1, 6, 4}, {0, 0, 1, 1, 0, 0, nan, 1, -huge, -huge, huge, huge,
                                0, 0, 1, 1, 0, 0, 0,   0, nan,   nan,   nan,  nan})
      .input<float>({1, 1, 6}, {0.5f, 0.75f, 0.25f, nan, huge, -huge})
      .input<int64_t>({1}, {6})
      .input<float>({1}, {0.5f});
  t.add("NonMaxSuppression", "equal scores: the first box")
      .input<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1})
      .input<float>({1, 1, 3}, {0.5f, 0.5f, 0.5f})
      .input<int64_t>({1}, {3})
      .input<float>({1}, {0.5f})
      .expect<int64_t>({1, 3}, {0, 0, 0});
}

}  // namespace lathe
