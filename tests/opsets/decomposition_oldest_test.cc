// Nodes that opsets below 13, down to 7, cannot express are decomposed.
#include <optional>

#include "support/decomposed_case.h"
#include "support/model_builder.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words

TEST(DecompositionOldest, SoftmaxAlongAnyAxis) {
  const OpCase along_rows = of("Softmax").attribute("axis", int64_t{0});
  gives_at(OpCase(along_rows)
               .input<float>({2, 2}, {0, 1, 1.0986123f, 1})
               .expect<float>({2, 2}, {0.25f, 0.5f, 0.75f, 0.5f}),
           {7, 11, 12});
  gives_at(of("Hardmax")
               .attribute("axis", int64_t{-2})
               .input<float>({1, 2, 3}, {1, 5, 2, 3, 4, 2})
               .expect<float>({1, 2, 3}, {0, 1, 1, 1, 0, 0}),
           {7, 10, 12});
  gives_at(of("Softmax").input<float>({}, {3}).expect<float>({}, {1}), {7, 12});
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"})
    for (const Shape& shape : {Shape{2, 3, 4}, Shape{2, 3, 1}, Shape{2, 1, 1}, Shape{0, 3, 2}, Shape{5}})
      for (int64_t axis = -static_cast<int64_t>(shape.size()); axis < static_cast<int64_t>(shape.size());
           ++axis)
        same_at(of(op).attribute("axis", axis).random(f32, shape), {7, 12});
}

TEST(DecompositionOldest, ReductionsOfNoAxes) {
  const std::vector<float> x{-1, 2, -3, 4};
  const auto none = [&](const char* op, std::vector<float> y, bool listed) {
    OpCase c = of(op).attribute("noop_with_empty_axes", int64_t{1}).input<float>({2, 2}, x);
    if (listed) c = ints(std::move(c), {}).as_constant();
    return c.expect<float>({2, 2}, y);
  };
  for (bool listed : {false, true}) {
    for (const char* op :
         {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceLogSumExp"})
      gives_at(none(op, x, listed), {7, 12, 17});
    for (const char* op : {"ReduceL1", "ReduceL2"}) gives_at(none(op, {1, 2, 3, 4}, listed), {7, 12, 17});
    gives_at(none("ReduceSumSquare", {1, 4, 9, 16}, listed), {7, 12, 17});
  }
}

TEST(DecompositionOldest, AxesThatARunComputes) {
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  gives_at(ints(of("ReduceSum").input<float>({2, 3}, x), {-1}).expect<float>({2, 1}, {6, 15}),
           {7, 9, 11, 12});
  gives_at(ints(of("ReduceMax").attribute("keepdims", int64_t{0}).input<float>({2, 3}, x), {0})
               .expect<float>({3}, {4, 5, 6}),
           {7, 9, 11, 12, 17});
  for (const char* op : {"ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1",
                         "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceSumSquare"})
    for (const std::vector<int64_t>& axes : std::vector<std::vector<int64_t>>{{1}, {-1, 0}, {0, 1, 2}, {}})
      for (int64_t keepdims : {0, 1})
        for (int64_t noop : {0, 1}) {
          OpCase c = of(op).attribute("keepdims", keepdims).attribute("noop_with_empty_axes", noop);
          same_at(ints(c.random(f32, {2, 3, 4}, 0.5, 2), axes), {7, 9, 12});
        }
  same_at(ints(of("ReduceL2").input<int32_t>({2, 2}, {3, 4, 5, 12}), {1}), {7, 13, 17}, 0, 0);
  gives_at(ints(of("Squeeze").input<float>({1, 2, 1}, {1, 2}), {-1, 0}).expect<float>({2}, {1, 2}),
           {7, 9, 12});
  gives_at(ints(of("Unsqueeze").input<float>({2}, {1, 2}), {2, 0}).expect<float>({1, 2, 1}, {1, 2}), {7, 12});
  gives_at(ints(of("Split").attribute("axis", int64_t{-1}).input<float>({1, 3}, {1, 2, 3}), {2, 1})
               .expect<float>({1, 2}, {1, 2})
               .expect<float>({1, 1}, {3}),
           {7, 10, 12});
}

TEST(DecompositionOldest, IndicesFromTheEnd) {
  const auto each_way = [](const OpCase& before, auto&& finish, std::initializer_list<int> opsets) {
    gives_at(finish(OpCase(before)), opsets);
    gives_at(finish(OpCase(before).as_constant()), opsets);
  };
  const std::vector<float> x{1, 2, 3, 4, 5, 6};
  each_way(of("Gather").attribute("axis", int64_t{-1}).input<float>({2, 3}, x).input<int64_t>({2}, {-1, 0}),
           [](OpCase c) {
             return c.expect<float>({2, 2}, {3, 1, 6, 4});
           },
           {7, 8, 9, 10});
  each_way(of("GatherElements").input<float>({2, 3}, x).input<int32_t>({1, 3}, {-1, 0, -2}),
           [](OpCase c) {
             return c.expect<float>({1, 3}, {4, 2, 3});
           },
           {7, 9, 10});
  each_way(of("GatherND").input<float>({2, 3}, x).input<int64_t>({2, 2}, {-1, -1, 0, 1}),
           [](OpCase c) {
             return c.expect<float>({2}, {6, 2});
           },
           {7, 10});
  each_way(of("GatherND")
               .attribute("batch_dims", int64_t{1})
               .input<float>({2, 3}, x)
               .input<int64_t>({2, 1}, {-1, 0}),
           [](OpCase c) {
             return c.expect<float>({2}, {3, 4});
           },
           {7, 10, 11});
  each_way(of("ScatterElements")
               .attribute("axis", int64_t{1})
               .input<float>({2, 3}, x)
               .input<int64_t>({2, 1}, {-1, 0}),
           [](OpCase c) {
             return c.input<float>({2, 1}, {7, 8}).expect<float>({2, 3}, {1, 2, 7, 8, 5, 6});
           },
           {9, 10});
  each_way(of("ScatterND").input<float>({2, 3}, x).input<int64_t>({1, 1}, {-1}),
           [](OpCase c) {
             return c.input<float>({1, 3}, {7, 8, 9}).expect<float>({2, 3}, {1, 2, 3, 7, 8, 9});
           },
           {9, 10});
  for (bool fixed : {false, true}) {
    OpCase c = of("OneHot").input<int64_t>({4}, {1, -1, 3, -4}).input<int64_t>({}, {3});
    if (fixed) c.as_constant();
    gives_at(c.input<float>({2}, {2, 5}).expect<float>({4, 3}, {2, 5, 2, 2, 2, 5, 2, 2, 2, 2, 2, 2}),
             {7, 9, 10});
  }
}

TEST(DecompositionOldest, SumsAlongAnAxis) {
  const auto sums = [](int64_t reverse, int64_t exclusive, std::vector<float> y) {
    OpCase c = of("CumSum").attribute("reverse", reverse).attribute("exclusive", exclusive);
    return c.input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
        .input<int64_t>({}, {-1})
        .as_constant()
        .expect<float>({2, 3}, y);
  };
  gives_at(sums(0, 0, {1, 3, 6, 4, 9, 15}), {7, 8, 9, 10});
  gives_at(sums(1, 0, {6, 5, 3, 15, 11, 6}), {7, 9, 10});
  gives_at(sums(0, 1, {0, 1, 3, 0, 4, 9}), {7, 9, 10});
  gives_at(sums(1, 1, {5, 3, 0, 11, 6, 0}), {7, 9, 10});
  // Infinite elements do not affect sums before them.
  gives_at(of("CumSum")
               .input<float>({3}, {1, inf, 2})
               .input<int32_t>({}, {0})
               .as_constant()
               .expect<float>({3}, {1, inf, inf}),
           {7, 10});
  for (int64_t axis : {0, 1, -1})
    same_at(of("CumSum").input<int64_t>({2, 2}, {1, 2, 3, INT64_MAX}).input<int64_t>({}, {axis % 2}), {7, 10},
            0, 0);
}

TEST(DecompositionOldest, SumsOfProducts) {
  const auto sum = [](const char* equation, std::vector<Shape> shapes) {
    OpCase c = of("Einsum").attribute("equation", std::string(equation));
    for (Shape& s : shapes) c.random(f32, std::move(s));
    return c;
  };
  gives_at(of("Einsum")
               .attribute("equation", std::string("ij,jk->ki"))
               .input<float>({1, 2}, {2, 3})
               .input<float>({2, 2}, {1, 10, 100, 1000})
               .expect<float>({2, 1}, {302, 3020}),
           {7, 9, 11});
  gives_at(of("Einsum")
               .attribute("equation", std::string("ii->i"))
               .input<int32_t>({2, 2}, {1, 2, 3, 4})
               .expect<int32_t>({2}, {1, 4}),
           {7, 11});
  for (const auto& [equation, shapes] : std::vector<std::pair<const char*, std::vector<Shape>>>{
           {"ij->ji", {{2, 3}}},
           {"ij->", {{2, 3}}},
           {"ij", {{2, 3}}},
           {"bii->bi", {{2, 3, 3}}},
           {"iji->j", {{3, 2, 3}}},
           {"bij,bjk->bik", {{2, 3, 4}, {2, 4, 5}}},
           {"...ij,...jk->...ik", {{1, 3, 4}, {2, 4, 5}}},
           {"i,i->", {{4}, {4}}},
           {"i,j->ij", {{2}, {3}}},
           {"bqhd,bkhd->bhqk", {{1, 3, 2, 4}, {1, 5, 2, 4}}},
           {"abcd,cdef->abef", {{2, 2, 3, 4}, {3, 4, 2, 3}}},
           {"abc,cd,be->ade", {{2, 3, 4}, {4, 5}, {3, 2}}},
           {"ij,kl->", {{2, 3}, {2, 2}}},
           {"ij,jk->ik", {{2, 1}, {3, 4}}},
           {"ij,jk->ik", {{2, 0}, {0, 4}}},
           {",ij->ij", {{}, {2, 3}}},
           {"...ii->...i", {{2, 3, 3}}}})
    same_at(sum(equation, shapes), {7, 9, 11});
}

TEST(DecompositionOldest, SequencesTurnedAround) {
  OpCase c = of("ReverseSequence").input<int64_t>({3, 2}, {1, 2, 3, 4, 5, 6}).input<int64_t>({2}, {2, 3});
  gives_at(c.expect<int64_t>({3, 2}, {3, 6, 1, 4, 5, 2}), {7, 8, 9});
  OpCase rows = of("ReverseSequence").attribute("batch_axis", int64_t{0}).attribute("time_axis", int64_t{1});
  gives_at(rows.input<float>({2, 3}, {1, 2, 3, 4, 5, 6})
               .input<int64_t>({2}, {3, 1})
               .expect<float>({2, 3}, {3, 2, 1, 4, 5, 6}),
           {7, 9});
}

TEST(DecompositionOldest, ChoicesWhateverIsNotChosen) {
  OpCase c = of("Where")
                 .input<bool>({3}, {true, false, true})
                 .input<float>({3}, {nan, inf, 1})
                 .input<float>({1}, {-inf});
  gives_at(c.expect<float>({3}, {nan, -inf, 1}), {7, 8});
  gives_at(of("Where")
               .input<bool>({2, 1}, {true, false})
               .input<int64_t>({}, {INT64_MAX})
               .input<int64_t>({2}, {INT64_MIN, 5})
               .expect<int64_t>({2, 2}, {INT64_MAX, INT64_MAX, INT64_MIN, 5}),
           {7, 8});
  gives_at(of("Where")
               .input<bool>({2}, {true, false})
               .input<bool>({2}, {false, false})
               .input<bool>({1}, {true})
               .expect<bool>({2}, {false, true}),
           {7, 8});
}

TEST(DecompositionOldest, Bounds) {
  const std::vector<float> x{-inf, -2, 0, 2, inf, nan};
  gives_at(of("Clip").input<float>({6}, x).input<float>({}, {-1}).input<float>({}, {1}).expect<float>(
               {6}, {-1, -1, 0, 1, 1, nan}),
           {7, 8, 10});
  gives_at(of("Clip").input<double>({2}, {-3, 0.1}).input<double>({}, {0.1}).expect<double>({2}, {0.1, 0.1}),
           {8, 10});
  gives_at(of("Clip")
               .input<int8_t>({3}, {-128, 0, 127})
               .absent()
               .input<int8_t>({}, {5})
               .expect<int8_t>({3}, {-128, 0, 5}),
           {7, 9, 11});
  gives_at(of("Max").input<int64_t>({2}, {INT64_MIN, 7}).input<int64_t>({}, {3}).expect<int64_t>({2}, {3, 7}),
           {7, 9, 11});
  gives_at(
      of("Min").input<float>({2, 1}, {1, 4}).input<float>({2}, {3, 2}).expect<float>({2, 2}, {1, 1, 3, 2}),
      {7});
  gives_at(of("Mean")
               .input<float>({2, 1}, {1, 4})
               .input<float>({2}, {3, 2})
               .expect<float>({2, 2}, {2, 1.5f, 3.5f, 3}),
           {7});
}

TEST(DecompositionOldest, ComparisonsOfAllNumbers) {
  constexpr int64_t big = int64_t{1} << 53;
  const std::vector<int64_t> a{big, -big, INT64_MIN, INT64_MAX, 4294967296, -1},
      b{big + 1, -big - 1, INT64_MAX, INT64_MIN, 4294967297, -4294967296};
  gives_at(of("Less").input<int64_t>({6}, a).input<int64_t>({6}, b).expect<bool>(
               {6}, {true, false, true, false, true, false}),
           {7, 8});
  gives_at(of("Greater").input<int64_t>({6}, a).input<int64_t>({6}, b).expect<bool>(
               {6}, {false, true, false, true, false, true}),
           {7, 8});
  gives_at(of("Less")
               .input<uint64_t>({2}, {UINT64_MAX, 1})
               .input<uint64_t>({2}, {UINT64_MAX - 1, UINT64_MAX})
               .expect<bool>({2}, {false, true}),
           {7});
  const OpCase equal = of("Equal")
                           .input<float>({5}, {nan, inf, -inf, 0, 1})
                           .input<float>({5}, {nan, inf, inf, -0.0f, 1.0000001f});
  gives_at(OpCase(equal).expect<bool>({5}, {false, true, false, true, false}), {7, 10});
  gives_at(of("GreaterOrEqual")
               .input<float>({2}, {nan, 1})
               .input<float>({2}, {nan, 1})
               .expect<bool>({2}, {false, true}),
           {7, 9, 11});
  gives_at(of("Equal")
               .input<uint64_t>({2}, {UINT64_MAX, 1})
               .input<uint64_t>({1}, {UINT64_MAX})
               .expect<bool>({2}, {true, false}),
           {7, 10});
}

TEST(DecompositionOldest, NumbersOneByOne) {
  gives_at(of("Round")
               .input<float>({8}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 3.3f, 8388609, inf})
               .expect<float>({8}, {0, 2, 2, 0, -2, 3, 8388609, inf}),
           {7, 10});
  gives_at(of("Sign").input<float>({4}, {-3, 0, inf, nan}).expect<float>({4}, {-1, 0, 1, nan}), {7, 8});
  gives_at(of("Sign").input<int64_t>({3}, {INT64_MIN, 0, 5}).expect<int64_t>({3}, {-1, 0, 1}), {7});
  gives_at(of("IsNaN").input<float>({4}, {nan, inf, 0, 0.5f}).expect<bool>({4}, {true, false, false, false}),
           {7, 8});
  gives_at(of("IsInf")
               .attribute("detect_negative", int64_t{0})
               .input<double>({4}, {inf, -inf, nan, 1e308})
               .expect<bool>({4}, {true, false, false, false}),
           {7, 9});
  gives_at(of("Mod")
               .input<int32_t>({4}, {7, -7, 7, -7})
               .input<int32_t>({4}, {3, 3, -3, -3})
               .expect<int32_t>({4}, {1, 2, -2, -1}),
           {7, 9});
  gives_at(of("Mod")
               .attribute("fmod", int64_t{1})
               .input<int8_t>({2}, {7, -7})
               .input<int8_t>({2}, {3, 3})
               .expect<int8_t>({2}, {1, -1}),
           {7, 9});
  for (const char* direction : {"LEFT", "RIGHT"}) {
    OpCase c = of("BitShift").attribute("direction", std::string(direction));
    same_at(OpCase(c).input<uint8_t>({5}, {255, 3, 128, 1, 9}).input<uint8_t>({5}, {1, 7, 3, 0, 2}), {7, 10},
            0, 0);
    same_at(c.input<uint64_t>({3}, {UINT64_MAX, 3, 1}).input<uint64_t>({3}, {63, 1, 0}), {7, 10}, 0, 0);
  }
  for (const char* op : {"Sinh", "Cosh"})
    same_at(of(op).input<float>({5}, {-9, -1e-6f, 0, 1e-3f, 5}), {7, 8}, 1e-6, 1e-12);
  gives_at(of("Shrink")
               .attribute("lambd", 1.0f)
               .attribute("bias", 0.5f)
               .input<float>({4}, {-2, 1, 3, nan})
               .expect<float>({4}, {-1.5f, 0, 2.5f, 0}),
           {7, 8});
  gives_at(of("ThresholdedRelu").input<float>({4}, {-inf, 1, 3, inf}).expect<float>({4}, {0, 0, 3, inf}),
           {7, 9});
}

TEST(DecompositionOldest, PartsWithSteps) {
  const auto part = [](std::vector<int64_t> starts, std::vector<int64_t> ends, std::vector<int64_t> steps,
                       bool fixed) {
    OpCase c = of("Slice").input<float>({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
    for (const auto* list : {&starts, &ends}) {
      c = ints(std::move(c), *list);
      if (fixed) c.as_constant();
    }
    return ints(ints(std::move(c), {-1}).as_constant(), steps).as_constant();
  };
  for (bool fixed : {false, true}) {
    gives_at(part({-1}, {INT64_MIN}, {-2}, fixed).expect<float>({2, 2}, {4, 2, 8, 6}), {7, 9});
    gives_at(part({1}, {INT64_MAX}, {2}, fixed).expect<float>({2, 2}, {2, 4, 6, 8}), {7, 9});
    gives_at(part({-3}, {-1}, {1}, fixed).expect<float>({2, 2}, {2, 3, 6, 7}), {7, 9});
    gives_at(part({3}, {1}, {1}, fixed).expect<float>({2, 0}, {}), {7, 9});
  }
  same_at(ints(ints(ints(of("Slice").random(f32, {3, 4}), {1}), {3}), {-1}), {10}, 0, 0);
}

TEST(DecompositionOldest, CountsAndShapes) {
  gives_at(
      of("Range").input<int64_t>({}, {10}).input<int64_t>({}, {1}).input<int64_t>({}, {-4}).expect<int64_t>(
          {3}, {10, 6, 2}),
      {7, 9, 10});
  gives_at(
      of("Range").input<int32_t>({}, {3}).input<int32_t>({}, {3}).input<int32_t>({}, {1}).expect<int32_t>({0},
                                                                                                          {}),
      {7, 10});
  gives_at(of("Range")
               .input<float>({}, {0})
               .input<float>({}, {1})
               .input<float>({}, {0.4f})
               .expect<float>({3}, {0, 0.4f, 0.8f}),
           {7, 10});
  gives_at(ints(of("Expand").input<float>({2, 1}, {1, 2}), {2}).expect<float>({2, 2}, {1, 1, 2, 2}), {7});
  gives_at(
      ints(of("Expand").input<float>({2}, {1, 2}), {2, 1}).as_constant().expect<float>({2, 2}, {1, 2, 1, 2}),
      {7});
  gives_at(ints(of("ConstantOfShape").attribute("value", Tensor::from<int64_t>({1}, std::vector<int64_t>{7})),
                {2, 1})
               .expect<int64_t>({2, 1}, {7, 7}),
           {7, 8});
  gives_at(of("EyeLike")
               .attribute("k", int64_t{1})
               .input<int32_t>({2, 3}, {9, 9, 9, 9, 9, 9})
               .expect<int32_t>({2, 3}, {0, 1, 0, 0, 0, 1}),
           {7, 8});
  for (const char* mode : {"constant", "edge", "reflect"})
    for (const std::vector<int64_t>& pads : std::vector<std::vector<int64_t>>{{1, 0, 2, 1}, {0, -1, 0, 2}}) {
      OpCase c = of("Pad").attribute("mode", std::string(mode)).random(f32, {3, 4});
      same_at(ints(c, pads), {7, 9, 10}, 0, 0);
      OpCase whole =
          of("Pad").attribute("mode", std::string(mode)).input<int64_t>({2, 2}, {1, 2, 3, INT64_MAX});
      same_at(ints(whole, {0, 1, 0, 1}).as_constant(), {7, 10}, 0, 0);
    }
  gives_at(ints(of("Pad").input<float>({0}, {}), {1, 1}).expect<float>({2}, {0, 0}), {7, 10});
  gives_at(ints(of("Pad").input<bool>({2}, {true, true}), {1, 0}).expect<bool>({3}, {false, true, true}),
           {7, 11, 12});
}

TEST(DecompositionOldest, LeastAndGreatest) {
  const auto found = [](int64_t largest, std::vector<int64_t> values, std::vector<int64_t> places) {
    OpCase c = of("TopK").attribute("largest", largest).input<int32_t>({5}, {3, INT32_MIN, 7, 3, INT32_MAX});
    std::vector<int32_t> all(values.begin(), values.end());
    return ints(std::move(c), {3}).expect<int32_t>({3}, all).expect<int64_t>({3}, places);
  };
  gives_at(found(1, {INT32_MAX, 7, 3}, {4, 2, 0}), {7, 9, 10});
  gives_at(found(0, {INT32_MIN, 3, 3}, {1, 0, 3}), {7, 9, 10});
  gives_at(of("ArgMax")
               .attribute("select_last_index", int64_t{1})
               .attribute("keepdims", int64_t{0})
               .input<float>({4}, {1, 5, 5, 2})
               .expect<int64_t>({}, {2}),
           {7, 11});
}

TEST(DecompositionOldest, ResizedAxisByAxis) {
  const auto twice = [](const char* mode, std::vector<float> y) {
    OpCase c = of("Resize").attribute("mode", std::string(mode)).input<float>({1, 1, 1, 2}, {1, 2});
    return c.absent().input<float>({4}, {1, 1, 1, 2}).as_constant().expect<float>({1, 1, 1, 4}, y);
  };
  gives_at(twice("nearest", {1, 1, 2, 2}), {7, 9, 10});
  gives_at(twice("linear", {1, 1.25f, 1.75f, 2}), {7, 9, 10});
  for (const char* mode : {"nearest", "linear", "cubic"})
    for (const char* places : {"half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel",
                               "half_pixel_symmetric", "tf_crop_and_resize"})
      for (const std::vector<int64_t>& sizes :
           std::vector<std::vector<int64_t>>{{1, 2, 7, 3}, {1, 2, 4, 5}, {1, 2, 8, 10}}) {
        OpCase c = of("Resize")
                       .attribute("mode", std::string(mode))
                       .attribute("coordinate_transformation_mode", std::string(places));
        c.random(f32, {1, 2, 4, 5}).input<float>({8}, {0, 0, 0.1f, 0.2f, 1, 1, 0.8f, 1.3f}).as_constant();
        same_at(ints(c.absent(), sizes).as_constant(), {7, 9, 10}, 1e-5, 1e-5);
      }
  for (const char* mode : {"linear", "cubic"}) {
    OpCase c = of("Resize")
                   .attribute("mode", std::string(mode))
                   .attribute("antialias", int64_t{1})
                   .random(f32, {1, 1, 8, 9});
    same_at(ints(c.absent().absent(), {1, 1, 3, 4}).as_constant(), {7, 11, 17}, 1e-5, 1e-5);
  }
}

TEST(DecompositionOldest, ScalesThatARunComputes) {
  OpCase c = of("Resize").attribute("mode", std::string("linear"));
  c.attribute("coordinate_transformation_mode", std::string("asymmetric")).input<float>({2}, {1, 2});
  gives_at(c.absent().input<float>({1}, {2}).expect<float>({4}, {1, 1.5f, 2, 2}), {10, 11, 12});
}

/// Returns the tensors as values.
std::vector<Value> values_of(std::initializer_list<Tensor> tensors) {
  std::vector<Value> all;
  for (const Tensor& t : tensors) all.emplace_back(t);
  return all;
}

/// The same answers at these opsets as as it is.
void same_model_at(const ModelBuilder& b, const std::vector<Value>& inputs,
                   std::initializer_list<int> opsets) {
  const auto want = answers(b.model, inputs);
  for (int opset : opsets) {
    SCOPED_TRACE(opset);
    const auto got = answers(written(b.model, opset), inputs);
    ASSERT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(difference(got[i], want[i], 1e-5, 1e-6), "") << i;
  }
}

TEST(DecompositionOldest, ScansAsLoops) {
  const Tensor start = Tensor::from({2}, std::vector<float>{0.5f, 1}),
               steps = Tensor::from({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  for (int64_t axis : {1, -1})
    for (int64_t turned : {0, 1}) {
      ModelBuilder b(13);
      b.input("s", "float[2]").input("x", "float[2,3]");
      const auto body = make_body({{"a", "float[2]"}, {"e", "float[2]"}},
                                  {make_node("Add", {"a", "e"}, {"n"}), make_node("Identity", {"n"}, {"o"})},
                                  {{"n", "float[2]"}, {"o", "float[2]"}});
      b.node("Scan", {"s", "x"}, {"f", "y"},
             {graph_attribute("body", body), int_attribute("num_scan_inputs", 1),
              ints_attribute("scan_input_axes", {axis}), ints_attribute("scan_input_directions", {turned}),
              ints_attribute("scan_output_axes", {axis}),
              ints_attribute("scan_output_directions", {1 - turned})});
      b.output("f", "float[2]").output("y", "float[2,3]");
      same_model_at(b, values_of({start, steps}), {7, 8, 9, 10, 11});
    }
}

TEST(DecompositionOldest, LoopsThatHandNothingOn) {
  ModelBuilder b(13);
  b.input("n", "int64[]").input("x", "float[2]");
  const auto body = make_body(
      {{"i", "int64[]"}, {"c", "bool[]"}},
      {make_node("Identity", {"c"}, {"d"}), make_node("Cast", {"i"}, {"f"}, {int_attribute("to", 1)}),
       make_node("Mul", {"f", "x"}, {"o"})},
      {{"d", "bool[]"}, {"o", "float[2]"}});
  b.node("Loop", {"n", ""}, {"y"}, {graph_attribute("body", body)}).output("y");
  same_model_at(b, values_of({Tensor::scalar<int64_t>(3), Tensor::from({2}, std::vector<float>{2, 5})}),
                {7, 9, 10, 11, 13});
}

TEST(DecompositionOldest, ScalesThatComeToAnotherSize) {
  // 9 / 5 in single precision is less than that.
  OpCase c =
      of("Resize").attribute("mode", std::string("nearest")).attribute("nearest_mode", std::string("floor"));
  c.attribute("coordinate_transformation_mode", std::string("asymmetric")).input<float>({5}, {1, 2, 3, 4, 5});
  c = ints(c.absent().absent(), {9}).as_constant();
  gives_at(c.expect<float>({9}, {1, 1, 2, 2, 3, 3, 4, 4, 5}), {7, 9, 10});
  onnx::Model m;
  m.proto = model_of(c);
  for (int opset : {7, 10}) EXPECT_EQ(written(m, opset).proto.graph->node.at(0).op_type, "Gather") << opset;
}

TEST(DecompositionOldest, UpsampleWhereItSaysTheSame) {
  for (const char* mode : {"nearest", "linear"}) {
    OpCase c =
        of("Resize").attribute("mode", std::string(mode)).attribute("nearest_mode", std::string("floor"));
    c.attribute("coordinate_transformation_mode", std::string("asymmetric"))
        .random(f32, {1, 1, 2, 3})
        .absent()
        .absent();
    c = ints(std::move(c), {1, 1, 4, 6}).as_constant();
    onnx::Model m;
    m.proto = model_of(c);
    for (int opset : {7, 9})
      EXPECT_EQ(written(m, opset).proto.graph->node.at(0).op_type, "Upsample") << opset;
    EXPECT_EQ(written(m, 10).proto.graph->node.at(0).op_type, "Resize");
    same_at(c, {7, 9, 10});
  }
}

TEST(DecompositionOldest, LossesOfClasses) {
  for (const char* op : {"NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"})
    for (const char* reduction : {"none", "sum", "mean"})
      for (bool weighted : {false, true})
        for (std::optional<int64_t> ignored :
             {std::optional<int64_t>(), std::optional<int64_t>(-1), std::optional<int64_t>(2)}) {
          OpCase c = of(op).attribute("reduction", std::string(reduction)).random(f32, {2, 3, 2});
          if (ignored) c.attribute("ignore_index", *ignored);
          c.input<int64_t>({2, 2}, {0, 2, ignored == -1 ? -1 : 1, 2});
          if (weighted) c.input<float>({3}, {0.5f, 2, 1});
          same_at(c, {7, 9, 11});
        }
  gives_at(of("NegativeLogLikelihoodLoss")
               .input<float>({2, 2}, {-1, -2, -3, -4})
               .input<int64_t>({2}, {1, 0})
               .expect<float>({}, {2.5f}),
           {7, 11});
}

TEST(DecompositionOldest, ProductsOfIntegers) {
  gives_at(of("MatMul")
               .input<int64_t>({1, 2}, {int64_t{1} << 53, 1})
               .input<int64_t>({2, 1}, {1, 1})
               .expect<int64_t>({1, 1}, {(int64_t{1} << 53) + 1}),
           {7, 8});
  gives_at(of("MatMul").input<int32_t>({2}, {2, 3}).input<int32_t>({2}, {5, 7}).expect<int32_t>({}, {31}),
           {7});
  gives_at(of("Gemm")
               .attribute("transB", int64_t{1})
               .input<float>({1, 2}, {1, 2})
               .input<float>({1, 2}, {3, 4})
               .expect<float>({1, 1}, {11}),
           {7, 10});
  gives_at(of("MatMulInteger")
               .input<uint8_t>({1, 2}, {250, 4})
               .input<uint8_t>({2, 1}, {3, 9})
               .input<uint8_t>({}, {2})
               .expect<int32_t>({1, 1}, {762}),
           {7, 9});
  gives_at(of("DepthToSpace")
               .attribute("blocksize", int64_t{2})
               .attribute("mode", std::string("CRD"))
               .input<float>({1, 8, 1, 1}, {1, 2, 3, 4, 5, 6, 7, 8})
               .expect<float>({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}),
           {7, 10});
  gives_at(of("MaxPool")
               .attribute("kernel_shape", std::vector<int64_t>{2})
               .input<uint8_t>({1, 1, 3}, {255, 3, 7})
               .expect<uint8_t>({1, 1, 2}, {255, 7}),
           {8, 11});
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
