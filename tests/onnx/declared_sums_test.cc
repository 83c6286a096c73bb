// Sizes that a model declares as sums of others, "A+B": true or not, answers are right, or there is an error
// with a code. In these texts AB means A+B, which the text format cannot express.
#include "support/error_code.h"
#include "support/every_way.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

void say_sums(std::vector<onnx::ValueInfoProto>& list) {
  for (onnx::ValueInfoProto& v : list) {
    if (!v.type || !v.type->tensor_type || !v.type->tensor_type->shape) continue;
    for (auto& d : v.type->tensor_type->shape->dim)
      if (d.dim_param == "AB") d.dim_param = "A+B";
  }
}

onnx::Model model_with_sums(std::string_view text) {
  onnx::Model m = model_of(text);
  for (auto* list : {&m.proto.graph->input, &m.proto.graph->output, &m.proto.graph->value_info})
    say_sums(*list);
  return m;
}

Value matrix(int64_t rows, int64_t columns, std::vector<float> v) {
  return Tensor::from<float>({rows, columns}, v);
}
Value heads(int64_t rows, int64_t columns, std::vector<float> v) {
  return Tensor::from<float>({1, rows, columns}, v);
}

// The purpose of declarations: inputs whose sizes are not given have the declared sum.
TEST(DeclaredSums, TellTheSizesOfInputs) {
  const Engine e =
      Engine::build(model_with_sums("(float[A] a, float[B] b, float[AB] x) => (float[N] y) "
                                    "{ c = Concat<axis = 0>(a, b) y = Add(c, x) }"));
  EXPECT_EQ(e.symbols(), (std::vector<std::string>{"A", "B"}));
  EXPECT_EQ(e.inputs()[2].shape->at(0), Dim::parse("A + B"));
  EXPECT_EQ(e.output_shapes({{"a", {2}}, {"b", {3}}}).at("y"), (Shape{5}));
  EXPECT_EQ(e.output_shapes({{"a", {2}}, {"b", {3}}, {"x", {1}}}).at("y"), (Shape{5}));
  EXPECT_EQ(code_of([&] { e.output_shapes({{"a", {2}}}); }), Code::bad_argument);
}

TEST(DeclaredSums, WhatIsRepeatedMayBeOne) {
  expect_every_way(model_with_sums(R"((float[A] a, float[B] b, float[AB] x) => (float[N] y, float[N] z) {
    c = Concat<axis = 0>(a, b) s = Shape(c)
    u = Relu(x) w = Expand(u, s) y = Neg(w)
    v = Neg(c) z = Add(u, v) })"),
                   {{{floats({1, 2}), floats({3}), floats({4, 5, 6})}, "[3] -4 -5 -6 | [3] 3 3 3"},
                    {{floats({1, 2}), floats({3}), floats({7})}, "[3] -7 -7 -7 | [3] 6 5 4"},
                    {{floats({1}), floats({}), floats({7, 8})}, "[2] -7 -8 | [2] 6 7"},
                    {{floats({1, 2}), floats({3}), floats({7, 8})}, "E2306"}});
}

TEST(DeclaredSums, WhatIsCutMayBeLonger) {
  expect_every_way(
      model_with_sums(R"((float[A] a, float[B] b, float[AB] x) => (float[N] y, int64[K] n, float[M] r) {
    c = Concat<axis = 0>(a, b) end = Shape(c)
    start = Constant<value_ints = [0]>()
    u = Relu(x) v = Slice(u, start, end) y = Neg(v)
    n = Shape(x)
    r = ConstantOfShape(n) })"),
      {{{floats({1, 2}), floats({3}), floats({4, 5, 6})}, "[3] -4 -5 -6 | [1] 3 | [3] 0 0 0"},
       {{floats({1, 2}), floats({3}), floats({4, 5, 6, 7})}, "[3] -4 -5 -6 | [1] 4 | [4] 0 0 0 0"},
       {{floats({1, 2}), floats({3}), floats({4})}, "[1] -4 | [1] 1 | [1] 0"}});
}

TEST(DeclaredSums, SizesAreComparedAsTheyAre) {
  expect_every_way(model_with_sums(R"((float[A] a, float[B] b, float[AB] x) => (bool[K] same, float[N] y) {
    c = Concat<axis = 0>(a, b) n = Shape(c) k = Shape(x)
    same = Equal(n, k)
    less = Sub(n, k) zero = Constant<value_ints = [0]>() zeros = Max(less, zero)
    one = ConstantOfShape(zeros) y = Concat<axis = 0>(x, one) })"),
                   {{{floats({1, 2}), floats({3}), floats({4, 5, 6})}, "[1] 1 | [3] 4 5 6"},
                    {{floats({1, 2}), floats({3}), floats({4})}, "[1] 0 | [3] 4 0 0"},
                    {{floats({1}), floats({3}), floats({4, 5, 6})}, "[1] 0 | [3] 4 5 6"}});
}

// Rows of a product, and what is added to them: of one row, or of as many.
TEST(DeclaredSums, BehindAProduct) {
  const auto model =
      model_with_sums(R"((float[A,2] a, float[B,2] b, float[AB,2] x) => (float[N,2] y, float[N,2] z)
    <float[2,2] w = {1, 2, 3, 4}> {
    c = Concat<axis = 0>(a, b)
    p = MatMul(c, w) q = Add(p, x) y = Relu(q)
    r = MatMul(x, w) s = Add(r, c) z = Relu(s) })");
  expect_every_way(
      model,
      {{{matrix(1, 2, {1, 0}), matrix(1, 2, {0, 1}), matrix(2, 2, {1, 1, 2, 2})},
        "[2,2] 2 3 5 6 | [2,2] 5 6 8 13"},
       {{matrix(1, 2, {1, 0}), matrix(1, 2, {0, 1}), matrix(1, 2, {1, 1})}, "[2,2] 2 3 4 5 | [2,2] 5 6 4 7"},
       {{matrix(1, 2, {1, 0}), matrix(0, 2, {}), matrix(2, 2, {1, 1, 2, 2})},
        "[2,2] 2 3 3 4 | [2,2] 5 6 9 12"},
       {{matrix(1, 2, {1, 0}), matrix(1, 2, {0, 1}), matrix(3, 2, {1, 1, 2, 2, 3, 3})}, "E2306"}});
}

// A mask of one column is for all keys; taken for one of as many columns as there are keys, it would hide the
// rest.
TEST(DeclaredSums, MasksOfAttention) {
  expect_every_way(
      model_with_sums(
          R"((float[1,A,2] past, float[1,B,2] new, float[1,R,2] q, float[1,AB] mask) => (float[1,R,2] y) {
    k = Concat<axis = 1>(past, new) t = Transpose<perm = [0, 2, 1]>(k)
    s = MatMul(q, t) m = Add(s, mask) p = Softmax<axis = -1>(m) y = MatMul(p, k) })"),
      {{{heads(1, 2, {1, 2}), heads(2, 2, {3, 4, 8, 6}), heads(1, 2, {0, 0}), matrix(1, 3, {0, -1e30f, 0})},
        "[1,1,2] 4.5 4"},
       {{heads(1, 2, {1, 2}), heads(2, 2, {3, 4, 8, 6}), heads(1, 2, {0, 0}), matrix(1, 1, {7})},
        "[1,1,2] 4 4"},
       {{heads(1, 2, {1, 2}), heads(0, 2, {}), heads(1, 2, {0, 0}), matrix(1, 2, {0, -1e30f})}, "E2306"}});
}

TEST(DeclaredSums, InBodies) {
  expect_every_way(
      model_with_sums(R"((float[A] a, float[B] b, float[AB] x, bool c) => (float[N] y, float[2,N] z) {
    j = Concat<axis = 0>(a, b) s = Shape(j)
    p = Neg(x)
    y = If (c) <then_branch = f () => (float[N] r) { e = Expand(p, s) r = Neg(e) },
                else_branch = g () => (float[N] e2) { e2 = Neg(j) }>
    twice = Constant<value_int = 2>()
    z = Loop (twice, c) <body = h (int64 i, bool d) => (bool d2, float[N] u)
      { f = CastLike(i, x) v = Mul(x, f) u = Add(v, j) d2 = Identity(d) }> })"),
      {{{floats({1, 2}), floats({3}), floats({4, 5, 6}), boolean(true)}, "[3] 4 5 6 | [2,3] 1 2 3 5 7 9"},
       {{floats({1, 2}), floats({3}), floats({4}), boolean(true)}, "[3] 4 4 4 | [2,3] 1 2 3 5 6 7"}});
}

// Declarations of outputs are names at most; declared sums of other values are ignored.
TEST(DeclaredSums, OfOutputsAreNotBelieved) {
  expect_every_way(model_with_sums(R"((float[A] a, float[B] b) => (int64[1,AB] y, int64[1,K] z, float[AB] c) {
    y = NonZero(a)
    c = Concat<axis = 0>(a, b) n = Shape(c)
    w = Expand(y, n) z = Abs(w) })"),
                   {{{
                         floats({1, 2}),
                         floats({}),
                     },
                     "[1,2] 0 1 | [1,2] 0 1 | [2] 1 2"},
                    {{floats({0, 2}), floats({3, 4})}, "[1,1] 1 | [1,4] 1 1 1 1 | [4] 0 2 3 4"},
                    {{floats({1, 2}), floats({3})}, "E2306"}});
  expect_every_way(model_with_sums(R"((float[A] a, float[B] b, float[AB] x) => (int64[1,AB] y, int64[1,K] z) {
    y = NonZero(a) n = Shape(x) w = Expand(y, n) z = Abs(w) })"),
                   {{{floats({0, 2}), floats({}), floats({1, 2, 3})}, "[1,1] 1 | [1,3] 1 1 1"},
                    {{floats({1, 2}), floats({3}), floats({1, 2})}, "[1,2] 0 1 | [1,2] 0 1"}});
}

// Declared sums are names as text: one size, wherever they are.
TEST(DeclaredSums, AreOneSizeEverywhere) {
  expect_every_way(model_with_sums("(float[A] a, float[B] b, float[AB] x, float[AB] y) => (float[N] z) "
                                   "{ s = Add(x, y) c = Concat<axis = 0>(a, b) z = Concat<axis = 0>(s, c) }"),
                   {{{floats({1}), floats({2}), floats({3}), floats({4})}, "[3] 7 1 2"},
                    {{floats({1}), floats({2}), floats({3}), floats({4, 5})}, "E4002"}});
}

TEST(DeclaredSums, AreNamedWhereARunFails) {
  const Engine e =
      Engine::build(model_with_sums("(float[A] a, float[B] b, float[AB] x) => (float[N] y) "
                                    "{ c = Concat<axis = 0>(a, b) y = Add(c, x) }"));
  Context context = e.create_context();
  const auto remedy = [&](std::vector<Value> inputs, bool bound) -> std::string {
    try {
      if (!bound) {
        context.run(inputs);
      } else {
        for (size_t i = 0; i < inputs.size(); ++i) context.bind_input(e.inputs()[i].name, inputs[i]);
        context.run();
      }
    } catch (const Error& error) {
      return error.diagnostic().remedy;
    }
    return "it ran";
  };
  const std::string told = "the model declares other sizes: input x has 2 on axis 0, where A + B is 3";
  for (const bool bound : {false, true}) {
    EXPECT_NE(remedy({floats({1, 2}), floats({3}), floats({4, 5})}, bound).find(told), std::string::npos);
    EXPECT_EQ(remedy({floats({1, 2}), floats({3}), floats({4})}, bound), "it ran");
  }
}

// Memory is announced and reserved for the declared sizes; runs with others are right too.
TEST(DeclaredSums, WithinAProfile) {
  const ShapeRange part{{1}, {2}, {4}}, sum{{1}, {4}, {8}};
  const Engine e = Engine::build(model_with_sums(R"((float[A] a, float[B] b, float[AB] x) => (float[N] y) {
    c = Concat<axis = 0>(a, b) n = Shape(c) e = Exp(x) w = Expand(e, n) y = Mul(w, c) })"),
                                 {.profiles = {{"p", {{"a", part}, {"b", part}, {"x", sum}}}}});
  EXPECT_EQ(e.memory({{"a", {2}}, {"b", {3}}}).total(),
            e.memory({{"a", {2}}, {"b", {3}}, {"x", {5}}}).total());
  EXPECT_GT(e.profile_memory("p").total(), 0u);
  Context context = e.create_context();
  context.reserve("p");
  const std::vector<Value> right{floats({1, 2}), floats({3}), floats({0, 0, 0})},
      one{floats({1, 2}), floats({3}), floats({0})}, none{floats({1, 2}), floats({3}), floats({0, 0})};
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(text_of(context.run(right)[0]), "[3] 1 2 3");
    EXPECT_EQ(text_of(context.run(one)[0]), "[3] 1 2 3");
    EXPECT_EQ(code_of([&] { context.run(none); }), Code::node_bad_shape);
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
