// Passes one by one on small graphs: what they turn into what, and where they must not.
#include <gtest/gtest.h>

#include "support/optimized.h"

namespace lathe {
namespace LATHE_TEST_FILE {

TEST(Passes, WhatChangesNothingGoes) {
  EXPECT_EQ(optimized("(float[2,3] x) => (float[2,3] y) { a = Identity(x) b = Cast<to=1>(a) y = Relu(b) }"),
            "Relu");
  EXPECT_EQ(optimized("(float[2,3] x) => (float[2,3] y) { a = Transpose<perm=[0,1]>(x) y = Relu(a) }"),
            "Relu");
  EXPECT_EQ(
      optimized("(float[n,3] x) => (float[n,3] y) <int64[2] s = {-1,3}> { a = Reshape(x, s) y = Relu(a) }"),
      "Relu");
  EXPECT_EQ(
      optimized("(float[2,3] x) => (float[2,3] y) <int64[4] p = {0,0,0,0}> { a = Pad(x, p) y = Relu(a) }"),
      "Relu");
  EXPECT_EQ(
      optimized("(float[2,3] x) => (float[2,3] y) { a = Dropout(x) b = Concat<axis=0>(a) y = Relu(b) }"),
      "Relu");
  // Reversed is not the same, though the shape is.
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) <int64[1] b = {2}, int64[1] e = {-9}, int64[1] a = {0}, "
                      "int64[1] s = {-1}>"
                      "{ r = Slice(x, b, e, a, s) y = Relu(r) }"),
            "Slice Relu");
  EXPECT_EQ(optimized("(float[3,3] x) => (float[3,3] y) { a = Transpose(x) y = Relu(a) }"), "Transpose Relu");
  // The graph's outputs keep their names.
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) { y = Identity(x) }"), "Identity");
}

TEST(Passes, ResultsAreOutputsThemselves) {
  EXPECT_EQ(
      optimized("(float[3] x) => (float[3] y, float[3] z) { a = Exp(x) y = Identity(a) z = Softmax(a) }"),
      "Exp Softmax");
  EXPECT_EQ(optimized("(float[4] x) => (float[2] y, float[2] z) <int64[2] s = {2,2}> "
                      "{ a, b = Split<axis=0>(x, s) y = Identity(b) z = Relu(a) }"),
            "Split Relu");
  // Two outputs have two names, and an input that is an output keeps its own.
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y, float[3] z) { y = Exp(x) z = Identity(y) }"),
            "Exp Identity");
  EXPECT_EQ(
      optimized("(float[3] x) => (float[3] y, float[3] z) { a = Exp(x) y = Identity(a) z = Identity(a) }"),
      "Exp Identity");
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) { y = Identity(x) }"), "Identity");
}

TEST(Passes, NeutralElements) {
  EXPECT_EQ(
      optimized("(float[2,3] x) => (float[2,3] y) <float o = {1}, float z = {0}>"
                "{ a = Mul(o, x) b = Add(a, z) c = Sub(b, z) d = Div(c, o) e = Pow(d, o) y = Relu(e) }"),
      "Relu");
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) <float o = {1}> { a = Div(o, x) y = Relu(a) }"),
            "Div Relu");
  // A neutral element that makes the other operand larger has an effect.
  EXPECT_EQ(optimized("(float[3] x) => (float[2,3] y) <float[2,1] z = {0,0}> { a = Add(x, z) y = Relu(a) }"),
            "Add Relu");
}

TEST(Passes, OnceIsEnough) {
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) { a = Exp(x) b = Exp(x) y = Add(a, b) }"), "Exp Add");
  EXPECT_EQ(optimized("(float[3] x) => (float[6] y) { a = Elu<alpha=0.5>(x) b = Elu<alpha=0.25>(x) y = "
                      "Concat<axis=0>(a, b) }"),
            "Elu Elu Concat");
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y, float[3] z) { y = Exp(x) z = Exp(x) }"), "Exp Exp");
  // An attribute that is left out equals its default; inputs are left out in two ways.
  EXPECT_EQ(
      optimized("(float[3,4] x) => (float[3,4] y) { a = Softmax(x) b = Softmax<axis=-1>(x) y = Add(a, b) }"),
      "Softmax Add");
  EXPECT_EQ(
      optimized("(float[3,4] x) => (float[3,4] y) { a = Softmax<axis=0>(x) b = Softmax(x) y = Add(a, b) }"),
      "Softmax Softmax Add");
  EXPECT_EQ(
      optimized("(float[3] x, float l) => (float[3] y) { a = Clip(x, l) b = Clip(x, l, ) y = Mul(a, b) }"),
      "Clip Mul");
}

TEST(Passes, SizesOfEqualValuesOnce) {
  // The keys of a decoder's layers are such values.
  EXPECT_EQ(optimized("(float[2,p,4] a, float[2,p,4] b, float[2,s,4] n, bool[1] m) => (float[2,q,4] k, "
                      "float[2,q,4] l, bool[r] y, bool[u] "
                      "z) { k = Concat<axis=1>(a, n) l = Concat<axis=1>(n, b) f = Shape<start=1, end=2>(k) y "
                      "= Expand(m, f) g = "
                      "Shape<start=1, end=2>(l) w = Expand(m, g) z = Not(w) }"),
            "Concat Concat Shape Expand Not");
  // Sizes that may be others, and those of what is computed with their help.
  EXPECT_EQ(optimized("(float[2,p,4] a, float[2,o,4] b, float[2,s,4] n) => (int64[1] y, int64[1] z) { k = "
                      "Concat<axis=1>(a, n) l = "
                      "Concat<axis=1>(n, b) f = Shape<start=1, end=2>(k) y = Neg(f) g = Shape<start=1, "
                      "end=2>(l) z = Neg(g) }"),
            "Concat Concat Shape Neg Shape Neg");
  EXPECT_EQ(optimized("(float[p] a, float[s] n, float[1] o) => (float[r] y, int64[1] z) { k = "
                      "Concat<axis=0>(a, n) f = Shape(k) w = "
                      "Expand(o, f) y = Relu(w) g = Shape(y) z = Neg(g) }"),
            "Concat Shape Expand Relu Neg");
}

TEST(Passes, BranchesThatAreTaken) {
  const std::string branches =
      "<then_branch = t () => (float[n,4] a) { a = Squeeze(x, one) }, "
      "else_branch = e () => (float[n,1,4] b) <float two = {2}> { e = Exp(x) b = Mul(e, two) }>";
  const std::string head =
      "(float[3,1,4] x) => (float y) <int64[1] one = {1}, bool yes = {1}, bool no = {0}> ";
  EXPECT_EQ(optimized(head + "{ r = If" + branches + "(yes) y = ReduceSum<keepdims=0>(r) }"),
            "Squeeze ReduceSum");
  EXPECT_EQ(optimized(head + "{ r = If" + branches + "(no) y = ReduceSum<keepdims=0>(r) }"),
            "Exp Mul ReduceSum");
  // Known by shapes alone, as exporters of squeezes write it; results of the graph; a value of outside; twice
  // the same.
  EXPECT_EQ(optimized("(float[n,1,4] x) => (float y) <int64[1] one = {1}, int64 axis = {1}, float two = {2}> "
                      "{ s = Shape(x) k = Gather(s, axis) c = Equal(k, axis) r = If" +
                      branches + "(c) y = ReduceSum<keepdims=0>(r) }"),
            "Squeeze ReduceSum");
  EXPECT_EQ(
      optimized(
          "(float[3] x) => (float[3] y, float[3] z, float[3] w) <bool yes = {1}> "
          "{ r = Exp(x) y, z, w = If<then_branch = t () => (float[3] a, float[3] b, float[3] c) "
          "{ a = Sin(r) b = Identity(a) c = Identity(r) }, else_branch = e () => (float[3] d, float[3] f, "
          "float[3] g) { d = Identity(x) f = Identity(x) g = Identity(x) }>(yes) }"),
      "Exp Sin Identity");
  // The inner one of two nested Ifs is inlined first; an If with an unknown condition stays.
  EXPECT_EQ(
      optimized(
          "(float[3] x) => (float[3] y) <bool yes = {1}> { y = If<then_branch = t () => (float[3] a) "
          "{ a = If<then_branch = u () => (float[3] b) { b = Sin(x) }, else_branch = v () => (float[3] c) "
          "{ c = Cos(x) }>(yes) }, else_branch = e () => (float[3] d) { d = Exp(x) }>(yes) }"),
      "Sin");
  EXPECT_EQ(
      optimized(
          "(float[3] x, bool c) => (float[3] y) { y = If<then_branch = t () => (float[3] a) { a = Sin(x) }, "
          "else_branch = e () => (float[3] d) { d = Exp(x) }>(c) }"),
      "If");
}

TEST(Passes, CastsOnce) {
  EXPECT_EQ(
      optimized("(float16[3] x) => (float16[3] y) { a = Cast<to=1>(x) b = Cast<to=10>(a) y = Relu(b) }"),
      "Relu");
  EXPECT_EQ(optimized("(int8[3] x) => (double[3] y) { a = Cast<to=6>(x) y = Cast<to=11>(a) }"), "Cast");
  // A float16 as float has other digits than a float16.
  const Tensor half = Tensor::from<Float16>({1}, std::vector<Float16>{to_float16(0.1f)});
  const onnx::Model text =
      model_of("(float16[1] x) => (string[1] y) { a = Cast<to=1>(x) y = Cast<to=8>(a) }");
  EXPECT_EQ(Engine::build(text).create_context().run({{"x", half}}).at("y").tensor().as<std::string>()[0],
            "0.099975586");
  // A cast that loses digits stays.
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) { a = Cast<to=6>(x) y = Cast<to=1>(a) }"), "Cast Cast");
}

TEST(Passes, MovementsOnce) {
  EXPECT_EQ(optimized("(float[2,3,4] x) => (float[4,2,3] y) { a = Transpose<perm=[1,0,2]>(x) y = "
                      "Transpose<perm=[2,1,0]>(a) }"),
            "Transpose");
  EXPECT_EQ(optimized("(float[2,3,4] x) => (float[2,3,4] y)"
                      "{ a = Transpose<perm=[1,2,0]>(x) b = Transpose<perm=[2,0,1]>(a) y = Relu(b) }"),
            "Relu");
  EXPECT_EQ(optimized("(float[2,3,4] x) => (float[4,6] y) <int64[2] s = {6,-1}, int64[2] t = {4,6}>"
                      "{ a = Reshape(x, s) b = Flatten(a) y = Reshape(b, t) }"),
            "Reshape");
  // A zero copies a size of what is in between.
  EXPECT_EQ(optimized("(float[2,3,4] x) => (float[6,2,2] y) <int64[2] s = {6,4}, int64[3] t = {0,2,2}>"
                      "{ a = Reshape(x, s) y = Reshape(a, t) }"),
            "Reshape Reshape");
}

TEST(Passes, SizesThatAreKnown) {
  EXPECT_EQ(optimized("(float[n,6] x) => (float[n,2,3] y) <int64 i = {1}, int64[1] m = {-1}, int64[1] three "
                      "= {3}, int64[1] ax = {0}>"
                      "{ s = Shape(x) d = Gather(s, i) u = Unsqueeze(d, ax) h = Div(u, three) t = "
                      "Concat<axis=0>(m, h, three)"
                      "  y = Reshape(x, t) }"),
            "Reshape");
}

TEST(Passes, IntoTheConvolution) {
  const std::string conv =
      "(float[1,2,5,5] x) => (float[1,3,5,5] y) <float[3,2,1,1] w = {1,2,3,4,5,6}, float[3] s = {1,2,0.5}, "
      "float[3] b = {0,1,-1},"
      " float[3] m = {0.5,0.25,1}, float[3] v = {1,4,0.25}, float[1,3,1,1] k = {2,3,4}, float[3,1,1] a = "
      "{1,2,3}, float[1] one = {2},"
      " int64[8] p = {0,0,1,1,0,0,1,1}> ";
  EXPECT_EQ(optimized(conv + "{ c = Conv(x, w) y = BatchNormalization(c, s, b, m, v) }"), "Conv");
  EXPECT_EQ(
      optimized(conv +
                "{ c = Conv(x, w, b) n = BatchNormalization(c, s, b, m, v) t = Mul(n, k) y = Add(t, a) }"),
      "Conv");
  EXPECT_EQ(optimized(conv + "{ c = Conv(x, w, b) y = Mul(c, one) }"), "Conv");
  EXPECT_EQ(
      optimized(conv + "{ q = Pad(x, p) c = Conv(q, w) z = MaxPool<kernel_shape=[3,3]>(c) y = Relu(z) }"),
      "Conv MaxPool Relu");
  // Others read the convolution itself.
  EXPECT_EQ(optimized(conv + "{ c = Conv(x, w) t = Mul(c, k) y = Sub(t, c) }"), "Conv Mul Sub");
  // The addend is not along the channels.
  EXPECT_EQ(
      optimized(
          "(float[1,2,1,3] x) => (float[1,2,1,3] y) <float[2,2,1,1] w = {1,2,3,4}, float[3] a = {1,2,3}>"
          "{ c = Conv(x, w) y = Add(c, a) }"),
      "Conv Add");
}

TEST(Passes, IntoTheConvolutionInEveryOrder) {
  const std::string head =
      "(float[1,2,4,4] x) => (float[1,i,j,k] y) <float[3,2,1,1] w = {1,2,3,4,5,6}, float[3] b = {1,-1,0.5}, "
      "float[1,3,1,1] k = {2,3,4}, float[3,1,1] a = {1,2,3}, float[2,3,1,1] wt = {1,2,3,4,5,6}, "
      "float[2,2,1,1] "
      "wg = {1,2,3,4}, float[4] s = {1,2,0.5,3}, float[4] z = {0,1,-1,2}, float[4] v = {1,4,0.25,2}, "
      "float[1,4,1,1] kg = {2,3,4,5}> ";
  for (const char* conv : {"c = Conv(x, w)", "c = Conv(x, w, b)", "c = ConvTranspose<strides=[2,2]>(x, wt)",
                           "c = ConvTranspose<strides=[2,2]>(x, wt, b)"})
    for (const char* then :
         {"y = Mul(k, c)", "y = Div(c, k)", "y = Add(a, c)", "y = Sub(c, a)", "y = Sub(a, c)"}) {
      const std::string what = std::string(conv) + " " + then;
      EXPECT_EQ(optimized(head + "{ " + what + " }"),
                std::string(conv).starts_with("c = ConvT") ? "ConvTranspose" : "Conv")
          << what;
    }
  EXPECT_EQ(optimized(head + "{ c = Conv(x, w) y = Div(k, c) }"), "Conv Div");
  // Groups of one channel, and of more.
  EXPECT_EQ(
      optimized(
          head +
          "{ c = ConvTranspose<group=2, strides=[2,2]>(x, wg) n = BatchNormalization(c, s, z, z, v) y = "
          "Mul(n, kg) }"),
      "ConvTranspose");
  EXPECT_EQ(
      optimized("(float[1,4,3,3] x) => (float[1,2,5,5] y) <float[4,1,1,1] w = {1,2,3,4}, float[1,2,1,1] k "
                "= {2,3}> { c = ConvTranspose<group=2, strides=[2,2]>(x, w) y = Mul(c, k) }"),
      "ConvTranspose Mul");
}

TEST(Passes, Factors) {
  const std::string head =
      "(float[2,3] x, float[3,4] z) => (float[2,4] y) <float h = {0.5}, float f = {4}, float[3,4] w = "
      "{1,2,3,4,5,6,7,8,9,10,11,12}, float[3] many = {1,2,3}> ";
  EXPECT_EQ(optimized(head + "{ a = Mul(x, h) y = MatMul(a, w) }"), "MatMul");
  EXPECT_EQ(optimized(head + "{ a = Div(x, f) y = MatMul(a, z) }"), "MatMul Mul");
  EXPECT_EQ(optimized(head + "{ a = Mul(x, h) b = Mul(f, z) y = MatMul(a, b) }"), "MatMul Mul");
  // Others read it; one factor for each column; half precision, whose range is narrow.
  EXPECT_EQ(optimized(head + "{ a = Mul(x, h) b = MatMul(a, z) c = ReduceSum(a) y = Add(b, c) }"),
            "Mul MatMul ReduceSum Add");
  EXPECT_EQ(optimized(head + "{ a = Mul(x, many) y = MatMul(a, z) }"), "Mul MatMul");
  EXPECT_EQ(
      optimized("(float16[2,3] x, float16[3,4] z) => (float16[2,4] y) <float16 h = {14336}> { a = Mul(x, "
                "h) y = MatMul(a, z) }"),
      "Mul MatMul");
}

TEST(Passes, GemmOfTransposedWeights) {
  // The weights have four megabytes and differ from each other.
  const auto product = [](const std::string& types, const std::string& after = "y = MatMul(x, t)") {
    return types +
           " <int64 from = {0}, int64 to = {1048576}, int64 step = {1}, int64 by = {7}, int64[2] shape = "
           "{2048, 512}, float small = {0.125}> { r = Range(from, to, step) m = Mod(r, by) f = Cast<to=1>(m) "
           "w = Reshape(f, shape) t = Transpose<perm=[1,0]>(w) " +
           after + " }";
  };
  EXPECT_EQ(optimized(product("(float[2,512] x) => (float[2,2048] y)")), "Gemm");
  EXPECT_EQ(optimized(product("(float[1,n,512] x) => (float[1,n,2048] y)")), "Reshape Gemm Reshape");
  // There are more free sizes than Reshape can express, an operator that would be separated from the product,
  // or another reader.
  EXPECT_EQ(optimized(product("(float[b,n,512] x) => (float[b,n,2048] y)")), "MatMul");
  EXPECT_EQ(optimized(product("(float[2,0,512] x) => (float[2,0,2048] y)")), "MatMul");
  EXPECT_EQ(optimized(product("(float[1,3,512] x) => (float[1,3,2048] y)", "p = MatMul(x, t) y = Tanh(p)")),
            "MatMul Tanh");
  EXPECT_EQ(optimized(product("(float[2,512] x) => (float[2,2048] y, float[512,2048] z)",
                              "y = MatMul(x, t) z = Mul(t, small)")),
            "MatMul");
  EXPECT_EQ(optimized(product("(float[2,512] x) => (float[2,2048] y)"), OptimizationLevel::all,
                      {"-gemm-of-transposed-weights"}),
            "Transpose MatMul");
}

TEST(Passes, FactorsGoIntoTheFewestConstants) {
  // The product's weights are read by another one too: they would be there twice.
  const std::string head =
      "(float[2,3] x) => (float[2,2] y, float[2,2] z) <float[3] w = {1,2,3}, float[3] b = {3,1,2}, float c = "
      "{0.5}, float[3,2] m = {1,2,3,4,5,6}> { z = MatMul(x, m) ";
  const auto with = [&](const std::string& made) {
    return optimized(head + made + " s = Mul(n, c) y = MatMul(s, m) }");
  };
  EXPECT_EQ(with("e = Exp(x) n = Mul(w, e)"), "MatMul Exp Mul MatMul");
  EXPECT_EQ(with("n = RMSNormalization(x, w)"), "MatMul RMSNormalization MatMul");
  EXPECT_EQ(with("n = LayerNormalization(x, w)"), "MatMul LayerNormalization MatMul");
  EXPECT_EQ(with("n = LayerNormalization(x, w, b)"), "MatMul LayerNormalization MatMul");
  EXPECT_EQ(with("n = Exp(x)"), "MatMul Exp MatMul Mul");
  EXPECT_EQ(
      optimized(
          "(float[2,3] x) => (float[2,2] y, float[2,3] n) <float[3] w = {1,2,3}, float c = {0.5}, "
          "float[3,2] m = {1,2,3,4,5,6}> { n = RMSNormalization(x, w) s = Mul(n, c) y = MatMul(s, m) }"),
      "RMSNormalization MatMul");
}

TEST(Passes, Gemm) {
  EXPECT_EQ(optimized("(float[n,2] x) => (float[n,3] y) <float[2,3] w = {1,2,3,4,5,6}, float[3] b = {1,2,3}>"
                      "{ m = MatMul(x, w) y = Add(m, b) }"),
            "Gemm");
  EXPECT_EQ(optimized("(float[2,4] x) => (float[4,3] y) <float[2,3] w = {1,2,3,4,5,6}>"
                      "{ t = Transpose(x) y = Gemm(t, w) }"),
            "Gemm");
  EXPECT_EQ(
      optimized("(float[2,2,2] x) => (float[2,2,3] y) <float[2,3] w = {1,2,3,4,5,6}, float[3] b = {1,2,3}>"
                "{ m = MatMul(x, w) y = Add(m, b) }"),
      "MatMul Add");
  // Sums of two, and results that are transposed.
  EXPECT_EQ(optimized("(float[n,2] x) => (float[n,3] y) <float[2,3] w = {1,2,3,4,5,6}, float[3] b = {1,2,3}>"
                      "{ m = MatMul(x, w) y = Sum(m, b) }"),
            "Gemm");
  EXPECT_EQ(optimized("(float[n,2] x) => (float[n,3] y) <float[2,3] w = {1,2,3,4,5,6}, float[3] b = {1,2,3}>"
                      "{ m = Gemm(x, w) y = Sum(b, m) }"),
            "Gemm");
  const std::string two =
      "(float[2,4] a, float[4,3] b, float[3,4] c) => (float[3,2] y) <float[3] row = {1,2,3}, float[2,3] all "
      "= "
      "{1,2,3,4,5,6}, float one = {7}, float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}> ";
  for (const char* bias : {"row", "all", "one"})
    EXPECT_EQ(optimized(two + "{ m = Gemm(a, b, " + bias + ") y = Transpose(m) }"), "Gemm") << bias;
  EXPECT_EQ(optimized(two + "{ m = Gemm<transB=1, alpha=0.5>(a, c) y = Transpose(m) }"), "Gemm");
  EXPECT_EQ(optimized(two + "{ m = Gemm(a, w) y = Transpose(m) }"), "Gemm Transpose");
}

TEST(Passes, EquationsThatAreProducts) {
  const auto einsum = [](const std::string& inputs, const std::string& equation, const std::string& output) {
    return optimized("(" + inputs + ") => (float" + output + " y) { y = Einsum<equation=\"" + equation +
                     "\">(a, b) }");
  };
  EXPECT_EQ(einsum("float[2,3] a, float[3,4] b", "ij,jk->ik", "[2,4]"), "MatMul");
  EXPECT_EQ(einsum("float[n,2,3] a, float[n,4,3] b", "bid,bjd", "[i,j]"), "Einsum");  // sums over b, too
  EXPECT_EQ(einsum("float[n,2,3] a, float[n,4,3] b", "bid,bjd->bij", "[n,2,4]"), "Transpose MatMul");
  EXPECT_EQ(einsum("float[n,2,3] a, float[n,4,3] b", "bid,bjd->jbi", "[4,n,2]"),
            "Transpose MatMul Transpose");
  EXPECT_EQ(einsum("float[n,2,3] a, float[3,4] b", "...d,de->...e", "[n,2,4]"), "MatMul");
  // One matrix of several axes.
  EXPECT_EQ(einsum("float[n,2,3] a, float[3,4,5] b", "btc,chd->bthd", "[n,2,4,5]"), "Reshape MatMul Reshape");
  EXPECT_EQ(einsum("float[n,2,3,4] a, float[3,4,5] b", "bthd,hdc->btc", "[n,2,5]"), "Reshape Reshape MatMul");
  EXPECT_EQ(einsum("float[n,2,3,4] a, float[n,5,4] b", "bxyd,bkd->bxyk", "[n,2,3,5]"),
            "Reshape Transpose MatMul Reshape");
  // Vectors have an axis of one row, or of one column.
  EXPECT_EQ(einsum("float[n,2,3] a, float[n,2,m,3] b", "bhd,bhkd->bhk", "[n,2,m]"),
            "Unsqueeze Transpose MatMul Squeeze");
  EXPECT_EQ(einsum("float[n,2,m] a, float[n,m] b", "bhk,bk->bh", "[n,2]"), "Unsqueeze MatMul Squeeze");
  // A batch of size 1 serves for all.
  EXPECT_EQ(einsum("float[2,2,3] a, float[1,3,4] b", "bij,bjk->bik", "[2,2,4]"), "MatMul");
  // Weights come second.
  EXPECT_EQ(optimized("(float[n,3] x) => (float[4,n] y) <float[4,3] w = {1,2,3,4,5,6,7,8,9,10,11,12}> { y = "
                      "Einsum<equation=\"oi,ni->on\">(w, x) }"),
            "MatMul Transpose");
  // No products of matrices: a diagonal, sums of one operand, nothing that is summed, sizes of 1 that
  // stretch.
  for (const auto& [inputs, equation, output] :
       std::vector<std::array<std::string, 3>>{{"float[2,2] a, float[2,3] b", "ii,ij->ij", "[2,3]"},
                                               {"float[2,3] a, float[3,4] b", "ij,jk->i", "[2]"},
                                               {"float[2,3] a, float[2,4] b", "bi,bj->bij", "[2,3,4]"},
                                               {"float[2,3] a, float[2,3] b", "bi,bi->b", "[2]"},
                                               {"float[2,1] a, float[3,4] b", "ij,jk->ik", "[2,4]"}})
    EXPECT_EQ(einsum(inputs, equation, output), "Einsum") << equation;
  EXPECT_EQ(
      optimized("(int8[2,3] a, int8[3,4] b) => (int8[2,4] y) { y = Einsum<equation=\"ij,jk->ik\">(a, b) }"),
      "Einsum");
}

TEST(Passes, EquationsOfManyOperands) {
  const auto einsum = [](const std::string& inputs, const std::string& equation, const std::string& output) {
    std::string names;
    for (const char name : {'a', 'b', 'c', 'd'})
      if (inputs.find(std::string("] ") + name) != std::string::npos) names += std::string(1, name) + ",";
    names.pop_back();
    return optimized("(" + inputs + ") => (float" + output + " y) { y = Einsum<equation=\"" + equation +
                     "\">(" + names + ") }");
  };
  // The products begin at the side that leaves least.
  EXPECT_EQ(einsum("float[2,3] a, float[3,4] b, float[4,2] c", "ij,jk,kl->il", "[2,2]"), "MatMul MatMul");
  EXPECT_EQ(einsum("float[n,9] a, float[9,2] b, float[2,9] c, float[9,5] d", "ij,jk,kl,lm->im", "[n,5]"),
            "MatMul MatMul MatMul");
  // Axes that only one operand has are summed first, and an ellipsis is axes like others.
  EXPECT_EQ(einsum("float[2,3] a, float[3,4,7] b, float[4,5] c", "ij,jkx,kl->il", "[2,5]"),
            "ReduceSum MatMul MatMul");
  EXPECT_EQ(einsum("float[n,2,3] a, float[n,3,4] b, float[4,5] c", "...ij,...jk,kl->...il", "[n,2,5]"),
            "MatMul MatMul");
  // A matrix of several axes, then one of the batch.
  EXPECT_EQ(einsum("float[2,3] a, float[2,4] b, float[3,4,5] c", "bi,bj,ijk->bk", "[2,5]"),
            "Transpose Reshape MatMul Reshape Unsqueeze MatMul Squeeze");
  // If nothing is summed and the axes broadcast in their order, it is a product of elements.
  EXPECT_EQ(einsum("float[n,3] a, float[n,3] b, float[3] c", "bi,bi,i->bi", "[n,3]"), "Mul Mul");
  EXPECT_EQ(einsum("float[3] a, float[4] b, float[5] c", "i,j,k->", "[]"),
            "ReduceSum ReduceSum ReduceSum Mul Mul");
  EXPECT_EQ(optimized("(int64[2,3] a, int64[3,4] b, int64[4,5] c) => (int64[2,5] y) { y = "
                      "Einsum<equation=\"ij,jk,kl->il\">(a, b, c) }"),
            "MatMul MatMul");
  // Diagonals, sizes of 1 that stretch, and types that would be rounded in between.
  EXPECT_EQ(einsum("float[2,2] a, float[2,3] b, float[3,4] c", "ii,ij,jk->ik", "[2,4]"), "Einsum");
  EXPECT_EQ(einsum("float[2,1] a, float[3,4] b, float[4,5] c", "ij,jk,kl->il", "[2,5]"), "Einsum");
  EXPECT_EQ(optimized("(float16[2,3] a, float16[3,4] b, float16[4,5] c) => (float16[2,5] y) { y = "
                      "Einsum<equation=\"ij,jk,kl->il\">(a, b, c) }"),
            "Einsum");
}

TEST(Passes, LongChainsThatNobodyReads) {
  std::string text = "(float[3] x) => (float[3] y) { v0 = Exp(x) ";
  for (int i = 1; i < 100000; ++i)
    text += "v" + std::to_string(i) + " = Exp(v" + std::to_string(i - 1) + ") ";
  const auto graph = import_model(model_of(text + "y = Relu(x) }"), SchemaCatalog::standard(), {});
  run_passes(*graph, SchemaCatalog::standard());
  EXPECT_EQ(graph->live_nodes(), 1u);
}

TEST(Passes, BodiesToo) {
  EXPECT_EQ(optimized("(float[3] x, bool c) => (float[3] y) { y = If(c) <then_branch = t () => (float[3] a)"
                      "{ i = Identity(x) a = Exp(i) }, else_branch = e () => (float[3] b) { b = Neg(x) }> }"),
            "If");
}

TEST(Passes, SwitchesAreChecked) {
  EXPECT_THROW(
      optimized("(float[3] x) => (float[3] y) { y = Relu(x) }", OptimizationLevel::all, {"-no-such-pass"}),
      Error);
  EXPECT_THROW(optimized("(float[3] x) => (float[3] y) { y = Relu(x) }", OptimizationLevel::all,
                         {"eliminate-neutral"}),
               Error);
  EXPECT_EQ(optimized("(float[3] x) => (float[3] y) { a = Identity(x) y = Relu(a) }", OptimizationLevel::none,
                      {"+eliminate-identity"}),
            "Relu");
}

TEST(Passes, TheOpsetAskedForBoundsWhatTheyAdd) {
  const onnx::Model m = model_of(
      "(float[2,8] x) => (float[2,8] y) <float r = {0.70710678}, float o = {1}, float h = {0.5}, float z = "
      "{0}>"
      "{ n = Add(x, z) a = Mul(n, r) b = Erf(a) c = Add(b, o) d = Mul(n, c) y = Mul(d, h) }");
  const int64_t own = m.proto.opset_import.at(0).version.value();
  const auto at = [&](int opset) {
    const onnx::Model better = optimize(m, {}, opset).model;
    EXPECT_EQ(better.proto.opset_import.at(0).version, opset ? opset : own);
    std::string ops;
    for (const onnx::NodeProto& n : better.proto.graph->node) ops += n.op_type.value_or("") + " ";
    return ops;
  };
  EXPECT_EQ(at(0), "Gelu ");
  EXPECT_EQ(at(20), "Gelu ");
  EXPECT_EQ(at(23), "Gelu ");
  const onnx::Model older = optimize(m, {}, 19).model;
  EXPECT_EQ(older.proto.opset_import.at(0).version, 19);
  EXPECT_EQ(older.proto.graph->node.size(), 5u);  // what every opset can say is still done
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
