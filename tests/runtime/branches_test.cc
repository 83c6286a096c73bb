// Tests branch parallelism: which steps run side by side, that they share no memory, and that results do not
// show it.
#include "runtime/branches.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "plan/plan_file.h"
#include "runtime/memory_plan.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using std::vector;

/// Products of the same rows that nothing joins: as queries, keys and values are made.
constexpr std::string_view heads =
    R"((float[rows,128] x) => (float[rows,128] q, float[rows,128] k, float[rows,128] v)
  <float[128,128] a = {}, float[128,128] b = {}, float[128,128] c = {}, float[128,128] d = {}> {
    p = MatMul(x, a)
    q = Softmax(p)
    m = MatMul(x, b)
    n = Softmax(m)
    k = MatMul(n, c)
    v = MatMul(x, d)
  })";

/// Rows are picked out of two products by indices that may be wrong.
constexpr std::string_view pickers =
    R"((float[16,128] x, int64[3] i, int64[3] j) => (float[3,128] y, float[3,128] z)
  <float[128,128] a = {}, float[128,128] b = {}> {
    p = MatMul(x, a)
    y = Gather(p, i)
    q = MatMul(x, b)
    z = Gather(q, j)
  })";

/// A plan made ready for so many threads, and its memory plan for so many rows.
struct Planned {
  Planned(std::string_view text, int threads, int64_t rows) {
    const TempDirectory folder;
    Engine::build(model_of(text), {.threads = 1}).save(folder / "m.lathe");
    ProgramOptions options;
    options.threads = threads;
    program = std::make_unique<Program>(load_plan(folder / "m.lathe", true), Extensions::none(), options);
    ShapeKey key;
    append_to_key(key, Shape{rows, 128});
    memory_plan = plan_memory(*program, 0, key);
  }
  const PlanStep& step(size_t i) const { return *program->graph(0).steps[i].plan; }

  std::unique_ptr<Program> program;
  MemoryPlan memory_plan;
};

TEST(Branches, AreFoundForSeveralThreadsAndSmallSteps) {
  const Planned two(heads, 2, 16);
  ASSERT_EQ(two.memory_plan.branches.size(), 1u);
  const Branches& b = two.memory_plan.branches[0];
  EXPECT_EQ(b.lanes.size(), 2u);
  std::vector<uint32_t> all;
  for (const auto& lane : b.lanes) {
    EXPECT_TRUE(std::ranges::is_sorted(lane));
    all.insert(all.end(), lane.begin(), lane.end());
  }
  std::ranges::sort(all);
  ASSERT_EQ(all.size(), b.end - b.first);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(all[i], b.first + i);
  EXPECT_EQ(two.memory_plan.lanes.size(), 2u);

  EXPECT_TRUE(Planned(heads, 1, 16).memory_plan.branches.empty());
  EXPECT_TRUE(Planned(heads, 2, 1).memory_plan.branches.empty()) << "too little to share";
  EXPECT_TRUE(Planned(heads, 2, 4096).memory_plan.branches.empty()) << "each has enough for all threads";
}

TEST(Branches, ReadNothingOfEachOther) {
  for (int threads : {2, 3, 8}) {
    const Planned l(heads, threads, 16);
    for (const Branches& b : l.memory_plan.branches)
      for (const auto& lane : b.lanes)
        for (const auto& other : b.lanes)
          for (uint32_t maker : lane)
            for (uint32_t reader : other) {
              if (&lane == &other) continue;
              for (int32_t made : l.step(maker).outputs)
                EXPECT_EQ(std::ranges::count(l.step(reader).inputs, made), 0)
                    << l.step(reader).node << " reads what " << l.step(maker).node << " makes";
            }
  }
}

TEST(Branches, ShareNoMemory) {
  const Planned l(heads, 2, 16);
  const ProgramGraph& g = l.program->graph(0);
  ASSERT_FALSE(l.memory_plan.branches.empty());
  size_t pairs = 0;
  for (const Branches& b : l.memory_plan.branches) {
    std::set<uint32_t> used;  // roots in the arena
    for (uint32_t i = b.first; i < b.end; ++i)
      for (const auto* operands : {&l.step(i).inputs, &l.step(i).outputs})
        for (int32_t v : *operands)
          if (v >= 0 && l.memory_plan.slots[g.root[static_cast<size_t>(v)]].place == Slot::Place::arena)
            used.insert(g.root[static_cast<size_t>(v)]);
    for (uint32_t v : used)
      for (uint32_t w : used) {
        if (v == w) continue;
        const Slot &x = l.memory_plan.slots[v], &y = l.memory_plan.slots[w];
        EXPECT_TRUE(x.offset + x.bytes() <= y.offset || y.offset + y.bytes() <= x.offset);
        ++pairs;
      }
  }
  EXPECT_GT(pairs, 0u);
}

vector<vector<float>> floats_of(const vector<Value>& values) {
  vector<vector<float>> all;
  for (const Value& v : values)
    all.emplace_back(v.tensor().as<float>().begin(), v.tensor().as<float>().end());
  return all;
}

TEST(Branches, HaveTheBitsOfOneThread) {
  const onnx::Model model = model_of(heads);
  for (int64_t rows : {1, 16, 17}) {
    const vector<Value> in{random_tensor(DataType::float32, {rows, 128}, 5)};
    const auto expected = floats_of(Engine::build(model, {.threads = 1}).create_context().run(in));
    for (int threads : {2, 3, 5}) {
      Context c = Engine::build(model, {.threads = threads}).create_context();
      for (int round = 0; round < 20; ++round) {
        const auto got = floats_of(c.run(in));
        for (size_t i = 0; i < expected.size(); ++i)
          ASSERT_EQ(std::memcmp(got[i].data(), expected[i].data(), expected[i].size() * sizeof(float)), 0);
      }
    }
  }
}

Tensor indices(vector<int64_t> i) { return Tensor::from<int64_t>({static_cast<int64_t>(i.size())}, i); }

std::string error_of(Context& c, const vector<Value>& in) {
  try {
    c.run(in);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(Branches, FailAsOneThreadDoesAndRunAgain) {
  const onnx::Model model = model_of(pickers);
  Context one = Engine::build(model, {.threads = 1}).create_context(),
          two = Engine::build(model, {.threads = 2}).create_context();
  const Value x = random_tensor(DataType::float32, {16, 128}, 5);
  const vector<Value> good{x, indices({0, 1, 2}), indices({3, 4, 5})},
      both{x, indices({0, 99, 2}), indices({77, 4, 5})}, second{x, indices({0, 1, 2}), indices({3, 88, 5})};
  const auto expected = floats_of(one.run(good));
  const std::string first_fails = error_of(one, both), second_fails = error_of(one, second);
  EXPECT_NE(first_fails.find("99"), std::string::npos) << first_fails;
  for (int round = 0; round < 50; ++round) {
    EXPECT_EQ(error_of(two, both), first_fails);
    EXPECT_EQ(error_of(two, second), second_fails);
    EXPECT_EQ(floats_of(two.run(good)), expected);
  }
}

TEST(Branches, ObeyACancelledControl) {
  Context c = Engine::build(model_of(heads), {.threads = 2}).create_context();
  const vector<Value> in{random_tensor(DataType::float32, {16, 128}, 5)};
  RunControl control;
  c.run(in, &control);
  control.cancel();
  EXPECT_EQ(code_of([&] { c.run(in, &control); }), Code::cancelled);
  control.reset();
  c.run(in, &control);
}

TEST(Branches, TellListenersTapsAndProfilesInOrder) {
  const vector<Value> in{random_tensor(DataType::float32, {16, 128}, 5)};
  const auto told = [&](int threads) {
    const Engine e = Engine::build(model_of(heads), {.threads = threads, .taps = {"*"}});
    Context c = e.create_context();
    vector<std::string> list;
    c.on_tap([&](std::string_view name, const Value& v) {
      list.push_back(std::string(name) + " " + std::to_string(v.tensor().as<float>()[7]));
    });
    c.on_step([&](const StepRun& s) {
      EXPECT_GT(s.seconds, 0);
      list.push_back(std::string(s.node));
    });
    c.start_profile();
    for (int run = 0; run < 3; ++run) c.run(in);
    const Profile p = c.profile();
    for (const StepProfile& s : p.steps) {
      EXPECT_EQ(s.count, 3u) << s.node;
      EXPECT_GT(s.least, 0) << s.node;
    }
    for (const StepEvent& event : p.events) EXPECT_LE(event.seconds, p.run_seconds);
    EXPECT_EQ(p.events.size(), 3 * p.steps.size());
    return list;
  };
  // Steps of branches are reported after all of them have ended: taps first, then the times.
  auto one = told(1), two = told(2);
  EXPECT_EQ(one.size(), two.size());
  std::ranges::sort(one);
  std::ranges::sort(two);
  EXPECT_EQ(one, two);
}

TEST(Branches, AreCountedInTheMemoryThatIsToldBeforehand) {
  const Engine e = Engine::build(model_of(heads), {.threads = 2});
  Context c = e.create_context();
  c.bind_input("x", random_tensor(DataType::float32, {16, 128}, 5));
  c.run();
  const MemoryInfo m = e.memory({{"x", {16, 128}}});
  EXPECT_EQ(m.activations + m.workspace + m.outputs + m.data_dependent, c.memory_peak());
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
