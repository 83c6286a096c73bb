#include "ops/cases.h"

namespace lathe {

void cases_space(CaseTable& t) {
  // Eight channels of one row of two pixels; channel k holds 10k and 10k + 1.
  const std::vector<float> deep{0, 1, 10, 11, 20, 21, 30, 31, 40, 41, 50, 51, 60, 61, 70, 71};
  const std::vector<float> dcr{0, 20, 1, 21, 40, 60, 41, 61, 10, 30, 11, 31, 50, 70, 51, 71};
  const std::vector<float> crd{0, 10, 1, 11, 20, 30, 21, 31, 40, 50, 41, 51, 60, 70, 61, 71};
  t.add("DepthToSpace", "dcr")
      .input<float>({1, 8, 1, 2}, deep)
      .attribute("blocksize", int64_t{2})
      .expect<float>({1, 2, 2, 4}, dcr);
  t.add("DepthToSpace", "crd")
      .input<float>({1, 8, 1, 2}, deep)
      .attribute("blocksize", int64_t{2})
      .attribute("mode", std::string("CRD"))
      .expect<float>({1, 2, 2, 4}, crd);
  t.add("SpaceToDepth", "dcr")
      .input<float>({1, 2, 2, 4}, dcr)
      .attribute("blocksize", int64_t{2})
      .expect<float>({1, 8, 1, 2}, deep);
  t.add("SpaceToDepth", "crd")
      .input<float>({1, 2, 2, 4}, crd)
      .attribute("blocksize", int64_t{2})
      .attribute("mode", std::string("CRD"))
      .expect<float>({1, 8, 1, 2}, deep);
}

}  // namespace lathe
