#include "eval/eval.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/error_code.h"
#include "support/toy_ops.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;
using std::vector;

EvalOptions toys() { return {.kernels = &toy_catalog()}; }
using lathe::testing::code_of;

TEST(Eval, RunsNodesInOrderWithConstants) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({2}));
  const ValueId c = g.constant("c", floats({2}, {10, 20}));
  const ValueId s = g.node("Add", {x, c}, "s", f32({2}));
  g.graph->set_outputs({g.node("Add", {s, s}, "y", f32({2}))});
  const auto y = evaluate(*g.graph, vector<Value>{floats({2}, {1, 2})}, toys());
  EXPECT_EQ(list(y.at(0)), (vector<float>{22, 44}));
}

TEST(Eval, SizesOutputsByRuleAndByKernel) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({Dim::symbol("n")}));
  const ValueId p = g.node("Positive", {x}, "p", f32({Dim::unknown()}));
  const ValueId n = g.node("Length", {p}, "n", ValueType::tensor(DataType::int64, SymShape{}));
  g.graph->set_outputs({p, n});
  const auto y = evaluate(*g.graph, vector<Value>{floats({4}, {1, -2, 3, -4})}, toys());
  EXPECT_EQ(list(y[0]), (vector<float>{1, 3}));
  EXPECT_EQ(y[1].tensor().as<int64_t>()[0], 2);
}

TEST(Eval, RunsBodiesWithCaptures) {
  GraphMaker g;
  const ValueId n = g.input("n", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId x = g.input("x", f32({2}));
  GraphMaker body(g.graph.get());
  body.input("i", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId state = body.input("state", f32({2}));
  body.graph->set_outputs({body.node("Add", {state, body.graph->capture(x)}, "next", f32({2}))});
  g.graph->set_outputs({g.node("Repeat", {n, x}, "y", f32({2}), {{"body", body.graph}})});
  const auto y = evaluate(*g.graph, vector<Value>{Tensor::scalar<int64_t>(5), floats({2}, {1, 2})}, toys());
  EXPECT_EQ(list(y[0]), (vector<float>{6, 12}));
  const auto none =
      evaluate(*g.graph, vector<Value>{Tensor::scalar<int64_t>(0), floats({2}, {1, 2})}, toys());
  EXPECT_EQ(list(none[0]), (vector<float>{1, 2}));
}

TEST(Eval, CarriesSequences) {
  GraphMaker g;
  const ValueId x = g.input("x", f32({1})), y = g.input("y", f32({2}));
  const ValueId s = g.node("Collect", {x, y}, "s", ValueType::sequence(f32({Dim::unknown()})));
  g.graph->set_outputs({g.node("First", {s}, "f", f32({1}))});
  EXPECT_EQ(list(evaluate(*g.graph, vector<Value>{floats({1}, {7}), floats({2}, {8, 9})}, toys())[0]),
            vector<float>{7});
}

TEST(Eval, ErrorsNameTheNode) {
  GraphMaker g;
  g.graph->set_outputs({g.node("Check", {g.input("x", f32({1}))}, "checked", f32({1}))});
  try {
    evaluate(*g.graph, vector<Value>{floats({1}, {-1})}, toys());
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::run_bad_value);
    EXPECT_EQ(e.diagnostic().node, "checked");
    EXPECT_EQ(e.diagnostic().op, "Check");
  }
  GraphMaker unknown;
  unknown.graph->set_outputs({unknown.node("Nonsense", {}, "y", f32({1}))});
  EXPECT_EQ(code_of([&] { evaluate(*unknown.graph, {}, toys()); }), Code::build_no_kernel);
}

TEST(Eval, AFoldBombMeetsTheLimit) {
  GraphMaker g;
  const ValueId shape = g.constant("shape", ints({1 << 20, 1 << 20, 1 << 10}));
  g.graph->set_outputs({g.node("Fill", {shape}, "y", f32({Dim::unknown()}))});
  EvalOptions o = toys();
  o.memory_limit = 1 << 20;
  EXPECT_EQ(code_of([&] { evaluate(*g.graph, {}, o); }), Code::run_memory_limit);
  EXPECT_EQ(code_of([&] {
              evaluate_node(*g.graph, 0, vector<Value>{ints({1 << 20, 1 << 20})}, o);
            }),
            Code::run_memory_limit);
}

TEST(Eval, TheLimitCountsWhatIsAliveNotWhatWasMade) {
  GraphMaker g;
  ValueId v = g.input("x", f32({1024}));
  for (int i = 0; i < 50; ++i) v = g.node("Check", {v}, "v" + std::to_string(i), f32({1024}));
  g.graph->set_outputs({v});
  EvalOptions o = toys();
  o.memory_limit = 2 * 4096;
  EXPECT_EQ(evaluate(*g.graph, vector<Value>{floats({1024}, vector<float>(1024))}, o).size(), 1u);
}

TEST(Eval, StopsWhenAsked) {
  GraphMaker g;
  g.graph->set_outputs({g.node("Spin", {g.input("x", f32({1}))}, "y", f32({1}))});
  RunControl control;
  EvalOptions o = toys();
  o.control = &control;
  control.set_deadline(std::chrono::steady_clock::now() + std::chrono::milliseconds(20));
  EXPECT_EQ(code_of([&] { evaluate(*g.graph, vector<Value>{floats({1}, {1})}, o); }), Code::deadline);
  control.clear_deadline();
  std::thread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    control.cancel();
  });
  EXPECT_EQ(code_of([&] { evaluate(*g.graph, vector<Value>{floats({1}, {1})}, o); }), Code::cancelled);
  other.join();
}

TEST(Eval, TellsAListenerEveryValue) {
  GraphMaker g;
  const ValueId a = g.node("Check", {g.input("x", f32({1}))}, "a", f32({1}));
  g.graph->set_outputs({g.node("Add", {a, a}, "b", f32({1}))});
  vector<std::string> names;
  EvalOptions o = toys();
  o.listener = [&](const Graph& graph, const Node& n, size_t i, const Value&) {
    names.push_back(graph.value(n.outputs[i]).name);
  };
  evaluate(*g.graph, vector<Value>{floats({1}, {1})}, o);
  EXPECT_EQ(names, (vector<std::string>{"a", "b"}));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
