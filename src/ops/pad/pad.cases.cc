#include <cstdint>

#include "ops/cases.h"

namespace lathe {

void cases_pad(CaseTable& t) {
  const auto padded = [&](const char* name, const char* mode, std::vector<int64_t> pads,
                          std::vector<float> expected) {
    const auto size = static_cast<int64_t>(expected.size());
    t.add("Pad", name)
        .input<float>({3}, {1, 2, 3})
        .input<int64_t>({2}, pads)
        .attribute("mode", std::string(mode))
        .expect<float>({size}, expected);
  };
  padded("constant", "constant", {1, 2}, {0, 1, 2, 3, 0, 0});
  padded("edge", "edge", {2, 1}, {1, 1, 1, 2, 3, 3});
  padded("reflect", "reflect", {2, 2}, {3, 2, 1, 2, 3, 2, 1});
  padded("wrap", "wrap", {2, 4}, {2, 3, 1, 2, 3, 1, 2, 3, 1});
  padded("crop", "constant", {-1, -1}, {2});
  padded("crop_and_grow", "constant", {-2, 1}, {3, 0});
  padded("reflect_more_than_there_is", "reflect", {5, 0}, {2, 1, 2, 3, 2, 1, 2, 3});
  padded("none", "edge", {0, 0}, {1, 2, 3});
  t.add("Pad", "matrix_value")
      .input<int32_t>({2, 2}, {1, 2, 3, 4})
      .input<int64_t>({4}, {0, 1, 1, 0})
      .input<int32_t>({}, {9})
      .expect<int32_t>({3, 3}, {9, 1, 2, 9, 3, 4, 9, 9, 9});
  t.add("Pad", "axes")
      .input<float>({2, 1}, {1, 2})
      .input<int64_t>({2}, {1, 0})
      .absent()
      .input<int64_t>({1}, {-1})
      .expect<float>({2, 2}, {0, 1, 0, 2});
  t.add("Pad", "cut_beyond_all_sizes")
      .input<float>({2}, {1, 2})
      .input<int64_t>({2}, {INT64_MIN, INT64_MAX})
      .expect<float>({1}, {0});
  padded("input_behind_the_output", "constant", {5, -7}, {0});
  padded("input_before_the_output", "constant", {-7, 6}, {0, 0});
  t.add("Pad", "image_behind_the_output")
      .input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
      .input<int64_t>({4}, {0, 4, 0, -5})
      .input<float>({}, {7})
      .expect<float>({2, 2}, {7, 7, 7, 7});
  t.add("Pad", "opset_2")
      .at_opset(2)
      .input<float>({2}, {1, 2})
      .attribute("pads", std::vector<int64_t>{1, 1})
      .attribute("value", 7.0f)
      .expect<float>({4}, {7, 1, 2, 7});
  t.add("Pad", "image")
      .random(DataType::float32, {1, 16, 30, 31})
      .input<int64_t>({8}, {0, 0, 1, 1, 0, 0, 2, 2})
      .attribute("mode", std::string("reflect"));
}

}  // namespace lathe
