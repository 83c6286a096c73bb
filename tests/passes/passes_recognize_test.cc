// Activations and norms as exporters decompose them.
#include <gtest/gtest.h>

#include "support/optimized.h"

namespace lathe {
namespace LATHE_TEST_FILE {

TEST(Recognized, ActivationsInTheirVariants) {
  const std::string head =
      "(float[2,3] x, float[2,3] z) => (float[2,3] y) <float one = {1}, float h = {0.5}, float two = {2}, "
      "float "
      "m = {-1}, float three = {3}, float six = {6}, float zero = {0}, float a = {1.702}, float n = "
      "{-1.702}> "
      "{ ";
  const auto of = [&](const std::string& rest) { return optimized(head + rest + " }"); };
  // Sigmoid by exp.
  EXPECT_EQ(of("g = Neg(x) e = Exp(g) p = Add(e, one) y = Div(one, p)"), "Sigmoid");
  EXPECT_EQ(of("g = Mul(x, m) e = Exp(g) p = Add(one, e) y = Reciprocal(p)"), "Sigmoid");
  EXPECT_EQ(of("g = Neg(x) e = Exp(g) p = Add(e, one) y = Div(x, p)"), "Swish");
  EXPECT_EQ(of("g = Mul(n, x) e = Exp(g) p = Add(e, one) y = Div(x, p)"), "Swish");
  EXPECT_EQ(of("g = Neg(x) e = Exp(g) p = Add(e, one) y = Div(z, p)"), "Sigmoid Mul");
  EXPECT_EQ(of("e = Exp(x) p = Add(e, one) y = Div(x, p)"), "Exp Add Div");
  EXPECT_EQ(of("g = Neg(x) e = Exp(g) p = Add(e, two) y = Div(x, p)"), "Neg Exp Add Div");
  // Swish, with a factor and without.
  EXPECT_EQ(of("s = Mul(x, a) g = Sigmoid(s) y = Mul(x, g)"), "Swish");
  EXPECT_EQ(of("w = Add(x, z) s = Mul(a, w) g = Sigmoid(s) y = Mul(g, w)"), "Add Swish");
  EXPECT_EQ(of("g = Sigmoid(x) y = Mul(z, g)"), "Sigmoid Mul");
  EXPECT_EQ(of("g = Sigmoid(x) p = Mul(x, g) y = Add(p, g)"), "Sigmoid Mul Add");
  // HardSwish.
  EXPECT_EQ(of("p = Add(x, three) c = Clip(p, zero, six) t = Mul(x, c) y = Div(t, six)"), "HardSwish");
  EXPECT_EQ(of("p = Add(x, three) c = Clip(p, zero, six) t = Div(c, six) y = Mul(t, x)"), "HardSwish");
  EXPECT_EQ(of("t = Div(x, six) p = Add(t, h) c = Clip(p, zero, one) y = Mul(x, c)"), "HardSwish");
  EXPECT_EQ(of("c = HardSigmoid<alpha=0.16666667>(x) y = Mul(x, c)"), "HardSwish");
  EXPECT_EQ(of("c = HardSigmoid(x) y = Mul(x, c)"), "HardSigmoid Mul");
  EXPECT_EQ(of("p = Add(x, three) c = Clip(p, zero, six) y = Mul(x, c)"), "Add Clip Mul");
  EXPECT_EQ(of("p = Add(x, two) c = Clip(p, zero, six) t = Mul(x, c) y = Div(t, six)"), "Add Clip Mul Div");
  // Mish.
  EXPECT_EQ(of("s = Softplus(x) t = Tanh(s) y = Mul(x, t)"), "Mish");
  EXPECT_EQ(of("e = Exp(x) p = Add(one, e) s = Log(p) t = Tanh(s) y = Mul(t, x)"), "Mish");
  EXPECT_EQ(of("s = Softplus(x) t = Tanh(s) y = Mul(z, t)"), "Softplus Tanh Mul");
}

TEST(Recognized, GeluInEveryOrder) {
  const std::string head =
      "(float[2,3] x, float[2,3] z) => (float[2,3] y) <float r = {1.4142135}, float i = {0.70710677}, float "
      "one "
      "= {1}, float h = {0.5}, float two = {2}, float c = {0.044715}, float three = {3}, float k = "
      "{0.7978846}, "
      "float ck = {0.03567741}, float k2 = {1.5957691}, float ck2 = {0.07135481}, float other = {0.6}> { ";
  const auto of = [&](const std::string& rest) { return optimized(head + rest + " }"); };
  const std::string erf = "d = Div(x, r) e = Erf(d) ", fast = "t = Tanh(s) p = Add(one, t) ";
  EXPECT_EQ(of(erf + "p = Add(e, one) m = Mul(x, p) y = Div(m, two)"), "Gelu");
  EXPECT_EQ(of(erf + "p = Sum(e, one) m = Mul(x, p) y = Mul(m, h)"), "Gelu");
  EXPECT_EQ(of(erf + "b = Mul(e, h) p = Add(b, h) y = Mul(x, p)"), "Gelu");
  EXPECT_EQ(of(erf + "b = Mul(x, h) p = Mul(b, e) y = Add(p, b)"), "Gelu");
  EXPECT_EQ(of("w = Add(x, z) d = Mul(w, i) e = Erf(d) p = Add(e, one) b = Mul(w, h) y = Mul(b, p)"),
            "Add Gelu");
  EXPECT_EQ(of("w = Mul(x, h) d = Mul(w, i) e = Erf(d) p = Add(e, one) b = Mul(w, h) y = Mul(b, p)"),
            "Mul Gelu");
  // x k (1 + c x x) in two orders, and with its numbers multiplied out.
  EXPECT_EQ(of("a = Mul(x, k) b = Mul(c, x) q = Mul(b, x) f = Add(q, one) s = Mul(a, f) " + fast +
               "m = Mul(h, x) y = Mul(m, p)"),
            "Gelu");
  EXPECT_EQ(of("b = Mul(x, x) q = Mul(b, c) f = Add(one, q) a = Mul(x, f) s = Mul(a, k) " + fast +
               "m = Mul(x, p) y = Mul(m, h)"),
            "Gelu");
  EXPECT_EQ(of("b = Pow(x, three) q = Mul(b, ck) a = Mul(x, k) s = Add(a, q) " + fast +
               "m = Mul(x, p) y = Mul(m, h)"),
            "Gelu");
  EXPECT_EQ(of("b = Pow(x, three) q = Mul(b, ck2) a = Mul(x, k2) s = Add(a, q) g = Sigmoid(s) y = Mul(x, g)"),
            "Gelu");
  // Another constant, another factor, and an inner value that others read.
  EXPECT_EQ(of(erf + "p = Add(e, one) m = Mul(x, p) y = Mul(m, other)"), "Div Erf Add Mul Mul");
  EXPECT_EQ(of(erf + "p = Add(e, one) m = Mul(z, p) y = Mul(m, h)"), "Div Erf Add Mul Mul");
  EXPECT_EQ(of(erf + "p = Add(e, one) m = Mul(x, p) n = Mul(m, h) y = Add(n, e)"), "Div Erf Add Mul Mul Add");
}

TEST(Recognized, GeluInItsVariants) {
  const std::string head =
      "(float[2,3] x) => (float[2,3] y) <float r = {1.4142135}, float i = {0.70710677}, float one = {1}, "
      "float h = {0.5},"
      " float c = {0.044715}, float three = {3}, float k = {0.7978846}> ";
  EXPECT_EQ(optimized(head + "{ d = Div(x, r) e = Erf(d) p = Add(e, one) m = Mul(x, p) y = Mul(m, h) }"),
            "Gelu");
  EXPECT_EQ(optimized(head + "{ d = Mul(i, x) e = Erf(d) p = Add(one, e) m = Mul(h, x) y = Mul(m, p) }"),
            "Gelu");
  EXPECT_EQ(optimized(head + "{ d = Mul(i, x) e = Erf(d) p = Add(one, e) m = Mul(h, p) y = Mul(x, m) }"),
            "Gelu");
  EXPECT_EQ(
      optimized(head +
                "{ q = Pow(x, three) a = Mul(q, c) s = Add(x, a) t = Mul(s, k) u = Tanh(t) p = Add(u, one)"
                "  m = Mul(x, p) y = Mul(h, m) }"),
      "Gelu");
  EXPECT_EQ(optimized(head + "{ q = Mul(x, x) w = Mul(q, x) a = Mul(w, c) s = Add(x, a) t = Mul(s, k) u = "
                             "Tanh(t) p = Add(u, one)"
                             "  m = Mul(x, h) y = Mul(m, p) }"),
            "Gelu");
  // GELU by the complementary error function.
  EXPECT_EQ(
      optimized(head + "{ n = Neg(x) d = Div(n, r) e = Erf(d) p = Sub(one, e) m = Mul(x, p) y = Mul(m, h) "
                       "}"),
      "Gelu");
  EXPECT_EQ(optimized(head + "{ d = Div(x, r) e = Erf(d) p = Add(e, one) m = Mul(x, p) y = Mul(m, h) }",
                      OptimizationLevel::basic),
            "Div Erf Add Mul Mul");
  EXPECT_EQ(optimized(head + "{ d = Div(x, r) e = Erf(d) p = Add(e, one) m = Mul(x, p) y = Mul(m, h) }",
                      OptimizationLevel::all, {"-recognize-*"}),
            "Div Erf Add Mul Mul");
  EXPECT_EQ(optimized(head + "{ s = Sigmoid(x) y = Mul(x, s) }"), "Swish");
  // Another number is another function; digits that were left out are not, nor those that 16 bits do not
  // have.
  const auto with = [](const std::string& root, const std::string& half) {
    return optimized("(float[2,3] x) => (float[2,3] y) <float r = {" + root +
                     "}, float one = {1}, float h = {" + half +
                     "}> { d = Div(x, r) e = Erf(d) p = Add(e, one) m = Mul(x, p) y = Mul(m, h) }");
  };
  EXPECT_EQ(with("1.4142", "0.5"), "Gelu");
  EXPECT_EQ(with("1.4142135", "0.5009"), "Div Erf Add Mul Mul");
  EXPECT_EQ(with("1.416", "0.5"), "Div Erf Add Mul Mul");
  // 1.4140625, 1 and 0.5, as bits.
  EXPECT_EQ(
      optimized(
          "(float16[2,3] x) => (float16[2,3] y) <float16 r = {15784}, float16 one = {15360}, "
          "float16 h = {14336}> { d = Div(x, r) e = Erf(d) p = Add(e, one) m = Mul(x, p) y = Mul(m, h) }"),
      "Gelu");
}

TEST(Recognized, NormsInTheirVariants) {
  const std::string head =
      "(float[2,4] x) => (float[2,4] y) <int64[1] a = {-1}, float e = {0.00001}, float two = {2}, float one "
      "= {1}, float four = {4}, float up = {0.5}, float down = {-0.5},"
      " float[4] g = {1,2,3,4}, float[4] b = {4,3,2,1}> ";
  const std::string centered = "m = ReduceMean(x, a) d = Sub(x, m) ",
                    variance = "q = Pow(d, two) v = ReduceMean(q, a) s = Add(v, e) ",
                    square = "q = Mul(x, x) v = ReduceMean(q, a) s = Add(v, e) ";
  const auto layer = [&](const std::string& rest) { return optimized(head + "{ " + centered + rest + " }"); };
  const auto rms = [&](const std::string& rest) { return optimized(head + "{ " + rest + " }"); };
  // A scale and a bias, one of them, none.
  EXPECT_EQ(layer(variance + "r = Sqrt(s) n = Div(d, r) t = Mul(n, g) y = Add(t, b)"), "LayerNormalization");
  EXPECT_EQ(layer(variance + "r = Sqrt(s) n = Div(d, r) y = Mul(n, g)"), "LayerNormalization");
  EXPECT_EQ(layer(variance + "r = Sqrt(s) n = Div(d, r) y = Add(n, b)"), "LayerNormalization");
  EXPECT_EQ(layer(variance + "r = Sqrt(s) y = Div(d, r)"), "LayerNormalization");
  EXPECT_EQ(rms(square + "r = Sqrt(s) y = Div(x, r)"), "RMSNormalization");
  // 1 over the deviation.
  EXPECT_EQ(layer("q = Mul(d, d) v = ReduceMean(q, a) s = Add(e, v) r = Sqrt(s)"
                  "  i = Reciprocal(r) n = Mul(d, i) t = Mul(g, n) y = Add(b, t)"),
            "LayerNormalization");
  EXPECT_EQ(rms("q = Pow(x, two) v = ReduceMean(q, a) s = Add(v, e) r = Sqrt(s) i = Div(one, r) n = Mul(x, i)"
                "  y = Mul(n, g)"),
            "RMSNormalization");
  EXPECT_EQ(rms(square + "i = Pow(s, down) n = Mul(i, x) y = Mul(n, g)"), "RMSNormalization");
  EXPECT_EQ(layer(variance + "r = Pow(s, up) n = Div(d, r) t = Mul(n, g) y = Add(t, b)"),
            "LayerNormalization");
  // Scaled before x comes in.
  EXPECT_EQ(rms(square + "r = Sqrt(s) i = Reciprocal(r) f = Mul(i, g) y = Mul(x, f)"), "RMSNormalization");
  EXPECT_EQ(layer(variance + "r = Sqrt(s) i = Reciprocal(r) f = Mul(g, i) t = Mul(f, d) y = Add(t, b)"),
            "LayerNormalization");
  // Means as sums over a number; squares of the difference the other way round.
  EXPECT_EQ(
      rms("q = ReduceSumSquare(x, a) v = Div(q, four) s = Add(v, e) r = Sqrt(s) n = Div(x, r) y = Mul(n, g)"),
      "RMSNormalization");
  EXPECT_EQ(layer("z = ReduceSum(x, a) k = Div(z, four) w = Sub(k, x) p = Sub(x, k) q = Mul(w, w) v = "
                  "ReduceMean(q, a)"
                  "  s = Add(v, e) r = Sqrt(s) n = Div(p, r) t = Mul(n, g) y = Add(t, b)"),
            "LayerNormalization");
  // TensorFlow's form of the operator.
  EXPECT_EQ(
      layer(variance + "r = Sqrt(s) i = Reciprocal(r) f = Mul(i, g) t = Mul(x, f) o = Mul(m, f) c = Sub(b, o)"
                       "  y = Add(t, c)"),
      "LayerNormalization");
  // A sum over another number is no mean.
  EXPECT_EQ(rms("q = ReduceSumSquare(x, a) v = Div(q, two) s = Add(v, e) r = Sqrt(s) y = Div(x, r)"),
            "ReduceSumSquare Div Add Sqrt Div");
}

TEST(Recognized, NormsOfNarrowFloats) {
  for (const auto& [type, code] : {std::pair("float16", "10"), std::pair("bfloat16", "16")}) {
    const std::string t = type, back = std::string(" z = Cast<to=") + code + ">(n) ";
    const std::string head = "(" + t + "[2,4] h) => (" + t +
                             "[2,4] y) <int64[1] a = {-1}, float e = {0.00001}, float[4] w = {1,2,3,4}, " +
                             t + "[4] g = {1,2,3,4}, " + t + "[4] b = {4,3,2,1}> { x = Cast<to=1>(h) ";
    const std::string rms = head +
                            "q = Mul(x, x) v = ReduceMean(q, a) s = Add(v, e) r = Sqrt(s) n = Div(x, r) ",
                      layer = head +
                              "m = ReduceMean(x, a) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, a) s = "
                              "Add(v, e) r = Sqrt(s) n = Div(d, r) ";
    EXPECT_EQ(optimized(rms + back + "y = Mul(g, z) }"), "RMSNormalization");
    EXPECT_EQ(optimized(rms + back + "y = Neg(z) }"), "RMSNormalization Neg");
    EXPECT_EQ(optimized(layer + back + "u = Mul(z, g) y = Add(u, b) }"), "LayerNormalization");
    // Scaled before it is rounded.
    EXPECT_EQ(optimized(rms + "f = Mul(n, w) y = Cast<to=" + code + ">(f) }"), "Cast RMSNormalization Cast");
  }
}

/// Decomposed in the narrow type itself.
TEST(Recognized, NormsWithinNarrowFloats) {
  for (const DataType type : {DataType::float16, DataType::bfloat16}) {
    const bool half = type == DataType::float16;
    const std::string t = half ? "float16" : "bfloat16";
    const auto bits = [&](float x) {
      return std::to_string(half ? to_float16(x).bits : to_bfloat16(x).bits);
    };
    const std::string e = bits(0.01f), g = bits(1) + ", " + bits(2) + ", " + bits(3) + ", " + bits(4);
    const auto operators_of = [&](const std::string& body) {
      const std::string head = "(" + t + "[2,4] x) => (" + t + "[2,4] y) <int64[1] a = {-1}, " + t +
                               " e = {" + e + "}, " + t + "[4] g = {" + g + "}, " + t + "[4] b = {" + g +
                               "}> { ";
      return operators(*optimized_graph(head + body + " }", {}, half ? 0x1p-8 : 0x1p-5));
    };
    EXPECT_EQ(operators_of("q = Mul(x, x) v = ReduceMean(q, a) s = Add(v, e) r = Sqrt(s) n = Div(x, r) "
                           "y = Mul(g, n)"),
              "RMSNormalization");
    EXPECT_EQ(operators_of("m = ReduceMean(x, a) d = Sub(x, m) q = Mul(d, d) v = ReduceMean(q, a) "
                           "s = Add(v, e) r = Sqrt(s) n = Div(d, r) u = Mul(n, g) y = Add(u, b)"),
              "LayerNormalization");
  }
}

TEST(Recognized, NormsOfDoublesStay) {
  EXPECT_EQ(
      optimized(
          "(double[2,4] x) => (double[2,4] y) <int64[1] a = {-1}, double e = {0.00001}, double two = {2}, "
          "double[4] g = {1,2,3,4}>"
          "{ q = Pow(x, two) v = ReduceMean(q, a) s = Add(v, e) r = Sqrt(s) n = Div(x, r) y = Mul(n, g) }"),
      "Pow ReduceMean Add Sqrt Div Mul");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
