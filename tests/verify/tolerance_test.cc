// Tests how the results of a verification are compared, and what inputs it makes.
#include "verify/tolerance.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "lathe/lathe.h"
#include "support/error_code.h"
#include "verify/synthetic_inputs.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using testing::code_of;

Difference of(const Tensor& got, const Tensor& want, Held held = Held::all) {
  const std::vector<Value> a{got}, b{want};
  const std::vector<std::string> names{"y"};
  return tolerance_difference(a, b, names, held);
}
Tensor floats(std::vector<float> v) { return Tensor::from<float>({static_cast<int64_t>(v.size())}, v); }

TEST(VerifyTolerance, FloatsAreHeldAgainstTheLargest) {
  EXPECT_TRUE(of(floats({1000, 0.05f}), floats({1000, 0})).within);
  const Difference d = of(floats({1000, 0.5f}), floats({1000, 0}));
  EXPECT_FALSE(d.within);
  EXPECT_EQ(d.expected, "y[1] = 0");
  EXPECT_EQ(d.got, "0.5");
  EXPECT_FLOAT_EQ(static_cast<float>(d.largest), 5e-4f);
  EXPECT_FALSE(of(floats({1e-37f}), floats({2e-37f})).within);
  EXPECT_FALSE(of(floats({1}), Tensor(DataType::float64, {1})).within);
  EXPECT_FALSE(of(floats({1}), floats({1, 1})).within);
}

TEST(VerifyTolerance, WholeNumbersAreExact) {
  const auto ints = [](int64_t a) { return Tensor::from<int64_t>({1}, std::vector<int64_t>{a}); };
  EXPECT_TRUE(of(ints(7), ints(7)).within);
  EXPECT_FALSE(of(ints(1000001), ints(1000000)).within);
  EXPECT_FALSE(of(Tensor::scalar(true), Tensor::scalar(false)).within);
}

TEST(VerifyTolerance, WhatIsNotFinite) {
  const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(of(floats({inf, nan, 1}), floats({inf, nan, 1})).within);
  EXPECT_FALSE(of(floats({-inf}), floats({inf})).within);
  EXPECT_TRUE(of(floats({-inf, 3}), floats({inf, nan}), Held::finite).within);
  EXPECT_FALSE(of(floats({nan}), floats({3}), Held::finite).within);
  EXPECT_TRUE(of(floats({nan, 3}), floats({3, 4}), Held::none).within);
  EXPECT_FALSE(of(floats({3}), floats({3, 4}), Held::none).within);
}

TEST(VerifyInputs, KindsOfValues) {
  const IoInfo x{.name = "x",
                 .type = "tensor(float)",
                 .element_type = DataType::float32,
                 .shape = SymShape{Dim::symbol("n"), Dim(4)}};
  const auto sets = shape_sets({x}, {}, {});
  ASSERT_EQ(sets.size(), 4u);
  EXPECT_EQ(sets[3].label, "n=17");
  for (ValueClass kind : value_classes) {
    const auto made = synthetic_inputs({x}, sets[3], kind, Care::as_recorded, 1, {});
    const auto s = statistics((*made)[0].tensor());
    const auto fits = [&] {
      switch (kind) {
        case ValueClass::zeros:
          return s->max == 0;
        case ValueClass::ones:
          return s->min == 1;
        case ValueClass::large:
          return s->max > 1e3;
        case ValueClass::uneven:
          return std::max(s->max, -s->min) > 1e3 && std::abs(s->mean) < 1e3;
        case ValueClass::tiny:
          return s->max > 0 && s->max < 1.2e-38;
        case ValueClass::negative:
          return s->max < 0;
        case ValueClass::non_finite:
          return s->nans > 0 && s->infinities > 0;
        case ValueClass::ordinary:
          break;
      }
      return s->min >= -1 && s->max <= 1 && s->nans == 0;
    };
    EXPECT_TRUE(fits()) << name_of(kind);
  }
  IoInfo shapeless = x;
  shapeless.name = "z";
  shapeless.shape.reset();
  EXPECT_EQ(code_of([&] { shape_sets({shapeless}, {}, {}); }), Code::bad_argument);
  EXPECT_EQ(shape_sets({shapeless}, {}, {{"z", {2, 3}}}).size(), 1u);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
