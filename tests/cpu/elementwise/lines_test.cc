// Fast kernels that go along lines: running sums, reductions, normalizations, Fourier transforms, and those
// that sample; over shapes chosen for the paths inside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "lathe/lathe.h"
#include "ops/cases.h"
#include "support/kernel_check.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using Ints = std::vector<int64_t>;
constexpr auto f32 = DataType::float32;

OpCase& add(CaseTable& t, std::string op, const Shape& shape, std::string more = {}) {
  return t.add(std::move(op), describe(shape) + (more.empty() ? "" : ", " + more));
}

void taken(const OpCase& k) {
  EXPECT_FALSE(check(k).empty()) << k.op << " '" << k.name << "' has no fast kernel";
}
void all_taken(const CaseTable& t) {
  for (const OpCase& k : t.all()) taken(k);
}

TEST(CpuLines, RunningSumsAndProducts) {
  CaseTable t;
  for (const Shape& shape :
       {Shape{1}, {0}, {3000}, {4, 5}, {11, 6}, {3, 7, 2}, {2, 300, 600}, {70, 1, 3}, {3, 0, 2}})
    for (DataType type :
         {f32, DataType::float64, DataType::int32, DataType::int64, DataType::uint32, DataType::uint64})
      for (int64_t axis = -1; axis < static_cast<int64_t>(shape.size()) - 1; ++axis)
        for (int64_t exclusive : {0, 1})
          for (int64_t reverse : {0, 1})
            for (const char* op : {"CumSum", "CumProd"})
              add(t, op, shape, std::string(name_of(type)) + " along " + std::to_string(axis))
                  .random(type, shape, 0.5, 3)
                  .input<int64_t>({}, {axis})
                  .attribute("exclusive", exclusive)
                  .attribute("reverse", reverse);
  all_taken(t);
}

/// Shapes and the neighboring axes of them that go.
const std::pair<Shape, Ints> reduced[] = {{{5}, {0}},           {{3, 700}, {1}},     {{3, 700}, {-2}},
                                          {{4, 6, 5}, {1}},     {{4, 6, 5}, {1, 2}}, {{4, 6, 5}, {0, 1, 2}},
                                          {{2, 300, 130}, {1}}, {{1, 1}, {1}},       {{3, 0}, {1}},
                                          {{0, 3}, {1}},        {{300000}, {0}},     {{20000, 33}, {0}},
                                          {{9, 17, 2}, {0, 1}}};

TEST(CpuLines, ReducedInDouble) {
  CaseTable t;
  for (const auto& [shape, axes] : reduced)
    for (const char* op : {"ReduceProd", "ReduceLogSum"})
      add(t, op, shape)
          .random(f32, shape, 0.9, 1.1)
          .input<int64_t>({static_cast<int64_t>(axes.size())}, axes)
          .as_constant();
  // Parts of the product are far beyond single precision.
  std::vector<float> far;
  for (int i = 0; i < 12; ++i) far.push_back(i % 2 ? 1e-30f : 1e30f);
  std::sort(far.begin(), far.end());
  for (Shape shape : {Shape{12}, {12, 1}})
    t.add("ReduceProd", "far").input<float>(shape, far).input<int64_t>({1}, {0}).as_constant();
  t.add("ReduceLogSum", "beyond single precision")
      .input<float>({3}, {3e38f, 3e38f, 3e38f})
      .input<int64_t>({1}, {0})
      .as_constant();
  all_taken(t);
}

TEST(CpuLines, LogarithmsOfSumsOfExponentials) {
  CaseTable t;
  for (const auto& [shape, axes] : reduced)
    for (double reach : {1.0, 200.0})
      add(t, "ReduceLogSumExp", shape)
          .random(f32, shape, -reach, reach)
          .input<int64_t>({static_cast<int64_t>(axes.size())}, axes)
          .as_constant();
  const float inf = INFINITY;
  for (std::vector<float> few :
       {std::vector<float>{-inf, -inf, -inf}, {inf, 1, -inf}, {NAN, inf, 1}, {-inf, 3, -inf}, {inf, inf, 0}})
    for (Shape shape : {Shape{3}, {3, 1}, {1, 3}})
      t.add("ReduceLogSumExp", "odd ones")
          .input<float>(shape, few)
          .input<int64_t>({1}, {shape.size() == 2 && shape[1] == 3 ? 1 : 0})
          .as_constant();
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuLines, Norms) {
  CaseTable t;
  for (const Shape& shape : {Shape{1}, {5, 700}, {3, 40, 150}, {2, 3, 1}, {0, 4}, {4, 0}, {300, 1, 200}})
    for (int64_t axis = -1; axis < static_cast<int64_t>(shape.size()) - 1; ++axis)
      for (int64_t p : {1, 2}) {
        OpCase& k = add(t, "LpNormalization", shape, "along " + std::to_string(axis))
                        .random(f32, shape)
                        .attribute("axis", axis)
                        .attribute("p", p);
        if (Tensor& x = k.inputs[0].tensor(); x.size() > 1 && p == 2)  // lines of zeros
          std::fill_n(x.as<float>().begin(), x.size() / 2, 0.0f);
      }
  t.add("LpNormalization", "odd ones")
      .input<float>({5, 2}, {NAN, 1, INFINITY, 1, 0, 0, 1e30f, 1e30f, 1e-30f, 0});
  all_taken(t);
}

TEST(CpuLines, MeansAndVariances) {
  CaseTable t;
  for (const auto& [shape, axes] : {std::pair(Shape{2, 3, 5, 7}, Ints{0, 2, 3}),
                                    {{2, 3, 5, 7}, {2, 3}},
                                    {{2, 3, 5, 7}, {-1}},
                                    {{2, 3, 5, 7}, {0, 1, 2, 3}},
                                    {{40, 300}, {0}},
                                    {{40, 300}, {}},
                                    {{1, 4, 90, 200}, {0, 2, 3}},
                                    {{3, 1, 1}, {1, 2}},
                                    {{0, 3, 2, 2}, {0, 2, 3}}})
    add(t, "MeanVarianceNormalization", shape).random(f32, shape, -3, 5).attribute("axes", axes);
  all_taken(t);
}

TEST(CpuLines, PowersOfWindows) {
  CaseTable t;
  for (int64_t p : {1, 2, 3}) {
    const auto pool = [&](Shape shape, Ints kernel) -> OpCase& {
      return add(t, "LpPool", shape).random(f32, shape).attribute("kernel_shape", kernel).attribute("p", p);
    };
    pool({2, 3, 9, 10}, {2, 3}).attribute("strides", Ints{2, 1});
    pool({1, 2, 30}, {5}).attribute("pads", Ints{2, 1}).attribute("dilations", Ints{2});
    pool({1, 2, 7, 8}, {3, 3})
        .attribute("auto_pad", std::string("SAME_UPPER"))
        .attribute("strides", Ints{2, 2});
    pool({1, 2, 7, 8}, {3, 3}).attribute("ceil_mode", int64_t{1}).attribute("strides", Ints{2, 2});
    pool({0, 2, 7, 8}, {3, 3});
    pool({1, 1, 1, 1}, {1, 1});
    for (const Shape& shape : {Shape{2, 3, 5, 7}, {1, 1, 1}, {2, 5}, {1, 2, 300, 40}})
      add(t, "GlobalLpPool", shape).random(f32, shape).attribute("p", p);
  }
  all_taken(t);
}

TEST(CpuLines, MaximaGoBack) {
  CaseTable t;
  for (DataType type : {f32, DataType::float16, DataType::float64})
    for (const auto& [shape, asked] : {std::pair(Shape{1, 2, 3, 4}, Ints{}),
                                       {{1, 2, 3, 4}, {1, 2, 7, 9}},
                                       {{1, 1, 1, 1}, {}},
                                       {{0, 1, 2, 2}, {}}}) {
      OpCase& k = add(t, "MaxUnpool", shape, std::string(name_of(type)))
                      .random(type, shape, 1, 9)
                      .random(DataType::int64, shape, 0, static_cast<double>(count_of(shape) * 4))
                      .attribute("kernel_shape", Ints{2, 2})
                      .attribute("strides", Ints{2, 2});
      if (!asked.empty()) k.input<int64_t>({4}, asked);
    }
  all_taken(t);
}

TEST(CpuLines, FourierTransforms) {
  CaseTable t;
  struct Line {
    Shape shape;
    int64_t axis, length;  // 0: as it is
  };
  const Line lines[] = {{{1, 1, 1}, 1, 0},    {{1, 2, 1}, 1, 0},    {{3, 8, 1}, 1, 0},   {{2, 400, 1}, 1, 0},
                        {{9, 30, 2}, 1, 0},   {{1, 77, 2}, 1, 0},   {{2, 97, 1}, 1, 0},  {{11, 74, 1}, 1, 0},
                        {{6, 5, 3, 2}, 0, 0}, {{6, 5, 3, 1}, 1, 0}, {{2, 10, 1}, 1, 16}, {{2, 10, 2}, 1, 7},
                        {{1, 4096, 1}, 1, 0}, {{1, 2002, 2}, 1, 0}, {{20, 37, 1}, 1, 0}, {{0, 4, 1}, 1, 0},
                        {{1, 31, 1}, 1, 0},   {{1, 1009, 2}, 1, 0}, {{2, 125, 2}, 1, 0}};
  for (const Line& l : lines)
    for (int64_t inverse : {0, 1})
      for (int64_t onesided : {0, 1}) {
        const bool is_complex = l.shape.back() == 2;
        if (onesided && is_complex != (inverse == 1)) continue;
        if (inverse && onesided && l.length == 0 && l.shape[static_cast<size_t>(l.axis)] < 2) continue;
        OpCase& k = add(t, "DFT", l.shape, inverse ? "back" : "there").random(f32, l.shape);
        if (l.length)
          k.input<int64_t>({}, {l.length});
        else
          k.absent();
        k.input<int64_t>({}, {l.axis}).attribute("inverse", inverse).attribute("onesided", onesided);
      }
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuLines, FourierTransformsOfFrames) {
  CaseTable t;
  for (const Shape& shape : {Shape{1, 64, 1}, {2, 500, 1}, {3, 100, 2}})
    for (int64_t frame : {1, 16, 25, 37})
      for (int64_t step : {1, 10})
        for (bool window : {false, true}) {
          const bool real = shape[2] == 1;
          for (int64_t onesided = 0; onesided <= (real ? 1 : 0); ++onesided) {
            OpCase& k = add(t, "STFT", shape, "frames of " + std::to_string(frame))
                            .random(f32, shape)
                            .input<int64_t>({}, {step});
            if (window)
              k.random(f32, {frame}, 0, 1);
            else
              k.absent();
            k.input<int64_t>({}, {frame}).attribute("onesided", onesided);
          }
        }
  for (const OpCase& k : t.all()) must(k);
}

// NaN and large numbers of one line do not affect the others.
TEST(CpuLines, FourierTransformsOfOddNumbers) {
  CaseTable t;
  OpCase& k = t.add("DFT", "odd ones").random(f32, {5, 12, 1}).absent().input<int64_t>({}, {1});
  k.inputs[0].tensor().as<float>()[14] = NAN;
  for (size_t i = 24; i < 36; ++i) k.inputs[0].tensor().as<float>()[i] *= 1e30f;
  must(k);
}

TEST(CpuLines, Regions) {
  CaseTable t;
  for (const char* mode : {"avg", "max"})
    for (const char* shift : {"half_pixel", "output_half_pixel"})
      for (int64_t samples : {0, 1, 2, 70})
        for (const auto& [map, rois] : {std::pair(Shape{2, 3, 14, 11}, int64_t{7}),
                                        {{1, 1, 1, 1}, 2},
                                        {{2, 5, 6, 6}, 0},
                                        {{1, 0, 6, 6}, 2}}) {
          OpCase& k = add(t, "RoiAlign", map, mode + std::string(shift) + std::to_string(samples))
                          .random(f32, map)
                          .random(f32, {rois, 4}, -6, 40)
                          .random(DataType::int64, {rois}, 0, static_cast<double>(map[0]))
                          .attribute("mode", std::string(mode))
                          .attribute("coordinate_transformation_mode", std::string(shift))
                          .attribute("sampling_ratio", samples)
                          .attribute("spatial_scale", 0.5f)
                          .attribute("output_height", int64_t{3})
                          .attribute("output_width", int64_t{5});
          (void)k;
        }
  all_taken(t);
}

TEST(CpuLines, Grids) {
  CaseTable t;
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (int64_t corners : {0, 1})
        for (const auto& [image, samples] : {std::pair(Shape{2, 3, 9, 7}, Shape{2, 30, 20, 2}),
                                             {{1, 1, 1, 1}, {1, 2, 2, 2}},
                                             {{1, 5, 20}, {1, 33, 1}},
                                             {{1, 2, 4, 5, 6}, {1, 3, 7, 5, 3}},
                                             {{1, 40, 3, 3}, {1, 1, 1, 2}},
                                             {{2, 19, 9, 7}, {2, 11, 13, 2}},
                                             {{1, 16, 1, 70}, {1, 1, 65, 2}},
                                             {{1, 5, 4, 5, 6}, {1, 3, 7, 5, 3}},
                                             {{1, 2, 3, 3}, {1, 0, 4, 2}}})
          add(t, "GridSample", image, mode + std::string(" ") + padding)
              .random(f32, image)
              .random(f32, samples, -1.7, 1.7)
              .attribute("mode", std::string(mode))
              .attribute("padding_mode", std::string(padding))
              .attribute("align_corners", corners);
  // Pixels that are no numbers, and places that are none, or far away.
  for (const char* mode : {"linear", "nearest", "cubic"})
    for (const char* padding : {"zeros", "border", "reflection"})
      for (int64_t channels : {1, 4}) {
        OpCase& odd = t.add("GridSample", std::string("odd ones, ") + mode + " " + padding)
                          .random(f32, {1, channels, 4, 4})
                          .random(f32, {1, 5, 5, 2}, -1.5, 1.5)
                          .attribute("mode", std::string(mode))
                          .attribute("padding_mode", std::string(padding));
        const auto image = odd.inputs[0].tensor().as<float>(), grid = odd.inputs[1].tensor().as<float>();
        image[5] = INFINITY;
        image[0] = NAN;
        grid[7] = NAN;
        const float far[] = {INFINITY, -INFINITY, 1e12f, -3e4f, 777.25f, -1000.5f};
        std::copy(std::begin(far), std::end(far), grid.begin() + 10);
      }
  all_taken(t);
}

TEST(CpuLines, BitsOfIntegers) {
  CaseTable t;
  const std::pair<Shape, Shape> shapes[] = {
      {{3, 4}, {3, 4}}, {{3, 1}, {4}}, {{}, {5}}, {{0, 2}, {2}}, {{40000}, {1}}};
  for (DataType type : {DataType::int8, DataType::int16, DataType::int32, DataType::int64, DataType::uint8,
                        DataType::uint16, DataType::uint32, DataType::uint64})
    for (const auto& [a, b] : shapes) {
      const double least = is_signed_integer(type) ? -100 : 0;
      for (const char* op : {"BitwiseAnd", "BitwiseOr", "BitwiseXor"})
        add(t, op, a, std::string(name_of(type))).random(type, a, least, 120).random(type, b, least, 120);
      add(t, "BitwiseNot", a, std::string(name_of(type))).random(type, a, least, 120);
      for (const char* direction : {"LEFT", "RIGHT"})
        add(t, "BitShift", a, std::string(name_of(type)) + direction)
            .random(type, a, least, 120)
            .random(type, b, least / 20, 70)
            .attribute("direction", std::string(direction));
    }
  all_taken(t);
}

TEST(CpuLines, ManyInputs) {
  CaseTable t;
  for (const char* op : {"Sum", "Mean", "Max", "Min"})
    for (DataType type : {f32, DataType::int32, DataType::int64})
      for (int inputs : {1, 2, 3, 5, 8, 9, 12}) {
        if (type != f32 && (op == std::string("Sum") || op == std::string("Mean"))) continue;
        for (bool broadcast : {false, true}) {
          OpCase& k = t.add(op, std::to_string(inputs) + " of " + std::string(name_of(type)));
          // The first two are smaller than what comes of all.
          for (int i = 0; i < inputs; ++i)
            k.random(type,
                     !broadcast ? Shape{3, 40}
                     : i == 0   ? Shape{1}
                     : i == 1   ? Shape{40}
                     : i == 2   ? Shape{3, 1}
                                : Shape{3, 40},
                     -50, 50);
        }
      }
  for (const OpCase& k : t.all()) must(k);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
