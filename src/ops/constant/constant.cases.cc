#include "ops/cases.h"

namespace lathe {

void cases_constant(CaseTable& t) {
  t.add("Constant", "ints")
      .attribute("value_ints", std::vector<int64_t>{1, -2})
      .expect<int64_t>({2}, {1, -2});
  t.add("Constant", "string").attribute("value_string", std::string("a")).expect<std::string>({}, {"a"});

  t.add("ConstantOfShape", "default").input<int64_t>({2}, {2, 1}).expect<float>({2, 1}, {0, 0});
  t.add("ConstantOfShape", "int32")
      .input<int64_t>({1}, {3})
      .attribute("value", Tensor::from<int32_t>({1}, std::vector<int32_t>{7}))
      .expect<int32_t>({3}, {7, 7, 7});
  t.add("ConstantOfShape", "scalar").input<int64_t>({0}, {}).expect<float>({}, {0});
  t.add("ConstantOfShape", "empty").input<int64_t>({2}, {0, 3}).expect<float>({0, 3}, {});

  t.add("Range", "up")
      .input<int64_t>({}, {1})
      .input<int64_t>({}, {8})
      .input<int64_t>({}, {3})
      .expect<int64_t>({3}, {1, 4, 7});
  t.add("Range", "down")
      .input<int32_t>({}, {10})
      .input<int32_t>({}, {6})
      .input<int32_t>({}, {-3})
      .expect<int32_t>({2}, {10, 7});
  t.add("Range", "float")
      .input<float>({}, {0})
      .input<float>({}, {1})
      .input<float>({}, {0.25f})
      .expect<float>({4}, {0, 0.25f, 0.5f, 0.75f});
  t.add("Range", "nothing")
      .input<int64_t>({}, {5})
      .input<int64_t>({}, {5})
      .input<int64_t>({}, {1})
      .expect<int64_t>({0}, {});
  t.add("Range", "extremes")
      .input<int64_t>({}, {INT64_MIN})
      .input<int64_t>({}, {INT64_MAX})
      .input<int64_t>({}, {INT64_MAX})
      .expect<int64_t>({3}, {INT64_MIN, -1, INT64_MAX - 1});

  t.add("EyeLike", "upper")
      .input<float>({2, 3}, {0, 0, 0, 0, 0, 0})
      .attribute("k", int64_t{1})
      .expect<float>({2, 3}, {0, 1, 0, 0, 0, 1});
  t.add("EyeLike", "typed")
      .input<float>({2, 2}, {0, 0, 0, 0})
      .attribute("dtype", int64_t{7})
      .attribute("k", int64_t{-1})
      .expect<int64_t>({2, 2}, {0, 0, 1, 0});
  for (int64_t k : {int64_t{-2}, int64_t{3}, INT64_MAX, INT64_MIN})
    t.add("EyeLike", "beside the matrix")
        .random(DataType::float16, {2, 3})
        .attribute("k", k)
        .expect<Float16>({2, 3}, std::vector<Float16>(6));

  t.add("OneHot", "last_axis")
      .input<int64_t>({3}, {0, -1, 5})
      .input<int64_t>({}, {3})
      .input<float>({2}, {2, 5})
      .expect<float>({3, 3}, {5, 2, 2, 2, 2, 5, 2, 2, 2});
  t.add("OneHot", "first_axis_float_indices")
      .input<float>({2}, {1.7f, 0})
      .input<float>({1}, {2})
      .input<int32_t>({2}, {0, 1})
      .attribute("axis", int64_t{0})
      .expect<int32_t>({2, 2}, {0, 1, 1, 0});
  t.add("OneHot", "far_outside")
      .input<float>({3}, {1e30f, -1e30f, 1})
      .input<int64_t>({}, {2})
      .input<float>({2}, {0, 1})
      .expect<float>({3, 2}, {0, 0, 0, 0, 0, 1});
}

}  // namespace lathe
