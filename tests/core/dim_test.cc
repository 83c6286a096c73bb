// Symbolic dimensions: laws of the algebra, simplification, text, proofs, and random expressions against
// plain numbers.
#include "lathe/dim.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>

#include "lathe/error.h"
#include "support/error_code.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using Sizes = std::map<std::string, int64_t, std::less<>>;

Dim s(const char* name) { return Dim::symbol(name); }
const Dim n = s("n"), m = s("m"), k = s("k");

using lathe::testing::code_of;

TEST(Dim, SumsAndProductsAreNormalized) {
  EXPECT_EQ(Dim(2) * (s("seq") + s("past")), s("past") * 2 + s("seq") * 2);
  EXPECT_EQ((n + m) * (n - m), n * n - m * m);
  EXPECT_EQ(n + m - n, m);
  EXPECT_EQ((n - n).value(), 0);
  EXPECT_TRUE((n * 0 + 4).is_constant());
  EXPECT_EQ((n * 0 + 4).constant(), 4);
  EXPECT_FALSE(n == m);
  EXPECT_FALSE(n == Dim(3));
  EXPECT_EQ(-(-n), n);
}

TEST(Dim, Text) {
  EXPECT_EQ((s("batch") * 4).str(), "4*batch");
  EXPECT_EQ((s("seq") + s("past")).str(), "past + seq");
  EXPECT_EQ((n * n - m * 3 - 7).str(), "n*n - 3*m - 7");
  EXPECT_EQ((-n).str(), "-n");
  EXPECT_EQ((floor_div(n + 1, 2) + 1).str(), "floor((n + 1)/2) + 1");
  EXPECT_EQ(floor_div(m, n * k).str(), "floor(m/(k*n))");
  EXPECT_EQ(max(n, m).str(), "max(m, n)");
  EXPECT_EQ(broadcast(n, m)->str(), "broadcast(m, n)");
  EXPECT_EQ(s("input:0.1").str(), "\"input:0.1\"");
  EXPECT_EQ(describe(SymShape{s("batch"), 3, 224}), "[batch, 3, 224]");
  EXPECT_EQ(describe(SymShape{}), "[]");
  EXPECT_EQ(Dim(INT64_MIN).str(), "-9223372036854775808");
}

TEST(Dim, ParseReadsWhatIsPrinted) {
  const Dim u = Dim::unknown();
  const Dim all[] = {Dim(0),
                     Dim(-3),
                     n,
                     n * n * 3 - m + 2,
                     floor_div(n * 3 + m, m + 1),
                     min(n, m * 2) * 5,
                     max(max(n, m), k),
                     *broadcast(n, m) + floor_div(n, 7),
                     s("a \"b\\c"),
                     s("5"),
                     s("min"),
                     u,
                     u * 2 + floor_div(u, 3),
                     s("höhe"),
                     mod(n, 8),
                     -n + 1};
  for (const Dim& d : all) EXPECT_EQ(Dim::parse(d.str()), d) << d.str();
  EXPECT_EQ(Dim::parse(" ( n+ m )*2 "), n * 2 + m * 2);
  EXPECT_EQ(Dim::parse("ceil(n/2)"), ceil_div(n, 2));
  EXPECT_EQ(Dim::parse("mod(n, 4)"), mod(n, 4));
  EXPECT_EQ(Dim::parse("n - -2"), n + 2);
}

TEST(Dim, ParseRefusesWhatItCannotRead) {
  for (const char* bad :
       {"", "n +", "(n", "n)", "2n", "n m", "n/2", "foo(n)", "floor(n)", "floor(n + 1/2)",
        "9223372036854775808", "\"open", "n;", "floor(height/2 - 1/2) + 1", "broadcast(2, 3)"})
    EXPECT_EQ(code_of([&] { Dim::parse(bad); }), Code::text_syntax) << bad;
  EXPECT_EQ(code_of([] { Dim::parse(std::string(100000, '(')); }), Code::text_syntax);
  EXPECT_EQ(Dim::parse(std::string(100001, '-') + "n"), -n);
}

TEST(Dim, DivisionIsExactWherePossible) {
  EXPECT_EQ(floor_div(n * m * 12, m * 4), n * 3);
  EXPECT_EQ(floor_div(n * 12, 4), n * 3);
  EXPECT_EQ(floor_div(n * n - m * m, n + m), n - m);
  EXPECT_EQ(floor_div(s("batch") * s("seq") * 768, s("batch") * s("seq") * 12), Dim(64));
  EXPECT_EQ(floor_div((n + m) * 64, n + m), Dim(64));
  EXPECT_EQ(floor_div(n * m * 6, m * k * 4), floor_div(n * 3, k * 2));
  EXPECT_EQ(floor_div(n * 4 + 7, 4), n + 1);
  EXPECT_EQ(floor_div(n * 2, 4), floor_div(n, 2));
  EXPECT_EQ(floor_div(n * 2 + 1, 4), floor_div(n, 2));
  EXPECT_EQ(floor_div(floor_div(n + 1, 2) + 1, 2), floor_div(n + 3, 4));
  EXPECT_EQ(floor_div(n - 1, 2) + 1, floor_div(n + 1, 2));
  EXPECT_EQ(ceil_div(n * 3, 3), n);
  EXPECT_EQ(ceil_div(n, 2), floor_div(n + 1, 2));
  EXPECT_EQ(floor_div(n, -1), -n);
  EXPECT_EQ(mod(n * 4, 2), Dim(0));
  EXPECT_EQ(mod(n * 4 + 3, 2), Dim(1));
  EXPECT_EQ(floor_div(mod(n, 8), 8), Dim(0));
  EXPECT_EQ(floor_div(-n, 8), -ceil_div(n, 8));
  EXPECT_EQ(floor_div(n * 7, 8), n - ceil_div(n, 8));
  EXPECT_EQ(n + mod(-n, 8), Dim(8) * ceil_div(n, 8));  // padding up to a multiple
}

TEST(Dim, ExtremesDropWhatCannotWin) {
  EXPECT_EQ(max(n, Dim(0)), n);
  EXPECT_EQ(min(n, Dim(0)), Dim(0));
  EXPECT_EQ(min(n, n + m), n);
  EXPECT_EQ(max(n, n + 1), n + 1);
  EXPECT_EQ(min(n, Dim(INT64_MAX)), n);
  EXPECT_EQ(max(n, Dim(INT64_MIN)), n);
  EXPECT_EQ(max(max(n, m), n), max(m, n));
  EXPECT_EQ(min(min(n, m), min(k, m)), min(k, min(m, n)));
  EXPECT_EQ(max(n - floor_div(n, 2), Dim(0)), n - floor_div(n, 2));
  EXPECT_EQ(max(Dim(3), Dim(5)), Dim(5));
}

TEST(Dim, Broadcast) {
  EXPECT_EQ(broadcast(n, Dim(1)), n);
  EXPECT_EQ(broadcast(Dim(1), n), n);
  EXPECT_EQ(broadcast(n, n), n);
  EXPECT_EQ(broadcast(n, Dim(4)), Dim(4));
  EXPECT_EQ(broadcast(n, Dim(0)), Dim(0));
  EXPECT_EQ(broadcast(n + 2, m), n + 2);
  EXPECT_EQ(broadcast(n, m), broadcast(m, n));
  EXPECT_EQ(broadcast(*broadcast(n, m), n), broadcast(m, n));
  EXPECT_FALSE(broadcast(Dim(2), Dim(3)));
  EXPECT_FALSE(broadcast(int64_t{2}, int64_t{3}));
  EXPECT_EQ(broadcast(n, m)->evaluate(Sizes{{"n", 1}, {"m", 5}}), 5);
  EXPECT_FALSE(broadcast(n, m)->evaluate(Sizes{{"n", 2}, {"m", 5}}));
}

TEST(Dim, Proofs) {
  EXPECT_TRUE(surely_at_least(n, 0));
  EXPECT_FALSE(surely_at_least(n, 1));
  EXPECT_TRUE(surely_at_least(n + 1, 1));
  EXPECT_TRUE(surely_at_least(n * m * 2 + 3, 3));
  EXPECT_FALSE(surely_at_least(n - m, 0));
  EXPECT_TRUE(surely_at_least(n - floor_div(n, 2), 0));
  EXPECT_TRUE(surely_at_least(mod(n, 8), 0));
  EXPECT_TRUE(surely_at_least(Dim(7) - mod(n, 8), 0));
  EXPECT_FALSE(surely_at_least(Dim(6) - mod(n, 8), 0));
  EXPECT_TRUE(surely_at_least(max(n, Dim(3)), 3));
  EXPECT_TRUE(surely_at_least(Dim(5) - min(n, Dim(5)), 0));
  EXPECT_FALSE(surely_at_least(Dim(2), 3));
}

TEST(Dim, SymbolsUnknownsAndSubstitution) {
  const Dim u = Dim::unknown();
  EXPECT_EQ(u, u);
  EXPECT_FALSE(u == Dim::unknown());
  EXPECT_TRUE((u * 2 + n).has_unknown());
  EXPECT_FALSE((n + 2).has_unknown());
  EXPECT_EQ(n.symbol_name(), "n");
  EXPECT_EQ(u.symbol_name(), u.str());
  EXPECT_FALSE((n + 1).symbol_name());
  EXPECT_FALSE((n * n).symbol_name());
  EXPECT_EQ((floor_div(n + k, m) * n).symbols(), (std::vector<std::string>{"k", "m", "n"}));
  EXPECT_EQ((n * n + m).substitute({{"n", m + 1}}), m * m + m * 3 + 1);
  EXPECT_EQ(floor_div(n, 2).substitute({{"n", Dim(9)}}), Dim(4));
  EXPECT_EQ(max(n, m).substitute({{"n", m + 2}}), m + 2);
  EXPECT_EQ(code_of([] {
              broadcast(n, m)->substitute({{"n", Dim(2)}, {"m", Dim(3)}});
            }),
            Code::tensor_bad_shape);
  // An unknown that was read from text is not made again.
  const Dim read = Dim::parse("?900000");
  EXPECT_FALSE(read == Dim::unknown());
  EXPECT_EQ(Dim::unknown().symbol_name()->size(), 7u);
}

TEST(Dim, EvaluationAndItsFailures) {
  EXPECT_EQ((n * 2 + m).evaluate(Sizes{{"n", 3}, {"m", 4}}), 10);
  EXPECT_FALSE((n * 2 + m).evaluate(Sizes{{"n", 3}}));
  EXPECT_FALSE(floor_div(n, m).evaluate(Sizes{{"n", 3}, {"m", 0}}));
  EXPECT_EQ(code_of([] { Dim(INT64_MAX) + Dim(1); }), Code::tensor_bad_shape);
  EXPECT_EQ(code_of([] { Dim(INT64_MAX) * Dim(2); }), Code::tensor_bad_shape);
  EXPECT_EQ(code_of([] { -Dim(INT64_MIN); }), Code::tensor_bad_shape);
  EXPECT_EQ(code_of([] { floor_div(INT64_MIN, int64_t{-1}); }), Code::tensor_bad_shape);
  EXPECT_EQ(code_of([] { floor_div(int64_t{1}, int64_t{0}); }), Code::tensor_bad_shape);
  EXPECT_EQ(code_of([] { floor_div(n, Dim(0)); }), Code::tensor_bad_shape);
  EXPECT_EQ(code_of([] { mod(int64_t{1}, int64_t{0}); }), Code::tensor_bad_shape);
  EXPECT_EQ(code_of([] { (n * n).evaluate(Sizes{{"n", INT64_MAX}}); }), Code::tensor_bad_shape);
  EXPECT_EQ(mod(INT64_MIN, int64_t{-1}), 0);
  EXPECT_EQ(floor_div(int64_t{-7}, int64_t{2}), -4);
  EXPECT_EQ(ceil_div(int64_t{-7}, int64_t{2}), -3);
  EXPECT_EQ(ceil_div(int64_t{7}, int64_t{-2}), -3);
  EXPECT_EQ(mod(int64_t{-7}, int64_t{3}), 2);
}

TEST(Dim, GrowthIsBounded) {
  Dim power = n + m + k + 1;
  for (int i = 0; i < 40; ++i) power = power * power;
  EXPECT_TRUE(power.has_unknown());
  Dim nested = n;
  for (int i = 0; i < 100000; ++i) nested = floor_div(nested + m, s("d"));
  EXPECT_LT(nested.str().size(), 10000u);
  Dim doubling = n;
  for (int i = 0; i < 1000; ++i) doubling = max(doubling + m, floor_div(doubling, k));
  EXPECT_LT(doubling.str().size(), 10000u);
}

TEST(Dim, TotalOrder) {
  const Dim all[] = {0, 1, n, m, n + 1, n * m, n * n, floor_div(n, 2), max(n, m), *broadcast(n, m)};
  for (const Dim& a : all)
    for (const Dim& b : all) {
      EXPECT_EQ(Dim::compare(a, b) == 0, a == b);
      EXPECT_EQ(Dim::compare(a, b) < 0, Dim::compare(b, a) > 0);
    }
}

/// A random expression, built twice: over symbols and over their numbers. The number is absent if evaluation
/// must fail.
struct Pair {
  Dim symbolic;
  std::optional<int64_t> number;
};

class RandomExpressions {
 public:
  RandomExpressions(uint32_t seed, const Sizes& sizes) : random_(seed), sizes_(sizes) {}

  Pair make(int depth) {
    if (depth == 0 || pick(6) == 0) {
      if (pick(2)) {
        const int64_t c = static_cast<int64_t>(pick(13)) - 4;
        return {c, c};
      }
      const char* names[] = {"a", "b", "c"};
      const char* name = names[pick(3)];
      return {Dim::symbol(name), sizes_.at(name)};
    }
    const Pair x = make(depth - 1), y = make(depth - 1);
    const bool both = x.number && y.number;
    auto number = [&](auto f) {
      return both ? std::optional<int64_t>(f(*x.number, *y.number)) : std::nullopt;
    };
    switch (pick(8)) {
      case 0:
        return {x.symbolic + y.symbolic, number([](int64_t p, int64_t q) { return p + q; })};
      case 1:
        return {x.symbolic - y.symbolic, number([](int64_t p, int64_t q) { return p - q; })};
      case 2:
        return {x.symbolic * y.symbolic, number([](int64_t p, int64_t q) { return p * q; })};
      case 3:
        return {min(x.symbolic, y.symbolic), number([](int64_t p, int64_t q) { return std::min(p, q); })};
      case 4:
        return {max(x.symbolic, y.symbolic), number([](int64_t p, int64_t q) { return std::max(p, q); })};
      default:
        break;
    }
    if (y.symbolic == Dim(0)) return x;
    const uint32_t which = pick(3);
    Pair r{which == 0   ? floor_div(x.symbolic, y.symbolic)
           : which == 1 ? ceil_div(x.symbolic, y.symbolic)
                        : mod(x.symbolic, y.symbolic),
           std::nullopt};
    if (both && *y.number != 0)
      r.number = which == 0   ? floor_div(*x.number, *y.number)
                 : which == 1 ? ceil_div(*x.number, *y.number)
                              : mod(*x.number, *y.number);
    return r;
  }

 private:
  uint32_t pick(uint32_t below) { return static_cast<uint32_t>(random_() % below); }
  std::mt19937 random_;
  const Sizes& sizes_;
};

TEST(Dim, RandomExpressionsAgreeWithNumbers) {
  int compared = 0;
  for (uint32_t seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    const Sizes sizes{{"a", random() % 9}, {"b", 1 + random() % 9}, {"c", random() % 40}};
    const Pair p = RandomExpressions(seed, sizes).make(4);
    if (!p.number || p.symbolic.has_unknown()) continue;
    EXPECT_EQ(p.symbolic.evaluate(sizes), p.number) << "seed " << seed << ": " << p.symbolic.str();
    ASSERT_EQ(Dim::parse(p.symbolic.str()), p.symbolic) << p.symbolic.str();
    std::map<std::string, Dim, std::less<>> by;
    for (const auto& [name, size] : sizes) by[name] = size;
    EXPECT_EQ(p.symbolic.substitute(by), Dim(*p.number)) << p.symbolic.str();
    for (int64_t bound : {*p.number + 1, *p.number - 1})
      if (surely_at_least(p.symbolic, bound)) {
        EXPECT_GE(*p.number, bound) << p.symbolic.str();
      }
    ++compared;
  }
  EXPECT_GT(compared, 2000);
}

TEST(Dim, RandomExpressionsKeepTheLawsOfArithmetic) {
  const Sizes sizes{{"a", 1}, {"b", 2}, {"c", 3}};
  for (uint32_t seed = 0; seed < 1000; ++seed) {
    RandomExpressions r(seed, sizes);
    const Dim x = r.make(2).symbolic, y = r.make(2).symbolic, z = r.make(2).symbolic;
    if ((x * y * z).has_unknown() || (x * (y * z)).has_unknown()) continue;  // outgrew its bounds
    EXPECT_EQ(x + y, y + x);
    EXPECT_EQ(x * y, y * x);
    EXPECT_EQ((x + y) + z, x + (y + z));
    EXPECT_EQ((x * y) * z, x * (y * z));
    EXPECT_EQ(x * (y + z), x * y + x * z);
    EXPECT_EQ(x - x, Dim(0));
    EXPECT_EQ(min(x, y), min(y, x));
    if (!y.is_constant()) {
      EXPECT_EQ(floor_div(x * y, y), x) << x.str() << " by " << y.str();
    }
  }
}

TEST(Dim, SharedBetweenThreads) {
  const Dim shared = floor_div(n * m + k, 4) * 3;
  const std::string text = shared.str();
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) {
        const Dim copy = shared;
        if (copy.str() != text || !(copy + Dim::unknown() - copy).symbol_name()) ++wrong;
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
