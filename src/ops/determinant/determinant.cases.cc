#include "ops/cases.h"

namespace lathe {

void cases_determinant(CaseTable& t) {
  t.add("Det", "of 1 rows").input<float>({2, 1, 1}, {1.01f, -1.9f}).expect<float>({2}, {1.01f, -1.9f});
  t.add("Det", "of 2 rows")
      .input<float>({2, 2, 2}, {-0.51f, -1.88f, -1.51f, 1.87f, 0.63f, -0.29f, 0.09f, 1.49f})
      .expect<float>({2}, {-3.7925f, 0.9648f});
  t.add("Det", "of 3 rows")
      .input<float>({2, 3, 3}, {-0.62f, 0.36f, 0.73f, -0.58f, 0.08f, 1.06f, 1.64f, -1.4f, 1.73f, -1.98f,
                                1.01f, 1.24f, -1.45f, -0.32f, 1.26f, -1.94f, 0.51f, 1.17f})
      .expect<float>({2}, {0.47814405f, -0.42849115f});
  t.add("Det", "of 4 rows")
      .input<float>({2, 4, 4},
                    {0.05f, 0.9f,   -1.09f, -1.21f, -0.55f, -1.28f, -0.62f, 1.79f, 0.29f,  -0.64f, -0.91f,
                     1.81f, -0.22f, 1.92f,  0.06f,  0.08f,  1.59f,  0.97f,  0.32f, -0.29f, 1.51f,  -0.35f,
                     1.69f, -1.73f, -0.28f, 0.08f,  1.8f,   -1,     1.22f,  0.71f, 0.87f,  0.52f})
      .expect<float>({2}, {-5.2212963f, -4.953045f});
  t.add("Det", "no rows").input<float>({2, 0, 0}, {}).expect<float>({2}, {1, 1});
  t.add("Det", "singular").input<float>({2, 2}, {1, 2, 2, 4}).expect<float>({}, {0});
  t.add("Det", "a zero on the diagonal").input<float>({2, 2}, {0, 2, 3, 4}).expect<float>({}, {-6});
}

}  // namespace lathe
