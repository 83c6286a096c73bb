#include "ops/cases.h"

namespace lathe {

void cases_conv(CaseTable& t) {
  t.add("Conv", "1-d")
      .input<float>({1, 2, 6}, {0, 3, -3, -2, 3, -3, 2, 1, 0, -1, -2, 0})
      .input<float>({3, 2, 3}, {-2, 3, -2, 2, -2, 0, 1, 2, 1, -2, -3, -3, 3, -3, -1, 3, -1, 1})
      .expect<float>({1, 3, 4}, {17, -9, -4, 21, -4, -4, 5, 9, -1, 22, -7, -13});
  t.add("Conv", "2-d with bias and padding")
      .input<float>({1, 2, 4, 5}, {0, 1, 0,  1,  2,  3,  -1, 0,  0, -1, 2,  -3, 2,  3, -3, -3, 0,  -1, 1, -3,
                                   3, 1, -1, -2, -3, -1, 0,  -3, 1, -2, -1, 0,  -1, 0, 1,  0,  -1, -2, 0, -1})
      .input<float>({2, 2, 3, 3}, {0, -3, -3, -3, -3, 2, -3, -2, 2, -2, -1, -1, -2, 3, -1, -2, 1, 3,
                                   3, 0,  0,  -1, -3, 2, 0,  1,  2, 0,  -1, 3,  1,  3, 2,  -1, 0, -3})
      .input<float>({2}, {-3, 2})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .expect<float>({1, 2, 4, 5},
                     {-2, -22, -4, -4, -19, -35, -10, -2, -9,  -9, -20, 15, 9, -17, 5,  11, 9,  -16, -3, 8,
                      16, 12,  -6, -3, -18, -16, -4,  2,  -16, 3,  -12, 14, 7, -21, 10, 10, -1, -8,  -1, 15});
  t.add("Conv", "uneven padding and strides")
      .input<float>({1, 1, 5, 6}, {3,  0, 1, 3,  -1, 1, 1, 3,  -2, -1, 3,  -1, -1, 1, 0,
                                   -1, 2, 1, -2, 0,  2, 2, -2, 0,  1,  -3, 0,  -2, 2, 1})
      .input<float>({1, 1, 3, 2}, {0, -1, 1, -1, -2, 1})
      .attribute("pads", std::vector<int64_t>{0, 1, 2, 0})
      .attribute("strides", std::vector<int64_t>{2, 3})
      .expect<float>({1, 1, 3, 2}, {-5, -5, 4, -1, -1, 2});
  t.add("Conv", "dilated")
      .input<float>({1, 1, 7, 7},
                    {2, 1, 0, 2, 3,  1, -3, 2, -1, 0, 0, -1, 0, 0,  -2, 0, -2, 2,  -2, -3, 0, -3, 3, 3, -1,
                     2, 2, 3, 1, -2, 1, 3,  1, -1, 2, 0, 3,  1, -1, -3, 0, -2, -1, 2,  -1, 3, -2, 3, 2})
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("dilations", std::vector<int64_t>{2, 3})
      .expect<float>({1, 1, 3, 1}, {10, -2, -9});
  t.add("Conv", "groups")
      .input<float>({1, 4, 3, 3}, {2,  2,  2, 2, 1, 1, -1, 2, 0, -2, 3, 0, -2, -2, -2, 2, 2, 0,
                                   -1, -1, 1, 1, 3, 1, -3, 3, 3, 0,  3, 2, -3, 3,  0,  1, 2, -1})
      .input<float>({4, 2, 2, 2}, {2,  1,  1, -3, 1,  3,  3,  0, 1, -3, 1,  2, -1, 3,  1, 2,
                                   -3, -1, 2, -1, -2, -3, -3, 2, 0, 1,  -1, 2, -1, -2, 3, -2})
      .attribute("group", int64_t{2})
      .expect<float>({1, 4, 2, 2}, {6, 1, -4, 3, 5, -10, 4, -2, 9, -14, -17, -21, -17, 2, 8, 9});
  t.add("Conv", "depthwise")
      .input<float>({1, 3, 4, 4}, {-2, 1,  -2, 1, -3, -2, -3, 0,  0, -3, -3, -2, 3,  1,  3,  0,
                                   -3, -3, -2, 1, 2,  -1, 2,  0,  0, 0,  -2, 2,  0,  -3, 2,  -3,
                                   3,  -3, 2,  3, 1,  1,  -2, -2, 3, -1, -2, 3,  -3, -1, -1, -1})
      .input<float>({3, 1, 3, 3}, {2, 3, 3,  -3, -2, 3,  0, 2, -1, -3, 1, -1, 2, -2,
                                   0, 2, -2, 1,  3,  -3, 2, 3, -1, 3,  3, 0,  -3})
      .attribute("group", int64_t{3})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 3, 2, 2}, {3, -2, -19, 2, 1, -8, 0, -4, -15, 7, -4, 13});
  t.add("Conv", "same upper")
      .input<float>({1, 1, 4, 5}, {-2, 1, -2, 1, -3, -2, -3, 0, 0, -3, -3, -2, 3, 1, 3, 0, -3, -3, -2, 1})
      .input<float>({1, 1, 2, 3}, {-2, -3, 1, -3, -3, -3})
      .attribute("auto_pad", std::string("SAME_UPPER"))
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 2, 3}, {22, 14, 16, 16, 20, -8});
  t.add("Conv", "same lower")
      .input<float>({1, 1, 4, 5}, {-2, 1, -2, 1, -3, -2, -3, 0, 0, -3, -3, -2, 3, 1, 3, 0, -3, -3, -2, 1})
      .input<float>({1, 1, 2, 3}, {-2, -3, 1, -3, -3, -3})
      .attribute("auto_pad", std::string("SAME_LOWER"))
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 2, 3}, {22, 14, 16, 16, 20, -8});
  t.add("Conv", "valid")
      .input<float>({1, 1, 5, 5},
                    {-2, 0, 2, 0, 1, 1, -1, -2, -2, 1, -3, 3, -1, -2, 2, 2, 1, 0, -2, -1, 2, 2, 2, -2, -3})
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("auto_pad", std::string("VALID"))
      .attribute("strides", std::vector<int64_t>{2, 1})
      .expect<float>({1, 1, 2, 3}, {-4, 11, 2, 4, 5, 0});
  t.add("Conv", "3-d")
      .input<float>({1, 1, 3, 3, 3}, {-2, -2, -2, -3, 1, 3,  0, 0,  -3, 1, 0, 0, 2, 3,
                                      2,  1,  1,  -3, 3, -2, 1, -2, -3, 3, 1, 1, 1})
      .input<float>({1, 1, 2, 2, 2}, {0, -3, -3, -3, -3, 2, -3, -2})
      .attribute("pads", std::vector<int64_t>{0, 0, 1, 0, 0, 1})
      .expect<float>({1, 1, 2, 2, 4}, {13, -3, -19, -15, 11, -8, -2, 12, 1, -16, -4, -18, -15, -20, 10, -3});
  t.add("Conv", "padding beyond the kernel")
      .input<float>({1, 1, 2, 2}, {-2, 3, 3, -2})
      .input<float>({1, 1, 2, 2}, {-2, 3, 3, -2})
      .attribute("pads", std::vector<int64_t>{3, 3, 3, 3})
      .expect<float>({1, 1, 7, 7},
                     {0,   0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0, 0, 0, 0, 0, 4, -12, 9, 0, 0, 0, 0, -12, 26,
                      -12, 0, 0, 0, 0, 9, -12, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   0, 0, 0, 0, 0, 0});
  t.add("Conv", "no images")
      .input<float>({0, 1, 3, 3}, {})
      .input<float>({2, 1, 2, 2}, {-1, 0, -3, 2, 3, -2, 3, -1})
      .expect<float>({0, 2, 2, 2}, {});
  t.add("Conv", "opset 1")
      .input<float>({2, 1, 3, 3}, {1, 3, -1, 2, 3, 1, -1, 2, -3, 1, 1, -2, 2, 1, 2, -2, 0, -3})
      .input<float>({1, 1, 1, 1}, {-2})
      .input<float>({1}, {2})
      .attribute("kernel_shape", std::vector<int64_t>{1, 1})
      .expect<float>({2, 1, 3, 3}, {0, -4, 4, -2, -4, 0, 4, -2, 8, 0, 0, 6, -2, 0, -2, 6, 2, 8})
      .at_opset(1);
  t.add("Conv", "double")
      .input<double>({1, 2, 3, 3}, {2, 3, 3, -3, -2, 3, 0, 2, -1, -3, 1, -1, 2, -2, 0, 2, -2, 1})
      .input<double>({1, 2, 2, 2}, {2, 3, 2, -1, -3, 0, 1, -1})
      .expect<double>({1, 1, 2, 2}, {22, 3, -16, 13});
  t.add("Conv", "float16").random(DataType::float16, {1, 4, 6, 6}).random(DataType::float16, {3, 4, 3, 3});
  t.add("Conv", "bfloat16").random(DataType::bfloat16, {1, 4, 6, 6}).random(DataType::bfloat16, {3, 4, 3, 3});
  t.add("Conv", "resnet stem")
      .random(DataType::float32, {1, 3, 56, 56})
      .random(DataType::float32, {16, 3, 7, 7})
      .as_constant()
      .random(DataType::float32, {16})
      .as_constant()
      .attribute("pads", std::vector<int64_t>{3, 3, 3, 3})
      .attribute("strides", std::vector<int64_t>{2, 2});
  t.add("Conv", "pointwise")
      .random(DataType::float32, {2, 32, 14, 14})
      .random(DataType::float32, {48, 32, 1, 1})
      .as_constant();
  t.add("Conv", "depthwise stage")
      .random(DataType::float32, {1, 24, 28, 28})
      .random(DataType::float32, {24, 1, 3, 3})
      .as_constant()
      .attribute("group", int64_t{24})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
  t.add("Conv", "odd 1-d")
      .random(DataType::float32, {2, 5, 33})
      .random(DataType::float32, {7, 5, 5})
      .attribute("pads", std::vector<int64_t>{2, 2})
      .attribute("dilations", std::vector<int64_t>{2});
}

}  // namespace lathe
