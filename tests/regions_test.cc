// Elementwise operators in one step: which, why not, and that the bits stay as they were.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "lathe/lathe.h"
#include "plan/plan_file.h"
#include "plan/verify.h"
#include "runtime/engine_impl.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe {
namespace {

using lathe::testing::code_of;

onnx::Model model_of(std::string_view text) {
  onnx::Model m;
  m.proto =
      onnx::from_text<onnx::ModelProto>("<ir_version: 10, opset_import: [\"\": 24]> g " + std::string(text));
  return m;
}

/// Some numbers for every input; free dimensions are 3.
std::vector<Value> inputs_of(const Engine& e) {
  std::vector<Value> list;
  for (const IoInfo& io : e.inputs()) {
    Shape shape;
    for (const Dim& d : *io.shape) shape.push_back(d.value().value_or(3));
    list.push_back(random_tensor(io.element_type, shape, 7 + list.size()));
  }
  return list;
}

bool same_bits(const Value& a, const Value& b) {
  return a.tensor().shape() == b.tensor().shape() &&
         std::memcmp(a.tensor().data(), b.tensor().data(), a.tensor().bytes()) == 0;
}

/// The steps, "Conv+Add+Relu", after checking that fusing changes no bit for any number of threads.
std::string steps_of(const onnx::Model& m, BuildOptions o = {}) {
  BuildOptions plain = o;
  plain.level = OptimizationLevel::none;
  o.passes = {};
  for (const PassInfo& p : passes()) o.passes.push_back("-" + p.name);
  const Engine unfused = Engine::build(m, plain);
  const std::vector<Value> want = unfused.create_context().run(inputs_of(unfused));
  std::string text;
  for (int threads : {1, 3}) {
    o.threads = threads;
    const Engine e = Engine::build(m, o);
    Context c = e.create_context();
    for (int again = 0; again < 2; ++again) {
      const std::vector<Value> got = c.run(inputs_of(e));
      for (size_t i = 0; i < want.size(); ++i) EXPECT_TRUE(same_bits(got[i], want[i])) << threads;
    }
    text.clear();
    for (const StepInfo& s : e.steps()) {
      text += (text.empty() ? "" : " ") + s.op;
      for (const std::string& op : s.fused) text += "+" + op;
    }
  }
  return text;
}
std::string steps_of(std::string_view text) { return steps_of(model_of(text)); }

TEST(Regions, GoBehindTheKernelTheyStartFrom) {
  EXPECT_EQ(
      steps_of("(float[2,3,9,9] x, float[5,3,3,3] w, float[2,5,7,7] r, float[5,1,1] s) => (float[2,5,7,7] y)"
               "{ a = Conv(x, w) b = Mul(a, s) c = Add(r, b) y = Relu(c) }"),
      "Conv+Mul+Add+Relu");
  EXPECT_EQ(steps_of("(float[3,70,50] x, float[50,90] w, float[90] b) => (float[3,70,90] y)"
                     "{ a = MatMul(x, w) c = Add(a, b) y = Gelu(c) }"),
            "MatMul+Add+Gelu");
  EXPECT_EQ(steps_of("(float[40,50] x, float[50,90] w) => (float[40,90] y)"
                     "{ a = Gemm(x, w) s = Sigmoid(a) y = Mul(a, s) }"),
            "Gemm+Sigmoid+Mul");
  EXPECT_EQ(
      steps_of(
          "(float[1,8,20,20] x, float[8,1,3,3] w) => (float[1,8,18,18] y) <float z = {0}, float six = {6}>"
          "{ a = Conv<group=8>(x, w) y = Clip(a, z, six) }"),
      "Conv+Clip");
  // Two products: the later one takes the sum.
  EXPECT_EQ(steps_of("(float[40,50] x, float[50,90] w) => (float[40,90] y)"
                     "{ a = MatMul(x, w) t = Tanh(x) b = MatMul(t, w) y = Add(a, b) }"),
            "MatMul Tanh MatMul+Add");
}

TEST(Regions, RunAlone) {
  EXPECT_EQ(steps_of("(float[n,50] x, float[50] b, float s) => (float[n,50] y)"
                     "{ a = Add(x, b) c = Tanh(a) d = Sub(c, a) y = Div(d, s) }"),
            "Pointwise+Add+Tanh+Sub+Div");
  // Single elements through several instructions.
  EXPECT_EQ(steps_of("(float[1] a, float b, float[1] c) => (float[1] y)"
                     "{ d = Add(a, b) e = Exp(d) f = Mul(e, c) y = Neg(f) }"),
            "Pointwise+Add+Exp+Mul+Neg");
  EXPECT_EQ(steps_of("(float[3,5] x) => (float[3,5] y) { y = Relu(x) }"), "Relu");
}

TEST(Regions, EndWhereAResultIsNeededElsewhere) {
  EXPECT_EQ(steps_of("(float[3,5] x) => (float[3,5] y, float[3,5] z) { z = Exp(x) y = Relu(z) }"),
            "Exp Relu");
  EXPECT_EQ(steps_of("(float[3,5] x) => (float[3,5] y, float[5,3] z)"
                     "{ a = Exp(x) y = Relu(a) z = Transpose(a) }"),
            "Exp Relu Transpose");
  // Of another shape: computed once, not for every row.
  EXPECT_EQ(steps_of("(float[4,5] x, float[5] b) => (float[4,5] y) { a = Exp(b) y = Add(x, a) }"), "Exp Add");
  EXPECT_EQ(steps_of("(double[4,5] x) => (double[4,5] y) { a = Abs(x) y = Neg(a) }"), "Abs Neg");
}

TEST(Regions, SayWhyTheyEnd) {
  const Engine e =
      Engine::build(model_of("(float[4,5] x, float[5] b) => (float[4,5] y, float[4,5] z)"
                             "{ c = Exp(b) z = Abs(x) d = Add(z, c) e = Relu(d) y = Mul(e, d) }"));
  for (const StepInfo& s : e.steps())
    if (s.op == "Pointwise") {
      const std::vector<std::string> want = {"Exp (c): its result has another shape",
                                             "Abs (z): its result is an output"};
      EXPECT_TRUE(std::ranges::is_permutation(s.unfused, want)) << s.unfused.size();
      return;
    }
  FAIL() << "no region";
}

TEST(Regions, SayOfEveryEdgeWhyItIsNotFused) {
  const Engine e = Engine::build(model_of(
      "(float[4,4] x) => (float[4,4] y, float[4,4] z)"
      "{ a = Transpose(x) b, c = Split<axis=1, num_outputs=2>(x) d = Concat<axis=1>(c, b) f = Mul(a, d)"
      "  y = Exp(f) g = Tanh(a) z = Sub(g, x) }"));
  std::vector<std::string> reasons;
  for (const StepInfo& s : e.steps())
    if (s.op == "Pointwise") reasons.insert(reasons.end(), s.unfused.begin(), s.unfused.end());
  const std::vector<std::string> want = {"Transpose (a): no kernel of it does more than its own operator",
                                         "Concat (d): no kernel of it does more than its own operator",
                                         "Transpose (a): no kernel of it does more than its own operator"};
  EXPECT_TRUE(std::ranges::is_permutation(reasons, want)) << ::testing::PrintToString(reasons);
}

TEST(Regions, LongProgramsAreCut) {
  std::string text = "(float[700] v0) => (float[700] v60) {";
  for (int i = 0; i < 60; ++i)
    text += " v" + std::to_string(i + 1) + (i % 2 ? " = Tanh(v" : " = Neg(v") + std::to_string(i) + ")";
  const std::string steps = steps_of(text + " }");
  EXPECT_EQ(std::ranges::count(steps, 'P'), 3) << steps;
}

/// Random graphs of elementwise operators over a few broadcast shapes.
std::string random_graph(uint32_t seed) {
  std::mt19937 random(seed);
  const auto pick = [&](auto& from) -> auto& { return from[random() % std::size(from)]; };
  struct Named {
    std::string name;
    int shape;  // bits: which of the axes it has
  };
  const char* const unary[] = {"Abs", "Exp", "Neg", "Relu", "Sigmoid", "Tanh", "Erf", "Floor", "Softplus"};
  const char* const binary[] = {"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu"};
  const int sizes[] = {3, 1 + static_cast<int>(random() % 600), 5};
  const auto type = [&](int bits) {
    std::string s = "float[";
    for (int a = 0; a < 3; ++a) s += (a ? "," : "") + std::to_string(bits >> a & 1 ? sizes[a] : 1);
    return s + "]";
  };
  std::vector<Named> values;
  std::string text = "(";
  for (int i = 0; i < 4; ++i) {
    values.push_back({"x" + std::to_string(i), i == 0 ? 7 : static_cast<int>(random() % 8)});
    text += (i ? ", " : "") + type(values.back().shape) + " " + values.back().name;
  }
  std::string body;
  for (int i = 0; i < 14; ++i) {
    const Named a = random() % 3 ? values.back() : pick(values), b = pick(values);
    const std::string name = "v" + std::to_string(i);
    if (random() % 2) {
      body += " " + name + " = " + pick(unary) + "(" + a.name + ")";
      values.push_back({name, a.shape});
    } else {
      const bool fits = (a.shape | b.shape) == a.shape;
      const char* op = pick(binary);
      if (std::string_view(op) == "PRelu" && !fits) op = "Add";
      body += " " + name + " = " + std::string(op) + "(" + a.name + ", " + b.name + ")";
      values.push_back({name, a.shape | b.shape});
    }
  }
  return text + ") => (" + type(values.back().shape) + " " + values.back().name + ") {" + body + " }";
}

TEST(Regions, RandomGraphsKeepTheirBits) {
  size_t fused = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    const std::string text = random_graph(seed);
    SCOPED_TRACE(text);
    fused += steps_of(text).find("Pointwise") != std::string::npos;
  }
  EXPECT_GT(fused, 30u);
}

constexpr std::string_view residual =
    "(float[40,50] x, float[50,90] w, float[40,90] r) => (float[40,90] y)"
    "{ a = MatMul(x, w) b = Add(a, r) c = Exp(b) d = Mul(c, b) y = Tanh(d) }";

TEST(Regions, TapsSeeInsideAndChangeNothing) {
  const onnx::Model m = model_of(residual);
  const Engine plain = Engine::build(m), tapped = Engine::build(m, {.taps = {"*"}}),
               unfused = Engine::build(m, {.level = OptimizationLevel::none, .taps = {"*"}});
  const std::vector<Value> inputs = inputs_of(plain);
  const auto seen = [&](const Engine& e) {
    std::map<std::string, std::vector<float>> values;
    Context c = e.create_context();
    c.on_tap([&](std::string_view name, const Value& v) {
      values[std::string(name)].assign(v.tensor().as<float>().begin(), v.tensor().as<float>().end());
    });
    EXPECT_TRUE(same_bits(c.run(inputs)[0], plain.create_context().run(inputs)[0]));
    return values;
  };
  const auto inside = seen(tapped);
  EXPECT_EQ(inside, seen(unfused));
  EXPECT_TRUE(inside.contains("a") && inside.contains("b") && inside.contains("d"));
  // The main path is the one without taps.
  EXPECT_EQ(tapped.steps()[0].fused, plain.steps()[0].fused);
}

TEST(Regions, PlansKeepThem) {
  const testing::TempDirectory directory;
  const auto file = directory.path() / "model.lathe";
  const Engine e = Engine::build(model_of(residual));
  e.save(file);
  const std::vector<Value> inputs = inputs_of(e);
  const Engine loaded = Engine::load(file);
  EXPECT_EQ(loaded.steps()[0].fused, e.steps()[0].fused);
  EXPECT_TRUE(same_bits(loaded.create_context().run(inputs)[0], e.create_context().run(inputs)[0]));
  // On a lesser machine: that machine's bits.
  for (const char* isa : {"generic", "avx2"})
    EXPECT_TRUE(same_bits(Engine::load(file, {.isa = isa}).create_context().run(inputs)[0],
                          Engine::build(model_of(residual), {.isa = isa}).create_context().run(inputs)[0]));
}

TEST(Regions, TakeNoNumberFromWeightsThatMayBeExchanged) {
  const onnx::Model m = model_of(
      "(float[3,5] x) => (float[3,5] y) <float low = {0}, float two = {2}>"
      "{ a = Neg(x) b = Clip(a, low) c = Pow(b, two) y = Neg(c) }");
  const auto fused = [&](bool refit) {
    size_t n = 0;
    for (const StepInfo& s : Engine::build(m, {.refit = refit}).steps()) n += s.fused.size();
    return n;
  };
  EXPECT_EQ(fused(false), 4u);
  EXPECT_EQ(fused(true), 0u);
}

TEST(Regions, SpoiledEpiloguesAreRefused) {
  const auto spoiled = [](auto&& spoil) {
    const Engine e = Engine::build(model_of(residual));
    const testing::TempDirectory directory;
    e.save(directory.path() / "plan.lathe");
    Plan p = load_plan(directory.path() / "plan.lathe");
    spoil(*p.graphs[0].steps[0].epilogue);
    save_plan(p, directory.path() / "spoiled.lathe");
    return code_of([&] { Engine::load(directory.path() / "spoiled.lathe"); });
  };
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.operands.clear(); }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.operands[0] = 1000; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.operands[0] = -1; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code[0].x = 9; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code[0].op = 99; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code.clear(); }), Code::plan_malformed);
}

}  // namespace
}  // namespace lathe
