#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "lathe/lathe.h"
#include "support/allocations.h"
#include "support/error_code.h"
#include "support/toy_ops.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;
using namespace std::chrono_literals;
using std::vector;

using lathe::testing::code_of;
Dim n() { return Dim::symbol("n"); }
ValueType scalar_int() { return ValueType::tensor(DataType::int64, SymShape{}); }
Tensor ramp(int64_t count, float first = 0) {
  Tensor t(DataType::float32, {count});
  for (int64_t i = 0; i < count; ++i) t.as<float>()[static_cast<size_t>(i)] = first + static_cast<float>(i);
  return t;
}

/// y = x + x + c, through four inner values.
Engine adder(const BuildOptions& o = {}) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n()}));
  const ValueId a = g.node("Add", {x, x}, "a", f32({n()}));
  const ValueId b = g.node("Check", {a}, "b", f32({n()}));
  const ValueId c = g.node("Check", {b}, "c", f32({n()}));
  g.graph->set_outputs({g.node("Add", {c, x}, "y", f32({n()}))});
  return build_toys(*g.graph, o);
}

TEST(Runtime, RunsByNameByPositionAndBound) {
  const Engine e = adder();
  Context c = e.create_context();
  EXPECT_EQ(list(c.run({{"x", floats({2}, {1, 2})}}).at("y")), (vector<float>{3, 6}));
  EXPECT_EQ(list(c.run(vector<Value>{floats({3}, {1, 2, 3})}).at(0)), (vector<float>{3, 6, 9}));
  Tensor y(DataType::float32, {2});
  c.bind_input("x", floats({2}, {5, 6}));
  c.bind_output("y", y);
  c.run();
  EXPECT_EQ(list(y), (vector<float>{15, 18}));
  EXPECT_EQ(c.output("y").tensor().data(), y.data());
  c.bind_output("y", Tensor());
  c.run();
  EXPECT_NE(c.output(0).tensor().data(), y.data());
  EXPECT_EQ(list(c.output(0)), (vector<float>{15, 18}));
}

TEST(Runtime, ReturnedOutputsAreTheCallersOwn) {
  Context c = adder().create_context();
  const NamedValues first = c.run({{"x", floats({1}, {1})}});
  c.run({{"x", floats({1}, {9})}});
  EXPECT_EQ(list(first.at("y")), vector<float>{3});
  EXPECT_TRUE(first.at("y").tensor().owns());
}

TEST(Runtime, OutputsThatPassThroughAreCopies) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n()}));
  const ValueId k = g.constant("k", floats({1}, {4}));
  g.graph->set_outputs({x, k, x});
  Context c = build_toys(*g.graph).create_context();
  const Tensor given = floats({2}, {1, 2});
  const vector<Value> out = c.run(vector<Value>{given});
  EXPECT_EQ(list(out[0]), (vector<float>{1, 2}));
  EXPECT_NE(out[0].tensor().data(), given.data());
  EXPECT_EQ(list(out[1]), vector<float>{4});
  EXPECT_EQ(list(out[2]), (vector<float>{1, 2}));
}

TEST(Runtime, BoundMemoryMayOverlapAnInputThatPassesThrough) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n()}));
  g.graph->set_outputs({g.node("Add", {x, x}, "y", f32({n()})), x});
  Context c = build_toys(*g.graph).create_context();
  Tensor memory = floats({5}, {1, 2, 3, 4, 0}), copy(DataType::float32, {4});
  c.bind_input("x", Tensor::view(DataType::float32, {4}, memory.data()));
  c.bind_output("y", Tensor::view(DataType::float32, {4}, memory.as<float>().data() + 1));
  c.bind_output("x", copy);
  c.run();
  EXPECT_EQ(list(copy), (vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(list(memory), (vector<float>{1, 2, 4, 6, 8}));
}

TEST(Runtime, AContextRunsOnceAtATime) {
  Context c = adder({.taps = {"a"}}).create_context();
  const vector<Value> x{floats({1}, {1})};
  c.on_tap([&](std::string_view, const Value&) { c.run(x); });
  EXPECT_EQ(code_of([&] { c.run(x); }), Code::bad_argument);
  c.on_tap({});
  EXPECT_EQ(list(c.run(x)[0]), vector<float>{3});
}

TEST(Runtime, KnownShapesAllocateNothing) {
  for (int threads : {1, 2}) {
    const Engine e = adder({.threads = threads});
    Context c = e.create_context();
    const vector<int64_t> sizes{5, 1000, 70'000, 3};
    vector<Tensor> in, out;
    for (int64_t s : sizes) {
      in.push_back(ramp(s));
      out.emplace_back(DataType::float32, Shape{s});
    }
    const auto all = [&] {
      for (size_t i = 0; i < sizes.size(); ++i) {
        c.bind_input("x", in[i]);
        c.bind_output("y", out[i]);
        c.run();
      }
    };
    all();
    const long before = allocations;
    for (int round = 0; round < 10; ++round) all();
    EXPECT_EQ(allocations - before, 0) << threads << " threads";
    EXPECT_EQ(out[1].as<float>()[10], 30);
  }
}

TEST(Runtime, MemoryIsKnownBeforeRunning) {
  const Engine e = adder();
  for (int64_t size : {1, 1000, 123'457}) {
    Context c = e.create_context();
    c.bind_input("x", ramp(size));
    c.run();
    const MemoryInfo m = e.memory({{"x", {size}}});
    EXPECT_EQ(c.memory_peak(), m.activations + m.workspace + m.outputs);
    EXPECT_EQ(c.memory_in_use(), c.memory_peak());
    EXPECT_EQ(m.activations,
              2 * ((static_cast<uint64_t>(size) * 4 + 63) / 64 * 64));  // never more than two alive
    c.trim();
    EXPECT_EQ(c.memory_in_use(), 0u);
    c.run();
    EXPECT_EQ(list(c.output(0))[0], 0);
  }
  EXPECT_EQ(code_of([&] { e.memory({}); }), Code::bad_argument);
}

TEST(Runtime, TheMemoryLimitHolds) {
  const Engine e = adder({.memory_limit = 100'000});
  Context c = e.create_context();
  EXPECT_EQ(c.run(vector<Value>{ramp(1000)}).size(), 1u);
  EXPECT_EQ(code_of([&] { c.run(vector<Value>{ramp(1'000'000)}); }), Code::run_memory_limit);
  EXPECT_EQ(list(c.run(vector<Value>{ramp(3)})[0]), (vector<float>{0, 3, 6}));
  EXPECT_LE(c.memory_peak(), 100'000u);
}

TEST(Runtime, OutputShapesBeforeTheRun) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n(), 2}));
  const ValueId s = g.node("Length", {x}, "s", scalar_int());
  const ValueId p = g.node("Positive", {x}, "p", f32({Dim::unknown()}));
  g.graph->set_outputs({x, s, p});
  const Engine e = build_toys(*g.graph);
  const NamedShapes shapes = e.output_shapes({{"x", {3, 2}}});
  EXPECT_EQ(shapes.at("x"), (Shape{3, 2}));
  EXPECT_EQ(shapes.at("s"), Shape{});
  EXPECT_FALSE(shapes.contains("p"));
  EXPECT_EQ(e.symbols(), vector<std::string>{"n"});
}

TEST(Runtime, ShapesThatTheDataDecide) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n()}));
  const ValueId p = g.node("Positive", {x}, "p", f32({Dim::unknown()}));
  const ValueId q = g.node("Add", {p, p}, "q", f32({Dim::unknown()}));
  const ValueId r = g.node("Check", {q}, "r", f32({Dim::unknown()}));
  g.graph->set_outputs({r, p});
  Context c = build_toys(*g.graph).create_context();
  for (int round = 0; round < 3; ++round) {
    const auto out = c.run(vector<Value>{floats({4}, {-1, 2, -3, 4})});
    EXPECT_EQ(list(out[0]), (vector<float>{4, 8}));
    EXPECT_EQ(list(out[1]), (vector<float>{2, 4}));
    const auto empty = c.run(vector<Value>{floats({2}, {-1, -2})});
    EXPECT_EQ(empty[0].tensor().shape(), Shape{0});
  }
  const uint64_t settled = c.memory_in_use();
  for (int round = 0; round < 50; ++round) c.run(vector<Value>{floats({4}, {-1, 2, -3, 4})});
  EXPECT_EQ(c.memory_in_use(), settled);
}

TEST(Runtime, AShapeThatIsComputedFromShapesIsPlanned) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n(), 3}));
  const ValueId len = g.node("Length", {x}, "len", scalar_int());
  const ValueId one = g.constant("one", ints({1}));
  const ValueId shape =
      g.node("Reshape", {len, one}, "shape", ValueType::tensor(DataType::int64, SymShape{1}));
  const ValueId flat = g.node("Reshape", {x, shape}, "flat", f32({n() * 3}));
  g.graph->set_outputs({g.node("Add", {flat, flat}, "y", f32({n() * 3}))});
  const Engine e = build_toys(*g.graph);
  Context c = e.create_context();
  EXPECT_EQ(list(c.run(vector<Value>{floats({1, 3}, {1, 2, 3})})[0]), (vector<float>{2, 4, 6}));
}

TEST(Runtime, AliasesShareMemory) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n()}));
  const ValueId shape = g.constant("shape", ints({2, 2}));
  const ValueId a = g.node("Check", {x}, "a", f32({n()}));
  const ValueId b = g.node("Reshape", {a, shape}, "b", f32({2, 2}));
  const ValueId c1 = g.node("Reshape", {b, shape}, "c", f32({2, 2}));
  g.graph->set_outputs({g.node("Add", {c1, b}, "y", f32({2, 2}))});
  const Engine e = build_toys(*g.graph, {.taps = {"a", "b", "c"}});
  Context c = e.create_context();
  std::map<std::string, const void*> at;
  c.on_tap([&](std::string_view name, const Value& v) { at[std::string(name)] = v.tensor().data(); });
  EXPECT_EQ(list(c.run(vector<Value>{floats({4}, {1, 2, 3, 4})})[0]), (vector<float>{2, 4, 6, 8}));
  EXPECT_EQ(at.size(), 3u);
  EXPECT_EQ(at["a"], at["b"]);
  EXPECT_EQ(at["a"], at["c"]);
  EXPECT_EQ(e.memory({{"x", {4}}}).activations, 64u);
}

TEST(Runtime, InputsAreChecked) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n(), 2})), y = g.input("y", f32({n()}));
  g.graph->set_outputs({g.node("Check", {x}, "a", f32({n(), 2})), g.node("Check", {y}, "b", f32({n()}))});
  Context c = build_toys(*g.graph).create_context();
  const Tensor good_x(DataType::float32, {3, 2}), good_y(DataType::float32, {3});
  std::memset(const_cast<void*>(good_x.data()), 0, good_x.bytes());
  std::memset(const_cast<void*>(good_y.data()), 0, good_y.bytes());
  const auto run = [&](NamedValues in) { return code_of([&] { c.run(in); }); };
  EXPECT_EQ(run({{"x", good_x}, {"y", good_y}}), Code::none);
  EXPECT_EQ(run({{"x", good_x}, {"z", good_y}}), Code::run_bad_input);
  EXPECT_EQ(run({{"x", good_x}}), Code::run_missing_input);
  EXPECT_EQ(run({{"x", Tensor(DataType::float64, {3, 2})}, {"y", good_y}}), Code::run_bad_input);
  EXPECT_EQ(run({{"x", Value(Sequence{})}, {"y", good_y}}), Code::run_bad_input);
  EXPECT_EQ(run({{"x", Tensor(DataType::float32, {3, 3})}, {"y", good_y}}), Code::run_bad_shape);
  EXPECT_EQ(run({{"x", Tensor(DataType::float32, {3})}, {"y", good_y}}), Code::run_bad_shape);
  EXPECT_EQ(run({{"x", Tensor(DataType::float32, {4, 2})}, {"y", good_y}}),
            Code::run_bad_shape);  // n differs
  alignas(64) static char raw[64];
  EXPECT_EQ(run({{"x", good_x}, {"y", Tensor::view(DataType::float32, {3}, raw + 1)}}), Code::run_bad_input);
  EXPECT_EQ(run({{"x", good_x}, {"y", Tensor::view(DataType::float32, {3}, nullptr)}}), Code::run_bad_input);
  EXPECT_EQ(code_of([&] { c.bind_output("a", Tensor(DataType::int8, {3, 2})); }), Code::run_bad_input);
  c.bind_input("x", good_x);
  c.bind_input("y", good_y);
  c.bind_output("a", Tensor(DataType::float32, {2, 2}));
  EXPECT_EQ(code_of([&] { c.run(); }), Code::run_bad_shape);
  EXPECT_EQ(run({{"x", good_x}, {"y", good_y}}), Code::none);
}

TEST(Runtime, SequencesHoldWhatIsDeclared) {
  GraphMaker g;
  const ValueId s = g.input("s", ValueType::sequence(f32({Dim::unknown()})));
  g.graph->set_outputs({g.node("First", {s}, "f", f32({Dim::unknown()}))});
  Context c = build_toys(*g.graph).create_context();
  Sequence good, wrong, hollow;
  good.items->push_back(floats({1}, {5}));
  wrong.items->push_back(Tensor(DataType::float64, {1}));
  hollow.items->push_back(Value());
  EXPECT_EQ(list(c.run({{"s", good}}).at("f")), vector<float>{5});
  EXPECT_EQ(code_of([&] { c.run({{"s", wrong}}); }), Code::run_bad_input);
  EXPECT_EQ(code_of([&] { c.run({{"s", hollow}}); }), Code::run_bad_input);
}

TEST(Runtime, AnOutputMayOverlapAnInput) {
  Context c = adder().create_context();
  Tensor x = floats({3}, {1, 2, 3});
  c.bind_input("x", x);
  c.bind_output("y", x);
  c.run();
  EXPECT_EQ(list(x), (vector<float>{3, 6, 9}));
}

TEST(Runtime, InputsWithDefaultsMayBeLeftOut) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({2})), k = g.input("k", f32({2}));
  g.graph->value(k).constant = std::make_shared<const Value>(floats({2}, {10, 20}));
  g.graph->set_outputs({g.node("Add", {x, k}, "y", f32({2}))});
  const Engine e = build_toys(*g.graph);
  EXPECT_TRUE(e.inputs()[1].optional);
  Context c = e.create_context();
  EXPECT_EQ(list(c.run({{"x", floats({2}, {1, 2})}}).at("y")), (vector<float>{11, 22}));
  EXPECT_EQ(list(c.run({{"x", floats({2}, {1, 2})}, {"k", floats({2}, {0, 0})}}).at("y")),
            (vector<float>{1, 2}));
}

TEST(Runtime, AFailedRunLeavesTheContextUsable) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({n()}));
  const ValueId p = g.node("Positive", {g.node("Add", {x, x}, "d", f32({n()}))}, "p", f32({Dim::unknown()}));
  g.graph->set_outputs({g.node("Check", {x}, "checked", f32({n()})), p});
  Context c = build_toys(*g.graph).create_context();
  for (int round = 0; round < 3; ++round) {
    try {
      c.run(vector<Value>{floats({2}, {1, -1})});
      FAIL();
    } catch (const Error& e) {
      EXPECT_EQ(e.code(), Code::run_bad_value);
      EXPECT_EQ(e.diagnostic().node, "checked");
      EXPECT_EQ(e.diagnostic().op, "Check");
      EXPECT_EQ(e.diagnostic().stage, "run");
    }
    EXPECT_EQ(list(c.run(vector<Value>{floats({2}, {1, 2})})[1]), (vector<float>{2, 4}));
  }
}

TEST(Runtime, StopsWithinFiftyMilliseconds) {
  GraphMaker g;
  const ValueId stop = g.input("stop", f32({n()}));
  g.graph->set_outputs({g.node("Spin", {stop}, "y", f32({n()}))});
  Context c = build_toys(*g.graph).create_context();
  RunControl control;
  control.set_deadline(std::chrono::steady_clock::now() + 30ms);
  auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(code_of([&] { c.run(vector<Value>{floats({1}, {1})}, &control); }), Code::deadline);
  EXPECT_LT(std::chrono::steady_clock::now() - start, 80ms);
  control.clear_deadline();
  std::chrono::steady_clock::time_point asked;
  std::thread other([&] {
    std::this_thread::sleep_for(20ms);
    asked = std::chrono::steady_clock::now();
    control.cancel();
  });
  EXPECT_EQ(code_of([&] { c.run(vector<Value>{floats({1}, {1})}, &control); }), Code::cancelled);
  const auto end = std::chrono::steady_clock::now();
  other.join();
  EXPECT_LT(end - asked, 50ms);
}

/// y = x added n times, with a branch inside: If within Loop, both with captures.
std::shared_ptr<Graph> loop_graph() {
  GraphMaker g;
  const ValueId count = g.input("count", scalar_int());
  const ValueId x = g.input("x", f32({n()}));
  const ValueId flag = g.input("flag", ValueType::tensor(DataType::boolean, SymShape{}));
  GraphMaker body(g.graph.get());
  body.input("i", scalar_int());
  const ValueId a = body.input("a", f32({n()})), b = body.input("b", f32({n()}));
  GraphMaker then_branch(body.graph.get()), else_branch(body.graph.get());
  then_branch.graph->set_outputs({then_branch.node(
      "Add", {then_branch.graph->capture(a), then_branch.graph->capture(body.graph->capture(x))}, "t",
      f32({n()}))});
  else_branch.graph->set_outputs({else_branch.graph->capture(b)});
  const ValueId chosen = body.node("Choose", {body.graph->capture(flag)}, "chosen", f32({n()}),
                                   {{"then_branch", then_branch.graph}, {"else_branch", else_branch.graph}});
  body.graph->set_outputs({chosen, b});  // b passes through
  Node node;
  node.name = node.op = "Repeat";
  node.domain = "toy";
  node.inputs = {count, x, x};
  node.outputs = {g.graph->add_value("y", f32({n()})), g.graph->add_value("z", f32({n()}))};
  node.bodies = {{"body", body.graph}};
  g.graph->set_outputs(node.outputs);
  g.graph->add_node(node);
  return g.graph;
}

TEST(Runtime, ControlFlowReusesItsFrames) {
  const Engine e = build_toys(*loop_graph());
  Context c = e.create_context();
  const auto run = [&](int64_t count, bool flag) {
    return c.run({{"count", Tensor::scalar<int64_t>(count)},
                  {"x", floats({2}, {1, 2})},
                  {"flag", Tensor::scalar<bool>(flag)}});
  };
  EXPECT_EQ(list(run(4, true).at("y")), (vector<float>{5, 10}));
  EXPECT_EQ(list(run(4, true).at("z")), (vector<float>{1, 2}));
  EXPECT_EQ(list(run(3, false).at("y")), (vector<float>{1, 2}));
  EXPECT_EQ(list(run(0, true).at("y")), (vector<float>{1, 2}));

  const auto counted = [&](int64_t iterations) {
    const long before = allocations;
    run(iterations, true);
    return allocations - before;
  };
  counted(100);
  EXPECT_EQ(counted(10), counted(1000));
}

TEST(Runtime, SequencesFlow) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({1})), y = g.input("y", f32({n()}));
  const ValueId s = g.node("Collect", {x, g.node("Add", {y, y}, "yy", f32({n()}))}, "s",
                           ValueType::sequence(f32({Dim::unknown()})));
  g.graph->set_outputs({s, g.node("First", {s}, "f", f32({1}))});
  const Engine e = build_toys(*g.graph);
  EXPECT_EQ(e.outputs()[0].type, "seq(tensor(float))");
  Context c = e.create_context();
  const auto first = c.run({{"x", floats({1}, {7})}, {"y", floats({2}, {8, 9})}});
  c.run({{"x", floats({1}, {0})}, {"y", floats({2}, {0, 0})}});
  EXPECT_EQ(list(first.at("s").sequence().items->at(1)), (vector<float>{16, 18}));
  EXPECT_EQ(list(first.at("f")), vector<float>{7});
}

TEST(Runtime, ManyContextsShareAnEngine) {
  const Engine e = adder({.threads = 2});
  vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      Context c = e.create_context();
      for (int round = 0; round < 100; ++round) {
        const int64_t size = 1 + (round * 37 + t * 1000) % 5000;
        const auto y = list(c.run(vector<Value>{ramp(size, static_cast<float>(t))})[0]);
        for (size_t i = 0; i < y.size(); ++i)
          wrong += y[i] != 3 * (static_cast<float>(t) + static_cast<float>(i));
      }
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Runtime, ThreadsDoNotChangeBits) {
  const Tensor x = ramp(100'000, 0.1f);
  vector<vector<float>> results;
  for (int threads : {1, 2, 3}) {
    Context c = adder({.threads = threads}).create_context();
    results.push_back(list(c.run(vector<Value>{x})[0]));
  }
  EXPECT_EQ(std::memcmp(results[0].data(), results[1].data(), results[0].size() * 4), 0);
  EXPECT_EQ(std::memcmp(results[0].data(), results[2].data(), results[0].size() * 4), 0);
}

TEST(Runtime, TapsSeeInnerValuesAndChangeNothing) {
  const Engine plain = adder(), tapped = adder({.taps = {"?", "nothing*"}});
  Context a = plain.create_context(), b = tapped.create_context();
  std::map<std::string, vector<float>> seen;
  b.on_tap([&](std::string_view name, const Value& v) { seen[std::string(name)] = list(v); });
  const Tensor x = floats({2}, {1, 2});
  EXPECT_EQ(list(a.run(vector<Value>{x})[0]), list(b.run(vector<Value>{x})[0]));
  EXPECT_EQ(seen, (std::map<std::string, vector<float>>{
                      {"x", {1, 2}}, {"a", {2, 4}}, {"b", {2, 4}}, {"c", {2, 4}}, {"y", {3, 6}}}));
}

TEST(Runtime, FlushesDenormalsOnlyWhenAsked) {
  const Tensor tiny = floats({1}, {1e-39f});
  EXPECT_GT(list(adder().create_context().run(vector<Value>{tiny})[0])[0], 0);
  EXPECT_EQ(list(adder({.flush_denormals = true}).create_context().run(vector<Value>{tiny})[0])[0], 0);
  volatile float here = 1e-39f;
  EXPECT_GT(here * 2, 0);  // the caller's own state is as it was
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
