// Models that are valid, or that others run, although something about them is odd.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "support/error_code.h"
#include "support/text_model.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

constexpr OptimizationLevel levels[] = {OptimizationLevel::none, OptimizationLevel::basic,
                                        OptimizationLevel::extended, OptimizationLevel::all};

/// Returns `y` for x, which is the same at every level.
Tensor run_of(const onnx::Model& m, const NamedValues& inputs) {
  std::optional<Tensor> first;
  for (const OptimizationLevel level : levels)
    for (const char* backend : {"cpu", "reference"}) {
      BuildOptions options;
      options.level = level;
      options.backend = backend;
      const Tensor y = Engine::build(m, options).create_context().run(inputs).at("y").tensor().clone();
      if (!first) {
        first = y;
        continue;
      }
      EXPECT_EQ(first->shape(), y.shape());
      for (int64_t i = 0; i < y.size(); ++i) {
        const double a = load_double(*first, i), b = load_double(y, i);
        EXPECT_TRUE(a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-5 * std::abs(a))
            << a << " and " << b << " at " << i << ", level " << static_cast<int>(level) << ", " << backend;
      }
    }
  return *first;
}
Tensor run_of(const std::string& text, const NamedValues& inputs, int opset = 17) {
  return run_of(model_of(text, opset), inputs);
}
std::vector<double> numbers(const Tensor& t) {
  std::vector<double> list;
  for (int64_t i = 0; i < t.size(); ++i) list.push_back(load_double(t, i));
  return list;
}
Tensor floats(const std::vector<float>& v) {
  return Tensor::from<float>({static_cast<int64_t>(v.size())}, v);
}

TEST(ValidModels, ALoopThatCountsAlone) {
  const Tensor y = run_of(
      "(int64 m) => (float[k] y) { y = Loop(m, \"\") <body = b (int64 i, bool c) => (bool co, float s) { co "
      "= "
      "Identity(c) s = Cast<to=1>(i) }> }",
      {{"m", Tensor::scalar(int64_t{3})}});
  EXPECT_EQ(numbers(y), (std::vector<double>{0, 1, 2}));
}

TEST(ValidModels, BranchesThatAreNeverTakenAreNotJudged) {
  const Tensor x = Tensor::from<float>({2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6});
  const auto of = [&](const std::string& condition, const std::string& inputs = "", NamedValues values = {}) {
    values["x"] = x;
    SCOPED_TRACE(condition);
    return run_of(
        "(float[2,3] x" + inputs +
            ") => (float[] y) <int64 zero = {0}, float zf = {0}, int64[1] one = {1}, float half = {0.5}, "
            "int64[1] no_axis = {5}> { sh = Shape(x) rk = Size(sh) " +
            condition +
            " r = If(c) <then_branch = t () => (float[n] a) { a = Squeeze(x, no_axis) }, else_branch = e () "
            "=> (float[n,k] b) { b = Identity(x) }> y = Neg(r) }",
        values, 18);
  };
  const std::vector<double> want{-1, -2, -3, -4, -5, -6};
  EXPECT_EQ(numbers(of("z = CastLike(zero, rk) c = Equal(rk, z)")), want);
  EXPECT_EQ(numbers(of("z = CastLike(zf, rk) c = Equal(rk, z)")), want);
  EXPECT_EQ(numbers(of("z = Clip(rk, zero, zero) c = Less(z, zero)")), want);
  EXPECT_EQ(numbers(of("f = Cast<to=1>(rk) c = IsNaN(f)")), want);
  EXPECT_EQ(numbers(of("f = Cast<to=1>(rk) c = IsInf(f)")), want);
  EXPECT_EQ(numbers(of("c = Less(half, zf)")), want);
  EXPECT_EQ(numbers(of("c = IsNaN(half)")), want);
  EXPECT_EQ(numbers(of("n = Equal(rk, zero) c = And(n, q)", ", bool q", {{"q", Tensor::scalar(true)}})),
            want);
  EXPECT_EQ(numbers(of("n = Equal(rk, zero) m = Not(n) o = Or(q, m) c = Not(o)", ", bool q",
                       {{"q", Tensor::scalar(false)}})),
            want);
  // Values that shape arithmetic does not follow are computed.
  EXPECT_EQ(numbers(of("z = Mul(half, zf) c = Cast<to=9>(z)")), want);
  EXPECT_EQ(numbers(of("f = Cast<to=1>(rk) m = Mul(f, half) n = Floor(m) c = Greater(n, m)")), want);
  EXPECT_EQ(numbers(of("f = Cast<to=10>(half) g = Add(f, f) c = Less(g, f)")), want);
  EXPECT_EQ(numbers(of("k = Concat<axis = 0>(sh, one) m = ReduceMax<keepdims = 0>(k) c = Equal(m, zero)")),
            want);
  EXPECT_EQ(numbers(of("n = BitwiseAnd(rk, zero) c = Greater(n, zero)")), want);
  EXPECT_EQ(numbers(of("n = Mod(rk, rk) c = Greater(n, zero)")), want);
  EXPECT_EQ(numbers(of("l = SequenceConstruct(half, zf) n = SequenceLength(l) c = Equal(n, zero)")), want);
  EXPECT_EQ(numbers(of("o = Optional(half) h = OptionalHasElement(o) c = Not(h)")), want);
  EXPECT_EQ(numbers(of("l = Less(zf, half) f = Where(l, half, zf) c = Equal(f, zf)")), want);
}

// The work for conditions is bounded: a hostile model would keep the importer busy for years.
TEST(ValidModels, ConditionsThatTakeLongAreLeftToTheRun) {
  const auto condition = [](const std::string& einsum) {
    return "(float[2,3] x) => (float[2,3] y) <float[2048] v = {" +
           [] {
             std::string list = "0";
             for (int i = 1; i < 2048; ++i) list += ", 0";
             return list;
           }() +
           "}, float zf = {0}> { e = " + einsum +
           " c = Greater(e, zf) y = If(c) <then_branch = t () => (float[2,3] a) { a = Add(x, v) }, "
           "else_branch "
           "= e () => (float[2,3] b) { b = Identity(x) }> }";
  };
  const auto built = [](const std::string& text) { Engine::build(model_of(text, 17)); };
  EXPECT_NO_THROW(built(condition("Einsum<equation = \"a,b->\">(v, v)")));
  // The faulty branch may be taken, for all that is known.
  EXPECT_EQ(code_of([&] { built(condition("Einsum<equation = \"a,b,c->\">(v, v, v)")); }),
            Code::node_bad_shape);
}

TEST(ValidModels, FoldedNumbersThatBodiesCapture) {
  for (const char* op : {"NonZero", "Unique"}) {
    const Tensor y =
        run_of("(bool c, int64[1] i) => (int64[] y) <int64[4] k = {0,3,0,5}> { u = " + std::string(op) +
                   "(k) y = If(c) <then_branch = t () => (int64[n] r) { r = Shape(u) }, else_branch = e () "
                   "=> (int64[n] w) { w "
                   "= Identity(i) }> }",
               {{"c", Tensor::scalar(true)}, {"i", Tensor::from<int64_t>({1}, std::vector<int64_t>{0})}});
    EXPECT_GT(y.size(), 0);
  }
}

TEST(ValidModels, ResultsOfAKnownBranchThatAreNoTensors) {
  onnx::Model m;
  m.proto = onnx::from_text<onnx::ModelProto>(
      "<ir_version: 8, opset_import: [\"\": 15, \"ai.onnx.ml\": 1]> g (float[N,2] x) => (seq(map(int64, "
      "float)) y) "
      "<bool c = {1}> { y = If(c) <then_branch = t () => (seq(map(int64, float)) a) { a = "
      "ai.onnx.ml.ZipMap<classlabels_int64s=[0,1]>(x) }, else_branch = e () => (seq(map(int64, float)) b) { "
      "b = "
      "ai.onnx.ml.ZipMap<classlabels_int64s=[0,1]>(x) }> }");
  for (const OptimizationLevel level : levels) {
    BuildOptions options;
    options.level = level;
    const NamedValues got =
        Engine::build(m, options).create_context().run({{"x", random_tensor(DataType::float32, {3, 2}, 1)}});
    EXPECT_FALSE(got.at("y").is_tensor());
  }
}

TEST(ValidModels, AttributesOfAConstantThatNobodyKnows) {
  onnx::Model m = model_of("() => (float[2] y) { k = Constant<value_floats=[1.0,2.0]>() y = Neg(k) }");
  onnx::AttributeProto note;
  note.name = "note";
  note.type = onnx::AttributeProto::STRING;
  note.s = onnx::Bytes(std::string("by hand"));
  m.proto.graph->node[0].attribute.push_back(note);
  EXPECT_EQ(numbers(run_of(m, {})), (std::vector<double>{-1, -2}));
  const std::vector<Diagnostic> said = check(m);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].severity, Diagnostic::Severity::warning);
  EXPECT_NE(said[0].got.find("note"), std::string::npos);
}

TEST(ValidModels, OperatorsOfMicrosoftWithoutAnImport) {
  onnx::Model m = model_of("(float[2] x) => (float[2] y) { y = com.microsoft.FastGelu(x) }");
  EXPECT_EQ(run_of(m, {{"x", floats({1, 2})}}).size(), 2);
  const std::vector<Diagnostic> said = check(m);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_EQ(said[0].severity, Diagnostic::Severity::warning);
  EXPECT_EQ(said[0].code, Code::model_bad_opset);
}

TEST(ValidModels, AZeroBeyondTheAxesOfAnEmptyTensor) {
  const Tensor y = run_of("(float[0] x) => (float[] y) <int64[3] s = {2,0,0}> { y = Reshape(x, s) }",
                          {{"x", Tensor(DataType::float32, {0})}});
  EXPECT_EQ(y.shape(), (Shape{2, 0, 0}));
  EXPECT_EQ(code_of([] {
              Engine::build(
                  model_of("(float[3] x) => (float[] y) <int64[3] s = {3,1,0}> { y = Reshape(x, s) }"), {})
                  .create_context()
                  .run({{"x", floats({1, 2, 3})}});
            }),
            Code::node_bad_shape);
}

TEST(ValidModels, ScalesThatAreNotFiniteStayBehindTheProduct) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  const auto of = [](const std::string& weights, const std::string& body) {
    return numbers(run_of(
        "(float[1,3,1,1] x) => (float[] y) <float[1,3,1,1] w = {" + weights +
            "}, float big = {1e30}, float zero = {0}> { i = Div(big, zero) c = Conv(x, w) " + body + " }",
        {{"x", Tensor::from<float>({1, 3, 1, 1}, std::vector<float>{1, 1, 1})}}));
  };
  EXPECT_EQ(of("1,0,1", "y = Mul(c, i)"), (std::vector<double>{inf}));
  EXPECT_EQ(of("1,0,1", "y = Div(c, zero)"), (std::vector<double>{inf}));
  EXPECT_EQ(of("1,0,1", "d = Mul(c, big) y = Mul(d, big)"), (std::vector<double>{inf}));
  EXPECT_TRUE(std::isnan(of("1,0,-1", "y = Mul(c, i)")[0]));
  EXPECT_EQ(numbers(run_of(
                "(float[2,3] x) => (float[] y) <float[3,1] w = {1,0,2}, float big = {1e30}> { c = MatMul(x, "
                "w) d = Mul(c, big) y = Mul(d, big) }",
                {{"x", Tensor::from<float>({2, 3}, std::vector<float>{1, 1, 1, 2, 2, 2})}})),
            (std::vector<double>{inf, inf}));
}

TEST(ValidModels, CastsToSixteenBitsRoundWhatIsCastLikeAnother) {
  constexpr float inf = std::numeric_limits<float>::infinity();
  for (const char* half : {"10", "16"}) {
    const std::string to_half = "(float[3] x) => (float[] y) { h = Cast<to=" + std::string(half) + ">(x) ";
    const NamedValues x = {{"x", floats({3e38f * 1.1f, 1e-9f, 2049.3f})}};
    EXPECT_EQ(numbers(run_of(to_half + "y = CastLike(h, x) }", x)),
              numbers(run_of(to_half + "y = Cast<to=1>(h) }", x)));
    EXPECT_EQ(numbers(run_of(to_half + "i = Identity(h) y = CastLike(i, x) }", x)),
              numbers(run_of(to_half + "y = Cast<to=1>(h) }", x)));
  }
  EXPECT_EQ(numbers(run_of("(float[2] x) => (float[] y) { h = Cast<to=10>(x) y = CastLike(h, x) }",
                           {{"x", floats({70000, 1e-9f})}})),
            (std::vector<double>{inf, 0}));
}

TEST(ValidModels, AxesThatOnlyARunHasAreChecked) {
  const onnx::Model m =
      model_of("(float[n] x, int64[k] a) => (float[] y) { q = Neg(x) z = Squeeze(q, a) y = Neg(z) }");
  const onnx::Model r =
      model_of("(float[n] x, int64[k] a) => (float[] y) { q = Neg(x) z = Reshape(q, a) y = Neg(z) }");
  for (const OptimizationLevel level : levels)
    for (const int64_t size : {0, 1, 3}) {
      BuildOptions options;
      options.level = level;
      const Tensor x(DataType::float32, {size});
      const auto code = [&](const onnx::Model& model, std::vector<int64_t> a) {
        const auto n = static_cast<int64_t>(a.size());
        return code_of([&] {
          Engine::build(model, options)
              .create_context()
              .run({{"x", x}, {"a", Tensor::from<int64_t>({n}, a)}});
        });
      };
      EXPECT_EQ(code(m, {0}), size == 1 ? Code::none : Code::node_bad_shape) << size;
      EXPECT_EQ(code(r, {}), size == 1 ? Code::none : Code::node_bad_shape) << size;
    }
}

TEST(ValidModels, NegativeZeroStaysInPlans) {
  const onnx::Model m = model_of("(float[2] x) => (float[2] y) { y = LeakyRelu<alpha=-0.0>(x) }");
  const Engine engine = Engine::build(m, {}), loaded = Engine::deserialize(engine.serialize());
  for (const Engine* e : {&engine, &loaded}) {
    const Tensor y = e->create_context().run({{"x", floats({-1, 1})}}).at("y").tensor().clone();
    EXPECT_FALSE(std::signbit(y.as<float>()[0]));  // -1 times -0
  }
}

TEST(ValidModels, NegativePositionsOfARotation) {
  const std::string text =
      "(float[1,2,3,8] x, int64[1,3] p) => (float[] y) <float[4,8] cos = {}, float[4,8] sin = {}, int64[1] "
      "one = {1}, "
      "int64[1] z = {0}, int64[1] half = {4}, int64[1] all = {8}, int64[1] last = {-1}, int64[2] twice = "
      "{1,2}, "
      "float[4,4] a = {}> { t1 = Cos(a) t2 = Sin(a) ct = Tile(t1, twice) st = Tile(t2, twice) cg = "
      "Gather(ct, p) sg = "
      "Gather(st, p) cu = Unsqueeze(cg, one) su = Unsqueeze(sg, one) x1 = Slice(x, z, half, last) x2 = "
      "Slice(x, half, "
      "all, last) n2 = Neg(x2) r = Concat<axis=-1>(n2, x1) u = Mul(x, cu) v = Mul(r, su) y = Add(u, v) }";
  const auto at = [&](std::vector<int64_t> p) {
    return numbers(run_of(
        text,
        {{"x", random_tensor(DataType::float32, {1, 2, 3, 8}, 5)}, {"p", Tensor::from<int64_t>({1, 3}, p)}},
        23));
  };
  EXPECT_EQ(at({-1, 0, -4}), at({3, 0, 0}));
}

TEST(ValidModels, Float8OfAnExponentAlone) {
  // Numbers below the least one, 2^-127, and 0, which the type lacks, become NaN unless they saturate.
  for (const float x : {0.0f, 0x1p-128f, 0x1p-149f}) {
    EXPECT_EQ(to_float8e8m0(x, false, Round8::nearest).bits, 255);
    EXPECT_EQ(to_float8e8m0(x, false, Round8::up).bits, 255);
    EXPECT_NE(to_float8e8m0(x, true, Round8::up).bits, 255);
  }
  EXPECT_EQ(to_float8e8m0(0x1p-127f, false, Round8::nearest).bits, 0);
  EXPECT_EQ(to_float8e8m0(1.0f, false, Round8::nearest).bits, 127);
  EXPECT_EQ(to_float8e8m0(std::numeric_limits<float>::infinity(), false, Round8::nearest).bits, 255);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
