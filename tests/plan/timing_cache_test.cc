// Timing caches as files, merged, and as strangers may make them; the cut between two layouts.
#include "lathe/timing_cache.h"

#include <gtest/gtest.h>

#include "lathe/merge_timing_caches.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "targets/cpu/min_cut.h"
#include "tune/problem.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using testing::code_of;

using Machine = TimingCache::Machine;
using Timings = TimingCache::Timings;

const Machine other{"abacus", {"beads"}, "9.9"};

TimingCache small_cache() {
  TimingCache c;
  c.update("Conv(…)", {"b", {{"a", 3}, {"b", 1.25}}}, Machine::here());
  c.update("Gemm(…)", {"a", {}}, Machine::here());
  c.update("Conv(…)", {"a", {{"a", 1}}}, other);
  return c;
}

TEST(TimingCache, IsReadAsItWasWritten) {
  const testing::TempDirectory folder;
  small_cache().save(folder / "t.json");
  const TimingCache c = TimingCache::load(folder / "t.json");
  EXPECT_EQ(c.serialize(), small_cache().serialize());
  const Timings* t = c.query("Conv(…)", Machine::here());
  ASSERT_TRUE(t);
  EXPECT_EQ(t->chosen, "b");
  EXPECT_EQ(t->microseconds.at("b"), 1.25);
  EXPECT_FALSE(c.query("Gemm(…)", other));
}

TEST(TimingCache, Merges) {
  TimingCache a = small_cache(), b;
  b.update("Conv(…)", {"c", {{"a", 2}, {"b", 4}, {"c", 1.5}}}, Machine::here());
  b.update("Gemm(…)", {"z", {{"z", 5}}}, Machine::here());
  b.update("Add(…)", {"a", {}}, Machine::here());
  a.combine(b);
  const Timings& conv = *a.query("Conv(…)", Machine::here());
  EXPECT_EQ(conv.microseconds, (std::map<std::string, double>{{"a", 2}, {"b", 1.25}, {"c", 1.5}}));
  EXPECT_EQ(conv.chosen, "b");                                  // they disagreed: the fastest of all
  EXPECT_EQ(a.query("Gemm(…)", Machine::here())->chosen, "z");  // measured counts more than guessed
  EXPECT_TRUE(a.query("Add(…)", Machine::here()));
  EXPECT_EQ(a.query("Conv(…)", other)->microseconds.at("a"), 1);  // another machine's stay its own
  TimingCache again = small_cache();
  again.combine(small_cache());
  EXPECT_EQ(again.serialize(), small_cache().serialize());
}

TEST(TimingCache, IsAskedAndChanged) {
  TimingCache c = small_cache();
  EXPECT_EQ(c.query_keys(), (std::vector<std::string>{"Conv(…)", "Gemm(…)"}));
  EXPECT_EQ(c.query_keys(other), (std::vector<std::string>{"Conv(…)"}));
  EXPECT_TRUE(c.query_keys({"none", {}, ""}).empty());
  c.pin("Conv(…)", "a");
  EXPECT_EQ(*c.query("Conv(…)"), (Timings{"a", {{"a", 3}, {"b", 1.25}}}));
  EXPECT_EQ(code_of([&] { c.pin("Conv(…)", "c"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { c.pin("Other", "a"); }), Code::bad_argument);
  c.pin("Gemm(…)", "anything");  // nothing was measured
  EXPECT_EQ(code_of([&] { c.update("x", {"a", {{"a", -1}}}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { c.update("x", {"b", {{"a", 1}}}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { c.update("x", {}); }), Code::bad_argument);
  EXPECT_FALSE(c.query("x"));
  EXPECT_EQ(TimingCache::deserialize(c.serialize()).serialize(), c.serialize());
}

TEST(TimingCache, MergesFiles) {
  const testing::TempDirectory folder;
  small_cache().save(folder / "a.json");
  TimingCache b;
  b.update("Conv(…)", {"a", {{"a", 0.5}}}, other);
  b.save(folder / "b.json");
  const TimingCacheInfo info = merge_timing_caches({folder / "a.json", folder / "b.json"}, folder / "c.json");
  ASSERT_EQ(info.machines.size(), 2u);
  for (const auto& m : info.machines) {
    EXPECT_EQ(m.here, m.cpu != "abacus");
    EXPECT_EQ(m.problems, m.here ? 2 : 1);
    EXPECT_EQ(m.untimed, m.here ? 1 : 0);
  }
  EXPECT_EQ(TimingCache::load(folder / "c.json").query("Conv(…)", other)->microseconds.at("a"), 0.5);
  EXPECT_EQ(code_of([&] { merge_timing_caches({folder / "none.json"}); }), Code::file_not_found);
  EXPECT_EQ(code_of([&] { merge_timing_caches({folder / "a.json"}, folder / "no/such/c.json"); }),
            Code::file_write_failed);
}

std::string with(const std::string& machines) {
  return R"({"format": "lathe timing cache", "version": 1, "machines": )" + machines + "}";
}
std::string with_problem(const std::string& timings) {
  return with(R"([{"cpu": "c", "features": [], "lathe": "1", "problems": {"p": )" + timings + "}}]");
}

TEST(TimingCache, SaysWhichVersionItIsNot) {
  for (const std::string version : {"\"1\"", "-1", "2", "1.5"}) {
    try {
      TimingCache::deserialize(R"({"format": "lathe timing cache", "version": )" + version + "}");
      FAIL() << version;
    } catch (const Error& e) {
      EXPECT_EQ(e.diagnostic().expected, "version 1");
      EXPECT_EQ(e.diagnostic().got, version);
    }
  }
}

TEST(TimingCache, RefusesWhatIsNone) {
  EXPECT_EQ(code_of([] { TimingCache::deserialize(with("[]")); }), Code::none);
  EXPECT_EQ(
      code_of([] { TimingCache::deserialize(with_problem(R"({"chosen": "a", "microseconds": {"a": 1}})")); }),
      Code::none);
  for (const std::string& text : {
           std::string(),
           std::string("{"),
           std::string("[]"),
           std::string("\0\xff\xfe", 3),
           std::string(R"({"format": "something", "version": 1, "machines": []})"),
           std::string(R"({"format": "lathe timing cache", "version": 2, "machines": []})"),
           std::string(R"({"format": "lathe timing cache", "version": "1", "machines": []})"),
           std::string(R"({"format": "lathe timing cache", "version": 1})"),
           with("{}"),
           with("[3]"),
           with(R"([{"cpu": 1, "features": [], "lathe": "1", "problems": {}}])"),
           with(R"([{"cpu": "c", "features": [1], "lathe": "1", "problems": {}}])"),
           with(R"([{"cpu": "c", "features": [], "lathe": "1", "problems": []}])"),
           with_problem("3"),
           with_problem(R"({"chosen": "a"})"),
           with_problem(R"({"chosen": 1, "microseconds": {}})"),
           with_problem(R"({"chosen": "b", "microseconds": {"a": 1}})"),
           with_problem(R"({"chosen": "a", "microseconds": {"a": -1}})"),
           with_problem(R"({"chosen": "a", "microseconds": {"a": 0}})"),
           with_problem(R"({"chosen": "a", "microseconds": {"a": 1e999}})"),
           with_problem(R"({"chosen": "a", "microseconds": {"a": "1"}})"),
           with_problem(R"({"chosen": "a", "microseconds": {"a": [[[[[[1]]]]]]}})"),
           std::string(100'000, '['),
           std::string(100'000, '{'),
       })
    EXPECT_EQ(code_of([&] { TimingCache::deserialize(text); }), Code::json_malformed) << text.substr(0, 200);
}

TEST(TimingCache, SurvivesDamage) {
  const std::string good = small_cache().serialize();
  uint32_t random = 7;
  const auto draw = [&](size_t n) { return (random = random * 1664525 + 1013904223) / 7 % n; };
  for (int i = 0; i < 3000; ++i) {
    std::string bad = good;
    for (size_t k = 0; k < 1 + draw(3); ++k) bad[draw(bad.size())] = static_cast<char>(draw(256));
    if (draw(4) == 0) bad.resize(draw(bad.size()));
    const Code code = code_of([&] { TimingCache::deserialize(bad); });
    EXPECT_TRUE(code == Code::none || code == Code::json_malformed) << bad;
  }
}

TEST(TimingCache, RefusesFilesThatAreTooLarge) {
  const testing::TempDirectory folder;
  const std::filesystem::path file = folder.write("large.json", "{");
  std::filesystem::resize_file(file, uint64_t{1} << 40);  // a hole
  EXPECT_EQ(code_of([&] { TimingCache::load(file); }), Code::json_malformed);
  EXPECT_EQ(code_of([&] { TimingCache::load(folder.path()); }), Code::file_not_regular);
}

TEST(Problem, IsOneLineOfText) {
  const Tensor axes = Tensor::from<int64_t>({2}, std::vector<int64_t>{1, -1}), w(DataType::float32, {4, 3});
  const std::vector<KernelQuery::Operand> in{
      {true, DataType::float32, SymShape{Dim::symbol("n"), Dim(3)}, nullptr},
      {true, DataType::float32, std::nullopt, &w},
      {},
      {true, DataType::int64, std::nullopt, &axes}};
  const std::vector<KernelQuery::Operand> out{{true, DataType::float32, std::nullopt, nullptr}};
  Attributes a;
  a.set("z", std::vector<int64_t>{1, 2});
  a.set("b", 0.5f);
  const auto p = problem_of("lathe", "Op", a, {in, out, Isa::avx2}, {{"n", 5}}, true);
  ASSERT_TRUE(p);
  EXPECT_EQ(
      p->text(),
      "lathe.Op(float32[5,3], const float32[4,3], -, const int64[2] = 1 -1) -> float32 {b: 0.5, z: [1,2]} "
      "for avx2, constants from memory");
  EXPECT_FALSE(problem_of("lathe", "Op", a, {in, out, Isa::avx2}, {}, true));  // of unknown size
  a.set("s", "\xff");
  EXPECT_FALSE(problem_of("lathe", "Op", a, {in, out, Isa::avx2}, {{"n", 5}}, true));
  const std::vector<KernelQuery::Operand> indices{{true, DataType::int64, SymShape{Dim(3)}, nullptr}};
  EXPECT_FALSE(problem_of("", "Op", {}, {indices, out, Isa::avx2}, {}, true));  // which must point somewhere
  const std::vector<KernelQuery::Operand> large{
      {true, DataType::float32, SymShape{Dim(1 << 20), Dim(1 << 20), Dim(1 << 30)}, nullptr}};
  EXPECT_FALSE(problem_of("", "Op", {}, {large, out, Isa::avx2}, {}, true));
}

TEST(MinCut, FindsTheCheapest) {
  // Two nodes have lower costs on different sides, and an edge between them has a cost of its own.
  for (const int64_t bond : {1, 100}) {
    MinCut c;
    const size_t a = c.add_node(), b = c.add_node();
    c.add_edge(MinCut::source, a, 10);
    c.add_edge(a, MinCut::sink, 2);
    c.add_edge(MinCut::source, b, 3);
    c.add_edge(b, MinCut::sink, 7);
    c.add_edge(a, b, bond);
    const std::vector<bool> side = c.source_side();
    EXPECT_TRUE(side[a]);
    EXPECT_EQ(side[b], bond == 100);
  }
}

TEST(MinCut, AgreesWithTryingAll) {
  uint32_t random = 3;
  const auto draw = [&](uint32_t n) { return (random = random * 1664525 + 1013904223) / 64 % n; };
  for (int round = 0; round < 200; ++round) {
    constexpr size_t nodes = 8;  // the source and the sink among them
    int64_t cost[nodes][nodes] = {};
    MinCut c;
    while (c.add_node() + 1 < nodes) {
    }
    for (size_t i = 0; i < nodes; ++i)
      for (size_t j = 0; j < nodes; ++j)
        if (i != j && draw(2)) c.add_edge(i, j, cost[i][j] = draw(20));
    const auto price = [&](auto&& on_source_side) {
      int64_t sum = 0;
      for (size_t i = 0; i < nodes; ++i)
        for (size_t j = 0; j < nodes; ++j)
          if (on_source_side(i) && !on_source_side(j)) sum += cost[i][j];
      return sum;
    };
    const std::vector<bool> side = c.source_side();
    ASSERT_TRUE(side[MinCut::source]);
    ASSERT_FALSE(side[MinCut::sink]);
    int64_t least = INT64_MAX;
    for (size_t set = 0; set < (size_t{1} << nodes); ++set)
      if ((set & 3) == 1) least = std::min(least, price([&](size_t i) { return (set >> i & 1) != 0; }));
    EXPECT_EQ(price([&](size_t i) { return side[i]; }), least);
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
