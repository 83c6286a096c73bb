// Profiles: the shapes that an engine is made for, and the memory that is taken for them beforehand.
#include <gtest/gtest.h>

#include <random>

#include "plan/plan_file.h"
#include "plan/verify.h"
#include "runtime/engine_impl.h"
#include "support/allocations.h"
#include "support/error_code.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

constexpr const char* pair = R"((float[b,s,64] x, float[b,s,64] y) => (float[b,s,64] z)
  <float[64,64] w = {}> { a = MatMul (x, w)  z = Add (a, y) })";

/// This model has memory of all kinds: products with and without packed weights, softmax, layouts of images.
constexpr const char* mixed = R"((float[b,3,h,w] x) => (float[b,h2,w2,h2,w2] y, float[b,7] z)
  <float[32,3,3,3] a = {}, float[32,32,3,3] c = {}, float[32,7] g = {}, int64[3] flat = {0, 0, -1}>
  { x0 = Conv <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (x, a)  x1 = Relu (x0)
    x2 = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x1, c)  x3 = Add (x2, x1)
    p = GlobalAveragePool (x3)  q = Flatten (p)  z = MatMul (q, g)
    rows = Reshape (x3, flat)  t = Transpose <perm = [0, 2, 1]> (rows)  scores = MatMul (t, rows)
    soft = Softmax <axis = -1> (scores)  side = Shape <start = 2> (x3)  first = Shape <start = 0, end = 1> (x3)
    wide = Concat <axis = 0> (first, side, side)  y = Reshape (soft, wide) })";

ShapeProfile profile(std::string name, std::map<std::string, ShapeRange, std::less<>> inputs) {
  return {std::move(name), std::move(inputs)};
}
const ShapeRange small{{1, 1, 64}, {1, 8, 64}, {2, 16, 64}}, large{{4, 1, 64}, {4, 64, 64}, {8, 128, 64}};

std::vector<Value> inputs(int64_t b, int64_t s) {
  return {random_tensor(DataType::float32, {b, s, 64}, 1), random_tensor(DataType::float32, {b, s, 64}, 2)};
}

std::string message_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(ShapeProfiles, RefuseOtherShapesAndSayWhich) {
  const Engine e = Engine::build(model_of(pair), {.profiles = {profile("default", {{"x", small}})}});
  Context c = e.create_context();
  c.run(inputs(1, 1));
  c.run(inputs(2, 16));
  EXPECT_EQ(code_of([&] { c.run(inputs(3, 1)); }), Code::run_bad_shape);
  const std::string said = message_of([&] { c.run(inputs(2, 17)); });
  for (const char* part : {"\"x\"", "[1, 1, 64] to [2, 16, 64]", "'default'", "[2, 17, 64]"})
    EXPECT_NE(said.find(part), std::string::npos) << part << " in " << said;
  EXPECT_EQ(code_of([&] { e.memory({{"x", {2, 17, 64}}}); }), Code::run_bad_shape);
  c.run(inputs(1, 16));  // the context is as good as before
}

TEST(ShapeProfiles, AllInputsAreWithinTheSame) {
  // Only the profiles connect the two sizes.
  const char* apart = "(float[n] x, float[m] y) => (float[k] z) { z = Concat <axis = 0> (x, y) }";
  const Engine e = Engine::build(
      model_of(apart), {.profiles = {profile("small", {{"x", {{1}, {2}, {4}}}, {"y", {{1}, {2}, {4}}}}),
                                     profile("large", {{"x", {{8}, {8}, {9}}}, {"y", {{8}, {8}, {9}}}})}});
  const auto run = [&](int64_t n, int64_t m) {
    e.create_context().run(std::vector<Value>{random_tensor(DataType::float32, {n}, 1),
                                              random_tensor(DataType::float32, {m}, 2)});
  };
  run(4, 1);
  run(8, 9);
  const std::string said = message_of([&] { run(8, 4); });
  EXPECT_NE(said.find("\"y\""), std::string::npos) << said;
  EXPECT_NE(said.find("'large'"), std::string::npos) << said;
  EXPECT_EQ(said.find("'small'"), std::string::npos) << said;
  const std::string neither = message_of([&] { run(5, 4); });
  for (const char* part : {"\"x\"", "'small'", "'large'"})
    EXPECT_NE(neither.find(part), std::string::npos) << neither;
}

TEST(ShapeProfiles, ThatCannotBeAreErrors) {
  const auto refused = [&](ShapeProfile p) {
    return code_of([&] { Engine::build(model_of(pair), {.profiles = {std::move(p)}}); });
  };
  EXPECT_EQ(refused(profile("p", {{"q", small}})), Code::build_bad_option);
  EXPECT_EQ(refused(profile("", {{"x", small}})), Code::build_bad_option);
  EXPECT_EQ(refused(profile("p", {{"x", {{1, 1, 64}, {1, 1, 64}, {2, 16}}}})), Code::build_bad_option);
  EXPECT_EQ(refused(profile("p", {{"x", {{1, 1}, {1, 1}, {2, 16}}}})), Code::build_bad_option);
  EXPECT_EQ(refused(profile("p", {{"x", {{1, 1, 63}, {1, 1, 64}, {2, 1, 64}}}})), Code::build_bad_option);
  EXPECT_EQ(refused(profile("p", {{"x", {{1, 1, 64}, {3, 1, 64}, {2, 1, 64}}}})), Code::build_bad_option);
  EXPECT_EQ(refused(profile("p", {{"x", {{-1, 1, 64}, {1, 1, 64}, {2, 1, 64}}}})), Code::build_bad_option);
  EXPECT_EQ(refused(profile("p", {{"x", small}, {"y", large}})), Code::build_bad_option);
  std::vector<ShapeProfile> twice(2, profile("p", {{"x", small}}));
  EXPECT_EQ(code_of([&] { Engine::build(model_of(pair), {.profiles = twice}); }), Code::build_bad_option);
  std::vector<ShapeProfile> many;
  for (int i = 0; i < 65; ++i) many.push_back(profile(std::to_string(i), {{"x", small}}));
  EXPECT_EQ(code_of([&] { Engine::build(model_of(pair), {.profiles = many}); }), Code::build_bad_option);
}

TEST(ShapeProfiles, AreKeptInThePlan) {
  const TempDirectory dir;
  const std::vector<ShapeProfile> given{profile("small", {{"x", small}}),
                                        profile("large", {{"x", large}, {"y", large}})};
  const Engine built = Engine::build(model_of(pair), {.profiles = given});
  EXPECT_EQ(built.profiles(), given);
  built.save(dir / "two.lathe");
  const Engine loaded = Engine::load(dir / "two.lathe");
  EXPECT_EQ(loaded.profiles(), given);
  EXPECT_EQ(code_of([&] { loaded.create_context().run(inputs(3, 1)); }), Code::run_bad_shape);
  EXPECT_EQ(code_of([&] { loaded.create_context().reserve("middle"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { loaded.profile_memory("middle"); }), Code::bad_argument);
}

TEST(ShapeProfiles, OfPlansFromAnywhereAreVerified) {
  Plan plan =
      Engine::build(model_of(pair), {.profiles = {profile("p", {{"x", small}})}}).impl()->program.plan();
  const auto refused = [&](auto&& change) {
    Plan damaged = plan;
    change(damaged.profiles);
    return code_of([&] { verify(damaged); });
  };
  verify(plan);
  EXPECT_EQ(refused([](auto& p) { p[0].inputs[0].input = 2; }), Code::plan_malformed);
  EXPECT_EQ(refused([](auto& p) { p[0].inputs[0].max = {1}; }), Code::plan_malformed);
  EXPECT_EQ(refused([](auto& p) { p[0].inputs[0].min[0] = 5; }), Code::plan_malformed);
  EXPECT_EQ(refused([](auto& p) { p.resize(65, p[0]); }), Code::plan_malformed);
}

TEST(ShapeProfiles, ChooseKernelsByTheUsualSize) {
  const char* conv = R"((float[b,64,h,w] x) => (float[b,64,h,w] y) <float[64,64,3,3] a = {}>
    { y = Conv <kernel_shape = [3, 3], pads = [1, 1, 1, 1]> (x, a) })";
  const auto kernel = [&](int64_t side) {
    const ShapeRange r{{1, 64, 1, 1}, {1, 64, side, side}, {1, 64, 224, 224}};
    const Engine e = Engine::build(model_of(conv), {.isa = "avx2", .profiles = {profile("p", {{"x", r}})}});
    for (const StepInfo& s : e.steps())
      if (s.op == "BlockedConv") return s.kernel;
    return std::string();
  };
  if (kernel(112).empty()) GTEST_SKIP() << "needs AVX2";
  EXPECT_NE(kernel(112), kernel(2));
}

/// Random shapes of a profile: with what was reserved, runs take nothing more from the system.
TEST(ShapeProfiles, RunsWithinAReservedOneTakeNoMemory) {
  const ShapeRange images{{1, 3, 8, 8}, {1, 3, 24, 24}, {3, 3, 40, 33}};
  const Engine e =
      Engine::build(model_of(mixed), {.threads = 2, .profiles = {profile("images", {{"x", images}})}});
  Context c = e.create_context();
  c.reserve("images");
  const uint64_t held = c.memory_in_use();
  const MemoryInfo told = e.profile_memory("images");
  EXPECT_EQ(held, told.activations + told.workspace + told.outputs);
  std::mt19937 random(3);
  const auto between = [&](size_t axis) {
    return std::uniform_int_distribution<int64_t>(images.min[axis], images.max[axis])(random);
  };
  std::vector<Tensor> given;
  for (int i = 0; i < 300; ++i)
    given.push_back(random_tensor(DataType::float32, {between(0), 3, between(2), between(3)}, 1));
  given.push_back(random_tensor(DataType::float32, images.max, 1));
  given.push_back(random_tensor(DataType::float32, images.min, 1));
  for (const Tensor& x : given) {
    c.bind_input("x", x);
    const long before = test::big_allocations;
    c.run();
    ASSERT_EQ(test::big_allocations, before) << describe(x.shape());
    ASSERT_EQ(c.memory_in_use(), held) << describe(x.shape());
  }
  EXPECT_EQ(c.memory_peak(), held);
  for (const Tensor& x : given) {  // and a shape that was just seen allocates nothing at all
    c.bind_input("x", x);
    c.run();
    const long before = test::allocations;
    c.run();
    ASSERT_EQ(test::allocations, before) << describe(x.shape());
  }
  c.trim();
  EXPECT_EQ(c.memory_in_use(), 0u);
}

TEST(ShapeProfiles, ReservingKeepsTheLimit) {
  const ShapeProfile p = profile("p", {{"x", large}});
  const uint64_t needed = [&] {
    const MemoryInfo m = Engine::build(model_of(pair), {.profiles = {p}}).profile_memory("p");
    return m.total() - m.weights;
  }();
  const Engine tight = Engine::build(model_of(pair), {.memory_limit = needed - 1, .profiles = {p}});
  Context c = tight.create_context();
  EXPECT_EQ(code_of([&] { c.reserve("p"); }), Code::run_memory_limit);
  EXPECT_LT(c.memory_peak(), needed);
  Context room = Engine::build(model_of(pair), {.memory_limit = needed, .profiles = {p}}).create_context();
  room.reserve("p");
  EXPECT_EQ(room.memory_in_use(), needed);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
