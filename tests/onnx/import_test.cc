// The importer on small models: names and order, symbols, constants, bodies, functions, upgrades, and
// findings.
#include <gtest/gtest.h>

#include <algorithm>

#include "lathe/engine.h"
#include "onnx/exporter.h"
#include "onnx/importer.h"
#include "support/error_code.h"
#include "support/model_builder.h"
#include "support/small_catalog.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words
using lathe::testing::code_of;

std::unique_ptr<Graph> imported(const ModelBuilder& b, const ImportOptions& options = {}) {
  auto g = import_model(b.model, small_catalog(), options);
  g->check();
  return g;
}
std::vector<std::string> findings(const ModelBuilder& b) {
  std::vector<Diagnostic> found;
  import_leniently(b.model, small_catalog(), {}, found);
  std::vector<std::string> codes;
  for (const Diagnostic& d : found) codes.push_back(code_name(d.code));
  return codes;
}
std::string type_of(const Graph& g, std::string_view name) {
  const ValueId v = g.find_value(name);
  return v == no_id ? "no such value" : g.value(v).type.str();
}
std::vector<std::string> ops(const Graph& g) {
  std::vector<std::string> r;
  for (NodeId n : g.order()) r.push_back(g.node(n).op);
  return r;
}
const Node& node_of(const Graph& g, size_t i = 0) { return g.node(g.order()[i]); }
using Strings = std::vector<std::string>;

TEST(Import, ASmallModelWholly) {
  ModelBuilder b(14);
  b.input("x", "float[N,3]")
      .initializer(float_tensor("w", {3}, {1, 2, 3}))
      .node("Add", {"x", "w"}, {"s"})
      .node("Relu", {"s"}, {"y"});
  b.output("y", "float[N,3]");
  b.graph().node[1].name = "activation";
  b.model.proto.producer_name = "hand";
  b.model.proto.metadata_props.push_back({"key", "value", {}});
  const auto g = imported(b);
  EXPECT_EQ(ops(*g), (Strings{"Add", "Relu"}));
  EXPECT_EQ(type_of(*g, "y"), "float[N,3]");
  EXPECT_EQ(g->value(g->outputs().at(0)).name, "y");
  EXPECT_EQ(g->value(g->find_value("w")).source, "w");
  EXPECT_EQ(g->constant_tensor(g->find_value("w"))->as<float>()[2], 3);
  EXPECT_EQ(node_of(*g, 0).name, "Add_0");
  EXPECT_EQ(node_of(*g, 1).name, "activation");
  EXPECT_EQ(g->producer_name, "hand");
  EXPECT_EQ(g->metadata.at(0).second, "value");
}

TEST(Import, SymbolsOfInputs) {
  ModelBuilder b(14);
  b.input("ids", "int64[batch,seq]")
      .input("past", "float[batch,past]")
      .input("mask", "float[batch,\"past + seq\"]");
  b.input("odd", "float[\"batch-size\",2]")
      .input("free", "float[?1,\"?\",4]")
      .input("scalar", "float[]")
      .input("ranks", "float");
  b.node("Relu", {"mask"}, {"y"}).output("y");
  const auto g = imported(b);
  // Runs need not conform to a sum: it is a name, of a size of its own.
  EXPECT_EQ(type_of(*g, "mask"), "float[batch,\"past + seq\"]");
  EXPECT_EQ(g->value(g->find_value("mask")).type.shape->at(1), Dim::symbol("past + seq"));
  EXPECT_EQ(type_of(*g, "odd"), "float[\"batch-size\",2]");
  EXPECT_EQ(type_of(*g, "free"), "float[free.0,free.1,4]");
  EXPECT_EQ(type_of(*g, "scalar"), "float[]");
  EXPECT_EQ(type_of(*g, "ranks"), "float");
}

TEST(Import, SymbolsCanBeFixed) {
  ModelBuilder b(14);
  b.input("x", "float[N,seq,?1]").input("m", "float[\"N + seq\"]").node("Relu", {"x"}, {"y"}).output("y");
  ImportOptions options;
  options.shapes = {{"N", 2}, {"x.2", 5}};
  EXPECT_EQ(type_of(*imported(b, options), "y"), "float[2,seq,5]");
  EXPECT_EQ(type_of(*imported(b, options), "m"), "float[\"seq + 2\"]");
  options.shapes = {{"M", 2}};
  try {
    imported(b, options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::build_bad_option);
    EXPECT_EQ(e.diagnostic().got, "'M'");
  }
}

TEST(Import, UnknownSizesOfOutputsKeepTheirNames) {
  ModelBuilder b(14);
  b.input("x", "float[N]").input("s", "int64[2]");
  b.node("Reshape", {"x", "s"}, {"y"}).output("y", "float[rows,N]");
  const auto g = imported(b);
  // "rows" means nothing else; that the file calls the other size N is not believed.
  const auto shape = *g->value(g->outputs()[0]).type.shape;
  EXPECT_EQ(shape[0], Dim::symbol("rows"));
  EXPECT_TRUE(shape[1].has_unknown());
}

TEST(Import, NodesInAnyOrder) {
  ModelBuilder b(14);
  b.input("x", "float[2]")
      .node("Relu", {"b"}, {"y"})
      .node("Add", {"a", "x"}, {"b"})
      .node("Relu", {"x"}, {"a"})
      .output("y");
  EXPECT_EQ(ops(*imported(b)), (Strings{"Relu", "Add", "Relu"}));
  EXPECT_EQ(findings(b), Strings{"E2903"});
}

TEST(Import, ConstantsOfEveryKind) {
  auto one = [](onnx::AttributeProto a) {
    ModelBuilder b(14);
    b.node("Constant", {}, {"c"}, {std::move(a)}).output("c");
    const auto g = imported(b);
    EXPECT_TRUE(g->order().empty());
    return type_of(*g, "c");
  };
  auto attribute = [](std::string name, onnx::AttributeProto::Type type) {
    onnx::AttributeProto a;
    a.name = std::move(name);
    a.type = type;
    return a;
  };
  using A = onnx::AttributeProto;
  EXPECT_EQ(one(tensor_attribute("value", float_tensor("", {1, 2}, {1, 2}))), "float[1,2]");
  EXPECT_EQ(one(int_attribute("value_int", 7)), "int64[]");
  EXPECT_EQ(one(ints_attribute("value_ints", {1, 2, 3})), "int64[3]");
  auto f = attribute("value_float", A::FLOAT);
  f.f = 2.5f;
  EXPECT_EQ(one(f), "float[]");
  auto fs = attribute("value_floats", A::FLOATS);
  fs.floats = {1, 2};
  EXPECT_EQ(one(fs), "float[2]");
  auto s = attribute("value_string", A::STRING);
  s.s = onnx::Bytes(std::string("text"));
  EXPECT_EQ(one(s), "string[]");
  auto ss = attribute("value_strings", A::STRINGS);
  ss.strings = {onnx::Bytes(std::string("a")), onnx::Bytes(std::string("b"))};
  EXPECT_EQ(one(ss), "string[2]");
  auto sparse = attribute("sparse_value", A::SPARSE_TENSOR);
  sparse.sparse_tensor =
      onnx::SparseTensorProto{float_tensor("", {1}, {5}), int64_tensor("", {1}, {2}), {4}, {}};
  EXPECT_EQ(one(sparse), "float[4]");

  ModelBuilder wrong(14);
  wrong.node("Constant", {}, {"c"}, {ints_attribute("value_int", {1})}).output("c");
  EXPECT_EQ(findings(wrong), Strings{"E2304"});
}

TEST(Import, SparseInitializersBecomeDense) {
  ModelBuilder b(14);
  b.graph().sparse_initializer.push_back(
      {float_tensor("w", {2}, {5, 6}), int64_tensor("", {2}, {0, 3}), {4}, {}});
  b.node("Relu", {"w"}, {"y"}).output("y");
  const auto g = imported(b);
  EXPECT_EQ(type_of(*g, "y"), "float[4]");
  EXPECT_EQ(g->constant_tensor(g->find_value("w"))->as<float>()[3], 6);
}

TEST(Import, InitializersThatAreInputsAreConstants) {
  ModelBuilder b(7, 3);
  b.input("x", "float[2]")
      .input("w", "float[2]")
      .initializer(float_tensor("w", {2}, {1, 2}))
      .node("Add", {"x", "w"}, {"y"})
      .output("y");
  const auto g = imported(b);
  EXPECT_EQ(g->inputs().size(), 1u);
  EXPECT_NE(g->constant_tensor(g->find_value("w")), nullptr);
}

TEST(Import, FromIrVersion4OnTheyAreDefaults) {
  ModelBuilder b(11, 4);
  b.input("x", "float[2]").input("w", "float[2]").input("axes", "int64[1]");
  b.initializer(float_tensor("w", {2}, {1, 2})).initializer(int64_tensor("axes", {1}, {0}));
  b.node("Add", {"x", "w"}, {"y"}).output("y");
  const auto g = imported(b);
  const ValueId w = g->find_value("w");
  EXPECT_EQ(g->inputs().size(), 3u);
  EXPECT_EQ(g->constant_tensor(w), nullptr);
  EXPECT_FALSE(g->value(w).is_constant());
  ASSERT_TRUE(g->value(w).constant);
  EXPECT_EQ(g->value(w).constant->tensor().as<float>()[1], 2);
  g->check();

  const onnx::Model saved = export_model(*g, small_catalog());
  const onnx::GraphProto& p = *saved.proto.graph;
  EXPECT_GE(*saved.proto.ir_version, 4);
  ASSERT_EQ(p.input.size(), 3u);
  EXPECT_EQ(p.input[1].name, "w");
  ASSERT_EQ(p.initializer.size(), 2u);  // the one that nobody reads too: it can be given
  EXPECT_EQ(p.initializer[0].name, "w");
  EXPECT_EQ(import_model(saved, small_catalog())->text(), g->text());

  b.graph().input[1] = make_value("w", "");  // without a type it has that of its default
  EXPECT_EQ(type_of(*imported(b), "w"), "float[2]");
  for (const char* other : {"float[3]", "int64[2]"}) {
    b.graph().input[1] = make_value("w", other);
    EXPECT_EQ(code_of([&] { imported(b); }), Code::node_bad_type) << other;
  }
}

TEST(Import, DefaultsThatBodiesReadAreNoConstantsThere) {
  ModelBuilder b(13);
  b.input("c", "bool[]").input("w", "float[1]").initializer(float_tensor("w", {1}, {5}));
  const auto body = [](const char* name) {
    return make_body({}, {make_node("Relu", {"w"}, {name})}, {{name, ""}});
  };
  b.node("If", {"c"}, {"y"},
         {graph_attribute("then_branch", body("t")), graph_attribute("else_branch", body("e"))});
  b.output("y");
  const auto g = imported(b);
  for (const Body& body_of : g->node(g->order()[0]).bodies)
    for (ValueId v : body_of.graph->captures()) EXPECT_FALSE(body_of.graph->value(v).constant);
}

// Exporters write these for sizes that they do not know: they are not equal to each other.
TEST(Import, DimParamsThatAreNoNames) {
  for (const char* word : {"?", "-1", "*", "None", "..."}) {
    ModelBuilder b(14);
    b.input("x", "float[2]").input("z", "float[2]").output("x").output("z");
    for (auto& i : b.graph().input) {
      i.type->tensor_type->shape->dim[0].dim_value.reset();
      i.type->tensor_type->shape->dim[0].dim_param = word;
    }
    const auto g = imported(b);
    EXPECT_EQ(type_of(*g, "x"), "float[x.0]") << word;
    EXPECT_EQ(type_of(*g, "z"), "float[z.0]") << word;
  }
}

TEST(Import, BranchesNeverTakenMayBeWrong) {
  const auto with = [](bool condition) {
    ModelBuilder b(13);
    onnx::TensorProto c = int64_tensor("c", {}, {});
    c.data_type = static_cast<int32_t>(DataType::boolean);
    c.int32_data = {condition};
    b.input("x", "float[2]").input("h", "float[3]").initializer(c);
    auto good =
        make_body({}, {make_node("Relu", {"x"}, {"r"}), make_node("Relu", {"r"}, {"g"})}, {{"g", ""}});
    good.initializer.push_back(float_tensor("w", {2}, {1, 1}));
    auto bad = make_body({}, {make_node("Add", {"x", "h"}, {"w"})}, {{"w", ""}});
    b.node("If", {"c"}, {"y"}, {graph_attribute("then_branch", good), graph_attribute("else_branch", bad)});
    return b.node("Relu", {"y"}, {"z"}).output("z").output("y");
  };
  std::vector<Diagnostic> found;
  const auto g = import_model(with(true).model, small_catalog(), {}, &found);
  g->check();
  EXPECT_EQ(type_of(*g, "z"), "float[2]");
  EXPECT_EQ(g->live_nodes(), 3u);  // the branch that is taken, in place of the node
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].code, Code::node_bad_shape);
  EXPECT_EQ(found[0].severity, Diagnostic::Severity::warning);
  EXPECT_EQ(code_of([&] { imported(with(false)); }), Code::node_bad_shape);
}

TEST(Import, BodiesCaptureWhatIsAround) {
  ModelBuilder b(13);
  b.input("c", "bool[]").input("x", "float[N]").initializer(float_tensor("w", {1}, {1}));
  auto inner = make_body({}, {make_node("Add", {"x", "w"}, {"deep"})}, {{"deep", ""}});
  auto then_branch =
      make_body({},
                {make_node("If", {"c"}, {"t"},
                           {graph_attribute("then_branch", inner), graph_attribute("else_branch", inner)})},
                {{"t", ""}});
  auto else_branch = make_body({}, {make_node("Relu", {"x"}, {"e"})}, {{"e", "float[N]"}});
  b.node("If", {"c"}, {"y"},
         {graph_attribute("then_branch", then_branch), graph_attribute("else_branch", else_branch)})
      .output("y");
  const auto g = imported(b);
  EXPECT_EQ(type_of(*g, "y"), "float[N]");
  const Graph& then_graph = *node_of(*g).body("then_branch");
  EXPECT_EQ(then_graph.captures().size(), 3u);
  const Graph& deep = *node_of(then_graph).body("then_branch");
  const ValueId w = node_of(deep).inputs[1];
  EXPECT_NE(deep.constant_tensor(w), nullptr);
  EXPECT_EQ(g->value(then_graph.value(deep.value(w).captured).captured).name, "w");
}

TEST(Import, LoopsTypeTheirBodies) {
  ModelBuilder b(13);
  b.input("n", "int64[]").input("x", "float[N]").input("cond", "bool[]");
  auto body = make_body({{"i", "int64[]"}, {"go", "bool[]"}, {"s", ""}},
                        {make_node("Add", {"s", "x"}, {"s2"}), make_node("Identity", {"go"}, {"go2"}),
                         make_node("Relu", {"s2"}, {"scan"})},
                        {{"go2", "bool[]"}, {"s2", ""}, {"scan", ""}});
  b.node("Loop", {"n", "cond", "x"}, {"last", "all"}, {graph_attribute("body", body)})
      .output("last")
      .output("all");
  const auto g = imported(b);
  EXPECT_EQ(type_of(*g, "last"), "float[N]");
  const auto all = *g->value(g->find_value("all")).type.shape;
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[1], Dim::symbol("N"));
}

TEST(Import, UpgradesSeeTypesAndInsertNodes) {
  ModelBuilder b(6);
  b.input("x", "float[2,3,4]").initializer(float_tensor("w", {3}, {1, 2, 3}));
  b.node("Add", {"x", "w"}, {"s"}, {int_attribute("broadcast", 1), int_attribute("axis", 1)});
  b.node("Softmax", {"s"}, {"y"}).output("y");
  const auto g = imported(b);
  EXPECT_EQ(ops(*g), (Strings{"Reshape", "Add", "Reshape", "Shape", "Softmax", "Reshape"}));
  EXPECT_EQ(type_of(*g, "y"), "float[2,3,4]");
  EXPECT_EQ(g->value(node_of(*g, 1).inputs[1]).type.str(), "float[3,1]");
  EXPECT_EQ(g->value(node_of(*g, 4).inputs[0]).type.str(), "float[2,12]");
  EXPECT_EQ(node_of(*g, 5).origin, Strings{"Softmax_1"});
}

TEST(Import, UpgradesInBodiesSeeTheLoopsTypes) {
  ModelBuilder b(11);
  b.input("n", "int64[]").input("x", "float[2,3,4]").input("cond", "bool[]");
  auto body = make_body({{"i", ""}, {"go", ""}, {"s", ""}},
                        {make_node("Softmax", {"s"}, {"s2"}), make_node("Identity", {"go"}, {"go2"})},
                        {{"go2", ""}, {"s2", ""}});
  b.node("Loop", {"n", "cond", "x"}, {"y"}, {graph_attribute("body", body)}).output("y");
  const auto g = imported(b);
  EXPECT_EQ(type_of(*g, "y"), "float[2,3,4]");
  EXPECT_EQ(ops(*node_of(*g).body("body")), (Strings{"Reshape", "Shape", "Softmax", "Reshape", "Identity"}));
}

TEST(Import, EndedOperatorsBecomeOthersAndOldWordsGo) {
  ModelBuilder b(9);
  onnx::AttributeProto scales;
  scales.name = "scales";
  scales.type = onnx::AttributeProto::FLOATS;
  scales.floats = {1, 2};
  b.input("x", "float[N,3]").node("Upsample", {"x"}, {"y"}, {scales}).output("y");
  const auto g = imported(b);
  EXPECT_EQ(ops(*g), Strings{"Resize"});
  EXPECT_EQ(type_of(*g, "y"), "float[N,6]");
  ModelBuilder old(1);
  old.input("x", "float[2]").node("Relu", {"x"}, {"y"}, {ints_attribute("consumed_inputs", {0})}).output("y");
  EXPECT_TRUE(node_of(*imported(old)).attributes.empty());
}

// ── Functions
// ───────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST(Import, FunctionsAreInlined) {
  ModelBuilder b(14);
  b.import_opset("local", 1);
  b.function("local", "Twice", {"a"}, {"r"},
             {make_node("Add", {"a", "a"}, {"t"}), make_node("Relu", {"t"}, {"r"})}, {}, 14);
  b.function("local", "Four", {"a"}, {"r"},
             {make_node("Twice", {"a"}, {"h"}, {}, "local"), make_node("Twice", {"h"}, {"r"}, {}, "local")},
             {}, 14);
  b.input("x", "float[N]").node("Four", {"x"}, {"y"}, {}, "local").output("y");
  b.graph().node[0].name = "quad";
  const auto g = imported(b);
  EXPECT_EQ(ops(*g), (Strings{"Add", "Relu", "Add", "Relu"}));
  EXPECT_EQ(g->value(g->outputs()[0]).name, "y");
  EXPECT_EQ(type_of(*g, "y"), "float[N]");
  EXPECT_EQ(node_of(*g, 0).name, "quad/Twice_0/Add_0");
  EXPECT_EQ(g->value(node_of(*g, 0).outputs[0]).name, "quad/Twice_0/t");
}

TEST(Import, AttributeReferencesAreResolvedPerCall) {
  ModelBuilder b(14);
  b.import_opset("local", 1);
  using A = onnx::AttributeProto;
  b.function("local", "To", {"a"}, {"r"},
             {make_node("Cast", {"a"}, {"r"}, {reference_attribute("to", "kind", A::INT)})}, {"kind"}, 14);
  b.function("local", "Outer", {"a"}, {"r"},
             {make_node("To", {"a"}, {"r"}, {reference_attribute("kind", "which", A::INT)}, "local")}, {},
             14);
  b.model.proto.functions[1].attribute_proto.push_back(int_attribute("which", 6));
  b.input("x", "float[N]");
  b.node("To", {"x"}, {"i"}, {int_attribute("kind", 7)}, "local")
      .node("Outer", {"x"}, {"d"}, {int_attribute("which", 11)}, "local");
  b.node("Outer", {"x"}, {"fallback"}, {}, "local").output("i").output("d").output("fallback");
  const auto g = imported(b);
  EXPECT_EQ(type_of(*g, "i"), "int64[N]");
  EXPECT_EQ(type_of(*g, "d"), "double[N]");
  EXPECT_EQ(type_of(*g, "fallback"), "int32[N]");
  // A reference outside a function, and an attribute the function does not have.
  ModelBuilder wrong(14);
  wrong.input("x", "float[N]")
      .node("Cast", {"x"}, {"y"}, {reference_attribute("to", "kind", A::INT)})
      .output("y");
  EXPECT_EQ(findings(wrong), Strings{"E2304"});
  b.node("To", {"x"}, {"z"}, {int_attribute("knd", 7)}, "local");
  EXPECT_EQ(findings(b), Strings{"E2304"});
}

// The call passes on an attribute that it does not have: the called function uses its own default.
TEST(Import, ReferencesToNothingLeaveTheDefault) {
  using A = onnx::AttributeProto;
  ModelBuilder b(14);
  b.import_opset("f", 1);
  b.function("f", "Inner", {"a"}, {"r"},
             {make_node("Softmax", {"a"}, {"r"}, {reference_attribute("axis", "where", A::INT)})}, {}, 14);
  b.model.proto.functions.back().attribute_proto.push_back(int_attribute("where", 0));
  b.function("f", "Outer", {"a"}, {"r"},
             {make_node("Inner", {"a"}, {"r"}, {reference_attribute("where", "at", A::INT)}, "f")}, {"at"},
             14);
  b.model.proto.functions.back().opset_import.push_back({"f", 1, {}});
  b.input("x", "float[2,3]").node("Outer", {"x"}, {"y"}, {}, "f").output("y");
  EXPECT_EQ(node_of(*imported(b)).attributes.get<int64_t>("axis", 99), 0);
  b.graph().node[0].attribute.push_back(int_attribute("at", 1));
  EXPECT_EQ(node_of(*imported(b)).attributes.get<int64_t>("axis", 99), 1);
}

TEST(Import, OverloadsAndOpsetsOfFunctions) {
  ModelBuilder b(14);
  b.import_opset("local", 1);
  b.function("local", "F", {"a"}, {"r"}, {make_node("Relu", {"a"}, {"r"})}, {}, 14);
  b.function("local", "F", {"a"}, {"r"}, {make_node("Softmax", {"a"}, {"r"})}, {}, 11);
  b.model.proto.functions[1].overload = "soft";
  b.input("x", "float[2,3,4]")
      .node("F", {"x"}, {"y"}, {}, "local")
      .node("F", {"y"}, {"z"}, {}, "local")
      .output("z");
  b.graph().node[1].overload = "soft";
  EXPECT_EQ(ops(*imported(b)), (Strings{"Relu", "Reshape", "Shape", "Softmax", "Reshape"}));
}

TEST(Import, FunctionsMayLeaveOutInputsAndHandThemThrough) {
  ModelBuilder b(14);
  b.import_opset("local", 1);
  b.function("local", "Through", {"a", "unused"}, {"a", "r", "r"}, {make_node("Relu", {"a"}, {"r"})}, {}, 14);
  b.input("x", "float[N]")
      .node("Through", {"x"}, {"same", "p", "q"}, {}, "local")
      .output("same")
      .output("p")
      .output("q");
  const auto g = imported(b);
  EXPECT_EQ(ops(*g), (Strings{"Relu", "Identity", "Identity"}));
  for (const char* name : {"same", "p", "q"}) EXPECT_EQ(type_of(*g, name), "float[N]") << name;
}

TEST(Import, BodiesInFunctionsAndBodiesGivenToThem) {
  ModelBuilder b(13);
  b.import_opset("local", 1);
  using A = onnx::AttributeProto;
  auto local = make_body({}, {make_node("Add", {"a", "a"}, {"t"})}, {{"t", ""}});
  b.function("local", "Choose", {"c", "a"}, {"r"},
             {make_node("If", {"c"}, {"r"},
                        {graph_attribute("then_branch", local),
                         reference_attribute("else_branch", "other", A::GRAPH)})},
             {"other"}, 13);
  auto other = make_body({}, {make_node("Relu", {"outside"}, {"o"})}, {{"o", ""}});
  b.input("c", "bool[]").input("x", "float[N]").input("outside", "float[N]");
  b.node("Choose", {"c", "x"}, {"y"}, {graph_attribute("other", other)}, "local").output("y");
  const auto g = imported(b);
  EXPECT_EQ(type_of(*g, "y"), "float[N]");
  const Graph& given = *node_of(*g).body("else_branch");
  EXPECT_EQ(given.value(given.captures().at(0)).captured, g->find_value("outside"));
}

TEST(Import, FunctionsCanBeKept) {
  ModelBuilder b(14);
  b.import_opset("local", 3);
  b.function("local", "F", {"a"}, {"r"}, {make_node("Relu", {"a"}, {"r"})}, {"mode"}, 14);
  b.input("x", "float[N]")
      .node("F", {"x"}, {"y"}, {int_attribute("mode", 1)}, "local")
      .output("y", "float[2]");
  ImportOptions options;
  options.inline_functions = false;
  const auto g = imported(b, options);
  EXPECT_EQ(ops(*g), Strings{"F"});
  EXPECT_EQ(node_of(*g).domain, "local");
  EXPECT_EQ(g->functions.size(), 1u);
  EXPECT_EQ(g->opsets.at("local"), 3);
  EXPECT_EQ(type_of(*g, "y"), "float[2]");
}

// ── Findings
// ────────────────────────────────────────────────────────────────────────────────────────────────────────────

TEST(Import, AllFindingsAtOnce) {
  ModelBuilder b(14);
  b.input("x", "float[2]").input("n", "int64[3]");
  b.node("Rellu", {"x"}, {"a"});
  b.node("Add", {"a", "missing"}, {"b"});
  b.node("Add", {"x", "n"}, {"c"});
  b.node("Cast", {"x"}, {"d"});
  b.node("Softmax", {"x"}, {"e"}, {int_attribute("axis", 5)});
  b.node("Add", {"x"}, {"f"});
  b.node("Relu", {"x"}, {"x"});
  b.output("nowhere");
  EXPECT_EQ(findings(b), (Strings{"E2301", "E2203", "E2305", "E2304", "E2304", "E2303", "E2202", "E2203"}));
  std::vector<Diagnostic> found;
  EXPECT_THROW(import_model(b.model, small_catalog(), {}, &found), Error);
  ASSERT_EQ(found.size(), 8u);
  EXPECT_EQ(found[0].node, "Rellu_0");
  EXPECT_EQ(found[0].node_index, 0);
  EXPECT_EQ(found[0].remedy, "did you mean Relu?");
  EXPECT_EQ(found[2].inputs, (Strings{"x: float[2]", "n: int64[3]"}));
  EXPECT_EQ(found[2].op, "Add");
  EXPECT_EQ(found[2].node_index, 2);
}

TEST(Import, ShapesThatContradictTheDeclaredOnesAreWarnings) {
  ModelBuilder b(14);
  b.input("x", "float[2]")
      .node("Relu", {"x"}, {"m"})
      .node("Relu", {"m"}, {"y"})
      .declare("m", "float[3]")
      .output("y", "float[2]");
  EXPECT_EQ(findings(b), Strings{"E2306"});
  EXPECT_EQ(type_of(*imported(b), "m"), "float[2]");
  b.declare("y", "float[2]");
  b.graph().output[0] = make_value("y", "int64[2]");
  b.graph().value_info.clear();
  EXPECT_EQ(findings(b), Strings{"E2305"});
}

TEST(Import, DomainsAndVersions) {
  ModelBuilder b(14);
  b.input("x", "float[2]")
      .node("Scale", {"x"}, {"y"}, {}, "test")
      .node("Gelu", {"x"}, {"z"}, {}, "com.nowhere")
      .output("y");
  EXPECT_EQ(findings(b), (Strings{"E2003", "E2302"}));
  b.import_opset("test", 1);
  EXPECT_EQ(findings(b), (Strings{"E2301", "E2302"}));
  b.model.proto.opset_import.back().version = 2;
  EXPECT_EQ(findings(b), Strings{"E2302"});
  b.graph().node.pop_back();
  EXPECT_EQ(findings(b), Strings{});
  b.model.proto.opset_import[0].domain = "ai.onnx";
  EXPECT_EQ(findings(b), Strings{});

  ModelBuilder ended(11);
  ended.input("x", "float[2]").node("Upsample", {"x"}, {"y"}).output("y");
  EXPECT_EQ(findings(ended), Strings{"E2301"});
  // Before its opset an operator is taken as it came: ONNX Runtime had some earlier than the standard.
  ModelBuilder early(6);
  early.input("x", "float[2]").node("Resize", {"x"}, {"y"}).output("y");
  EXPECT_EQ(findings(early), (Strings{"E2301", "E2304"}));
}

TEST(Import, DeclaredShapesServeUpgradesAloneWhereInferenceIsSilent) {
  ModelBuilder b(11);
  b.input("x", "float")
      .node("Relu", {"x"}, {"r"})
      .declare("r", "float[2,3,4]")
      .node("Softmax", {"r"}, {"y"})
      .output("y", "float[5]");
  const auto g = imported(b);
  EXPECT_EQ(type_of(*g, "r"), "float");
  EXPECT_EQ(ops(*g), (Strings{"Relu", "Reshape", "Shape", "Softmax", "Reshape"}));
}

TEST(Import, NodesThatNeitherReadNorGiveAreDropped) {
  ModelBuilder b(14);
  b.input("x", "float[2]").node("If", {}, {}).node("Relu", {"x"}, {"y"}).output("y");
  EXPECT_EQ(findings(b), Strings{"E2902"});
  EXPECT_EQ(ops(*imported(b)), Strings{"Relu"});
}

TEST(Import, CancelledAtOnce) {
  ModelBuilder b(14);
  b.input("x", "float[2]").node("Relu", {"x"}, {"y"}).output("y");
  RunControl control;
  control.cancel();
  ImportOptions options;
  options.control = &control;
  try {
    import_model(b.model, small_catalog(), options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::cancelled);
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
