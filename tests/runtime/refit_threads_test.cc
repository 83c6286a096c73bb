// Weights exchanged while contexts run on other threads: every run has all of the old weights or all of the
// new ones.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "lathe/builder.h"
#include "lathe/inspector.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using std::vector;

/// Two weights that are packed, one that is folded into another, one that is read as it is, and one in a
/// body.
constexpr std::string_view text = R"((float[4,16] x, bool go) => (float[4,16] y)
  <float[16,16] a = {}, float[16,16] b = {}, float[16] c = {}, float[16] d = {}, float[16] e = {}> {
    scaled = Mul(a, c)
    p = MatMul(x, scaled)
    q = Tanh(p)
    r = MatMul(q, b)
    s = Add(r, d)
    y = If(go) <then_branch = one () => (float[4,16] t) { t = Mul(s, e) },
                else_branch = other () => (float[4,16] u) { u = Identity(s) }>
  })";

NamedWeights weights(const Engine& e, uint64_t seed) {
  NamedWeights all;
  const Refitter r(e);
  for (const std::string& name : r.all())
    all.emplace(name, random_tensor(DataType::float32, r.prototype(name).shape, ++seed));
  return all;
}

struct Serving : ::testing::Test {
  const Engine engine = Engine::build(model_of(text), {.threads = 2, .refit = true});
  const NamedValues inputs{{"x", random_tensor(DataType::float32, {4, 16}, 77)},
                           {"go", Tensor::scalar(true)}};
  const vector<NamedWeights> sets{weights(engine, 100), weights(engine, 200), weights(engine, 300)};
  vector<vector<float>> known;  // the answers with each

  vector<float> answer(Context& c) const {
    const NamedValues out = c.run(inputs);
    const Tensor& y = out.find("y")->second.tensor();
    return {y.as<float>().begin(), y.as<float>().end()};
  }
  void SetUp() override {
    for (const NamedWeights& w : sets) {
      Builder().refit_engine(engine, w);
      Context c = engine.create_context();
      known.push_back(answer(c));
    }
    ASSERT_NE(known[0], known[1]);
    ASSERT_NE(known[1], known[2]);
  }
  bool is_known(const vector<float>& got) const {
    return std::ranges::any_of(known, [&](const vector<float>& k) {
      return std::memcmp(k.data(), got.data(), k.size() * sizeof(float)) == 0;
    });
  }
  /// Runs on threads of their own while `change` works; each context runs at least `least` times.
  template <class F>
  void serve(int least, F&& change) {
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0}, runs{0}, ready{0};
    vector<std::thread> threads;
    constexpr int callers = 4;
    for (int i = 0; i < callers; ++i)
      threads.emplace_back([&] {
        Context c = engine.create_context();
        ++ready;
        for (int n = 0; n < least || !done; ++n, ++runs) wrong += !is_known(answer(c));
      });
    while (ready < callers) std::this_thread::yield();
    change();
    done = true;
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(wrong, 0);
    EXPECT_GE(runs, callers * least);
  }
};

using Refits = Serving;

TEST_F(Refits, NeverMixWeights) {
  const uint64_t before = engine.refits();
  serve(20, [&] {
    for (int i = 0; i < 30; ++i) Builder().refit_engine(engine, sets[static_cast<size_t>(i % 3)]);
  });
  EXPECT_EQ(engine.refits(), before + 30);
  Context c = engine.create_context();
  EXPECT_EQ(answer(c), known[2]);
}

TEST_F(Refits, TakeTurns) {
  serve(10, [&] {
    vector<std::thread> refitters;
    for (size_t k = 0; k < 3; ++k)
      refitters.emplace_back([&, k] {
        for (int i = 0; i < 10; ++i) Builder().refit_engine(engine, sets[k]);
      });
    for (std::thread& t : refitters) t.join();
  });
  Context c = engine.create_context();
  EXPECT_TRUE(is_known(answer(c)));
}

TEST_F(Refits, LeaveARunTheWeightsItBeganWith) {
  Builder().refit_engine(engine, sets[0]);
  Context c = engine.create_context();
  bool refitted = false;
  c.on_step([&](const StepRun&) {
    if (refitted) return;
    refitted = true;  // behind the first step
    std::thread([&] { Builder().refit_engine(engine, sets[1]); }).join();
    Context other = engine.create_context();
    EXPECT_EQ(answer(other), known[1]);  // a run that begins now
  });
  EXPECT_EQ(answer(c), known[0]);
  ASSERT_TRUE(refitted);
  EXPECT_EQ(answer(c), known[1]);
}

TEST_F(Refits, LeaveReadersAlone) {
  serve(10, [&] {
    std::atomic<bool> done{false};
    std::thread reader([&] {
      while (!done) {
        const vector<std::byte> plan = engine.serialize();
        Context c = Engine::deserialize(plan).create_context();
        EXPECT_TRUE(is_known(answer(c)));
        EXPECT_EQ(engine.inputs().size(), 2u);
        EXPECT_GT(engine.memory({}).weights, 0u);
        EXPECT_EQ(engine.inspect().num_layers(), engine.steps().size());
        EXPECT_EQ(Refitter(engine).all().size(), 5u);
        engine.trim();
      }
    });
    for (int i = 0; i < 20; ++i) Builder().refit_engine(engine, sets[static_cast<size_t>(i % 3)]);
    done = true;
    reader.join();
  });
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
