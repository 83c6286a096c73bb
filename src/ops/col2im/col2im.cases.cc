#include "ops/cases.h"

namespace lathe {

void cases_col2im(CaseTable& t) {
  // One row of three pixels, blocks of two that overlap in the middle.
  t.add("Col2Im", "overlap")
      .input<float>({1, 2, 2}, {1, 2, 3, 4})
      .input<int64_t>({2}, {1, 3})
      .input<int64_t>({2}, {1, 2})
      .expect<float>({1, 1, 1, 3}, {1, 5, 4});
  t.add("Col2Im", "stride")
      .input<int32_t>({1, 2, 2}, {1, 2, 3, 4})
      .input<int64_t>({2}, {1, 4})
      .input<int64_t>({2}, {1, 2})
      .attribute("strides", std::vector<int64_t>{1, 2})
      .expect<int32_t>({1, 1, 1, 4}, {1, 3, 2, 4});
  t.add("Col2Im", "padding")
      .input<float>({1, 2, 2}, {1, 2, 3, 4})
      .input<int64_t>({2}, {1, 1})
      .input<int64_t>({2}, {1, 2})
      .attribute("pads", std::vector<int64_t>{0, 1, 0, 1})
      .expect<float>({1, 1, 1, 1}, {5});
  t.add("Col2Im", "bools")
      .input<bool>({1, 2, 2}, {true, true, true, false})
      .input<int64_t>({2}, {1, 3})
      .input<int64_t>({2}, {1, 2})
      .expect<bool>({1, 1, 1, 3}, {true, true, false});
  t.add("Col2Im", "three axes, strides, dilations, long rows")
      .random(DataType::float32, {2, 3 * 2 * 3 * 4, 3 * 3 * 523})
      .input<int64_t>({3}, {4, 7, 1047})
      .input<int64_t>({3}, {2, 3, 4})
      .attribute("dilations", std::vector<int64_t>{1, 2, 3})
      .attribute("pads", std::vector<int64_t>{0, 1, 4, 0, 3, 3})
      .attribute("strides", std::vector<int64_t>{1, 3, 2});
  for (const DataType type : {DataType::float16, DataType::float64, DataType::uint8})
    t.add("Col2Im", "windows of " + std::string(name_of(type)))
        .random(type, {1, 5 * 9, 12 * 10}, 0, 100)
        .input<int64_t>({2}, {12, 10})
        .input<int64_t>({2}, {3, 3})
        .attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
}

}  // namespace lathe
