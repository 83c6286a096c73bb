// The checker: everything at once, in the words people need.
#include "onnx/checker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lathe/engine.h"
#include "support/model_builder.h"
#include "support/small_catalog.h"

namespace lathe {
namespace {

using namespace test;  // NOLINT: builders read as words

std::vector<std::string> codes(const ModelBuilder& b) {
  std::vector<std::string> r;
  for (const Diagnostic& d : check_model(b.model, small_catalog())) r.push_back(code_name(d.code));
  return r;
}
using Words = std::vector<std::string>;

TEST(Checker, NothingToSayAboutAGoodModel) {
  ModelBuilder b(14);
  b.input("x", "float[N,3]")
      .initializer(float_tensor("w", {3}, {1, 2, 3}))
      .node("Add", {"x", "w"}, {"y"})
      .output("y", "float[N,3]");
  EXPECT_EQ(codes(b), Words{});
}

TEST(Checker, FindsAllAndSaysWhere) {
  ModelBuilder b(14);
  b.input("x", "float[2,3]").input("h", "float[4]").initializer(float_tensor("bad", {3}, {1, 2}));
  b.node("Add", {"x", "h"}, {"a"})
      .node("Softmax", {"x"}, {"s"}, {int_attribute("axes", 1)})
      .node("Add", {"a", "bad"}, {"y"})
      .output("y");
  b.graph().node[0].name = "sum";
  const auto found = check_model(b.model, small_catalog());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].code, Code::tensor_bad_data);
  EXPECT_EQ(found[0].node, "tensor bad");
  EXPECT_EQ(found[1].code, Code::node_bad_shape);
  EXPECT_EQ(found[1].node, "sum");
  EXPECT_EQ(found[1].op, "Add");
  EXPECT_EQ(found[1].node_index, 0);
  EXPECT_EQ(found[1].inputs, (Words{"x: float[2,3]", "h: float[4]"}));
  EXPECT_FALSE(found[1].remedy.empty());
  EXPECT_EQ(found[2].code, Code::node_bad_attribute);
  EXPECT_EQ(found[2].remedy, "did you mean 'axis'?");
  for (const Diagnostic& d : found) EXPECT_EQ(d.stage, "check");
}

TEST(Checker, WarnsOfDenormalsAndOfWhatNobodyReads) {
  ModelBuilder b(14);
  b.input("x", "float[3]").input("idle", "float[1]");
  b.initializer(float_tensor("w", {3}, {1e-40f, 0, -2e-39f})).initializer(float_tensor("unused", {1}, {1}));
  b.node("Add", {"x", "w"}, {"y"}).output("y");
  const auto found = check_model(b.model, small_catalog());
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].code, Code::warning_unused);
  EXPECT_EQ(found[0].node, "idle");
  EXPECT_EQ(found[1].code, Code::warning_denormals);
  EXPECT_EQ(found[1].node, "w");
  EXPECT_EQ(found[1].got, "2 of 3 elements");
  EXPECT_EQ(found[2].node, "unused");
  for (const Diagnostic& d : found) EXPECT_EQ(d.severity, Diagnostic::Severity::warning);
}

TEST(Checker, LooksIntoBodies) {
  ModelBuilder b(13);
  b.input("c", "bool[]").input("x", "float[2]");
  auto good = make_body({}, {make_node("Relu", {"x"}, {"g"})}, {{"g", ""}});
  auto bad =
      make_body({}, {make_node("Rellu", {"x"}, {"w"}), make_node("Add", {"x", "gone"}, {"w2"})}, {{"w", ""}});
  b.node("If", {"c"}, {"y"}, {graph_attribute("then_branch", good), graph_attribute("else_branch", bad)})
      .output("y");
  EXPECT_EQ(codes(b), (Words{"E2301", "E2203"}));
}

TEST(Checker, CanBeCancelled) {
  ModelBuilder b(14);
  b.input("x", "float[3]").node("Relu", {"x"}, {"y"}).output("y");
  RunControl control;
  control.cancel();
  EXPECT_THROW(check_model(b.model, small_catalog(), &control), Error);
}

}  // namespace
}  // namespace lathe
