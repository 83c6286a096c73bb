// If, Loop, Scan and SequenceMap: types through their bodies, how often they run, what piles up.
#include <gtest/gtest.h>

#include <chrono>

#include "support/error_code.h"
#include "support/graph_builder.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using Floats = std::vector<float>;
using Ints = std::vector<int64_t>;

/// x ← x + 1 while x < limit; every x is a scan output too.
struct CountingLoop {
  GraphBuilder g;
  ValueId trips, condition, start;
  std::vector<ValueId> out;
  explicit CountingLoop(float limit, const std::string& state = "float[2]") {
    trips = g.input("trips", "int64[]");
    condition = g.input("condition", "bool[]");
    start = g.input("start", state);
    GraphBuilder body(g.graph.get());
    body.input("i", "int64[]");
    body.input("c", "bool[]");
    const ValueId x = body.input("x", "float");
    const ValueId next = body.node("Add", {x, body.constant(Tensor::scalar(1.0f))});
    const ValueId most = body.node("ReduceMax", {next}, attributes({{"keepdims", int64_t{0}}}));
    const ValueId again = body.node("Less", {most, body.constant(Tensor::scalar(limit))});
    body.graph->set_outputs({again, next, next});
    out = g.nodes("Loop", {trips, condition, start}, 2, {}, {{"body", body.graph}});
  }
  std::vector<Value> run(int64_t n, bool c, const EvalOptions& options = {}) {
    return g.run({Tensor::scalar(n), Tensor::scalar(c), Tensor::from({2}, Floats{0, 10})}, out, options);
  }
};

TEST(Loop, CarriesStatesAndPilesUpScanOutputs) {
  CountingLoop loop(100);
  const auto y = loop.run(3, true);
  EXPECT_EQ(elements<float>(y[0]), (Floats{3, 13}));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{3, 2}));
  EXPECT_EQ(elements<float>(y[1]), (Floats{1, 11, 2, 12, 3, 13}));
  EXPECT_EQ(loop.g.type(loop.out[0]), "float[2]");
}

TEST(Loop, EndsByItsConditionHoweverManyTripsAreAllowed) {
  const auto y = CountingLoop(13).run(INT64_MAX, true);
  EXPECT_EQ(elements<float>(y[0]), (Floats{3, 13}));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{3, 2}));
}

TEST(Loop, ThatNeverRunsGivesItsInitialStatesAndEmptyPiles) {
  for (const auto& [trips, condition] :
       {std::pair{int64_t{0}, true}, {int64_t{-1}, true}, {INT64_MIN, true}, {int64_t{5}, false}}) {
    const auto y = CountingLoop(100).run(trips, condition);
    EXPECT_EQ(elements<float>(y[0]), (Floats{0, 10}));
    EXPECT_EQ(y[1].tensor().shape(), (Shape{0, 2}));
    EXPECT_EQ(y[1].tensor().type(), DataType::float32);
  }
}

TEST(Loop, ThatNeverEndsObeysADeadline) {
  RunControl control;
  control.set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
  GraphBuilder g;
  GraphBuilder body(g.graph.get());
  body.input("i", "int64[]");
  const ValueId c = body.input("c", "bool[]");
  const ValueId x = body.input("x", "float[]");
  body.graph->set_outputs({body.node("Identity", {c}), body.node("Identity", {x})});
  const ValueId y =
      g.node("Loop", {no_id, no_id, g.constant(Tensor::scalar(1.0f))}, {}, {{"body", body.graph}});
  EXPECT_EQ(code_of([&] { g.run({}, {y}, {.control = &control}); }), Code::deadline);
}

TEST(Loop, WidensTheTypeOfAStateThatGrows) {
  GraphBuilder g;
  const ValueId start = g.input("start", "float[N]");
  GraphBuilder body(g.graph.get());
  body.input("i", "int64[]");
  const ValueId c = body.input("c", "bool[]");
  const ValueId x = body.input("x", "float");
  const ValueId longer =
      body.node("Concat", {x, body.graph->capture(start)}, attributes({{"axis", int64_t{0}}}));
  body.graph->set_outputs({body.node("Identity", {c}), longer});
  const ValueId y =
      g.node("Loop", {g.constant(Tensor::scalar<int64_t>(2)), no_id, start}, {}, {{"body", body.graph}});
  const auto out = g.run({Tensor::from({2}, Floats{1, 2})}, {y});
  EXPECT_EQ(elements<float>(out[0]), (Floats{1, 2, 1, 2, 1, 2}));
  const auto& shape = g.graph->value(y).type.shape;
  ASSERT_TRUE(shape && shape->size() == 1);
  EXPECT_TRUE((*shape)[0].has_unknown());
}

TEST(Loop, KnowsHowManyScanOutputsThereAreWhereOnlyTheTripCountEndsIt) {
  GraphBuilder g;
  const ValueId x = g.input("x", "float[N,3]");
  const ValueId n = g.node("Gather", {g.node("Shape", {x}), g.constant(Tensor::scalar<int64_t>(0))});
  GraphBuilder body(g.graph.get());
  const ValueId i = body.input("i", "int64[]");
  const ValueId c = body.input("c", "bool[]");
  body.graph->set_outputs({body.node("Identity", {c}), body.node("Gather", {body.graph->capture(x), i})});
  const ValueId rows = g.node("Loop", {n, g.constant(Tensor::scalar(true))}, {}, {{"body", body.graph}});
  const auto y = g.run({Tensor::from({2, 3}, Floats{1, 2, 3, 4, 5, 6})}, {rows});
  EXPECT_EQ(g.type(rows), "float[N,3]");
  EXPECT_EQ(elements<float>(y[0]), (Floats{1, 2, 3, 4, 5, 6}));
}

TEST(Loop, RefusesAStateThatChangesItsElementType) {
  GraphBuilder g;
  GraphBuilder body(g.graph.get());
  const ValueId i = body.input("i", "int64[]");
  const ValueId c = body.input("c", "bool[]");
  body.input("x", "float[]");
  body.graph->set_outputs({body.node("Identity", {c}), body.node("Identity", {i})});
  const ValueId y =
      g.node("Loop", {g.constant(Tensor::scalar<int64_t>(2)), no_id, g.constant(Tensor::scalar(1.0f))}, {},
             {{"body", body.graph}});
  EXPECT_EQ(code_of([&] { g.run({}, {y}); }), Code::node_bad_type);
}

TEST(Loop, KeepsItsCountersApartWhenABodyHandsThemOn) {
  GraphBuilder g;
  GraphBuilder body(g.graph.get());
  const ValueId i = body.input("i", "int64[]");
  const ValueId c = body.input("c", "bool[]");
  const ValueId last = body.input("last", "int64[]");
  body.graph->set_outputs({c, i, last});  // straight from the inputs
  const auto y = g.nodes(
      "Loop", {g.constant(Tensor::scalar<int64_t>(4)), no_id, g.constant(Tensor::scalar<int64_t>(-1))}, 2, {},
      {{"body", body.graph}});
  const auto out = g.run({}, y);
  EXPECT_EQ(elements<int64_t>(out[0]), (Ints{3}));
  EXPECT_EQ(elements<int64_t>(out[1]), (Ints{-1, 0, 1, 2}));
}

/// If over two constants of these lengths.
std::pair<GraphBuilder, ValueId> branches(int64_t then_size, int64_t else_size) {
  GraphBuilder g;
  const ValueId c = g.input("c", "bool[]");
  GraphBuilder a(g.graph.get()), b(g.graph.get());
  a.graph->set_outputs({a.node("ConstantOfShape", {a.ints({then_size})})});
  b.graph->set_outputs({b.node("ConstantOfShape", {b.ints({else_size})})});
  const ValueId y = g.node("If", {c}, {}, {{"then_branch", a.graph}, {"else_branch", b.graph}});
  return {g, y};
}

TEST(If, JoinsTheTypesOfItsBranches) {
  auto [g, y] = branches(2, 3);
  for (bool c : {true, false}) EXPECT_EQ(g.run({Tensor::scalar(c)}, {y})[0].tensor().size(), c ? 2 : 3);
  const auto& shape = g.graph->value(y).type.shape;
  ASSERT_TRUE(shape && shape->size() == 1);
  EXPECT_TRUE((*shape)[0].has_unknown());
  auto [same, z] = branches(2, 2);
  same.infer();
  EXPECT_EQ(same.type(z), "float[2]");
}

TEST(If, RefusesBranchesOfAnotherCountOrType) {
  for (const bool count : {true, false}) {
    GraphBuilder g;
    const ValueId c = g.input("c", "bool[]");
    GraphBuilder a(g.graph.get()), b(g.graph.get());
    const ValueId x = a.node("ConstantOfShape", {a.ints({2})});
    a.graph->set_outputs(count ? std::vector<ValueId>{x, x} : std::vector<ValueId>{x});
    b.graph->set_outputs({b.node("Identity", {b.ints({1, 2})})});
    const ValueId y = g.node("If", {c}, {}, {{"then_branch", a.graph}, {"else_branch", b.graph}});
    EXPECT_EQ(code_of([&] { g.run({Tensor::scalar(true)}, {y}); }),
              count ? Code::node_bad_arity : Code::node_bad_type);
  }
}

/// Running sums along an axis, forwards or backwards.
std::vector<Value> running_sum(const Tensor& x, int64_t axis, bool backwards) {
  GraphBuilder g;
  const std::string shape = "[" + std::to_string(x.dim(0)) + "," + std::to_string(x.dim(1)) + "]";
  const ValueId in = g.input("x", "float" + shape);
  const ValueId zero = g.constant(Tensor::from({2}, Floats{0, 0}));
  GraphBuilder body(g.graph.get());
  const ValueId sum = body.input("sum", "float"), each = body.input("each", "float");
  const ValueId next = body.node("Add", {sum, each});
  body.graph->set_outputs({next, body.node("Identity", {next})});
  const Ints axes{axis}, directions{backwards};
  const auto out = g.nodes("Scan", {zero, in}, 2,
                           attributes({{"num_scan_inputs", int64_t{1}},
                                       {"scan_input_axes", axes},
                                       {"scan_input_directions", directions},
                                       {"scan_output_axes", axes},
                                       {"scan_output_directions", directions}}),
                           {{"body", body.graph}});
  auto y = g.run({x}, out);
  EXPECT_EQ(g.type(out[1]), "float" + shape);
  return y;
}

TEST(Scan, RunsAlongAnyAxisInBothDirections) {
  const Tensor rows = Tensor::from({3, 2}, Floats{1, 2, 3, 4, 5, 6}),
               columns = Tensor::from({2, 3}, Floats{1, 3, 5, 2, 4, 6});
  EXPECT_EQ(elements<float>(running_sum(rows, 0, false)[1]), (Floats{1, 2, 4, 6, 9, 12}));
  EXPECT_EQ(elements<float>(running_sum(rows, 0, true)[1]), (Floats{9, 12, 8, 10, 5, 6}));
  EXPECT_EQ(elements<float>(running_sum(columns, -1, false)[1]), (Floats{1, 4, 9, 2, 6, 12}));
  EXPECT_EQ(elements<float>(running_sum(columns, 1, false)[0]), (Floats{9, 12}));
}

TEST(Scan, OverNothingGivesItsStatesAndEmptyOutputs) {
  const auto y = running_sum(Tensor(DataType::float32, {0, 2}), 0, false);
  EXPECT_EQ(elements<float>(y[0]), (Floats{0, 0}));
  EXPECT_EQ(y[1].tensor().shape(), (Shape{0, 2}));
}

TEST(Scan, StatesKeepTheirShapes) {
  GraphBuilder g;
  const ValueId zero = g.input("zero", "float[n]"), in = g.input("x", "float[t,m]");
  GraphBuilder body(g.graph.get());
  const ValueId sum = body.input("sum", "float"), each = body.input("each", "float");
  const ValueId next = body.node("Add", {sum, each});
  body.graph->set_outputs({next, body.node("Identity", {next})});
  const auto out =
      g.nodes("Scan", {zero, in}, 2, attributes({{"num_scan_inputs", int64_t{1}}}), {{"body", body.graph}});
  const Tensor rows = Tensor::from({2, 2}, Floats{1, 2, 3, 4});
  EXPECT_EQ(elements<float>(g.run({Tensor::from({2}, Floats{1, 1}), rows}, out)[0]), (Floats{5, 7}));
  EXPECT_EQ(g.type(out[0]), "float[n]");
  EXPECT_EQ(g.type(out[1]), "float[t,broadcast(m, n)]");
  const std::string fault = sentence_of([&] { g.run({Tensor::from({1}, Floats{1}), rows}, out); });
  EXPECT_NE(fault.find("E4002"), std::string::npos) << fault;
  EXPECT_NE(fault.find("state 0 to keep its shape, [1], got [2]"), std::string::npos) << fault;
}

TEST(SequenceMap, RunsItsBodyForEveryElement) {
  GraphBuilder g;
  const ValueId a = g.input("a", "float[2]"), b = g.input("b", "float[1]");
  const ValueId sequence = g.node("SequenceConstruct", {a, b});
  GraphBuilder body(g.graph.get());
  const ValueId each = body.input("each", "float"), whole = body.input("whole", "float");
  body.graph->set_outputs({body.node("Add", {each, whole})});
  const ValueId mapped = g.node("SequenceMap", {sequence, b}, {}, {{"body", body.graph}});
  const ValueId joined = g.node("ConcatFromSequence", {mapped}, attributes({{"axis", int64_t{0}}}));
  const auto y = g.run({Tensor::from({2}, Floats{1, 2}), Tensor::from({1}, Floats{10})}, {joined});
  EXPECT_EQ(elements<float>(y[0]), (Floats{11, 12, 20}));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
