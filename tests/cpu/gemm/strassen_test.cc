// Products in seven halves, for every instruction set, against plain loops in double.
#include "cpu/gemm/strassen.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/tiles.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

struct Problem {
  int64_t m, n, k;
  enum Bias { none, per_column, per_row, full } bias = none;
  float alpha = 1, beta = 1;
};

std::string text(const Problem& p) {
  return std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " bias " +
         std::to_string(p.bias);
}

/// Tiles are turned off: with them, other kernels would compute the products that Strassen computes
/// elsewhere.
struct CpuStrassen : ::testing::Test {
  WithoutTiles without;
};

struct Operands {
  explicit Operands(const Problem& p)
      : random(static_cast<uint64_t>(p.m * 1009 + p.n * 31 + p.k)),
        a(static_cast<size_t>(p.m * p.k), random),
        b(static_cast<size_t>(p.k * p.n), random),
        bias(static_cast<size_t>(p.bias == Problem::full      ? p.m * p.n
                                 : p.bias == Problem::per_row ? p.m
                                                              : p.n),
             random) {}
  Random random;
  Fenced a, b, bias;
};

enum class Way { strassen, plain };

/// B as it is stored, in 32 bits or in 16.
struct Packed {
  Packed(Isa isa, const Problem& p, const Fenced& b, DataType type, Workers& workers)
      : floats(static_cast<size_t>(cpu::strassen_size(isa, p.k, p.n) * bits_of(type) / 8 + 4) /
               sizeof(float)) {
    std::vector<uint16_t> halves(type == DataType::float32 ? 0 : b.size());
    if (type != DataType::float32)
      cpu::narrow(Isa::generic, type, b.data(), halves.data(), static_cast<int64_t>(b.size()));
    const void* const from = halves.empty() ? static_cast<const void*>(b.data()) : halves.data();
    cpu::pack_strassen(isa, type, floats.data(), from, p.n, 1, p.k, p.n, workers);
    EXPECT_TRUE(floats.intact());
  }
  Fenced floats;
};

std::vector<float> multiply(Isa isa, const Problem& p, const Operands& o, int threads,
                            Way way = Way::strassen, bool strict = false, DataType type = DataType::float32) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa, strict);
  WorkerContext context(threads);
  Packed packed(isa, p, o.b, type, context);
  cpu::Products q{.m = p.m,
                  .n = p.n,
                  .k = p.k,
                  .a = {o.a.data(), p.k, 1},
                  .packed_b = packed.floats.data(),
                  .packed_type = type};
  if (p.bias == Problem::per_column) q.start = {o.bias.data(), 0, 1, p.beta};
  if (p.bias == Problem::per_row) q.start = {o.bias.data(), 1, 0, p.beta};
  if (p.bias == Problem::full) q.start = {o.bias.data(), p.n, 1, p.beta};
  q.alpha = p.alpha;
  Fenced c(static_cast<size_t>(p.m * p.n));
  q.c = c.data();
  Fenced scratch(std::max(cpu::strassen_workspace(g, q, threads), cpu::multiply_workspace(g, q)) /
                 sizeof(float));
  way == Way::strassen ? cpu::multiply_strassen(g, q, scratch.data(), context)
                       : cpu::multiply(g, q, scratch.data(), context);
  EXPECT_TRUE(c.intact()) << text(p);
  EXPECT_TRUE(scratch.intact()) << text(p);
  return {c.data(), c.data() + c.size()};
}

double exact(const Problem& p, const Operands& o, int64_t i, int64_t j, double* norm = nullptr) {
  double sum = 0, squares[2] = {};
  for (int64_t l = 0; l < p.k; ++l) {
    const double x = o.a[static_cast<size_t>(i * p.k + l)], y = o.b[static_cast<size_t>(l * p.n + j)];
    sum += x * y, squares[0] += x * x, squares[1] += y * y;
  }
  if (norm) *norm = std::abs(p.alpha) * std::sqrt(squares[0] * squares[1]);
  sum *= p.alpha;
  if (p.bias == Problem::per_column) sum += p.beta * o.bias[static_cast<size_t>(j)];
  if (p.bias == Problem::per_row) sum += p.beta * o.bias[static_cast<size_t>(i)];
  if (p.bias == Problem::full) sum += p.beta * o.bias[static_cast<size_t>(i * p.n + j)];
  return sum;
}

/// Every element, as exact as its own row and column let a sum of k terms be.
void expect_exact(const Problem& p, const Operands& o, const std::vector<float>& got) {
  const double root = std::sqrt(static_cast<double>(p.k)) + 2;
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      double norm = 0;
      const double sum = exact(p, o, i, j, &norm);
      const float y = got[static_cast<size_t>(i * p.n + j)];
      ASSERT_NEAR(y, sum, 0x1p-24 * (root * norm + 2 * std::abs(sum) + 2)) << i << ", " << j;
    }
}

void check(const Problem& p) {
  const Operands o(p);
  for (Isa isa : usable_isas()) {
    SCOPED_TRACE(text(p) + " " + std::string(name_of(isa)));
    const std::vector<float> got = multiply(isa, p, o, 1);
    expect_exact(p, o, got);
    for (int threads : {2, 3}) {
      const std::vector<float> again = multiply(isa, p, o, threads);
      ASSERT_EQ(std::memcmp(got.data(), again.data(), got.size() * sizeof(float)), 0)
          << "the bits depend on the number of threads";
    }
  }
}

/// Numbers of 16 bits are the same numbers in float32, and so are all sums of them.
void check_halves(const Problem& p) {
  for (DataType type : {DataType::float16, DataType::bfloat16}) {
    Operands o(p);
    for (size_t i = 0; i < o.b.size(); ++i) {
      uint16_t f16 = 0;
      cpu::narrow(Isa::generic, type, &o.b.data()[i], &f16, 1);
      cpu::widen(Isa::generic, type, &f16, &o.b.data()[i], 1);
    }
    for (Isa isa : usable_isas()) {
      SCOPED_TRACE(text(p) + " " + std::string(name_of(isa)) + " " + std::string(name_of(type)));
      const std::vector<float> want = multiply(isa, p, o, 1);
      for (int threads : {1, 3}) {
        const std::vector<float> got = multiply(isa, p, o, threads, Way::strassen, false, type);
        ASSERT_EQ(std::memcmp(got.data(), want.data(), got.size() * sizeof(float)), 0) << threads;
      }
    }
  }
}

TEST_F(CpuStrassen, WeightsOfSixteenBits) {
  for (int64_t m : {16, 28, 65, 128})
    for (int64_t n : {16, 33, 64, 81, 200}) check_halves({m, n, 160, Problem::per_column});
  check_halves({130, 200, 800});
  check_halves({300, 96, 1600, Problem::full, -0.5F, 2});
}

TEST_F(CpuStrassen, EveryRemainder) {
  for (int64_t m : {16, 20, 27, 28, 29, 63, 64, 65, 97, 128})
    for (int64_t n : {1, 16, 31, 32, 33, 64, 81, 128})
      for (int64_t k : {32, 64, 160}) check({m, n, k, static_cast<Problem::Bias>((m + n) % 4), 1.5F, 0.5F});
}

TEST_F(CpuStrassen, SeveralBlocksAndGroups) {
  check({130, 200, 800, Problem::per_column});
  check({300, 96, 1600, Problem::full, -0.5F, 2});
  check({521, 70, 96});
  for (int64_t m : {128, 129, 196, 700}) check({m, 64, 1600});  // rows of its own for each of some threads
}

/// The kernels under test are those that run: their bits differ.
TEST_F(CpuStrassen, IsAnotherOrderOfSums) {
  const Problem p{128, 128, 256};
  const Operands o(p);
  for (Isa isa : usable_isas())
    if (!cpu::gemm_kernels(isa).bf16x3) {
      EXPECT_NE(multiply(isa, p, o, 1), multiply(isa, p, o, 1, Way::plain)) << name_of(isa);
    }
}

TEST_F(CpuStrassen, StrictKernelsDoWithout) {
  const Problem p{128, 128, 256};
  const Operands o(p);
  for (Isa isa : usable_isas())
    EXPECT_EQ(multiply(isa, p, o, 1, Way::strassen, true), multiply(isa, p, o, 1, Way::plain, true))
        << name_of(isa);
}

/// The same problem with some rows and columns that are nothing like the others.
template <class F>
void check_changed(F&& change) {
  const Problem p{140, 192, 832};
  Operands o(p);
  change(p, o.a.data(), o.b.data());
  for (Isa isa : usable_isas()) {
    SCOPED_TRACE(name_of(isa));
    expect_exact(p, o, multiply(isa, p, o, 1));
  }
}
void scale_row(const Problem& p, float* a, int64_t i, float by) {
  for (int64_t l = 0; l < p.k; ++l) a[i * p.k + l] *= by;
}
void scale_column(const Problem& p, float* b, int64_t j, float by, int64_t begin, int64_t end) {
  for (int64_t l = begin; l < end; ++l) b[l * p.n + j] *= by;
}

TEST_F(CpuStrassen, SmallRowsBesideLargeOnes) {
  for (float by : {0.0F, 1e-7F, 1e-3F, 0.1F, 10.0F, 1e3F, 1e7F, 1e20F})
    check_changed([&](const Problem& p, float* a, float*) {
      for (int64_t i : {0, 3, 69, 70, 100, 139}) scale_row(p, a, i, by);
    });
}

TEST_F(CpuStrassen, SmallColumnsBesideLargeOnes) {
  for (float by : {0.0F, 1e-7F, 1e-3F, 0.1F, 10.0F, 1e3F, 1e7F, 1e20F})
    for (int64_t terms : {416, 832})  // half of a block of k too
      check_changed([&](const Problem& p, float*, float* b) {
        for (int64_t j : {0, 15, 40, 191}) scale_column(p, b, j, by, 0, terms);
      });
}

TEST_F(CpuStrassen, RowsOfZerosStayZero) {
  const Problem p{128, 128, 256};
  Operands o(p);
  scale_row(p, o.a.data(), 5, 0);
  scale_row(p, o.a.data(), 100, 0);
  for (Isa isa : usable_isas()) {
    const std::vector<float> got = multiply(isa, p, o, 1);
    for (int64_t j = 0; j < p.n; ++j) {
      EXPECT_EQ(got[static_cast<size_t>(5 * p.n + j)], 0);
      EXPECT_EQ(got[static_cast<size_t>(100 * p.n + j)], 0);
    }
  }
}

TEST_F(CpuStrassen, NanAndInfinityStayInTheirRowsAndColumns) {
  const Problem p{132, 160, 288};
  for (float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                    std::numeric_limits<float>::max()}) {
    Operands o(p);
    o.a.data()[7 * p.k + 3] = bad;
    o.b.data()[11 * p.n + 37] = bad;
    for (Isa isa : usable_isas()) {
      SCOPED_TRACE(name_of(isa));
      const std::vector<float> got = multiply(isa, p, o, 1);
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          const float y = got[static_cast<size_t>(i * p.n + j)];
          const double sum = exact(p, o, i, j);
          if (i != 7 && j != 37) {
            ASSERT_NEAR(y, sum, 1e-4) << i << ", " << j;
          } else if (std::isfinite(bad)) {
            ASSERT_TRUE(std::abs(sum) > 3.4e38 || std::abs(y - sum) <= 1e-5 * std::abs(bad))
                << i << ", " << j << ": " << y << " for " << sum;
          } else {
            ASSERT_FALSE(std::isfinite(y)) << i << ", " << j;
          }
        }
    }
  }
}

TEST_F(CpuStrassen, AsksForWholeBlocksOfFloats) {
  KernelQuery query, strict;
  strict.strict = true;
  EXPECT_TRUE(cpu::supports_strassen(query, DataType::float32, 416).accepted);
  EXPECT_FALSE(cpu::supports_strassen(query, DataType::float32, 400).accepted);
  EXPECT_FALSE(cpu::supports_strassen(query, DataType::float32, 256).accepted);
  EXPECT_TRUE(cpu::supports_strassen(query, DataType::float16, 416).accepted);
  EXPECT_TRUE(cpu::supports_strassen(query, DataType::bfloat16, 416).accepted);
  EXPECT_FALSE(cpu::supports_strassen(query, DataType::float64, 416).accepted);
  EXPECT_FALSE(cpu::supports_strassen(strict, DataType::float32, 416).accepted);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
