// Tests the checker: all findings at once, in words that help users.
#include "onnx/checker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "lathe/engine.h"
#include "onnx/importer.h"
#include "support/model_builder.h"
#include "support/small_catalog.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words

std::vector<std::string> codes(const ModelBuilder& b) {
  std::vector<std::string> r;
  for (const Diagnostic& d : check_model(b.model, small_catalog())) r.push_back(code_name(d.code));
  return r;
}
using Strings = std::vector<std::string>;

TEST(Checker, NothingToSayAboutAGoodModel) {
  ModelBuilder b(14);
  b.input("x", "float[N,3]")
      .initializer(float_tensor("w", {3}, {1, 2, 3}))
      .node("Add", {"x", "w"}, {"y"})
      .output("y", "float[N,3]");
  EXPECT_EQ(codes(b), Strings{});
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
  EXPECT_EQ(found[1].inputs, (Strings{"x: float[2,3]", "h: float[4]"}));
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

// A later version may allow them; ONNX Runtime refuses them too.
TEST(Checker, HoldsTypesAgainstTheVersionOfTheModel) {
  ModelBuilder old(13), enough(14);
  for (ModelBuilder* b : {&old, &enough}) b->input("x", "int64[2]").node("Relu", {"x"}, {"y"}).output("y");
  const auto found = check_model(old.model, SchemaCatalog::standard());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::node_bad_type);
  EXPECT_EQ(found[0].got, "int64");
  EXPECT_EQ(found[0].remedy, "write the model for opset 14, or insert a Cast");
  EXPECT_TRUE(check_model(enough.model, SchemaCatalog::standard()).empty());
}

TEST(Checker, LooksIntoBodies) {
  ModelBuilder b(13);
  b.input("c", "bool[]").input("x", "float[2]");
  auto good = make_body({}, {make_node("Relu", {"x"}, {"g"})}, {{"g", ""}});
  auto bad =
      make_body({}, {make_node("Rellu", {"x"}, {"w"}), make_node("Add", {"x", "gone"}, {"w2"})}, {{"w", ""}});
  b.node("If", {"c"}, {"y"}, {graph_attribute("then_branch", good), graph_attribute("else_branch", bad)})
      .output("y");
  EXPECT_EQ(codes(b), (Strings{"E2301", "E2203"}));
}

// Such functions have no types, but all that can be checked without types is.
TEST(Checker, LooksAtFunctionsThatNothingCalls) {
  ModelBuilder b(14);
  b.import_opset("f", 1).input("x", "float[3]").node("Relu", {"x"}, {"y"}).output("y");
  using A = onnx::AttributeProto;
  b.function("f", "Good", {"a"}, {"r"},
             {make_node("Softmax", {"a"}, {"s"}, {reference_attribute("axis", "where", A::INT)}),
              make_node("Other", {"s"}, {"r"}, {}, "f")},
             {"where"}, 14);
  b.function("f", "Other", {"a"}, {"r"}, {make_node("Add", {"a", "a"}, {"r"})}, {}, 14);
  b.model.proto.functions[0].opset_import.push_back({"f", 1, {}});
  EXPECT_EQ(codes(b), Strings{});
  b.function(
      "f", "Bad", {"a"}, {"r", "never"},
      {make_node("Rellu", {"a"}, {"b"}), make_node("Add", {"a"}, {"c"}), make_node("Relu", {"gone"}, {"d"}),
       make_node("Softmax", {"a"}, {"e"}, {reference_attribute("axis", "nobody", A::INT)}),
       make_node("Softmax", {"a"}, {"g"}, {reference_attribute("axis", "where", A::FLOAT)}),
       make_node("Other", {"a", "a"}, {"r"}, {}, "f")},
      {"where"}, 14);
  b.model.proto.functions[2].opset_import.push_back({"f", 1, {}});
  const auto found = check_model(b.model, small_catalog());
  Strings got;
  for (const Diagnostic& d : found) got.push_back(code_name(d.code));
  EXPECT_EQ(got, (Strings{"E2301", "E2303", "E2203", "E2304", "E2304", "E2303", "E2203"}));
  EXPECT_EQ(import_model(b.model, small_catalog())->live_nodes(), 1u);  // it runs all the same
}

TEST(Checker, LooksAtTraining) {
  ModelBuilder b(14);
  b.input("x", "float[2]").initializer(float_tensor("w", {2}, {1, 2}));
  b.node("Add", {"x", "w"}, {"y"}).output("y");
  onnx::TrainingInfoProto t;
  t.algorithm =
      make_body({{"rate", "float[2]"}}, {make_node("Add", {"w", "rate"}, {"w_new"})}, {{"w_new", ""}});
  t.update_binding.push_back({"w", "w_new", {}});
  b.model.proto.training_info.push_back(t);
  EXPECT_EQ(codes(b), Strings{});
  t.algorithm->node.push_back(make_node("Add", {"y", "nothing"}, {"z"}));
  t.algorithm->node.push_back(make_node("Gradient", {"y"}, {"d"}, {}, "ai.onnx.preview.training"));
  t.update_binding.push_back({"v", "w_new", {}});
  t.update_binding.push_back({"w", "w_old", {}});
  b.model.proto.training_info.push_back(t);
  const auto found = check_model(b.model, small_catalog());
  Strings errors, warnings;
  for (const Diagnostic& d : found)
    (d.severity == Diagnostic::Severity::error ? errors : warnings).push_back(code_name(d.code));
  EXPECT_EQ(errors, (Strings{"E2203", "E2203", "E2203"}));
  EXPECT_EQ(warnings, Strings{"E2302"});  // training is for others
  EXPECT_NO_THROW(import_model(b.model, small_catalog()));
}

TEST(Checker, NamesAttributesThatNobodyHeeds) {
  ModelBuilder b(14);
  b.input("x", "float[2,3]").initializer(float_tensor("s", {3}, {1, 1, 1}));
  onnx::AttributeProto misspelt;
  misspelt.name = "epsion";
  misspelt.type = onnx::AttributeProto::FLOAT;
  misspelt.f = 1e-3f;
  b.node("LayerNormalization", {"x", "s"}, {"y"}, {misspelt}).output("y");
  const auto found = check_model(b.model, SchemaCatalog::standard());
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::node_bad_attribute);
  EXPECT_EQ(found[0].severity, Diagnostic::Severity::warning);
  EXPECT_NE(found[0].message().find("epsion"), std::string::npos);
  EXPECT_EQ(found[0].node_index, 0);
  b.model.proto.opset_import[0].version = 17;
  EXPECT_EQ(check_model(b.model, SchemaCatalog::standard()).at(0).severity, Diagnostic::Severity::error);
}

TEST(Checker, CanBeCancelled) {
  ModelBuilder b(14);
  b.input("x", "float[3]").node("Relu", {"x"}, {"y"}).output("y");
  RunControl control;
  control.cancel();
  EXPECT_THROW(check_model(b.model, small_catalog(), &control), Error);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
