#include "ops/cases.h"

namespace lathe {

void cases_conv_transpose(CaseTable& t) {
  t.add("ConvTranspose", "1-d")
      .input<float>({1, 1, 3}, {0, 0, 3})
      .input<float>({1, 2, 3}, {0, -3, 1, 3, -2, 3})
      .expect<float>({1, 2, 5}, {0, 0, 0, -9, 3, 0, 0, 9, -6, 9});
  t.add("ConvTranspose", "2-d")
      .input<float>({1, 2, 3, 3}, {2, 3, 3, -3, -2, 3, 0, 2, -1, -3, 1, -1, 2, -2, 0, 2, -2, 1})
      .input<float>({2, 1, 3, 3}, {1, 3, -1, 2, 3, 1, -1, 2, -3, 1, 1, -2, 2, 1, 2, -2, 0, -3})
      .input<float>({1}, {2})
      .expect<float>({1, 1, 5, 5},
                     {1, 9, 18, 5, 1, -1, 2, 6, 30, 0, 6, -12, 9, -1, -2, 5, 4, 6, 16, -6, -2, 4, -1, 0, 2});
  t.add("ConvTranspose", "strides, padding and output_padding")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .input<float>({1, 2, 3, 3}, {2, 3, 3, -3, -2, 3, 0, 2, -1, -3, 1, -1, 2, -2, 0, 2, -2, 1})
      .attribute("strides", std::vector<int64_t>{3, 2})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .attribute("output_padding", std::vector<int64_t>{1, 1})
      .expect<float>(
          {1, 2, 8, 6},
          {2,  -3, 0,  9,  6,  -9, -2, 1,  0, 0,  -6, 3,  -6, -10, -6, -10, -6, -6, 4,  0,  4, 0,  4,  -6,
           -4, 2,  -4, 2,  -4, 2,  3,  3,  0, 2,  3,  3,  -2, 3,   0,  -3,  -2, 3,  2,  -1, 0, 0,  2,  -1,
           2,  0,  0,  -6, 6,  0,  2,  -1, 0, -6, 6,  -3, -2, 8,   -2, 8,   -2, 2,  4,  -4, 4, -4, 4,  0,
           4,  -6, 4,  -6, 4,  -2, 1,  -1, 0, -3, 1,  -1, -2, 0,   0,  2,   -2, 0,  -2, 1,  0, 2,  -2, 1});
  t.add("ConvTranspose", "output_shape")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("strides", std::vector<int64_t>{3, 2})
      .attribute("output_shape", std::vector<int64_t>{10, 8})
      .expect<float>({1, 1, 10, 8}, {1,  0,  3,  0, 3,  0, 9,  0, 2,  2, 2,  0, 6,  6, 6,  0, -1, 0,  -1, 0,
                                     -3, 0,  -3, 0, 2,  0, 8,  0, 8,  0, 6,  0, 4,  4, 8,  4, 8,  4,  4,  0,
                                     -2, 0,  -4, 0, -4, 0, -2, 0, -1, 0, -3, 0, -1, 0, -3, 0, -2, -2, -2, 0,
                                     -2, -2, -2, 0, 1,  0, 1,  0, 1,  0, 1,  0, 0,  0, 0,  0, 0,  0,  0,  0});
  t.add("ConvTranspose", "same upper")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("auto_pad", std::string("SAME_UPPER"))
      .expect<float>({1, 1, 6, 6}, {1, 0, 3, 0, 3, 0, 2,  2, 2,  0, 6,  6, 1,  0,  7,  0, 5,  0,
                                    4, 4, 8, 4, 8, 4, -3, 0, -7, 0, -5, 0, -2, -2, -2, 0, -2, -2});
  t.add("ConvTranspose", "same lower")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("auto_pad", std::string("SAME_LOWER"))
      .expect<float>({1, 1, 6, 6}, {2, 2,  0, 6,  6, 6,  0,  7,  0, 5,  0,  3,  4, 8, 4, 8, 4, 4,
                                    0, -7, 0, -5, 0, -5, -2, -2, 0, -2, -2, -2, 0, 1, 0, 1, 0, 1});
  t.add("ConvTranspose", "dilated")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .input<float>({1, 1, 2, 2}, {-2, 3, 3, -2})
      .attribute("dilations", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 5, 5},
                     {2, 0, 3, 0, -9, 4, 4, -2, -6, -6, -5, 0, -6, 0, 9, -6, -6, -2, 4, 4, 3, 0, 1, 0, -2});
  t.add("ConvTranspose", "groups")
      .input<float>({1, 4, 2, 2}, {0, 3, -3, -2, 3, -3, 2, 1, 0, -1, -2, 0, 3, 0, 2, 1})
      .input<float>({4, 1, 2, 2}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3, 3, -3, 2, -1, -1, 0})
      .input<float>({2}, {-3, 2})
      .attribute("group", int64_t{2})
      .expect<float>({1, 2, 3, 3}, {-9, 6, -9, -7, 12, -12, -6, 4, 2, 8, 0, 5, 5, 5, 4, -6, 7, 2});
  t.add("ConvTranspose", "3-d")
      .input<float>({1, 1, 2, 2, 2}, {0, -3, -3, -3, -3, 2, -3, -2})
      .input<float>({1, 1, 2, 2, 2}, {0, -3, -3, -3, -3, 2, -3, -2})
      .attribute("strides", std::vector<int64_t>{2, 1, 1})
      .expect<float>({1, 1, 4, 3, 3}, {0, 0, 9,  0, 18, 18, 9, 18, 9, 0, 9,   -6, 9,  12, 0,  9, 15, 6,
                                       0, 9, -6, 9, 12, 0,  9, 15, 6, 9, -12, 4,  18, 0,  -8, 9, 12, 4});
  t.add("ConvTranspose", "opset 1")
      .input<float>({1, 1, 2, 2}, {-2, 3, 3, -2})
      .input<float>({1, 1, 2, 2}, {-2, 3, 3, -2})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 4, 4}, {4, -6, -6, 9, -6, 4, 9, -6, -6, 9, 4, -6, 9, -6, -6, 4})
      .at_opset(1);
  // The products of all pixels and taps would take 2^62 numbers of 4 bytes, but there are no channels.
  t.add("ConvTranspose", "no channels, however large")
      .input<float>({1, 0, int64_t{1} << 31}, {})
      .input<float>({0, 2, int64_t{1} << 30}, {})
      .input<float>({2}, {3, -2})
      .attribute("output_shape", std::vector<int64_t>{1})
      .expect<float>({1, 2, 1}, {3, -2});
  t.add("ConvTranspose", "float16")
      .random(DataType::float16, {1, 4, 5, 5})
      .random(DataType::float16, {4, 3, 3, 3})
      .attribute("strides", std::vector<int64_t>{2, 2});
  t.add("ConvTranspose", "upsampling")
      .random(DataType::float32, {1, 16, 14, 14})
      .random(DataType::float32, {16, 8, 4, 4})
      .as_constant()
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
}

}  // namespace lathe
