// Builds that measure: the answers stay right, the choices follow the timing cache, and builds that are
// pinned to one give the same bytes.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "base/cpu.h"
#include "io/file.h"
#include "lathe/timing_cache.h"
#include "plan/plan_file.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using Json = nlohmann::ordered_json;
using testing::code_of;
using testing::inputs_of;
using testing::model_of;
using testing::sentence_of;
using testing::TempDirectory;

/// Three convolutions, operators between them, and a matrix product.
onnx::Model tuned_model() {
  return model_of(
      "(float[batch,3,24,24] x) => (float[batch,40] y) <float[16,3,3,3] a = {}, float[32,16,3,3] b = {}, "
      "float[32,32,3,3] c = {}, float[32] d = {}, float[32,40] e = {}>"
      "{ o = Conv<pads=[1,1,1,1], strides=[2,2]>(x, a) p = Relu(o) q = Conv<pads=[1,1,1,1]>(p, b)"
      "  r = MaxPool<kernel_shape=[2,2], strides=[2,2]>(q) s = Conv<pads=[1,1,1,1]>(r, c, d) t = Add(s, r)"
      "  u = GlobalAveragePool(t) v = Flatten(u) y = MatMul(v, e) }");
}

std::vector<Value> answers(const Engine& e) { return e.create_context().run(inputs_of(e, 2)); }

void expect_right(const Engine& e) {
  const Engine plain = Engine::build(tuned_model(), {.backend = "reference"});
  const std::vector<Value> want = answers(plain), got = answers(e);
  double most = 0;
  for (float x : want[0].tensor().as<float>()) most = std::max<double>(most, std::abs(x));
  const Comparison c = compare(got[0], want[0], 1e-4 * most, 0);
  EXPECT_TRUE(c.equal) << c.reason;
}

void expect_same_bits(const std::vector<Value>& a, const std::vector<Value>& b) {
  ASSERT_EQ(a[0].tensor().bytes(), b[0].tensor().bytes());
  EXPECT_EQ(std::memcmp(a[0].tensor().data(), b[0].tensor().data(), a[0].tensor().bytes()), 0);
}

/// The kernel of the best instruction set.
std::string kernel(const std::string& name) { return name + "." + system_info().isa; }

class Tune : public ::testing::Test {
 protected:
  BuildOptions options(TuningEffort effort = TuningEffort::normal) const {
    BuildOptions o;
    o.effort = effort;
    o.timing_cache = folder / "times.json";
    o.tune_sizes = {{"batch", 2}};
    return o;
  }
  BuildOptions pinned() const {
    BuildOptions o = options(TuningEffort::none);
    o.timing_cache_pinned = true;
    return o;
  }
  std::string bytes_of(const BuildOptions& o) const {
    Engine::build(tuned_model(), o).save(folder / "plan.lathe");
    return read_file(folder / "plan.lathe");
  }
  /// Changes the contents of the cache: f(problem, entry).
  template <class F>
  void edit(F&& f) const {
    Json all = Json::parse(read_file(folder / "times.json"));
    for (Json& machine : all["machines"])
      for (auto& [problem, entry] : machine["problems"].items()) f(problem, entry);
    folder.write("times.json", all.dump());
  }
  void choose(const std::string& of, const std::string& tactic) const {
    edit([&](const std::string& problem, Json& entry) {
      if (!problem.starts_with(of)) return;
      entry["microseconds"][tactic] = 0.01;
      entry["chosen"] = tactic;
    });
  }
  std::set<std::string> tactics_of(const Engine& e, const std::string& op) const {
    std::set<std::string> found;
    for (const StepInfo& s : e.steps())
      if (s.op == op) found.insert(s.timings.empty() ? s.kernel : s.timings[0].tactic);
    return found;
  }
  static size_t count(const Engine& e, const std::string& op) {
    size_t n = 0;
    for (const StepInfo& s : e.steps()) n += s.op == op;
    return n;
  }

  TempDirectory folder;
};
using TuneLayout = Tune;

#define NEEDS_AVX2 \
  if (!cpu_features().avx2) GTEST_SKIP() << "only where there is AVX2"

TEST_F(Tune, AnswersStayRight) {
  for (TuningEffort effort : tuning_efforts)
    for (const char* isa : {"generic", "avx2", "avx512"}) {
      BuildOptions o = options(effort);
      if (effort == TuningEffort::none) o.timing_cache.clear();
      o.isa = isa;
      const Engine e = Engine::build(tuned_model(), o);
      expect_right(e);
      const TuningReport& r = e.tuning();
      EXPECT_EQ(r.untimed, 0);
      EXPECT_EQ(r.problems, r.timed + r.cached);
      EXPECT_TRUE(effort != TuningEffort::none || r.problems == 0);
    }
}

// A choice that nothing can carry out is none: it is measured again, or counted as left open.
TEST_F(Tune, AnImpossibleChoiceIsNotKnown) {
  NEEDS_AVX2;
  const int64_t all = Engine::build(tuned_model(), options()).tuning().problems;
  const auto spoil = [&] { choose("", "of_another_machine.avx9"); };
  spoil();
  const TuningReport read = Engine::build(tuned_model(), options(TuningEffort::none)).tuning();
  EXPECT_EQ(read.cached, 0);
  EXPECT_EQ(read.untimed, read.problems);
  const TuningReport again = Engine::build(tuned_model(), options()).tuning();
  EXPECT_EQ(again.timed, all);
  EXPECT_EQ(Engine::build(tuned_model(), options()).tuning().cached, all);
}

TEST_F(Tune, WhatIsKnownIsNotTimedAgain) {
  NEEDS_AVX2;
  const TuningReport first = Engine::build(tuned_model(), options()).tuning();
  EXPECT_GT(first.timed, 5);
  EXPECT_EQ(first.cached, 0);
  const TuningReport second = Engine::build(tuned_model(), options()).tuning();
  EXPECT_EQ(second.cached, first.timed);
  EXPECT_EQ(second.timed, 0);
  // Another size of the batch is another problem.
  BuildOptions larger = options();
  larger.tune_sizes = {{"batch", 3}};
  EXPECT_GT(Engine::build(tuned_model(), larger).tuning().timed, 5);
  // Without effort, the cache is used if it has an entry, and is not changed.
  const std::string before = read_file(folder / "times.json");
  BuildOptions idle = options(TuningEffort::none);
  EXPECT_EQ(Engine::build(tuned_model(), idle).tuning().cached, first.timed);
  idle.tune_sizes = {{"batch", 4}};
  EXPECT_GT(Engine::build(tuned_model(), idle).tuning().untimed, 5);
  EXPECT_EQ(read_file(folder / "times.json"), before);
}

TEST_F(Tune, PinnedBuildsGiveTheSameBytes) {
  for (TuningEffort effort : {TuningEffort::normal, TuningEffort::high}) {
    const std::string first = bytes_of(options(effort));
    const std::string cache = read_file(folder / "times.json");
    for (int threads : {1, 3}) {
      BuildOptions o = pinned();
      o.threads = threads;
      EXPECT_TRUE(bytes_of(o) == first) << name_of(effort) << ", " << threads << " threads";
    }
    EXPECT_EQ(read_file(folder / "times.json"), cache);
    // Builds with less effort use the results of high effort.
    EXPECT_TRUE(bytes_of(options()) == first);
  }
}

TEST_F(Tune, TheBitsDoNotDependOnTheThreads) {
  BuildOptions one = options(), three = options();
  one.threads = 1;
  three.threads = 3;
  expect_same_bits(answers(Engine::build(tuned_model(), one)), answers(Engine::build(tuned_model(), three)));
}

TEST_F(Tune, WithoutTimeRulesOfThumbChoose) {
  BuildOptions o = options();
  o.tune_seconds = 0;
  const Engine e = Engine::build(tuned_model(), o);
  expect_right(e);
  EXPECT_EQ(e.tuning().timed, 0);
  EXPECT_EQ(e.tuning().untimed, e.tuning().problems);
  // Rules of thumb use the same sizes.
  const std::string guessed = bytes_of({.tune_sizes = o.tune_sizes});
  EXPECT_TRUE(bytes_of(o) == guessed);
  // Their choices are recorded: a pinned build repeats them, and one that has time measures.
  EXPECT_TRUE(bytes_of(pinned()) == guessed);
  EXPECT_EQ(Engine::build(tuned_model(), options()).tuning().timed, e.tuning().problems);
}

TEST_F(Tune, WhatTheTimeDoesNotReachForIsChosenByRulesOfThumb) {
  NEEDS_AVX2;
  // Shorter than any measurement: after the first, nothing more is timed.
  BuildOptions o = options();
  o.tune_seconds = 1e-9;
  const Engine short_of_time = Engine::build(tuned_model(), o);
  expect_right(short_of_time);
  const TuningReport first = short_of_time.tuning();
  EXPECT_LE(first.timed, 1);
  EXPECT_GT(first.untimed, 4);
  // A twentieth of a second may suffice for anything on this machine: no result is lost, and nothing is timed
  // twice.
  o.tune_seconds = 0.05;
  const Engine some = Engine::build(tuned_model(), o);
  expect_right(some);
  const TuningReport& r = some.tuning();
  EXPECT_EQ(r.problems, first.problems);
  EXPECT_EQ(r.timed + r.cached + r.untimed, r.problems);
  EXPECT_GE(r.cached, first.timed);
  const std::string bytes = bytes_of(pinned());
  EXPECT_TRUE(bytes_of(pinned()) == bytes);
  expect_right(Engine::build(tuned_model(), pinned()));
}

TEST_F(TuneLayout, TheChoiceFollowsTheCache) {
  NEEDS_AVX2;
  Engine::build(tuned_model(), options());
  const std::string of = "lathe.BlockedConv(float32[2,2,6,6,16]";  // the last convolution
  for (const std::string& tactic :
       {kernel("blocked_conv"), kernel("blocked_conv.winograd2"),
        kernel("blocked_conv.winograd4") + " [65536]", std::string("blocked_conv.winograd2.avx2 [262144]")}) {
    choose(of, tactic);
    for (const BuildOptions& o : {options(TuningEffort::none), pinned()}) {
      const Engine e = Engine::build(tuned_model(), o);
      EXPECT_TRUE(tactics_of(e, "BlockedConv").contains(tactic)) << tactic;
      expect_right(e);
      // The plan runs the same elsewhere.
      e.save(folder / "plan.lathe");
      const Engine loaded = Engine::load(folder / "plan.lathe", {.threads = 3});
      EXPECT_TRUE(tactics_of(loaded, "BlockedConv").contains(tactic)) << tactic;
      expect_same_bits(answers(e), answers(loaded));
      expect_right(Engine::load(folder / "plan.lathe", {.isa = "generic"}));
    }
  }
}

TEST_F(TuneLayout, TheLayoutFollowsTheCache) {
  NEEDS_AVX2;
  Engine::build(tuned_model(), options());
  const auto set = [&](const std::string& of, double time) {
    edit([&](const std::string& problem, Json& entry) {
      if (problem.starts_with(of))
        for (auto& [tactic, t] : entry["microseconds"].items()) t = time;
    });
  };
  const auto counts = [&] {
    const Engine e = Engine::build(tuned_model(), pinned());
    expect_right(e);
    return std::pair(count(e, "Conv"), count(e, "BlockedConv"));
  };
  using Counts = std::pair<size_t, size_t>;
  // Plain convolutions for nothing.
  set("", 100);
  set("Conv(", 0.01);
  EXPECT_EQ(counts(), (Counts{3, 0}));
  // Blocked ones for nothing.
  set("Conv(", 100);
  set("lathe.BlockedConv(", 0.01);
  EXPECT_EQ(counts(), (Counts{0, 3}));
  // One of them is dear: worth two conversions if they are cheap, not if they are dear.
  set("lathe.BlockedConv(float32[2,1,12,12,16]", 150);
  set("Conv(float32[2,16,12,12]", 10);
  for (const auto& [conversion, want] : {std::pair{50.0, Counts{1, 2}}, {500.0, Counts{0, 3}}}) {
    set("lathe.Block(", conversion);
    set("lathe.Unblock(", conversion);
    set("lathe.Unblock(float32[2,2,1,1,16]", 0.01);  // of what the last pool makes
    EXPECT_EQ(counts(), want);
  }
}

TEST_F(Tune, PinnedBuildsNeedAllAnswers) {
  NEEDS_AVX2;
  EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), pinned()); }), Code::file_not_found);
  Engine::build(tuned_model(), options());
  const std::string good = read_file(folder / "times.json");
  const auto refused = [&] {
    EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), pinned()); }), Code::build_untimed);
    return sentence_of([&] { Engine::build(tuned_model(), pinned()); });
  };
  // A problem is missing.
  Json all = Json::parse(good);
  Json& problems = all["machines"][0]["problems"];
  std::string gone;
  for (const auto& [problem, entry] : problems.items())
    if (problem.starts_with("lathe.BlockedConv(float32[2,2,6,6,16]")) gone = problem;
  ASSERT_FALSE(gone.empty());
  problems.erase(gone);
  folder.write("times.json", all.dump());
  EXPECT_NE(refused().find(gone), std::string::npos);
  EXPECT_NE(refused().find("(BlockedConv)"), std::string::npos);
  // A tactic that is none.
  folder.write("times.json", good);
  choose("lathe.BlockedConv(", kernel("blocked_conv.winograd2") + " [7]");
  EXPECT_NE(refused().find("[7]"), std::string::npos);
  // Without pinning, such an entry is ignored.
  expect_right(Engine::build(tuned_model(), options(TuningEffort::none)));
}

TEST_F(Tune, OtherMachinesAreKeptApart) {
  NEEDS_AVX2;
  Engine::build(tuned_model(), options());
  Json all = Json::parse(read_file(folder / "times.json"));
  all["machines"][0]["cpu"] = "another";
  folder.write("times.json", all.dump());
  EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), pinned()); }), Code::build_untimed);
  const TuningReport r = Engine::build(tuned_model(), options()).tuning();
  EXPECT_EQ(r.cached, 0);
  EXPECT_EQ(r.timed, r.problems);
  const TimingCacheInfo info = merge_timing_caches({folder / "times.json"});
  ASSERT_EQ(info.machines.size(), 2u);
  EXPECT_NE(info.machines[0].here, info.machines[1].here);
}

TEST_F(Tune, CachesMayBeInMemory) {
  NEEDS_AVX2;
  BuildOptions o = options();
  o.timing_cache.clear();
  o.timings = std::make_shared<TimingCache>();
  const Engine first = Engine::build(tuned_model(), o);
  EXPECT_GT(first.tuning().timed, 0);
  const auto keys = o.timings->query_keys();
  EXPECT_EQ(static_cast<int64_t>(keys.size()), first.tuning().problems);
  EXPECT_FALSE(std::filesystem::exists(folder / "times.json"));
  const Engine again = Engine::build(tuned_model(), o);
  EXPECT_EQ(again.tuning().timed, 0);
  EXPECT_EQ(again.tuning().cached, again.tuning().problems);
  o.timing_cache_pinned = true;
  EXPECT_TRUE(Engine::build(tuned_model(), o).serialize() == first.serialize());
  o.timings = std::make_shared<TimingCache>();
  EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), o); }), Code::build_untimed);
  o.timings.reset();
  EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), o); }), Code::build_bad_option);
}

TEST_F(Tune, CorruptedCachesAreErrors) {
  for (const char* text : {"", "not JSON", R"({"format": "x"})"}) {
    folder.write("times.json", text);
    for (const BuildOptions& o : {options(), options(TuningEffort::none), pinned()})
      EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), o); }), Code::json_malformed) << text;
    EXPECT_EQ(read_file(folder / "times.json"), text);
  }
}

TEST_F(Tune, StopsWhenAsked) {
  NEEDS_AVX2;
  // Within the third problem.
  const auto on_third = [](auto&& then) {
    return [then, seen = 0](std::string_view stage, double) mutable {
      return !stage.starts_with("tune ") || ++seen < 3 || then();
    };
  };
  RunControl control;
  BuildOptions o = options();
  o.control = &control;
  o.progress = on_third([&] {
    control.cancel();
    return true;
  });
  EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), o); }), Code::cancelled);
  // Measurements until then are not lost.
  EXPECT_EQ(merge_timing_caches({folder / "times.json"}).machines.at(0).problems, 2);
  o = options();
  o.progress = on_third([] { return false; });
  EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), o); }), Code::cancelled);
  RunControl late;
  o.control = &late;
  o.progress = on_third([&] {
    late.set_deadline(std::chrono::steady_clock::now());
    return true;
  });
  EXPECT_EQ(code_of([&] { Engine::build(tuned_model(), o); }), Code::deadline);
}

TEST_F(Tune, ProgressTellsWhatIsTimed) {
  NEEDS_AVX2;
  std::vector<std::string> stages;
  double last = -1;
  BuildOptions o = options();
  o.progress = [&](std::string_view stage, double fraction) {
    if (stage.starts_with("tune ")) stages.emplace_back(stage);
    EXPECT_LE(fraction, 1);
    last = fraction;
    return true;
  };
  const Engine e = Engine::build(tuned_model(), o);
  EXPECT_EQ(static_cast<int64_t>(stages.size()), e.tuning().timed);
  EXPECT_NE(stages[0].find(", 1 of "), std::string::npos) << stages[0];
  EXPECT_EQ(last, 1);
}

TEST_F(Tune, WrongOptionsAreTold) {
  const auto code = [&](auto&& change) {
    BuildOptions o = options();
    change(o);
    return code_of([&] { Engine::build(tuned_model(), o); });
  };
  EXPECT_EQ(code([](BuildOptions& o) { o.timing_cache.clear(), o.timing_cache_pinned = true; }),
            Code::build_bad_option);
  EXPECT_EQ(code([](BuildOptions& o) { o.tune_seconds = -1; }), Code::build_bad_option);
  EXPECT_EQ(code([](BuildOptions& o) { o.tune_seconds = NAN; }), Code::build_bad_option);
  EXPECT_EQ(code([](BuildOptions& o) { o.tune_sizes = {{"nothing", 3}}; }), Code::build_bad_option);
  EXPECT_EQ(code([](BuildOptions& o) { o.tune_sizes = {{"batch", -3}}; }), Code::build_bad_option);
  EXPECT_EQ(code([](BuildOptions& o) { o.timing_cache = "/no/such/folder/times.json"; }),
            Code::file_write_failed);
  EXPECT_EQ(code([](BuildOptions& o) { o.timing_cache = "/no/such/file", o.effort = TuningEffort::none; }),
            Code::file_not_found);
}

TEST_F(Tune, PlansWithTacticsThatKernelsRefuse) {
  NEEDS_AVX2;
  Engine::build(tuned_model(), {}).save(folder / "plan.lathe");
  const auto opened = [&](const std::string& of, const Tunables& tunables) {
    Plan plan = load_plan(folder / "plan.lathe");
    bool found = false;
    for (PlanStep& s : plan.graphs[0].steps)
      if (s.kernel.starts_with(of)) s.tunables = tunables, found = true;
    EXPECT_TRUE(found) << of;
    save_plan(plan, folder / "changed.lathe");
    return code_of([&] { Engine::load(folder / "changed.lathe"); });
  };
  EXPECT_EQ(opened("blocked_conv.winograd", {}), Code::none);
  EXPECT_EQ(opened("blocked_conv.winograd", {1 << 16}), Code::none);
  for (const Tunables& t : {Tunables{0}, {-1}, {1 << 16, 1}, {INT64_MAX}})
    EXPECT_EQ(opened("blocked_conv.winograd", t), Code::plan_target);
  EXPECT_EQ(opened("matmul", {1}), Code::plan_target);  // a kernel without tactics
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
