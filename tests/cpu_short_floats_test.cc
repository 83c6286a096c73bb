// Weights of float32 in seven eighths of their bytes: products have the bits that whole ones give.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <random>

#include "cpu/short_floats.h"
#include "support/worker_context.h"

namespace lathe::test {
namespace {

using cpu::Operand;

/// What weights are like: near each other, of which now and then something does not fit; with all sorts of
/// numbers among them; or of such different sizes that nothing is gained.
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

std::vector<std::byte> packed(Isa isa, const std::vector<float>& w, bool transposed, int64_t k, int64_t n,
                              int threads) {
  WorkerContext context(threads);
  std::vector<std::byte> to(static_cast<size_t>(cpu::short_size(isa, k, n)), std::byte{0xa5});
  cpu::pack_short(isa, to.data(), {w.data(), transposed ? 1 : n, transposed ? k : 1}, k, n, context);
  return to;
}

struct Case {
  int64_t m, k, n;
  Kind kind = Kind::normal;
  bool transposed = false, strict = false, bias = false;
};

void check(Isa isa, const Case& p) {
  SCOPED_TRACE(std::string(name_of(isa)) + " " + std::to_string(p.m) + "x" + std::to_string(p.k) + "x" +
               std::to_string(p.n) + " kind " + std::to_string(static_cast<int>(p.kind)) +
               (p.strict ? " strict" : "") + (p.transposed ? " transposed" : ""));
  const std::vector<float> w = weights(p.kind, p.k * p.n, static_cast<uint32_t>(p.m + p.k + p.n));
  Random random(7);
  const Fenced a(static_cast<size_t>(p.m * p.k), random), bias(static_cast<size_t>(p.n), random);
  const cpu::Start start = p.bias ? cpu::Start{bias.data(), 0, 1, 0.5F} : cpu::Start{};
  const cpu::GemmKernels& g = cpu::gemm_kernels(isa, p.strict);
  WorkerContext context(1);
  std::vector<float> whole(static_cast<size_t>(cpu::packed_b_size(g, p.k, p.n)));
  const Operand b{w.data(), p.transposed ? 1 : p.n, p.transposed ? p.k : 1};
  cpu::pack_whole_b(g, whole.data(), b, p.k, p.n, context);
  cpu::Products q{
      .m = p.m, .n = p.n, .k = p.k, .a = {a.data(), p.k, 1}, .packed_b = whole.data(), .start = start};
  Fenced expected(static_cast<size_t>(p.m * p.n)), scratch(cpu::multiply_workspace(g, q) / sizeof(float));
  q.c = expected.data();
  cpu::multiply(g, q, scratch.data(), context);
  const auto once = packed(isa, w, p.transposed, p.k, p.n, 1);
  for (const int threads : {1, 3}) {
    const auto some = packed(isa, w, p.transposed, p.k, p.n, threads);
    EXPECT_EQ(some, once);
    if (p.kind != Kind::all_sorts) {
      EXPECT_EQ(some[0], std::byte{p.kind == Kind::normal ? uint8_t{1} : uint8_t{0}});
    }
    WorkerContext workers(threads);
    Fenced c(static_cast<size_t>(p.m * p.n));
    cpu::ShortProduct s{
        .m = p.m, .n = p.n, .k = p.k, .a = a.data(), .b = some.data(), .c = c.data(), .start = start};
    Fenced room(cpu::multiply_workspace(isa, s) / sizeof(float));
    cpu::multiply(isa, s, p.strict, room.data(), workers);
    EXPECT_TRUE(c.intact());
    EXPECT_TRUE(room.intact());
    // Where both are NaN, which one is no part of the contract.
    for (size_t i = 0; i < c.size(); ++i)
      ASSERT_TRUE(std::bit_cast<uint32_t>(c.data()[i]) == std::bit_cast<uint32_t>(expected.data()[i]) ||
                  (c.data()[i] != c.data()[i] && expected.data()[i] != expected.data()[i]))
          << i << ": " << c.data()[i] << ", " << expected.data()[i];
  }
}

TEST(CpuShortFloats, SameBits) {
  for (const Isa isa : usable_isas()) {
    for (const int64_t m : {1, 2, 3, 4, 5, 30, 70})
      for (const int64_t k : {1, 4, 15, 31, 32, 33, 47, 100, 800, 1600})
        for (const int64_t n : {1, 16, 40, 97}) check(isa, {m, k, n, Kind::normal, (m + k) % 2 == 0});
    for (const int64_t m : {1, 3, 4, 40})
      for (const Kind kind : {Kind::all_sorts, Kind::wild})
        for (const bool strict : {false, true}) {
          check(isa, {m, 96, 200, kind, strict, strict, true});
          check(isa, {m, 777, 65, kind, !strict, strict, true});
          check(isa, {m, 1024, 640, Kind::normal, strict, strict, true});
        }
  }
}

TEST(CpuShortFloats, Empty) {
  for (const Isa isa : usable_isas())
    for (const Case& p : {Case{0, 32, 16}, Case{2, 0, 16, Kind::all_sorts, false, false, true},
                          Case{2, 32, 0, Kind::all_sorts}})
      check(isa, p);
}

/// A plan from a file may hold anything: nothing outside is read or written.
TEST(CpuShortFloats, AnyBytes) {
  std::mt19937 random(3);
  for (const Isa isa : usable_isas())
    for (const int64_t m : {1, 4, 20}) {
      const int64_t k = 100, n = 70;
      std::vector<std::byte> bytes(static_cast<size_t>(cpu::short_size(isa, k, n)));
      for (std::byte& b : bytes) b = static_cast<std::byte>(random() & 255);
      bytes[0] = std::byte{1};
      Random numbers(5);
      const Fenced a(static_cast<size_t>(m * k), numbers);
      Fenced c(static_cast<size_t>(m * n));
      cpu::ShortProduct s{.m = m, .n = n, .k = k, .a = a.data(), .b = bytes.data(), .c = c.data()};
      Fenced room(cpu::multiply_workspace(isa, s) / sizeof(float));
      WorkerContext context(1);
      cpu::multiply(isa, s, false, room.data(), context);
      EXPECT_TRUE(c.intact());
      EXPECT_TRUE(room.intact());
    }
}

}  // namespace
}  // namespace lathe::test
