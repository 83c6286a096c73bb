// Steps of elementwise operators whose numbers are others than float32, and that go from one type to another:
// which, why not, and that the bits stay as they were.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "kernel/kernel.h"
#include "lathe/lathe.h"
#include "plan/plan_file.h"
#include "support/error_code.h"
#include "support/regions.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using lathe::testing::code_of;
using namespace lathe::testing::regions;

TEST(RegionsOfNumbers, NumbersOfEveryType) {
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
TEST(RegionsOfNumbers, NumbersAlongManyAxes) {
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

TEST(RegionsOfNumbers, NumbersDividedByZeroAreRefused) {
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

// Shapes follow from some contents: the operators that compute these have rules for that, and are not fused.
TEST(RegionsOfNumbers, LeaveOutWhatShapesFollowFrom) {
  const onnx::Model m = model_of(
      "(float[a,b] x) => (float[c,d] y) <int64[1] one = {1}, int64[1] two = {2}, int64[1] none = {0}, "
      "float[1] "
      "twice = {2}> { s = Shape(x) f = Gather(s, none) g = Mul(f, two) h = Add(g, one) i = Cast<to=1>(h)"
      "  j = Mul(i, twice) k = Floor(j) l = Cast<to=7>(k) t = Concat<axis=0>(l, one) y = Expand(twice, t) }");
  EXPECT_EQ(steps_of(m).find("Pointwise"), std::string::npos);
  const Engine e = Engine::build(m);
  EXPECT_TRUE(e.memory({{"x", {2, 3}}}).uncounted.empty());
  // Positions from which a mask is computed determine no shape.
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

TEST(RegionsOfNumbers, SayWhyOtherNumbersAreApart) {
  const Engine e = Engine::build(model_of(
      "(float[4,9] v, float[9,5] w, int64[4,5] i, double[4,5] d) => (float[4,5] y, uint8[4,5] z, double[4,5] "
      "m)"
      "{ a = MatMul(v, w) c = Cast<to=1>(i) b = Add(a, c) y = Relu(b) g = Gemm(v, w) z = Cast<to=2>(g)"
      "  n = Mean(d, d) m = Neg(n) }"));
  const std::vector<std::string> reasons = reasons_of(e);
  const std::vector<std::string> want = {
      "Cast (c): behind a kernel only numbers of float32 are computed",
      "Gemm (g): behind a kernel only numbers of float32 are computed",
      "Mean (n): what it does cannot be expressed in the functions that programs have for its type"};
  EXPECT_TRUE(std::ranges::is_permutation(reasons, want)) << ::testing::PrintToString(reasons);
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
      // These copies may be overwritten, unlike the caller's inputs.
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

TEST(RegionsOfNumbers, RandomNumbersKeepTheirBits) {
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

TEST(RegionsOfNumbers, TapsSeeInsideOtherNumbers) {
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

TEST(RegionsOfNumbers, PlansKeepOtherNumbers) {
  const testing::TempDirectory directory;
  const auto file = directory.path() / "model.lathe";
  const Engine e = Engine::build(model_of(mixed));
  e.save(file);
  const std::vector<Value> inputs = mixed_inputs(e);
  for (const char* isa : {"generic", "avx2", ""})
    EXPECT_TRUE(same_bits(Engine::load(file, {.isa = isa}).create_context().run(inputs)[0],
                          Engine::build(model_of(mixed), {.isa = isa}).create_context().run(inputs)[0]));
}

TEST(RegionsOfNumbers, SpoiledProgramsAreRefused) {
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
  EXPECT_EQ(set(0, type, as(DataType::string)), Code::plan_malformed);   // read as two types
  EXPECT_EQ(set(0, op, as(TypedBinaryOp::both)), Code::plan_malformed);  // none of int64
  EXPECT_EQ(set(0, op, as(TypedBinaryOp::less)), Code::plan_malformed);  // a truth, which Clip does not take
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

TEST(RegionsOfNumbers, NoSpoiledProgramDoesHarm) {
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

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
