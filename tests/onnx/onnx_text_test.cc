// The ONNX text format, both ways.
#include <gtest/gtest.h>

#include <cmath>

#include "lathe/onnx.h"
#include "support/error_code.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace onnx;

constexpr std::string_view everything = R"(<
  ir_version: 10,
  opset_import: ["" : 21, "com.example" : 3, "lib" : 1],
  producer_name: "the \"tests\"",
  producer_version: "1.0",
  domain: "example",
  model_version: 7,
  doc_string: "two
lines",
  metadata_props: ["key": "value", "other": ""]
>
main (float[N, 3] x, seq(float[]) s, map(int64, string) m, optional(seq(int32[2])) o,
      sparse_tensor(float[4, "a b"]) sp, opaque(com.example, Thing) op, string "two words") =>
     (float[?, 3] y, bool done)
<
  float[2, 2] w = {1, -2.5, inf, -inf}, int64 scalar = {-9223372036854775808}, string[2] names = {"a", "b\\c"},
  uint4[3] packed = {33, 3}, float16[2] half = {15360, 65535}, complex64[1] c = {1, -1}, uint64[1] big = {18446744073709551615},
  bool[2] flags = {1, 0}, double[0] none = {}, float[1000] outside = ["location": "w.bin", "offset": "4096"],
  sparse_tensor(float[3, 4]) some = {float[2] {1, 2}, int64[2] {0, 5}},
  float[N, 3] hidden
>
{
  # a comment
  [first] hidden = Relu (x)
  a, "", "strange name!" = com.example.Make:fast <i: int = -5, f: float = 1, s: string = "q\"", is: ints = [],
     fs: floats = [1, 2.5], ss: strings = ["x", ""], t: tensor = int8[2] {-1, 2}, tp: type_proto = seq(float[2]),
     ts: tensors = [float {1}, float[1] named {2}], tps: type_protos = [float[2], int64],
     st: sparse_tensor = sparse_tensor(float[9]) v {float[1] v {1}, int64[1] {8}}> (x, "", hidden)
  y = If (done) <then_branch: graph = yes () => (float y) { y = Identity (a) }, else_branch: graph = "no way" () => (float y) <float k = {0}> {
      y = Add (k, a)
  }>
  g = lib.scaled <alpha: float = 2> (y)
  = Sink (g)
  z = "odd domain!"."odd op" (x)
}
<
  domain: "lib",
  overload: "o",
  opset_import: ["" : 21],
  doc_string: "scales"
>
scaled <beta, alpha: float = 0.5> (float[N] v) => (r)
<float[N] t>
{
  t = Mul (v, v)
  r = LeakyRelu <alpha: float = @alpha> (t)
}
)";

TEST(OnnxText, ReadsEverythingTheSyntaxCanSay) {
  const auto m = from_text<ModelProto>(everything);
  EXPECT_EQ(m.ir_version, 10);
  ASSERT_EQ(m.opset_import.size(), 3u);
  EXPECT_EQ(m.producer_name, "the \"tests\"");
  EXPECT_EQ(m.doc_string, "two\nlines");
  EXPECT_EQ(m.metadata_props[1].value, "");
  const GraphProto& g = *m.graph;
  EXPECT_EQ(g.name, "main");
  ASSERT_EQ(g.input.size(), 7u);
  EXPECT_EQ(g.input[0].type->tensor_type->shape->dim[0].dim_param, "N");
  EXPECT_EQ(g.input[0].type->tensor_type->shape->dim[1].dim_value, 3);
  EXPECT_FALSE(g.input[1].type->sequence_type->elem_type->tensor_type->shape);
  EXPECT_EQ(g.input[2].type->map_type->key_type, 7);
  EXPECT_EQ(g.input[4].type->sparse_tensor_type->shape->dim[1].dim_param, "a b");
  EXPECT_EQ(g.input[5].type->opaque_type->domain, "com.example");
  EXPECT_EQ(g.input[6].name, "two words");
  EXPECT_FALSE(g.output[0].type->tensor_type->shape->dim[0].dim_param);
  EXPECT_TRUE(g.output[1].type->tensor_type->shape->dim.empty());
  ASSERT_EQ(g.initializer.size(), 10u);
  EXPECT_EQ(g.initializer[0].float_data, (std::vector<float>{1, -2.5f, INFINITY, -INFINITY}));
  EXPECT_EQ(g.initializer[1].int64_data[0], INT64_MIN);
  EXPECT_EQ(g.initializer[2].string_data[1].view(), "b\\c");
  EXPECT_EQ(to_tensor(g.initializer[3]).as<uint8_t>()[0], 33);
  EXPECT_EQ(g.initializer[6].uint64_data[0], UINT64_MAX);
  EXPECT_TRUE(g.initializer[9].is_external());
  ASSERT_EQ(g.sparse_initializer.size(), 1u);
  EXPECT_EQ(to_dense(g.sparse_initializer[0]).as<float>()[5], 2);
  EXPECT_EQ(g.value_info[0].name, "hidden");
  ASSERT_EQ(g.node.size(), 6u);
  EXPECT_EQ(g.node[0].name, "first");
  const NodeProto& make = g.node[1];
  EXPECT_FALSE(make.name);
  EXPECT_EQ(make.domain, "com.example");
  EXPECT_EQ(make.overload, "fast");
  EXPECT_EQ(make.output, (std::vector<std::string>{"a", "", "strange name!"}));
  EXPECT_EQ(make.input, (std::vector<std::string>{"x", "", "hidden"}));
  ASSERT_EQ(make.attribute.size(), 11u);
  EXPECT_EQ(make.attribute[1].f, 1.0f);
  EXPECT_EQ(make.attribute[3].type, AttributeProto::INTS);
  EXPECT_EQ(make.attribute[4].floats[1], 2.5f);
  EXPECT_EQ(make.attribute[8].tensors[1].name, "named");
  EXPECT_EQ(make.attribute[9].type_protos.size(), 2u);
  EXPECT_EQ(make.attribute[10].sparse_tensor->values->name, "v");
  EXPECT_EQ(g.node[2].attribute[1].g->name, "no way");
  EXPECT_EQ(g.node[2].attribute[1].g->initializer.size(), 1u);
  EXPECT_TRUE(g.node[4].output.empty());
  EXPECT_EQ(g.node[5].domain, "odd domain!");
  EXPECT_EQ(g.node[5].op_type, "odd op");
  ASSERT_EQ(m.functions.size(), 1u);
  const FunctionProto& f = m.functions[0];
  EXPECT_EQ(f.overload, "o");
  EXPECT_EQ(f.attribute, (std::vector<std::string>{"beta"}));
  EXPECT_EQ(f.attribute_proto[0].f, 0.5f);
  EXPECT_EQ(f.value_info.size(), 2u);
  EXPECT_EQ(f.node[1].attribute[0].ref_attr_name, "alpha");
  EXPECT_EQ(f.node[1].attribute[0].type, AttributeProto::FLOAT);
}

TEST(OnnxText, PrintsWhatItReads) {
  const auto m = from_text<ModelProto>(everything);
  const std::string printed = to_text(m);
  const auto again = from_text<ModelProto>(printed);
  EXPECT_EQ(serialize(m), serialize(again)) << printed;
}

TEST(OnnxText, RawDataIsPrintedAsValues) {
  GraphProto g;
  g.name = "g";
  g.initializer.push_back(from_tensor(Tensor::from<float>({2}, std::vector<float>{0.1f, -0.0f}), "w"));
  TensorProto six;
  six.name = "six";
  six.data_type = static_cast<int32_t>(DataType::float6e3m2);
  six.dims = {3};
  six.raw_data = Bytes(std::string("\x41\x20\x03", 3));
  g.initializer.push_back(six);
  const std::string printed = to_text(g);
  EXPECT_NE(printed.find("float[2] w = {0.1,-0}"), std::string::npos) << printed;
  const auto again = from_text<GraphProto>(printed);
  EXPECT_TRUE(std::signbit(to_tensor(again.initializer[0]).as<float>()[1]));
  const Tensor a = to_tensor(six), b = to_tensor(again.initializer[1]);
  EXPECT_TRUE(std::equal(a.as<uint8_t>().begin(), a.as<uint8_t>().end(), b.as<uint8_t>().begin()));
}

TEST(OnnxText, NodesAndFunctionsAlone) {
  EXPECT_EQ(to_text(from_text<NodeProto>("y=Conv<kernel_shape=[3,3]>(x,w)")),
            "y = Conv <kernel_shape: ints = [3, 3]> (x, w)");
  const auto f = from_text<FunctionProto>("<opset_import: [\"\" : 1]> f (a) => (b) { b = Id (a,) }");
  EXPECT_EQ(f.node[0].input.size(), 1u);
  EXPECT_EQ(serialize(from_text<FunctionProto>(to_text(f))).size(), serialize(f).size() + 2);  // domain: ""
}

TEST(OnnxText, ReferencesWithoutAType) {
  NodeProto n = from_text<NodeProto>("y = Elu <alpha = @slope, beta: float = @other> (x)");
  EXPECT_FALSE(n.attribute.at(0).type);
  EXPECT_EQ(to_text(n), "y = Elu <alpha = @slope, beta: float = @other> (x)");
  EXPECT_EQ(serialize(from_text<NodeProto>(to_text(n))), serialize(n));
}

TEST(OnnxText, ANameThatIsATypeIsQuoted) {
  GraphProto g = from_text<GraphProto>("g (float[2] \"float\") => (float y) { y = Relu (\"float\") }");
  EXPECT_EQ(serialize(from_text<GraphProto>(to_text(g))), serialize(g));
}

TEST(OnnxText, SyntaxErrorsSayWhere) {
  const std::string said =
      sentence_of([] { from_text<GraphProto>("g (float x) => (float y) {\n  y = Relu x)\n}"); });
  EXPECT_NE(said.find("E1151"), std::string::npos) << said;
  EXPECT_NE(said.find("line 2, column 12"), std::string::npos) << said;
  for (const char* bad : {"", "g", "g (float x", "g () => () { = }", "g () => () {} {",
                          "g () => () { y = A <a: ints = 3> (x) }", "g () => () { y = A <a: int = [3]> (x) }",
                          "g () => () { y = A <a = []> (x) }", "g () => () { y = \"A }",
                          "g (float[99999999999999999999] x) => () {}", "g () => () <x = {1}> {}",
                          "g () => () <float[N] x = {1}> {}", "g () => () { y = A <a: int = 1.5> (x) }",
                          "g () => () <int8[1] x = {1e3}> {}", "g () => () <float x> {\\"})
    EXPECT_EQ(code_of([&] { from_text<GraphProto>(bad); }), Code::text_syntax) << bad;
}

TEST(OnnxText, DeepAndLongTextsMeetALimit) {
  std::string types, graphs;
  for (int i = 0; i < 10000; ++i) types += "seq(";
  EXPECT_EQ(code_of([&] { from_text<GraphProto>("g (" + types); }), Code::text_syntax);
  for (int i = 0; i < 10000; ++i) graphs += "g () => () { = If () <then_branch: graph = ";
  EXPECT_EQ(code_of([&] { from_text<GraphProto>(graphs); }), Code::text_syntax);
  std::string many = "g () => () {";
  for (int i = 0; i < 1000000; ++i) many += "=A()";
  EXPECT_EQ(code_of([&] { from_text<GraphProto>(many + "}"); }), Code::wire_too_large);
}

TEST(OnnxText, CutAtEveryByte) {
  for (size_t n = 0; n < everything.size(); ++n)
    code_of([&] { from_text<ModelProto>(everything.substr(0, n)); });
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
