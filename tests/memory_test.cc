// What an engine says of its memory before a run, against what the run then holds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <random>

#include "lathe/lathe.h"
#include "support/error_code.h"
#include "support/model_builder.h"
#include "support/shared_data.h"

namespace lathe::testing {
namespace {

using namespace test;
using Names = std::vector<std::string>;

/// Of a context, all but the weights.
uint64_t told(const MemoryInfo& m) { return m.total() - m.weights; }
uint64_t peak_of(const Engine& e, const std::vector<Value>& inputs) {
  Context c = e.create_context();
  c.run(inputs);
  return c.memory_peak();
}
Tensor alternating(int64_t n, int zero_every) {
  Tensor t(DataType::float32, {n});
  for (int64_t i = 0; i < n; ++i)
    t.as<float>()[static_cast<size_t>(i)] = zero_every && i % zero_every == 0 ? 0.0f : 1.0f;
  return t;
}

onnx::Model chain() {
  ModelBuilder b(21);
  b.input("x", "float[n]").output("y").output("x").output("y");
  b.node("Neg", {"x"}, {"a"}).node("Exp", {"a"}, {"b"}).node("Tanh", {"b"}, {"y"});
  return std::move(b.model);
}

TEST(Memory, OutputsReturnedAreInIt) {
  const Engine e = Engine::build(chain());
  for (int64_t n : {1, 1000, 54'321}) {
    const MemoryInfo m = e.memory({{"x", {n}}});
    EXPECT_EQ(m.outputs, 3 * ((static_cast<uint64_t>(n) * 4 + 63) / 64 * 64));
    EXPECT_TRUE(m.uncounted.empty());
    Context c = e.create_context();
    c.run(std::vector<Value>{alternating(n, 0)});
    EXPECT_EQ(c.memory_peak(), told(m));
    EXPECT_EQ(c.memory_in_use(), told(m) - m.outputs);  // they are the caller's now
  }
}

TEST(Memory, TheLimitCoversOutputsReturned) {
  const uint64_t needed = told(Engine::build(chain()).memory({{"x", {1000}}}));
  const std::vector<Value> x{alternating(1000, 0)};
  EXPECT_EQ(peak_of(Engine::build(chain(), {.memory_limit = needed}), x), needed);
  Context c = Engine::build(chain(), {.memory_limit = needed - 1}).create_context();
  EXPECT_EQ(code_of([&] { c.run(x); }), Code::run_memory_limit);
  EXPECT_EQ(c.run(std::vector<Value>{alternating(10, 0)}).size(), 3u);
}

/// Elements other than 0, doubled: two values whose size the data decide, and what is made of them.
onnx::Model selection() {
  ModelBuilder b(21);
  b.input("x", "float[n]").output("y");
  b.initializer(int64_tensor("axis", {1}, {0}));
  b.node("NonZero", {"x"}, {"where"})
      .node("Squeeze", {"where", "axis"}, {"at"})
      .node("Gather", {"x", "at"}, {"some"})
      .node("Add", {"some", "some"}, {"twice"})
      .node("Neg", {"twice"}, {"y"});
  return std::move(b.model);
}

TEST(Memory, BoundsWhatTheDataDecide) {
  const Engine e = Engine::build(selection());
  const MemoryInfo m = e.memory({{"x", {1000}}});
  EXPECT_TRUE(m.uncounted.empty()) << m.uncounted[0];
  EXPECT_GE(m.data_dependent, 1000u * 8);
  for (int zero_every : {0, 1, 2, 7})
    EXPECT_LE(peak_of(e, {alternating(1000, zero_every)}), told(m)) << zero_every;
}

TEST(Memory, SaysWhatItCannotBound) {
  ModelBuilder b(21);
  b.input("n", "int64[1]").input("s", "string[k]").output("zeros").output("t");
  b.node("ConstantOfShape", {"n"}, {"zeros"}).node("Identity", {"s"}, {"t"});
  const MemoryInfo m = Engine::build(b.model).memory({{"n", {1}}, {"s", {4}}});
  EXPECT_EQ(m.uncounted, (Names{"zeros", "t"}));
}

/// s = body(…body(x)), each time twice as much: a loop whose state has a symbolic shape.
onnx::Model loop() {
  ModelBuilder b(21);
  b.input("x", "float[n]").input("trips", "int64[]").output("y");
  const std::string state = "float[n]";
  b.node("Loop", {"trips", "", "x"}, {"y"},
         {graph_attribute("body", make_body({{"i", "int64[]"}, {"go", "bool[]"}, {"s", state}},
                                            {make_node("Add", {"s", "s"}, {"twice"}),
                                             make_node("Neg", {"twice"}, {"minus"}),
                                             make_node("Identity", {"go"}, {"go_on"})},
                                            {{"go_on", "bool[]"}, {"minus", state}}))});
  return std::move(b.model);
}

TEST(Memory, BodiesAreInIt) {
  const Engine e = Engine::build(loop());
  const MemoryInfo m = e.memory({{"x", {5000}}, {"trips", {}}});
  EXPECT_TRUE(m.uncounted.empty()) << m.uncounted[0];
  for (int64_t trips : {0, 1, 2, 5}) {
    const uint64_t peak = peak_of(e, {alternating(5000, 0), Tensor::scalar(trips)});
    EXPECT_LE(peak, told(m)) << trips;
  }
  EXPECT_LT(told(m), 6u * 5000 * 4 + 4096);  // and not much too high
}

NamedShapes shapes_of(const Engine& e, const std::vector<Value>& inputs) {
  NamedShapes shapes;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].is_tensor() && inputs[i].tensor().defined())
      shapes[e.inputs()[i].name] = inputs[i].tensor().shape();
  return shapes;
}

TEST(Memory, OfRealModelsIsNeverMoreThanTold) {
  LATHE_NEEDS_SHARED(shared);
  size_t exact = 0, bounded = 0, partial = 0;
  for (const ConformanceCase& c : model_cases(shared, false))
    run_case(c, {}, [&](Engine& e, const std::vector<Value>& inputs) {
      Context fresh = e.create_context();
      std::vector<Value> outputs = fresh.run(inputs);
      const MemoryInfo m = e.memory(shapes_of(e, inputs));
      if (m.uncounted.empty()) {
        EXPECT_LE(fresh.memory_peak(), told(m)) << c.name;
        if (m.data_dependent == 0) {
          EXPECT_LE(told(m), fresh.memory_peak() + fresh.memory_peak() / 50) << c.name;
        }
        ++(m.data_dependent ? bounded : exact);
      } else {
        ++partial;
      }
      return outputs;
    });
  std::printf("%zu exact, %zu bounded, %zu in part\n", exact, bounded, partial);
  EXPECT_GT(exact, 20u);
}

/// A bit of everything that keeps memory: products of both kinds, a value that only the data size, a body.
onnx::Model varied() {
  ModelBuilder b(21);
  b.input("x", "float[n,16]").input("trips", "int64[]").output("y").output("z");
  const std::string state = "float[n,16]";
  b.initializer(float_tensor("w", {16, 16}, std::vector<float>(256, 0.01f)));
  b.node("MatMul", {"x", "w"}, {"a"})
      .node("Transpose", {"a"}, {"t"}, {ints_attribute("perm", {1, 0})})
      .node("MatMul", {"a", "t"}, {"scores"})
      .node("Softmax", {"scores"}, {"p"})
      .node("MatMul", {"p", "a"}, {"mixed"})
      .node("NonZero", {"x"}, {"z"});
  b.node("Loop", {"trips", "", "mixed"}, {"y"},
         {graph_attribute("body", make_body({{"i", "int64[]"}, {"go", "bool[]"}, {"s", state}},
                                            {make_node("Add", {"s", "s"}, {"twice"}),
                                             make_node("Identity", {"go"}, {"go_on"})},
                                            {{"go_on", "bool[]"}, {"twice", state}}))});
  return std::move(b.model);
}

/// What the heap holds, that of big blocks included.
size_t heap_bytes() {
  const auto info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST(Memory, RunsOverRandomShapesReachAPlateau) {
  const Engine e = Engine::build(varied(), {.threads = 1});
  Context c = e.create_context();
  std::mt19937 random(1);
  const auto run = [&](int64_t rows) {
    Tensor x(DataType::float32, {rows, 16});
    for (float& v : x.as<float>()) v = static_cast<float>(random() % 3) - 1;
    c.run(std::vector<Value>{x, Tensor::scalar<int64_t>(static_cast<int64_t>(random() % 4))});
  };
  constexpr int64_t most = 48;
  const auto run_many = [&](int times) {
    for (int i = 0; i < times; ++i) run(1 + static_cast<int64_t>(random() % most));
  };
  run(most);
  run_many(2000);
  const uint64_t peak = c.memory_peak();
  const size_t heap = heap_bytes();
  run_many(8000);
  EXPECT_LE(c.memory_peak(), peak + peak / 20);
  EXPECT_LE(heap_bytes(), heap + 65536);
  c.trim();
  EXPECT_EQ(c.memory_in_use(), 0u);
  EXPECT_LE(heap_bytes(), heap);
  run(most);
  EXPECT_LE(c.memory_peak(), peak + peak / 20);
}

/// A limit that some shapes are too large for: whatever comes in whatever order, it is never exceeded, and
/// what runs is right. What is kept of greater shapes counts until it is trimmed.
TEST(Memory, TheLimitIsKeptOverRandomShapes) {
  const Engine free = Engine::build(varied(), {.threads = 1});
  const auto inputs = [](int64_t rows, int64_t trips) {
    return std::vector<Value>{random_tensor(DataType::float32, {rows, 16}, static_cast<uint64_t>(rows)),
                              Tensor::scalar<int64_t>(trips)};
  };
  constexpr int64_t most = 48, fitting = 24;
  const uint64_t limit = peak_of(free, inputs(fitting, 3));
  Context c = Engine::build(varied(), {.threads = 1, .memory_limit = limit}).create_context();
  Context judge = free.create_context();
  std::mt19937 random(2);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    const int64_t rows = 1 + static_cast<int64_t>(random() % most),
                  trips = static_cast<int64_t>(random() % 4);
    const std::vector<Value> given = inputs(rows, trips);
    const auto run = [&] {
      const std::vector<Value> made = c.run(given);
      const Tensor right = judge.run(given)[0].tensor();
      ASSERT_EQ(made[0].tensor().shape(), right.shape());
      ASSERT_EQ(std::memcmp(made[0].tensor().data(), right.data(), right.bytes()), 0);
    };
    try {
      run();
    } catch (const Error& e) {
      ASSERT_EQ(e.code(), Code::run_memory_limit) << e.what();
      ++refused;
      c.trim();
      ASSERT_EQ(c.memory_in_use(), 0u);
      if (rows <= fitting) run();
    }
    ASSERT_LE(c.memory_peak(), limit);
  }
  EXPECT_GT(refused, 100);
  c.trim();
  EXPECT_EQ(c.run(inputs(fitting, 3)).size(), 2u);
}

}  // namespace
}  // namespace lathe::testing
