// Models of 16-bit floats: calculated in float32 by the kernels for it, with weights that stay small.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "lathe/lathe.h"
#include "support/temp_directory.h"
#include "support/text_model.h"
#include "tensor/element.h"

namespace lathe {
namespace LATHE_TEST_FILE {

onnx::Model model_of(std::string_view text) { return testing::model_of(text, 23); }

std::vector<Value> inputs_of(const Engine& e) { return testing::inputs_of(e, 5); }

double largest(const Tensor& t) {
  double most = 0;
  const auto look = [&](auto x) { most = std::max<double>(most, std::abs(to_float(x))); };
  if (t.type() == DataType::float16)
    for (Float16 x : t.as<Float16>()) look(x);
  else
    for (BFloat16 x : t.as<BFloat16>()) look(x);
  return most;
}

/// Answers against the reference, which rounds after every operator: some steps of the type apart; of the
/// largest number, where sums of others may leave little (`of_largest`).
void expect_right(const Engine& e, const onnx::Model& m, double epsilon, bool of_largest = false) {
  BuildOptions by_reference;
  by_reference.backend = "reference";
  by_reference.level = OptimizationLevel::none;
  const Engine reference = Engine::build(m, by_reference);
  const std::vector<Value> inputs = inputs_of(e);
  const std::vector<Value> want = reference.create_context().run(inputs),
                           got = e.create_context().run(inputs);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].tensor().type(), want[i].tensor().type());
    const double most = of_largest ? largest(want[i].tensor()) : 1;
    const Comparison c = compare(got[i], want[i], 8 * epsilon * most, 8 * epsilon);
    EXPECT_TRUE(c.equal) << c.reason;
  }
}

std::vector<std::string> operators(const Engine& e) {
  std::vector<std::string> list;
  for (const StepInfo& s : e.steps()) {
    EXPECT_EQ(s.backend, "cpu") << s.op << " " << s.kernel;
    list.push_back(s.op);
  }
  return list;
}

constexpr std::string_view perceptron =
    "(float16[n,300] x) => (float16[n,40] y) <float16[300,200] a = {}, float16[200] b = {}, float16[200,40] "
    "c = {}>"
    "{ p = MatMul(x, a) q = Add(p, b) r = Relu(q) s = Gemm(r, c) y = Softmax(s) }";
std::string as_bfloat16(std::string_view text) {
  std::string s(text);
  for (size_t at = 0; (at = s.find("float16", at)) != std::string::npos; at += 8) s.insert(at, "b");
  return s;
}

/// -17.125 / 0.2470703125 is -69.3, in bfloat16 -69.5, which is rounded to -70.
TEST(FloatArithmetic, QuantizesInTheTypeOfTheScale) {
  const onnx::Model m =
      model_of("(bfloat16[1] x, bfloat16 s, int8 z) => (int8[1] y) { y = QuantizeLinear(x, s, z) }");
  for (const char* backend : {"reference", "cpu"}) {
    BuildOptions options;
    options.backend = backend;
    Tensor x(DataType::bfloat16, {1}), s(DataType::bfloat16, {});
    x.as<BFloat16>()[0] = to_bfloat16(-17.125f);
    s.as<BFloat16>()[0] = to_bfloat16(0.2470703125f);
    const auto y =
        Engine::build(m, options).create_context().run(std::vector<Value>{x, s, Tensor::scalar<int8_t>(7)});
    EXPECT_EQ(y[0].tensor().as<int8_t>()[0], -63) << backend;
  }
}

/// (1 + 2^-10)^2 is 1 + 2^-9 + 2^-20, of which float16 drops the last.
TEST(FloatArithmetic, LevelNoneRoundsEveryResult) {
  const onnx::Model m = model_of(
      "(float16[1] x, float16[1] c) => (float16[1] y) { p = Mul(x, x) q = Cast<to = 1>(p) r = Cast<to = "
      "10>(q) "
      "y = Sub(r, c) }");
  for (const auto& [level, want] :
       {std::pair(OptimizationLevel::none, 0.0f), {OptimizationLevel::all, 0x1p-20f}}) {
    BuildOptions options;
    options.level = level;
    Tensor x(DataType::float16, {1}), c(DataType::float16, {1});
    x.as<Float16>()[0] = to_float16(1 + 0x1p-10f);
    c.as<Float16>()[0] = to_float16(1 + 0x1p-9f);
    const auto y = Engine::build(m, options).create_context().run(std::vector<Value>{x, c});
    EXPECT_EQ(to_float(y[0].tensor().as<Float16>()[0]), want);
  }
}

TEST(FloatArithmetic, NothingIsRoundedInBetween) {
  const onnx::Model m = model_of(perceptron);
  const Engine e = Engine::build(m);
  EXPECT_EQ(operators(e), (std::vector<std::string>{"Cast", "Gemm", "Gemm", "Softmax", "Cast"}));
  expect_right(e, m, 0x1p-10);
}

TEST(FloatArithmetic, AlsoInBfloat16AndAtEveryLevel) {
  for (OptimizationLevel level :
       {OptimizationLevel::none, OptimizationLevel::basic, OptimizationLevel::all}) {
    const onnx::Model m = model_of(as_bfloat16(perceptron));
    BuildOptions o;
    o.level = level;
    const Engine e = Engine::build(m, o);
    operators(e);
    expect_right(e, m, 0x1p-7);
  }
}

TEST(FloatArithmetic, WeightsStaySmall) {
  const onnx::Model m = model_of(perceptron);
  const uint64_t matrices = 300 * 200 + 200 * 40, half = 2 * matrices;
  const uint64_t weights = Engine::build(m).memory({{"x", {1, 300}}}).weights;
  // Sources and packed forms, panels filled up.
  EXPECT_GE(weights, half);
  EXPECT_LT(weights, half * 5 / 2);
}

/// Attention that continues: heads of 24 and 16, two queries to a key. `queries` after `past` keys; of none
/// the operator gets no past.
std::string continued(int64_t queries, int64_t past, bool masked) {
  const auto n = [](int64_t size) { return std::to_string(size); };
  const std::string q = n(queries), all = n(past + queries), heads = "float16[2,2," + n(past) + ",";
  return "(float16[2," + q + ",96] x" + (past > 0 ? ", " + heads + "24] pk, " + heads + "16] pv" : "") +
         (masked ? ", bool[" + q + "," + all + "] m" : "") + ") => (float16[2," + q + ",64] y, float16[2,2," +
         all + ",24] nk, float16[2,2," + all + ",16] nv) <float16[96,96] a = {}, float16[96,48] b = {}, " +
         "float16[96,32] c = {}> { q = MatMul(x, a) k = MatMul(x, b) v = MatMul(x, c) " +
         "y, nk, nv = Attention<q_num_heads=4, kv_num_heads=2" + (masked ? "" : ", is_causal=1") +
         ">(q, k, v" +
         (masked     ? ", m"
          : past > 0 ? ", "
                     : "") +
         (past > 0 ? ", pk, pv" : "") + ") }";
}

TEST(FloatArithmetic, KeysAndValuesThatGoOnStaySmall) {
  for (const auto& [queries, past] :
       {std::pair<int64_t, int64_t>{1, 5}, {1, 700}, {3, 1100}, {11, 530}, {1, 0}, {40, 0}})
    for (bool masked : {false, true})
      for (bool brain : {false, true})
        for (const char* isa : {"generic", "avx2", ""}) {
          std::string text = continued(queries, past, masked);
          if (brain) text = as_bfloat16(text);
          SCOPED_TRACE(text + isa);
          const onnx::Model m = model_of(text);
          BuildOptions o;
          o.isa = isa;
          const Engine e = Engine::build(m, o);
          // The two casts widen x and round y.
          EXPECT_EQ(std::ranges::count(operators(e), "Cast"), 2);
          expect_right(e, m, brain ? 0x1p-7 : 0x1p-10);
        }
}

/// Earlier keys are copied bit by bit.
TEST(FloatArithmetic, EarlierKeysAreHandedOnAsTheyAre) {
  for (int64_t queries : {1, 11}) {
    const Engine e = Engine::build(model_of(continued(queries, 1200, false)));
    const std::vector<Value> in = inputs_of(e), out = e.create_context().run(in);
    for (size_t i : {1, 2}) {
      const Tensor &past = in[i].tensor(), &all = out[i].tensor();
      const size_t row = past.bytes() / 4, step = all.bytes() / 4;  // of two batches of two heads
      for (size_t head = 0; head < 4; ++head)
        EXPECT_EQ(std::memcmp(static_cast<const std::byte*>(past.data()) + head * row,
                              static_cast<const std::byte*>(all.data()) + head * step, row),
                  0);
    }
  }
}

/// New rows go into a cache of 16 bits, which Attention reads as it is: nothing as large as it is converted.
TEST(FloatArithmetic, CachesStaySmall) {
  for (const std::string_view queries : {"1", "20"})
    for (const char* isa : {"generic", "avx2", ""}) {
      std::string text =
          "(float16[1,N,32] x, float16[1,700,32] kc, float16[1,700,32] vc) => "
          "(float16[1,N,32] y, float16[1,700,32] nk, float16[1,700,32] nv) <float16[32,32] a = {}, "
          "float16[32,32] b = {}, float16[32,32] c = {}, int64[1] at = {600}, int64[1] length = {620}> "
          "{ q = MatMul(x, a) k = MatMul(x, b) v = MatMul(x, c) nk = TensorScatter<axis=1>(kc, k, at) "
          "nv = TensorScatter<axis=1>(vc, v, at) "
          "y = Attention<q_num_heads=2, kv_num_heads=2, is_causal=1>(q, nk, nv, , , , length) }";
      for (size_t n; (n = text.find(",N,")) != std::string::npos;) text.replace(n + 1, 1, queries);
      SCOPED_TRACE(text + isa);
      const onnx::Model m = testing::model_of(text, 24);
      BuildOptions o;
      o.isa = isa;
      const Engine e = Engine::build(m, o);
      // x, two updates, and y.
      EXPECT_EQ(std::ranges::count(operators(e), "Cast"), 4);
      expect_right(e, m, 0x1p-10);
    }
}

/// Layers of every kind whose weights are widened where they are read. Small sums: the reference rounds them.
struct Layer {
  std::string_view text;
  uint64_t elements;      // of its large weights
  double step = 0x1p-10;  // of the type, times what the reference's rounding in between adds up to
};
const Layer layers[] = {
    {"(float16[1,32,9,9] x) => (float16[1,64,9,9] y) <float16[64,32,3,3] w = {}, float16[64] b = {}>"
     "{ y = Conv<pads=[1,1,1,1]>(x, w, b) }",
     64 * 32 * 9},
    {"(float16[1,80,7,5] x) => (float16[1,64,7,5] y) <float16[64,80,1,1] w = {}> { y = Conv(x, w) }",
     64 * 80},
    {"(float16[1,512,9,9] x) => (float16[1,512,5,5] y) <float16[512,1,3,3] w = {}>"
     "{ y = Conv<group=512, strides=[2,2], pads=[1,1,1,1]>(x, w) }",
     512 * 9},
    {"(float16[2,64,6,6] x) => (float16[2,64,6,6] y) <float16[64,32,3,3] w = {}>"
     "{ y = Conv<group=2, pads=[1,1,1,1]>(x, w) }",
     64 * 32 * 9},
    {"(float16[1,8,40] x) => (float16[1,96,36] y) <float16[96,8,9] w = {}> { y = Conv<pads=[2,2]>(x, w) }",
     96 * 8 * 9},
    {"(float16[1,4,5,6,7] x) => (float16[1,48,3,4,5] y) <float16[48,4,3,3,3] w = {}> { y = Conv(x, w) }",
     48 * 4 * 27},
    {"(float16[1,64,5,6] x) => (float16[1,48,10,12] y) <float16[64,24,2,2] w = {}>"
     "{ y = ConvTranspose<group=2, strides=[2,2]>(x, w) }",
     64 * 24 * 4},
    // Filters that are evaluated in registers.
    {"(float16[1,80,7,7] x) => (float16[1,96,7,7] y) <float16[96,80,3,3] w = {}>"
     "{ y = Conv<pads=[1,1,1,1]>(x, w) }",
     96 * 80 * 9},
    {"(float16[6,2,24] x) => (float16[6,2,2,32] y) <float16[2,128,24] w = {}, float16[2,128,32] r = {}>"
     "{ y = LSTM<hidden_size=32, direction=\"bidirectional\">(x, w, r) }",
     2 * 128 * 56, 0x1p-8},
    {"(float16[6,1,32] x) => (float16[6,1,1,48] y) <float16[1,144,32] w = {}, float16[1,144,48] r = {}>"
     "{ y = GRU<hidden_size=48, linear_before_reset=1>(x, w, r) }",
     144 * 80, 0x1p-8},
};

TEST(FloatArithmetic, LayersOfEveryKindKeepTheirWeightsSmall) {
  for (const Layer& layer : layers)
    for (bool brain : {false, true})
      for (const char* isa : {"generic", "avx2", ""}) {
        SCOPED_TRACE(std::string(layer.text) + isa);
        const onnx::Model m = model_of(brain ? as_bfloat16(layer.text) : std::string(layer.text));
        BuildOptions o;
        o.isa = isa;
        const Engine e = Engine::build(m, o);
        expect_right(e, m, brain ? layer.step * 8 : layer.step);
        // Sources and packed forms, panels filled up; in float32 it would be eight bytes.
        EXPECT_LT(e.memory({}).weights, layer.elements * 5);
      }
}

TEST(FloatArithmetic, WinogradEvaluatesWeightsWhileItRuns) {
  const onnx::Model m = model_of(
      "(float16[1,64,28,28] x) => (float16[1,64,28,28] y) <float16[64,64,3,3] w = {}>"
      "{ y = Conv<pads=[1,1,1,1]>(x, w) }");
  BuildOptions o;
  o.isa = "avx2";
  const Engine e = Engine::build(m, o);
  bool winograd = false;
  for (const StepInfo& s : e.steps()) winograd |= s.kernel == "blocked_conv.winograd4.f16.avx2";
  EXPECT_TRUE(winograd);
  expect_right(e, m, 0x1p-10);
}

TEST(FloatArithmetic, PlansKeepThem) {
  const testing::TempDirectory directory;
  const onnx::Model m = model_of(perceptron);
  for (const char* isa : {"generic", "avx2", ""}) {
    BuildOptions o;
    o.isa = isa;
    const Engine e = Engine::build(m, o);
    e.save(directory / "p.lathe");
    const std::vector<Value> inputs = inputs_of(e);
    const Value want = e.create_context().run(inputs)[0];
    EXPECT_TRUE(
        compare(Engine::load(directory / "p.lathe").create_context().run(inputs)[0], want, 0, 0).equal);
    o.isa = "generic";
    expect_right(Engine::load(directory / "p.lathe", o), m, 0x1p-10);
  }
}

TEST(FloatArithmetic, WhatOnlyMovesStaysAsItIs) {
  const onnx::Model m = model_of(
      "(float16[4,6] x, int64[3] i) => (float16[3,4] y, float16[3,9] z) <float16[50,9] table = {}>"
      "{ t = Transpose(x) y = Gather(t, i) g = Gather(table, i) z = Relu(g) }");
  const Engine e = Engine::build(m);
  std::vector<Value> inputs{random_tensor(DataType::float16, {4, 6}, 1),
                            Tensor::from<int64_t>({3}, {5, 0, 2})};
  std::string steps;
  for (const std::string& op : operators(e)) steps += op + " ";
  EXPECT_EQ(steps, "Transpose Gather Gather Pointwise ");
  const auto got = e.create_context().run(inputs);
  BuildOptions o;
  o.backend = "reference";
  const auto want = Engine::build(m, o).create_context().run(inputs);
  for (size_t i = 0; i < 2; ++i) EXPECT_TRUE(compare(got[i], want[i], 0, 0).equal);
}

TEST(FloatArithmetic, CastsOfTheModelAreHeededOnlyBySomebodyElse) {
  const onnx::Model m = model_of(
      "(float[n,8] x) => (float[n,8] y, int64[n,8] z)"
      "{ h = Cast<to=10>(x) a = Exp(h) y = Cast<to=1>(a) z = Cast<to=7>(a) }");
  const Engine e = Engine::build(m);
  expect_right(e, m, 0x1p-10);
  size_t casts = 0;
  for (const StepInfo& step : e.steps()) casts += step.op == "Cast";
  EXPECT_EQ(casts, 2u);  // of Exp's result to 16 bits and to integers: rounded as the model says
}

// Only kernels that declare it read them in 16 bits.
TEST(FloatArithmetic, LargeConstantsOfOtherOperatorsAreWidened) {
  for (const std::string op :
       {"Add(x, c)", "Add(c, x)", "Mul(x, c)", "Sub(x, c)", "Div(x, c)", "Max(x, c)", "Min(c, x)",
        "PRelu(x, c)", "Where(b, x, c)", "Where(b, c, x)", "Sum(x, c, x)", "Concat<axis=0>(x, c)",
        "Concat<axis=0>(c, x)", "LayerNormalization(x, c)", "LayerNormalization(x, c, c)",
        "ScatterElements(x, i, c)", "Clip(c, l, h)", "Expand(c, s)", "Gather(c, j)"}) {
    const onnx::Model m = model_of(
        "(float16[1,5000] z, float16 l, float16 h) => (float16[i,5000] y) <float16[1,5000] c = {}, int64[2] "
        "s = {2,5000}, "
        "int64[1] j = {0}> { x = Exp(z) w = Neg(z) b = Less(z, w) t = Shape(z) f = ConstantOfShape(t) i = "
        "Cast<to=7>(f) y = " +
        op + " }");
    for (OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all}) {
      SCOPED_TRACE(op);
      BuildOptions o;
      o.level = level;
      expect_right(Engine::build(m, o), m, 0x1p-10);
    }
  }
}

TEST(FloatArithmetic, CastsThereAndBackRound) {
  for (const std::string between :
       {"r = Identity(h)", "r = Transpose(h)", "t = Transpose(h) r = Reshape(t, s)"}) {
    const onnx::Model m = model_of("(float[4] x) => (float[4] y) <int64[1] s = {4}> { h = Cast<to=10>(x) " +
                                   between + " y = Cast<to=1>(r) }");
    for (OptimizationLevel level :
         {OptimizationLevel::none, OptimizationLevel::basic, OptimizationLevel::all}) {
      BuildOptions o;
      o.level = level;
      const auto y = Engine::build(m, o).create_context().run(
          std::vector<Value>{Tensor::from<float>({4}, {1e6f, -7e4f, 1e-9f, 1 + 0x1p-12f})});
      const float* got = y[0].tensor().as<float>().data();
      const std::vector<float> want{INFINITY, -INFINITY, 0, 1};
      EXPECT_EQ(std::vector<float>(got, got + 4), want) << between;
    }
  }
}

// The Cast back to 16 bits is one that the arithmetic behind it does not heed; that of what it was read from
// another one.
TEST(FloatArithmetic, CastsBesideNormsRoundOnlyThereAndBack) {
  const onnx::Model m = model_of(
      "(float16[n,8] x) => (float16[n,8] y, float[n,8] z) <float16[8] s = {1,2,3,4,5,6,7,8}, float[1] e = "
      "{1e-5}, "
      "int64[1] ax = {-1}> { f = Cast<to=1>(x) q = Mul(f, f) m = ReduceMean(q, ax) a = Add(m, e) d = Sqrt(a) "
      "n = "
      "Div(f, d) h = Cast<to=10>(n) y = Mul(h, s) z = Cast<to=1>(h) }");
  const Engine e = Engine::build(m);
  expect_right(e, m, 0x1p-10);
}

/// Normalization becomes scale and shift, whatever reads its result, and nothing is between that and the
/// convolutions around it.
TEST(FloatArithmetic, NormalizationIsFused) {
  const std::string text =
      "(float16[1,16,14,14] x) => (float16[1,48,14,14] y) <float16[32,16,1,1] a = {}, float16[32] s = {}, "
      "float16[32] t = {}, float16[32] m = {}, float16[32] v = "
      "{1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4,1,2,3,4,"
      "1,2,3,4,1,2,3,4}, float16[16,32,1,1] b = {}>"
      "{ p = Conv(x, a) n = BatchNormalization(p, s, t, m, v) r = Relu(n)"
      "  q = Conv(r, b)";
  for (bool brain : {false, true}) {
    const auto steps_of = [&](const std::string& rest) {
      const onnx::Model m = model_of(brain ? as_bfloat16(text + rest) : text + rest);
      const Engine e = Engine::build(m);
      expect_right(e, m, brain ? 0x1p-8 : 0x1p-11, true);
      std::set<std::string> steps;
      for (const std::string& op : operators(e)) steps.insert(op);
      return steps;
    };
    for (const char* rest : {" y = Concat<axis=1>(r, q) }", " y = Concat<axis=1>(p, q) }",
                             " o = BatchNormalization(r, s, t, m, v) y = Concat<axis=1>(o, q) }"}) {
      const std::set<std::string> steps = steps_of(rest);
      for (const char* gone : {"BatchNormalization", "Identity"}) EXPECT_FALSE(steps.contains(gone)) << rest;
    }
  }
}

/// Windows side by side are a convolution of one pixel.
TEST(FloatArithmetic, ImagesGrowInBlocks) {
  const std::string text =
      "(float16[1,64,5,6] x) => (float16[1,48,10,12] y) <float16[64,48,2,2] w = {}, float16[48] b = {}>"
      "{ y = ConvTranspose<strides=[2,2]>(x, w, b) }";
  for (bool brain : {false, true}) {
    const onnx::Model m = model_of(brain ? as_bfloat16(text) : text);
    const Engine e = Engine::build(m);
    expect_right(e, m, brain ? 0x1p-7 : 0x1p-10);
    const std::vector<std::string> steps = operators(e);
    EXPECT_EQ(std::ranges::count(steps, "ConvTranspose"), 0) << text;
  }
}

TEST(FloatArithmetic, TapsAndBodies) {
  const onnx::Model m = model_of(
      "(float16[n,16] x, bool c) => (float16[n,16] y) <float16[16,16] w = {}>"
      "{ p = Sigmoid(x) q = If(c) <then_branch = t () => (float16[n,16] u) { u = MatMul(p, w) },"
      "  else_branch = e () => (float16[n,16] v) { v = Tanh(p) }> y = Mul(q, q) }");
  BuildOptions o;
  o.taps = {"p", "q"};
  const Engine e = Engine::build(m, o);
  for (bool which : {false, true}) {
    const std::vector<Value> inputs{random_tensor(DataType::float16, {5, 16}, 3), Tensor::scalar(which)};
    Context c = e.create_context();
    std::map<std::string, DataType> seen;
    c.on_tap([&](std::string_view name, const Value& v) { seen[std::string(name)] = v.tensor().type(); });
    const Value got = c.run(inputs)[0];
    EXPECT_EQ(seen, (std::map<std::string, DataType>{{"p", DataType::float16}, {"q", DataType::float16}}));
    o.backend = "reference";
    const Value want = Engine::build(m, o).create_context().run(inputs)[0];
    o.backend = "cpu";
    const Comparison same = compare(got, want, 0x1p-7, 0x1p-7);
    EXPECT_TRUE(same.equal) << same.reason;
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
