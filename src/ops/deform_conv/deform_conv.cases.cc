#include "ops/cases.h"

namespace lathe {

void cases_deform_conv(CaseTable& t) {
  t.add("DeformConv", "offsets")
      .input<float>({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8})
      .input<float>({1, 1, 2, 2}, {1, 1, 1, 1})
      .input<float>({1, 8, 2, 2}, {0.5f, 0.5f, 0.5f, 0.5f, 0, 0,      0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                   0,    0,    0,    0,    0, -0.25f, 0, 0, 0, 0, 0, 0, 5, 5, 5, 5})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("pads", std::vector<int64_t>{0, 0, 0, 0})
      .expect<float>({1, 1, 2, 2}, {5.5f, 8.25f, 14.5f, 17.5f});
  t.add("DeformConv", "mask and bias")
      .input<float>({1, 1, 3, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8})
      .input<float>({1, 1, 2, 2}, {1, 1, 1, 1})
      .input<float>({1, 8, 2, 2}, {0.5f, 0.5f, 0.5f, 0.5f, 0, 0,      0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                                   0,    0,    0,    0,    0, -0.25f, 0, 0, 0, 0, 0, 0, 5, 5, 5, 5})
      .input<float>({1}, {1})
      .input<float>({1, 4, 2, 2}, {1, 1, 1, 1, 0.5f, 0.5f, 0.5f, 0.5f, 1, 1, 1, 1, 1, 1, 1, 1})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("pads", std::vector<int64_t>{0, 0, 0, 0})
      .expect<float>({1, 1, 2, 2}, {6, 8.25f, 13.5f, 16});
  t.add("DeformConv", "offset groups")
      .input<float>({1, 2, 3, 3}, {2, 3, 3, -3, -2, 3, 0, 2, -1, -3, 1, -1, 2, -2, 0, 2, -2, 1})
      .input<float>({2, 2, 2, 2}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3, 3, -3, 2, -1, -1, 0})
      .input<float>(
          {1, 16, 2, 2},
          {1,      -0.25f, 1,     1,     -1,     0.25f,  -0.25f, 0.25f,  0.75f, 0.5f,   -1,     0,     0.75f,
           1,      -0.75f, 0.5f,  -0.5f, -0.5f,  -0.75f, -0.25f, 0.25f,  1,     -0.75f, 1,      0.75f, 1,
           -0.75f, -1,     0.25f, 0,     -0.75f, 0.25f,  0,      0.75f,  0.5f,  -1,     -1,     -0.5f, 0,
           0.25f,  1,      1,     0.75f, 0.25f,  -0.75f, -0.75f, -0.75f, 0.25f, 0.25f,  0.75f,  0,     -0.25f,
           -1,     -1,     -1,    -1,    -0.5f,  -0.5f,  0.75f,  -1,     0.25f, -1,     -0.75f, 0})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("offset_group", int64_t{2})
      .attribute("pads", std::vector<int64_t>{0, 0, 0, 0})
      .expect<float>({1, 2, 2, 2}, {-3.5625f, 1.5f, -3.125f, -4.5625f, -10.1875f, 8.75f, 0.375f, -13.6875f});
  t.add("DeformConv", "groups")
      .input<float>({1, 2, 3, 3}, {2, 3, 3, -3, -2, 3, 0, 2, -1, -3, 1, -1, 2, -2, 0, 2, -2, 1})
      .input<float>({2, 1, 2, 2}, {-1, 0, -3, 2, 3, -2, 3, -1})
      .input<float>({1, 8, 2, 2},
                    {1,      -0.25f, 1,     1,      -1,     0.25f, -0.25f, 0.25f,  0.75f,  0.5f,  -1,
                     0,      0.75f,  1,     -0.75f, 0.5f,   -0.5f, -0.5f,  -0.75f, -0.25f, 0.25f, 1,
                     -0.75f, 1,      0.75f, 1,      -0.75f, -1,    0.25f,  0,      -0.75f, 0.25f})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("group", int64_t{2})
      .attribute("pads", std::vector<int64_t>{0, 0, 0, 0})
      .expect<float>({1, 2, 2, 2}, {2.25f, -13.25f, -2.1875f, 3.25f, 0.8125f, -1.375f, 9, -1.5f});
  t.add("DeformConv", "without offsets is a convolution in 3-d")
      .random(DataType::float32, {1, 2, 3, 3, 3})
      .random(DataType::float32, {2, 2, 2, 2, 2})
      .input(Value([] {
        Tensor zero(DataType::float32, {1, 24, 2, 2, 2});
        std::fill(zero.as<float>().begin(), zero.as<float>().end(), 0.f);
        return zero;
      }()));
  t.add("DeformConv", "stage")
      .random(DataType::float32, {1, 8, 14, 14})
      .random(DataType::float32, {8, 8, 3, 3})
      .random(DataType::float32, {1, 18, 14, 14})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
  // Offsets that lead far outside, a mask, strips with a rest, channels that are no whole blocks.
  t.add("DeformConv", "turned, groups of both kinds")
      .random(DataType::float32, {2, 40, 15, 13})
      .random(DataType::float32, {6, 20, 3, 2})
      .as_constant()
      .random(DataType::float32, {2, 24, 7, 13}, -9, 9)
      .random(DataType::float32, {6})
      .random(DataType::float32, {2, 12, 7, 13})
      .attribute("dilations", std::vector<int64_t>{2, 1})
      .attribute("group", int64_t{2})
      .attribute("offset_group", int64_t{2})
      .attribute("pads", std::vector<int64_t>{2, 0, 1, 1})
      .attribute("strides", std::vector<int64_t>{2, 1});
  t.add("DeformConv", "along one axis")
      .random(DataType::float32, {1, 5, 300})
      .random(DataType::float32, {3, 5, 4})
      .as_constant()
      .random(DataType::float32, {1, 4, 297}, -2, 2);
  t.add("DeformConv", "offsets that are no numbers")
      .input<float>({1, 1, 2, 2}, {1, 2, 3, 4})
      .input<float>({1, 1, 1, 1}, {1})
      .input<float>({1, 2, 2, 2}, {NAN, INFINITY, 0, -0.5f, 0, 0, -INFINITY, 0.25f})
      .expect<float>({1, 1, 2, 2}, {0, 0, 0, 2.25f});
  t.add("DeformConv", "only padding")
      .input<float>({1, 2, 0, 3}, {})
      .random(DataType::float32, {2, 2, 1, 1})
      .random(DataType::float32, {1, 2, 2, 3})
      .random(DataType::float32, {2})
      .attribute("pads", std::vector<int64_t>{1, 0, 1, 0});
}

}  // namespace lathe
