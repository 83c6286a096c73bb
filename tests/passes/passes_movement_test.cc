// Passes over what only moves elements: slices, shapes, transpositions.
#include <gtest/gtest.h>

#include "support/optimized.h"

namespace lathe {
namespace LATHE_TEST_FILE {

TEST(Movements, SlicesOfSlices) {
  const std::string head =
      "(float[8,6] x) => (float[m,n] y) <int64[1] one = {1}, int64[1] two = {2}, int64[1] six = {6}, "
      "int64[1] zero = {0}, "
      "int64[1] back = {-1}, int64[1] far = {-9}> ";
  EXPECT_EQ(optimized(head + "{ a = Slice(x, one, six, zero) y = Slice(a, one, two, one) }"), "Slice");
  EXPECT_EQ(optimized(head + "{ a = Slice(x, one, six, zero, two) y = Slice(a, one, six, zero) }"), "Slice");
  EXPECT_EQ(
      optimized(
          head +
          "{ a = Slice(x, one, six, zero) b = Slice(a, zero, back, zero) y = Slice(b, one, six, one) }"),
      "Slice");
  // Backwards twice along one axis.
  EXPECT_EQ(optimized(head + "{ a = Slice(x, back, far, zero, back) y = Slice(a, one, six, zero) }"),
            "Slice Slice");
}

TEST(Movements, PartsOfConcat) {
  const std::string head =
      "(float[2,3] x, float[4,3] z) => (float[m,n] y) <int64[1] zero = {0}, int64[1] one = {1}, int64[1] two "
      "= {2}, int64[1] "
      "three = {3}, int64[1] six = {6}> ";
  EXPECT_EQ(optimized(head + "{ c = Concat<axis=0>(x, z) s = Slice(c, two, six, zero) y = Relu(s) }"),
            "Relu");
  EXPECT_EQ(optimized(head + "{ c = Concat<axis=0>(x, z) s = Slice(c, three, six, zero) y = Relu(s) }"),
            "Slice Relu");
  EXPECT_EQ(optimized(head + "{ c = Concat<axis=0>(x, z) s = Slice(c, one, three, zero) y = Relu(s) }"),
            "Concat Slice Relu");
  EXPECT_EQ(optimized(head + "{ c = Concat<axis=0>(x, z) s = Slice(c, two, six, one) y = Relu(s) }"),
            "Concat Slice Relu");
  EXPECT_EQ(optimized("(float[2,3] x, float[4,3] z) => (float[4,3] y) <int64[2] s = {2,4}> { c = "
                      "Concat<axis=0>(x, z) a, b "
                      "= Split<axis=0>(c, s) d = ReduceSum(a) y = Add(b, d) }"),
            "ReduceSum Add");
}

TEST(Movements, PartsPutTogether) {
  const std::string head =
      "(float[6,3] x) => (float[m,n] y) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] four = {4}, "
      "int64[1] six = {6}> ";
  EXPECT_EQ(
      optimized(head +
                "{ a = Slice(x, zero, two, zero) b = Slice(x, two, six, zero) c = Concat<axis=0>(a, b) y = "
                "Relu(c) }"),
      "Relu");
  EXPECT_EQ(
      optimized(head +
                "{ a = Slice(x, zero, two, zero) b = Slice(x, two, four, zero) y = Concat<axis=0>(a, b) }"),
      "Slice");
  EXPECT_EQ(
      optimized(head +
                "{ a = Slice(x, two, six, zero) b = Slice(x, zero, two, zero) y = Concat<axis=0>(a, b) }"),
      "Slice Slice Concat");
  EXPECT_EQ(
      optimized(head + "{ a, b = Split<axis=0, num_outputs=2>(x) c = Concat<axis=0>(a, b) y = Relu(c) }"),
      "Relu");
  EXPECT_EQ(optimized(head + "{ a, b = Split<axis=0, num_outputs=2>(x) y = Concat<axis=0>(b, a) }"),
            "Split Concat");
}

TEST(Movements, ShapesBehindProducts) {
  const std::string head =
      "(float[2,3,4] x, float[4,5] w) => (float[m,n] y) <int64[2] flat = {6,4}, int64[3] apart = {2,3,5}, "
      "int64[2] again = {6,5}, float[5] b = {1,2,3,4,5}> ";
  EXPECT_EQ(optimized(head + "{ f = Reshape(x, flat) g = Gemm(f, w, b) r = Reshape(g, apart) e = Gelu(r) h = "
                             "Reshape(e, again) y = Softmax(h) }"),
            "Reshape Gemm Gelu Softmax");
  // A row that is added, as dense layers of Keras do, and a number; on either side.
  EXPECT_EQ(
      optimized(head + "{ f = Reshape(x, flat) g = MatMul(f, w) r = Reshape(g, apart) s = Add(b, r) e = "
                       "Gelu(s) h = Reshape(e, again) y = Softmax(h) }"),
      "Reshape Gemm Gelu Softmax");
  EXPECT_EQ(optimized("(float[6,4] x, float[4,5] w, float s) => (float[2,3,5] y) <int64[3] apart = {2,3,5}> "
                      "{ g = MatMul(x, w) r = Reshape(g, apart) t = Div(r, s) u = Sub(s, t) y = Exp(u) }"),
            "MatMul Div Sub Exp Reshape");
  // Rows that are others afterwards, and what is no row.
  EXPECT_EQ(optimized("(float[6,4] x, float[4,5] w) => (float[5,6] y) <int64[2] turned = {5,6}, float[6] b = "
                      "{1,2,3,4,5,6}> { g = MatMul(x, w) r = Reshape(g, turned) y = Add(r, b) }"),
            "MatMul Reshape Add");
  EXPECT_EQ(optimized("(float[6,4] x, float[4,5] w, float[3,1] b) => (float[2,3,5] y) <int64[3] apart = "
                      "{2,3,5}> { g = MatMul(x, w) r = Reshape(g, apart) y = Mul(r, b) }"),
            "MatMul Reshape Mul");
  // Read elsewhere too.
  EXPECT_EQ(optimized("(float[6,4] x, float[4,5] w) => (float[2,3,5] y, float[2,3,5] z) <int64[3] apart = "
                      "{2,3,5}, float[5] b = {1,2,3,4,5}> "
                      "{ g = Gemm(x, w, b) z = Reshape(g, apart) y = Gelu(z) }"),
            "Gemm Reshape Gelu");
}

TEST(Movements, ShapesThatFollow) {
  EXPECT_EQ(
      optimized("(float[n,6] x) => (float[n,2,3] y) <int64[1] zero = {0}, int64[1] two = {2}, int64[1] three "
                "= {3}> "
                "{ s = Shape(x) b = Gather(s, zero) t = Concat<axis=0>(b, two, three) y = Reshape(x, t) }"),
      "Reshape");
  EXPECT_EQ(
      optimized("(float[n,m,6] x) => (float[n,m,2,3] y) <int64[2] nm = {0,1}, int64[1] two = {2}, int64[1] "
                "three = {3}> "
                "{ s = Shape(x) b = Gather(s, nm) t = Concat<axis=0>(b, two, three) y = Reshape(x, t) }"),
      "Reshape");
  // If n may be empty, -1 in place of m would not be determined.
  EXPECT_EQ(optimized("(float[n,4,m] x) => (float[n,m,4] y) <int64[2] nm = {0,2}, int64[1] four = {4}> "
                      "{ s = Shape(x) b = Gather(s, nm) t = Concat<axis=0>(b, four) y = Reshape(x, t) }"),
            "Shape Gather Concat Reshape");
  // If the shape has a -1, the other sizes become 0, which copies them.
  for (const char* all : {"b = Shape<start=0, end=1>(x) t = Concat<axis=0>(b, rest)",
                          "b = Shape<start=0, end=2>(x) t = Concat<axis=0>(b, rest)",
                          "b = Shape<start=0, end=1>(x) t = Concat<axis=0>(b, two, rest)"})
    EXPECT_EQ(
        optimized(std::string(
                      "(float[n,m,k,2] x) => (float[i,j] y) <int64[1] rest = {-1}, int64[1] two = {2}> { ") +
                  all + " r = Reshape(x, t) s = Flatten(r) y = Relu(s) }")
            .substr(0, 8),
        "Reshape ")
        << all;
  EXPECT_EQ(
      optimized(
          "(float[n,m,k] x) => (float[i,j] y) <int64[1] rest = {-1}> { b = Shape<start=1, end=2>(x) t = "
          "Concat<axis=0>(b, rest) y = Reshape(x, t) }"),
      "Shape Concat Reshape");
  EXPECT_EQ(
      optimized("(float[2,3] x) => (float[2,3] y) <int64[2] once = {1,1}> { t = Tile(x, once) y = Relu(t) }"),
      "Relu");
  EXPECT_EQ(optimized("(float[n,6] x) => (float[n,6] y) <int64[1] one = {1}> { a = Unsqueeze(x, one) b = "
                      "Squeeze(a, one) y = "
                      "Relu(b) }"),
            "Relu");
  EXPECT_EQ(optimized("(float[n,6] x) => (float[n,6] y) <int64[3] s = {0,2,3}, int64[2] t = {-1,6}> { a = "
                      "Reshape(x, s) b = "
                      "Reshape(a, t) y = Relu(b) }"),
            "Relu");
}

TEST(Movements, TransposesOfSizeOne) {
  EXPECT_EQ(optimized("(float[n,1,4] x) => (float[n,4,1] y) { y = Transpose<perm=[0,2,1]>(x) }"), "Reshape");
  EXPECT_EQ(optimized("(float[n,2,4] x) => (float[n,4,2] y) { y = Transpose<perm=[0,2,1]>(x) }"),
            "Transpose");
}

TEST(Movements, BetweenChangesOfShape) {
  const std::string head =
      "(float[4,3,2] x, float[n,6] w) => (float[i,j,k] y) <int64[4] apart = {2,2,3,2}, int64[3] together = "
      "{4,3,2}, int64[3] s = {0,3,2}, int64[2] six = {0,6}, float[2,1,1] one_each = {1,2}, float[1,3,2] both "
      "= {1,2,3,4,5,6}, float[3,1] rows = {1,2,3}, float[2,2,1,1] all = {1,2,3,4}> ";
  // Constants with sizes of 1, repeated over axes that are one, and of whole axes.
  for (const char* c : {"one_each", "both", "rows", "all"})
    EXPECT_EQ(optimized(head + "{ a = Reshape(x, apart) b = Add(a, " + std::string(c) +
                        ") y = Reshape(b, together) }"),
              "Add")
        << c;
  EXPECT_EQ(
      optimized("(float[n,6] x) => (float[n,6] y) <int64[3] s = {0,3,2}, int64[2] back = {0,6}, float[3,1] "
                "c = {1,2,3}> { a = Reshape(x, s) b = Sub(c, a) y = Reshape(b, back) }"),
      "Sub");
  // Values that others read stay, as do values with another shape afterwards.
  EXPECT_EQ(
      optimized("(float[n,6] x) => (float[n,6] y, float[n,3,2] z) <int64[3] s = {0,3,2}, int64[2] back = "
                "{0,6}, float[3,1] c = {1,2,3}> { a = Reshape(x, s) z = Mul(a, c) y = Reshape(z, back) }"),
      "Reshape Mul Reshape");
  EXPECT_EQ(optimized("(float[n,6] x) => (float[n,2,3] y) <int64[3] s = {0,3,2}, int64[3] back = {0,2,3}, "
                      "float[3,1] c = {1,2,3}> { a = Reshape(x, s) b = Mul(a, c) y = Reshape(b, back) }"),
            "Reshape Mul Reshape");
}

TEST(Movements, BroadcastWithoutExpand) {
  EXPECT_EQ(optimized("(float[2,3] x, float[3] z) => (float[2,3] y) <int64[2] s = {2,3}> { e = Expand(z, s) "
                      "y = Mul(x, e) }"),
            "Mul");
  EXPECT_EQ(optimized("(float[1,3] x, float[3] z) => (float[2,3] y) <int64[2] s = {2,3}> { e = Expand(z, s) "
                      "y = Mul(x, e) }"),
            "Expand Mul");
}

TEST(Movements, TransposesMeet) {
  const std::string there = "Transpose<perm=[0,2,3,1]>", back = "Transpose<perm=[0,3,1,2]>";
  const std::string head =
      "(float[1,2,3,4] x, float[1,2,3,4] z) => (float[i,j,k,l] y) <float[2] b = {1,2}, float two = {2}> ";
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) c = Add(a, b) d = Relu(c) e = Mul(two, d) y = " + back +
                      "(e) }"),
            "Add Relu Mul");
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) c = Softmax<axis=-1>(a) y = " + back + "(c) }"),
            "Softmax");
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) c = Exp(a) y = " + there + "(c) }"), "Exp Transpose");
  // A transpose without its inverse stays, as does one whose result others read.
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) y = Exp(a) }"), "Transpose Exp");
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) c = Exp(a) d = " + back +
                      "(c) e = Sum(a, c) f = ReduceSum(e) y = Add(d, "
                      "f) }"),
            "Transpose Exp Transpose Sum ReduceSum Add");
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) c = " + there + "(z) d = Exp(c) y = Sub(a, d) }"),
            "Exp Sub Transpose");
  // A diamond, and one that a reduction is part of.
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) c = Exp(a) d = Mul(a, c) y = " + back + "(d) }"),
            "Exp Mul");
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) d = Mul(a, a) y = " + back + "(d) }"), "Mul");
  EXPECT_EQ(optimized("(float[1,2,3,4] x) => (float[i,j,k,l] y) <int64[2] ax = {1,2}> { a = " + there +
                      "(x) r = ReduceMean(a, ax) g = Exp(r) d = Mul(a, g) y = " + back + "(d) }"),
            "ReduceMean Exp Mul");
  EXPECT_EQ(optimized("(float[1,2,3,4] x) => (float[i,j,k,l] y, float[i,j,k,l] c) { a = " + there +
                      "(x) c = Exp(a) y = Mul(a, c) }"),
            "Transpose Exp Mul");
  EXPECT_EQ(optimized(head + "{ a = " + there + "(x) c = " + there + "(z) y = Concat<axis=-1>(a, c) }"),
            "Concat Transpose");
  EXPECT_EQ(optimized("(float[1,3,3,3] x, float[1,3,3,3] z) => (float[2,3,3,3] y) { a = " + there +
                      "(x) c = " + back + "(z) y = Concat<axis=0>(a, c) }"),
            "Transpose Transpose Concat");
}

TEST(Movements, TransposesMeetBehindWhatDoesNotMind) {
  const std::string there = "Transpose<perm=[0,2,3,1]>", back = "Transpose<perm=[0,3,1,2]>";
  const std::string head =
      "(float[1,2,3,4] x, float[1,2,3,4] z) => (float[i,j,k,l] y) <float low = {0}, float high = {0.5}, "
      "bool[4,1] "
      "which = {1,0,1,0}, float[2] other = {5,6}, int64[8] p = {0,1,0,0,0,2,0,1}, int64[2] q = {1,2}, "
      "int64[1] "
      "ax = {1}, int64[2] sa = {1,-2}, int64[2] ss = {1,0}, int64[2] se = {3,3}, int64[3] s0 = {0,1,1}, "
      "int64[3] e0 = {1,3,4}> { a = " +
      there + "(x) ";
  const auto of = [&](const std::string& text) { return optimized(head + text + " }"); };
  EXPECT_EQ(of("c = Clip(a, low, high) y = " + back + "(c)"), "Clip");
  EXPECT_EQ(of("c = Where(which, a, other) y = " + back + "(c)"), "Where");
  EXPECT_EQ(of("c = Pad(a, p) d = Relu(c) y = " + back + "(d)"), "Pad Relu");
  EXPECT_EQ(of("c = Pad<mode=\"edge\">(a, q, low, ax) y = " + back + "(c)"), "Pad");
  EXPECT_EQ(of("c = Slice(a, ss, se, sa) y = " + back + "(c)"), "Slice");
  EXPECT_EQ(of("c = Slice(a, s0, e0) y = " + back + "(c)"), "Slice");
  // A residual: what is transposed back for one reader is transposed for the other one behind.
  EXPECT_EQ(
      of("r = Relu(a) c = " + back + "(r) d = Exp(c) e = " + there + "(d) f = Add(r, e) y = " + back + "(f)"),
      "Relu Exp Add");
  EXPECT_EQ(of("r = Relu(a) c = " + back + "(r) d = Exp(c) m = ReduceMax<keepdims=0>(r) y = Sub(d, m)"),
            "Relu Exp Transpose ReduceMax Sub");
  const std::string image =
      "(float[1,2,3,4] x) => (float[i,j,k,l] y) <float[4] by = {1,2,1.5,1}, int64[4] to = "
      "{1,5,7,2}, float[2] two = {2,2}> { a = " +
      there + "(x) ";
  EXPECT_EQ(optimized(image + "r = Resize(a, , by) y = " + back + "(r) }"), "Resize");
  EXPECT_EQ(optimized(image + "r = Resize<mode=\"linear\">(a, , , to) y = " + back + "(r) }"), "Resize");
  EXPECT_EQ(optimized(image + "r = Resize<axes=[1,2]>(a, , two) y = " + back + "(r) }"),
            "Transpose Resize Transpose");
  // Other runtimes refuse some axes.
  const auto transposed = [&](const std::string& perm, const std::string& mode, const std::string& undo) {
    return "(float[1,2,3,4] x) => (float[i,j,k,l] y) <float[4] by = {1,1,2,1.5}> { a = Transpose<perm=" +
           perm + ">(x) r = Resize<mode=\"" + mode + "\">(a, , by) y = Transpose<perm=" + undo + ">(r) }";
  };
  const std::string last = "[0,3,1,2]", first = "[0,2,3,1]", swap = "[0,2,1,3]",
                    kept = "Transpose Resize Transpose";
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    EXPECT_EQ(optimized(transposed(last, mode, first)), "Resize");
    EXPECT_EQ(written(transposed(last, mode, first)), mode[0] == 'c' ? kept : "Resize");
    EXPECT_EQ(optimized(transposed(swap, mode, swap)), "Resize");
    EXPECT_EQ(written(transposed(swap, mode, swap)), mode[0] == 'n' ? "Resize" : kept);
  }
  // Parts that are all transposed back.
  EXPECT_EQ(
      of("b, c = Split<axis=-1, num_outputs=2>(a) d = " + back + "(b) e = " + back + "(c) y = Sub(d, e)"),
      "Split Sub");
  EXPECT_EQ(of("b, c = Split<axis=-1, num_outputs=2>(a) d = " + back +
               "(b) e = ReduceMax<keepdims=0>(c) y = "
               "Sub(d, e)"),
            "Transpose Split ReduceMax Reshape Sub");
  // Squeeze leaves fewer axes to transpose.
  EXPECT_EQ(optimized("(float[n,1,3,4] x) => (float[n,4,3] y) <int64[1] ax = {1}> { a = "
                      "Transpose<perm=[0,1,3,2]>(x) y = Squeeze(a, ax) }"),
            "Squeeze Transpose");
}

TEST(Movements, ScatterOfABox) {
  const auto with = [](std::string_view indices, std::string_view updates, std::string_view data = "4,3") {
    return optimized("(float[" + std::string(data) + "] x, float[" + std::string(updates) +
                     "] u) => (float[" + std::string(data) + "] y) <int64[" + std::string(indices) +
                     "}> { z = Neg(x) a = ScatterND(z, i, u) y = Abs(a) }");
  };
  EXPECT_EQ(with("2,1] i = {1, 2", "2,3"), "Neg Slice Slice Concat Abs");
  EXPECT_EQ(with("2,1] i = {2, -1", "2,3"), "Neg Slice Concat Abs");
  EXPECT_EQ(with("2,1] i = {0, 1", "2,n", "4,n"), "Neg Slice Concat Abs");
  EXPECT_EQ(with("1,4,1,2] i = {0,2, 1,2, 2,2, 3,2", "1,4,1"), "Neg Reshape Slice Concat Abs");
  EXPECT_THROW(with("2,1] i = {0, 9223372036854775807", "2,3"), Error);  // when it runs
  // All of it, and parts along two axes.
  EXPECT_EQ(with("4,1] i = {0, 1, 2, 3", "4,3"), "Abs");
  EXPECT_EQ(with("2,2] i = {1,1, 1,2", "2"), "Neg ScatterND Abs");
  // The indices are out of order, one of them occurs twice, or there are holes, or they are beyond the end.
  EXPECT_EQ(with("2,1] i = {2, 1", "2,3"), "Neg ScatterND Abs");
  EXPECT_EQ(with("2,1] i = {1, 1", "2,3"), "Neg ScatterND Abs");
  EXPECT_EQ(with("2,1] i = {0, 2", "2,3"), "Neg ScatterND Abs");
  EXPECT_EQ(with("4,2] i = {0,0, 0,1, 1,1, 1,0", "4"), "Neg ScatterND Abs");
  EXPECT_EQ(optimized("(float[4,3] x, float[2,3] u) => (float[4,3] y) <int64[2,1] i = {1, 2}> "
                      "{ y = ScatterND<reduction=\"add\">(x, i, u) }"),
            "ScatterND");
  EXPECT_EQ(optimized("(float[4,3] x, float[4,3] u) => (float[4,3] y) <int64[4,1] i = {0, 1, 2, 3}> "
                      "{ y = ScatterND(x, i, u) }"),
            "Identity");
}

TEST(Movements, RowsPickedByProducts) {
  const std::string table = "float[3,2] w = {1, 2, 3, -4, 5, 6.5}, int64 d = {3}, float[2] v = {0, 1}";
  const std::string rows = "Cast Less Add Where GreaterOrEqual Less And Where ";
  // The range ends, or begins, beyond the end.
  EXPECT_EQ(optimized("(float[2,5] x) => (float[2,5,2] y) <" + table +
                      ", float three = {3}> { f = Mul(x, three) i = Cast<to=6>(f) h = OneHot(i, d, v) "
                      "y = MatMul(h, w) }"),
            "Mul Cast " + rows + "Gather");
  EXPECT_EQ(optimized("(int32[2,5] i) => (float[10,2] y) <" + table +
                      ", int64[2] flat = {-1, 3}> "
                      "{ h = OneHot(i, d, v) r = Reshape(h, flat) y = MatMul(r, w) }"),
            rows + "Reshape Gather");
  // Other values, another axis, a table that is computed, and one with what times zero is not zero.
  EXPECT_EQ(
      optimized("(int32[2,5] i) => (float[2,5,2] y) <float[3,2] w = {1, 2, 3, -4, 5, 6.5}, int64 d = {3}, "
                "float[2] v = {-1, 1}> { h = OneHot(i, d, v) y = MatMul(h, w) }"),
      "OneHot MatMul");
  EXPECT_EQ(optimized("(int32[2,3] i) => (float[2,3,2] y) <" + table +
                      "> { h = OneHot<axis=1>(i, d, v) y = MatMul(h, w) }"),
            "OneHot MatMul");
  EXPECT_EQ(optimized("(int32[2,5] i, float[3,2] w) => (float[2,5,2] y) <int64 d = {3}, float[2] v = {0, 1}> "
                      "{ h = OneHot(i, d, v) y = MatMul(h, w) }"),
            "OneHot MatMul");
}

TEST(Movements, PoolsOfSeveralSizes) {
  const auto pools = [](std::string_view first, std::string_view second, std::string_view third) {
    std::vector<std::vector<int64_t>> kernels;
    const auto g =
        optimized_graph("(float[1,3,20,19] x) => (float[a,b,c,d] y) { z = Neg(x) p = MaxPool<" +
                            std::string(first) + ">(z) q = MaxPool<" + std::string(second) +
                            ">(z) r = MaxPool<" + std::string(third) + ">(z) y = Concat<axis=1>(p, q, r) }",
                        {});
    for (NodeId id : g->order())
      if (const Node& n = g->node(id); n.op == "MaxPool")
        kernels.push_back(n.attributes.get<std::vector<int64_t>>("kernel_shape", {}));
    std::ranges::sort(kernels);
    return kernels;
  };
  using Kernels = std::vector<std::vector<int64_t>>;
  const std::string five = "kernel_shape=[5,5], pads=[2,2,2,2]", nine = "kernel_shape=[9,9], pads=[4,4,4,4]",
                    thirteen = "kernel_shape=[13,13], pads=[6,6,6,6]";
  EXPECT_EQ(pools(five, nine, thirteen), (Kernels{{5, 5}, {5, 5}, {5, 5}}));
  EXPECT_EQ(pools(thirteen, five, nine), (Kernels{{5, 5}, {5, 5}, {5, 5}}));
  // Off the middle, along one axis alone.
  EXPECT_EQ(pools("kernel_shape=[3,1], pads=[2,0,0,0]", "kernel_shape=[4,3], pads=[2,1,1,1]", five),
            (Kernels{{2, 3}, {2, 3}, {3, 1}}));
  // Windows that step, that are wider apart, or see pixels that the greater one does not.
  EXPECT_EQ(pools("kernel_shape=[3,3], pads=[2,2,0,0]", "kernel_shape=[5,5], pads=[1,1,3,3]",
                  "kernel_shape=[3,3], pads=[2,2,2,2], dilations=[2,2]"),
            (Kernels{{3, 3}, {3, 3}, {5, 5}}));
}

TEST(Movements, GathersOfNeighbors) {
  const std::string head =
      "(float[3,4,n] x, float[m,4] z) => (float[i,j,k] y) <int64 a = {0}, int64 b = {1}, int64 c = {-1}, "
      "int64[2] "
      "two = {1,2}, int64[2] apart = {0,2}, int64[1] last = {-1}> ";
  EXPECT_EQ(optimized(head + "{ y = Gather<axis=1>(x, two) }"), "Slice");
  EXPECT_EQ(optimized(head + "{ y = Gather(x, last) }"), "Slice");
  EXPECT_EQ(optimized(head + "{ y = Gather(x, apart) }"), "Gather");
  // All of them, one by one.
  EXPECT_EQ(
      optimized("(float[3,4,n] x) => (float[4,n] y) <int64 a = {0}, int64 b = {1}, int64 c = {-1}> { w = "
                "Exp(x) q = Gather(w, a) k = Gather(w, b) v = Gather(w, c) s = Sub(q, k) y = Mul(s, v) }"),
      "Exp Split Squeeze Squeeze Sub Squeeze Mul");
  // Not all rows are read, or something else reads the tensor.
  EXPECT_EQ(
      optimized("(float[3,4,n] x) => (float[4,n] y) <int64 a = {0}, int64 b = {1}> { q = Gather(x, a) k = "
                "Gather(x, b) y = Sub(q, k) }"),
      "Gather Gather Sub");
  EXPECT_EQ(
      optimized("(float[2,4,n] x) => (float[4,n] y) <int64 a = {0}, int64 b = {1}> { q = Gather(x, a) k = "
                "Gather(x, b) t = ReduceMax(x) s = Sub(q, k) y = Mul(s, t) }"),
      "Gather Gather ReduceMax Sub Mul");
  // If a size is not known, an index may be beyond the end.
  EXPECT_EQ(optimized("(float[m,4] x) => (float[2,4] y) <int64[2] two = {1,2}> { y = Gather(x, two) }"),
            "Gather");
}

TEST(Movements, SizesOfEarlierValues) {
  // Only the sizes of these values are read, so they need not be computed.
  EXPECT_EQ(
      optimized("(float[n,m,4] x, float[3] z) => (float[n,3] y) <int64[1] zero = {0}, int64[1] three = {3}> "
                "{ a = Exp(x) s = Shape(a) b = Gather(s, zero) t = Concat<axis=0>(b, three) w = Expand(z, t) "
                "y = Relu(w) }"),
      "Shape Gather Concat Expand Relu");
  EXPECT_EQ(
      optimized("(float[n,m,4] x, float[4,5] w) => (int64[2] y) <int64[1] zero = {0}, int64[1] two = {2}> { "
                "p = MatMul(x, w) s = Shape(p) y = Slice(s, zero, two) }"),
      "Shape Gather");
  // The axis may be any one; of the graph's inputs, the first that has all sizes is used.
  EXPECT_EQ(optimized("(float[n,m] x) => (int64 y) <int64 zero = {0}> { a = Transpose(x) s = Shape(a) g = "
                      "Gather(s, zero) y = Neg(g) }"),
            "Shape Gather Neg");
  EXPECT_EQ(
      optimized("(float[k,3] w, int64[n,m] ids) => (int64[2] y) <int64[2] both = {1,0}> { a = Gather(w, ids) "
                "b = Softmax(a) s = Shape(b) g = Gather(s, both) y = Neg(g) }"),
      "Shape Gather Neg");
  EXPECT_EQ(optimized("(float[n,m] x) => (int64[2] y) { a = Softmax(x) y = Shape(a) }"), "Shape");
  EXPECT_EQ(
      optimized("(float[n,m,4] x) => (int64 y) <int64 one = {1}, int64[4] s = {0,0,2,2}> { a = Exp(x) r = "
                "Reshape(a, s) t = Shape(r) g = Gather(t, one) y = Neg(g) }"),
      "Shape Gather Neg");
  // Here an axis moved.
  EXPECT_EQ(optimized("(float[n,m] x) => (int64[2] y) { a = Transpose(x) y = Shape(a) }"), "Transpose Shape");
}

TEST(Movements, ReductionsBeforeTranspose) {
  EXPECT_EQ(optimized("(float[2,3,4,5] x) => (float[i,j,k,l] y) <int64[1] ax = {1}> { a = "
                      "Transpose<perm=[3,0,2,1]>(x) y = "
                      "ReduceMean(a, ax) }"),
            "ReduceMean Transpose");
  EXPECT_EQ(optimized("(float[2,3,4,5] x) => (float[i,j] y) <int64[2] ax = {-1,0}> { a = "
                      "Transpose<perm=[3,0,2,1]>(x) y = "
                      "ReduceSum<keepdims=0>(a, ax) }"),
            "ReduceSum");
  // Others read the transposed tensor.
  EXPECT_EQ(optimized("(float[2,3,4,5] x) => (float[i,j,k,l] y, float[o,p,q,r] e) <int64[1] ax = {1}> { a = "
                      "Transpose<perm=[3,0,2,1]>(x) e = Exp(a) y = ReduceMean(a, ax) }"),
            "Transpose Exp ReduceMean Transpose");
  EXPECT_EQ(
      optimized(
          "(float[2,3,4,5] x) => (float[i,j] y) <int64[2] ax = {1,2}> { a = Transpose<perm=[3,0,2,1]>(x) y = "
          "ReduceMax<keepdims=0>(a, ax) }"),
      "ReduceMax Transpose");
}

TEST(Movements, StepsOfRecurrencesFirst) {
  const std::string sizes = "(float[2,5,3] x, float[1,8,3] w, float[1,8,2] r, float[2,1,2] h, float[2,1,2] c";
  EXPECT_EQ(optimized(sizes + ") => (float[2,5,1,2] y, float[2,1,2] z, float[2,1,2] o) { y, z, o = "
                              "LSTM<hidden_size=2, layout=1>(x, w, r, , , h, c) }"),
            "Transpose Reshape Reshape LSTM Transpose Reshape Reshape");
  // Another one undoes what it needs.
  EXPECT_EQ(optimized("(float[5,2,3] x, float[1,2,3] w, float[1,2,2] r) => (float[2,1,2] z) { t = "
                      "Transpose<perm=[1,0,2]>(x) y, z = RNN<hidden_size=2, layout=1>(t, w, r) }"),
            "RNN Reshape");
  EXPECT_EQ(optimized("(float[5,2,3] x, float[1,6,3] w, float[1,6,2] r) => (float[5,1,2,2] y) { y = "
                      "GRU<hidden_size=2>(x, w, r) }"),
            "GRU");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
