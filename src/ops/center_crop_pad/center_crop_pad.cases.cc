#include "ops/cases.h"

namespace lathe {

void cases_center_crop_pad(CaseTable& t) {
  t.add("CenterCropPad", "one cut, one filled up")
      .input<float>({3, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
      .input<int64_t>({2}, {4, 2})
      .as_constant()
      .expect<float>({4, 2}, {1, 2, 6, 7, 11, 12, 0, 0});
  t.add("CenterCropPad", "an axis from the end, of an odd difference")
      .input<float>({3, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
      .input<int64_t>({1}, {8})
      .as_constant()
      .attribute("axes", std::vector<int64_t>{-1})
      .expect<float>({3, 8}, {0, 0, 1, 2, 3, 4, 0, 0, 0, 5, 6, 7, 8, 9, 0, 0, 0, 10, 11, 12, 13, 14, 0, 0});
  t.add("CenterCropPad", "words")
      .input<std::string>({2}, {"a", "b"})
      .input<int64_t>({1}, {4})
      .as_constant()
      .expect<std::string>({4}, {"", "a", "b", ""});
  t.add("CenterCropPad", "to nothing")
      .input<float>({3, 5}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14})
      .input<int64_t>({2}, {0, 5})
      .as_constant()
      .expect<float>({0, 5}, {});
}

}  // namespace lathe
