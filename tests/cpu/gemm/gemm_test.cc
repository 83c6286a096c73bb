// The matrix products of every instruction set against plain loops in double.
#include "cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "support/tiles.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

struct Problem {
  int64_t m, n, k, count = 1;
  bool a_transposed = false, b_transposed = false, packed = false;
  enum Bias { none, per_column, per_row, full } bias = none;
  float alpha = 1, beta = 1;
};

std::string text(const Problem& p) {
  return std::to_string(p.count) + "x " + std::to_string(p.m) + "x" + std::to_string(p.n) + "x" +
         std::to_string(p.k) + (p.a_transposed ? " A^T" : "") + (p.b_transposed ? " B^T" : "") +
         (p.packed ? " packed" : "") + " bias " + std::to_string(p.bias);
}

std::vector<float> multiply(Isa isa, const Problem& p, const Fenced& a, const Fenced& b, const Fenced& bias,
                            int threads) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  const int64_t b_size = p.packed ? cpu::packed_b_size(g, p.k, p.n) : p.k * p.n;
  cpu::Products q{.m = p.m, .n = p.n, .k = p.k, .batch = {p.count}, .a_step = {1}, .b_step = {1}};
  q.a = p.a_transposed ? cpu::Operand{a.data(), 1, p.m} : cpu::Operand{a.data(), p.k, 1};
  q.b = p.b_transposed ? cpu::Operand{b.data(), 1, p.k} : cpu::Operand{b.data(), p.n, 1};
  q.a_matrix = p.m * p.k;
  q.b_matrix = p.k * p.n;
  WorkerContext context(threads);
  std::vector<float> packed(static_cast<size_t>(p.packed ? b_size * p.count : 0));
  if (p.packed) {
    for (int64_t i = 0; i < p.count; ++i) {
      const cpu::Operand one{q.b.data + i * p.k * p.n, q.b.row, q.b.column};
      cpu::pack_whole_b(g, packed.data() + i * b_size, one, p.k, p.n, context);
    }
    q.packed_b = packed.data();
  }
  if (p.bias == Problem::per_column) q.start = {bias.data(), 0, 1, p.beta};
  if (p.bias == Problem::per_row) q.start = {bias.data(), 1, 0, p.beta};
  if (p.bias == Problem::full) q.start = {bias.data(), p.n, 1, p.beta};
  q.alpha = p.alpha;
  Fenced c(static_cast<size_t>(p.count * p.m * p.n));
  q.c = c.data();
  Fenced scratch(cpu::multiply_workspace(g, q) / sizeof(float));
  cpu::multiply(g, q, scratch.data(), context);
  EXPECT_TRUE(c.intact()) << text(p);
  EXPECT_TRUE(scratch.intact()) << text(p);
  EXPECT_EQ(context.polls > 0, c.size() > 0) << text(p);
  return {c.data(), c.data() + c.size()};
}

void check(const Problem& p) {
  Random random(static_cast<uint64_t>(p.m * 1009 + p.n * 31 + p.k));
  const Fenced a(static_cast<size_t>(p.count * p.m * p.k), random),
      b(static_cast<size_t>(p.count * p.k * p.n), random);
  const size_t bias_size = p.bias == Problem::full
                               ? static_cast<size_t>(p.m * p.n)
                               : static_cast<size_t>(p.bias == Problem::per_row ? p.m : p.n);
  const Fenced bias(bias_size, random);
  for (Isa isa : usable_isas()) {
    SCOPED_TRACE(text(p) + " " + std::string(name_of(isa)));
    const std::vector<float> got = multiply(isa, p, a, b, bias, 1);
    for (int64_t x = 0; x < p.count; ++x)
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j) {
          double sum = 0;
          for (int64_t l = 0; l < p.k; ++l) {
            const int64_t at_a = p.a_transposed ? l * p.m + i : i * p.k + l,
                          at_b = p.b_transposed ? j * p.k + l : l * p.n + j;
            sum += static_cast<double>(a[static_cast<size_t>(x * p.m * p.k + at_a)]) *
                   b[static_cast<size_t>(x * p.k * p.n + at_b)];
          }
          sum *= p.alpha;
          if (p.bias == Problem::per_column) sum += p.beta * bias[static_cast<size_t>(j)];
          if (p.bias == Problem::per_row) sum += p.beta * bias[static_cast<size_t>(i)];
          if (p.bias == Problem::full) sum += p.beta * bias[static_cast<size_t>(i * p.n + j)];
          // Both the number of roundings and the partial sums that are rounded grow like sqrt(k).
          const double root = std::sqrt(static_cast<double>(p.k)) + 2;
          const double tolerance = 0x1p-24 * (root + 2) * root * (1 + std::abs(p.alpha));
          ASSERT_NEAR(got[static_cast<size_t>((x * p.m + i) * p.n + j)], sum, tolerance) << i << ", " << j;
        }
    const std::vector<float> again = multiply(isa, p, a, b, bias, 3);
    ASSERT_TRUE(got.empty() || std::memcmp(got.data(), again.data(), got.size() * sizeof(float)) == 0)
        << "the bits depend on the number of threads";
  }
}

TEST(CpuGemm, EveryRemainder) {
  for (int64_t m : {1, 2, 3, 5, 6, 7, 13, 14, 15, 29, 32, 43, 70})
    for (int64_t n : {1, 7, 8, 15, 16, 17, 31, 32, 33, 48, 65})
      for (int64_t k : {1, 3, 15, 16, 17, 37, 64, 81}) {
        check({m, n, k});
        check({m, n, k, 1, false, false, true, Problem::per_column});
      }
}

TEST(CpuGemm, DeepAndWide) {
  check({33, 200, 1600, 1, false, false, true, Problem::per_column});
  check({230, 70, 2000, 2, false, true, false, Problem::full, 1.0f, 0.5f});
  check({70, 130, 1000});
  check({1, 300, 1537, 1, false, false, true, Problem::per_row});
  check({2, 40, 385, 1, false, true, true});
  check({300, 33, 769, 1, true, true, false, Problem::full, 0.5f, -2.0f});
}

/// One row, as in recurrent networks: panels are processed by four, by two and alone.
TEST(CpuGemm, OneRowOfPanels) {
  for (int64_t n : {48, 64, 95, 96, 97, 128, 129, 160, 192, 201, 224, 256, 257, 300, 512, 525})
    for (int64_t k : {1, 15, 256, 481})
      for (bool packed : {false, true})
        check({1, n, k, 1, false, false, packed, packed ? Problem::per_column : Problem::none});
}

/// No second-level cache holds these matrices: tiles of rows and panels take short blocks of k in turn.
TEST(CpuGemm, FewRowsFromMemory) {
  for (int64_t m : {1, 3, 4, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16, 21, 28, 29})
    for (const auto& [n, k] : {std::pair<int64_t, int64_t>{340, 801}, {353, 769}, {416, 640}, {33000, 9}})
      check({m, n, k, 1, false, false, m % 3 > 0, static_cast<Problem::Bias>(m % 4), 1.5F, 0.5F});
}

/// Strict rows have the same bits, however many there are.
TEST(CpuGemm, StrictRowsAreTheirOwn) {
  constexpr int64_t most = 30, n = 353, k = 900;
  Random random(7);
  const Fenced a(most * k, random), b(n * k, random);
  for (Isa isa : usable_isas()) {
    const cpu::GemmKernels& g = cpu::gemm_kernels(isa, true);
    WorkerContext context(2);
    std::vector<float> packed(static_cast<size_t>(cpu::packed_b_size(g, k, n)));
    cpu::pack_whole_b(g, packed.data(), {b.data(), n, 1}, k, n, context);
    std::vector<float> all;
    for (int64_t m = most; m > 0; --m) {
      cpu::Products q{.m = m, .n = n, .k = k, .a = {a.data(), k, 1}, .packed_b = packed.data()};
      std::vector<float> c(static_cast<size_t>(m * n));
      q.c = c.data();
      Fenced scratch(cpu::multiply_workspace(g, q) / sizeof(float));
      cpu::multiply(g, q, scratch.data(), context);
      if (m == most) all = c;
      ASSERT_EQ(std::memcmp(c.data(), all.data(), c.size() * sizeof(float)), 0) << name_of(isa) << ' ' << m;
    }
  }
}

TEST(CpuGemm, TransposedOperands) {
  for (bool a : {false, true})
    for (bool b : {false, true})
      for (bool packed : {false, true})
        for (auto bias : {Problem::none, Problem::per_column, Problem::per_row, Problem::full})
          check({19, 45, 33, 1, a, b, packed, bias, 1.5f, 0.25f});
}

/// Rows of B are summed in place, or its columns are multiplied as dot products, or columns replace rows.
TEST(CpuGemm, InPlace) {
  for (int64_t m : {1, 2, 3, 4, 5, 7, 33, 64, 65})
    for (int64_t n : {1, 2, 31, 32, 33, 70, 1024, 1100})
      for (int64_t k : {1, 3, 8, 17, 100}) {
        check({m, n, k, 1, false, true, false, Problem::per_column, 0.5f, 2.0f});
        if (m > 5) continue;
        check({m, n, k, 3, true, false, false, Problem::full, 1.5f, 0.25f});
        check({n, 1, k, 2, m % 2 == 0, m % 3 == 0, false, static_cast<Problem::Bias>(m % 4), -1.0f, 0.5f});
      }
  check({2, 70, 5000, 1, false, true});
  check({4, 2500, 900, 1, false, false, false, Problem::per_row});
}

TEST(CpuGemm, ManyProducts) {
  check({17, 20, 9, 5});
  check({1, 70, 64, 12, false, true});
  check({40, 40, 16, 7, false, false, true});
}

TEST(CpuGemm, RowsInSeveralRounds) {
  check({9001, 3, 260});
  check({300, 70, 3080});  // long rows, of which few are packed at once
  check({530, 40, 64});    // pieces of equal height

  // The memory for packed rows has a bound, however few the rows are.
  const cpu::GemmKernels& g = cpu::gemm_kernels(Isa::generic);
  static constexpr float somewhere = 0;
  cpu::Products p{.m = 200, .n = 40, .k = int64_t{1} << 20};
  p.packed_b = &somewhere;
  EXPECT_LE(cpu::multiply_workspace(g, p), static_cast<size_t>(g.MR * p.k) * sizeof(float));
}

/// Weights of 16 bits are widened on the way: the same arithmetic, hence the same bits as with wide ones.
TEST(CpuGemm, HalfWeightsGiveTheBitsOfWideOnes) {
  Random random(5);
  for (Isa isa : usable_isas())
    for (DataType type : {DataType::float16, DataType::bfloat16})
      for (const auto& [m, n, k] : {std::array<int64_t, 3>{1, 70, 33},
                                    {1, 2048, 700},
                                    {13, 33, 1},
                                    {29, 96, 340},
                                    {40, 31, 17},
                                    {70, 1200, 650},
                                    // If B exceeds the second-level cache, panels come in pairs.
                                    {1, 1003, 801},
                                    {2, 2080, 640},
                                    {4, 1500, 777}})
        for (bool transposed : {false, true}) {
          const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
          const Fenced a(static_cast<size_t>(m * k), random), b(static_cast<size_t>(k * n), random);
          std::vector<uint16_t> f16(b.size());
          std::vector<float> wide(b.size());
          cpu::narrow(isa, type, b.data(), f16.data(), k * n);
          cpu::widen(isa, type, f16.data(), wide.data(), k * n);
          const int64_t row = transposed ? 1 : n, column = transposed ? k : 1;
          const auto product = [&](DataType packed_type, const void* from, int threads) {
            WorkerContext context(threads);
            std::vector<float> packed(static_cast<size_t>(cpu::packed_b_size(g, k, n)));
            cpu::pack_whole_b(g, packed_type, packed.data(), from, row, column, k, n, context);
            std::vector<float> c(static_cast<size_t>(m * n));
            cpu::Products q{.m = m, .n = n, .k = k, .a = {a.data(), k, 1}};
            q.packed_b = packed.data();
            q.packed_type = packed_type;
            q.c = c.data();
            cpu::multiply(g, q, context.workspace(cpu::multiply_workspace(g, q)), context);
            return c;
          };
          const std::vector<float> want = product(DataType::float32, wide.data(), 1);
          for (int threads : {1, 3})
            ASSERT_EQ(product(type, f16.data(), threads), want)
                << name_of(isa) << " " << name_of(type) << " " << m << "x" << n << "x" << k << " "
                << transposed;
        }
}

TEST(CpuGemm, NothingToSum) {
  check({3, 5, 0, 1, false, false, false, Problem::per_column});
  check({3, 5, 0});
  check({0, 5, 4});
  check({3, 0, 4});
  check({3, 5, 4, 0});
}

TEST(CpuGemm, NanAndInfinityOfUnusedLanesStayOut) {
  // A row of infinities must not leak into its neighbors through padded lanes (0 * inf is NaN).
  const int64_t n = 5, k = 3;
  std::vector<float> a{1, 2, 3, INFINITY, 1, 1}, b(static_cast<size_t>(k * n), 1.0f), c(10), scratch;
  for (Isa isa : usable_isas()) {
    const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
    cpu::Products q{.m = 2, .n = n, .k = k};
    q.a = {a.data(), k, 1};
    q.b = {b.data(), n, 1};
    q.c = c.data();
    scratch.resize(cpu::multiply_workspace(g, q) / sizeof(float));
    WorkerContext context;
    cpu::multiply(g, q, scratch.data(), context);
    EXPECT_EQ(c[0], 6);
    EXPECT_EQ(c[4], 6);
    EXPECT_EQ(c[5], INFINITY);
    EXPECT_EQ(c[9], INFINITY);
  }
}

/// Numbers that tiles cannot multiply in bf16x3 give the results of float32 arithmetic, at any position.
TEST(CpuGemm, WhatCannotBeSplit) {
  if (!test::provide_tiles()) GTEST_SKIP() << "no AMX here";
  constexpr int64_t m = 70, n = 75, k = 810;
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (bool packed : {false, true})
    for (bool in_a : {true, false})
      for (const float odd :
           {infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 3.3e38f, -3.4e38f})
        for (const int64_t at : {int64_t{0}, int64_t{799}, in_a ? m * k - 1 : n * k - 1}) {
          Random random(9);
          Fenced a(m * k, random), b(k * n, random);
          (in_a ? a : b).data()[at] = odd;
          const auto product = [&](bool tiles) {
            cpu::use_amx(tiles);
            Problem p{m, n, k};
            p.packed = packed;
            std::vector<float> c = multiply(Isa::avx512, p, a, b, a, 1);
            EXPECT_EQ(
                std::memcmp(c.data(), multiply(Isa::avx512, p, a, b, a, 3).data(), c.size() * sizeof(float)),
                0);
            return c;
          };
          const std::vector<float> want = product(false), got = product(true);
          cpu::use_amx(true);
          for (size_t i = 0; i < want.size(); ++i) {
            if (std::isnan(want[i]))
              ASSERT_TRUE(std::isnan(got[i])) << odd << " at " << at << ": " << i;
            else if (std::isinf(want[i]))
              ASSERT_EQ(got[i], want[i]) << odd << " at " << at << ": " << i;
            else
              ASSERT_NEAR(got[i], want[i], 1e-4 + 1e-5 * std::abs(want[i]))
                  << odd << " at " << at << ": " << i;
          }
        }
}

/// Products in bf16x3 lose no more than float32's own arithmetic does.
TEST(CpuGemm, Bf16x3IsAsExactAsFloats) {
  if (!test::provide_tiles()) GTEST_SKIP() << "no AMX here";
  constexpr int64_t m = 64, n = 64, k = 1024;
  Random random(11);
  const Fenced a(m * k, random), b(k * n, random);
  const auto loss = [&](bool tiles) {
    cpu::use_amx(tiles);
    const std::vector<float> c = multiply(Isa::avx512, {m, n, k}, a, b, a, 1);
    double squares = 0;
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (int64_t l = 0; l < k; ++l)
          sum += static_cast<double>(a[static_cast<size_t>(i * k + l)]) * b[static_cast<size_t>(l * n + j)];
        squares += std::pow(c[static_cast<size_t>(i * n + j)] - sum, 2);
      }
    return squares;
  };
  const double floats = loss(false), bf16x3 = loss(true);
  EXPECT_LT(bf16x3, floats);
  EXPECT_GT(bf16x3, 0);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
