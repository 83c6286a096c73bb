// Graphs that must be refused with a code, quickly, whatever they contain: the cases 29 and 40 to 50 of the
// list of bad inputs that concern import and inference.
#include <gtest/gtest.h>

#include <cmath>
#include <ctime>

#include "onnx/checker.h"
#include "onnx/importer.h"
#include "support/hostile_limits.h"
#include "support/model_builder.h"
#include "support/small_catalog.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;  // NOLINT: builders read as words

/// Codes of the errors, each once, in order of appearance. Ten seconds of a processor are the most that any
/// bad input may take.
std::vector<std::string> errors(const onnx::Model& m, const SchemaCatalog& catalog = small_catalog()) {
  const std::clock_t start = std::clock();
  std::vector<Diagnostic> found;
  import_leniently(m, catalog, {}, found);
  EXPECT_LT(std::clock() - start, 10 * CLOCKS_PER_SEC);
  std::vector<std::string> r;
  for (const Diagnostic& d : found)
    if (d.severity == Diagnostic::Severity::error) {
      if (std::find(r.begin(), r.end(), code_name(d.code)) == r.end()) r.push_back(code_name(d.code));
      EXPECT_FALSE(d.expected.empty() || d.got.empty()) << d.message();
    }
  return r;
}
std::vector<std::string> errors(const ModelBuilder& b) { return errors(b.model); }
using Strings = std::vector<std::string>;

ModelBuilder valid() {
  ModelBuilder b(14);
  return b.input("x", "float[2,3]").node("Relu", {"x"}, {"y"}).output("y");
}

TEST(BadGraph, Case29EmptyModelAndVersions) {
  EXPECT_EQ(errors(onnx::Model()), (Strings{"E2002", "E2001"}));
  auto b = valid();
  b.model.proto.graph.reset();
  EXPECT_EQ(errors(b), Strings{"E2001"});
  b = valid();
  b.model.proto.opset_import.clear();
  EXPECT_EQ(errors(b), Strings{"E2001"});
  for (int64_t ir : {int64_t{0}, int64_t{-1}, int64_t{1} << 31, INT64_MAX, INT64_MIN}) {
    b = valid();
    b.model.proto.ir_version = ir;
    EXPECT_EQ(errors(b), Strings{"E2002"}) << ir;
  }
  for (int64_t opset : {int64_t{0}, int64_t{-1}, int64_t{newest_opset + 1}, INT64_MAX, INT64_MIN}) {
    b = valid();
    b.model.proto.opset_import[0].version = opset;
    EXPECT_EQ(errors(b), Strings{"E2003"}) << opset;
  }
}

// Merged files have both "" and "ai.onnx", each in its version. Neither onnx.checker nor ONNX Runtime refuse
// that; the latter uses the last one, which decides what Softmax means here.
TEST(BadGraph, Case29TwoVersionsOfOneDomain) {
  for (const int64_t last : {12, 13})
    for (const char* domain : {"", "ai.onnx"}) {
      ModelBuilder b(25 - last);
      b.import_opset(domain, last).input("x", "float[2,3,4]").node("Softmax", {"x"}, {"y"}).output("y");
      EXPECT_EQ(errors(b), Strings{});
      EXPECT_EQ(import_model(b.model, SchemaCatalog::standard())->live_nodes(), last == 13 ? 1u : 4u);
      const auto findings = check_model(b.model, small_catalog());
      ASSERT_EQ(findings.size(), 1u);
      EXPECT_EQ(findings[0].code, Code::model_bad_opset);
      EXPECT_EQ(findings[0].severity, Diagnostic::Severity::warning);
    }
  ModelBuilder same = valid();
  same.import_opset("ai.onnx", 14);
  EXPECT_TRUE(check_model(same.model, small_catalog()).empty());
}

TEST(BadGraph, Case39QuantizationScales) {
  const auto with = [](const char* op, std::vector<int64_t> dims, std::vector<float> scale) {
    ModelBuilder b(21);
    const bool quantize = op[0] == 'Q';
    b.input("x", quantize ? "float[2,3]" : "int8[2,3]")
        .initializer(float_tensor("s", std::move(dims), std::move(scale)));
    return errors(b.node(op, {"x", "s"}, {"y"}).output("y").model, SchemaCatalog::standard());
  };
  for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) {
    EXPECT_EQ(with(op, {}, {0.5f}), Strings{});
    EXPECT_EQ(with(op, {3}, {1, 2, 3}), Strings{});
    for (const float bad : {0.0f, -0.0f, NAN, INFINITY, -INFINITY}) {
      EXPECT_EQ(with(op, {}, {bad}), Strings{"E2307"}) << op << " " << bad;
      EXPECT_EQ(with(op, {3}, {1, bad, 3}), Strings{"E2307"}) << op << " " << bad;
    }
    EXPECT_EQ(with(op, {2}, {1, 2}), Strings{"E2306"}) << op;
    EXPECT_EQ(with(op, {2, 3}, {1, 1, 1, 1, 1, 1}), Strings{"E2306"}) << op;
    EXPECT_EQ(with(op, {1, 1, 1}, {1}), Strings{"E2306"}) << op;
    EXPECT_EQ(with(op, {0}, {}), Strings{"E2306"}) << op;
  }
}

TEST(BadGraph, Case40ElementTypesOutOfRange) {
  for (int32_t type : {-1, 29, 1000, INT32_MAX, INT32_MIN}) {
    auto b = valid();
    b.graph().input[0].type->tensor_type->elem_type = type;
    EXPECT_EQ(errors(b)[0], "E2103") << type;
    b = valid();
    b.declare("y", "float");
    b.graph().value_info[0].type->tensor_type->elem_type = type;
    b.graph().output[0].type = b.graph().value_info[0].type;
    EXPECT_EQ(errors(b)[0], "E2103") << type;
    b = valid();
    b.graph().initializer.push_back(float_tensor("w", {1}, {1}));
    b.graph().initializer[0].data_type = type;
    EXPECT_EQ(errors(b)[0], "E2103") << type;
  }
}

TEST(BadGraph, Case41Cycles) {
  auto b = valid();
  b.node("Add", {"y", "q"}, {"p"})
      .node("Relu", {"p"}, {"q"})
      .node("Relu", {"q"}, {"behind"})
      .output("behind");
  EXPECT_EQ(errors(b), Strings{"E2201"});
  b = valid();
  b.node("Relu", {"self"}, {"self"});
  EXPECT_EQ(errors(b), Strings{"E2201"});
  // Through what a body captures.
  ModelBuilder c(13);
  auto body = make_body({}, {make_node("Relu", {"later"}, {"r"})}, {{"r", ""}});
  c.input("c", "bool[]")
      .node("If", {"c"}, {"early"},
            {graph_attribute("then_branch", body), graph_attribute("else_branch", body)});
  c.node("Relu", {"early"}, {"later"}).output("later");
  EXPECT_EQ(errors(c), Strings{"E2201"});
}

TEST(BadGraph, Case42RecursiveFunctions) {
  auto calls = [](std::vector<std::pair<std::string, std::string>> functions) {
    ModelBuilder b(13);
    b.import_opset("local", 1);
    for (auto& [name, callee] : functions)
      b.function("local", name, {"a"}, {"r"}, {make_node(callee, {"a"}, {"r"}, {}, "local")}, {}, 13);
    b.input("x", "float[2]").node(functions[0].first, {"x"}, {"y"}, {}, "local").output("y");
    return b;
  };
  EXPECT_EQ(errors(calls({{"F", "F"}})), Strings{"E2206"});
  EXPECT_EQ(errors(calls({{"F", "G"}, {"G", "F"}})), Strings{"E2206"});
  EXPECT_EQ(errors(calls({{"F", "G"}, {"G", "H"}, {"H", "G"}})), Strings{"E2206"});
  ModelBuilder b(13);
  b.import_opset("local", 1);
  auto body = make_body({}, {make_node("F", {"a"}, {"t"}, {}, "local")}, {{"t", ""}});
  b.function("local", "F", {"a", "c"}, {"r"},
             {make_node("If", {"c"}, {"r"},
                        {graph_attribute("then_branch", body), graph_attribute("else_branch", body)})},
             {}, 13);
  b.input("x", "float[2]").input("c", "bool[]").node("F", {"x", "c"}, {"y"}, {}, "local").output("y");
  EXPECT_EQ(errors(b), Strings{"E2206"});
}

TEST(BadGraph, Case43LargeDeepAndNested) {
  // A chain of 100 000 succeeds, and costs no stack.
  ModelBuilder chain(14);
  chain.input("v0", "float[N]");
  for (int i = 0; i < 100'000; ++i)
    chain.node("Relu", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  chain.output("v100000");
  EXPECT_EQ(errors(chain), Strings{});
  std::reverse(chain.graph().node.begin(), chain.graph().node.end());
  EXPECT_EQ(errors(chain), Strings{});

  // A million nodes meet the published limit.
  ModelBuilder many(14);
  many.input("x", "float[N]").output("x");
  many.graph().node.assign(1'000'000, make_node("Relu", {"x"}, {""}));
  EXPECT_EQ(errors(many), Strings{"E2205"});

  auto nested = [](int depth) {
    onnx::GraphProto g = make_body({}, {make_node("Relu", {"x"}, {"r"})}, {{"r", ""}});
    for (int i = 0; i < depth; ++i) {
      onnx::GraphProto leaf = make_body({}, {make_node("Relu", {"x"}, {"l"})}, {{"l", ""}});
      onnx::GraphProto outer;
      outer.name = "outer";
      outer.node.emplace_back();
      onnx::NodeProto& n = outer.node.back();
      n.op_type = "If";
      n.input = {"c"};
      n.output = {"o"};
      n.attribute.push_back(graph_attribute("then_branch", std::move(g)));
      n.attribute.push_back(graph_attribute("else_branch", std::move(leaf)));
      outer.output.push_back(make_value("o", ""));
      g = std::move(outer);
    }
    ModelBuilder b(13);
    b.graph() = std::move(g);
    return b.input("x", "float[N]").input("c", "bool[]");
  };
  EXPECT_EQ(errors(nested(100)), Strings{});
  EXPECT_EQ(errors(nested(1000)), Strings{"E2204"});
}

TEST(BadGraph, Case44NamesTwiceOrNever) {
  auto b = valid();
  b.node("Relu", {"x"}, {"y"});
  EXPECT_EQ(errors(b), Strings{"E2202"});
  b = valid();
  b.input("x", "float[2]");
  EXPECT_EQ(errors(b), Strings{"E2202"});
  b = valid();
  b.initializer(float_tensor("w", {1}, {1})).initializer(float_tensor("w", {1}, {1}));
  EXPECT_EQ(errors(b), Strings{"E2202"});
  b = valid();
  b.initializer(float_tensor("y", {1}, {1}));
  EXPECT_EQ(errors(b), Strings{"E2202"});
  b = valid();
  b.node("Relu", {"xx"}, {"z"});
  EXPECT_EQ(errors(b), Strings{"E2203"});
  b = valid();
  b.output("zz");
  EXPECT_EQ(errors(b), Strings{"E2203"});
  b = valid();
  b.input("", "float");
  EXPECT_EQ(errors(b), Strings{"E2203"});
  // Values of a body are not visible outside it.
  ModelBuilder c(13);
  auto body = make_body({}, {make_node("Relu", {"x"}, {"inside"})}, {{"inside", ""}});
  c.input("c", "bool[]").input("x", "float[2]");
  c.node("If", {"c"}, {"y"}, {graph_attribute("then_branch", body), graph_attribute("else_branch", body)});
  c.node("Relu", {"inside"}, {"z"}).output("z");
  EXPECT_EQ(errors(c), Strings{"E2203"});
}

TEST(BadGraph, Case45FunctionsThatGrowExponentially) {
  ModelBuilder b(14);
  b.import_opset("local", 1);
  b.function("local", "F0", {"a"}, {"r"}, {make_node("Relu", {"a"}, {"r"})}, {}, 14);
  for (int i = 1; i <= 64; ++i) {
    const std::string before = "F" + std::to_string(i - 1);
    b.function("local", "F" + std::to_string(i), {"a"}, {"r"},
               {make_node(before, {"a"}, {"h"}, {}, "local"), make_node(before, {"h"}, {"r"}, {}, "local")},
               {}, 14);
  }
  b.input("x", "float[2]").node("F64", {"x"}, {"y"}, {}, "local").output("y");
  EXPECT_EQ(errors(b), Strings{"E2207"});
  // Nested deeper than the limit, one call each.
  ModelBuilder deep(14);
  deep.import_opset("local", 1);
  deep.function("local", "F0", {"a"}, {"r"}, {make_node("Relu", {"a"}, {"r"})}, {}, 14);
  for (int i = 1; i <= 5000; ++i)
    deep.function("local", "F" + std::to_string(i), {"a"}, {"r"},
                  {make_node("F" + std::to_string(i - 1), {"a"}, {"r"}, {}, "local")}, {}, 14);
  deep.input("x", "float[2]").node("F5000", {"x"}, {"y"}, {}, "local").output("y");
  EXPECT_EQ(errors(deep), Strings{"E2207"});
  // A body is passed to a function which uses it twice, and so on: no table of functions shows that growth.
  ModelBuilder given(13);
  given.import_opset("local", 1);
  using A = onnx::AttributeProto;
  given.function("local", "Twice", {"c"}, {"r"},
                 {make_node("If", {"c"}, {"r"},
                            {reference_attribute("then_branch", "b", A::GRAPH),
                             reference_attribute("else_branch", "b", A::GRAPH)})},
                 {"b"}, 13);
  onnx::GraphProto g = make_body({}, {make_node("Relu", {"x"}, {"r"})}, {{"r", ""}});
  for (int i = 0; i < 40; ++i)
    g = make_body({}, {make_node("Twice", {"c"}, {"r"}, {graph_attribute("b", g)}, "local")}, {{"r", ""}});
  given.graph() = g;
  given.input("x", "float[2]").input("c", "bool[]");
  const Strings met = errors(given);
  EXPECT_TRUE(met == Strings{"E2205"} || met == Strings{"E2207"}) << met.size();
}

/// A node of the standard catalog that reads constants; its shape as inferred.
std::string inferred_type(const char* op, std::vector<onnx::TensorProto> constants,
                          std::vector<onnx::AttributeProto> attributes = {}) {
  ModelBuilder b(newest_opset, newest_ir_version);
  std::vector<std::string> inputs;
  for (onnx::TensorProto& c : constants) {
    inputs.push_back(*c.name);
    b.initializer(std::move(c));
  }
  b.node(op, inputs, {"y"}, std::move(attributes)).output("y");
  std::vector<Diagnostic> found;
  const std::clock_t start = std::clock();
  const auto g = import_leniently(b.model, SchemaCatalog::standard(), {}, found);
  EXPECT_LT(std::clock() - start, CLOCKS_PER_SEC);
  for (const Diagnostic& d : found) return code_name(d.code);
  return g->value(g->outputs().at(0)).type.str();
}

TEST(BadGraph, Case46TerabytesAreShapesUntilSomebodyRunsThem) {
  constexpr int64_t tera = int64_t{1} << 40;
  EXPECT_EQ(inferred_type("ConstantOfShape", {int64_tensor("s", {2}, {tera, 4})}), "float[1099511627776,4]");
  EXPECT_EQ(inferred_type("Expand", {float_tensor("x", {1}, {1}), int64_tensor("s", {1}, {tera})}),
            "float[1099511627776]");
  EXPECT_EQ(inferred_type("Tile", {float_tensor("x", {1}, {1}), int64_tensor("s", {1}, {tera})}),
            "float[1099511627776]");
  EXPECT_EQ(inferred_type("Range", {int64_tensor("a", {}, {0}), int64_tensor("b", {}, {tera}),
                                    int64_tensor("c", {}, {1})}),
            "int64[1099511627776]");
  EXPECT_EQ(inferred_type("Pad", {float_tensor("x", {1}, {1}), int64_tensor("p", {2}, {tera, 0})}),
            "float[1099511627777]");
  for (int64_t bad : {int64_t{-1}, INT64_MIN}) {
    EXPECT_EQ(inferred_type("ConstantOfShape", {int64_tensor("s", {1}, {bad})})[0], 'E') << bad;
    EXPECT_EQ(inferred_type("Tile", {float_tensor("x", {1}, {1}), int64_tensor("s", {1}, {bad})})[0], 'E')
        << bad;
  }
}

TEST(BadGraph, Case47LoopsThatNeverEndOrNeverBegin) {
  for (int64_t trips : {INT64_MAX, INT64_MIN, int64_t{-1}, int64_t{0}}) {
    ModelBuilder b(newest_opset, newest_ir_version);
    auto body = make_body({{"i", "int64[]"}, {"go", "bool[]"}, {"s", ""}},
                          {make_node("Add", {"s", "s"}, {"s2"}), make_node("Identity", {"go"}, {"go2"}),
                           make_node("Relu", {"s2"}, {"scan"})},
                          {{"go2", ""}, {"s2", ""}, {"scan", ""}});
    b.input("x", "float[N]").initializer(int64_tensor("m", {}, {trips}));
    b.node("Loop", {"m", "", "x"}, {"last", "all"}, {graph_attribute("body", body)})
        .output("last")
        .output("all");
    EXPECT_EQ(errors(b.model, SchemaCatalog::standard()), Strings{}) << trips;
  }
}

TEST(BadGraph, Case48AxesOutOfRangeOnEveryOperatorThatHasOne) {
  const SchemaCatalog& all = SchemaCatalog::standard();
  int tried = 0;
  for (const auto& [key, schema] : all.all()) {
    const Signature& s = schema.newest().signature();
    const AttributeDecl* axis = s.attribute("axis");
    if (!key.first.empty() || !axis || axis->kind != "int" || !schema.shape_rule() ||
        schema.newest().deprecated)
      continue;
    for (int64_t value : {int64_t{3}, int64_t{99}, int64_t{-99}, INT64_MAX, INT64_MIN}) {
      ModelBuilder b(newest_opset, newest_ir_version);
      std::vector<std::string> inputs, outputs;
      for (size_t i = 0; i < std::max<size_t>(s.min_inputs, 1); ++i) {
        const TypeVariable* v = s.variable(s.input(i).type);
        std::string type = v ? v->types[0] : s.input(i).type;
        if (v && v->allows(ValueType::parse("float"))) type = "float";
        inputs.push_back("x" + std::to_string(i));
        if (type.starts_with("seq(")) type.insert(type.size() - 1, "[2,2]");
        b.input(inputs.back(), type.ends_with(")") ? type : type + "[2,2]");
      }
      for (size_t i = 0; i < std::max<size_t>(s.min_outputs, 1); ++i)
        outputs.push_back("y" + std::to_string(i));
      std::vector<onnx::AttributeProto> attributes{int_attribute("axis", value)};
      for (const AttributeDecl& a : s.attributes)
        if (a.required && a.kind == "int" && a.name != "axis") attributes.push_back(int_attribute(a.name, 1));
      b.node(key.second, inputs, outputs, attributes);
      for (const std::string& o : outputs) b.output(o);
      EXPECT_FALSE(errors(b.model, all).empty()) << key.second << " with axis " << value;
    }
    ++tried;
  }
  EXPECT_GE(tried, 10);
}

/// One node of the standard catalog with inputs of these types; errors it meets.
Strings node_errors(const char* op, std::vector<std::string> types,
                    std::vector<onnx::AttributeProto> attributes, size_t outputs = 1) {
  ModelBuilder b(newest_opset, newest_ir_version);
  std::vector<std::string> in, out;
  for (const std::string& t : types) {
    in.push_back("x" + std::to_string(in.size()));
    b.input(in.back(), t);
  }
  for (size_t i = 0; i < outputs; ++i) out.push_back("y" + std::to_string(i));
  b.node(op, in, out, std::move(attributes));
  for (const std::string& o : out) b.output(o);
  return errors(b.model, SchemaCatalog::standard());
}

TEST(BadGraph, Case48SplitsAndConvolutions) {
  EXPECT_FALSE(node_errors("Split", {"float[4]"}, {int_attribute("num_outputs", 0)}, 0).empty());
  EXPECT_FALSE(node_errors("Split", {"float[4]"}, {int_attribute("num_outputs", 3)}, 2).empty());
  EXPECT_FALSE(node_errors("Split", {"float[4]"}, {int_attribute("num_outputs", INT64_MAX)}, 2).empty());
  EXPECT_FALSE(node_errors("Conv", {"float[1,3]", "float[4,3]"}, {}).empty());
  EXPECT_FALSE(node_errors("Conv", {"float[1,3,8,8]", "float[4,3,3]"}, {}).empty());
  const std::vector<std::string> conv{"float[1,3,8,8]", "float[4,3,3,3]"};
  EXPECT_EQ(node_errors("Conv", conv, {}), Strings{});
  for (const char* name : {"strides", "dilations", "kernel_shape"})
    for (int64_t bad : {int64_t{0}, int64_t{-1}, INT64_MIN})
      EXPECT_FALSE(node_errors("Conv", conv, {ints_attribute(name, {bad, bad})}).empty())
          << name << " " << bad;
  for (int64_t bad : {int64_t{0}, int64_t{-1}, int64_t{2}, INT64_MIN})
    EXPECT_FALSE(node_errors("Conv", conv, {int_attribute("group", bad)}).empty()) << bad;
  EXPECT_FALSE(node_errors("Conv", conv, {ints_attribute("pads", {1, 1})}).empty());
  EXPECT_FALSE(node_errors("MaxPool", {"float[1,3,8,8]"}, {ints_attribute("kernel_shape", {0, 0})}).empty());
  EXPECT_FALSE(node_errors("MaxPool", {"float[1,3,8,8]"}, {}).empty());
}

TEST(BadGraph, Case49AttributesOfTheWrongKindOrMissing) {
  ModelBuilder b(14);
  b.input("x", "float[2,3]").node("Softmax", {"x"}, {"y"}, {ints_attribute("axis", {1})}).output("y");
  EXPECT_EQ(errors(b), Strings{"E2304"});
  b.graph().node[0] = make_node("Cast", {"x"}, {"y"});
  EXPECT_EQ(errors(b), Strings{"E2304"});
  b.graph().node[0] =
      make_node("Softmax", {"x"}, {"y"}, {int_attribute("axis", 0), int_attribute("axis", 1)});
  EXPECT_EQ(errors(b), Strings{"E2304"});
  b.graph().node[0] = make_node("Softmax", {"x"}, {"y"}, {int_attribute("axis", 0)});
  b.graph().node[0].attribute[0].type = 77;
  EXPECT_EQ(errors(b), Strings{"E2304"});
  b.graph().node[0].attribute[0].type = onnx::AttributeProto::TENSOR;
  EXPECT_EQ(errors(b), Strings{"E2304"});
  b.graph().node[0].attribute[0].type = onnx::AttributeProto::GRAPH;
  EXPECT_EQ(errors(b), Strings{"E2304"});
  b.graph().node[0].attribute[0].name.reset();
  EXPECT_EQ(errors(b), Strings{"E2304"});
  b.graph().node[0] = make_node("If", {"x"}, {"y"}, {int_attribute("then_branch", 0)});
  EXPECT_EQ(errors(b), Strings{"E2304"});
}

TEST(BadGraph, Case50ArityDomainsAndOperators) {
  auto b = valid();
  b.node("Add", {"x"}, {"z"});
  EXPECT_EQ(errors(b), Strings{"E2303"});
  b = valid();
  b.node("Add", {"x", "x", "x"}, {"z"});
  EXPECT_EQ(errors(b), Strings{"E2303"});
  b = valid();
  b.node("Add", {"x"}, {});
  EXPECT_EQ(errors(b), Strings{"E2303"});
  b = valid();
  b.node("Add", {"", "x"}, {"z"});
  EXPECT_EQ(errors(b), Strings{"E2303"});
  b = valid();
  b.node("NoSuchOperator", {"x"}, {"z"});
  EXPECT_EQ(errors(b), Strings{"E2301"});
  b = valid();
  b.node("", {"x"}, {"z"});
  EXPECT_EQ(errors(b), Strings{"E2301"});
  b = valid();
  b.node("Relu", {"x"}, {"z"}, {}, "no.such.domain");
  EXPECT_EQ(errors(b), Strings{"E2302"});
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
