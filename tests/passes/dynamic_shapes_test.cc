// Shapes that depend on data, anywhere: as outputs, in bodies, as states, and in computations.
#include "support/every_way.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

TEST(DynamicShapes, FoundInOneBranchAndUsedBehind) {
  expect_every_way(R"((float[N] x, bool c) => (int64[A,B] y, float[M] w, float s) {
    y = If (c) <then_branch = a () => (int64[R,K] r) { r = NonZero(x) },
                else_branch = b () => (int64[R2,K2] e) { q = Relu(x) e = NonZero(q) }>
    zero = Constant<value_ints = [0]>()
    flat = Squeeze(y, zero)
    w = Gather(x, flat)
    s = ReduceSum<keepdims = 0>(w) })",
                   {{{floats({1, 0, -2, 0, 3}), boolean(true)}, "[1,3] 0 2 4 | [3] 1 -2 3 | [] 2"},
                    {{floats({1, 0, -2, 0, 3}), boolean(false)}, "[1,2] 0 4 | [2] 1 3 | [] 4"},
                    {{floats({0, 0}), boolean(true)}, "[1,0] | [0] | [] 0"},
                    {{floats({5}), boolean(true)}, "[1,1] 0 | [1] 5 | [] 5"}});
}

TEST(DynamicShapes, StatesOfALoopShrink) {
  expect_every_way(R"((float[N] x, int64 n, bool c) => (float[M] y, float[M] z) {
    y = Loop (n, c, x) <body = b (int64 i, bool d, float[K] s) => (bool d2, float[K2] s2)
      { f = CastLike(i, s) m = Greater(s, f) s2 = Compress<axis = 0>(s, m) d2 = Identity(d) }>
    z = Exp(y) })",
                   {{{floats({1, 0, 2, 0}), whole(1), boolean(true)}, "[2] 1 2 | [2] 2.71828 7.38906"},
                    {{floats({1, 0, 2, 0}), whole(2), boolean(true)}, "[1] 2 | [1] 7.38906"},
                    {{floats({1, 0, 2, 0}), whole(3), boolean(true)}, "[0] | [0]"},
                    {{floats({0, 0}), whole(0), boolean(true)}, "[2] 0 0 | [2] 1 1"}});
}

TEST(DynamicShapes, ScanOutputsOfALoop) {
  constexpr auto same = R"((float[N] x, int64 n, bool c) => (float[M,K] y) {
    y = Loop (n, c) <body = b (int64 i, bool d) => (bool d2, float[K2] u)
      { u, i1, i2, i3 = Unique(x) d2 = Identity(d) }> })";
  expect_every_way(same, {{{floats({3, 1, 3}), whole(2), boolean(true)}, "[2,2] 1 3 1 3"},
                          {{floats({4}), whole(3), boolean(true)}, "[3,1] 4 4 4"}});
  // Each iteration must have the same shape, or there is no tensor.
  constexpr auto varying = R"((float[N] x, int64 n, bool c) => (float[M,K] y) {
    y = Loop (n, c) <body = b (int64 i, bool d) => (bool d2, float[K2] u)
      { f = CastLike(i, x) m = Greater(x, f) u = Compress<axis = 0>(x, m) d2 = Identity(d) }> })";
  expect_every_way(varying, {{{floats({1, 2, 3}), whole(3), boolean(true)}, "E4002"},
                             {{floats({5, 6}), whole(2), boolean(true)}, "[2,2] 5 6 5 6"}});
}

TEST(DynamicShapes, AsManyAsWereCounted) {
  expect_every_way(R"((float[N] x) => (float[M] v, int64[M] i, float[M] w) {
    z = NonZero(x) k = Shape<start = 1, end = 2>(z) v, i = TopK(x, k) w = Neg(v) })",
                   {{{floats({1, 0, 5, 0, 3})}, "[3] 5 3 1 | [3] 2 4 0 | [3] -5 -3 -1"},
                    {{floats({0, 0})}, "[0] | [0] | [0]"},
                    {{floats({2})}, "[1] 2 | [1] 0 | [1] -2"}});
  expect_every_way(
      R"((float[R,N] x, int64[1] k) => (float[R,M] y) {
    y = Scan <num_scan_inputs = 1, body = b (float[N] r) => (float[M] v) { v, i = TopK(r, k) }> (x) })",
      {{{Tensor::from<float>({2, 3}, {1, 3, 2, 6, 4, 5}), Tensor::from<int64_t>({1}, {2})}, "[2,2] 3 2 6 5"},
       {{Tensor::from<float>({1, 1}, {1}), Tensor::from<int64_t>({1}, {1})}, "[1,1] 1"}});
}

TEST(DynamicShapes, ReshapedToWhatWasFound) {
  expect_every_way(R"((float[N] x, float[M] z) => (float[A,B] y, float[K] f) {
    n = NonZero(z) rows = Shape<start = 1, end = 2>(n)
    rest = Constant<value_ints = [-1]>()
    to = Concat<axis = 0>(rows, rest)
    r = Reshape(x, to) y = Relu(r)
    c = ConstantOfShape(rows) f = Cos(c) })",
                   {{{floats({1, -2, 3, 4}), floats({0, 1, 1})}, "[2,2] 1 0 3 4 | [2] 1 1"},
                    {{floats({1, -2, 3, 4}), floats({7})}, "[1,4] 1 0 3 4 | [1] 1"}});
}

TEST(DynamicShapes, BoxesThatRemain) {
  expect_every_way(R"((float[1,S,4] b, float[1,C,S] p, float least) => (int64[K,3] y, float[K,3] f, int64 n) {
    most = Constant<value_int = 5>() iou = Constant<value_float = 0.5>()
    y = NonMaxSuppression(b, p, most, iou, least)
    f = Cast<to = 1>(y) s = Shape<end = 1>(y) zero = Constant<value_ints = [0]>() n = Squeeze(s, zero) })",
                   {{{Tensor::from<float>({1, 3, 4}, {0, 0, 1, 1, 0, 0, 1, 1.05f, 2, 2, 3, 3}),
                      Tensor::from<float>({1, 1, 3}, {.9f, .8f, .7f}), Tensor::scalar(0.0f)},
                     "[2,3] 0 0 0 0 0 2 | [2,3] 0 0 0 0 0 2 | [] 2"},
                    {{Tensor::from<float>({1, 1, 4}, {0, 0, 1, 1}), Tensor::from<float>({1, 1, 1}, {.9f}),
                      Tensor::scalar(0.95f)},
                     "[0,3] | [0,3] | [] 0"}});
}

TEST(DynamicShapes, OfEachItemOfASequence) {
  Sequence two, none;
  *two.items = {floats({1, 0, 2}), floats({0})};
  two.elem = none.elem = DataType::float32;
  expect_every_way(R"((seq(float[N]) x) => (seq(int64[A,B]) y) {
    y = SequenceMap <body = b (float[N] e) => (int64[A,B] r) { r = NonZero(e) }> (x) })",
                   {{{two}, "{[1,2] 0 2; [1,0]}"}, {{none}, "{}"}});
}

TEST(DynamicShapes, UniqueFeedsUnique) {
  expect_every_way(
      R"((float[N] x) => (float[M] y, int64[M] counts, int64[K] of_counts) {
    y, first, back, counts = Unique(x) of_counts = Unique(counts) })",
      {{{floats({3, 1, 3, 2})}, "[3] 1 2 3 | [3] 1 1 2 | [2] 1 2"}, {{floats({})}, "[0] | [0] | [0]"}});
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
