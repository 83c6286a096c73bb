// Weights of float32 in seven eighths of their bytes, of bfloat16 in three quarters: products have the bits
// of those with whole weights.
#include "cpu/gemm/exponent_packed.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <optional>
#include <random>

#include "support/worker_context.h"

namespace lathe::test {
namespace LATHE_TEST_FILE {

using cpu::Bf16PairOperand;
using cpu::ExponentPackedKind;
using cpu::Operand;

/// Kinds of weights: near each other, with few that do not fit; with all sorts of numbers among them; or of
/// such different sizes that packing gains nothing.
enum class Kind { normal, all_sorts, wild };

std::vector<float> weights(Kind kind, int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.02F);
  std::uniform_int_distribution<uint32_t> bits, place(0, 999);
  const float special[] = {0.0F,
                           -0.0F,
                           1e-41F,
                           -3e-45F,
                           1e-20F,
                           std::numeric_limits<float>::infinity(),
                           -std::numeric_limits<float>::infinity(),
                           std::numeric_limits<float>::quiet_NaN(),
                           3e38F};
  std::vector<float> w(static_cast<size_t>(count));
  for (float& x : w) {
    x = normal(random);
    const uint32_t at = place(random);
    if (kind == Kind::all_sorts && at < 9) x = special[at];
    if (kind == Kind::all_sorts && at > 800) x = 0;
    if (kind == Kind::wild) x = std::bit_cast<float>(bits(random));
  }
  return w;
}

std::vector<BFloat16> upper_halves(const std::vector<float>& w) {
  std::vector<BFloat16> halves;
  for (const float x : w) halves.push_back({static_cast<uint16_t>(std::bit_cast<uint32_t>(x) >> 16)});
  return halves;
}

struct Case {
  ExponentPackedKind of = ExponentPackedKind::floats;
  int64_t m, k, n;  // k numbers
  Kind kind = Kind::normal;
  bool transposed = false, strict = false, bias = false;

  int64_t elements() const { return of == ExponentPackedKind::bf16_pairs ? k / 2 : k; }
  int64_t row() const { return transposed ? 1 : n; }
  int64_t column() const { return transposed ? k : 1; }
};

/// Returns nothing if the weights do not fit.
std::optional<std::vector<std::byte>> packed(Isa isa, const std::vector<float>& w, const Case& p,
                                             int64_t size, int threads) {
  WorkerContext context(threads);
  std::vector<std::byte> to(static_cast<size_t>(size), std::byte{0xa5});
  const auto halves = upper_halves(w);
  const bool fits =
      p.of == ExponentPackedKind::floats
          ? cpu::pack_exponents(isa, to.data(), Operand{w.data(), p.row(), p.column()}, p.k, p.n, context)
          : cpu::pack_exponents(isa, to.data(), Bf16PairOperand{halves.data(), p.row(), p.column()}, p.k / 2,
                                p.n, context);
  return fits ? std::optional(to) : std::nullopt;
}

/// Multiplies by the whole weights.
void multiply_whole(Isa isa, const std::vector<float>& w, const Case& p, const float* a,
                    const cpu::Start& start, float* c) {
  const bool pairs = p.of == ExponentPackedKind::bf16_pairs;
  const cpu::GemmKernels& g =
      pairs ? cpu::bf16_dot2_kernels(isa, p.strict) : cpu::gemm_kernels(isa, p.strict);
  WorkerContext context(1);
  std::vector<float> whole(static_cast<size_t>(cpu::packed_b_size(g, p.elements(), p.n)));
  if (pairs) {
    const auto halves = upper_halves(w);
    cpu::pack_bf16_pairs(g, reinterpret_cast<BFloat16*>(whole.data()), {halves.data(), p.row(), p.column()},
                         p.k / 2, p.n, context);
  } else {
    cpu::pack_whole_b(g, whole.data(), {w.data(), p.row(), p.column()}, p.k, p.n, context);
  }
  const cpu::Products q{.m = p.m,
                        .n = p.n,
                        .k = p.elements(),
                        .a = {a, p.k, pairs ? 2 : 1},
                        .packed_b = whole.data(),
                        .c = c,
                        .start = start};
  Fenced scratch(cpu::multiply_workspace(g, q) / sizeof(float));
  cpu::multiply(g, q, scratch.data(), context);
}

void check(Isa isa, const Case& p) {
  SCOPED_TRACE(std::string(name_of(isa)) + (p.of == ExponentPackedKind::bf16_pairs ? " pairs " : " ") +
               std::to_string(p.m) + "x" + std::to_string(p.k) + "x" + std::to_string(p.n) + " kind " +
               std::to_string(static_cast<int>(p.kind)) + (p.strict ? " strict" : "") +
               (p.transposed ? " transposed" : ""));
  const auto size = cpu::exponent_packed_size(isa, p.of, p.elements(), p.n);
  if (!size) return;
  const std::vector<float> w = weights(p.kind, p.k * p.n, static_cast<uint32_t>(p.m + p.k + p.n));
  Random random(7);
  const Fenced a(static_cast<size_t>(p.m * p.k), random), bias(static_cast<size_t>(p.n), random);
  const cpu::Start start = p.bias ? cpu::Start{bias.data(), 0, 1, 0.5F} : cpu::Start{};
  Fenced expected(static_cast<size_t>(p.m * p.n));
  multiply_whole(isa, w, p, a.data(), start, expected.data());
  const auto once = packed(isa, w, p, *size, 1);
  if (p.kind != Kind::all_sorts) {
    ASSERT_EQ(once.has_value(), p.kind == Kind::normal);
  }
  for (const int threads : {1, 3}) {
    const auto some = packed(isa, w, p, *size, threads);
    ASSERT_EQ(some, once);
    if (!some) continue;
    WorkerContext workers(threads);
    Fenced c(static_cast<size_t>(p.m * p.n));
    const cpu::ExponentPackedProduct s{.kind = p.of,
                                       .m = p.m,
                                       .n = p.n,
                                       .k = p.elements(),
                                       .a = a.data(),
                                       .b = some->data(),
                                       .c = c.data(),
                                       .start = start};
    Fenced memory(cpu::multiply_workspace(isa, s) / sizeof(float));
    cpu::multiply(isa, s, p.strict, memory.data(), workers);
    EXPECT_TRUE(c.intact());
    EXPECT_TRUE(memory.intact());
    // If both are NaN, their bits may differ.
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_TRUE(std::bit_cast<uint32_t>(c.data()[i]) == std::bit_cast<uint32_t>(expected.data()[i]) ||
                  (c.data()[i] != c.data()[i] && expected.data()[i] != expected.data()[i]))
          << i << ": " << c.data()[i] << ", " << expected.data()[i];
  }
}

constexpr ExponentPackedKind kinds[] = {ExponentPackedKind::floats, ExponentPackedKind::bf16_pairs};

TEST(CpuExponentPacked, SameBits) {
  for (const Isa isa : usable_isas())
    for (const ExponentPackedKind of : kinds) {
      for (const int64_t m : {1, 2, 3, 4, 5, 30, 70})
        for (const int64_t k : {1, 4, 15, 31, 32, 33, 47, 64, 94, 100, 800, 1600})
          for (const int64_t n : {1, 16, 40, 97})
            if (of == ExponentPackedKind::floats || k % 2 == 0)
              check(isa, {of, m, k, n, Kind::normal, (m + k) % 2 == 0});
      for (const int64_t m : {1, 3, 4, 40})
        for (const Kind kind : {Kind::all_sorts, Kind::wild})
          for (const bool strict : {false, true}) {
            check(isa, {of, m, 96, 200, kind, strict, strict, true});
            check(isa,
                  {of, m, of == ExponentPackedKind::floats ? 777 : 778, 65, kind, !strict, strict, true});
            check(isa, {of, m, 1024, 640, Kind::normal, strict, strict, true});
          }
    }
}

TEST(CpuExponentPacked, Empty) {
  for (const Isa isa : usable_isas())
    for (const ExponentPackedKind of : kinds)
      for (const Case& p : {Case{of, 0, 32, 16}, Case{of, 2, 0, 16, Kind::all_sorts, false, false, true},
                            Case{of, 2, 32, 0, Kind::all_sorts}})
        check(isa, p);
}

/// A plan from a file may have any bytes: nothing outside is read or written.
TEST(CpuExponentPacked, AnyBytes) {
  std::mt19937 random(3);
  for (const Isa isa : usable_isas())
    for (const ExponentPackedKind of : kinds)
      for (const int64_t m : {1, 4, 20}) {
        const int64_t k = 125, n = 70, numbers = of == ExponentPackedKind::bf16_pairs ? 2 * k : k;
        std::vector<std::byte> bytes(static_cast<size_t>(cpu::exponent_packed_size(isa, of, k, n).value()));
        for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 255);
        Random floats(5);
        const Fenced a(static_cast<size_t>(m * numbers), floats);
        Fenced c(static_cast<size_t>(m * n));
        const cpu::ExponentPackedProduct s{
            .kind = of, .m = m, .n = n, .k = k, .a = a.data(), .b = bytes.data(), .c = c.data()};
        Fenced memory(cpu::multiply_workspace(isa, s) / sizeof(float));
        WorkerContext context(1);
        cpu::multiply(isa, s, false, memory.data(), context);
        EXPECT_TRUE(c.intact());
        EXPECT_TRUE(memory.intact());
      }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::test
