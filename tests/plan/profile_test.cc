// Tests the counts of profiles, the events that they keep, and the files that they write.
#include "lathe/profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "lathe/lathe.h"
#include "runtime/engine_impl.h"
#include "support/allocations.h"
#include "support/error_code.h"
#include "support/model_builder.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;
using lathe::testing::code_of;
using Json = nlohmann::json;
using std::vector;

Tensor ramp(const Shape& shape) {
  Tensor t(DataType::float32, shape);
  float x = 0;
  for (float& v : t.as<float>()) v = (x += 0.25f);
  return t;
}
vector<float> some_floats(size_t n) { return vector<float>(n, 0.5f); }

Profile profile_of(const Engine& engine, const NamedValues& inputs, int runs = 1) {
  Context c = engine.create_context();
  c.start_profile();
  for (int i = 0; i < runs; ++i) c.run(inputs);
  return c.profile();
}

double total_flops(const Profile& p) {
  double sum = 0;
  for (const StepProfile& s : p.steps) sum += s.flops;
  return sum;
}
const StepProfile& step_of(const Profile& p, std::string_view op) {
  for (const StepProfile& s : p.steps)
    if (s.op == op) return s;
  throw std::runtime_error("no step of that operator");
}
BuildOptions as_written() { return {.level = OptimizationLevel::none}; }

struct Problem {
  const char* what;
  onnx::Model model;
  NamedValues inputs;
  double flops;
};

Problem conv() {
  ModelBuilder b(17);
  b.input("x", "float[1,16,8,8]").output("y");
  b.initializer(float_tensor("w", {32, 16, 3, 3}, some_floats(32 * 16 * 9)));
  b.node("Conv", {"x", "w"}, {"y"});
  return {"conv", b.model, {{"x", ramp({1, 16, 8, 8})}}, 2.0 * 32 * 6 * 6 * 16 * 9};
}
Problem depthwise() {
  ModelBuilder b(17);
  b.input("x", "float[1,20,8,8]").output("y");
  b.initializer(float_tensor("w", {20, 1, 3, 3}, some_floats(20 * 9)));
  b.node("Conv", {"x", "w"}, {"y"}, {int_attribute("group", 20)});
  return {"depthwise", b.model, {{"x", ramp({1, 20, 8, 8})}}, 2.0 * 20 * 6 * 6 * 9};
}
Problem matmul() {
  ModelBuilder b(17);
  b.input("a", "float[2,n,3]").input("b", "float[3,5]").output("y");
  b.node("MatMul", {"a", "b"}, {"y"});
  return {"matmul", b.model, {{"a", ramp({2, 7, 3})}, {"b", ramp({3, 5})}}, 2.0 * 2 * 7 * 3 * 5};
}
Problem gemm() {
  ModelBuilder b(17);
  b.input("a", "float[3,4]").output("y");
  b.initializer(float_tensor("b", {3, 5}, some_floats(15)));
  b.node("Gemm", {"a", "b"}, {"y"}, {int_attribute("transA", 1)});
  return {"gemm", b.model, {{"a", ramp({3, 4})}}, 2.0 * 4 * 5 * 3};
}
Problem attention() {  // 2 heads, 5 queries, 7 keys of 4, values of 6
  ModelBuilder b(23);
  b.input("q", "float[1,2,5,4]").input("k", "float[1,2,7,4]").input("v", "float[1,2,7,6]").output("y");
  b.node("Attention", {"q", "k", "v"}, {"y"});
  return {"attention",
          b.model,
          {{"q", ramp({1, 2, 5, 4})}, {"k", ramp({1, 2, 7, 4})}, {"v", ramp({1, 2, 7, 6})}},
          2.0 * 2 * 5 * 7 * (4 + 6)};
}
Problem perceptron() {  // Sigmoid counts, Relu does not: it compares
  ModelBuilder b(17);
  b.input("x", "float[batch,3]").output("y");
  b.initializer(float_tensor("w", {3, 4}, some_floats(12)));
  b.node("MatMul", {"x", "w"}, {"xw"}).node("Sigmoid", {"xw"}, {"s"}).node("Relu", {"s"}, {"y"});
  return {"perceptron", b.model, {{"x", ramp({6, 3})}}, 2.0 * 6 * 4 * 3 + 6 * 4};
}
vector<Problem> problems() { return {conv(), depthwise(), matmul(), gemm(), attention(), perceptron()}; }

TEST(Profile, CountsTheArithmeticOfKnownShapes) {
  for (const Problem& p : problems())
    for (const std::string isa : {"generic", "avx2", "avx512"})
      for (OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all}) {
        SCOPED_TRACE(std::string(p.what) + " " + isa + " " + std::string(name_of(level)));
        const Engine e = Engine::build(p.model, {.isa = isa, .level = level});
        EXPECT_EQ(total_flops(profile_of(e, p.inputs)), p.flops);
        EXPECT_EQ(total_flops(profile_of(e, p.inputs, 3)), 3 * p.flops);
      }
}

TEST(Profile, CountsAsInspectDoes) {
  for (const Problem& p : problems()) {
    std::map<std::string, int64_t> sizes;
    if (p.what == std::string("matmul")) sizes["n"] = 7;
    if (p.what == std::string("perceptron")) sizes["batch"] = 6;
    EXPECT_EQ(static_cast<double>(inspect(p.model, sizes).flops.constant()), p.flops) << p.what;
  }
}

TEST(Profile, APlanKeepsHowItIsCounted) {
  const auto file =
      std::filesystem::path(::testing::TempDir()) / ("profile" + std::to_string(getpid()) + ".lathe");
  for (const Problem& p : {perceptron(), conv()}) {
    Engine::build(p.model).save(file);
    EXPECT_EQ(total_flops(profile_of(Engine::load(file), p.inputs)), p.flops);
    EXPECT_EQ(total_flops(profile_of(Engine::load(file, {.isa = "generic"}), p.inputs)), p.flops);
  }
  std::filesystem::remove(file);
}

TEST(Profile, CountsWhatIsReadAndWritten) {
  const Problem p = matmul();
  const Profile made = profile_of(Engine::build(p.model, as_written()), p.inputs);
  EXPECT_EQ(made.steps[0].bytes, 4.0 * (2 * 7 * 3 + 3 * 5 + 2 * 7 * 5));
  EXPECT_EQ(made.shapes[made.steps[0].shapes], "float32[2,7,3] float32[3,5] -> float32[2,7,5]");

  ModelBuilder b(17);
  b.input("table", "float[1000,8]").input("rows", "int64[n]").input("z", "double[2,3]");
  b.output("picked").output("flat").output("sum").output("shape");
  b.initializer(int64_tensor("six", {1}, {6}));
  b.node("Gather", {"table", "rows"}, {"picked"})
      .node("Reshape", {"z", "six"}, {"view"})
      .node("Add", {"view", "view"}, {"sum"})
      .node("Neg", {"sum"}, {"flat"})
      .node("Shape", {"table"}, {"shape"});
  const Profile q = profile_of(Engine::build(b.model, as_written()),
                               {{"table", ramp({1000, 8})},
                                {"rows", Tensor::from<int64_t>({3}, vector<int64_t>{1, 2, 999})},
                                {"z", Tensor(DataType::float64, {2, 3})}});
  EXPECT_EQ(step_of(q, "Gather").bytes, 3 * 8 + 2 * 3 * 8 * 4);  // of the table what is taken from it
  EXPECT_EQ(step_of(q, "Reshape").bytes, 0);                     // a view
  EXPECT_EQ(step_of(q, "Add").bytes, 2 * 6 * 8);                 // one operand, read once
  EXPECT_EQ(step_of(q, "Neg").bytes, 2 * 6 * 8);
  for (const StepProfile& s : q.steps)
    if (s.op == "Shape") {
      EXPECT_EQ(s.bytes, 2 * 8);
    }
}

TEST(Profile, AStepOfManyOperandsIsDescribedInShort) {
  ModelBuilder b(17);
  b.input("x", "float[3]").output("y");
  vector<std::string> many(2000, "x");
  b.node("Concat", many, {"y"}, {int_attribute("axis", 0)});
  const Profile p = profile_of(Engine::build(b.model, as_written()), {{"x", ramp({3})}});
  EXPECT_EQ(step_of(p, "Concat").bytes, 4.0 * (3 + 2000 * 3));
  EXPECT_LT(p.shapes[step_of(p, "Concat").shapes].size(), 500u);
}

TEST(Profile, ShapesThatOnlyTheRunKnows) {
  ModelBuilder b(17);
  b.input("x", "float[n]").output("y");
  b.node("NonZero", {"x"}, {"at"}).node("Gather", {"x", "at"}, {"picked"}).node("Exp", {"picked"}, {"y"});
  Context c = Engine::build(b.model, as_written()).create_context();
  c.start_profile();
  c.run({{"x", Tensor::from<float>({5}, vector<float>{0, 1, 0, 2, 3})}});
  c.run({{"x", Tensor::from<float>({5}, vector<float>{0, 1, 0, 0, 3})}});
  const Profile p = c.profile();
  EXPECT_EQ(step_of(p, "Exp").flops, 3 + 2);
  EXPECT_EQ(step_of(p, "Exp").bytes, 4.0 * 2 * (3 + 2));
  EXPECT_EQ(p.shapes[step_of(p, "Exp").shapes], "float32[1,2] -> float32[1,2]");
  EXPECT_EQ(p.shapes[p.events[2].shapes], "float32[1,3] -> float32[1,3]");
}

/// total = the sum of 0 … n - 1, in a loop around a MatMul of [2,2] matrices.
onnx::Model loop() {
  ModelBuilder b(17);
  b.input("n", "int64[]").input("x", "float[2,2]").output("y");
  b.initializer(float_tensor("w", {2, 2}, {1, 0, 0, 1}));
  onnx::TensorProto yes;
  yes.name = "go";
  yes.data_type = static_cast<int32_t>(DataType::boolean);
  yes.int32_data = {1};
  b.initializer(yes);
  b.node("Loop", {"n", "go", "x"}, {"y"},
         {graph_attribute("body", make_body({{"i", "int64[]"}, {"going", "bool[]"}, {"state", "float[2,2]"}},
                                            {make_node("MatMul", {"state", "w"}, {"next"}),
                                             make_node("Identity", {"going"}, {"still"})},
                                            {{"still", "bool[]"}, {"next", "float[2,2]"}}))});
  return b.model;
}

TEST(Profile, BodiesAreNestedInTheirSteps) {
  const Profile p = profile_of(Engine::build(loop()),
                               {{"n", Tensor::from<int64_t>({}, vector<int64_t>{4})}, {"x", ramp({2, 2})}});
  const StepProfile &outer = step_of(p, "Loop"), &inner = step_of(p, "MatMul");
  EXPECT_EQ(outer.graph, 0u);
  EXPECT_EQ(outer.count, 1u);
  EXPECT_EQ(outer.flops, 0);
  EXPECT_EQ(outer.bytes, 0);
  EXPECT_NE(inner.graph, 0u);
  EXPECT_EQ(inner.count, 4u);
  EXPECT_EQ(inner.flops, 4 * 2.0 * 2 * 2 * 2);
  ASSERT_EQ(p.run_events.size(), 1u);
  const StepEvent& last = p.events.back();
  EXPECT_EQ(p.steps[last.step].op, "Loop");
  EXPECT_EQ(last.depth, 0u);
  double inside = 0;
  const double rounding = 1e-12;
  for (size_t i = 0; i + 1 < p.events.size(); ++i) {
    const StepEvent& e = p.events[i];
    EXPECT_EQ(e.depth, 1u);
    EXPECT_GE(e.start, last.start - rounding);
    EXPECT_LE(e.start + e.seconds, last.start + last.seconds + rounding);
    inside += e.seconds;
  }
  EXPECT_NEAR(last.self + inside, last.seconds, 1e-9);
  EXPECT_GE(last.start, p.run_events[0].start);
  EXPECT_LE(last.start + last.seconds, p.run_events[0].start + p.run_events[0].seconds + rounding);
}

TEST(Profile, KeepsTheLatestAndSumsAll) {
  const Problem q = perceptron();
  const Engine e = Engine::build(q.model, as_written());
  Context c = e.create_context();
  EXPECT_TRUE(c.profile().steps.empty());
  c.start_profile(5);
  for (int i = 0; i < 10; ++i) c.run(q.inputs);
  Profile p = c.profile();
  EXPECT_EQ(p.runs, 10u);
  EXPECT_EQ(p.events.size() + p.run_events.size(), 5u);
  EXPECT_EQ(p.events_lost, 10 * (e.steps().size() + 1) - 5);
  EXPECT_EQ(p.steps.size(), e.steps().size());
  for (const StepProfile& s : p.steps) {
    EXPECT_EQ(s.count, 10u);
    EXPECT_LE(s.least * 10, s.seconds * (1 + 1e-9));
  }
  EXPECT_EQ(total_flops(p), 10 * q.flops);
  for (size_t i = 1; i < p.events.size(); ++i)
    EXPECT_GE(p.events[i].start + p.events[i].seconds, p.events[i - 1].start + p.events[i - 1].seconds);

  c.stop_profile();
  c.run(q.inputs);
  EXPECT_EQ(c.profile().runs, 10u);
  EXPECT_EQ(code_of([&] { c.start_profile(0); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { c.start_profile(SIZE_MAX); }), Code::bad_argument);
  EXPECT_EQ(c.profile().runs, 10u);
  c.start_profile();
  EXPECT_EQ(c.profile().runs, 0u);
  EXPECT_TRUE(c.profile().events.empty());
  c.run(q.inputs);
  p = c.profile();
  EXPECT_EQ(p.events.size(), e.steps().size());
  EXPECT_EQ(p.events_lost, 0u);
}

/// Runs are skipped if recording takes longer than their steps, but none of the first thousand.
TEST(Profile, PassesOverRunsThatTakeNoTime) {
  const Engine e = Engine::build(perceptron().model, as_written());
  Profiler profiler(e.impl()->program);
  profiler.start(10);
  uint64_t now = 0;
  const auto runs = [&](int n, uint64_t ticks) {
    for (int i = 0; i < n; ++i) {
      if (!profiler.takes_run()) continue;
      profiler.begin_run(now);
      profiler.record(0, 0, now, now + ticks, 0, {});
      profiler.end_run(now += ticks);
    }
    return profiler.report();
  };
  Profile p = runs(1000, 1);
  EXPECT_EQ(p.runs, 1000u);
  EXPECT_EQ(p.runs_passed_over, 0u);
  p = runs(100000, 1);
  EXPECT_EQ(p.runs + p.runs_passed_over, 101000u);
  EXPECT_GT(p.runs, 1000u);
  EXPECT_LT(p.runs, 51000u);
  EXPECT_EQ(p.steps[0].count, p.runs);
  profiler.start(10);
  p = runs(2000, uint64_t{1} << 40);
  EXPECT_EQ(p.runs, 2000u);
  EXPECT_EQ(p.runs_passed_over, 0u);
}

/// The counts of runs and of their steps agree, whatever was skipped.
TEST(Profile, RunsThatArePassedOverAreCounted) {
  const Problem q = perceptron();
  const Engine e = Engine::build(q.model, as_written());
  Context c = e.create_context();
  c.start_profile(10);
  for (int i = 0; i < 3000; ++i) c.run(q.inputs);
  const Profile p = c.profile();
  EXPECT_EQ(p.runs + p.runs_passed_over, 3000u);
  EXPECT_GE(p.runs, 1000u);
  for (const StepProfile& s : p.steps) EXPECT_EQ(s.count, p.runs);
}

TEST(Profile, AFailedRunIsNotCounted) {
  const Engine e = Engine::build(loop());
  Context c = e.create_context();
  c.start_profile();
  const NamedValues inputs{{"n", Tensor::from<int64_t>({}, vector<int64_t>{2})}, {"x", ramp({2, 2})}};
  RunControl control;
  c.on_step([&](const StepRun& s) {
    if (s.op == "MatMul") control.cancel();
  });
  EXPECT_EQ(code_of([&] { c.run(inputs, &control); }), Code::cancelled);
  c.on_step(nullptr);
  EXPECT_EQ(c.profile().runs, 0u);
  c.start_profile();
  c.run(inputs);
  EXPECT_EQ(c.profile().runs, 1u);
  EXPECT_EQ(c.profile().events.back().depth, 0u);
}

TEST(Profile, RecordingAllocatesNothing) {
  const Problem q = conv();
  Context c = Engine::build(q.model, {.threads = 2}).create_context();
  c.bind_input("x", q.inputs.at("x"));
  c.start_profile(100);
  c.run();
  const long before = allocations;
  for (int i = 0; i < 50; ++i) c.run();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(c.profile().runs, 51u);
}

const std::string hostile =
    "</script><img src=x onerror=alert(1)>\"'\\\n\t\x01\x7f \xff\xc3(\xe2\x82 \xf0\x9f\x98\x80";

/// Two steps, one inside the other, with names that try to inject markup.
Profile hostile_profile() {
  Profile p;
  p.shapes = {"", "float32[1] -> float32[1]"};
  p.steps.push_back({hostile, hostile, hostile, {hostile}, {hostile}, 0, 1, 2e-3, 2e-3, 1e6, 1e3, 1});
  p.steps.push_back({"inner", "Add", "", {}, {}, 1, 1, 1e-3, 1e-3, 0, 0, 0});
  p.events.push_back({1, 1, 1e-3, 1e-3, 1e-3, 0, 0, 0});
  p.events.push_back({0, 0, 0.5e-3, 3e-3, 2e-3, 1e6, 1e3, 1});
  p.run_events.push_back({0, 4e-3});
  p.runs = 1;
  p.run_seconds = 4e-3;
  p.isa = hostile;
  return p;
}

TEST(Profile, TheTraceIsJsonWhateverTheNames) {
  const Json trace = Json::parse(chrome_trace(hostile_profile()));
  std::map<std::string, Json> complete;
  for (const Json& e : trace.at("traceEvents")) {
    EXPECT_TRUE(e.at("ph") == "X" || e.at("ph") == "M");
    EXPECT_TRUE(e.contains("pid") && e.contains("tid") && e.at("name").is_string());
    if (e.at("ph") == "X") complete[e.at("name")] = e;
  }
  ASSERT_EQ(complete.size(), 3u);
  ASSERT_TRUE(complete.contains("run") && complete.contains("inner"));
  complete.erase("run");
  const Json inner = complete["inner"];
  complete.erase("inner");
  const Json outer = complete.begin()->second;
  EXPECT_EQ(outer.at("name").get<std::string>().substr(0, 9), "</script>");
  EXPECT_EQ(outer.at("args").at("flops"), 1e6);
  EXPECT_EQ(outer.at("args").at("bytes"), 1e3);
  EXPECT_EQ(outer.at("args").at("shapes"), "float32[1] -> float32[1]");
  EXPECT_EQ(inner.at("args").at("kernel"), "copy");
  EXPECT_EQ(outer.at("ts"), 500.0);
  EXPECT_EQ(outer.at("dur"), 3000.0);
  EXPECT_EQ(inner.at("ts"), 1000.0);
  const auto name = complete.begin()->first;
  EXPECT_NE(name.find("\xef\xbf\xbd"), std::string::npos);      // in place of what is no character
  EXPECT_NE(name.find("\xf0\x9f\x98\x80"), std::string::npos);  // what is one stays
}

TEST(Profile, TheTraceOfARealRunIsNested) {
  const Profile p = profile_of(
      Engine::build(loop()), {{"n", Tensor::from<int64_t>({}, vector<int64_t>{3})}, {"x", ramp({2, 2})}}, 2);
  const Json trace = Json::parse(chrome_trace(p));
  vector<double> ends;  // of what is open
  size_t complete = 0;
  vector<std::pair<double, double>> spans;
  for (const Json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X")
      spans.emplace_back(e.at("ts"), e.at("ts").get<double>() + e.at("dur").get<double>());
  std::ranges::stable_sort(spans, {}, [](const auto& s) { return s.first; });
  const double rounding = 1e-6;  // of sums of doubles: times are exact to a nanosecond
  for (const auto& [start, end] : spans) {
    while (!ends.empty() && ends.back() <= start + rounding) ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(end, ends.back() + rounding);
    }
    ends.push_back(end);
    ++complete;
  }
  EXPECT_EQ(complete, p.events.size() + p.run_events.size());
}

std::string content(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

size_t times(const std::string& text, std::string_view word) {
  size_t n = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++n;
  return n;
}

TEST(Profile, ThePageIsWholeAndNamesStayText) {
  const auto file =
      std::filesystem::path(::testing::TempDir()) / ("profile" + std::to_string(getpid()) + ".html");
  const Roofline roof{1e11, {{"L2", 1 << 20, 1e11}, {hostile, 0, 1e10}}};
  write_profile_page({}, {}, {}, file);
  const std::string empty = content(file);
  write_profile_page(hostile_profile(), roof, {hostile, hostile, hostile}, file);
  const std::string page = content(file);
  std::filesystem::remove(file);
  for (const char* word : {"<script", "</script", "<img", "<style", "<"})
    EXPECT_EQ(times(page, word), times(empty, word)) << word;
  for (const char* loads : {" src=\"", " href=", "@import", "url(h", "fetch(", "import("})
    EXPECT_EQ(times(page, loads), 0u) << loads;
  EXPECT_EQ(times(page, "{{profile}}"), 0u);
  const std::string open = "<script type=\"application/json\" id=\"data\">";
  const size_t from = page.find(open) + open.size();
  const Json data = Json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(data.at("steps").size(), 2u);
  EXPECT_EQ(data.at("events").size(), 2u);
  EXPECT_EQ(data.at("model").get<std::string>().substr(0, 9), "</script>");
  EXPECT_EQ(data.at("steps")[0].at("roof"), 1e6 / 1e11);
}

TEST(Profile, FilesThatCannotBeWrittenAreErrors) {
  EXPECT_EQ(code_of([] { write_chrome_trace({}, "/no/such/directory/trace.json"); }),
            Code::file_write_failed);
  EXPECT_EQ(code_of([] { write_profile_page({}, {}, {}, "/no/such/directory/page.html"); }),
            Code::file_write_failed);
}

TEST(Profile, TheRoofOfSteps) {
  const Roofline r{100, {{"L2", 50, 20}, {"memory", 0, 5}}};
  EXPECT_EQ(r.least_seconds(1000, 0), 10);
  EXPECT_EQ(r.least_seconds(0, 40), 2);      // fits the cache
  EXPECT_EQ(r.least_seconds(0, 60), 12);     // does not
  EXPECT_EQ(r.least_seconds(2000, 60), 20);  // computing takes longer than reading
  EXPECT_EQ(r.level_for(51)->name, "memory");
  EXPECT_EQ(Roofline().least_seconds(1, 1), 0);
  EXPECT_EQ(Roofline().level_for(1), nullptr);
}

TEST(Profile, MeasuresThisMachine) {
  for (int threads : {1, 2}) {
    const Roofline r = measure_roofline(threads);
    EXPECT_GT(r.flops, 1e8);
    ASSERT_FALSE(r.levels.empty());
    EXPECT_EQ(r.levels.back().name, "memory");
    for (const Roofline::Level& l : r.levels) EXPECT_GT(l.bandwidth, 1e7);
  }
  EXPECT_EQ(code_of([] { measure_roofline(0); }), Code::bad_argument);
}

TEST(Profile, BranchesThatRanSideBySideHaveRowsOfTheirOwn) {
  Profile p;
  p.shapes = {""};
  const auto add = [&](const char* node, double start, double seconds) {
    p.events.emplace_back();
    p.events.back().step = static_cast<uint32_t>(p.steps.size());
    p.events.back().start = start;
    p.events.back().seconds = seconds;
    p.steps.emplace_back().node = node;
  };
  add("a", 0, 2e-6);
  add("b", 1e-6, 3e-6);
  add("c", 2e-6, 1e-6);
  const Json trace = Json::parse(chrome_trace(p));
  std::map<std::string, double> rows;
  for (const Json& e : trace.at("traceEvents"))
    if (e.at("ph") == "X") rows[e.at("name").get<std::string>()] = e.at("tid").get<double>();
  EXPECT_EQ(rows, (std::map<std::string, double>{{"a", 1}, {"b", 2}, {"c", 1}}));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
