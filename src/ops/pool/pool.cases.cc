#include <cmath>

#include "ops/cases.h"

namespace lathe {
namespace {

using Ints = std::vector<int64_t>;

/// Windows over volumes, and the positions of their maxima.
void volumes(CaseTable& t) {
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    const auto add = [&](const char* name, const Shape& x, const Ints& kernel) -> OpCase& {
      return t.add(op, name).random(DataType::float32, x).attribute("kernel_shape", kernel);
    };
    add("volumes cut in eight", {2, 3, 4, 6, 34}, {2, 2, 2}).attribute("strides", Ints{2, 2, 2});
    add("padded volumes", {1, 2, 5, 7, 9}, {3, 3, 3})
        .attribute("strides", Ints{1, 2, 1})
        .attribute("pads", Ints{1, 1, 1, 1, 1, 1});
    add("dilated volumes", {1, 2, 9, 8, 20}, {3, 1, 2})
        .attribute("dilations", Ints{2, 1, 3})
        .attribute("strides", Ints{3, 1, 2});
    add("volumes, ceil mode", {1, 2, 6, 7, 8}, {2, 3, 3})
        .attribute("strides", Ints{4, 2, 3})
        .attribute("pads", Ints{0, 1, 1, 1, 0, 1})
        .attribute("ceil_mode", int64_t{1});
    add("slices in the padding", {1, 1, 1, 3, 3}, {2, 2, 2})
        .attribute("dilations", Ints{4, 1, 1})
        .attribute("pads", Ints{2, 0, 0, 4, 0, 0});
    add("volumes, same lower", {1, 1, 5, 4, 7}, {2, 2, 3})
        .attribute("strides", Ints{2, 1, 2})
        .attribute("auto_pad", std::string("SAME_LOWER"));
    add("a whole volume", {2, 3, 2, 7, 7}, {2, 7, 7});
    if (op != std::string("LpPool"))
      add("volumes of wide rows", {1, 1, 2, 2, 40001}, {2, 2, 3}).attribute("strides", Ints{1, 1, 2});
    add("no volumes", {0, 2, 4, 4, 4}, {2, 2, 2});
  }
  t.add("AveragePool", "volumes, padding counted")
      .random(DataType::float32, {1, 2, 5, 6, 7})
      .attribute("kernel_shape", Ints{3, 3, 3})
      .attribute("strides", Ints{2, 2, 2})
      .attribute("pads", Ints{1, 1, 1, 1, 1, 1})
      .attribute("ceil_mode", int64_t{1})
      .attribute("count_include_pad", int64_t{1});
  t.add("LpPool", "volumes, 1-norm")
      .random(DataType::float32, {1, 2, 4, 5, 6})
      .attribute("kernel_shape", Ints{2, 3, 2})
      .attribute("p", int64_t{1});
  t.add("MaxPool", "no number in a volume")
      .input<float>({1, 1, 2, 2, 2}, {1, -INFINITY, NAN, -INFINITY, 2, -INFINITY, 3, -INFINITY})
      .attribute("kernel_shape", Ints{2, 2, 1})
      .expect<float>({1, 1, 1, 1, 2}, {NAN, -INFINITY});
}

void positions(CaseTable& t) {
  for (DataType type : {DataType::float32, DataType::float64, DataType::int8, DataType::uint8})
    for (int64_t column_major : {0, 1}) {
      const auto add = [&](const std::string& name, const Shape& x, const Ints& kernel) -> OpCase& {
        OpCase& c = t.add("MaxPool", name + " of " + std::string(name_of(type)));
        c.random(type, x, type == DataType::uint8 ? 0 : -8, 9).attribute("kernel_shape", kernel);
        return c.attribute("storage_order", column_major).outputs_wanted(2);
      };
      add("positions in rows", {2, 3, 300}, {3}).attribute("strides", Ints{2}).attribute("pads", Ints{1, 1});
      add("positions in planes", {1, 3, 9, 33}, {3, 3})
          .attribute("strides", Ints{2, 2})
          .attribute("pads", Ints{1, 1, 1, 1})
          .attribute("ceil_mode", int64_t{1});
      add("dilated positions", {1, 2, 11, 40}, {2, 3}).attribute("dilations", Ints{5, 3});
      add("positions three apart", {1, 2, 8, 40}, {1, 4}).attribute("strides", Ints{2, 3});
      add("positions in volumes", {2, 2, 5, 6, 7}, {2, 3, 2})
          .attribute("strides", Ints{2, 1, 2})
          .attribute("pads", Ints{1, 1, 0, 1, 1, 1});
      add("positions in the padding alone", {1, 1, 3}, {2})
          .attribute("dilations", Ints{5})
          .attribute("pads", Ints{3, 3});
      add("positions, same upper", {1, 2, 5, 7}, {3, 2})
          .attribute("strides", Ints{2, 3})
          .attribute("auto_pad", std::string("SAME_UPPER"));
      add("positions of nothing", {1, 0, 4, 4}, {2, 2});
    }
  t.add("MaxPool", "positions of what compares oddly")
      .input<float>({1, 1, 8}, {NAN, NAN, -INFINITY, -INFINITY, -0.0f, 0.0f, 1, NAN})
      .attribute("kernel_shape", Ints{2})
      .expect<float>({1, 1, 7}, {NAN, NAN, -INFINITY, -0.0f, -0.0f, 1, NAN})
      .expect<int64_t>({1, 1, 7}, {1, 1, 2, 4, 4, 6, 7});
  for (DataType type : {DataType::int8, DataType::uint8})
    t.add("MaxPool", "a wide window of " + std::string(name_of(type)))
        .random(type, {2, 2, 40, 50}, type == DataType::uint8 ? 0 : -128, 128)
        .attribute("kernel_shape", Ints{35, 40})
        .attribute("pads", Ints{3, 2, 1, 0});
}

}  // namespace

void cases_pool(CaseTable& t) {
  volumes(t);
  positions(t);
  t.add("MaxPool", "2-d with indices")
      .input<float>({1, 2, 4, 4}, {1, -3, -1, -1, -2, -2, 0,  3,  2,  0, 3, 1,  -1, 2,  0,  -2,
                                   2, 1,  -1, 1,  0,  3,  -3, -3, -1, 3, 3, -3, 1,  -3, -3, 0})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 2, 2, 2}, {1, 3, 2, 3, 3, 1, 3, 3})
      .expect<int64_t>({1, 2, 2, 2}, {0, 7, 8, 10, 21, 19, 25, 26});
  t.add("MaxPool", "column-major indices")
      .input<float>({1, 1, 4, 5}, {-2, 1, -2, 1, -3, -2, -3, 0, 0, -3, -3, -2, 3, 1, 3, 0, -3, -3, -2, 1})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("storage_order", int64_t{1})
      .expect<float>({1, 1, 3, 4}, {1, 1, 1, 1, -2, 3, 3, 3, 0, 3, 3, 3})
      .expect<int64_t>({1, 1, 3, 4}, {4, 4, 12, 12, 1, 10, 10, 18, 3, 10, 10, 18});
  t.add("MaxPool", "padded")
      .input<float>({1, 1, 4, 4}, {-1, -3, 3, -1, -1, 1, 1, 2, 3, 1, -1, -1, 3, 3, -1, -1})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 2, 2}, {1, 3, 3, 3});
  t.add("MaxPool", "ceil mode")
      .input<float>({1, 1, 5, 5},
                    {-2, 0, 2, 0, 1, 1, -1, -2, -2, 1, -3, 3, -1, -2, 2, 2, 1, 0, -2, -1, 2, 2, 2, -2, -3})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("ceil_mode", int64_t{1})
      .expect<float>({1, 1, 3, 3}, {1, 2, 1, 3, 0, 2, 2, 2, -3});
  t.add("MaxPool", "ceil mode leaves out a window in the padding")
      .input<float>({1, 1, 2, 2}, {-2, 3, 3, -2})
      .attribute("kernel_shape", std::vector<int64_t>{1, 1})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("ceil_mode", int64_t{1})
      .attribute("pads", std::vector<int64_t>{0, 0, 1, 1})
      .expect<float>({1, 1, 1, 1}, {-2});
  t.add("MaxPool", "dilated")
      .input<float>({1, 1, 5, 5},
                    {-2, 0, 2, 0, 1, 1, -1, -2, -2, 1, -3, 3, -1, -2, 2, 2, 1, 0, -2, -1, 2, 2, 2, -2, -3})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("dilations", std::vector<int64_t>{3, 2})
      .expect<float>({1, 1, 2, 3}, {2, 1, 2, 2, 2, 2});
  t.add("MaxPool", "same upper")
      .input<float>({1, 1, 5, 4}, {-2, -1, -1, -2, 3, 2, 1, 0, 2, 0, -1, 3, 2, -1, 2, -2, -3, 2, 3, 2})
      .attribute("kernel_shape", std::vector<int64_t>{2, 3})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("auto_pad", std::string("SAME_UPPER"))
      .expect<float>({1, 1, 3, 2}, {3, 1, 2, 3, 3, 3});
  t.add("MaxPool", "same lower")
      .input<float>({1, 1, 5, 4}, {-2, -1, -1, -2, 3, 2, 1, 0, 2, 0, -1, 3, 2, -1, 2, -2, -3, 2, 3, 2})
      .attribute("kernel_shape", std::vector<int64_t>{2, 3})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("auto_pad", std::string("SAME_LOWER"))
      .expect<float>({1, 1, 3, 2}, {-1, -1, 3, 3, 2, 3});
  t.add("MaxPool", "1-d")
      .input<float>({1, 2, 7}, {2, 3, 3, -3, -2, 3, 0, 2, -1, -3, 1, -1, 2, -2})
      .attribute("kernel_shape", std::vector<int64_t>{3})
      .attribute("strides", std::vector<int64_t>{2})
      .expect<float>({1, 2, 3}, {3, 3, 3, 2, 1, 2})
      .expect<int64_t>({1, 2, 3}, {1, 2, 5, 7, 10, 12});
  t.add("MaxPool", "3-d")
      .input<float>({1, 1, 3, 4, 3}, {1,  -3, -2, 2, -1, -3, 0, -2, 0, 0,  -1, 3, 3,  -3, 0,  -1, 0, 0,
                                      -2, -2, -1, 0, -1, 0,  2, 1,  1, -3, 2,  1, -3, 1,  -3, -1, 1, -3})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2, 2})
      .expect<float>({1, 1, 2, 3, 2}, {3, 0, 2, 0, 0, 3, 3, 2, 2, 2, 1, 1})
      .expect<int64_t>({1, 1, 2, 3, 2}, {12, 14, 3, 8, 6, 11, 12, 28, 28, 28, 31, 31});
  t.add("MaxPool", "int8")
      .input<int8_t>({1, 1, 3, 3}, {34, 3, 64, -41, 17, 17, 1, -28, -5})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .expect<int8_t>({1, 1, 2, 2}, {34, 64, 17, 17});
  t.add("MaxPool", "uint8")
      .input<uint8_t>({1, 1, 3, 3}, {162, 131, 192, 87, 145, 145, 129, 100, 123})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("pads", std::vector<int64_t>{1, 1, 0, 0})
      .expect<uint8_t>({1, 1, 3, 3}, {162, 162, 192, 162, 162, 192, 129, 145, 145});
  t.add("MaxPool", "opset 1")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .expect<float>({1, 1, 3, 3}, {0, 0, 0, 1, 1, 1, 1, 1, 1})
      .at_opset(1);
  t.add("MaxPool", "float16")
      .random(DataType::float16, {1, 3, 8, 8})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3});
  t.add("MaxPool", "resnet stem")
      .random(DataType::float32, {1, 16, 56, 56})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
  t.add("MaxPool", "wider than the rows kept in scratch")
      .random(DataType::float32, {1, 2, 2, 70001})
      .attribute("kernel_shape", std::vector<int64_t>{2, 3})
      .attribute("dilations", std::vector<int64_t>{1, 2});
  t.add("AveragePool", "2-d")
      .input<float>({1, 2, 4, 4}, {1, -3, -1, -1, -2, -2, 0,  3,  2,  0, 3, 1,  -1, 2,  0,  -2,
                                   2, 1,  -1, 1,  0,  3,  -3, -3, -1, 3, 3, -3, 1,  -3, -3, 0})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 2, 2, 2}, {-1.5f, 0.25f, 0.75f, 0.5f, 1.5f, -1.5f, 0, -0.75f});
  t.add("AveragePool", "padding not counted")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .expect<float>({1, 1, 3, 3}, {-1.25f, -1.6666666f, -1.75f, -0.66666669f, -0.8888889f, -1, -0.75f,
                                    -0.66666669f, -0.75f});
  t.add("AveragePool", "padding counted")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .attribute("count_include_pad", int64_t{1})
      .expect<float>({1, 1, 3, 3}, {-0.55555558f, -1.1111112f, -0.77777779f, -0.44444445f, -0.8888889f,
                                    -0.66666669f, -0.33333334f, -0.44444445f, -0.33333334f});
  t.add("AveragePool", "ceil mode")
      .input<float>({1, 1, 4, 4}, {-1, -3, 3, -1, -1, 1, 1, 2, 3, 1, -1, -1, 3, 3, -1, -1})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("ceil_mode", int64_t{1})
      .expect<float>({1, 1, 2, 2}, {0.33333334f, 0.5f, 1.3333334f, -1});
  t.add("AveragePool", "ceil mode counts no more than the padding")
      .input<float>({1, 1, 4, 4}, {-1, -3, 3, -1, -1, 1, 1, 2, 3, 1, -1, -1, 3, 3, -1, -1})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("ceil_mode", int64_t{1})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .attribute("count_include_pad", int64_t{1})
      .expect<float>({1, 1, 3, 3}, {-0.44444445f, 0.33333334f, 0.16666667f, 1.1111112f, 0.44444445f, 0, 1,
                                    0.16666667f, -0.25f});
  t.add("AveragePool", "dilated")
      .input<float>({1, 1, 5, 5},
                    {-2, 0, 2, 0, 1, 1, -1, -2, -2, 1, -3, 3, -1, -2, 2, 2, 1, 0, -2, -1, 2, 2, 2, -2, -3})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("dilations", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 3, 3}, {-1, 0.25f, 1, 0.25f, -1, -0.5f, 0, 0.25f, 0});
  t.add("AveragePool", "dilated windows that only see padding")
      .input<float>({1, 1, 3}, {1, 2, 4})
      .attribute("kernel_shape", std::vector<int64_t>{2})
      .attribute("dilations", std::vector<int64_t>{5})
      .attribute("pads", std::vector<int64_t>{3, 3})
      .expect<float>({1, 1, 4}, {4, 0, 0, 1});
  t.add("AveragePool", "wider than the rows kept in scratch")
      .random(DataType::float32, {1, 2, 3, 70001})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("strides", std::vector<int64_t>{1, 2})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1});
  t.add("AveragePool", "same upper")
      .input<float>({1, 1, 4, 4}, {-1, -3, 3, -1, -1, 1, 1, 2, 3, 1, -1, -1, 3, 3, -1, -1})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .attribute("auto_pad", std::string("SAME_UPPER"))
      .expect<float>({1, 1, 2, 2}, {0.33333334f, 0.5f, 1.3333334f, -1});
  t.add("AveragePool", "1-d")
      .input<float>({1, 2, 5}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3})
      .attribute("kernel_shape", std::vector<int64_t>{2})
      .expect<float>({1, 2, 4}, {-0.5f, 0, 0, -1.5f, 0.5f, 1.5f, 1, -2});
  t.add("AveragePool", "opset 1")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 2, 2}, {-1.25f, -1.75f, -0.75f, -0.75f})
      .at_opset(1);
  t.add("AveragePool", "float16")
      .random(DataType::float16, {1, 3, 8, 8})
      .attribute("kernel_shape", std::vector<int64_t>{3, 3});
  t.add("AveragePool", "transition")
      .random(DataType::float32, {1, 32, 28, 28})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("strides", std::vector<int64_t>{2, 2});
  t.add("LpPool", "2-norm")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 2, 2}, {3, 4.1231055f, 3, 3});
  t.add("LpPool", "1-norm, padded")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("p", int64_t{1})
      .attribute("pads", std::vector<int64_t>{1, 1, 1, 1})
      .expect<float>({1, 1, 4, 4}, {1, 1, 3, 3, 3, 5, 7, 5, 3, 5, 5, 3, 1, 1, 1, 1});
  t.add("LpPool", "ceil mode leaves out a window in the padding")
      .input<float>({1, 1, 2}, {-3, 2})
      .attribute("kernel_shape", std::vector<int64_t>{1})
      .attribute("strides", std::vector<int64_t>{2})
      .attribute("ceil_mode", int64_t{1})
      .attribute("pads", std::vector<int64_t>{0, 1})
      .expect<float>({1, 1, 1}, {3});
  t.add("LpPool", "opset 1")
      .input<float>({1, 1, 3, 3}, {-1, 0, -3, -2, -2, -2, 1, 0, 1})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("p", 2.0f)
      .expect<float>({1, 1, 2, 2}, {3, 4.1231055f, 3, 3})
      .at_opset(1);
  t.add("GlobalAveragePool", "2-d")
      .input<float>({2, 2, 3, 4}, {-1, -3, 3,  -1, -1, 1,  1,  2,  3, 1,  -1, -1, 3,  3,  -1, -1,
                                   3,  -2, -2, 0,  1,  -2, -1, -2, 1, -1, 1,  0,  3,  0,  0,  -1,
                                   -3, -3, -2, -1, 0,  1,  0,  -3, 1, -1, -2, -2, -2, -2, -2, -2})
      .expect<float>({2, 2, 1, 1}, {0.25f, -0.083333336f, -0.5f, -1.1666666f});
  t.add("GlobalAveragePool", "1-d")
      .input<float>({1, 2, 5}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3})
      .expect<float>({1, 2, 1}, {-0.60000002f, 0});
  t.add("GlobalAveragePool", "double").random(DataType::float64, {1, 2, 3, 3});
  t.add("GlobalAveragePool", "head").random(DataType::float32, {2, 64, 7, 7});
  t.add("GlobalMaxPool", "2-d")
      .input<float>({2, 2, 3, 4}, {-1, -3, 3,  -1, -1, 1,  1,  2,  3, 1,  -1, -1, 3,  3,  -1, -1,
                                   3,  -2, -2, 0,  1,  -2, -1, -2, 1, -1, 1,  0,  3,  0,  0,  -1,
                                   -3, -3, -2, -1, 0,  1,  0,  -3, 1, -1, -2, -2, -2, -2, -2, -2})
      .expect<float>({2, 2, 1, 1}, {3, 3, 3, 1});
  t.add("GlobalMaxPool", "1-d")
      .input<float>({1, 2, 5}, {0, -1, 1, -1, -2, 1, 0, 3, -1, -3})
      .expect<float>({1, 2, 1}, {1, 3});
  t.add("GlobalMaxPool", "double").random(DataType::float64, {1, 2, 3, 3});
  t.add("GlobalMaxPool", "head").random(DataType::float32, {2, 64, 7, 7});
  t.add("GlobalLpPool", "2-norm")
      .input<float>({1, 2, 3, 2}, {2, 1, 1, -3, 1, 3, 3, 0, 1, -3, 1, 2})
      .expect<float>({1, 2, 1, 1}, {5, 4.8989797f});
  t.add("GlobalLpPool", "3-norm")
      .input<float>({1, 2, 3, 2}, {2, 1, 1, -3, 1, 3, 3, 0, 1, -3, 1, 2})
      .attribute("p", int64_t{3})
      .expect<float>({1, 2, 1, 1}, {4.0207257f, 4});
  t.add("MaxUnpool", "2-d")
      .input<float>({1, 1, 2, 2}, {2, 3, 3, 2})
      .input<int64_t>({1, 1, 2, 2}, {5, 7, 13, 15})
      .attribute("kernel_shape", std::vector<int64_t>{2, 2})
      .attribute("strides", std::vector<int64_t>{2, 2})
      .expect<float>({1, 1, 4, 4}, {0, 0, 0, 0, 0, 2, 0, 3, 0, 0, 0, 0, 0, 3, 0, 2});
}

}  // namespace lathe
