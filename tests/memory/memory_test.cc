// Compares the memory that an engine reports before a run with the memory that the run holds.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cmath>
#include <cstring>
#include <random>

#include "base/component.h"
#include "kernel/kernel.h"
#include "lathe/lathe.h"
#include "runtime/arena.h"
#include "support/case_model.h"
#include "support/error_code.h"
#include "support/heap.h"
#include "support/model_builder.h"
#include "support/shared_data.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace test;
using Names = std::vector<std::string>;

/// The memory of a context: all but the weights.
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
  std::vector<ConformanceCase> cases = model_cases(shared, false);
  std::ranges::move(model_cases(shared, true), std::back_inserter(cases));
  for (const ConformanceCase& c : cases)
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
  EXPECT_GT(exact, 500u);
}

/// Each operator alone, by its fast kernels and by the reference: exact announcements are nearly the peak.
TEST(Memory, OfOperatorsIsNeverMoreThanTold) {
  CaseTable table;
  collect_all_cases(table);
  size_t exact = 0, bounded = 0;
  for (const OpCase& c : table.all())
    for (const char* backend : {"cpu", "reference"})
      for (int threads : {1, 2}) {
        SCOPED_TRACE(c.op + "/" + c.name + " " + backend);
        if (const auto needed = KernelCatalog::standard().component_of(c.domain, c.op);
            !needed.empty() && !component(needed).table)
          continue;
        onnx::Model model;
        model.proto = model_of(c);
        try {
          const Engine e = Engine::build(model, {.threads = threads, .backend = backend});
          const std::vector<Value> inputs = inputs_of(c);
          const uint64_t peak = peak_of(e, inputs);
          const MemoryInfo m = e.memory(shapes_of(e, inputs));
          if (!m.uncounted.empty()) continue;
          EXPECT_LE(peak, told(m)) << m.data_dependent;
          if (m.data_dependent == 0) {
            EXPECT_LE(told(m), peak + peak / 50);
          }
          ++(m.data_dependent ? bounded : exact);
        } catch (const Error& error) {
          ADD_FAILURE() << error.what();
        }
      }
  std::printf("%zu exact, %zu bounded\n", exact, bounded);
  EXPECT_GT(exact, 2000u);
}

/// The heap's count, not the engine's own: the memory that a context and a run take from the heap, outputs
/// included, is the announced memory, with the context's records of its steps.
TEST(Memory, IsWhatTheHeapGives) {
  if (!test::counts_heap) GTEST_SKIP() << "sanitizers have a heap of their own";
  LATHE_NEEDS_SHARED(shared);
  constexpr size_t worth = 64 << 10, odds = 4096;
  size_t held = 0;
  std::vector<ConformanceCase> cases = model_cases(shared, false);
  std::ranges::move(model_cases(shared, true), std::back_inserter(cases));
  for (const ConformanceCase& c : cases)
    run_case(c, {.threads = 1}, [&](Engine& e, const std::vector<Value>& inputs) {
      const MemoryInfo m = e.memory(shapes_of(e, inputs));
      const size_t before = test::heap_live;
      test::reset_heap_peak();
      Context fresh = e.create_context();
      std::vector<Value> outputs = fresh.run(inputs);
      const size_t most = test::heap_peak - before;
      // References take shapes and the like from the heap.
      const bool refers =
          std::ranges::any_of(e.steps(), [](const StepInfo& s) { return s.backend == "reference"; });
      if (!m.uncounted.empty() || m.data_dependent != 0 || refers || told(m) < worth) return outputs;
      const uint64_t all = told(m) + m.records;
      std::printf("%-40s told %9ju and %ju, taken %9zu, %.3f\n", c.name.c_str(), uintmax_t{told(m)},
                  uintmax_t{m.records}, most, static_cast<double>(most) / static_cast<double>(all));
      EXPECT_LE(most, all + all / 50 + odds) << c.name;
      EXPECT_LE(all, most + most / 50) << c.name;
      ++held;
      return outputs;
    });
  EXPECT_GT(held, 5u);
}

/// Fixed shapes: tables, taps and blended rows are laid out before the run, on however many threads.
TEST(Memory, OfSampledImagesIsExact) {
  ModelBuilder b(21);
  b.input("x", "float[1,8,40,40]").input("rois", "float[50,4]").input("images", "int64[50]");
  b.initializer(float_tensor("twice", {4}, {1, 1, 2, 2}));
  b.node("Resize", {"x", "", "twice"}, {"linear"}, {string_attribute("mode", "linear")})
      .node("Resize", {"linear", "", "twice"}, {"nearest"})
      .node("RoiAlign", {"linear", "rois", "images"}, {"as_the_data"},
            {int_attribute("output_height", 7), int_attribute("output_width", 7)})
      .node("RoiAlign", {"linear", "rois", "images"}, {"four_each"},
            {int_attribute("output_height", 7), int_attribute("output_width", 7),
             int_attribute("sampling_ratio", 2)});
  b.output("nearest").output("as_the_data").output("four_each");
  Tensor rois(DataType::float32, {50, 4});
  for (size_t i = 0; i < rois.as<float>().size(); ++i)
    rois.as<float>()[i] = static_cast<float>(i % 4 < 2 ? i % 20 : 25 + i % 50);
  const std::vector<Value> inputs{random_tensor(DataType::float32, {1, 8, 40, 40}, 1), rois,
                                  Tensor(DataType::int64, {50})};
  std::memset(const_cast<void*>(inputs[2].tensor().data()), 0, inputs[2].tensor().bytes());
  for (int threads : {1, 2, 3}) {
    const Engine e = Engine::build(b.model, {.threads = threads, .allow_reference = false});
    const MemoryInfo m = e.memory(shapes_of(e, inputs));
    EXPECT_EQ(m.data_dependent, 0u);
    EXPECT_EQ(peak_of(e, inputs), told(m)) << threads;
    EXPECT_EQ(code_of([&] {
                Engine::build(b.model, {.threads = threads, .memory_limit = told(m) - 1})
                    .create_context()
                    .run(inputs);
              }),
              Code::run_memory_limit);
  }
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

/// The bytes that the heap holds, large blocks included.
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
/// what fits in a fresh context runs, whatever was run before.
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
      ASSERT_GT(rows, fitting);
      ++refused;
    }
    ASSERT_LE(c.memory_peak(), limit);
  }
  EXPECT_GT(refused, 100);
  c.trim();
  EXPECT_EQ(c.run(inputs(fitting, 3)).size(), 2u);
}

/// All values are planned: the memory of greater shapes is freed before lesser ones are refused, for outputs
/// that the run returns too.
TEST(Memory, WhatGreaterShapesLeftIsGivenBackBeforeARefusal) {
  ModelBuilder b(21);
  b.input("x", "float[n,16]").output("y");
  b.initializer(float_tensor("w", {16, 16}, std::vector<float>(256, 0.01f)));
  // Long and narrow takes the arena, short and wide the output.
  b.node("MatMul", {"x", "w"}, {"a"})
      .node("Transpose", {"a"}, {"t"}, {ints_attribute("perm", {1, 0})})
      .node("MatMul", {"a", "t"}, {"scores"})
      .node("Softmax", {"scores"}, {"p"})
      .node("ReduceSum", {"p"}, {"y"}, {int_attribute("keepdims", 0)});
  const Engine free = Engine::build(b.model, {.threads = 1});
  const auto inputs = [](int64_t rows) {
    return std::vector<Value>{random_tensor(DataType::float32, {rows, 16}, static_cast<uint64_t>(rows))};
  };
  const uint64_t limit = peak_of(free, inputs(100));
  Context c = Engine::build(b.model, {.threads = 1, .memory_limit = limit}).create_context();
  for (int64_t rows : {100, 3, 99, 100, 1, 64, 100}) {
    EXPECT_EQ(c.run(inputs(rows)).size(), 1u) << rows;
    EXPECT_EQ(code_of([&] { c.run(inputs(200)); }), Code::run_memory_limit);
    EXPECT_LE(c.memory_peak(), limit);
  }
}

/// Convolutions over images of all sizes, attention over their pixels, and a loop whose length depends on
/// data.
onnx::Model image_model() {
  ModelBuilder b(21);
  b.input("x", "float[1,3,h,w]").input("trips", "int64[]").output("y").output("found");
  const auto weights = [&](const char* name, std::vector<int64_t> shape) {
    int64_t n = 1;
    for (int64_t d : shape) n *= d;
    std::vector<float> values;
    for (int64_t i = 0; i < n; ++i) values.push_back(static_cast<float>(i * 37 % 23 - 11) * 0.02f);
    b.initializer(float_tensor(name, shape, values));
  };
  weights("first", {16, 3, 3, 3});
  weights("second", {16, 16, 3, 3});
  weights("mixed", {16, 32, 1, 1});
  b.initializer(int64_tensor("rows", {3}, {1, 16, -1}));
  const auto padded = [] { return ints_attribute("pads", {1, 1, 1, 1}); };
  b.node("Conv", {"x", "first"}, {"a"}, {padded()})
      .node("Relu", {"a"}, {"b"})
      .node("Conv", {"b", "second"}, {"c"}, {padded()})
      .node("Concat", {"b", "c"}, {"d"}, {int_attribute("axis", 1)})
      .node("Conv", {"d", "mixed"}, {"e"})
      .node("MaxPool", {"e"}, {"f"},
            {ints_attribute("kernel_shape", {2, 2}), ints_attribute("strides", {2, 2})})
      .node("Reshape", {"f", "rows"}, {"g"})
      .node("Transpose", {"g"}, {"q"}, {ints_attribute("perm", {0, 2, 1})})
      .node("MatMul", {"q", "g"}, {"scores"})
      .node("Softmax", {"scores"}, {"p"})
      .node("MatMul", {"p", "q"}, {"attended"})
      .node("Relu", {"attended"}, {"positive"})
      .node("NonZero", {"positive"}, {"found"});
  const std::string state = "float[1,k,16]";
  b.node("Loop", {"trips", "", "attended"}, {"y"},
         {graph_attribute("body", make_body({{"i", "int64[]"}, {"go", "bool[]"}, {"s", state}},
                                            {make_node("Tanh", {"s"}, {"small"}),
                                             make_node("Add", {"small", "s"}, {"more"}),
                                             make_node("Identity", {"go"}, {"go_on"})},
                                            {{"go_on", "bool[]"}, {"more", state}}))});
  return std::move(b.model);
}

TEST(Memory, ImagesOfAllSizesReachAPlateau) {
  const Engine e = Engine::build(image_model(), {.threads = 1});
  bool blocked = false;
  for (const StepInfo& s : e.steps()) blocked |= s.op.find("Blocked") != std::string::npos;
  EXPECT_TRUE(blocked || e.target().isa == "generic");
  Context c = e.create_context();
  std::mt19937 random(3);
  const auto run = [&](int64_t height, int64_t width) {
    Tensor x(DataType::float32, {1, 3, height, width});
    for (size_t i = 0; i < x.as<float>().size(); ++i)
      x.as<float>()[i] = static_cast<float>((i * 7 + 3) % 5) - 2;
    c.run(std::vector<Value>{x, Tensor::scalar<int64_t>(static_cast<int64_t>(random() % 4))});
  };
  constexpr uint32_t most = 8;
  const auto run_many = [&](int times) {
    for (int i = 0; i < times; ++i) run(2 + random() % (most - 1), 2 + random() % (most - 1));
  };
  run(most, most);
  run_many(2000);
  const uint64_t peak = c.memory_peak();
  const size_t heap = heap_bytes();
  run_many(8000);
  EXPECT_LE(c.memory_peak(), peak + peak / 20);
  EXPECT_LE(heap_bytes(), heap + 65536);
  c.trim();
  EXPECT_EQ(c.memory_in_use(), 0u);
}

/// Takes and returns memory at random, or as `events` say: the planner, and the lifetimes of the spans.
struct Planned {
  struct Span {
    ArenaPlanner::Id id;
    size_t bytes, begin, end;
  };
  ArenaPlanner arena;
  std::vector<Span> spans;
  size_t clock = 0;

  size_t take(size_t bytes) {
    spans.push_back({arena.take(bytes), bytes, clock++, SIZE_MAX});
    return spans.size() - 1;
  }
  void give(size_t i) {
    arena.give(spans[i].id);
    spans[i].end = clock++;
  }
  /// Expects that all spans have memory of their own while they live, and that none is wasted at the end.
  void expect_apart() const {
    size_t end = 0;
    for (const Span& a : spans) {
      end = std::max(end, arena.offset(a.id) + a.bytes);
      for (const Span& b : spans) {
        if (&a == &b || a.end <= b.begin || b.end <= a.begin || a.bytes == 0 || b.bytes == 0) continue;
        ASSERT_TRUE(arena.offset(a.id) + a.bytes <= arena.offset(b.id) ||
                    arena.offset(b.id) + b.bytes <= arena.offset(a.id));
      }
    }
    EXPECT_EQ(end, arena.size());
  }
};

TEST(Arena, TheCloserOfTwoPackingsIsTaken) {
  // In this order, the large block comes when only a small hole is left.
  Planned p;
  const size_t first = p.take(64), second = p.take(64);
  p.give(first);
  const size_t large = p.take(128);
  p.give(second);
  p.give(large);
  EXPECT_EQ(p.arena.size(), 256u);
  p.arena.pack();
  p.expect_apart();
  EXPECT_EQ(p.arena.size(), 192u);  // what lives at once
}

TEST(Arena, WhateverComesLiesApart) {
  std::mt19937 random(4);
  size_t closer = 0;
  for (int round = 0; round < 200; ++round) {
    Planned p;
    std::vector<size_t> live;
    for (int i = 0; i < 60; ++i) {
      if (live.empty() || random() % 5 < 3) {
        live.push_back(p.take(64 * (random() % 9 ? random() % 6 : 40)));
      } else {
        std::swap(live[random() % live.size()], live.back());
        p.give(live.back());
        live.pop_back();
      }
    }
    const size_t in_order = p.arena.size();
    p.arena.pack();
    p.expect_apart();
    EXPECT_LE(p.arena.size(), in_order);
    closer += p.arena.size() < in_order;
  }
  EXPECT_GT(closer, 20u);
}

/// Like a detector: splits, short residual branches that are all concatenated, and a pyramid of three scales.
onnx::Model detector() {
  std::string nodes, weights;
  int values = 0;
  const auto conv = [&](const std::string& x, int in, int out, int kernel, int stride) {
    const std::string n = std::to_string(values++), w = "w" + n, pad = std::to_string(kernel / 2);
    weights += (weights.empty() ? "float[" : ", float[") + std::to_string(out) + "," + std::to_string(in) +
               "," + std::to_string(kernel) + "," + std::to_string(kernel) + "] " + w + " = {}";
    nodes += " c" + n + " = Conv<pads=[" + pad + "," + pad + "," + pad + "," + pad + "], strides=[" +
             std::to_string(stride) + "," + std::to_string(stride) + "]>(" + x + ", " + w + ") s" + n +
             " = Sigmoid(c" + n + ") v" + n + " = Mul(c" + n + ", s" + n + ")";
    return "v" + n;
  };
  const auto concat = [&](const std::vector<std::string>& parts) {
    const std::string y = "k" + std::to_string(values++);
    nodes += " " + y + " = Concat<axis=1>(";
    for (size_t i = 0; i < parts.size(); ++i) nodes += (i ? ", " : "") + parts[i];
    nodes += ")";
    return y;
  };
  const auto branches = [&](const std::string& x, int in, int out, int deep) {
    const std::string y = conv(x, in, out, 1, 1), n = std::to_string(values++);
    nodes += " a" + n + ", b" + n + " = Split<axis=1, num_outputs=2>(" + y + ")";
    std::vector<std::string> parts{"a" + n, "b" + n};
    for (int i = 0; i < deep; ++i)
      parts.push_back(conv(conv(parts.back(), out / 2, out / 2, 3, 1), out / 2, out / 2, 3, 1));
    return conv(concat(parts), out / 2 * (2 + deep), out, 1, 1);
  };
  const auto upwards = [&](const std::string& x) {
    const std::string y = "u" + std::to_string(values++);
    nodes += " " + y + " = Resize<mode=\"nearest\", coordinate_transformation_mode=\"asymmetric\">(" + x +
             ", , by)";
    return y;
  };
  std::string x = conv(conv("x", 3, 16, 3, 2), 16, 32, 3, 2);
  const std::string third = branches(conv(branches(x, 32, 32, 1), 32, 64, 3, 2), 64, 64, 2);
  const std::string fourth = branches(conv(third, 64, 128, 3, 2), 128, 128, 2);
  const std::string fifth = branches(conv(fourth, 128, 256, 3, 2), 256, 256, 1);
  const std::string middle = branches(concat({upwards(fifth), fourth}), 384, 128, 1);
  const std::string small = branches(concat({upwards(middle), third}), 192, 64, 1);
  const std::string again = branches(concat({conv(small, 64, 64, 3, 2), middle}), 192, 128, 1);
  const std::string large = branches(concat({conv(again, 128, 128, 3, 2), fifth}), 384, 256, 1);
  nodes += " y0 = Identity(" + small + ") y1 = Identity(" + again + ") y2 = Identity(" + large + ")";
  onnx::Model m;
  m.proto = onnx::from_text<onnx::ModelProto>(
      "<ir_version: 10, opset_import: [\"\": 21]> g (float[1,3,h,h] x) => (float[1,64,a,b] y0, "
      "float[1,128,c,d] "
      "y1, float[1,256,e,f] y2) <" +
      weights + ", float[4] by = {1,1,2,2}> {" + nodes + " }");
  uint64_t seed = 1;
  for (onnx::TensorProto& t : m.proto.graph->initializer) {
    if (!t.float_data.empty()) continue;
    const Tensor made = random_tensor(DataType::float32, Shape(t.dims.begin(), t.dims.end()), ++seed);
    for (float v : made.as<float>()) t.float_data.push_back(0.1f * v);
  }
  return m;
}

TEST(Memory, ADetectorIsPackedClosely) {
  const Engine e = Engine::build(detector(), {.threads = 1});
  const Engine plain = Engine::build(detector(), {.threads = 1, .level = OptimizationLevel::none});
  for (int64_t size : {64, 96}) {
    const std::vector<Value> x{random_tensor(DataType::float32, {1, 3, size, size}, 5)};
    const MemoryInfo m = e.memory({{"x", {1, 3, size, size}}});
    Context c = e.create_context();
    const std::vector<Value> got = c.run(x);
    EXPECT_LE(c.memory_peak(), told(m)) << size;
    // Resize runs by reference: what that takes is bounded, the rest is exact.
    EXPECT_LE(told(m) - m.data_dependent, c.memory_peak() + c.memory_peak() / 50) << size;
    const std::vector<Value> want = plain.create_context().run(x);
    for (size_t i = 0; i < want.size(); ++i)
      for (size_t j = 0; j < want[i].tensor().as<float>().size(); ++j)
        ASSERT_NEAR(got[i].tensor().as<float>()[j], want[i].tensor().as<float>()[j],
                    1e-3 + 1e-3 * std::abs(want[i].tensor().as<float>()[j]));
  }
}

/// While attention is a chain of products and a Softmax, a score for every query and key is in memory.
TEST(Memory, RecognizedAttentionKeepsNoScores) {
  const onnx::Model m = testing::model_of(
      "(float[1,4,n,64] q, float[1,4,n,64] k, float[1,4,n,64] v) => (float[1,4,n,64] y) "
      "{ t = Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, t) p = Softmax<axis=-1>(s) y = MatMul(p, v) }");
  const auto taken = [](const Engine& e, int64_t n) {
    const Shape x{1, 4, n, 64};
    return told(e.memory({{"q", x}, {"k", x}, {"v", x}}));
  };
  const auto scores = [](uint64_t n) { return 4 * n * n * sizeof(float); };
  const Engine plain = Engine::build(m, {.threads = 1, .level = OptimizationLevel::none});
  EXPECT_GE(taken(plain, 16384), scores(16384));
  const Engine e = Engine::build(m, {.threads = 1});
  EXPECT_LT(taken(e, 16384) * 64, scores(16384));
  EXPECT_LE(taken(e, 32768), 2 * taken(e, 16384));
}

/// The bound is the number of requested boxes, not that of all boxes.
TEST(Memory, SelectedBoxesAreBounded) {
  const Engine e =
      Engine::build(testing::model_of("(float[2,5000,4] boxes, float[2,10,5000] scores) => (int64[k,3] y) "
                                      "<int64[1] most = {7}, float iou = {0.5}>"
                                      "{ y = NonMaxSuppression(boxes, scores, most, iou) }"));
  const uint64_t rows = 2 * 10 * 7;
  const MemoryInfo m = e.memory({});
  EXPECT_TRUE(m.uncounted.empty());
  EXPECT_GE(m.data_dependent, rows * 3 * sizeof(int64_t));
  EXPECT_LE(m.data_dependent, rows * 8 * sizeof(int64_t) + 4096);
}

TEST(Memory, StringsAreHeldAgainstTheLimit) {
  const Engine e = Engine::build(
      testing::model_of("(int64[1] n) => (string[k] y) <string[1] w = {\"a\"}> { y = Expand(w, n) }"),
      {.threads = 1, .memory_limit = uint64_t{1} << 20});
  Context c = e.create_context();
  const auto run = [&](int64_t n) {
    return c.run(std::vector<Value>{Tensor::from<int64_t>({1}, std::vector<int64_t>{n})})[0].tensor().size();
  };
  EXPECT_EQ(run(100), 100);
  for (int64_t n : {int64_t{1} << 16, int64_t{1} << 33, int64_t{1} << 53})
    EXPECT_EQ(code_of([&] { run(n); }), Code::run_memory_limit) << n;
  EXPECT_EQ(code_of([&] { run(int64_t{1} << 60); }), Code::tensor_bad_shape);
  EXPECT_EQ(run(3), 3);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
