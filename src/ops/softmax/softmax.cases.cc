#include <cmath>

#include "ops/cases.h"

namespace lathe {

void cases_softmax(CaseTable& t) {
  t.add("Softmax", "rows")
      .input<float>({2, 3}, {1, 2, 3, 0.5, 0.25, -4})
      .expect<float>({2, 3},
                     {0.0900305732, 0.244728471, 0.665240956, 0.558687377, 0.435106167, 0.00620645614});
  t.add("Softmax", "columns")
      .input<float>({2, 3}, {1, 2, 3, 0.5, 0.25, -4})
      .attribute("axis", int64_t{0})
      .expect<float>({2, 3},
                     {0.622459331, 0.851952802, 0.999088949, 0.377540669, 0.148047198, 0.000911051194});
  t.add("Softmax", "coerced to a matrix before version 13")
      .input<float>({1, 2, 3}, {1, 2, 3, 0.5, 0.25, -4})
      .at_opset(11)
      .expect<float>({1, 2, 3},
                     {0.0820144515, 0.222938393, 0.606009383, 0.0497442794, 0.0387408837, 0.000552609027});
  t.add("LogSoftmax", "rows")
      .input<float>({2, 3}, {1, 2, 3, 0.5, 0.25, -4})
      .expect<float>({2, 3},
                     {-2.40760596, -1.40760596, -0.407605964, -0.582165216, -0.832165216, -5.08216522});
  t.add("Softmax", "great numbers").input<float>({2}, {1e30f, 1e30f}).expect<float>({2}, {0.5f, 0.5f});
  t.add("Softmax", "masked").input<float>({3}, {-INFINITY, 0, 0}).expect<float>({3}, {0, 0.5f, 0.5f});
  t.add("Hardmax", "first of equals")
      .input<float>({2, 3}, {1, 3, 3, 2, 0, 1})
      .expect<float>({2, 3}, {0, 1, 0, 1, 0, 0});
  t.add("Hardmax", "first NaN")
      .input<float>({2, 4}, {1, NAN, 3, NAN, NAN, INFINITY, 0, 1})
      .expect<float>({2, 4}, {0, 1, 0, 0, 1, 0, 0, 0});
  t.add("Softmax", "empty").input<float>({0, 3}, {}).expect<float>({0, 3}, {});
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    t.add(op, "attention").random(DataType::float32, {2, 4, 33, 65}, -5, 5);
    t.add(op, "channels").random(DataType::float32, {2, 21, 7, 9}, -5, 5).attribute("axis", int64_t{1});
    t.add(op, "float16").random(DataType::float16, {3, 17}, -5, 5);
    t.add(op, "one").random(DataType::float32, {3, 1});
  }
}

}  // namespace lathe
