// Elementwise operators in one step: which, why not, and that the bits stay as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <random>
#include <set>

#include "base/cpu.h"
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

// From run to run nothing but what the caller gives moves: also where that is read behind a kernel only,
// whose own memory stays where it is.
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

/// The same for every instruction set, which must all fuse alike.
std::string steps_everywhere(std::string_view text) {
  std::string all;
  for (const char* isa : {"generic", "avx2", "avx512"}) {
    if (isa == std::string_view("avx2") && !cpu_features().avx2) break;
    if (isa == std::string_view("avx512") && !cpu_features().avx512) break;
    SCOPED_TRACE(isa);
    const std::string steps = steps_of(model_of(text), {.isa = isa});
    if (all.empty()) all = steps;
    EXPECT_EQ(steps, all);
  }
  return all;
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
  // What is added was normalized, and nobody needs it after that.
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

// A Gather of truths leaves bytes, which numbers have no room in.
TEST(Regions, StayOutOfTheMemoryOfTruths) {
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

// What is computed of other numbers than float32, and from one type to another, in one step.
TEST(Regions, NumbersOfEveryType) {
  EXPECT_EQ(
      steps_everywhere("(int64[7,1] q, int64[70] k, int64 w, bool[7,70] p, float low) => (float[7,70] y)"
                       "{ a = LessOrEqual(k, q) b = Sub(q, k) c = Less(b, w) d = And(a, c)"
                       "  e = And(d, p) z = Sub(low, low) y = Where(e, z, low) }"),
      "Sub Pointwise+LessOrEqual+Sub+Less+And+And+Where");
  EXPECT_EQ(steps_everywhere("(int64[3,300] x, int64[300] z, int64 three) => (int64[3,300] y)"
                             "{ a = Add(x, z) b = Mul(a, three) c = Sub(b, x) y = Max(c, z, x) }"),
            "Pointwise+Add+Mul+Sub+Max");
  EXPECT_EQ(steps_everywhere("(double[900] x) => (double[900] y)"
                             "{ a = Mul(x, x) b = Neg(a) c = Exp(b) d = Softplus(c) e = Sqrt(d) f = Tanh(e)"
                             "  g = Log(f) h = Sigmoid(g) y = Relu(h) }"),
            "Pointwise+Mul+Neg+Exp+Softplus+Sqrt+Tanh+Log+Sigmoid+Relu");
  EXPECT_EQ(steps_everywhere("(uint8[64,33,3] x, float[3] s, float[3] o) => (float[64,33,3] y)"
                             "{ a = Cast<to=1>(x) b = Mul(a, s) y = Sub(b, o) }"),
            "Pointwise+Cast+Mul+Sub");
  EXPECT_EQ(
      steps_everywhere("(float[999] x) => (uint8[999] y) <float m = {255}, uint8 l = {3}, uint8 h = {200}>"
                       "{ a = Sigmoid(x) b = Mul(a, m) c = Cast<to=2>(b) d = Clip(c, l, h)"
                       "  y = BitwiseNot(d) }"),
      "Pointwise+Sigmoid+Mul+Cast+Clip+BitwiseNot");
  EXPECT_EQ(steps_everywhere("(uint32[700] x, uint32[1] n) => (int16[700] y)"
                             "{ a = BitShift<direction=\"LEFT\">(x, n) b = BitwiseXor(a, x)"
                             "  c = BitShift<direction=\"RIGHT\">(b, n) d = BitwiseAnd(c, x)"
                             "  e = BitwiseOr(d, n) y = Cast<to=5>(e) }"),
            "Pointwise+BitShift+BitwiseXor+BitShift+BitwiseAnd+BitwiseOr+Cast");
  EXPECT_EQ(steps_everywhere(
                "(int32[40] x, double[1] like) => (double[40] y) { a = Neg(x) y = CastLike(a, like) }"),
            "Pointwise+Neg+CastLike");
  // Truths as bytes become numbers, and numbers truths; of one element too.
  EXPECT_EQ(steps_everywhere("(int32[1,1] x, double[1,1] d) => (bool[1,1] y)"
                             "{ a = Cast<to=9>(x) b = Cast<to=7>(a) c = Cast<to=11>(b) e = Greater(c, d)"
                             "  f = Not(e) y = Xor(f, a) }"),
            "Pointwise+Cast+Cast+Cast+Greater+Not+Xor");
  EXPECT_EQ(steps_everywhere("(float16[300] x, int8[300] i) => (float16[300] y)"
                             "{ a = Cast<to=7>(x) b = Cast<to=7>(i) c = Add(a, b) y = Cast<to=10>(c) }"),
            "Pointwise+Cast+Cast+Add+Cast");
  EXPECT_EQ(steps_everywhere("(int64[0,5] x, int64[5] z) => (bool[0,5] y) { a = Add(x, z) y = Less(a, z) }"),
            "Pointwise+Add+Less");
}

// Axes that are repeated in more ways than a run goes through.
TEST(Regions, NumbersAlongManyAxes) {
  EXPECT_EQ(
      steps_everywhere("(int32[2,1,2,1,2,1,2,1] x, int32[1,3,1,2,1,3,1,2] z) => (int32[2,3,2,2,2,3,2,2] y)"
                       "{ a = Add(x, z) y = Mul(a, x) }"),
      "Pointwise+Add+Mul");
  EXPECT_EQ(steps_everywhere("(int32[2,1,2,1,2,1,2,1,2] x, int32[1,3,1,2,1,3,1,2,1] z)"
                             " => (int32[2,3,2,2,2,3,2,2,2] y) { a = Add(x, z) y = Mul(a, x) }"),
            "Add Mul");
  EXPECT_EQ(steps_everywhere("(double[2,1,2,1,2,1,2,1,2,3] x) => (double[2,1,2,1,2,1,2,1,2,3] y)"
                             "{ a = Neg(x) y = Exp(a) }"),
            "Pointwise+Neg+Exp");
}

TEST(Regions, NumbersDividedByZeroAreRefused) {
  for (const std::string op : {"Div", "Mod"})
    for (const std::string shape : {"700", "1", "7,1"}) {
      const onnx::Model m = model_of("(int32[7,700] x, int32[" + shape +
                                     "] z) => (int32[7,700] y)"
                                     "{ a = Add(x, x) b = " +
                                     op + "(a, z) y = Neg(b) }");
      const Engine e = Engine::build(m);
      ASSERT_EQ(e.steps().size(), 1u);
      std::vector<Value> inputs = inputs_of(e);
      Tensor divisors = inputs[1].tensor().clone();
      std::ranges::fill(divisors.as<int32_t>(), 3);
      inputs[1] = Value(divisors.clone());
      EXPECT_NO_THROW(e.create_context().run(inputs));
      divisors.as<int32_t>().back() = 0;
      inputs[1] = Value(std::move(divisors));
      EXPECT_EQ(code_of([&] { e.create_context().run(inputs); }), Code::run_bad_value) << op << shape;
    }
}

// Shapes follow from some contents: what makes them has a rule that says so, and stays apart.
TEST(Regions, LeaveOutWhatShapesFollowFrom) {
  const onnx::Model m = model_of(
      "(float[a,b] x) => (float[c,d] y) <int64[1] one = {1}, int64[1] two = {2}, int64[1] none = {0}, "
      "float[1] "
      "twice = {2}> { s = Shape(x) f = Gather(s, none) g = Mul(f, two) h = Add(g, one) i = Cast<to=1>(h)"
      "  j = Mul(i, twice) k = Floor(j) l = Cast<to=7>(k) t = Concat<axis=0>(l, one) y = Expand(twice, t) }");
  EXPECT_EQ(steps_of(m).find("Pointwise"), std::string::npos);
  const Engine e = Engine::build(m);
  EXPECT_TRUE(e.memory({{"x", {2, 3}}}).uncounted.empty());
  // Positions that a mask is made of say no shape.
  EXPECT_NE(
      steps_of(
          "(float[n,n] x) => (float[n,n] y)"
          "<int64 zero = {0}, int64 one = {1}, int64[1] first = {0}, int64[1] last = {1}, float low = {-9}>"
          "{ s = Shape(x) l = Gather(s, zero) r = Range(zero, l, one) q = Unsqueeze(r, last)"
          "  k = Unsqueeze(r, first) d = Sub(q, k) m = GreaterOrEqual(d, zero)"
          "  y = Where(m, x, low) }")
          .find("Pointwise+Sub+GreaterOrEqual+Where"),
      std::string::npos);
}

TEST(Regions, TruthsOfTaps) {
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
  // Of another shape: computed once, not for every row.
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
  std::vector<std::string> reasons;
  for (const StepInfo& s : e.steps()) reasons.insert(reasons.end(), s.unfused.begin(), s.unfused.end());
  const std::vector<std::string> want = {"Exp (a): kernels of MatMul begin with what is in memory",
                                         "Tanh (c): kernels of Transpose begin with what is in memory"};
  EXPECT_TRUE(std::ranges::is_permutation(reasons, want)) << ::testing::PrintToString(reasons);
}

TEST(Regions, SayWhyTruthsAreApart) {
  const Engine e = Engine::build(model_of(
      "(string[4,5] i, string k, float[4,5] x, float[4,9] v, float[9,5] w) => (float[4,5] y, bool[4,5] t)"
      "{ c = Equal(i, k) d = Where(c, x, x) y = Exp(d) a = MatMul(v, w) b = Relu(a) t = IsNaN(b) }"));
  std::vector<std::string> reasons;
  for (const StepInfo& s : e.steps()) reasons.insert(reasons.end(), s.unfused.begin(), s.unfused.end());
  const std::vector<std::string> want = {
      "Equal (c): what it does cannot be said in functions of its numbers that programs have",
      "MatMul (a): its numbers would be in the memory of truths"};
  EXPECT_TRUE(std::ranges::is_permutation(reasons, want)) << ::testing::PrintToString(reasons);
}

TEST(Regions, SayWhyOtherNumbersAreApart) {
  const Engine e = Engine::build(model_of(
      "(float[4,9] v, float[9,5] w, int64[4,5] i, double[4,5] d) => (float[4,5] y, uint8[4,5] z, double[4,5] "
      "m)"
      "{ a = MatMul(v, w) c = Cast<to=1>(i) b = Add(a, c) y = Relu(b) g = Gemm(v, w) z = Cast<to=2>(g)"
      "  n = Mean(d, d) m = Neg(n) }"));
  std::vector<std::string> reasons;
  for (const StepInfo& s : e.steps()) reasons.insert(reasons.end(), s.unfused.begin(), s.unfused.end());
  const std::vector<std::string> want = {
      "Cast (c): behind a kernel only numbers of float32 are computed",
      "Gemm (g): behind a kernel only numbers of float32 are computed",
      "Mean (n): what it does cannot be said in functions of its numbers that programs have"};
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
      // Not every graph that can be drawn can be built.
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

/// Random graphs of numbers of many types. `exact`: of functions that have one right answer.
class DrawnNumbers {
 public:
  DrawnNumbers(uint32_t seed, bool exact) : random_(seed), exact_(exact) {
    std::shuffle(std::begin(sizes_), std::end(sizes_), random_);
    for (int i = 0; i < 5; ++i) {
      const DataType type = pick_type();
      const int shape = i == 0 ? 7 : static_cast<int>(random_() % 8);
      inputs_ += (i ? ", " : "") + type_text(type, shape) + " in" + std::to_string(i);
      // What the caller gave is not written over.
      body_ += " x" + std::to_string(i) + " = Gather(in" + std::to_string(i) + ", all" +
               (shape & 1 ? "" : "1") + ")";
      values_.push_back({"x" + std::to_string(i), type, shape});
    }
    for (int i = 0; i < 16; ++i) step();
  }
  std::string text() const {
    const Drawn& y = values_.back();
    std::string all = "{0";
    for (int i = 1; i < sizes_[0]; ++i) all += "," + std::to_string(i);
    return "(" + inputs_ + ") => (" + type_text(y.type, y.shape) + " " + y.name + ") <int64[" +
           std::to_string(sizes_[0]) + "] all = " + all + "}, int64[1] all1 = {0}> {" + body_ + " }";
  }

 private:
  struct Drawn {
    std::string name;
    DataType type;
    int shape;
  };
  template <class List>
  const auto& pick(const List& from) {
    return from[random_() % std::size(from)];
  }
  using Names = std::vector<const char*>;
  DataType pick_type() {
    static constexpr DataType types[] = {
        DataType::int64,   DataType::int32,   DataType::int64,  DataType::int8,   DataType::uint8,
        DataType::int16,   DataType::uint64,  DataType::uint16, DataType::uint32, DataType::boolean,
        DataType::float64, DataType::float32, DataType::float16};
    return types[random_() % (std::size(types) - (exact_ ? 3 : 0))];
  }
  static std::string element(DataType t) {
    return t == DataType::float64   ? "double"
           : t == DataType::float32 ? "float"
           : t == DataType::boolean ? "bool"
                                    : std::string(name_of(t));
  }
  std::string type_text(DataType t, int shape) const {
    std::string s = element(t) + "[";
    for (int a = 0; a < 3; ++a) s += (a ? "," : "") + std::to_string(shape >> a & 1 ? sizes_[a] : 1);
    return s + "]";
  }
  std::string add(const std::string& call, DataType type, int shape) {
    const std::string name = "v" + std::to_string(count_++);
    body_ += " " + name + " = " + call;
    values_.push_back({name, type, shape});
    return name;
  }
  /// Another value of the type, or the same.
  Drawn like(const Drawn& a) {
    std::vector<Drawn> fits;
    std::ranges::copy_if(values_, std::back_inserter(fits), [&](const Drawn& v) { return v.type == a.type; });
    return pick(fits);
  }
  static std::string call(const std::string& op, const std::string& a) { return op + "(" + a + ")"; }
  static std::string call(const std::string& op, const std::string& a, const std::string& b) {
    return op + "(" + a + ", " + b + ")";
  }

  void step() {
    const Drawn a = random_() % 3 ? values_.back() : pick(values_), b = like(a);
    const int both = a.shape | b.shape;
    if (a.type == DataType::float16) return cast(a);
    switch (random_() % 4) {
      case 0:
        return cast(a);
      case 1:
        return single(a);
      case 2:
        if (a.type != DataType::boolean) return choice(a, b);
        [[fallthrough]];
      default:
        return pair(a, b, both);
    }
  }
  void cast(const Drawn& a) {
    DataType to = pick_type();
    if (to == a.type) to = to == DataType::int64 ? DataType::int32 : DataType::int64;
    add("Cast<to=" + std::to_string(static_cast<int>(to)) + ">(" + a.name + ")", to, a.shape);
  }
  void single(const Drawn& a) {
    Names ops;
    if (a.type == DataType::boolean)
      ops = {"Not"};
    else if (a.type == DataType::float64)
      ops = {"Exp",   "Log", "Tanh", "Sigmoid", "Softplus",   "Sqrt", "Floor", "Ceil",
             "Round", "Abs", "Neg",  "Sign",    "Reciprocal", "Relu", "Clip"};
    else if (a.type == DataType::float32)
      ops = {"Exp", "Sin", "Tanh", "Erf", "Abs", "Neg", "Relu", "Floor"};
    else if (is_signed_integer(a.type))
      ops = {"Abs", "Neg", "Sign", "BitwiseNot", "Relu", "Clip"};
    else
      ops = {"Abs", "Sign", "BitwiseNot", "Clip"};
    add(call(pick(ops), a.name), a.type, a.shape);
  }
  void pair(const Drawn& a, const Drawn& b, int shape) {
    if (a.type == DataType::boolean)
      return void(add(call(pick(Names{"And", "Or", "Xor", "Equal"}), a.name, b.name), a.type, shape));
    if (is_float(a.type))
      return void(
          add(call(pick(Names{"Add", "Sub", "Mul", "Div", "Min", "Max"}), a.name, b.name), a.type, shape));
    const std::string op =
        pick(Names{"Add", "Sub", "Mul", "Min", "Max", "Div", "Mod", "Mod<fmod=1>", "BitwiseAnd", "BitwiseOr",
                   "BitwiseXor", "BitShift<direction=\"LEFT\">"});
    if (op.starts_with("BitShift") && is_signed_integer(a.type)) return single(a);
    std::string by = b.name;
    if (op == "Div" || op.starts_with("Mod")) {  // by no 0: by x | (x == 0)
      const std::string zero = add(call("Sub", b.name, b.name), b.type, b.shape);
      const std::string none = add(call("Equal", b.name, zero), DataType::boolean, b.shape);
      const std::string one =
          add("Cast<to=" + std::to_string(static_cast<int>(b.type)) + ">(" + none + ")", b.type, b.shape);
      by = add(call("BitwiseOr", b.name, one), b.type, b.shape);
    }
    add(call(op, a.name, by), a.type, shape);
  }
  void choice(const Drawn& a, const Drawn& b) {
    const Drawn c = like(a);
    const std::string p =
        add(call(pick(Names{"Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal"}), a.name, c.name),
            DataType::boolean, a.shape | c.shape);
    add("Where(" + p + ", " + a.name + ", " + b.name + ")", a.type, a.shape | b.shape | c.shape);
  }

  std::mt19937 random_;
  bool exact_;
  int sizes_[3] = {3, 1 + static_cast<int>(random_() % 1300), 5};
  int count_ = 0;
  std::string inputs_, body_;
  std::vector<Drawn> values_;
};

TEST(Regions, RandomNumbersKeepTheirBits) {
  size_t fused = 0;
  for (uint32_t seed = 1; seed <= 120; ++seed) {
    const std::string text = DrawnNumbers(seed, seed % 2 == 0).text();
    SCOPED_TRACE(text);
    fused += steps_everywhere(text).find("Pointwise") != std::string::npos;
    if (seed % 2 != 0) continue;
    const onnx::Model m = model_of(text);
    const Engine fast = Engine::build(m), reference = Engine::build(m, {.backend = "reference"});
    EXPECT_TRUE(same_bits(fast.create_context().run(inputs_of(fast))[0],
                          reference.create_context().run(inputs_of(fast))[0]));
  }
  EXPECT_GT(fused, 90u);
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
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code[0].from[0] = 9; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code[0].op = 99; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) { e.program.code.clear(); }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](PlanEpilogue& e) {
              e.program = Pointwise::folded(PairOp::add, DataType::int32, e.program.operands);
            }),
            Code::plan_malformed);
}

constexpr std::string_view mixed =
    "(int64[3,700] x, int64[700] z, float[3,700] f, bool[700] p) => (double[3,700] y)"
    "<int64 l = {-5}, int64 h = {100}>"
    "{ a = Div(x, z) b = Clip(a, l, h) c = Less(b, x) d = And(c, p) e = Where(d, b, z) g = Cast<to=1>(e)"
    "  i = Mul(g, f) j = Cast<to=11>(i) y = Exp(j) }";
constexpr size_t code_of_instruction = 9;  // numbers

/// Inputs of it that nothing is divided by 0 of.
std::vector<Value> mixed_inputs(const Engine& e) {
  std::vector<Value> inputs = inputs_of(e);
  Tensor divisors = inputs[1].tensor().clone();
  std::ranges::replace(divisors.as<int64_t>(), 0, 3);
  inputs[1] = Value(std::move(divisors));
  return inputs;
}

TEST(Regions, TapsSeeInsideOtherNumbers) {
  const onnx::Model m = model_of(mixed);
  const Engine tapped = Engine::build(m, {.taps = {"*"}}),
               unfused = Engine::build(m, {.level = OptimizationLevel::none, .taps = {"*"}});
  EXPECT_EQ(tapped.steps()[0].fused.size(), 9u);
  const std::vector<Value> inputs = mixed_inputs(tapped);
  const auto seen = [&](const Engine& e) {
    std::map<std::string, std::vector<std::byte>> values;
    Context c = e.create_context();
    c.on_tap([&](std::string_view name, const Value& v) {
      const auto* const data = static_cast<const std::byte*>(v.tensor().data());
      values[std::string(name)].assign(data, data + v.tensor().bytes());
    });
    c.run(inputs);
    return values;
  };
  const auto inside = seen(tapped);
  EXPECT_EQ(inside, seen(unfused));
  EXPECT_TRUE(inside.contains("a") && inside.contains("d") && inside.contains("i"));
}

TEST(Regions, PlansKeepOtherNumbers) {
  const testing::TempDirectory directory;
  const auto file = directory.path() / "model.lathe";
  const Engine e = Engine::build(model_of(mixed));
  e.save(file);
  const std::vector<Value> inputs = mixed_inputs(e);
  for (const char* isa : {"generic", "avx2", ""})
    EXPECT_TRUE(same_bits(Engine::load(file, {.isa = isa}).create_context().run(inputs)[0],
                          Engine::build(model_of(mixed), {.isa = isa}).create_context().run(inputs)[0]));
}

TEST(Regions, SpoiledProgramsAreRefused) {
  const Engine e = Engine::build(model_of(mixed));
  const testing::TempDirectory directory;
  e.save(directory.path() / "plan.lathe");
  const auto spoiled = [&](auto&& spoil) {
    Plan p = load_plan(directory.path() / "plan.lathe");
    PlanStep& s = p.graphs[0].steps.at(0);
    EXPECT_EQ(s.op, "Pointwise");
    auto code = s.attributes.get<std::vector<int64_t>>("code", {});
    spoil(code, s);
    s.attributes.set("code", code);
    save_plan(p, directory.path() / "spoiled.lathe");
    return code_of([&] { Engine::load(directory.path() / "spoiled.lathe"); });
  };
  const auto number = [](size_t instruction, size_t field) {
    return 1 + code_of_instruction * instruction + field;
  };
  enum : size_t { arity, op, first, kind = 5, type = 6 };
  const auto set = [&](size_t instruction, size_t field, int64_t to) {
    return spoiled([&](std::vector<int64_t>& code, PlanStep&) { code.at(number(instruction, field)) = to; });
  };
  const auto as = [](auto v) { return static_cast<int64_t>(v); };
  EXPECT_EQ(set(0, type, as(DataType::string)), Code::plan_malformed);  // read as two types
  EXPECT_EQ(set(0, op, as(PairOp::both)), Code::plan_malformed);        // none of int64
  EXPECT_EQ(set(0, op, as(PairOp::less)), Code::plan_malformed);        // a truth, which Clip does not take
  EXPECT_EQ(set(0, op, 99), Code::plan_malformed);
  EXPECT_EQ(set(0, kind, as(Pointwise::Kind::count)), Code::plan_malformed);
  EXPECT_EQ(set(0, kind, as(Pointwise::Kind::floats)), Code::plan_malformed);
  EXPECT_EQ(set(0, arity, 0), Code::plan_malformed);
  EXPECT_EQ(set(0, arity, 3), Code::plan_malformed);
  EXPECT_EQ(set(1, type, as(DataType::float16)), Code::plan_malformed);
  EXPECT_EQ(set(1, arity, 2), Code::plan_malformed);
  EXPECT_EQ(set(2, first, 77), Code::plan_malformed);
  EXPECT_EQ(spoiled([](std::vector<int64_t>& code, PlanStep&) { code.pop_back(); }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](std::vector<int64_t>& code, PlanStep&) { code[0] = 0; }), Code::plan_malformed);
  // Well-formed, but not of these operands.
  EXPECT_EQ(spoiled([](std::vector<int64_t>&, PlanStep& s) { std::swap(s.inputs[0], s.inputs[2]); }),
            Code::plan_target);
  EXPECT_EQ(spoiled([](std::vector<int64_t>&, PlanStep& s) { s.inputs.push_back(s.inputs[0]); }),
            Code::plan_target);
}

TEST(Regions, NoSpoiledProgramDoesHarm) {
  const Engine e = Engine::build(model_of(mixed));
  const testing::TempDirectory directory;
  const auto file = directory.path() / "plan.lathe";
  e.save(file);
  const std::vector<Value> inputs = mixed_inputs(e);
  std::mt19937 random(3);
  size_t ran = 0;
  for (int i = 0; i < 600; ++i) {
    Plan p = load_plan(file);
    PlanStep& s = p.graphs[0].steps.at(0);
    auto code = s.attributes.get<std::vector<int64_t>>("code", {});
    for (int spoil = 0; spoil < 1 + i % 2; ++spoil)
      code[random() % code.size()] = static_cast<int64_t>(random() % 30);
    s.attributes.set("code", code);
    save_plan(p, directory.path() / "spoiled.lathe");
    try {
      Engine::load(directory.path() / "spoiled.lathe").create_context().run(inputs);
      ++ran;
    } catch (const Error&) {
      // Refused, or divided by zero.
    }
  }
  EXPECT_GT(ran, 20u);
}

}  // namespace
}  // namespace lathe
