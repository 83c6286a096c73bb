// Tests the information of engines about their steps.
#include "lathe/inspector.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "support/error_code.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using Json = nlohmann::json;
using Form = LayerInformationFormat;

constexpr std::string_view text =
    R"((float[N,6] x, bool go) => (float[N,4] y, float[N,4] z) <float[6,4] w = {}, float[4] b = {}> {
    [product] p = MatMul(x, w)
    [shift] s = Add(p, b)
    [clip] y = Relu(s)
    [choose] z = If(go) <then_branch = one () => (float[N,4] t) { [inside] t = Exp(y) },
                         else_branch = other () => (float[N,4] u) { u = Identity(y) }>
  })";

TEST(EngineInspector, TellsWhatAStepIs) {
  const Engine e = Engine::build(model_of(text), {.shapes = {}});
  const EngineInspector i = e.inspect({{"x", {5, 6}}});
  ASSERT_EQ(i.num_layers(), e.steps().size());
  const LayerInformation& product = i.layers()[0];
  EXPECT_EQ(product.op, "Gemm");  // the sum is part of it
  EXPECT_EQ(product.fused, std::vector<std::string>{"Relu"});
  EXPECT_EQ(product.origin, (std::vector<std::string>{"shift", "product", "clip"}));
  EXPECT_TRUE(product.known);
  EXPECT_EQ(product.flops, 2 * 5 * 6 * 4);
  EXPECT_GE(product.bytes, 4 * (5 * 6 + 6 * 4 + 4 + 5 * 4));
  EXPECT_NE(product.shapes.find("-> float32[5,4]"), std::string::npos) << product.shapes;
  EXPECT_TRUE(product.tactic.starts_with(product.kernel));
  size_t in_bodies = 0;
  for (const LayerInformation& l : i.layers()) {
    if (l.graph == 0) continue;
    EXPECT_TRUE(l.known) << l.node;
    if (l.node != "inside") continue;
    ++in_bodies;
    EXPECT_EQ(l.flops, 5 * 4);  // of what it takes from around it
    EXPECT_EQ(l.bytes, 2 * 4 * 5 * 4);
  }
  EXPECT_EQ(in_bodies, 1u);
  const std::string line = i.get_layer_information(0);
  for (const char* word : {"Gemm + Relu by ", "of shift, product, clip", " FLOPs", "bytes"})
    EXPECT_NE(line.find(word), std::string::npos) << line;
}

TEST(EngineInspector, TellsOfBodiesWithinBodiesWhatOneExecutionDoes) {
  const Engine e =
      Engine::build(model_of(R"((float[N,3] x, int64 trips, bool go) => (float[N,3] y, float[M,3] grown) {
    [rounds] y, grown = Loop(trips, go, x, x) <body = body (int64 i, bool c, float[N,3] a, float[K,3] longer)
        => (bool more, float[N,3] b, float[L,3] next) {
      [deep] b = If(c) <then_branch = one () => (float[N,3] t) { [inside] t = Exp(a) },
                        else_branch = other () => (float[N,3] u) { [other] u = Sqrt(a) }>
      more = Identity(c)
      [grows] next = Concat(longer, longer) <axis = 0>
    }>
  })"));
  std::map<std::string, const LayerInformation*> by_node;
  const EngineInspector i = e.inspect({{"x", {4, 3}}});
  for (const LayerInformation& l : i.layers()) by_node[l.node] = &l;
  for (const char* node : {"inside", "other"}) {
    ASSERT_TRUE(by_node.contains(node)) << node;
    EXPECT_GT(by_node[node]->graph, 1u);
    EXPECT_TRUE(by_node[node]->known) << node;
    EXPECT_EQ(by_node[node]->flops, 4 * 3) << node;
  }
  EXPECT_FALSE(by_node.at("grows")->known);  // twice as long each time
}

TEST(EngineInspector, SaysWhyAFusionDidNotHappen) {
  const Engine e = Engine::build(model_of(R"((float[4] x) => (float[4] a, float[4] b) {
    a = Exp(x)
    b = Neg(a)
  })"));
  bool said = false;
  for (const LayerInformation& l : e.inspect().layers())
    for (const std::string& why : l.unfused) said |= why.find("its result is an output") != std::string::npos;
  EXPECT_TRUE(said);
  EXPECT_NE(e.inspect().get_engine_information().find("not fused: Exp (a): its result is an output"),
            std::string::npos);
}

TEST(EngineInspector, IsJson) {
  const Engine e = Engine::build(model_of(text), {.refit = true});
  const EngineInspector i(e, {{"x", {2, 6}}});
  const Json all = Json::parse(i.get_engine_information(Form::json));
  EXPECT_EQ(all["input_shapes"]["x"], Json({2, 6}));
  EXPECT_EQ(all["refittable"], true);
  EXPECT_EQ(all["isa"], e.target().isa);
  ASSERT_EQ(all["layers"].size(), i.num_layers());
  for (size_t k = 0; k < i.num_layers(); ++k) {
    EXPECT_EQ(all["layers"][k], Json::parse(i.get_layer_information(k, Form::json)));
    EXPECT_EQ(all["layers"][k].contains("flops"), i.layers()[k].known);
    for (const char* member :
         {"node", "op", "kernel", "tactic", "backend", "origin", "fused", "not_fused", "refusals"})
      EXPECT_TRUE(all["layers"][k].contains(member)) << member;
  }
}

TEST(EngineInspector, FillsInShapes) {
  const Engine e = Engine::build(model_of(text), {.profiles = {{"p", {{"x", {{1, 6}, {7, 6}, {9, 6}}}}}}});
  EXPECT_EQ(e.inspect().input_shapes().at("x"), (Shape{7, 6}));  // what kernels were chosen by
  EXPECT_EQ(code_of([&] { (void)e.inspect({{"x", {2, 5}}}); }), Code::run_bad_shape);
  EXPECT_EQ(code_of([&] { (void)e.inspect({{"x", {10, 6}}}); }), Code::run_bad_shape);
  EXPECT_EQ(code_of([&] { (void)e.inspect({{"q", {2}}}); }), Code::run_bad_input);
  EXPECT_EQ(code_of([&] { (void)e.inspect().get_layer_information(99); }), Code::bad_argument);
}

TEST(EngineInspector, TellsOfPlansToo) {
  const Engine e = Engine::build(model_of(text));
  EXPECT_EQ(Engine::deserialize(e.serialize()).inspect({{"x", {3, 6}}}).get_engine_information(Form::json),
            e.inspect({{"x", {3, 6}}}).get_engine_information(Form::json));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
