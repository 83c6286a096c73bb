// Passes over constants and quantized tensors, and weights that may be exchanged later.
#include <gtest/gtest.h>

#include "support/optimized.h"

namespace lathe {
namespace LATHE_TEST_FILE {

TEST(Constants, EqualOnesAreOne) {
  const std::string text =
      "(float[2] x) => (float[2] y) <float[2] a = {3,4}, float[2] b = {3,4}, float[1,2] c = {3,4}> { p = "
      "Mul(x, a) q = "
      "Mul(x, b) r = Sub(p, q) y = Add(r, a) }";
  EXPECT_EQ(optimized(text), "Mul Sub Add");
  EXPECT_EQ(optimized(text, OptimizationLevel::all, {"-share-constants"}), "Mul Mul Sub Add");
}

/// If constants begin alike, more of them is compared.
TEST(Constants, ThatBeginAlike) {
  const auto constant = [](const char* name, int last) {
    std::string all = std::string("float[200] ") + name + " = {";
    for (int i = 0; i < 199; ++i) all += "7,";
    return all + std::to_string(last) + "}";
  };
  const std::string text = "(float[200] x) => (float[200] y) <" + constant("a", 1) + ", " + constant("b", 2) +
                           ", " + constant("c", 1) +
                           "> { p = Mul(x, a) q = Mul(x, b) r = Mul(x, c) s = Sub(p, q) "
                           "y = Add(s, r) }";
  EXPECT_EQ(optimized(text), "Mul Mul Sub Add");
}

TEST(Constants, IntoTheProduct) {
  const std::string head =
      "(float[2,2] x, float[2,3,2] z) => (float[i,j] y) <float[2,3] w = {1,2,3,4,5,6}, float[3] s = "
      "{1,2,0.5}, float[3] b = "
      "{0,1,-1}, float[3] m = {0.5,0.25,1}, float[3] v = {1,4,0.25}, float[1] k = {2}, float[2,1] rows = "
      "{1,2}> ";
  EXPECT_EQ(optimized(head + "{ p = MatMul(x, w) y = Mul(p, s) }"), "MatMul");
  EXPECT_EQ(optimized(head + "{ p = MatMul(x, w) q = Add(p, b) y = Div(q, k) }"), "Gemm");
  EXPECT_EQ(optimized(head + "{ p = Gemm(x, w, b) y = Mul(s, p) }"), "Gemm");
  EXPECT_EQ(optimized(head + "{ p = Gemm(x, w) q = Mul(s, p) y = Add(q, b) }"), "Gemm");
  EXPECT_EQ(optimized(head + "{ p = Gemm(x, w, b) y = BatchNormalization(p, s, b, m, v) }"), "Gemm");
  EXPECT_EQ(optimized(head + "{ p = MatMul(x, w) y = BatchNormalization(p, s, b, m, v) }"), "Gemm");
  // A Gemm keeps its factors and its transposes.
  const std::string gemm = head.substr(0, head.size() - 2) + ", float[3,2] t = {1,4,2,5,3,6}> ";
  for (const char* product : {"<alpha=0.5, beta=2.0>(x, w, b)", "<alpha=0.5, beta=2.0, transB=1>(x, t, b)",
                              "<transA=1, beta=0.5>(x, w)", "<transB=1>(x, t)"}) {
    const std::string p = std::string("{ p = Gemm") + product;
    EXPECT_EQ(optimized(gemm + p + " y = BatchNormalization(p, s, b, m, v) }"), "Gemm") << product;
    EXPECT_EQ(optimized(gemm + p + " y = Mul(p, s) }"), "Gemm") << product;
    EXPECT_EQ(optimized(gemm + p + " y = Div(p, k) }"), "Gemm") << product;
  }
  // Along the rows, of weights that others read, and by what divides.
  EXPECT_EQ(optimized(head + "{ p = MatMul(x, w) y = Mul(p, rows) }"), "MatMul Mul");
  EXPECT_EQ(optimized(head + "{ p = MatMul(x, w) q = Mul(p, s) a = Relu(x) r = MatMul(a, w) y = Add(q, r) }"),
            "MatMul Mul Relu MatMul Add");
  EXPECT_EQ(optimized(head + "{ p = MatMul(x, w) y = Div(s, p) }"), "MatMul Div");
  EXPECT_EQ(optimized("(float[2,3,2] z) => (float[2,3,3] y) <float[2,3] w = {1,2,3,4,5,6}, float[1,3] s = "
                      "{1,2,0.5}, float[3] b "
                      "= {0,1,-1}> { p = MatMul(z, w) q = Add(b, p) y = Mul(q, s) }"),
            "MatMul Add");
}

TEST(Constants, FoldingHasABudget) {
  const std::string text =
      "(float[4,4] x) => (float[4,4] y) <int64[2] s = {4,4}, float one = {1.5}> { e = Expand(one, s) f = "
      "Sqrt(e) y = "
      "Mul(x, f) }";
  BuildOptions o;
  o.level = OptimizationLevel::none;
  EXPECT_EQ(optimized(text, o), "Mul");
  o.fold_limit = 64;  // the first of them
  EXPECT_EQ(optimized(text, o), "Sqrt Mul");
  o.fold_limit = 0;
  EXPECT_EQ(optimized(text, o), "Expand Sqrt Mul");
  // All rounds together have this much.
  o.level = OptimizationLevel::basic;
  o.fold_limit = 64;
  EXPECT_EQ(optimized(text, o), "Sqrt Mul");
  // A constant that replaces a weight costs only the bytes by which it is larger, however many there are.
  const std::string transposed =
      "(float[4,4] x) => (float[4,4] y) <float[4,4] v = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, "
      "float[4,4] w = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[4] u = {1,2,3,4}, int64[2] s = {4,4}> "
      "{ a = Exp(v) b = Exp(w) c = Add(a, x) d = Add(b, c) e = Expand(u, s) y = Add(d, e) }";
  o.level = OptimizationLevel::none;
  o.fold_limit = 1;
  EXPECT_EQ(optimized(transposed, o), "Add Add Expand Add");
  o.fold_limit = 48;
  EXPECT_EQ(optimized(transposed, o), "Add Add Add");
  o.fold_limit = 0;
  EXPECT_EQ(optimized(transposed, o), "Exp Exp Add Add Expand Add");
  // A weight that is read elsewhere stays beside the constant computed from it.
  o.fold_limit = 63;
  EXPECT_EQ(
      optimized("(float[4,4] x) => (float[4,4] y) <float[4,4] v = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}> "
                "{ a = Exp(v) b = Add(a, x) y = Add(b, v) }",
                o),
      "Exp Add Add");
}

TEST(Constants, SmallIdentities) {
  EXPECT_EQ(optimized("(float[3] x, float[3] z) => (float[3] y) <float one = {1}> { a = Add(z, z) r = "
                      "Div(one, a) y = Mul(r, x) "
                      "}"),
            "Add Div");
  EXPECT_EQ(
      optimized("(float[3] x, float[3] z, bool[3] c) => (float[3] y) { n = Not(c) y = Where(n, x, z) }"),
      "Where");
  EXPECT_EQ(optimized("(float[3] x, bool[3] c) => (float[3] y) { n = Not(c) m = Not(n) y = Where(m, x, x) }"),
            "Where");
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) <float low = {-1}, float high = {0.5}> { r = Relu(x) y = "
                      "Clip(r, low, "
                      "high) }"),
            "Clip");
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) <float low = {0.25}> { r = Relu(x) y = Clip(r, low) }"),
            "Clip");
}

TEST(Constants, ConditionsThatAreKnown) {
  const std::string head =
      "(float[2,3] x, float[2,3] z) => (float[2,3] y) <bool yes = {1}, bool[2,1] no = {0,0}, "
      "bool[2,1] both = {0,1}, float one = {1}> { a = Exp(x) ";
  EXPECT_EQ(optimized(head + "b = Where(yes, a, z) y = Neg(b) }"), "Exp Neg");
  EXPECT_EQ(optimized(head + "b = Where(no, z, a) y = Neg(b) }"), "Exp Neg");
  EXPECT_EQ(optimized(head + "b = Where(no, a, one) y = Add(b, z) }"), "Add");
  EXPECT_EQ(optimized(head + "y = Where(yes, a, z) }"), "Exp");
  EXPECT_EQ(optimized(head + "y = Where(both, a, z) }"), "Exp Where");
}

// A Clip whose maximum is below its minimum returns the maximum; for other operators such bounds are invalid.
TEST(Constants, ClipsOfReluBelowZero) {
  const auto g = optimized_graph(
      "(float[3] x) => (float[3] y) <float low = {-3}, float high = {-1}> { r = Relu(x) y = "
      "Clip(r, low, high) }");
  ASSERT_EQ(operators(*g), "Clip");
  const Node& clip = g->node(g->order()[0]);
  EXPECT_EQ(clip.inputs[1], clip.inputs[2]);
  EXPECT_EQ(optimized("(float[3] x, float high) => (float[3] y) <float low = {-3}> { r = Relu(x) y = Clip(r, "
                      "low, high) }"),
            "Relu Clip");
}

TEST(Constants, ScaleAndShiftAreForOwnKernels) {
  const std::string text =
      "(float[1,2,3] x) => (float[1,2,3] y) <float[2] s = {1,2}, float[2] b = {3,4}, float[2] m = {5,6}, "
      "float[2] v = {1,4}> { r = Relu(x) y = BatchNormalization(r, s, b, m, v) }";
  EXPECT_EQ(optimized(text), "Relu Mul Add");
  EXPECT_EQ(written(text), "Relu BatchNormalization");
}

TEST(Constants, TablesOneAfterTheOther) {
  onnx::Model m = model_of(
      "(string[4] x) => (string[4] y, float[4] z) { a = ai.onnx.ml.LabelEncoder<keys_strings=[\"a\", \"b\", "
      "\"a\"], values_int64s=[5, 6, 7], default_int64=8>(x) y = ai.onnx.ml.LabelEncoder<keys_int64s=[7, 8, "
      "5], "
      "values_strings=[\"seven\", \"eight\", \"five\"], default_string=\"none\">(a) b = "
      "ai.onnx.ml.LabelEncoder<keys_strings=[\"c\"], values_strings=[\"d\"]>(x) z = "
      "ai.onnx.ml.LabelEncoder<keys_strings=[\"d\"], values_floats=[1.5]>(b) }");
  onnx::OperatorSetIdProto& tables = m.proto.opset_import.emplace_back();
  tables.domain = "ai.onnx.ml";
  tables.version = 4;
  const SchemaCatalog& schemas = SchemaCatalog::standard();
  const auto before = import_model(m, schemas, {}), after = import_model(m, schemas, {});
  optimize_graph(*after, schemas, KernelCatalog::standard(), {});
  EXPECT_EQ(operators(*after), "LabelEncoder LabelEncoder");
  // If keys are equal, the last one counts; the default of the first table may be a key of the second.
  const std::vector<Value> x{Tensor::from<std::string>({4}, std::vector<std::string>{"a", "b", "c", "?"})};
  const std::vector<Value> want = evaluate(*before, x), got = evaluate(*after, x);
  const auto words = got[0].tensor().as<std::string>();
  EXPECT_EQ(std::vector<std::string>(words.begin(), words.end()),
            (std::vector<std::string>{"seven", "none", "eight", "eight"}));
  for (int64_t i = 0; i < 4; ++i) {
    EXPECT_EQ(want[0].tensor().as<std::string>()[static_cast<size_t>(i)], words[static_cast<size_t>(i)]);
    EXPECT_EQ(load_double(want[1].tensor(), i), load_double(got[1].tensor(), i));
  }
}

const std::string grid =
    "float s = {0.25}, float t = {0.25}, float u = {0.5}, uint8 z = {3}, uint8 n = {0}, int64[4] shape = "
    "{1,3,2,2}> ";

TEST(Quantized, IntegersMove) {
  const std::string head = "(uint8[1,2,2,3] x) => (float[i,j,k,l] y) <" + grid;
  EXPECT_EQ(optimized(head + "{ d = DequantizeLinear(x, s, z) m = Transpose<perm=[0,3,1,2]>(d) q = "
                             "QuantizeLinear(m, t, z) y = DequantizeLinear(q, u, z) }"),
            "Transpose DequantizeLinear");
  EXPECT_EQ(optimized(head + "{ d = DequantizeLinear(x, s) m = Reshape(d, shape) q = QuantizeLinear(m, s, n) "
                             "y = DequantizeLinear(q, u, z) }"),
            "Reshape DequantizeLinear");
  // Another grid.
  EXPECT_EQ(optimized(head + "{ d = DequantizeLinear(x, s, z) m = Reshape(d, shape) q = QuantizeLinear(m, u, "
                             "z) y = DequantizeLinear(q, u, z) }"),
            "Reshape DequantizeLinear QuantizeLinear DequantizeLinear");
  EXPECT_EQ(optimized("(float[1,2,2,3] x) => (uint8[1,3,2,2] y) <" + grid +
                      "{ m = Reshape(x, shape) y = QuantizeLinear(m, s, z) }"),
            "QuantizeLinear Reshape");
  EXPECT_EQ(optimized("(uint8[2,3] a, uint8[4,3] b) => (float[6,3] y) <" + grid +
                      "{ c = DequantizeLinear(a, s, z) d = DequantizeLinear(b, t, z) e = Concat<axis=0>(c, "
                      "d) y = Relu(e) }"),
            "Concat DequantizeLinear Relu");
  EXPECT_EQ(optimized("(uint8[2,3] a, uint8[4,3] b) => (float[6,3] y) <" + grid +
                      "{ c = DequantizeLinear(a, s, z) d = DequantizeLinear(b, u, z) e = Concat<axis=0>(c, "
                      "d) y = Relu(e) }"),
            "DequantizeLinear DequantizeLinear Concat Relu");
}

TEST(Quantized, ThereAndBack) {
  EXPECT_EQ(
      optimized("(float[2,3] x) => (float[2,3] y) <" + grid +
                "{ q = QuantizeLinear(x, s, z) d = DequantizeLinear(q, s, z) r = QuantizeLinear(d, t, z) e = "
                "DequantizeLinear(r, s, z) y = Neg(e) }"),
      "QuantizeLinear DequantizeLinear Neg");
  // The first quantization stays, because it rounds.
  EXPECT_EQ(optimized("(float[2,3] x) => (float[2,3] y) <" + grid +
                      "{ q = QuantizeLinear(x, s, z) y = DequantizeLinear(q, s, z) }"),
            "QuantizeLinear DequantizeLinear");
  EXPECT_EQ(
      optimized("(float[2,3] x) => (uint8[2,3] y) <" + grid + "{ r = Relu(x) y = QuantizeLinear(r, s, n) }"),
      "QuantizeLinear");
  EXPECT_EQ(
      optimized("(float[2,3] x) => (uint8[2,3] y) <" + grid + "{ r = Relu(x) y = QuantizeLinear(r, s, z) }"),
      "Relu QuantizeLinear");
}

TEST(Quantized, ClipsThatSaturationDoes) {
  const std::string head =
      "(float[2,3] x) => (T[2,3] y) <float s = {0.0235294}, float half = {0.5}, uint8 n = {0}, int8 m = "
      "{-128}, "
      "int8 mid = {0}, float zero = {0}, float six = {6}, float five = {5}, float one = {1}> { ";
  const auto of = [&](const std::string& type, const std::string& clip, const std::string& quantize) {
    std::string text = head + clip + " y = QuantizeLinear(r, " + quantize + ") }";
    text.replace(text.find("T[2,3]"), 1, type);
    return optimized(text);
  };
  EXPECT_EQ(of("uint8", "r = Clip(x, zero, six)", "s, n"), "QuantizeLinear");
  EXPECT_EQ(of("int8", "r = Clip(x, zero, six)", "s, m"), "QuantizeLinear");
  EXPECT_EQ(of("int8", "r = Relu(x)", "s, m"), "QuantizeLinear");
  EXPECT_EQ(of("uint8", "r = Clip(x, zero)", "half, n"), "QuantizeLinear");
  // The grid goes further, on one side or the other.
  EXPECT_EQ(of("uint8", "r = Clip(x, zero, five)", "s, n"), "Clip QuantizeLinear");
  EXPECT_EQ(of("int8", "r = Clip(x, zero, six)", "s, mid"), "Clip QuantizeLinear");
  EXPECT_EQ(of("uint8", "r = Clip(x, one, six)", "s, n"), "Clip QuantizeLinear");
}

TEST(Refit, NothingFollowsFromWeights) {
  BuildOptions refit;
  refit.refit = true;
  const std::string one =
      "(float[3] x) => (float[3] y) <float o = {1}, float[3] a = {1,2,3}, float[3] b = {1,2,3}> ";
  EXPECT_EQ(optimized(one + "{ m = Mul(x, o) y = Relu(m) }"), "Relu");
  EXPECT_EQ(optimized(one + "{ m = Mul(x, o) y = Relu(m) }", refit), "Mul Relu");
  // Constants that are folded from weights are exchangeable too.
  EXPECT_EQ(optimized(one + "{ r = Sqrt(o) m = Mul(x, r) y = Relu(m) }"), "Relu");
  EXPECT_EQ(optimized(one + "{ r = Sqrt(o) m = Mul(x, r) y = Relu(m) }", refit), "Mul Relu");
  EXPECT_EQ(optimized(one + "{ p = Mul(x, a) q = Mul(x, b) y = Sub(p, q) }", refit), "Mul Mul Sub");
  // Shapes are read: types follow from them anyway.
  EXPECT_EQ(
      optimized(
          "(float[2,3] x) => (float[2,3] y) <int64[2] s = {3,2}, int64[2] t = {2,3}> { a = Reshape(x, s) b = "
          "Reshape(a, t) y = Relu(b) }",
          refit),
      "Relu");
  // Folding into weights requires only their shapes, and is repeated with other weights.
  EXPECT_EQ(optimized("(float[1,2,3,3] x) => (float[1,1,3,3] y) <float[1,2,1,1] w = {1,2}, float[1] k = {2}> "
                      "{ c = Conv(x, w) y "
                      "= Mul(c, k) }",
                      refit),
            "Conv");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
