#include "ops/cases.h"

namespace lathe {

void cases_scatter(CaseTable& t) {
  t.add("ScatterElements", "axis_1")
      .input<float>({1, 5}, {1, 2, 3, 4, 5})
      .input<int64_t>({1, 2}, {1, -2})
      .input<float>({1, 2}, {11, 21})
      .attribute("axis", int64_t{1})
      .expect<float>({1, 5}, {1, 11, 3, 21, 5});
  const auto reduced = [&](const char* reduction, std::vector<float> expected) {
    t.add("ScatterElements", reduction)
        .input<float>({1, 5}, {1, 2, 3, 4, 5})
        .input<int64_t>({1, 3}, {1, 1, 0})
        .input<float>({1, 3}, {10, 3, -2})
        .attribute("axis", int64_t{1})
        .attribute("reduction", std::string(reduction))
        .expect<float>({1, 5}, expected);
  };
  reduced("add", {-1, 15, 3, 4, 5});
  reduced("mul", {-2, 60, 3, 4, 5});
  reduced("min", {-2, 2, 3, 4, 5});
  reduced("max", {1, 10, 3, 4, 5});
  t.add("ScatterElements", "int8_wraps")
      .input<int8_t>({2}, {127, 1})
      .input<int32_t>({2}, {0, 1})
      .input<int8_t>({2}, {1, 1})
      .attribute("reduction", std::string("add"))
      .expect<int8_t>({2}, {-128, 2});
  t.add("Scatter", "opset_9")
      .at_opset(9)
      .input<float>({3}, {0, 0, 0})
      .input<int64_t>({2}, {2, 0})
      .input<float>({2}, {5, 6})
      .expect<float>({3}, {6, 0, 5});

  t.add("ScatterND", "elements")
      .input<float>({4}, {1, 2, 3, 4})
      .input<int64_t>({2, 1}, {3, -4})
      .input<float>({2}, {9, 8})
      .expect<float>({4}, {8, 2, 3, 9});
  t.add("ScatterND", "rows_added")
      .input<int64_t>({2, 2}, {1, 2, 3, 4})
      .input<int64_t>({2, 1}, {1, 1})
      .input<int64_t>({2, 2}, {10, 20, 100, 200})
      .attribute("reduction", std::string("add"))
      .expect<int64_t>({2, 2}, {1, 2, 113, 224});
  t.add("ScatterND", "strings")
      .input<std::string>({2}, {"a", "b"})
      .input<int64_t>({1, 1}, {0})
      .input<std::string>({1}, {"c"})
      .expect<std::string>({2}, {"c", "b"});

  t.add("TensorScatter", "linear")
      .input<float>({2, 3, 1}, {0, 0, 0, 0, 0, 0})
      .input<float>({2, 1, 1}, {1, 2})
      .input<int64_t>({2}, {1, 2})
      .expect<float>({2, 3, 1}, {0, 1, 0, 0, 0, 2});
  t.add("TensorScatter", "circular")
      .input<float>({1, 3, 1}, {0, 0, 0})
      .input<float>({1, 2, 1}, {1, 2})
      .input<int64_t>({1}, {5})
      .attribute("mode", std::string("circular"))
      .expect<float>({1, 3, 1}, {2, 0, 1});
  t.add("TensorScatter", "circular_whole")
      .input<int32_t>({2, 3, 2}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
      .input<int32_t>({2, 3, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
      .input<int64_t>({2}, {1, 0})
      .attribute("mode", std::string("circular"))
      .expect<int32_t>({2, 3, 2}, {5, 6, 1, 2, 3, 4, 7, 8, 9, 10, 11, 12});
  t.add("TensorScatter", "heads")
      .input<float>({2, 2, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12})
      .input<float>({2, 2, 2, 1}, {-1, -2, -3, -4, -5, -6, -7, -8})
      .input<int64_t>({2}, {1, 0})
      .expect<float>({2, 2, 3, 1}, {1, -1, -2, 4, -3, -4, -5, -6, 9, -7, -8, 12});
  t.add("TensorScatter", "along_the_last_axis")
      .input<int8_t>({1, 3, 2}, {1, 2, 3, 4, 5, 6})
      .input<int8_t>({1, 3, 1}, {-1, -2, -3})
      .input<int64_t>({1}, {1})
      .attribute("axis", int64_t{-1})
      .expect<int8_t>({1, 3, 2}, {1, -1, 3, -2, 5, -3});
  t.add("TensorScatter", "nothing_new")
      .input<float>({1, 2, 1}, {1, 2})
      .input<float>({1, 0, 1}, {})
      .expect<float>({1, 2, 1}, {1, 2});
  t.add("ScatterElements", "middle axis, none")
      .input<int16_t>({2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})
      .input<int64_t>({2, 2, 4}, {2, 0, -1, 1, 2, 2, 0, 1, 0, 0, 0, -3, 1, -1, 0, 2})
      .input<int16_t>({2, 2, 4}, {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1})
      .attribute("axis", int64_t{1})
      .attribute("reduction", std::string("none"))
      .expect<int16_t>({2, 3, 4},
                       {0, 2, 4, 3, 4, 5, 6, 0, 1, -3, -2, 11, -4, 3, 5, -5, 2, 17, 18, 19, 20, -2, 22, 1});
  t.add("ScatterElements", "middle axis, add")
      .input<int16_t>({2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})
      .input<int64_t>({2, 2, 4}, {2, 0, -1, 1, 2, 2, 0, 1, 0, 0, 0, -3, 1, -1, 0, 2})
      .input<int16_t>({2, 2, 4}, {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1})
      .attribute("axis", int64_t{1})
      .attribute("reduction", std::string("add"))
      .expect<int16_t>({2, 3, 4},
                       {0, 3, 6, 3, 4, 5, 6, 12, 4, 6, 8, 11, 8, 16, 18, 10, 18, 17, 18, 19, 20, 19, 22, 24});
  t.add("ScatterElements", "middle axis, mul")
      .input<int16_t>({2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})
      .input<int64_t>({2, 2, 4}, {2, 0, -1, 1, 2, 2, 0, 1, 0, 0, 0, -3, 1, -1, 0, 2})
      .input<int16_t>({2, 2, 4}, {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1})
      .attribute("axis", int64_t{1})
      .attribute("reduction", std::string("mul"))
      .expect<int16_t>({2, 3, 4}, {0,   2,  8,   3,   4,  5,  6,  0,  -40, -27, -20, 11,
                                   -48, 39, -70, -75, 32, 17, 18, 19, 20,  -42, 22,  23});
  t.add("ScatterElements", "middle axis, min")
      .input<int16_t>({2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})
      .input<int64_t>({2, 2, 4}, {2, 0, -1, 1, 2, 2, 0, 1, 0, 0, 0, -3, 1, -1, 0, 2})
      .input<int16_t>({2, 2, 4}, {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1})
      .attribute("axis", int64_t{1})
      .attribute("reduction", std::string("min"))
      .expect<int16_t>({2, 3, 4},
                       {0, 1, 2, 3, 4, 5, 6, 0, -5, -3, -2, 11, -4, 3, -1, -5, 2, 17, 18, 19, 20, -2, 22, 1});
  t.add("ScatterElements", "middle axis, max")
      .input<int16_t>({2, 3, 4},
                      {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23})
      .input<int64_t>({2, 2, 4}, {2, 0, -1, 1, 2, 2, 0, 1, 0, 0, 0, -3, 1, -1, 0, 2})
      .input<int16_t>({2, 2, 4}, {-5, 2, -2, 5, 1, -3, 4, 0, -4, 3, -1, -5, 2, -2, 5, 1})
      .attribute("axis", int64_t{1})
      .attribute("reduction", std::string("max"))
      .expect<int16_t>(
          {2, 3, 4}, {0, 2, 4, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  t.add("ScatterND", "rows, mul")
      .input<float>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .input<int64_t>({3, 1}, {1, 3, 1})
      .input<float>({3, 2}, {2, -3, 4, 5, -6, 7})
      .attribute("reduction", std::string("mul"))
      .expect<float>({4, 2}, {0, 1, -24, -63, 4, 5, 24, 35});
  t.add("ScatterND", "rows, min")
      .input<float>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .input<int64_t>({3, 1}, {1, 3, 1})
      .input<float>({3, 2}, {2, -3, 4, 5, -6, 7})
      .attribute("reduction", std::string("min"))
      .expect<float>({4, 2}, {0, 1, -6, -3, 4, 5, 4, 5});
  t.add("ScatterND", "rows, max")
      .input<float>({4, 2}, {0, 1, 2, 3, 4, 5, 6, 7})
      .input<int64_t>({3, 1}, {1, 3, 1})
      .input<float>({3, 2}, {2, -3, 4, 5, -6, 7})
      .attribute("reduction", std::string("max"))
      .expect<float>({4, 2}, {0, 1, 2, 7, 4, 5, 6, 7});
}

}  // namespace lathe
