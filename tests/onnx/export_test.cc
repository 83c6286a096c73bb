// Tests the exporter: opsets and IR versions, names, bodies, constants, and re-import.
#include <gtest/gtest.h>

#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "schema/infer.h"
#include "support/model_builder.h"
#include "support/small_catalog.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words

onnx::Model through(const ModelBuilder& b, const ExportOptions& options = {}) {
  return export_model(*import_model(b.model, small_catalog()), small_catalog(), options);
}
int64_t opset_of(const onnx::Model& m, std::string_view domain = "") {
  for (const auto& o : m.proto.opset_import)
    if (o.domain.value_or("") == domain) return *o.version;
  return 0;
}
ModelBuilder relu(int64_t opset, std::string_view type) {
  ModelBuilder b(opset);
  return b.input("x", type).node("Relu", {"x"}, {"y"}).output("y", type);
}

TEST(Export, TheLowestOpsetThatSaysIt) {
  EXPECT_EQ(opset_of(through(relu(14, "float[2]"))), 7);
  EXPECT_EQ(opset_of(through(relu(14, "bfloat16[2]"))), 13);
  EXPECT_EQ(opset_of(through(relu(14, "int32[2]"))), 14);
  EXPECT_EQ(opset_of(through(relu(1, "float[2]"))), 7);

  ModelBuilder softmax(14);
  softmax.input("x", "float[2,3]").node("Softmax", {"x"}, {"y"}).output("y");
  EXPECT_EQ(opset_of(through(softmax)), 13);  // what it means changed there

  ModelBuilder upgraded(11);
  upgraded.input("x", "float[2,3]").node("Softmax", {"x"}, {"y"}).output("y");
  EXPECT_EQ(opset_of(through(upgraded)), 13);

  ModelBuilder sequence(14);
  sequence.input("s", "seq(float)").node("Identity", {"s"}, {"y"}).output("y");
  EXPECT_EQ(opset_of(through(sequence)), 14);
}

TEST(Export, AttributesThatCameLaterAreLeftOutAtTheirDefault) {
  auto reshape = [](int64_t allowzero) {
    ModelBuilder b(19);
    b.input("x", "float[2,3]").initializer(int64_tensor("s", {1}, {6}));
    b.node("Reshape", {"x", "s"}, {"y"}, {int_attribute("allowzero", allowzero)}).output("y");
    return through(b);
  };
  const auto plain = reshape(0), zero = reshape(1);
  EXPECT_EQ(opset_of(plain), 7);
  EXPECT_TRUE(plain.proto.graph->node[0].attribute.empty());
  EXPECT_EQ(opset_of(zero), 14);
  EXPECT_EQ(zero.proto.graph->node[0].attribute.at(0).i, 1);
}

TEST(Export, IrVersionFollowsOpsetAndTypes) {
  EXPECT_EQ(through(relu(14, "float[2]")).proto.ir_version, 4);
  EXPECT_EQ(through(relu(14, "int32[2]")).proto.ir_version, 7);
  ModelBuilder b(21);
  b.input("x", "int4[2]").node("Identity", {"x"}, {"y"}).output("y");
  EXPECT_EQ(through(b).proto.ir_version, 10);
  EXPECT_EQ(opset_of(through(b)), 21);
}

TEST(Export, AnOpsetCanBeAskedFor) {
  ExportOptions options;
  options.opset = 17;
  EXPECT_EQ(opset_of(through(relu(14, "float[2]"), options)), 17);
  options.opset = 12;
  try {
    through(relu(14, "bfloat16[2]"), options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::node_cannot_convert);
    EXPECT_EQ(e.diagnostic().op, "Relu");
  }
}

TEST(Export, WhatIsSaidAboutTheModelStays) {
  ModelBuilder b(14);
  b.import_opset("test", 2);
  b.input("x", "float[N,3]").initializer(float_tensor("w", {3}, {1, 2, 3})).node("Add", {"x", "w"}, {"s"});
  b.node("Scale", {"s"}, {"y"}, {}, "test").output("y", "float[N,3]");
  b.graph().node[0].name = "first";
  b.graph().node[0].doc_string = "adds";
  b.graph().name = "net";
  b.graph().doc_string = "a net";
  b.model.proto.producer_name = "hand";
  b.model.proto.model_version = 4;
  b.model.proto.metadata_props.push_back({"key", "value", {}});
  const auto m = through(b);
  const auto& g = *m.proto.graph;
  EXPECT_EQ(g.name, "net");
  EXPECT_EQ(g.doc_string, "a net");
  EXPECT_EQ(m.proto.producer_name, "hand");
  EXPECT_EQ(m.proto.model_version, 4);
  EXPECT_EQ(m.proto.metadata_props.at(0).value, "value");
  EXPECT_EQ(g.node[0].name, "first");
  EXPECT_EQ(g.node[0].doc_string, "adds");
  EXPECT_EQ(g.node[1].domain, "test");
  EXPECT_EQ(opset_of(m, "test"), 2);
  ASSERT_EQ(g.initializer.size(), 1u);
  EXPECT_EQ(g.initializer[0].name, "w");
  EXPECT_EQ(import_type(*g.input.at(0).type,
                        [](const auto& d, size_t) {
                          return d.dim_value ? Dim(*d.dim_value) : Dim::symbol(*d.dim_param);
                        }),
            ValueType::parse("float[N,3]"));
  ASSERT_EQ(g.value_info.size(), 1u);
  EXPECT_EQ(g.value_info[0].name, "s");
}

TEST(Export, ConstantsThatNobodyReadsAreLeftOut) {
  ModelBuilder b(14);
  b.initializer(float_tensor("unused", {1}, {1}))
      .input("x", "float[2]")
      .node("Relu", {"x"}, {"y"})
      .output("y");
  EXPECT_TRUE(through(b).proto.graph->initializer.empty());
}

TEST(Export, BodiesHaveNamesOfTheirOwnAndMakeTheirOutputs) {
  ModelBuilder b(13);
  b.input("c", "bool[]").input("x", "float[N]");
  auto same = make_body({}, {make_node("Relu", {"x"}, {"r"})}, {{"r", ""}});
  auto outer = make_body({}, {}, {{"x", ""}});
  b.node("If", {"c"}, {"y"}, {graph_attribute("then_branch", same), graph_attribute("else_branch", outer)})
      .output("y");
  b.node("Relu", {"y"}, {"r"}).output("r");
  const auto m = through(b);
  const auto& n = m.proto.graph->node.at(0);
  const onnx::GraphProto* then_branch = nullptr;
  const onnx::GraphProto* else_branch = nullptr;
  for (const auto& a : n.attribute) (*a.name == "then_branch" ? then_branch : else_branch) = &*a.g;
  ASSERT_TRUE(then_branch && else_branch);
  EXPECT_EQ(then_branch->node.at(0).input.at(0), "x");
  EXPECT_NE(then_branch->output.at(0).name, "r");  // taken outside
  EXPECT_EQ(else_branch->node.at(0).op_type, "Identity");
  EXPECT_EQ(m.proto.graph->output.at(1).name, "r");

  const auto again = import_model(m, small_catalog());
  again->check();
  EXPECT_EQ(again->value(again->outputs()[0]).type.str(), "float[N]");
}

TEST(Export, SequencesOfConstantsAreMadeByNodes) {
  Graph g;
  Sequence s;
  s.items->push_back(Tensor::scalar(1.0f));
  s.items->push_back(Tensor::scalar(2.0f));
  const ValueId c =
      g.add_constant("list", Value(s), ValueType::sequence(ValueType::tensor(DataType::float32)));
  g.set_outputs({g.node(g.add_node("Identity", {c}, 1)).outputs[0]});
  const auto m = export_model(g, small_catalog());
  EXPECT_EQ(m.proto.graph->node.at(0).op_type, "SequenceConstruct");
  EXPECT_EQ(m.proto.graph->initializer.size(), 2u);

  Map map;
  map.keys = Tensor::from<int64_t>({1}, std::vector<int64_t>{1});
  Graph h;
  const ValueId d = h.add_constant("table", Value(map),
                                   ValueType::map(DataType::int64, ValueType::tensor(DataType::float32)));
  h.set_outputs({h.node(h.add_node("Identity", {d}, 1)).outputs[0]});
  EXPECT_THROW(export_model(h, small_catalog()), Error);
}

TEST(Export, KeptFunctionsGoBackIntoTheFile) {
  ModelBuilder b(14);
  b.import_opset("local", 3);
  b.function("local", "F", {"a"}, {"r"}, {make_node("Relu", {"a"}, {"r"})}, {}, 14);
  b.input("x", "float[N]").node("F", {"x"}, {"y"}, {}, "local").output("y", "float[N]");
  ImportOptions keep;
  keep.inline_functions = false;
  const auto m = export_model(*import_model(b.model, small_catalog(), keep), small_catalog());
  EXPECT_EQ(m.proto.functions.size(), 1u);
  EXPECT_EQ(m.proto.graph->node.at(0).domain, "local");
  EXPECT_EQ(opset_of(m, "local"), 3);
  EXPECT_EQ(opset_of(m), 14);  // that of the function
  EXPECT_GE(*m.proto.ir_version, 8);
  EXPECT_EQ(import_model(m, small_catalog())->live_nodes(), 1u);
}

TEST(Export, AgainAndAgainIsTheSame) {
  ModelBuilder b(6);
  b.input("x", "float[2,3,4]").initializer(float_tensor("w", {3}, {1, 2, 3}));
  b.node("Add", {"x", "w"}, {"s"}, {int_attribute("broadcast", 1), int_attribute("axis", 1)})
      .node("Softmax", {"s"}, {"y"})
      .output("y");
  const auto once = through(b);
  const auto twice = export_model(*import_model(once, small_catalog()), small_catalog());
  EXPECT_EQ(onnx::serialize(once.proto), onnx::serialize(twice.proto));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
