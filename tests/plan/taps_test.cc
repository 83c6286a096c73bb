// Tests taps: inner values of the graph and of bodies, also those that folding removed.
#include <gtest/gtest.h>

#include <cstring>
#include <map>

#include "lathe/lathe.h"
#include "support/model_builder.h"
#include "support/shared_data.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace test;
using Seen = std::map<std::string, std::vector<std::vector<float>>>;

std::vector<float> list(const Value& v) {
  return {v.tensor().as<float>().begin(), v.tensor().as<float>().end()};
}

Seen tapped(const onnx::Model& model, const std::vector<std::string>& patterns,
            const std::vector<Value>& inputs, bool through_a_file = false) {
  Engine e = Engine::build(model, {.taps = patterns});
  if (through_a_file) {
    const auto file =
        std::filesystem::path(::testing::TempDir()) / ("taps" + std::to_string(getpid()) + ".lathe");
    e.save(file);
    e = Engine::load(file);
    std::filesystem::remove(file);
  }
  Context c = e.create_context();
  Seen seen;
  c.on_tap([&](std::string_view name, const Value& v) {
    if (v.tensor().type() == DataType::float32) seen[std::string(name)].push_back(list(v));
  });
  const std::vector<Value> with = c.run(inputs), without = Engine::build(model).create_context().run(inputs);
  for (size_t i = 0; i < with.size(); ++i) EXPECT_EQ(difference(with[i], without[i], 0, 0), "");
  return seen;
}

/// s ← (s + k) · 2 with k = c1 + c2, three times; if positive, what it is, else its negative.
onnx::Model nested() {
  ModelBuilder b(21);
  b.input("x", "float[1]").input("trips", "int64[]").output("y");
  b.initializer(float_tensor("c1", {1}, {1})).initializer(float_tensor("c2", {1}, {2}));
  b.initializer(float_tensor("zero", {}, {0}));
  onnx::GraphProto yes = make_body({}, {make_node("Identity", {"s_next"}, {"same"})}, {{"same", "float[1]"}});
  onnx::GraphProto no =
      make_body({}, {make_node("Neg", {"s_next"}, {"minus"}), make_node("Exp", {"minus"}, {"unused"})},
                {{"minus", "float[1]"}});
  b.node("Loop", {"trips", "", "x"}, {"y"},
         {graph_attribute(
             "body",
             make_body({{"i", "int64[]"}, {"go", "bool[]"}, {"s", "float[1]"}},
                       {make_node("Add", {"c1", "c2"}, {"k"}), make_node("Add", {"k", "k"}, {"k2"}),
                        make_node("Add", {"s", "k2"}, {"s_next"}),
                        make_node("ReduceSum", {"s_next"}, {"sum"}, {int_attribute("keepdims", 0)}),
                        make_node("Greater", {"sum", "zero"}, {"positive"}),
                        make_node("If", {"positive"}, {"chosen"},
                                  {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)}),
                        make_node("Identity", {"go"}, {"go_on"})},
                       {{"go_on", "bool[]"}, {"chosen", "float[1]"}}))});
  return std::move(b.model);
}
std::vector<Value> start(float x) {
  return {Tensor::from<float>({1}, std::vector<float>{x}), Tensor::scalar<int64_t>(3)};
}

TEST(Taps, SeeEveryIterationOfABody) {
  for (bool through_a_file : {false, true}) {
    const Seen seen = tapped(nested(), {"s", "s_next", "y"}, start(0), through_a_file);
    EXPECT_EQ(seen, (Seen{{"s", {{0}, {6}, {12}}}, {"s_next", {{6}, {12}, {18}}}, {"y", {{18}}}}));
  }
}

TEST(Taps, SeeTheBranchThatRuns) {
  EXPECT_EQ(tapped(nested(), {"same", "minus", "unused"}, start(-20)),
            (Seen{{"minus", {{14}}}, {"unused", {{std::exp(14.0f)}}}, {"same", {{20}, {26}}}}));
}

TEST(Taps, SeeWhatWasFolded) {
  EXPECT_EQ(tapped(nested(), {"k", "k2", "c1"}, start(0)),
            (Seen{{"c1", {{1}}}, {"k", {{3}, {3}, {3}}}, {"k2", {{6}, {6}, {6}}}}));
}

TEST(Taps, SeeTheInsideOfANodeThatNobodyReads) {
  ModelBuilder b(21);
  b.input("x", "float[1]").input("c", "bool[]").output("y");
  b.node("Neg", {"x"}, {"y"});
  b.node(
      "If", {"c"}, {"dead"},
      {graph_attribute("then_branch", make_body({}, {make_node("Exp", {"x"}, {"e"})}, {{"e", "float[1]"}})),
       graph_attribute("else_branch", make_body({}, {make_node("Abs", {"x"}, {"a"})}, {{"a", "float[1]"}}))});
  const Seen seen =
      tapped(b.model, {"a"}, {Tensor::from<float>({1}, std::vector<float>{-2}), Tensor::scalar(false)});
  EXPECT_EQ(seen, (Seen{{"a", {{2}}}}));
}

TEST(Taps, LeaveTheOutputsOfRealModelsAsTheyAre) {
  LATHE_NEEDS_SHARED(shared);
  size_t inner = 0;
  for (const std::string name : {"ort_fp16_loop", "ort_issue_4031_if_in_loop", "ort_lstm_loop", "nv_loop",
                                 "silero_vad_v4", "ort_gpt2_no_past"})
    for (ConformanceCase& c : model_cases(shared, false)) {
      if (c.name != name) continue;
      const Engine plain = Engine::build(c.model);
      run_case(c, {.taps = {"*"}}, [&](Engine& e, const std::vector<Value>& inputs) {
        Context a = e.create_context(), b = plain.create_context();
        a.on_tap([&](std::string_view, const Value&) { ++inner; });
        const auto with = a.run(inputs), without = b.run(inputs);
        for (size_t i = 0; i < with.size(); ++i)
          EXPECT_EQ(difference(with[i], without[i], 0, 0), "") << c.name;
        return with;
      });
    }
  EXPECT_GT(inner, 1000u);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
