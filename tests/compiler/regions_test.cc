// Elementwise operators in one step: which, why not, and that the bits stay as they were.
#include "support/regions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "kernel/kernel.h"
#include "lathe/lathe.h"
#include "plan/plan_file.h"
#include "plan/verify.h"
#include "runtime/engine_impl.h"
#include "support/drawn_graph.h"
#include "support/error_code.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"
#include "support/text_model.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using lathe::testing::code_of;
using namespace lathe::testing::regions;

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
  EXPECT_EQ(
      steps_of("(float[2,40,6,7] x, float[40,9,4,4] w, float[9] b, float[2,9,12,14] r) => "
               "(float[2,9,12,14] y)"
               "{ a = ConvTranspose<strides=[2,2], pads=[1,1,1,1]>(x, w, b) c = Add(a, r) y = Tanh(c) }"),
      "ConvTranspose+Add+Tanh");
  EXPECT_EQ(steps_of("(float[40,50] x, float[50,90] w) => (float[40,90] y)"
                     "{ a = MatMul(x, w) b = Atan(a) c = Shrink<lambd=0.1>(b) d = Sinh(c) y = Tan(d) }"),
            "MatMul+Atan+Shrink+Sinh+Tan");
  // Two products: the later one takes the sum.
  EXPECT_EQ(steps_of("(float[40,50] x, float[50,90] w) => (float[40,90] y)"
                     "{ a = MatMul(x, w) t = Tanh(x) b = MatMul(t, w) y = Add(a, b) }"),
            "MatMul Tanh MatMul+Add");
}

// A product adds the row that is to be added first itself, after the last of its terms: of several blocks of
// terms, in halves, of one row, of several matrices; and leaves alone what is no row of its result.
TEST(Regions, BeginWithARowThatIsAdded) {
  const struct {
    std::string x, w, b, r, y;
  } all[] = {{"3,70,1600", "1600,90", "90", "3,70,90", "3,70,90"},
             {"64,768", "768,288", "1,288", "64,288", "64,288"},
             {"n,1536", "1536,256", "256", "256", "n,256"},
             {"1,700", "700,90", "90", "1,90", "1,90"},
             {"16,700", "700,90", "90", "90", "16,90"},
             {"2,9,40", "2,40,33", "33", "2,9,33", "2,9,33"},
             {"7,40", "40", "7", "7", "7"},
             {"5,40", "40,1", "5,1", "5,1", "5,1"},
             {"6,40", "40,6", "6,1", "6", "6,6"}};
  for (const auto& [x, w, b, r, y] : all)
    for (const std::string then : {"y = Relu(c)", "y = Add(r, c)", "s = Sigmoid(c) y = Mul(c, s)"}) {
      SCOPED_TRACE(x + " times " + w + ", " + then);
      const std::string nodes = "{ a = MatMul(x, w) c = Add(b, a) " + then + " }",
                        of_x = "(float[" + x + "] x", others = "float[" + w + "] w, float[" + b + "] b",
                        of_y = ") => (float[" + y + "] y) ", of_r = ", float[" + r + "] r";
      const std::string steps = steps_of(of_x + ", " + others + of_r + of_y + nodes);
      EXPECT_EQ(steps.find("MatMul+Add+"), 0u) << steps;
      EXPECT_EQ(steps_of(testing::model_of(of_x + of_r + of_y + "<float[" + w + "] w = {}, float[" + b +
                                           "] b = {}> " + nodes)),
                steps);
    }
}

// Between runs only the memory of the caller moves; a region must read the new address, also if it reads it
// only behind a kernel whose own memory stays.
TEST(Regions, ReadWhatEachRunGives) {
  const onnx::Model m = testing::model_of(
      "(float[4,8] x, float[4,8] r) => (float[4,8] z) <float[8,8] w = {}, float[8] b = {}, float[8,8] v = "
      "{}> "
      "{ a = MatMul(x, w) c = Add(a, b) y = Add(c, r) z = MatMul(y, v) }");
  const Engine e = Engine::build(m);
  Context c = e.create_context();
  const Value x = random_tensor(DataType::float32, {4, 8}, 1);
  std::vector<Value> given;  // all of them alive: none lies where another one lay
  for (uint64_t seed = 2; seed < 6; ++seed) {
    given.push_back(random_tensor(DataType::float32, {4, 8}, seed));
    const std::vector<Value> inputs = {x, given.back()};
    Context other = e.create_context();
    EXPECT_TRUE(same_bits(c.run(inputs)[0], other.run(inputs)[0])) << seed;
  }
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

TEST(Regions, GoBehindNorms) {
  const std::string image =
      "(float[2,8,40,31] x, float[8] s, float[8] b, float[2,8,40,31] r, float[8,1,1] g) => "
      "(float[2,8,40,31] y)";
  EXPECT_EQ(steps_everywhere(image + "{ a = GroupNormalization<num_groups=4>(x, s, b) c = Sigmoid(a)"
                                     "  d = Mul(a, c) e = Add(d, r) y = Mul(e, g) }"),
            "GroupNormalization+Sigmoid+Mul+Add+Mul");
  EXPECT_EQ(steps_everywhere(image + "{ a = InstanceNormalization(x, s, b) c = Relu(a) y = Add(c, r) }"),
            "InstanceNormalization+Relu+Add");
  EXPECT_EQ(
      steps_everywhere(image + "{ v = Mul(s, s) a = BatchNormalization(x, s, b, b, v) y = LeakyRelu(a) }"),
      "Mul BatchNormalization+LeakyRelu");
  // The addend was normalized, and nothing reads it after that.
  EXPECT_EQ(steps_everywhere("(float[37,70] x, float[70] s, float[70] b) => (float[37,70] y)"
                             "{ r = Exp(x) a = LayerNormalization(r, s, b) y = Add(a, r) }"),
            "Exp LayerNormalization+Add");
  EXPECT_EQ(steps_everywhere("(float[n,5,70] x, float[70] s, float[n,5,70] r) => (float[n,5,70] y)"
                             "{ a = RMSNormalization(x, s) c = Mul(a, r) y = Gelu(c) }"),
            "RMSNormalization+Mul+Gelu");
}

TEST(Regions, GoBehindSoftmax) {
  for (const std::string op : {"Softmax", "LogSoftmax"})
    for (const std::string axis : {"-1", "1"})
      EXPECT_EQ(steps_everywhere("(float[9,31,150] x, bool[31,150] m, float z) => (float[9,31,150] y)"
                                 "{ a = " +
                                 op + "<axis=" + axis + ">(x) b = Where(m, a, z) y = Mul(b, b) }"),
                op + "+Where+Mul");
}

TEST(Regions, GoBehindPoolsAndReductions) {
  const std::string image = "(float[2,6,50,70] x, float[6,1,1] s) => (float[2,6,h,w] y)";
  for (const std::string pool : {"MaxPool<kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]>",
                                 "AveragePool<kernel_shape=[2,2]>", "GlobalAveragePool", "GlobalMaxPool"})
    EXPECT_EQ(steps_everywhere(image + "{ a = " + pool + "(x) b = Mul(a, s) y = Sigmoid(b) }"),
              pool.substr(0, pool.find('<')) + "+Mul+Sigmoid");
  for (const std::string op : {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp"})
    for (const std::string axes : {"{2}", "{1}", "{0,2}", "{0,1,2}"})
      EXPECT_EQ(steps_everywhere("(float[5,60,130] x, float e) => (float[a,b,c] y) <int64[" +
                                 std::to_string(axes.size() / 2) + "] axes = " + axes + "> { a = " + op +
                                 "(x, axes) b = Mul(a, e) c = Abs(b) y = Sqrt(c) }"),
                op + "+Mul+Abs+Sqrt");
}

TEST(Regions, GoBehindMovement) {
  for (const std::string how : {"mode=\"nearest\"", "mode=\"linear\""})
    for (const auto& [scales, size] : {std::pair<std::string, std::string>{"1,1,2,2", "40,62"},
                                       {"1,1,1.5,1.2", "30,37"},
                                       {"1,1,9,1", "180,31"},
                                       {"1,1,2,0.5", "40,15"}})
      EXPECT_EQ(steps_everywhere("(float[2,3,20,31] x, float[2,3," + size + "] r) => (float[2,3," + size +
                                 "] y) <float[4] scales = {" + scales + "}> { a = Resize<" + how +
                                 ", nearest_mode=\"floor\">(x, , scales) b = Add(a, r) y = Relu(b) }"),
                "Resize+Add+Relu")
          << how << scales;
  EXPECT_EQ(steps_everywhere("(float[30,70] x, int64[3,11] i, float[11,70] p) => (float[3,11,70] y)"
                             "{ a = Gather(x, i) y = Add(a, p) }"),
            "Gather+Add");
}

// A Gather of booleans writes bytes, where floats do not fit.
TEST(Regions, StayOutOfTheMemoryOfBooleans) {
  EXPECT_EQ(steps_everywhere("(bool[30,70] x, int64[11] i, float[70] s) => (float[11,70] y)"
                             "{ a = Gather(x, i) b = Cast<to=1>(a) y = Mul(b, s) }"),
            "Gather Pointwise+Cast+Mul");
}

TEST(Regions, MasksAndWhatTheyChoose) {
  // Truths from outside and from inside, of one element, of a row, of a column, of each.
  EXPECT_EQ(steps_everywhere("(float[7,70] x, bool[7,1] m, bool[70] n, float low) => (float[7,70] y)"
                             "{ a = And(m, n) b = Greater(x, low) c = Or(a, b) d = Not(c) e = Exp(x)"
                             "  y = Where(d, low, e) }"),
            "Pointwise+And+Greater+Or+Not+Exp+Where");
  EXPECT_EQ(steps_everywhere("(float[3,40,50] x, float[50,90] w, bool[90] m, float low) => (float[3,40,90] y)"
                             "{ a = MatMul(x, w) b = Where(m, a, low) y = Relu(b) }"),
            "MatMul+Where+Relu");
  // Truths as the result: beside the kernel they start from, whose memory is of numbers.
  EXPECT_EQ(steps_everywhere("(float[4,50] x, float[50,33] w, float[33] b) => (bool[4,33] y)"
                             "{ a = MatMul(x, w) c = Add(a, b) d = IsNaN(c) e = LessOrEqual(c, a)"
                             "  y = Xor(d, e) }"),
            "MatMul Pointwise+Add+IsNaN+LessOrEqual+Xor");
  EXPECT_EQ(steps_everywhere("(bool[9,1,16] x, float[5,16] y) => (float[9,5,16] z, bool[9,5,16] t)"
                             "{ a = Cast<to=1>(x) b = Mul(a, y) z = Neg(b) c = Cast<to=9>(y) d = Equal(c, x)"
                             "  t = Not(d) }"),
            "Cast Pointwise+Mul+Neg Cast Pointwise+Equal+Not");
  EXPECT_EQ(steps_everywhere("(bool[700] x, bool[1] y) => (bool[700] z)"
                             "{ a = Where(x, y, x) b = And(a, x) z = Equal(b, y) }"),
            "Pointwise+Where+And+Equal");
}

TEST(Regions, SignsRemaindersAndExtremesOfMany) {
  EXPECT_EQ(steps_everywhere("(float[5,77] x, float[77] y, float[5,1] z) => (float[5,77] r)"
                             "{ a = Sign(x) b = Max(a, y, z, x) c = Mod<fmod=1>(b, y) d = Mod(c, z)"
                             "  e = Min(d, x, a) r = Sum(e, x, y, z) }"),
            "Pointwise+Sign+Max+Mod+Mod+Min+Sum");
  EXPECT_EQ(steps_everywhere("(float[300] x) => (bool[300] y)"
                             "{ a = Reciprocal(x) b = IsInf<detect_negative=0>(a) c = IsInf(x)"
                             "  y = Or(b, c) }"),
            "Pointwise+Reciprocal+IsInf+IsInf+Or");
}

TEST(Regions, BooleansOfTaps) {
  const onnx::Model m = model_of(
      "(float[40,50] x, float[50,90] w, float low) => (float[40,90] y)"
      "{ a = MatMul(x, w) b = Greater(a, low) y = Where(b, a, low) }");
  const Engine tapped = Engine::build(m, {.taps = {"b"}}), plain = Engine::build(m);
  EXPECT_EQ(tapped.steps()[0].fused, plain.steps()[0].fused);
  EXPECT_EQ(plain.steps().size(), 1u);
  size_t heard = 0;
  Context c = tapped.create_context();
  const std::vector<Value> inputs = inputs_of(plain);
  Value seen;
  c.on_tap([&](std::string_view, const Value& v) {
    ++heard;
    seen = Value(v.tensor().clone());
  });
  const std::vector<Value> y = c.run(inputs);
  EXPECT_TRUE(same_bits(y[0], plain.create_context().run(inputs)[0]));
  ASSERT_EQ(heard, 1u);
  ASSERT_EQ(seen.tensor().type(), DataType::boolean);
  const float low = inputs[2].tensor().as<float>()[0];
  for (size_t i = 0; i < 40 * 90; ++i)
    ASSERT_EQ(seen.tensor().as<bool>()[i], y[0].tensor().as<float>()[i] != low) << i;
}

TEST(Regions, EndWhereAResultIsNeededElsewhere) {
  EXPECT_EQ(steps_of("(float[3,5] x) => (float[3,5] y, float[3,5] z) { z = Exp(x) y = Relu(z) }"),
            "Exp Relu");
  EXPECT_EQ(steps_of("(float[3,5] x) => (float[3,5] y, float[5,3] z)"
                     "{ a = Exp(x) y = Relu(a) z = Transpose(a) }"),
            "Exp Relu Transpose");
  // A value of another shape is computed once, not for every row.
  EXPECT_EQ(steps_of("(float[4,5] x, float[5] b) => (float[4,5] y) { a = Exp(b) y = Add(x, a) }"), "Exp Add");
  // A mean of doubles is a sum that is divided.
  EXPECT_EQ(steps_of("(double[4,5] x, double[5] b) => (double[4,5] y) { a = Mean(x, b) y = Neg(a) }"),
            "Mean Neg");
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

TEST(Regions, SayWhyNothingIsFusedInFront) {
  const Engine e = Engine::build(model_of(
      "(float[4,5] x, float[5,3] w) => (float[4,3] y, float[5,4] z) { a = Exp(x) b = MatMul(a, w) y = Relu(b)"
      "  c = Tanh(x) z = Transpose(c) }"));
  const std::vector<std::string> reasons = reasons_of(e);
  const std::vector<std::string> want = {"Exp (a): kernels of MatMul begin with what is in memory",
                                         "Tanh (c): kernels of Transpose begin with what is in memory"};
  EXPECT_TRUE(std::ranges::is_permutation(reasons, want)) << ::testing::PrintToString(reasons);
}

TEST(Regions, SayWhyBooleansAreApart) {
  const Engine e = Engine::build(model_of(
      "(string[4,5] i, string k, float[4,5] x, float[4,9] v, float[9,5] w) => (float[4,5] y, bool[4,5] t)"
      "{ c = Equal(i, k) d = Where(c, x, x) y = Exp(d) a = MatMul(v, w) b = Relu(a) t = IsNaN(b) }"));
  const std::vector<std::string> reasons = reasons_of(e);
  const std::vector<std::string> want = {
      "Equal (c): what it does cannot be expressed in the functions that programs have for its type",
      "MatMul (a): its numbers would be in the memory of booleans"};
  EXPECT_TRUE(std::ranges::is_permutation(reasons, want)) << ::testing::PrintToString(reasons);
}

/// Edges of a plan beside an elementwise operator, of which each must have its reason.
size_t explained_edges(const Engine& e, const std::string& name) {
  const KernelCatalog& kernels = KernelCatalog::standard();
  const Plan& plan = e.impl()->program.plan();
  size_t edges = 0;
  for (const PlanGraph& g : plan.graphs) {
    std::map<int32_t, const PlanStep*> makers;
    for (const PlanStep& s : g.steps) {
      const auto is_elementwise = [&](const PlanStep& at) {
        return at.op == "Pointwise" || kernels.pointwise_of(at.domain, at.op) != nullptr;
      };
      std::set<int32_t> reads(s.inputs.begin(), s.inputs.end()), behind;
      if (s.epilogue) behind.insert(s.epilogue->operands.begin(), s.epilogue->operands.end());
      reads.insert(behind.begin(), behind.end());
      for (const int32_t v : reads) {
        const auto from = makers.find(v);
        if (from == makers.end()) continue;
        const bool to_elementwise = is_elementwise(s) || behind.contains(v),
                   from_elementwise = is_elementwise(*from->second) || from->second->epilogue;
        if (!to_elementwise && !from_elementwise) continue;
        ++edges;
        const std::string edge = " (" + g.values[static_cast<size_t>(v)].name + "): ";
        EXPECT_TRUE(std::ranges::any_of(
            s.unfused, [&](const std::string& why) { return why.find(edge) != std::string::npos; }))
            << name << ": nothing is said of" << edge << from->second->op << " to " << s.op;
      }
      for (const int32_t v : s.outputs) makers[v] = &s;
    }
  }
  return edges;
}

TEST(Regions, EveryEdgeOfDrawnGraphsHasItsReason) {
  std::mt19937 random(11);
  size_t edges = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::vector<uint8_t> choices(random() % 200);
    for (uint8_t& c : choices) c = static_cast<uint8_t>(random());
    try {
      edges += explained_edges(Engine::build(testing::draw_graph(choices).model, {.threads = 1}),
                               "graph " + std::to_string(i));
    } catch (const Error&) {
      // Some graphs that can be drawn cannot be built.
    }
  }
  EXPECT_GT(edges, 1000u);
}

TEST(Regions, EveryEdgeOfRealModelsHasItsReason) {
  LATHE_NEEDS_SHARED(shared);
  size_t edges = 0;
  for (const testing::ConformanceCase& c : testing::model_cases(shared, false)) {
    try {
      edges += explained_edges(Engine::build(c.model, {.threads = 1}), c.name);
    } catch (const Error& e) {
      std::printf("%s: %s\n", c.name.c_str(), e.what());  // conformance_test says which these may be
    }
  }
  EXPECT_GT(edges, 1000u);
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
  const char* const binary[] = {"Add", "Sub", "Mul", "Div", "Min", "Max", "PRelu", "Mod<fmod=1>"};
  const char* const relations[] = {"Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"};
  const char* const junctions[] = {"And", "Or", "Xor"};
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
    if (random() % 4 == 0) {  // where one truth and not another holds
      const Named c = pick(values);
      const int shape = a.shape | b.shape | c.shape;
      body += " p" + name + " = " + std::string(pick(relations)) + "(" + a.name + ", " + c.name + ")";
      body += " q" + name + " = " + std::string(pick(relations)) + "(" + b.name + ", " + a.name + ")";
      body += " n" + name + " = Not(q" + name + ")";
      body += " m" + name + " = " + std::string(pick(junctions)) + "(p" + name + ", n" + name + ")";
      body += " " + name + " = Where(m" + name + ", " + a.name + ", " + c.name + ")";
      values.push_back({name, shape});
    } else if (random() % 2) {
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
  // A machine with fewer instructions has its own bits.
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
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code[0].from[0] = 9; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code[0].op = 99; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code.clear(); }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) {
              e.program = Pointwise::folded(TypedBinaryOp::add, DataType::int32, e.program.operands);
            }),
            Code::plan_malformed);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
