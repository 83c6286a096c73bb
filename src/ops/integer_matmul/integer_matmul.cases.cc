#include "ops/cases.h"

namespace lathe {

void cases_integer_matmul(CaseTable& t) {
  t.add("MatMulInteger", "plain")
      .input<uint8_t>({2, 3}, {5, 11, 12, 8, 9, 11})
      .input<uint8_t>({3, 2}, {5, 11, 12, 8, 9, 11})
      .expect<int32_t>({2, 2}, {265, 275, 247, 281});
  t.add("MatMulInteger", "zero points")
      .input<uint8_t>({2, 3}, {5, 11, 12, 8, 9, 11})
      .input<int8_t>({3, 2}, {-4, 2, 3, -1, 0, 2})
      .input<uint8_t>({}, {5})
      .input<int8_t>({}, {-3})
      .expect<int32_t>({2, 2}, {57, 47, 39, 53});
  t.add("MatMulInteger", "zero points of rows and columns")
      .input<uint8_t>({2, 3}, {5, 11, 12, 8, 9, 11})
      .input<int8_t>({3, 2}, {-4, 2, 3, -1, 0, 2})
      .input<uint8_t>({2}, {3, 7})
      .input<int8_t>({2}, {1, -2})
      .expect<int32_t>({2, 2}, {-3, 52, -5, 22});
  t.add("MatMulInteger", "batches")
      .input<int8_t>({2, 1, 2, 3}, {-4, 2, 3, -1, 0, 2, -4, 6, -9, 7, -8, 3})
      .input<int8_t>({3, 2}, {-1, 6, 4, -1, 2, 9})
      .expect<int32_t>({2, 1, 2, 2}, {18, 1, 5, 12, 10, -111, -33, 77});
  t.add("MatMulInteger", "nothing to sum")
      .input<uint8_t>({2, 0}, {})
      .input<uint8_t>({0, 2}, {})
      .expect<int32_t>({2, 2}, {0, 0, 0, 0});
  t.add("MatMulInteger", "bert")
      .random(DataType::uint8, {64, 96}, 0, 255)
      .random(DataType::int8, {96, 64}, -127, 127)
      .as_constant();
  t.add("ConvInteger", "padded with the zero point")
      .input<uint8_t>({1, 1, 3, 3}, {5, 11, 12, 8, 9, 11, 5, 15, 0})
      .input<uint8_t>({1, 1, 2, 2}, {5, 11, 12, 8})
      .input<uint8_t>({}, {4})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .expect<int32_t>({1, 1, 4, 4},
                       {8, 68, 148, 96, 43, 170, 239, 124, 52, 175, 202, -13, 11, 126, 11, -20});
  t.add("ConvInteger", "zero point of each filter")
      .input<uint8_t>({1, 2, 3, 3}, {5, 11, 12, 8, 9, 11, 5, 15, 0, 16, 1, 12, 7, 13, 6, 18, 5, 18})
      .input<uint8_t>({2, 2, 2, 2}, {5, 11, 12, 8, 9, 11, 5, 15, 0, 16, 1, 12, 7, 13, 6, 18})
      .input<uint8_t>({}, {2})
      .input<uint8_t>({2}, {3, 8})
      .expect<int32_t>({1, 2, 2, 2}, {385, 350, 346, 489, 115, 64, 87, 80});
  t.add("ConvInteger", "layer")
      .random(DataType::uint8, {1, 8, 14, 14}, 0, 255)
      .random(DataType::uint8, {12, 8, 3, 3}, 0, 255)
      .as_constant()
      .random(DataType::uint8, {}, 0, 255)
      .as_constant();
  t.add("QLinearMatMul", "uint8")
      .input<uint8_t>({2, 3}, {5, 11, 12, 8, 9, 11})
      .input<float>({}, {0.25f})
      .input<uint8_t>({}, {5})
      .input<uint8_t>({3, 2}, {10, 3, 8, 0, 19, 10})
      .input<float>({}, {0.5f})
      .input<uint8_t>({}, {7})
      .input<float>({}, {0.75f})
      .input<uint8_t>({}, {100})
      .expect<uint8_t>({2, 2}, {115, 96, 114, 96});
  t.add("QLinearMatMul", "int8 saturates")
      .input<int8_t>({2, 4}, {-4, 2, 3, -1, 0, 2, -4, 6})
      .input<float>({}, {1})
      .input<int8_t>({}, {0})
      .input<int8_t>({4, 2}, {-6, 5, 6, -3, 7, 0, -1, -5})
      .input<float>({}, {1})
      .input<int8_t>({}, {0})
      .input<float>({}, {0.25f})
      .input<int8_t>({}, {-3})
      .expect<int8_t>({2, 2}, {127, -87, -91, -128});
  t.add("QLinearMatMul", "scale of each column")
      .input<uint8_t>({2, 3}, {5, 11, 12, 8, 9, 11})
      .input<float>({}, {0.25f})
      .input<uint8_t>({}, {5})
      .input<int8_t>({3, 2}, {1, -6, -1, -9, 1, 2})
      .input<float>({2}, {0.5f, 0.125f})
      .input<int8_t>({2}, {1, -1})
      .input<float>({}, {0.75f})
      .input<uint8_t>({}, {100})
      .expect<uint8_t>({2, 2}, {98, 99, 99, 99});
  t.add("QLinearMatMul", "nothing to sum, scales of rows and columns")
      .input<uint8_t>({2, 0}, {})
      .input<float>({2}, {0.25f, 0.5f})
      .input<uint8_t>({2}, {5, 6})
      .input<uint8_t>({0, 3}, {})
      .input<float>({3}, {0.5f, 0.125f, 1})
      .input<uint8_t>({3}, {1, 2, 3})
      .input<float>({}, {0.75f})
      .input<uint8_t>({}, {100})
      .expect<uint8_t>({2, 3}, {100, 100, 100, 100, 100, 100});
  t.add("QLinearMatMul", "ties go to the even neighbor before the zero point is added")
      .input<uint8_t>({3, 1}, {1, 3, 5})
      .input<float>({}, {0.5f})
      .input<uint8_t>({}, {0})
      .input<uint8_t>({1, 1}, {1})
      .input<float>({}, {1})
      .input<uint8_t>({}, {0})
      .input<float>({}, {1})
      .input<uint8_t>({}, {1})
      .expect<uint8_t>({3, 1}, {1, 3, 3});
  {
    const auto e4m3 = [](Shape shape, std::vector<uint8_t> bits) {
      Tensor x(DataType::float8e4m3fn, std::move(shape));
      std::copy(bits.begin(), bits.end(), static_cast<uint8_t*>(x.data()));
      return Value(x);
    };
    // [1 2] [1 3]' = 7, and 7 * 0.5 * 2 / 0.5 = 14
    OpCase& sum = t.add("QLinearMatMul", "float8");
    sum.input(e4m3({1, 2}, {0x38, 0x40})).input<float>({}, {0.5f}).input(e4m3({}, {0}));
    sum.input(e4m3({2, 1}, {0x38, 0x44})).input<float>({}, {2}).input(e4m3({}, {0}));
    sum.input<float>({}, {0.5f}).input(e4m3({}, {0}));
    sum.expected.push_back(e4m3({1, 1}, {0x56}));
  }
  t.add("QLinearMatMul", "layer")
      .random(DataType::uint8, {32, 48}, 0, 255)
      .input<float>({}, {0.02f})
      .input<uint8_t>({}, {128})
      .random(DataType::int8, {48, 40}, -127, 127)
      .as_constant()
      .input<float>({}, {0.01f})
      .input<int8_t>({}, {0})
      .input<float>({}, {0.05f})
      .input<uint8_t>({}, {117});
  t.add("QLinearMatMul", "many matrices, repeated")
      .random(DataType::uint8, {2, 1, 17, 70}, 0, 255)
      .input<float>({}, {0.02f})
      .input<uint8_t>({}, {128})
      .random(DataType::int8, {3, 70, 41}, -127, 127)
      .input<float>({}, {0.01f})
      .input<int8_t>({}, {-5})
      .input<float>({}, {0.05f})
      .input<int8_t>({}, {17});
  t.add("MatMulInteger", "rows of many matrices with one")
      .random(DataType::int8, {2, 3, 5, 66}, -128, 127)
      .random(DataType::uint8, {66, 33}, 0, 255)
      .input<int8_t>({}, {3})
      .input<uint8_t>({}, {99});
  t.add("QLinearConv", "uint8")
      .input<uint8_t>({1, 1, 3, 3}, {5, 11, 12, 8, 9, 11, 5, 15, 0})
      .input<float>({}, {0.25f})
      .input<uint8_t>({}, {6})
      .input<uint8_t>({1, 1, 2, 2}, {14, 5, 1, 8})
      .input<float>({}, {0.5f})
      .input<uint8_t>({}, {9})
      .input<float>({}, {0.5f})
      .input<uint8_t>({}, {30})
      .expect<uint8_t>({1, 1, 2, 2}, {19, 23, 29, 12});
  t.add("QLinearConv", "scale of each filter, bias")
      .input<uint8_t>({1, 2, 3, 3}, {5, 11, 12, 8, 9, 11, 5, 15, 0, 16, 1, 12, 7, 13, 6, 18, 5, 18})
      .input<float>({}, {0.25f})
      .input<uint8_t>({}, {6})
      .input<int8_t>({2, 2, 2, 2}, {-4, 2, 3, -1, 0, 2, -4, 6, -9, 7, -8, 3, -2, 4, -3, 9})
      .input<float>({2}, {0.5f, 0.125f})
      .input<int8_t>({2}, {0, 0})
      .input<float>({}, {0.5f})
      .input<uint8_t>({}, {30})
      .input<int32_t>({2}, {40, -50})
      .attribute("pads", std::vector<int64_t>{1, 0, 0, 1})
      .expect<uint8_t>({1, 2, 3, 3},
                       {20, 56, 38, 51, 35, 38, 26, 67, 18, 24, 30, 23, 30, 27, 20, 28, 28, 25});
  t.add("QLinearConv", "groups and strides")
      .input<uint8_t>({1, 2, 4, 4}, {5, 11, 12, 8,  9,  11, 5, 15, 0,  16, 1,  12, 7, 13, 6, 18,
                                     5, 18, 11, 10, 14, 18, 4, 9,  17, 0,  13, 9,  9, 7,  1, 0})
      .input<float>({}, {0.25f})
      .input<uint8_t>({}, {6})
      .input<int8_t>({2, 1, 3, 3}, {-4, 2, 3, -1, 0, 2, -4, 6, -9, 7, -8, 3, -2, 4, -3, 9, -4, 9})
      .input<float>({}, {0.25f})
      .input<int8_t>({}, {0})
      .input<float>({}, {0.5f})
      .input<uint8_t>({}, {30})
      .attribute("group", int64_t{2})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .expect<uint8_t>({1, 2, 2, 2}, {28, 16, 28, 14, 34, 46, 34, 44});
  t.add("QLinearConv", "layer")
      .random(DataType::uint8, {1, 8, 14, 14}, 0, 255)
      .input<float>({}, {0.02f})
      .input<uint8_t>({}, {128})
      .random(DataType::int8, {12, 8, 3, 3}, -127, 127)
      .as_constant()
      .input<float>({}, {0.01f})
      .input<int8_t>({}, {0})
      .input<float>({}, {0.05f})
      .input<uint8_t>({}, {117})
      .random(DataType::int32, {12}, -1000, 1000);
}

}  // namespace lathe
