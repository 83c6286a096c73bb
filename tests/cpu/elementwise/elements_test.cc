// The fast kernels that go over elements, rows and planes, over shapes chosen for the paths inside them.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <set>

#include "kernel/facts.h"
#include "lathe/engine.h"
#include "ops/cases.h"
#include "support/case_model.h"
#include "support/kernel_check.h"
#include "support/worker_context.h"
#include "tensor/element.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

OpCase& add(CaseTable& t, std::string op, std::string name) { return t.add(std::move(op), std::move(name)); }

constexpr auto f32 = DataType::float32;

TEST(CpuElements, AlongAnAxis) {
  using Ints = std::vector<int64_t>;
  CaseTable t;
  for (std::string op : {"Softmax", "LogSoftmax", "Hardmax"})
    for (int64_t axis : {-1, 0, 1}) {
      add(t, op, "axis " + std::to_string(axis)).random(f32, {5, 7, 35}, -4, 4).attribute("axis", axis);
      add(t, op, "short, axis " + std::to_string(axis))
          .random(f32, {3, 2, 1}, -90, 90)
          .attribute("axis", axis);
    }
  for (std::string op :
       {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"})
    for (Ints axes : {Ints{}, Ints{0}, Ints{-1}, Ints{1}, Ints{2, 1}, Ints{0, 1}}) {
      OpCase& k = add(t, op, describe(Shape(axes.begin(), axes.end()))).random(f32, {4, 9, 37});
      if (!axes.empty()) k.input<int64_t>({static_cast<int64_t>(axes.size())}, axes).as_constant();
    }
  add(t, "Hardmax", "many columns").random(f32, {2, 5, 300}, -1, 1).attribute("axis", int64_t{1});
  add(t, "Hardmax", "hard to compare")
      .input<float>({2, 3, 2},
                    {1, NAN, INFINITY, NAN, INFINITY, 0, -0.0f, -INFINITY, 0, -INFINITY, -1, -INFINITY})
      .attribute("axis", int64_t{1});
  add(t, "Hardmax", "scalar").random(f32, {});
  add(t, "ReduceSum", "one long row").random(f32, {600000}).attribute("keepdims", int64_t{0});
  for (int64_t axis : {-1, 1}) {
    const Shape row = axis == 1 ? Shape{6, 21} : Shape{21};
    add(t, "LayerNormalization", "axis " + std::to_string(axis))
        .random(f32, {3, 6, 21})
        .random(f32, row)
        .random(f32, row)
        .attribute("axis", axis)
        .outputs_wanted(3);
    add(t, "RMSNormalization", "axis " + std::to_string(axis))
        .random(f32, {3, 6, 21})
        .random(f32, row)
        .attribute("axis", axis);
  }
  add(t, "InstanceNormalization", "5x6").random(f32, {2, 3, 5, 6}).random(f32, {3}).random(f32, {3});
  for (int64_t groups : {1, 2, 6})
    add(t, "GroupNormalization", std::to_string(groups))
        .random(f32, {2, 6, 5, 7})
        .random(f32, {6})
        .random(f32, {6})
        .attribute("num_groups", groups);
  add(t, "BatchNormalization", "5x6")
      .random(f32, {2, 3, 5, 6})
      .random(f32, {3})
      .random(f32, {3})
      .random(f32, {3})
      .random(f32, {3}, 0.5, 2);
  for (const Shape& shape : {Shape{2, 3, 5, 6}, {9, 3}, {1, 3, 1}, {5, 3, 700}, {4, 3, 3, 1, 2}})
    for (size_t outputs : {1, 3})
      add(t, "BatchNormalization", "training, " + describe(shape))
          .random(f32, shape)
          .random(f32, {3})
          .random(f32, {3})
          .random(f32, {3})
          .random(f32, {3}, 0.5, 2)
          .attribute("training_mode", int64_t{1})
          .attribute("momentum", 0.7f)
          .outputs_wanted(outputs);
  for (const OpCase& k : t.all()) must(k);
}

/// Rows, and what of one shares a scale and a bias, that are longer than what is finished at once, and than
/// what is gone through between polls.
TEST(CpuElements, LongNormalizedRows) {
  CaseTable t;
  for (int64_t n : {9000, 300000}) {
    add(t, "LayerNormalization", describe(Shape{3, n}))
        .random(f32, {3, n}, -3, 5)
        .random(f32, {n})
        .random(f32, {n});
    add(t, "RMSNormalization", describe(Shape{3, n})).random(f32, {3, n}).random(f32, {n});
    add(t, "InstanceNormalization", describe(Shape{2, 3, n}))
        .random(f32, {2, 3, n}, -3, 5)
        .random(f32, {3})
        .random(f32, {3});
    for (int64_t groups : {2, 3})
      add(t, "GroupNormalization", std::to_string(groups) + " of " + describe(Shape{2, 6, n / 2}))
          .random(f32, {2, 6, n / 2}, -3, 5)
          .random(f32, {6})
          .random(f32, {6})
          .attribute("num_groups", groups);
  }
  for (const OpCase& k : t.all()) must(k);
}

/// Softmax processes several rows side by side: as many as fill vectors, and the rest, of one element to more
/// than are kept in registers; a NaN affects only its row.
TEST(CpuElements, RowsTogether) {
  for (const char* op : {"Softmax", "LogSoftmax"})
    for (int64_t n : {1, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 100, 128, 130, 1000, 2047, 2048, 2049, 5000})
      for (int64_t rows : {1, 5, 16, 37}) {
        CaseTable t;
        OpCase& k = add(t, op, describe(Shape{rows, n})).random(f32, {rows, n}, -100, 100);
        must(k);
        const auto x = k.inputs[0].tensor().as<float>();
        const float odd[] = {NAN, INFINITY, -INFINITY, -0.0f, 3e38f};
        for (int64_t r = 0; r < rows; r += 2)
          x[static_cast<size_t>(r * n + r * 5 % n)] = odd[static_cast<size_t>(r / 2 % 5)];
        std::fill_n(x.begin(), n, -INFINITY);
        must(k);
      }
}

/// Columns that are reduced side by side, in runs and with what is left of one, in pieces of many rows; of
/// nothing, of infinities and NaN.
TEST(CpuElements, WideColumns) {
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
                         "ReduceSumSquare", "ReduceLogSumExp"})
    for (const Shape& shape : {Shape{2, 35, 1105}, Shape{3, 16, 64}, Shape{1, 600, 1030}, Shape{5, 0, 70}}) {
      CaseTable t;
      OpCase& k = add(t, op, describe(shape)).random(f32, shape, -3, 3);
      must(k.input<int64_t>({1}, {1}).as_constant());
      if (k.inputs[0].tensor().size() == 0) continue;
      const auto x = k.inputs[0].tensor().as<float>();
      const float odd[] = {INFINITY, -INFINITY, NAN, 0, -0.0f};
      for (size_t i = 0; i < 25; ++i) x[(i % 5) * 7 + (i / 5) * static_cast<size_t>(shape[2])] = odd[i / 5];
      must(k);
    }
}

/// Sums of thousands of terms whose rounding errors would add up, in one order or another.
TEST(CpuElements, LongSumsKeepTheirDigits) {
  constexpr int64_t n = 5000;
  const std::pair<Shape, std::vector<int64_t>> all[] = {
      {{n, 3}, {0}},       {{n, 40}, {0}},      {{1, n}, {1}},           {{2, n}, {1}},
      {{9, 3, n}, {0, 2}}, {{n, 2, 9}, {0, 2}}, {{70, 2, 70, 3}, {0, 2}}};
  for (const auto& [shape, axes] : all)
    for (const char* op : {"ReduceSum", "ReduceMean", "ReduceSumSquare", "ReduceL1"}) {
      CaseTable t;
      OpCase& k = add(t, op, describe(shape)).random(f32, shape, 1, 2);
      k.input<int64_t>({static_cast<int64_t>(axes.size())}, axes).as_constant();
      const Tensor want = run_reference(k)[0].tensor();
      for (const auto& kernel : KernelCatalog::standard().all()) {
        if (kernel->op != op || kernel->backend != "cpu" || !usable(*kernel)) continue;
        if ((kernel->name.find("_apart") != std::string::npos) != (axes.size() > 1)) continue;
        std::vector<Value> got;
        ASSERT_TRUE(run_kernel(*kernel, k, {Value(want)}, 1, &got));
        for (size_t i = 0; i < static_cast<size_t>(want.size()); ++i) {
          const double w = want.as<float>()[i];
          EXPECT_NEAR(got[0].tensor().as<float>()[i], w, 4 * 0x1p-24 * w) << kernel->name << describe(shape);
        }
      }
    }
}

/// Over axes that are no neighbors, or that only a run knows; what is drawn is many kinds of both.
TEST(CpuElements, AxesApart) {
  uint32_t state = 7;
  const auto draw = [&](uint32_t n) {
    return static_cast<int64_t>((state = state * 1664525u + 1013904223u) >> 16) % n;
  };
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp"})
    for (int i = 0; i < 24; ++i) {
      CaseTable t;
      Shape shape;
      std::vector<int64_t> axes;
      for (int64_t a = 0, rank = 3 + draw(4); a < rank; ++a) {
        const int64_t sizes[] = {1, 2, 3, 5, 9, 17, 33, draw(6)};
        shape.push_back(sizes[draw(rank > 4 ? 4 : 8)]);
        if (draw(2)) axes.push_back(draw(2) ? a : a - rank);
      }
      const bool integers =
          i % 4 == 3 &&
          std::set<std::string>{"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd"}.contains(
              op);
      const DataType type = !integers ? f32 : i % 8 == 3 ? DataType::int32 : DataType::int64;
      OpCase& k = add(t, op, describe(shape) + " over " + describe(Shape(axes.begin(), axes.end())));
      k.random(type, shape, integers ? -1e9 : 0.5, integers ? 1e9 : 1.5);
      k.input<int64_t>({static_cast<int64_t>(axes.size())}, axes).attribute("keepdims", draw(2));
      k.constant[1] = i % 3 != 0;
      must(k);
    }
  for (DataType type : {f32, DataType::int32, DataType::int64})
    for (const char* op : {"ReduceSum", "ReduceMax", "ReduceProd", "ReduceMean"})
      for (const Shape& shape :
           {Shape{2, 1, 200000}, Shape{70000, 1, 3}, Shape{300, 2, 300}, Shape{2, 3, 70000}})
        for (int64_t last : {0, 2}) {
          CaseTable t;
          OpCase& k = add(t, op, "long axes, " + describe(shape) + " " + std::string(name_of(type)));
          k.random(type, shape, type == f32 ? 0.99999 : -2e9, type == f32 ? 1.00001 : 2e9);
          must(k.input<int64_t>({2}, {0, last == 0 ? 1 : 2}).as_constant());
        }
}

/// The builder chooses the kernels that the tests above compare with the reference.
TEST(CpuElements, AxesApartAreChosen) {
  for (const char* op : {"ReduceMean", "ReduceMax", "ReduceProd", "ReduceLogSumExp"})
    for (bool constant : {false, true}) {
      CaseTable t;
      OpCase& k = add(t, op, "channels stay").random(f32, {2, 3, 4, 5}).input<int64_t>({3}, {0, 2, 3});
      k.constant[1] = constant;
      onnx::Model m;
      m.proto = testing::model_of(k);
      const Engine e = Engine::build(m, {});
      ASSERT_EQ(e.steps().size(), 1u);
      EXPECT_NE(e.steps()[0].kernel.find("_apart."), std::string::npos) << e.steps()[0].kernel;
    }
}

TEST(CpuElements, MovesOfElements) {
  CaseTable t;
  using Ints = std::vector<int64_t>;
  const auto numbers = [](OpCase& k, const Ints& list) {
    k.input<int64_t>({static_cast<int64_t>(list.size())}, list);
  };
  for (DataType type : {f32, DataType::int8, DataType::float16, DataType::int64}) {
    for (int64_t axis : {0, 1, -1}) {
      Shape part{3, 4, 5};
      OpCase& joined = add(t, "Concat", "axis").random(type, part).attribute("axis", axis);
      part[static_cast<size_t>(axis < 0 ? 2 : axis)] = 0;
      joined.random(type, part);
      part[static_cast<size_t>(axis < 0 ? 2 : axis)] = 70;
      joined.random(type, part);
      add(t, "Split", "even")
          .random(type, {6, 8, 10})
          .attribute("axis", axis)
          .attribute("num_outputs", int64_t{2})
          .outputs_wanted(2);
      OpCase& gathered = add(t, "Gather", "some").random(type, {4, 5, 7}).attribute("axis", axis);
      gathered.input<int64_t>({2, 3}, {3, -1, 0, 2, -4, 1});
    }
    for (const auto& [starts, ends, steps] :
         std::vector<std::array<Ints, 3>>{{{{0, 1, 2}, {5, 4, 9}, {1, 1, 1}}},
                                          {{{-1, 0, 1}, {-99, 99, 99}, {-2, 3, 2}}},
                                          {{{0, 2, 0}, {99, 2, 99}, {1, 1, 1}}}}) {
      OpCase& k = add(t, "Slice", "three axes").random(type, {6, 5, 300});
      numbers(k, starts);
      numbers(k, ends);
      numbers(k, {0, 1, 2});
      numbers(k, steps);
    }
    for (const Shape& shape : {Shape{1, 5, 1}, Shape{3, 1, 200}, Shape{}, Shape{3, 5, 200}})
      numbers(add(t, "Expand", describe(shape)).random(type, shape), {2, 3, 5, 200});
    numbers(add(t, "Tile", "all").random(type, {2, 3, 40}), {3, 1, 2});
    numbers(add(t, "Tile", "none").random(type, {2, 3, 4}), {3, 0, 2});
    for (std::string mode : {"constant", "edge", "reflect", "wrap"})
      for (const Ints& pads : {Ints{0, 1, 2, 0, 3, 1}, Ints{1, -1, 7, 0, 2, -3}, Ints{0, 0, 0, 0, 0, 0},
                               Ints{-1, -2, -1, -1, 0, -1}}) {
        OpCase& k = add(t, "Pad", mode).random(type, {4, 5, 6}).attribute("mode", mode);
        numbers(k, pads);
        if (mode == "constant" && type != f32) k.random(type, {});
      }
    for (std::string mode : {"DCR", "CRD"})
      for (const char* op : {"DepthToSpace", "SpaceToDepth"})
        add(t, op, mode)
            .random(type, {2, 18, 6, 9})
            .attribute("blocksize", int64_t{3})
            .attribute("mode", mode);
  }
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), 1u) << k.op << k.name;
}

TEST(CpuElements, Resizes) {
  using Floats = std::vector<float>;
  CaseTable t;
  for (std::string mode : {"nearest", "linear"})
    for (std::string coordinates : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"})
      for (const Floats& scales :
           {Floats{1, 1, 2, 2}, Floats{1, 1, 0.6f, 1.7f}, Floats{1, 2, 1, 1}, Floats{1, 1, 3, 1}}) {
        OpCase& k = add(t, "Resize", mode + " " + coordinates).random(f32, {2, 3, 7, 9}).absent();
        k.input<float>({4}, scales).as_constant();
        k.attribute("mode", mode).attribute("coordinate_transformation_mode", coordinates);
        if (mode == "nearest" && scales[2] == 2) k.attribute("nearest_mode", std::string("floor"));
      }
  // Rows have several vectors, whose neighbors are near each other, or not.
  for (std::string mode : {"nearest", "linear"})
    for (const Floats& scales : {Floats{1, 1, 2, 2}, Floats{1, 1, 3, 1.3f}, Floats{1, 1, 1.5f, 0.45f},
                                 Floats{1, 1, 1, 0.09f}, Floats{1, 1, 5, 7}})
      add(t, "Resize", mode + " of long rows")
          .random(f32, {1, 2, 5, 333})
          .absent()
          .input<float>({4}, scales)
          .attribute("mode", mode);
  add(t, "Resize", "bytes")
      .random(DataType::uint8, {1, 2, 5, 6}, 0, 255)
      .absent()
      .input<float>({4}, {1, 1, 1.5f, 2});
  add(t, "Resize", "sizes").random(f32, {1, 2, 5, 6}).absent().absent().input<int64_t>({4}, {1, 2, 11, 3});
  add(t, "Resize", "volume")
      .random(f32, {1, 2, 3, 4, 5})
      .absent()
      .input<float>({5}, {1, 1, 2, 2, 2})
      .attribute("mode", std::string("linear"));
  // Cubic filters, and wider ones of images that shrink.
  for (std::string mode : {"linear", "cubic"})
    for (int64_t antialias : {0, 1})
      for (int64_t exclude_outside : {0, 1})
        for (const Floats& scales : {Floats{1, 1, 2, 2}, Floats{1, 1, 0.6f, 1.7f}, Floats{1, 1, 0.3f, 0.11f},
                                     Floats{1, 2, 0.5f, 1}, Floats{0.5f, 1, 1, 1}, Floats{1, 1, 1, 0.05f}}) {
          if (mode == "linear" && !antialias && !exclude_outside) continue;
          add(t, "Resize", mode + (antialias ? " antialias" : "") + (exclude_outside ? " inside" : ""))
              .random(f32, {2, 3, 19, 83})
              .absent()
              .input<float>({4}, scales)
              .attribute("mode", mode)
              .attribute("antialias", antialias)
              .attribute("exclude_outside", exclude_outside);
        }
  add(t, "Resize", "cubic volume")
      .random(f32, {1, 2, 3, 4, 5})
      .absent()
      .input<float>({5}, {1, 1, 2, 2, 2})
      .attribute("mode", std::string("cubic"));
  add(t, "Resize", "cubic, channels last")
      .random(f32, {1, 12, 20, 3})
      .absent()
      .input<float>({4}, {1, 1.5f, 0.4f, 1})
      .attribute("mode", std::string("cubic"))
      .attribute("antialias", int64_t{1});
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), usable_isas().size()) << k.name;
}

// Longer than single precision can count.
TEST(CpuElements, ResizeLeavesLongAxesAsTheyAre) {
  constexpr int64_t n = (int64_t{1} << 24) + 5;
  Tensor x(DataType::uint8, {n, 1});
  const auto from = x.as<uint8_t>();
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<uint8_t>(i % 251);
  OpCase k;
  k.op = "Resize";
  k.input(Value(x)).absent().input<float>({2}, {1, 2}).as_constant();
  const std::vector<Value> y = run_reference(k);
  ASSERT_EQ(y[0].tensor().shape(), (Shape{n, 2}));
  const auto to = y[0].tensor().as<uint8_t>();
  bool same = true;
  for (size_t i = 0; i < from.size(); ++i) same &= to[2 * i] == from[i] && to[2 * i + 1] == from[i];
  EXPECT_TRUE(same);
  EXPECT_EQ(check(k).size(), usable_isas().size());
}

TEST(CpuElements, NarrowTypes) {
  CaseTable t;
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> special{0.5f,   1.5f,  -2.5f, 127.5f, 1e9f, -1e9f, 3e18f,
                                   -9e18f, 1e30f, inf,   -inf,   nan,  -0.0f, 254.9f};
  for (int64_t to : {1, 2, 3, 6, 7, 9}) {
    add(t, "Cast", "special").input<float>({14}, special).attribute("to", to);
    for (DataType from :
         {DataType::int32, DataType::int64, DataType::int8, DataType::uint8, DataType::boolean})
      add(t, "Cast", "from " + std::string(name_of(from)))
          .random(from, {3, 70}, -300, 300)
          .attribute("to", to);
  }
  for (const OpCase& k : t.all()) must(k);
  CaseTable q;
  for (DataType type : {DataType::int8, DataType::uint8}) {
    const auto zeros = [&](OpCase& k, Shape shape) {
      k.random(type, std::move(shape), type == DataType::int8 ? -100 : 0, 100);
    };
    OpCase& one =
        add(q, "QuantizeLinear", "one scale").random(f32, {3, 300}, -2, 2).input<float>({}, {0.013f});
    zeros(one, {});
    OpCase& odd = add(q, "QuantizeLinear", "special").input<float>({14}, special).input<float>({}, {1});
    zeros(odd, {});
    for (int64_t axis : {0, 1, -1}) {
      const int64_t n = axis == 0 ? 2 : axis == 1 ? 5 : 37;
      OpCase& many = add(q, "QuantizeLinear", "axis")
                         .random(f32, {2, 5, 37}, -2, 2)
                         .random(f32, {n}, 0.01, 0.1)
                         .attribute("axis", axis);
      zeros(many, {n});
      OpCase& back = add(q, "DequantizeLinear", "axis")
                         .random(type, {2, 5, 37}, 0, 100)
                         .random(f32, {n}, 0.01, 0.1)
                         .attribute("axis", axis);
      zeros(back, {n});
    }
  }
  add(q, "DequantizeLinear", "int32")
      .input<int32_t>({4}, {INT32_MAX, INT32_MIN, 5, -7})
      .random(f32, {1})
      .input<int32_t>({1}, {0});
  for (const OpCase& k : q.all()) EXPECT_FALSE(check(k).empty()) << k.name;
}

TEST(CpuElements, Transposes) {
  CaseTable t;
  using Ints = std::vector<int64_t>;
  auto transpose = [&](DataType type, Shape shape, Ints perm) {
    add(t, "Transpose", describe(shape) + describe(Shape(perm.begin(), perm.end())))
        .random(type, shape)
        .attribute("perm", perm);
  };
  for (DataType type : {f32, DataType::int8, DataType::float16, DataType::int32, DataType::int64}) {
    transpose(type, {70, 45}, {1, 0});
    transpose(type, {2, 85, 131}, {0, 2, 1});
    transpose(type, {7, 9}, {1, 0});
    transpose(type, {2, 5, 3, 8}, {0, 2, 1, 3});
    transpose(type, {2, 5, 3, 40}, {0, 2, 3, 1});
    transpose(type, {3, 4, 5, 6}, {3, 1, 0, 2});
    transpose(type, {3, 1, 5, 6}, {2, 0, 1, 3});
    transpose(type, {3, 0, 5}, {2, 0, 1});
    transpose(type, {4, 5, 6}, {0, 1, 2});
    // Too narrow for squares.
    transpose(type, {2, 3, 40, 50}, {0, 2, 3, 1});
    transpose(type, {2, 40, 50, 3}, {0, 3, 1, 2});
    transpose(type, {2, 37, 2}, {2, 1, 0});
    transpose(type, {4, 7, 6}, {2, 1, 0});
    // Rows so long that they are cut.
    transpose(type, {1030, 80}, {1, 0});
    transpose(type, {9001, 3}, {1, 0});
    transpose(type, {2, 700, 3, 70}, {0, 3, 2, 1});
  }
  std::vector<std::complex<double>> wide(6 * 35);
  for (size_t i = 0; i < wide.size(); ++i) wide[i] = {static_cast<double>(i), 0.5};
  add(t, "Transpose", "sixteen bytes").input<std::complex<double>>({6, 35}, wide);
  // Every instruction set has one kernel: elements are transposed in registers, with code for each size.
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), usable_isas().size()) << k.name;
}

TEST(CpuElements, Elementwise) {
  CaseTable t;
  for (std::string op : {"Abs",
                         "Neg",
                         "Reciprocal",
                         "Exp",
                         "Erf",
                         "Floor",
                         "Ceil",
                         "Round",
                         "Tanh",
                         "Relu",
                         "HardSwish",
                         "Mish",
                         "Softplus",
                         "Softsign",
                         "Sigmoid",
                         "LeakyRelu",
                         "Elu",
                         "Celu",
                         "ThresholdedRelu",
                         "Swish",
                         "Selu",
                         "HardSigmoid",
                         "Gelu",
                         "Sin",
                         "Cos",
                         "Tan",
                         "Asin",
                         "Acos",
                         "Atan",
                         "Sinh",
                         "Cosh",
                         "Asinh",
                         "Acosh",
                         "Atanh",
                         "Shrink"})
    add(t, op, "17").random(f32, {3, 17}, -6, 6);
  for (std::string op : {"Sqrt", "Log"}) add(t, op, "17").random(f32, {3, 17}, 0, 6);
  add(t, "Gelu", "tanh").random(f32, {35}, -6, 6).attribute("approximate", std::string("tanh"));
  add(t, "Clip", "both").random(f32, {35}, -6, 6).random(f32, {}, -1, 0).random(f32, {}, 0, 1);
  add(t, "Clip", "high").random(f32, {35}, -6, 6).absent().random(f32, {}, 0, 1);
  add(t, "PRelu", "channels").random(f32, {2, 3, 4}).random(f32, {3, 1});
  for (std::string op : {"Add", "Sub", "Mul", "Div", "Min", "Max", "Sum"})
    add(t, op, "broadcast").random(f32, {2, 3, 1, 9}, 1, 2).random(f32, {3, 5, 1}, 1, 2);
  for (std::string op : {"Add", "Sub", "Mul"})
    add(t, op, "integers").input<int64_t>({2, 1}, {3, -4}).input<int64_t>({3}, {7, 0, INT64_MAX});
  for (float e : {2.0f, 3.0f, 1.0f, -1.0f, 0.5f, 1.7f})
    add(t, "Pow", std::to_string(e)).random(f32, {19}, 0.5, 3).input<float>({}, {e}).as_constant();
  add(t, "Pow", "broadcast").random(f32, {5, 19}, 0.5, 3).random(f32, {5, 1}, -3, 3);
  add(t, "Pow", "signs")
      .input<float>({6}, {-2, -2, 0, 0, -0.0f, 2})
      .input<float>({6}, {3, 0.5f, 0, -1, 3, -1e3f});
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuElements, IntegersAndBooleans) {
  CaseTable t;
  const std::vector<int64_t> wide{3, -4, 0, INT64_MAX, INT64_MIN, -1};
  const std::vector<bool> booleans{true, false, false, true, true, false};
  for (std::string op : {"Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"}) {
    add(t, op, "int64").input<int64_t>({6}, wide).input<int64_t>({6, 1}, wide);
    add(t, op, "int32").input<int32_t>({3}, {1, 2, 3}).input<int32_t>({}, {2});
    add(t, op, "NaN").input<float>({3}, {1, NAN, -0.0f}).input<float>({3}, {1, NAN, 0});
  }
  for (std::string op : {"And", "Or", "Xor"})
    add(t, op, "both").input<bool>({6}, booleans).input<bool>({6, 1}, booleans);
  add(t, "Not", "six").input<bool>({6}, booleans);
  for (std::string op : {"Neg", "Abs"}) {
    add(t, op, "int64").input<int64_t>({6}, wide);
    add(t, op, "int32").input<int32_t>({3}, {INT32_MIN, 5, -5});
  }
  add(t, "Div", "int64").input<int64_t>({6}, wide).input<int64_t>({4, 1}, {-1, 7, -3, INT64_MIN});
  for (const OpCase& k : t.all()) must(k);
}

TEST(CpuElements, Scatters) {
  CaseTable t;
  add(t, "ScatterND", "rows").random(f32, {4, 5, 6}).input<int64_t>({2, 1}, {3, -4}).random(f32, {2, 5, 6});
  add(t, "ScatterND", "elements")
      .random(DataType::int8, {4, 5})
      .input<int64_t>({3, 2}, {0, 1, 3, -1, 0, 1})
      .random(DataType::int8, {3});
  for (const OpCase& k : t.all()) EXPECT_EQ(check(k).size(), 1u) << k.op << k.name;
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
