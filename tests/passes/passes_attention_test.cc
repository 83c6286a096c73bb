// Attention, RotaryEmbedding and GroupNormalization as exporters decompose them: what is found, and what
// looks alike and must stay.
#include <gtest/gtest.h>

#include "support/optimized.h"

namespace lathe {
namespace LATHE_TEST_FILE {

/// Turns the recognizers on at any level.
BuildOptions looking(std::vector<std::string> more = {}) {
  BuildOptions o;
  o.passes = {"+recognize-*"};
  for (std::string& s : more) o.passes.push_back(std::move(s));
  return o;
}
std::string found(const std::string& text) { return optimized(text, looking()); }

const Node& only(const Graph& g, std::string_view op) {
  for (NodeId id : g.order())
    if (g.node(id).op == op) return g.node(id);
  ADD_FAILURE() << "no " << op << " among " << operators(g);
  static const Node none;
  return none;
}

/// Q, K and V of 2 heads, 3 rows, 4 elements.
const std::string qkv = "(float[2,2,3,4] q, float[2,2,3,4] k, float[2,2,3,4] v";
const std::string swap = "t = Transpose<perm=[0,1,3,2]>(k) ";

TEST(Attention, ScaledInEveryPlace) {
  const std::string head =
      qkv + ") => (float[2,2,3,4] y) <float c = {0.5}, float d = {2}, float r = {0.7071}>";
  for (const std::string& scores : std::vector<std::string>{
           swap + "m = MatMul(q, t) s = Mul(m, c)", swap + "m = MatMul(q, t) s = Div(m, d)",
           "a = Mul(q, c) " + swap + "s = MatMul(a, t)", "a = Div(q, d) " + swap + "s = MatMul(a, t)",
           "a = Mul(r, q) " + swap + "b = Mul(t, r) s = MatMul(a, b)",
           "a = Mul(r, q) e = Mul(k, r) t = Transpose<perm=[0,1,3,2]>(e) s = MatMul(a, t)"}) {
    const auto g =
        optimized_graph(head + "{" + scores + " p = Softmax<axis=-1>(s) y = MatMul(p, v) }", looking());
    EXPECT_EQ(operators(*g), "Attention") << scores;
    EXPECT_NEAR(only(*g, "Attention").attributes.get<float>("scale", 0), 0.5, 1e-4);
  }
  EXPECT_EQ(found(head + "{" + swap + "s = MatMul(q, t) p = Softmax<axis=3>(s) y = MatMul(p, v) }"),
            "Attention");
}

// In networks of images pixels are columns, and values come first.
TEST(Attention, OfColumns) {
  const std::string head =
      "(float[1,2,4,5] q, float[1,2,4,5] k, float[1,2,6,5] v) => (float[1,2,6,5] y) <float c = {0.5}> { "
      "t = Transpose<perm=[0,1,3,2]>(q) s = MatMul(t, k) m = Mul(s, c) p = Softmax<axis=-1>(m) ";
  const auto g = optimized_graph(head + "u = Transpose<perm=[0,1,3,2]>(p) y = MatMul(v, u) }", looking());
  EXPECT_EQ(operators(*g), "Transpose Transpose Transpose Attention Transpose");
  EXPECT_EQ(only(*g, "Attention").attributes.get<float>("scale", 0), 0.5f);
  // The weights are an output, or have another transpose.
  EXPECT_EQ(
      found("(float[2,2,3,3] q, float[2,2,4,3] v) => (float[2,2,4,3] y, float[2,2,3,3] u) { p = Softmax(q) "
            "u = Transpose<perm=[0,1,3,2]>(p) y = MatMul(v, u) }"),
      "Softmax Transpose MatMul");
  EXPECT_EQ(found("(float[2,2,3,3] q, float[2,2,4,3] v) => (float[2,2,4,3] y) { p = Softmax(q) "
                  "u = Transpose<perm=[1,0,2,3]>(p) y = MatMul(v, u) }"),
            "Softmax Transpose MatMul");
}

TEST(Attention, CanBeLeftAsItIsWritten) {
  const std::string text = qkv + ") => (float[2,2,3,4] y) {" + swap +
                           "s = MatMul(q, t) p = Softmax<axis=-1>(s) y = MatMul(p, v) }";
  EXPECT_EQ(optimized(text), "Attention");
  EXPECT_EQ(optimized(text, OptimizationLevel::all, {"-recognize-attention"}),
            "Transpose MatMul Softmax MatMul");
  EXPECT_EQ(optimized(text, OptimizationLevel::basic), "Transpose MatMul Softmax MatMul");
  EXPECT_EQ(optimized(text, OptimizationLevel::basic, {"+recognize-attention"}), "Attention");
}

TEST(Attention, KeysBehindThoseOfEarlierCalls) {
  const std::string head =
      "(float[1,4,1,8] q, float[1,2,1,8] k, float[1,2,1,8] v, float[1,2,5,8] pk, float[1,2,5,8] pv) => "
      "(float[1,4,1,8] y, float[1,2,6,8] nk, float[1,2,6,8] nv) { ";
  const std::string joined = "nk = Concat<axis=2>(pk, k) nv = Concat<axis=-2>(pv, v) ";
  const auto g = optimized_graph(head + joined + "y = Attention(q, nk, nv) }", looking());
  EXPECT_EQ(operators(*g), "Attention");
  EXPECT_EQ(g->outputs().size(), 3u);
  // Queries would be positioned behind the past.
  EXPECT_EQ(found(head + joined + "y = Attention<is_causal=1>(q, nk, nv) }"), "Concat Concat Attention");
  // If something else reads the keys, the values may be computed from them.
  EXPECT_EQ(found(head + "nk = Concat<axis=2>(pk, k) s = ReduceMax<keepdims=1>(nk) w = Mul(v, s) "
                         "nv = Concat<axis=2>(pv, w) y = Attention(q, nk, nv) }"),
            "Concat ReduceMax Mul Concat Attention");
  EXPECT_EQ(found(head + "nk = Concat<axis=2>(k, pk) nv = Concat<axis=2>(v, pv) y = Attention(q, nk, nv) }"),
            "Attention");
  EXPECT_EQ(found("(float16[1,4,1,8] q, float16[1,4,1,8] k, float16[1,4,5,8] p) => (float16[1,4,1,8] y) { "
                  "n = Concat<axis=2>(p, k) m = Concat<axis=2>(p, k) y = Attention(q, n, m) }"),
            "Concat Attention");
  for (const auto& [type, want] : {std::pair("float16", "Attention"),
                                   {"bfloat16", "Attention"},
                                   {"double", "Concat Concat Attention"}}) {
    std::string text = head + joined + "y = Attention(q, nk, nv) }";
    for (size_t at = 0; (at = text.find("float[", at)) != std::string::npos; at += 1)
      text.replace(at, 5, type);
    EXPECT_EQ(found(text), want) << type;
  }
}

TEST(Attention, SizesOfAnUpdatedCacheComeFromItsParts) {
  const std::string head =
      "(float[1,4,n,8] q, float[1,2,n,8] k, float[1,2,n,8] v, float[1,2,p,8] pk, float[1,2,p,8] pv) => "
      "(float[1,4,n,8] y, float[1,2,t,8] nk, float[1,2,t,8] nv, int64[d] z) { "
      "nk = Concat<axis=2>(pk, k) nv = Concat<axis=2>(pv, v) ";
  // Attention takes the Concat in, although something asks for its length.
  EXPECT_EQ(found(head + "z = Shape<start=2, end=3>(nk) y = Attention(q, nk, nv) }"),
            "Shape Shape Add Attention");
  EXPECT_EQ(found(head + "z = Shape(nk) y = Attention(q, nk, nv) }"), "Shape Shape Mul Add Attention");
  EXPECT_EQ(optimized(head + "z = Shape(nk) y = Attention(q, nk, nv) }", OptimizationLevel::all,
                      {"-recognize-attention-sizes"}),
            "Concat Concat Shape Attention");
  // Other Concats are left alone.
  EXPECT_EQ(found("(float[1,2,n,8] a, float[1,2,m,8] b) => (int64[4] z, float[1,2,t,8] y) { "
                  "c = Concat<axis=2>(a, b) z = Shape(c) y = Exp(c) }"),
            "Concat Shape Exp");
}

TEST(Attention, Masks) {
  const std::string tail = " p = Softmax<axis=-1>(w) y = MatMul(p, v) }";
  EXPECT_EQ(found(qkv + ", float[2,1,1,3] a) => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) w = Add(s, a)" + tail),
            "Expand Attention");
  EXPECT_EQ(found(qkv + ", float[2,3,3] a) => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) w = Add(a, s)" + tail),
            "Attention");
  EXPECT_EQ(found(qkv + ", float[2,1,1,3] a, float[3,3] b) => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) u = Add(s, a) w = Add(u, b)" + tail),
            "Add Attention");
  EXPECT_EQ(found(qkv + ", bool[3,3] a) => (float[2,2,3,4] y) <float low = {-3.4028235e38}> {" + swap +
                  "s = MatMul(q, t) w = Where(a, s, low)" + tail),
            "Where Attention");
  EXPECT_EQ(
      found(qkv + ", bool[3,3] a, float[2,3,3] b) => (float[2,2,3,4] y) <float low = {-3.4028235e38}> {" +
            swap + "s = MatMul(q, t) u = Add(s, b) w = Where(a, low, u)" + tail),
      "Where Attention");
  // A number that leaves a trace in the softmax is no mask.
  EXPECT_EQ(found(qkv + ", bool[3,3] a) => (float[2,2,3,4] y) <float low = {-3}> {" + swap +
                  "s = MatMul(q, t) w = Where(a, s, low)" + tail),
            "Transpose MatMul Where Softmax MatMul");
  // Masks of fewer columns would hide keys.
  EXPECT_EQ(found(qkv + ", float[2,1,3,1] a) => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) w = Add(s, a)" + tail),
            "Expand Attention");
  EXPECT_EQ(
      found(
          "(float[2,2,n,4] q, float[2,2,m,4] k, float[2,2,m,4] v, float[2,1,1,t] a) => (float[2,2,n,4] y) {" +
          swap + "s = MatMul(q, t) w = Add(s, a)" + tail),
      "Shape Shape Concat Expand Attention");
}

TEST(Attention, CausalMasksThatAreKnown) {
  const std::string tail = " p = Softmax<axis=-1>(w) y = MatMul(p, v) }";
  for (const std::string& how : std::vector<std::string>{
           "<float[1,1,3,3] a = {0,-inf,-inf,0,0,-inf,0,0,0}> {" + swap + "s = MatMul(q, t) w = Add(s, a)",
           "<bool[3,3] a = {1,0,0,1,1,0,1,1,1}, float low = {-3.4028235e38}> {" + swap +
               "s = MatMul(q, t) w = Where(a, s, low)",
           "<bool[3,3] a = {0,1,1,0,0,1,0,0,0}, float low = {-3.4028235e38}> {" + swap +
               "s = MatMul(q, t) w = Where(a, low, s)"}) {
    const auto g = optimized_graph(qkv + ") => (float[2,2,3,4] y) " + how + tail, looking());
    EXPECT_EQ(operators(*g), "Attention");
    EXPECT_EQ(only(*g, "Attention").attributes.get<int64_t>("is_causal", 0), 1);
    EXPECT_EQ(only(*g, "Attention").inputs.size(), 3u);
  }
  const auto g =
      optimized_graph(qkv + ") => (float[2,2,3,4] y) <float[3,3] a = {0,-1e9,0,0,0,-1e9,0,0,0}> {" + swap +
                          "s = MatMul(q, t) w = Add(s, a)" + tail,
                      looking());
  EXPECT_EQ(only(*g, "Attention").inputs.size(), 4u);
  // A mask that may be exchanged stays one.
  BuildOptions refit = looking();
  refit.refit = true;
  const auto kept =
      optimized_graph(qkv + ") => (float[2,2,3,4] y) <float[3,3] a = {0,-inf,-inf,0,0,-inf,0,0,0}> {" + swap +
                          "s = MatMul(q, t) w = Add(s, a)" + tail,
                      refit);
  EXPECT_EQ(only(*kept, "Attention").inputs.size(), 4u);
}

TEST(Attention, MasksThatAreSubtracted) {
  const std::string tail = " p = Softmax<axis=-1>(w) y = MatMul(p, v) }";
  EXPECT_EQ(found(qkv + ", float[2,1,3,3] a) => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) w = Sub(s, a)" + tail),
            "Neg Attention");
  // Scores that are subtracted are no mask's.
  EXPECT_EQ(found(qkv + ", float[2,1,3,3] a) => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) w = Sub(a, s)" + tail),
            "Transpose MatMul Sub Softmax MatMul");
}

TEST(Attention, MasksThatHideBesideOthers) {
  const std::string tail = " p = Softmax<axis=-1>(w) y = MatMul(p, v) }";
  const auto attention = [&](const std::string& text) {
    return optimized_graph(qkv + ") => (float[2,2,3,4] y) " + text + tail, looking());
  };
  // -10000 and what is below hide where each row keeps a key.
  const auto causal = attention("<bool[3,3] a = {1,0,0,1,1,0,1,1,1}, float low = {-10000}> {" + swap +
                                "s = MatMul(q, t) w = Where(a, s, low)");
  EXPECT_EQ(operators(*causal), "Attention");
  EXPECT_EQ(only(*causal, "Attention").attributes.get<int64_t>("is_causal", 0), 1);
  const auto chosen = attention("<bool[3,3] a = {1,1,0,1,1,0,0,1,1}, float low = {-1e9}> {" + swap +
                                "s = MatMul(q, t) w = Where(a, s, low)");
  EXPECT_EQ(operators(*chosen), "Attention");
  EXPECT_EQ(chosen->value(only(*chosen, "Attention").inputs[3]).type.elem, DataType::boolean);
  // A row without a key gives all of them the same weight; an unknown mask might have such a row.
  for (const char* low : {"-1e4", "-65504", "-1e9", "-1e20"}) {
    const std::string number = std::string("float low = {") + low + "}> {" + swap;
    EXPECT_EQ(operators(*attention("<bool[3,3] a = {0,0,0,1,1,0,0,1,1}, " + number +
                                   "s = MatMul(q, t) w = Where(a, s, low)")),
              "Attention");
    const std::string unknown =
        qkv + ", bool[3,3] a) => (float[2,2,3,4] y) <float[3] b = {1,-2,3}, " + number;
    EXPECT_EQ(found(unknown + "s = MatMul(q, t) w = Where(a, s, low)" + tail), "Where Attention");
    EXPECT_EQ(found(unknown + "s = MatMul(q, t) w = Where(a, low, s)" + tail), "Where Attention");
    EXPECT_EQ(found(unknown + "s = MatMul(q, t) u = Add(s, b) w = Where(a, u, low)" + tail),
              "Where Attention");
    // An addition behind the mask makes masked scores differ.
    EXPECT_EQ(found(unknown + "s = MatMul(q, t) u = Where(a, s, low) w = Add(u, b)" + tail),
              "Transpose MatMul Where Add Softmax MatMul");
  }
  // Another mask may hide scores that this one keeps.
  EXPECT_EQ(found(qkv +
                  ", float[2,1,3,3] b) => (float[2,2,3,4] y) <bool[3,3] a = {1,0,0,1,1,0,1,1,1}, float "
                  "low = {-10000}> {" +
                  swap + "s = MatMul(q, t) u = Where(a, s, low) w = Add(u, b)" + tail),
            "Transpose MatMul Where Add Softmax MatMul");
  // The least number of 16 bits, whose bits these are, is as any other of them.
  const std::string half =
      "(float16[2,2,3,4] q, float16[2,2,3,4] k, float16[2,2,3,4] v, bool[3,3] b) => (float16[2,2,3,4] y) "
      "<bool[3,3] a = {1,1,0,1,1,0,0,1,1}, float16 low = {64511}> {" +
      swap + "s = MatMul(q, t) w = Where(";
  EXPECT_EQ(found(half + "a, s, low)" + tail), "Attention");
  // A query without a key sees all, and all alike: it is 0.
  EXPECT_EQ(found(half + "b, s, low)" + tail), "Cast ReduceMax Cast Not Or Mul Attention");
  EXPECT_EQ(found(half + "b, low, s)" + tail), "Not Cast ReduceMax Cast Not Or Mul Attention");
}

TEST(Attention, MasksByMultiplication) {
  const std::string tail = " p = Softmax<axis=-1>(w) y = MatMul(p, v) }";
  const std::string head =
      qkv +
      ") => (float[2,2,3,4] y) <float[1,1,3,3] m = {1,0,0,1,1,0,1,1,1}, float one = {1}, float low = "
      "{-10000}, float high = {10000}, float[1,1,3,3] p0 = {0,1e4,1e4,0,0,1e4,0,0,0}, float[1,1,3,3] "
      "p1 = {1,1e4,1e4,0,0,1e4,0,0,0}> {" +
      swap + "s = MatMul(q, t) a = Mul(s, m) ";
  for (const char* sum : {"o = Sub(one, m) b = Mul(o, high) w = Sub(a, b)",
                          "o = Sub(one, m) b = Mul(low, o) w = Add(b, a)", "w = Sub(a, p0)"}) {
    const auto g = optimized_graph(head + sum + tail, looking());
    EXPECT_EQ(operators(*g), "Attention") << sum;
    EXPECT_EQ(only(*g, "Attention").attributes.get<int64_t>("is_causal", 0), 1);
  }
  // p1 also changes a score that is not masked.
  EXPECT_EQ(found(head + "w = Sub(a, p1)" + tail), "Transpose MatMul Mul Sub Softmax MatMul");
  // The mask is a part of a larger one, as long as the sequence: GPT-2.
  const std::string sliced =
      "(float[2,2,n,4] q, float[2,2,n,4] k, float[2,2,n,4] v) => (float[2,2,n,4] y) <float[1,1,4,4] all = "
      "{1,0,0,0,1,1,0,0,1,1,1,0,1,1,1,1}, int64[1] z = {0}, int64[1] two = {2}, int64[1] three = {3}, "
      "int64[1] four = {4}, float one = {1}, float high = {10000}> { sh = Shape(q) len = Slice(sh, two, "
      "three) m0 = Slice(all, ";
  const std::string cut = ", two) m = Slice(m0, z, len, three) " + swap +
                          "s = MatMul(q, t) a = Mul(s, m) o = Sub(one, m) b = Mul(o, high) w = Sub(a, b)" +
                          tail;
  const std::string operations = found(sliced + "z, len" + cut);
  EXPECT_TRUE(operations.ends_with("Cast Shape Concat Expand Attention")) << operations;
}

TEST(Attention, KeysThatAreTransposedAlready) {
  EXPECT_EQ(found("(float[2,2,3,4] q, float[2,2,4,5] k, float[2,2,5,4] v) => (float[2,2,3,4] y) <float c = "
                  "{0.5}> { m = MatMul(q, k) s = Mul(m, c) p = Softmax<axis=-1>(s) y = MatMul(p, v) }"),
            "Transpose Attention");
  EXPECT_EQ(found("(float[2,3,4] q, float[2,4,5] k, float[2,5,4] v) => (float[2,3,4] y) { s = MatMul(q, k) p "
                  "= Softmax<axis=-1>(s) y = MatMul(p, v) }"),
            "Transpose Attention");
  // A single query does not profit.
  EXPECT_EQ(found("(float[2,2,1,4] q, float[2,2,4,5] k, float[2,2,5,4] v) => (float[2,2,1,4] y) { s = "
                  "MatMul(q, k) p = Softmax<axis=-1>(s) y = MatMul(p, v) }"),
            "MatMul Softmax MatMul");
  // One head of keys for all.
  EXPECT_EQ(found("(float[2,2,3,4] q, float[2,1,4,5] k, float[2,1,5,4] v) => (float[2,2,3,4] y) { s = "
                  "MatMul(q, k) p = Softmax<axis=-1>(s) y = MatMul(p, v) }"),
            "Transpose Attention");
}

TEST(Attention, AsEquations) {
  const std::string head = qkv + ", float[2,1,3,3] a) => (float[2,2,3,4] y) <float c = {0.5}> {";
  EXPECT_EQ(found(head + "m = Einsum<equation=\"b h i d, b h j d -> b h i j\">(q, k) s = Mul(m, c) w = "
                         "Add(s, a) p = Softmax<axis=-1>(w) y = Einsum<equation=\"bhij,bhjd->bhid\">(p, v) "
                         "}"),
            "Attention");
  // Heads behind rows.
  EXPECT_EQ(found("(float[2,3,2,4] q, float[2,3,2,4] k, float[2,3,2,4] v) => (float[2,3,2,4] y) { s = "
                  "Einsum<equation=\"bind,bjnd->bnij\">(q, k) p = Softmax<axis=-1>(s) y = "
                  "Einsum<equation=\"bnij,bjnd->bind\">(p, v) }"),
            "Transpose Transpose Transpose Attention Transpose");
}

TEST(Attention, MasksOfWindows) {
  // Two windows of each of two images: the mask is added with an axis of its own for the windows.
  EXPECT_EQ(found("(float[4,3,2,4] q, float[4,3,2,4] k, float[4,3,2,4] v) => (float[4,3,2,4] y) <int64[5] "
                  "apart = {2,2,3,2,2}, int64[4] together = {4,3,2,2}, float[1,2,1,2,2] m = "
                  "{0,-100,-100,0,0,0,-100,0}, float[1,3,2,2] b = {1,2,3,4,5,6,7,8,9,10,11,12}> { t = "
                  "Transpose<perm=[0,1,3,2]>(k) s = MatMul(q, t) r = Add(s, b) a = Reshape(r, apart) c = "
                  "Add(a, m) w = Reshape(c, together) p = Softmax<axis=-1>(w) y = MatMul(p, v) }"),
            "Attention");
}

TEST(Attention, CapsAndTypes) {
  EXPECT_EQ(found(qkv + ") => (float[2,2,3,4] y) <float c = {2}, float e = {0.5}> {" + swap +
                  "m = MatMul(q, t) s = Mul(m, e) d = Div(s, c) h = Tanh(d) w = Mul(h, c) p = "
                  "Softmax<axis=-1>(w) y = "
                  "MatMul(p, v) }"),
            "Attention");
  const std::string half =
      "(float16[2,2,3,4] q, float16[2,2,3,4] k, float16[2,2,3,4] v) => (float16[2,2,3,4] y)";
  const auto g =
      optimized_graph(half + " {" + swap +
                          "s = MatMul(q, t) w = Cast<to=1>(s) p = Softmax<axis=-1>(w) o = Cast<to=10>(p) y "
                          "= MatMul(o, v) }",
                      looking());
  EXPECT_EQ(operators(*g), "Attention");
  EXPECT_EQ(only(*g, "Attention").attributes.get<int64_t>("softmax_precision", 0), 1);
  // 0.1 is not a float.
  EXPECT_EQ(found("(double[1,2,3,4] q, double[1,2,3,4] k, double[1,2,3,4] v) => (double[1,2,3,4] y) <double "
                  "c = {0.1}> "
                  "{" +
                  swap + "m = MatMul(q, t) s = Mul(m, c) p = Softmax<axis=-1>(s) y = MatMul(p, v) }"),
            "Transpose MatMul Mul Softmax MatMul");
}

TEST(Attention, OfHeadsInTheBatch) {
  EXPECT_EQ(found("(float[4,3,5] q, float[4,2,5] k, float[4,2,6] v, float[4,3,2] a) => (float[4,3,6] y) "
                  "<float d = {2}> "
                  "{ t = Transpose<perm=[0,2,1]>(k) m = MatMul(q, t) s = Div(m, d) w = Add(s, a) p = "
                  "Softmax<axis=-1>(w) y = MatMul(p, v) }"),
            "Unsqueeze Attention");
}

TEST(Attention, WhatOthersReadStays) {
  EXPECT_EQ(found(qkv + ") => (float[2,2,3,4] y, float[2,2,3,3] p) {" + swap +
                  "s = MatMul(q, t) p = Softmax<axis=-1>(s) y = MatMul(p, v) }"),
            "Transpose MatMul Softmax MatMul");
  EXPECT_EQ(found(qkv + ") => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) p = Softmax<axis=2>(s) y = MatMul(p, v) }"),
            "Transpose MatMul Softmax MatMul");
  // Keys of one batch for all.
  EXPECT_EQ(found("(float[2,2,3,4] q, float[1,2,3,4] k, float[2,2,3,4] v) => (float[2,2,3,4] y) {" + swap +
                  "s = MatMul(q, t) p = Softmax<axis=-1>(s) y = MatMul(p, v) }"),
            "Transpose MatMul Softmax MatMul");
}

TEST(Attention, RowsWithoutAKey) {
  EXPECT_EQ(
      found(
          qkv + ", bool[2,1,3,3] a) => (float[2,2,3,4] y) <float low = {-inf}, float z = {0}> {" + swap +
          "s = MatMul(q, t) w = Where(a, s, low) x = Softmax<axis=-1>(w) n = IsNaN(x) p = Where(n, z, x) y = "
          "MatMul(p, v) }"),
      "Where Attention");
}

TEST(Attention, GroupsOfHeads) {
  const std::string head =
      "(float[2,4,3,4] q, float[2,2,3,4] k, float[2,2,3,4] v) => (float[2,4,3,4] y) <int64[1] two = {2}, "
      "int64[5] e = "
      "{2,2,2,3,4}, int64[4] s = {2,4,3,4}, int64[5] r = {1,1,2,1,1}> ";
  const std::string tail =
      "t = Transpose<perm=[0,1,3,2]>(kk) m = MatMul(q, t) p = Softmax<axis=-1>(m) y = MatMul(p, vv) }";
  EXPECT_EQ(
      found(head +
            "{ ku = Unsqueeze(k, two) ke = Expand(ku, e) kk = Reshape(ke, s) vu = Unsqueeze(v, two) ve = "
            "Expand(vu, e) vv = Reshape(ve, s) " +
            tail),
      "Attention");
  EXPECT_EQ(found(head +
                  "{ ku = Unsqueeze(k, two) ke = Tile(ku, r) kk = Reshape(ke, s) vu = Unsqueeze(v, two) ve = "
                  "Tile(vu, r) vv = Reshape(ve, s) " +
                  tail),
            "Attention");
  // Heads that are repeated in turn are shared otherwise.
  EXPECT_EQ(found("(float[2,4,3,4] q, float[2,2,3,4] k, float[2,2,3,4] v) => (float[2,4,3,4] y) { kk = "
                  "Concat<axis=1>(k, "
                  "k) vv = Concat<axis=1>(v, v) " +
                  tail),
            "Concat Concat Attention");
}

TEST(Attention, HeadsSideBySide) {
  const std::string split = "Transpose<perm=[0,2,1,3]>";
  EXPECT_EQ(
      found("(float[n,3,8] x) => (float[n,3,8] y) <int64[4] s = {0,0,2,4}, int64[3] j = {0,0,8}, float d = "
            "{2}> "
            "{ a = Reshape(x, s) q = " +
            split +
            "(a) b = Relu(x) c = Reshape(b, s) kt = "
            "Transpose<perm=[0,2,3,1]>(c) e = Sigmoid(x) f = Reshape(e, s) v = " +
            split + "(f) m = MatMul(q, kt) w = Div(m, d) p = Softmax<axis=-1>(w) o = MatMul(p, v) t = " +
            split + "(o) y = Reshape(t, j) }"),
      "Relu Sigmoid Attention");
}

TEST(Attention, HeadsSideBySideForAProductOfMatrices) {
  // The next product needs a row for every query of every image.
  const std::string split = "Transpose<perm=[0,2,1,3]>";
  const std::string text =
      "(float[n,3,8] x, float[n,3,8] z) => (float[m,k] y) <int64[4] s = {0,0,2,4}, int64[2] j = {-1,8}, "
      "int64[2] "
      "first = {0,-1}> { a = Reshape(x, s) q = " +
      split + "(a) b = Reshape(z, s) k = " + split +
      "(b) kt = Transpose<perm=[0,1,3,2]>(k) m = MatMul(q, kt) p = " +
      "Softmax<axis=-1>(m) o = MatMul(p, k) t = " + split + "(o) y = Reshape(t, ";
  EXPECT_EQ(found(text + "j) }"), "Attention Reshape");
  EXPECT_EQ(found(text + "first) }"), "Reshape Transpose Reshape Transpose Attention Transpose Reshape");
}

const std::string halves =
    "<int64[1] z = {0}, int64[1] h = {2}, int64[1] e = {9223372036854775807}, int64[1] ax = {3}, int64[1] "
    "one = {1}> ";
const std::string rotate =
    "a = Slice(x, z, h, ax) b = Slice(x, h, e, ax) n = Neg(b) r = Concat<axis=-1>(n, a) ";

TEST(RotaryEmbedding, ByHalves) {
  EXPECT_EQ(
      found("(float[2,3,5,4] x, float[2,5,2] f) => (float[2,3,5,4] y) " + halves + "{" + rotate +
            "g = Concat<axis=-1>(f, f) i = Cos(g) j = Sin(g) c = Unsqueeze(i, one) s = Unsqueeze(j, one) u = "
            "Mul(x, c) v = Mul(r, s) y = Add(u, v) }"),
      "Cos Sin RotaryEmbedding");
  // One row of angles for all batches.
  EXPECT_EQ(
      found("(float[m,3,5,4] x, float[1,5,2] f) => (float[m,3,5,4] y) " + halves + "{" + rotate +
            "g = Concat<axis=-1>(f, f) i = Cos(g) j = Sin(g) c = Unsqueeze(i, one) s = Unsqueeze(j, one) u = "
            "Mul(c, x) v = Mul(s, r) y = Add(v, u) }"),
      "Cos Sin Shape Concat Expand Expand RotaryEmbedding");
  // Halves that differ.
  EXPECT_EQ(
      found(
          "(float[2,3,5,4] x, float[2,5,4] g) => (float[2,3,5,4] y) " + halves + "{" + rotate +
          "i = Cos(g) j = Sin(g) c = Unsqueeze(i, one) s = Unsqueeze(j, one) u = Mul(x, c) v = Mul(r, s) y = "
          "Add(u, v) }"),
      "Slice Slice Neg Concat Cos Sin Unsqueeze Unsqueeze Mul Mul Add");
}

// Exports of Llama have a product of frequencies and positions, transposed before it is doubled.
TEST(RotaryEmbedding, OfAnglesThatAreComputed) {
  const std::string head =
      "(float[b,3,s,4] x, int64[b,s] p) => (float[b,3,s,4] y) " + halves.substr(0, halves.size() - 2) +
      ", float[1,2,1] f = {1,0.01}, float by = {1.25}, float[1,1,4] row = {1,2,1,2}, float[1] "
      "number = {1.25}> {" +
      rotate + "o = Unsqueeze(p, one) q = Cast<to=1>(o) ";
  const std::string tail =
      " c = Unsqueeze(i, one) s = Unsqueeze(j, one) u = Mul(x, c) v = Mul(r, s) y = Add(u, v) }";
  const std::string transposed = " t = Transpose<perm=[0,2,1]>(m) g = Concat<axis=-1>(t, t) ";
  for (const char* product : {"m = MatMul(f, q)", "m = Mul(f, q)"}) {
    const std::string ops = std::string("Unsqueeze Cast ") + (product[5] == 'a' ? "MatMul" : "Mul");
    EXPECT_EQ(found(head + product + transposed + "i = Cos(g) j = Sin(g)" + tail),
              ops + " Transpose Cos Sin RotaryEmbedding");
    EXPECT_EQ(found(head + product + transposed +
                    "a1 = Cos(g) a2 = Sin(g) i = Mul(a1, by) j = Mul(number, a2)" + tail),
              ops + " Transpose Cos Mul Sin Mul RotaryEmbedding");
    // Halves of the other axis.
    EXPECT_EQ(found(head + product +
                    " t = Concat<axis=1>(m, m) g = Transpose<perm=[0,2,1]>(t) i = Cos(g) j = Sin(g)" + tail),
              ops + " Transpose Cos Sin RotaryEmbedding");
  }
  // Scaled by numbers of which there are as many as columns.
  EXPECT_EQ(found(head + "m = Mul(f, q)" + transposed + "a1 = Cos(g) i = Mul(a1, row) j = Sin(g)" + tail)
                .find("RotaryEmbedding"),
            std::string::npos);
}

TEST(RotaryEmbedding, OfRowsBeforeHeads) {
  const std::string head = "(float[2,5,3,4] x, float[n,5,2] f) => (float[2,5,3,4] y) " +
                           halves.substr(0, halves.size() - 2) + ", int64[1] two = {2}> {" + rotate +
                           "g = Concat<axis=-1>(f, f) i = Cos(g) j = Sin(g) ";
  const std::string rest = " u = Mul(x, c) v = Mul(r, s) y = Add(u, v) }";
  const auto of = [&](std::string n, const std::string& open) {
    std::string text = head + open + rest;
    return found(text.replace(text.find("n,5"), 1, n));
  };
  EXPECT_EQ(of("2", "c = Unsqueeze(i, two) s = Unsqueeze(j, two)"),
            "Reshape Cos Sin RotaryEmbedding Reshape");
  EXPECT_EQ(of("1", "c = Unsqueeze(i, two) s = Unsqueeze(j, two)"),
            "Reshape Cos Expand Sin Expand RotaryEmbedding Reshape");
}

TEST(RotaryEmbedding, OfTablesAndPositions) {
  const auto of = [](const std::string& head, const std::string& numbers, const std::string& body) {
    return found(head + " " + halves.substr(0, halves.size() - 2) + numbers +
                 ", float[3,4] ct = {1,2,1,2,3,4,3,4,5,6,5,6}, float[3,4] st = {7,8,7,8,1,2,1,2,3,3,3,3}> {" +
                 body + " }");
  };
  const std::string angles =
      "i = Gather(ct, p) j = Gather(st, p) c = Unsqueeze(i, one) s = Unsqueeze(j, one) u = Mul(x, c) v = "
      "Mul(r, "
      "s) ";
  const std::string known = ", int64[2,5] p = {0,1,2,0,1,2,0,1,2,2}",
                    negative = ", int64[2,5] p = {0,1,2,0,1,2,0,1,2,-1}";
  const std::string part = ", int64[1] four = {4}",
                    of_part = "x = Slice(w, z, four, ax) o = Slice(w, four, e, ax) " + rotate + angles +
                              "t = Add(u, v) y = Concat<axis=-1>(t, o)";
  EXPECT_EQ(of("(float[2,3,5,4] x) => (float[2,3,5,4] y)", known, rotate + angles + "y = Add(u, v)"),
            "RotaryEmbedding");
  EXPECT_EQ(of("(float[2,3,5,6] w) => (float[2,3,5,6] y)", known + part, of_part), "RotaryEmbedding");
  // Gather counts negative positions from the end, RotaryEmbedding does not: those that only a run knows are
  // gathered by.
  EXPECT_EQ(
      of("(float[2,3,5,4] x, int64[2,5] p) => (float[2,3,5,4] y)", "", rotate + angles + "y = Add(u, v)"),
      "Gather Gather Slice Slice RotaryEmbedding");
  EXPECT_EQ(of("(float[2,3,5,6] w, int64[2,5] p) => (float[2,3,5,6] y)", part, of_part),
            "Gather Gather Slice Slice RotaryEmbedding");
  EXPECT_EQ(of("(float[2,3,5,4] x) => (float[2,3,5,4] y)", negative, rotate + angles + "y = Add(u, v)"),
            "RotaryEmbedding");
}

TEST(RotaryEmbedding, ByPairs) {
  EXPECT_EQ(
      found(
          "(float[2,3,5,4] x, float[2,1,5,2] c, float[2,1,5,2] s) => (float[2,3,5,4] y) <int64[5] ps = "
          "{0,0,0,2,2}, int64[1] four = {4}, int64[4] js = {0,0,0,-1}> "
          "{ q = Reshape(x, ps) a1, b1 = Split<axis=4, num_outputs=2>(q) a = Squeeze(a1, four) b = "
          "Squeeze(b1, "
          "four) ac = Mul(a, c) bs = Mul(b, s) d = Sub(ac, bs) as = Mul(a, s) bc = Mul(b, c) e = Add(as, bc) "
          "du = Unsqueeze(d, four) eu = Unsqueeze(e, four) j = Concat<axis=4>(du, eu) y = Reshape(j, js) }"),
      "Squeeze Squeeze RotaryEmbedding");
}

TEST(RotaryEmbedding, OfHalvesOneByOne) {
  const auto of = [](const std::string& first, const std::string& second) {
    return found(
        "(float[2,3,5,4] x, float[2,1,5,2] c, float[2,1,5,2] s) => (float[2,3,5,4] y) { a, b = "
        "Split<axis=-1, num_outputs=2>(x) ac = Mul(a, c) bs = Mul(s, b) d = Sub(" +
        first + ") bc = Mul(b, c) as = Mul(a, s) e = Add(" + second + ") y = Concat<axis=-1>(d, e) }");
  };
  EXPECT_EQ(of("ac, bs", "bc, as"), "Squeeze Squeeze RotaryEmbedding");
  EXPECT_EQ(of("ac, bs", "as, bc"), "Squeeze Squeeze RotaryEmbedding");
  EXPECT_EQ(of("bs, ac", "as, bc"), "Split Mul Mul Sub Mul Mul Add Concat");
  EXPECT_EQ(of("ac, bs", "ac, bs"), "Split Mul Mul Sub Add Concat");
}

TEST(RotaryEmbedding, OfNeighborsAsAWhole) {
  const std::string text =
      "(float[2,3,5,4] x, float[2,5,2] f) => (float[2,3,5,4] y) <int64[1] z = {0}, int64[1] o = {1}, "
      "int64[1] "
      "e = {9223372036854775807}, int64[1] ax = {3}, int64[1] two = {2}, int64[1] last = {-1}, int64[4] js = "
      "{2,3,5,4}, int64[3] fs = {2,5,4}, int64[4] twice = {1,1,1,2}> { a = Slice(x, z, e, ax, two) b = "
      "Slice(x, o, e, ax, two) n = Neg(b) nu = Unsqueeze(n, last) au = Unsqueeze(a, last) rp = "
      "Concat<axis=-1>(nu, au) r = Reshape(rp, js) fu = Unsqueeze(f, last) ";
  const std::string rest =
      "i = Cos(g) j = Sin(g) c = Unsqueeze(i, o) s = Unsqueeze(j, o) u = Mul(x, c) v = Mul(r, s) y = Add(u, "
      "v) "
      "}";
  EXPECT_EQ(found(text + "t = Tile(fu, twice) g = Reshape(t, fs) " + rest),
            "Unsqueeze Tile Reshape Cos Sin Slice Slice RotaryEmbedding");
  EXPECT_EQ(found(text + "t = Concat<axis=-1>(fu, fu) g = Reshape(t, fs) " + rest),
            "Unsqueeze Concat Reshape Cos Sin Slice Slice RotaryEmbedding");
  // Half after half is another embedding.
  EXPECT_EQ(found(text + "g = Concat<axis=-1>(f, f) " + rest).find("RotaryEmbedding"), std::string::npos);
}

TEST(GroupNormalization, InItsVariants) {
  const std::string head =
      "(float[2,4,2,3] x) => (float[2,4,2,3] y) <int64[3] g = {0,2,-1}, int64[4] back = {2,4,2,3}, float[2] "
      "one = {1,1}, "
      "float[2] zero = {0,0}, float[4,1,1] w = {1,2,3,4}, float[1,4,1,1] b = {4,3,2,1}, int64[1] ax = {-1}, "
      "float e = "
      "{0.00001}> ";
  EXPECT_EQ(
      found(head +
            "{ r = Reshape(x, g) i = InstanceNormalization(r, one, zero) o = Reshape(i, back) m = Mul(o, w) "
            "y = Add(m, b) }"),
      "GroupNormalization");
  EXPECT_EQ(
      found(head +
            "{ r = Reshape(x, g) m = ReduceMean(r, ax) d = Sub(r, m) q = Mul(d, d) v = ReduceMean(q, ax) s "
            "= Add(v, e) t = Sqrt(s) n = Div(d, t) o = Reshape(n, back) u = Mul(w, o) y = Add(b, u) }"),
      "GroupNormalization");
  EXPECT_EQ(
      optimized(head + "{ r = Reshape(x, g) i = InstanceNormalization(r, one, zero) o = Reshape(i, back) m = "
                       "Mul(o, w) y = Add(m, b) }",
                OptimizationLevel::all, {"-recognize-group-norm"}),
      "Reshape InstanceNormalization Reshape Mul Add");
  // Scale and bias are absent, or computed.
  EXPECT_EQ(
      found(head +
            "{ r = Reshape(x, g) i = InstanceNormalization(r, one, zero) o = Reshape(i, back) y = Relu(o) }"),
      "GroupNormalization Relu");
  EXPECT_EQ(
      found(head +
            "{ r = Reshape(x, g) i = InstanceNormalization(r, one, zero) o = Reshape(i, back) u = Exp(x) y = "
            "Mul(o, u) }"),
      "Exp GroupNormalization Mul");
  // Groups that are scaled on their own.
  EXPECT_EQ(
      found(head +
            "{ r = Reshape(x, g) i = InstanceNormalization(r, one, one) o = Reshape(i, back) m = Mul(o, w) "
            "y = Add(m, b) }"),
      "Reshape InstanceNormalization Reshape Mul Add");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
