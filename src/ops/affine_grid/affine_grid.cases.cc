#include "ops/cases.h"

namespace lathe {

void cases_affine_grid(CaseTable& t) {
  t.add("AffineGrid", "2-d, align_corners 0")
      .input<float>({1, 2, 3}, {1, 0.5f, 0.25f, -0.5f, 2, -1})
      .input<int64_t>({4}, {1, 3, 2, 3})
      .attribute("align_corners", int64_t{0})
      .expect<float>({1, 2, 3, 2}, {-0.66666669f, -1.6666666f, -1.110223e-16f, -2, 0.66666669f, -2.3333333f,
                                    -0.16666667f, 0.33333334f, 0.5f, 0, 1.1666666f, -0.33333334f});
  t.add("AffineGrid", "3-d, align_corners 0")
      .input<float>({1, 3, 4}, {1, 0.5f, 0.25f, 0, -0.5f, 2, -1, 0.5f, 0, 1, 0, 2})
      .input<int64_t>({5}, {1, 1, 2, 2, 3})
      .attribute("align_corners", int64_t{0})
      .expect<float>({1, 2, 2, 3, 3},
                     {-1.0416666f,  0.33333334f,  1.5f, -0.375f, 0,  1.5f, 0.29166666f, -0.33333334f, 1.5f,
                      -0.54166669f, 2.3333333f,   2.5f, 0.125f,  2,  2.5f, 0.79166669f, 1.6666666f,   2.5f,
                      -0.79166669f, -0.66666669f, 1.5f, -0.125f, -1, 1.5f, 0.54166669f, -1.3333334f,  1.5f,
                      -0.29166666f, 1.3333334f,   2.5f, 0.375f,  1,  2.5f, 1.0416666f,  0.66666669f,  2.5f});
  t.add("AffineGrid", "2-d, align_corners 1")
      .input<float>({1, 2, 3}, {1, 0.5f, 0.25f, -0.5f, 2, -1})
      .input<int64_t>({4}, {1, 3, 2, 3})
      .attribute("align_corners", int64_t{1})
      .expect<float>({1, 2, 3, 2},
                     {-1.25f, -2.5f, -0.25f, -3, 0.75f, -3.5f, -0.25f, 1.5f, 0.75f, 1, 1.75f, 0.5f});
  t.add("AffineGrid", "3-d, align_corners 1")
      .input<float>({1, 3, 4}, {1, 0.5f, 0.25f, 0, -0.5f, 2, -1, 0.5f, 0, 1, 0, 2})
      .input<int64_t>({5}, {1, 1, 2, 2, 3})
      .attribute("align_corners", int64_t{1})
      .expect<float>({1, 2, 2, 3, 3}, {-1.75f, 0,    1, -0.75f, -0.5f, 1, 0.25f,  -1,   1, -0.75f, 4,     3,
                                       0.25f,  3.5f, 3, 1.25f,  3,     3, -1.25f, -2,   1, -0.25f, -2.5f, 1,
                                       0.75f,  -3,   1, -0.25f, 2,     3, 0.75f,  1.5f, 3, 1.75f,  1,     3});
}

}  // namespace lathe
