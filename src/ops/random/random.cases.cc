#include "ops/cases.h"

namespace lathe {

void cases_random(CaseTable& t) {
  t.add("RandomUniform", "seeded").attribute("shape", std::vector<int64_t>{2, 3}).attribute("seed", 7.0f);
  t.add("RandomNormalLike", "as double").random(DataType::float32, {4, 1}).attribute("dtype", int64_t{11});
  t.add("Bernoulli", "never and always").input<float>({4}, {0, 1, 0, 1}).expect<float>({4}, {0, 1, 0, 1});
  t.add("Multinomial", "one class is certain")
      .input<float>({1, 3}, {-1000, 0, -1000})
      .attribute("sample_size", int64_t{4})
      .expect<int32_t>({1, 4}, {1, 1, 1, 1});
}

}  // namespace lathe
