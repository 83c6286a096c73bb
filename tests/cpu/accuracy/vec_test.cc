// Elementwise functions of every instruction set: errors in units of the last place over the whole range of
// float, special values, tails, and the walk over broadcast operands.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/cpu.h"
#include "cpu/elementwise/elementwise.h"
#include "cpu/elementwise/typed_elementwise.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::BinaryOp;
using cpu::UnaryOp;

constexpr float inf = std::numeric_limits<float>::infinity();
const float nan = std::numeric_limits<float>::quiet_NaN();

Tensor tensor_on(const Shape& shape, const float* data) {
  return Tensor::view(DataType::float32, shape, const_cast<float*>(data));
}

/// The distance in units of the last place of `want` (of the smallest normal number below that).
double ulps(float got, double want) {
  const float nearest = static_cast<float>(want);
  if (std::isnan(want) || std::isnan(got)) return std::isnan(want) == std::isnan(got) ? 0 : inf;
  if (std::isinf(nearest) || std::isinf(got)) return nearest == got || std::abs(want) > 3.4e38 ? 0 : inf;
  const double size = std::max(std::abs(want), static_cast<double>(std::numeric_limits<float>::min()));
  return std::abs(got - want) / (std::exp2(std::floor(std::log2(size)) - 23));
}

/// Every 16,411th float: all exponents, both signs, denormals, infinities and NaN among them.
std::vector<float> sweep() {
  std::vector<float> x{0.0f,      -0.0f,     inf,       -inf,   nan,      1.0f,   -1.0f,
                       0x1p-149f, 88.72283f, 88.72284f, -87.4f, -103.97f, -104.1f};
  for (uint64_t bits = 0; bits < (uint64_t{1} << 32); bits += 16411) {
    const uint32_t b = static_cast<uint32_t>(bits);
    float f;
    std::memcpy(&f, &b, sizeof f);
    x.push_back(f);
  }
  return x;
}

struct Function {
  const char* name;
  UnaryOp op;
  double (*exact)(double);
  double max_ulps;
  float a = 0, b = 0;
};

const Function functions[] = {
    {"abs", UnaryOp::absolute, [](double x) { return std::abs(x); }, 0},
    {"neg", UnaryOp::negative, [](double x) { return -x; }, 0},
    {"reciprocal", UnaryOp::reciprocal, [](double x) { return 1 / x; }, 0.5},
    {"sqrt", UnaryOp::square_root, [](double x) { return std::sqrt(x); }, 0.5},
    {"exp", UnaryOp::exponential, [](double x) { return std::exp(x); }, 2},
    {"log", UnaryOp::logarithm, [](double x) { return std::log(x); }, 2},
    {"erf", UnaryOp::error_function, [](double x) { return std::erf(x); }, 2},
    {"floor", UnaryOp::floor, [](double x) { return std::floor(x); }, 0},
    {"ceil", UnaryOp::ceiling, [](double x) { return std::ceil(x); }, 0},
    {"round", UnaryOp::nearest_even, [](double x) { return std::nearbyint(x); }, 0},
    {"tanh", UnaryOp::tangent_h, [](double x) { return std::tanh(x); }, 3},
    {"sigmoid", UnaryOp::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 3},
    {"relu", UnaryOp::relu, [](double x) { return x > 0 || std::isnan(x) ? x : 0; }, 0},
    {"leaky relu", UnaryOp::leaky_relu, [](double x) { return x < 0 ? 0.25 * x : x; }, 0.5, 0.25f},
    {"elu", UnaryOp::elu, [](double x) { return x < 0 ? 0.5 * std::expm1(x) : x; }, 4, 0.5f},
    {"selu", UnaryOp::selu, [](double x) { return 1.5 * (x < 0 ? 0.5 * std::expm1(x) : x); }, 5, 0.5f, 1.5f},
    {"celu", UnaryOp::celu, [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }, 4, 2.0f},
    {"softplus", UnaryOp::softplus,
     [](double x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }, 4},
    {"softsign", UnaryOp::softsign,
     [](double x) { return std::isinf(x) ? std::nan("") : x / (1 + std::abs(x)); }, 2},
    // Far below zero a rounding of the square is worth that many of the result, where no fused product undoes
    // it.
    {"gelu", UnaryOp::gelu, [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, 128},
    {"hard sigmoid", UnaryOp::hard_sigmoid,
     [](double x) { return std::isnan(x) ? x : std::min(1.0, std::max(0.0, 0.25 * x + 0.5)); }, 2, 0.25f,
     0.5f},
    {"clip", UnaryOp::clip, [](double x) { return std::isnan(x) ? x : std::min(2.0, std::max(-1.0, x)); }, 0,
     -1.0f, 2.0f},
    {"sign", UnaryOp::sign, [](double x) { return x > 0   ? 1
                                                  : x < 0 ? -1
                                                          : x; }, 0},
    {"is nan", UnaryOp::is_nan, [](double x) { return std::isnan(x) ? 1.0 : 0.0; }, 0},
    {"is infinite", UnaryOp::is_infinite, [](double x) { return std::isinf(x) ? 1.0 : 0.0; }, 0, 1.0f, 1.0f},
    {"is plus infinity", UnaryOp::is_infinite, [](double x) { return std::isinf(x) && x > 0 ? 1.0 : 0.0; }, 0,
     0.0f, 1.0f},
    {"truth", UnaryOp::not_zero, [](double x) { return x != 0 ? 1.0 : 0.0; }, 0},
    {"sin", UnaryOp::sine, [](double x) { return std::sin(x); }, 2},
    {"cos", UnaryOp::cosine, [](double x) { return std::cos(x); }, 2},
    {"tan", UnaryOp::tangent, [](double x) { return std::tan(x); }, 3.5},
    {"asin", UnaryOp::inverse_sine, [](double x) { return std::asin(x); }, 2},
    {"acos", UnaryOp::inverse_cosine, [](double x) { return std::acos(x); }, 2},
    {"atan", UnaryOp::inverse_tangent, [](double x) { return std::atan(x); }, 2},
    {"sinh", UnaryOp::sine_h, [](double x) { return std::sinh(x); }, 3.5},
    {"cosh", UnaryOp::cosine_h, [](double x) { return std::cosh(x); }, 3},
    {"asinh", UnaryOp::inverse_sine_h, [](double x) { return std::asinh(x); }, 2},
    {"acosh", UnaryOp::inverse_cosine_h, [](double x) { return std::acosh(x); }, 2},
    {"atanh", UnaryOp::inverse_tangent_h, [](double x) { return std::atanh(x); }, 2},
    {"shrink", UnaryOp::shrink, [](double x) { return x < -2  ? x + 0.5
                                                      : x > 2 ? x - 0.5
                                                              : 0; }, 0.5, 0.5f,
     2.0f},
    {"thresholded relu", UnaryOp::thresholded_relu, [](double x) { return x > 1 ? x : 0; }, 0, 1.0f},
};

std::vector<float> apply(Isa isa, UnaryOp op, const std::vector<float>& x, float a, float b) {
  std::vector<float> y(x.size());
  WorkerContext c;
  cpu::apply_unary(isa, op, x.data(), y.data(), static_cast<int64_t>(x.size()), a, b, c);
  return y;
}

TEST(CpuVec, FunctionsOverTheWholeRange) {
  const std::vector<float> x = sweep();
  for (Isa isa : usable_isas())
    for (const Function& f : functions) {
      const std::vector<float> y = apply(isa, f.op, x, f.a, f.b);
      double worst = 0;
      float where = 0, got = 0;
      for (size_t i = 0; i < x.size(); ++i) {
        const double e = ulps(y[i], f.exact(x[i]));
        if (e > worst) worst = e, where = x[i], got = y[i];
      }
      EXPECT_LE(worst, f.max_ulps + 1e-6) << f.name << "(" << where << ") = " << got << " instead of "
                                          << f.exact(where) << ", " << name_of(isa);
    }
}

/// Sines subtract multiples of pi / 2, which cancels most digits of numbers next to them.
TEST(CpuVec, SinesNextToMultiplesOfHalfPi) {
  std::vector<float> x{-0.0f};
  for (int64_t n = 1; n < 400000; n += n < 4096 ? 1 : 37) {
    const float nearest = static_cast<float>(static_cast<double>(n) * M_PI_2);
    for (float at : {std::nextafter(nearest, 0.0f), nearest, std::nextafter(nearest, inf)}) {
      x.push_back(at);
      x.push_back(-at);
    }
  }
  for (Isa isa : usable_isas()) {
    const std::vector<float> sines = apply(isa, UnaryOp::sine, x, 0, 0),
                             cosines = apply(isa, UnaryOp::cosine, x, 0, 0),
                             tangents = apply(isa, UnaryOp::tangent, x, 0, 0);
    EXPECT_TRUE(std::signbit(sines[0]) && sines[0] == 0) << name_of(isa);
    for (size_t i = 0; i < x.size(); ++i) {
      ASSERT_LE(ulps(sines[i], std::sin(static_cast<double>(x[i]))), 2) << x[i] << " " << name_of(isa);
      ASSERT_LE(ulps(cosines[i], std::cos(static_cast<double>(x[i]))), 2) << x[i] << " " << name_of(isa);
      ASSERT_LE(ulps(tangents[i], std::tan(static_cast<double>(x[i]))), 3.5) << x[i] << " " << name_of(isa);
    }
  }
}

TEST(CpuVec, OddFunctionsKeepTheSignOfZero) {
  for (Isa isa : usable_isas())
    for (UnaryOp op : {UnaryOp::sine, UnaryOp::tangent, UnaryOp::inverse_sine, UnaryOp::inverse_tangent,
                       UnaryOp::sine_h, UnaryOp::inverse_sine_h, UnaryOp::inverse_tangent_h}) {
      const std::vector<float> y = apply(isa, op, {0.0f, -0.0f}, 0, 0);
      EXPECT_TRUE(y[0] == 0 && !std::signbit(y[0])) << static_cast<int>(op) << name_of(isa);
      EXPECT_TRUE(y[1] == 0 && std::signbit(y[1])) << static_cast<int>(op) << name_of(isa);
    }
}

/// The parameter tells whether the processor divides fast.
class Divisions : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override { cpu::use_division(GetParam()); }
  void TearDown() override { cpu::use_division(cpu_features().avx512_divides); }
};
INSTANTIATE_TEST_SUITE_P(CpuVec, Divisions, ::testing::Bool());

TEST_P(Divisions, FunctionsWithoutABoundInUlps) {
  // These cancel near their zeros: what counts is the error beside the size of x.
  const std::vector<float> x = sweep();
  const Function cancelling[] = {
      {"gelu tanh", UnaryOp::gelu_tanh,
       [](double v) { return 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))); },
       4},
      {"swish", UnaryOp::swish, [](double v) { return v / (1 + std::exp(-2 * v)); }, 4, 2.0f},
      {"mish", UnaryOp::mish, [](double v) { return v * std::tanh(v > 40 ? v : std::log1p(std::exp(v))); },
       8},
      {"hard swish", UnaryOp::hard_swish,
       [](double v) { return v * std::min(1.0, std::max(0.0, v / 6 + 0.5)); }, 4},
  };
  for (Isa isa : usable_isas())
    for (const Function& f : cancelling) {
      const std::vector<float> y = apply(isa, f.op, x, f.a, f.b);
      for (size_t i = 0; i < x.size(); ++i) {
        if (std::isnan(x[i])) {
          ASSERT_TRUE(std::isnan(y[i])) << f.name;
        } else if (x[i] < -1e12f && std::isfinite(x[i])) {
          ASSERT_EQ(y[i], 0) << f.name << "(" << x[i] << ") " << name_of(isa);
        } else if (std::abs(x[i]) < 1e12f) {
          ASSERT_NEAR(y[i], f.exact(x[i]), f.max_ulps * 0x1p-24 * std::abs(x[i]) + 1e-38)
              << f.name << "(" << x[i] << ") " << name_of(isa);
        }
      }
    }
}

/// The formulas give infinity times 0.
TEST_P(Divisions, InfinitiesTimesASigmoid) {
  struct Side {
    UnaryOp op;
    float a, none;  // none: whose sigmoid is 0
  };
  for (Isa isa : usable_isas())
    for (const Side& s :
         {Side{UnaryOp::swish, 1, -inf}, Side{UnaryOp::swish, 2, -inf}, Side{UnaryOp::swish, -1, inf},
          Side{UnaryOp::gelu, 0, -inf}, Side{UnaryOp::gelu_tanh, 0, -inf}}) {
      const std::vector<float> y = apply(isa, s.op, {s.none, -s.none, 2 * s.none / 3, s.none / 4}, s.a, 0);
      EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[2]) && std::isnan(y[3]))
          << name_of(isa) << static_cast<int>(s.op);
      EXPECT_EQ(y[1], -s.none) << name_of(isa) << static_cast<int>(s.op);
    }
}

TEST(CpuVec, TailsStayInside) {
  Random random(5);
  for (Isa isa : usable_isas())
    for (int64_t n = 0; n < 40; ++n) {
      const Fenced x(static_cast<size_t>(n), random);
      Fenced y(static_cast<size_t>(n));
      WorkerContext c;
      cpu::apply_unary(isa, UnaryOp::linear, x.data(), y.data(), n, 2, 1, c);
      EXPECT_TRUE(y.intact()) << n;
      for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], 2 * x[i] + 1);
    }
}

int64_t offset(const Shape& shape, const Shape& out, int64_t index) {
  int64_t at = 0, stride = 1;
  for (size_t a = out.size(); a-- > 0; index /= out[a]) {
    if (out.size() - a > shape.size()) break;
    const int64_t size = shape[shape.size() - (out.size() - a)];
    at += (size == 1 ? 0 : index % out[a]) * stride;
    stride *= size;
  }
  return at;
}

TEST(CpuVec, Broadcasting) {
  const std::pair<Shape, Shape> pairs[] = {{{}, {}},
                                           {{7}, {}},
                                           {{}, {33}},
                                           {{5, 7}, {7}},
                                           {{5, 1}, {5, 7}},
                                           {{3, 1, 5}, {4, 1}},
                                           {{2, 3, 4, 5}, {3, 1, 1}},
                                           {{1, 3, 1}, {2, 1, 40}},
                                           {{6, 1}, {1, 9}},
                                           {{2, 0, 3}, {3}},
                                           {{1, 1}, {1}},
                                           {{4, 5, 6}, {4, 5, 6}},
                                           {{3, 20000}, {3, 1}},
                                           {{2, 1, 3, 1, 5}, {4, 1, 2, 5}},
                                           {{2, 3, 50, 16}, {3, 1, 16}},
                                           {{3, 1, 16}, {2, 3, 50, 16}},
                                           {{3, 90, 10}, {3, 1, 10}},
                                           {{3, 2000, 64}, {64}},
                                           {{700, 3}, {700, 1}},
                                           {{4, 1, 16}, {1, 40, 16}}};
  Random random(3);
  for (Isa isa : usable_isas())
    for (auto& [left, right] : pairs)
      for (int threads : {1, 3})
        for (BinaryOp op : {BinaryOp::add, BinaryOp::subtract, BinaryOp::multiply, BinaryOp::divide,
                            BinaryOp::minimum, BinaryOp::maximum, BinaryOp::parametric_relu}) {
          Shape out(std::max(left.size(), right.size()), 1);
          for (const Shape* s : {&left, &right})
            for (size_t i = 1; i <= s->size(); ++i)
              if ((*s)[s->size() - i] != 1) out[out.size() - i] = (*s)[s->size() - i];
          const Fenced x(static_cast<size_t>(count_of(left)), random),
              y(static_cast<size_t>(count_of(right)), random);
          Fenced z(static_cast<size_t>(count_of(out)));
          WorkerContext c(threads);
          Tensor to = tensor_on(out, z.data());
          cpu::apply_binary(isa, op, tensor_on(left, x.data()), tensor_on(right, y.data()), to, c);
          EXPECT_TRUE(z.intact());
          for (int64_t i = 0; i < count_of(out); ++i) {
            const float a = x[static_cast<size_t>(offset(left, out, i))],
                        b = y[static_cast<size_t>(offset(right, out, i))];
            const float want = op == BinaryOp::add        ? a + b
                               : op == BinaryOp::subtract ? a - b
                               : op == BinaryOp::multiply ? a * b
                               : op == BinaryOp::divide   ? a / b
                               : op == BinaryOp::minimum  ? std::min(a, b)
                               : op == BinaryOp::maximum  ? std::max(a, b)
                                                          : (a < 0 ? a * b : a);
            ASSERT_EQ(z[static_cast<size_t>(i)], want)
                << describe(left) << " with " << describe(right) << " at " << i;
          }
        }
}

TEST(CpuVec, MinimumAndMaximumPassNanOn) {
  const std::vector<float> x{nan, 1, nan, 2}, y{1, nan, nan, 3};
  for (Isa isa : usable_isas())
    for (BinaryOp op : {BinaryOp::minimum, BinaryOp::maximum}) {
      std::vector<float> z(4);
      WorkerContext c;
      Tensor to = tensor_on({4}, z.data());
      cpu::apply_binary(isa, op, tensor_on({4}, x.data()), tensor_on({4}, y.data()), to, c);
      for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(std::isnan(z[i])) << i;
      EXPECT_EQ(z[3], op == BinaryOp::minimum ? 2 : 3);
    }
}

TEST(CpuVec, RelationsAndRemainders) {
  struct Relation {
    BinaryOp op;
    double (*exact)(double, double);
  };
  const Relation relations[] = {
      {BinaryOp::equal, [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {BinaryOp::less, [](double a, double b) { return a < b ? 1.0 : 0.0; }},
      {BinaryOp::less_or_equal, [](double a, double b) { return a <= b ? 1.0 : 0.0; }},
      {BinaryOp::differ, [](double a, double b) { return a != b ? 1.0 : 0.0; }},
      {BinaryOp::remainder, [](double a, double b) { return std::fmod(a, b); }},
      {BinaryOp::modulo, [](double a, double b) { return a - b * std::floor(a / b); }}};
  const float some[] = {0.0f, -0.0f, 1, -1, 2.5f, -2.5f, 1024, 3, nan, inf};
  std::vector<float> x, y;
  for (float a : some)
    for (float b : some) x.push_back(a), y.push_back(b);
  const auto n = static_cast<int64_t>(x.size());
  for (Isa isa : usable_isas())
    for (const Relation& r : relations)
      for (const bool one : {false, true}) {
        std::vector<float> z(x.size());
        Tensor to = tensor_on({n}, z.data());
        WorkerContext c;
        cpu::apply_binary(isa, r.op, tensor_on({n}, x.data()),
                          tensor_on({one ? 1 : n}, y.data() + (one ? 4 : 0)), to, c);
        for (size_t i = 0; i < x.size(); ++i) {
          const float by = one ? y[4] : y[i];
          if (r.op == BinaryOp::modulo && std::isinf(by)) continue;  // what `exact` says of it is NaN
          const double want = r.exact(x[i], by);
          if (std::isnan(want))
            EXPECT_TRUE(std::isnan(z[i])) << x[i] << ' ' << by << name_of(isa);
          else
            EXPECT_EQ(z[i], static_cast<float>(want)) << x[i] << ' ' << by << name_of(isa);
        }
      }
}

TEST(CpuVec, IntegersWrapAround) {
  std::vector<int64_t> x{INT64_MAX, INT64_MIN, 5}, y{1, -1, 2};
  for (Isa isa : usable_isas()) {
    WorkerContext c;
    const auto combined = [&](cpu::TypedBinaryOp op, const Shape& shape, int64_t* right) {
      std::vector<int64_t> z(3);
      Tensor to = Tensor::view(DataType::int64, {3}, z.data());
      cpu::apply_typed_binary(isa, op, Tensor::view(DataType::int64, {3}, x.data()),
                              Tensor::view(DataType::int64, shape, right), to, c);
      return z;
    };
    EXPECT_EQ(combined(cpu::TypedBinaryOp::add, {3}, y.data()),
              (std::vector<int64_t>{INT64_MIN, INT64_MAX, 7}));
    EXPECT_EQ(combined(cpu::TypedBinaryOp::multiply, {3}, y.data()),
              (std::vector<int64_t>{INT64_MAX, INT64_MIN, 10}));
    EXPECT_EQ(combined(cpu::TypedBinaryOp::maximum, {}, &y[2]), (std::vector<int64_t>{INT64_MAX, 2, 5}));
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
