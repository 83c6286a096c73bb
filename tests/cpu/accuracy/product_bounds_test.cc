// Bounds on the errors of products, compared with sums in double, for any matrices: in one piece, by
// Strassen, and in bf16x3, for every instruction set.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <limits>

#include "cpu/gemm/strassen.h"
#include "support/bf16x3_test.h"
#include "support/blocked_run.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr double u = 0x1p-24, max_float = std::numeric_limits<float>::max();
/// The most that a sum loses to products that are no normal numbers.
constexpr double lost_to_underflow = 0x1p-120;

struct Matrices {
  int64_t m, n, k;
  Random random;
  std::vector<float> a, b;

  Matrices(int64_t rows, int64_t columns, int64_t terms, uint64_t seed = 3)
      : m(rows), n(columns), k(terms), random(seed), a(at(m * k)), b(at(k * n)) {
    for (float& v : a) v = random();
    for (float& v : b) v = random();
  }
  float& left(int64_t i, int64_t l) { return a[at(i * k + l)]; }
  float& right(int64_t l, int64_t j) { return b[at(l * n + j)]; }
  /// Returns a power of two from 2^-30 to 2^30.
  float magnitude() { return std::exp2(std::floor(30 * random())); }
  void scale_term(int64_t l, float of_a, float of_b) {
    for (int64_t i = 0; i < m; ++i) left(i, l) *= of_a;
    for (int64_t j = 0; j < n; ++j) right(l, j) *= of_b;
  }
};

enum class Way { one_piece, strassen, bf16x3 };

std::vector<float> product(const Matrices& p, Isa isa, Way way, int threads,
                           DataType type = DataType::float32) {
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa);
  WorkerContext context(threads);
  std::vector<uint16_t> halves(type == DataType::float32 ? 0 : p.b.size());
  if (!halves.empty())
    cpu::narrow(Isa::generic, type, p.b.data(), halves.data(), static_cast<int64_t>(p.b.size()));
  const void* const from = halves.empty() ? static_cast<const void*>(p.b.data()) : halves.data();
  Fenced packed(at(cpu::strassen_size(isa, p.k, p.n)));
  cpu::pack_strassen(isa, type, packed.data(), from, p.n, 1, p.k, p.n, context);
  Fenced c(at(p.m * p.n));
  cpu::Products q{.m = p.m,
                  .n = p.n,
                  .k = p.k,
                  .a = {p.a.data(), p.k, 1},
                  .packed_b = packed.data(),
                  .packed_type = type};
  q.c = c.data();
  Fenced scratch(std::max(cpu::strassen_workspace(g, q, threads), cpu::multiply_workspace(g, q)) /
                 sizeof(float));
  way == Way::strassen ? cpu::multiply_strassen(g, q, scratch.data(), context)
                       : cpu::multiply(g, q, scratch.data(), context);
  EXPECT_TRUE(packed.intact() && c.intact() && scratch.intact());
  return {c.data(), c.data() + c.size()};
}

/// Sums over k of the largest |a[k]| of the rows that may be in a tile with row i, times the largest |b[k]|
/// of the two panels that have column j. Numbers that are not finite are ignored.
double largest_terms(const Matrices& p, int64_t i, int64_t j, int64_t columns) {
  constexpr int64_t rows = 28;  // the highest tile
  const int64_t j0 = j / columns * columns, j1 = std::min(j0 + columns, p.n);
  double sum = 0;
  for (int64_t l = 0; l < p.k; ++l) {
    double a = 0, b = 0;
    const auto look = [](double& most, float x) {
      if (std::isfinite(x)) most = std::max(most, std::abs(static_cast<double>(x)));
    };
    for (int64_t r = std::max<int64_t>(0, i - rows); r < std::min(p.m, i + rows + 1); ++r)
      look(a, p.a[at(r * p.k + l)]);
    for (int64_t c = j0; c < j1; ++c) look(b, p.b[at(l * p.n + c)]);
    sum += a * b;
  }
  return sum;
}

struct Sum {
  double sum = 0, terms = 0;
};
std::vector<Sum> exact(const Matrices& p) {
  std::vector<Sum> all(at(p.m * p.n));
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t l = 0; l < p.k; ++l)
      for (int64_t j = 0; j < p.n; ++j) {
        const double term = static_cast<double>(p.a[at(i * p.k + l)]) * p.b[at(l * p.n + j)];
        all[at(i * p.n + j)].sum += term, all[at(i * p.n + j)].terms += std::abs(term);
      }
  return all;
}

void expect_bounds(const Matrices& p, const std::vector<Sum>& want, const std::vector<float>& got, Way way,
                   int64_t two_panels) {
  // Columns of the same two panels have the same bound.
  std::vector<double> bounds(at(p.m * ((p.n + two_panels - 1) / two_panels)), -1);
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t j = 0; j < p.n; ++j) {
      const Sum& s = want[at(i * p.n + j)];
      const float y = got[at(i * p.n + j)];
      if (std::isnan(s.sum)) {
        ASSERT_TRUE(std::isnan(y)) << i << ", " << j << ": " << y;
      } else if (std::isinf(s.sum)) {
        ASSERT_EQ(y, s.sum) << i << ", " << j;
      } else if (s.terms < max_float) {
        double bound = 4 * std::sqrt(static_cast<double>(p.k)) * u * s.terms;
        if (way != Way::one_piece) {
          double& known = bounds[at(j / two_panels * p.m + i)];
          if (known < 0) known = 1024 * u * largest_terms(p, i, j, two_panels);
          bound = known;
        }
        ASSERT_LE(std::abs(y - s.sum), bound + lost_to_underflow)
            << i << ", " << j << ": " << y << " for " << s.sum;
      }
    }
}

void check(const Matrices& p, Way way, Isa isa, DataType type = DataType::float32) {
  SCOPED_TRACE(std::to_string(p.m) + "x" + std::to_string(p.n) + "x" + std::to_string(p.k) + " " +
               std::string(name_of(isa)) + ", way " + std::to_string(static_cast<int>(way)) + " " +
               std::string(name_of(type)));
  Matrices rounded = p;
  if (type == DataType::bfloat16)
    for (float& v : rounded.b) v = to_float(to_bfloat16(v));
  const std::vector<float> got = product(rounded, isa, way, 1, type);
  expect_bounds(rounded, exact(rounded), got, way, 2 * cpu::gemm_kernels(isa).NR);
  const std::vector<float> again = product(rounded, isa, way, 3, type);
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_TRUE(got[i] == again[i] || (std::isnan(got[i]) && std::isnan(again[i])))
        << "the bits depend on the number of threads";
}

/// Calls f with matrices of every kind.
void for_each_draw(int64_t m, int64_t n, int64_t k, const std::function<void(const Matrices&)>& f) {
  const Matrices ordinary(m, n, k);
  const auto changed = [&](const char* what, const std::function<void(Matrices&)>& change) {
    SCOPED_TRACE(what);
    Matrices p = ordinary;
    change(p);
    f(p);
  };
  f(ordinary);
  changed("elements of every magnitude", [](Matrices& p) {
    for (float& v : p.a) v *= p.magnitude();
    for (float& v : p.b) v *= p.magnitude();
  });
  changed("terms of every magnitude", [](Matrices& p) {
    for (int64_t l = 0; l < p.k; ++l) p.scale_term(l, p.magnitude(), p.magnitude());
  });
  changed("terms of every magnitude whose products are alike", [](Matrices& p) {
    for (int64_t l = 0; l < p.k; ++l) {
      const float by = p.magnitude();
      p.scale_term(l, by, 1 / by);
    }
  });
  changed("rows and columns of every magnitude", [](Matrices& p) {
    for (int64_t i = 0; i < p.m; ++i)
      for (float by = p.magnitude(); int64_t l : {int64_t{0}, p.k / 2, p.k - 1}) p.left(i, l) *= by;
    for (int64_t j = 0; j < p.n; ++j)
      for (float by = p.magnitude(); int64_t l : {int64_t{0}, p.k / 2, p.k - 1}) p.right(l, j) *= by;
  });
  for (float large : {1e4f, 1e6f, 1.7e9f})
    for (float weight : {0.0f, 1e-6f}) {
      changed("a large feature of little weight", [&](Matrices& p) {
        p.scale_term(7, large, weight);
        p.scale_term(p.k - 3, -large, weight);
      });
      changed("large weights of a small feature", [&](Matrices& p) { p.scale_term(p.k / 2, weight, large); });
    }
  changed("a large element", [](Matrices& p) { p.left(p.m / 2, 5) = 4e8f, p.right(6, p.n / 3) = 3e7f; });
  changed("holes", [](Matrices& p) {
    for (float& v : p.a) v = p.random() < 0.6f ? 0 : v;
    for (float& v : p.b) v = p.random() < 0.6f ? 0 : v;
    for (int64_t l = 0; l < p.k; ++l) p.left(3, l) = 0;
    for (int64_t l = 0; l < p.k; ++l) p.right(l, 2) = 0;
  });
  changed("weights of one term", [](Matrices& p) {
    for (int64_t l = 0; l < p.k; ++l)
      for (int64_t j = 0; j < p.n; ++j)
        if (l != j * 5 % p.k) p.right(l, j) = 0;
    for (int64_t l = 0; l < p.k; l += 3) p.scale_term(l, 1e8f, 1);
  });
  for (float bad : {infinity, -infinity, std::nanf(""), 3.4e38f, -3.3e38f}) {
    changed("no number in A", [&](Matrices& p) { p.left(p.m - 2, p.k / 3) = bad; });
    changed("no number in B", [&](Matrices& p) { p.right(p.k - 1, p.n / 2) = bad; });
  }
}

TEST(CpuProductBounds, InOnePiece) {
  const WithoutTiles without;
  for_each_draw(37, 70, 330, [](const Matrices& p) {
    for (Isa isa : usable_isas()) check(p, Way::one_piece, isa);
  });
}

TEST(CpuProductBounds, InHalves) {
  const WithoutTiles without;
  for_each_draw(70, 200, 448, [](const Matrices& p) {
    for (Isa isa : usable_isas())
      for (DataType type : {DataType::float32, DataType::bfloat16}) check(p, Way::strassen, isa, type);
  });
}

TEST(CpuProductBounds, InHalvesOfSeveralBlocks) {
  const WithoutTiles without;
  for_each_draw(129, 64, 1600, [](const Matrices& p) { check(p, Way::strassen, usable_isas().back()); });
}

/// Terms that lose nothing to each other are taken together, whatever else there is: this is what is tested.
TEST(CpuProductBounds, OrdinaryMatricesAreTakenApart) {
  const WithoutTiles without;
  Matrices p(128, 128, 384);
  for (int64_t l = 0; l < p.k; l += 50) p.scale_term(l, 20, 1);  // as a few features of language models are
  for (Isa isa : usable_isas())
    EXPECT_NE(product(p, isa, Way::strassen, 1), product(p, isa, Way::one_piece, 1)) << name_of(isa);
}

using CpuBf16x3Bounds = Bf16x3Test;

TEST_F(CpuBf16x3Bounds, Products) {
  for_each_draw(40, 70, 200, [](const Matrices& p) { check(p, Way::bf16x3, Isa::avx512); });
}

/// Convolutions whose windows never leave the image: pixels are rows, filters columns.
TEST(CpuProductBounds, Convolutions) {
  const WithoutTiles without;
  for_each_draw(81, 128, 256, [](const Matrices& p) {
    for (Isa isa : usable_isas()) {
      const cpu::BlockedShape s = square(p.k, p.n, 9, 9, 1);
      if (!cpu::fits_strassen(isa, s)) continue;
      SCOPED_TRACE(name_of(isa));
      Fenced x(at(p.k * p.m)), w(at(p.k * p.n)), packed(at(cpu::strassen_weights_size(isa, s)));
      for (int64_t l = 0; l < p.k; ++l) {
        for (int64_t i = 0; i < p.m; ++i) x.data()[l * p.m + i] = p.a[at(i * p.k + l)];
        for (int64_t j = 0; j < p.n; ++j) w.data()[j * p.k + l] = p.b[at(l * p.n + j)];
      }
      WorkerContext packers(2);
      cpu::pack_strassen_weights(isa, s, w.data(), packed.data(), packers);
      cpu::mark_strassen_weights(isa, s, DataType::float32, packed.data(), packers);
      const Fenced blocks = blocked(x, 1, p.k, p.m);
      const std::vector<float> y =
          run(at(s.out_floats()), cpu::strassen_workspace(isa, s, false, 2), 2,
              [&](float* to, void* scratch, KernelContext& c) {
                cpu::strassen_convolution(isa, s, {.x = blocks.data(), .weights = packed.data(), .y = to},
                                          scratch, c);
              });
      std::vector<float> got(at(p.m * p.n));
      for (int64_t i = 0; i < p.m; ++i)
        for (int64_t j = 0; j < p.n; ++j)
          got[at(i * p.n + j)] =
              y[at((j / cpu::channel_block * p.m + i) * cpu::channel_block + j % cpu::channel_block)];
      expect_bounds(p, exact(p), got, Way::strassen, 2 * cpu::gemm_kernels(isa).NR);
    }
  });
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
