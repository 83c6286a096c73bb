// Values in the memory of others: parts of a Concat, views of a Split, results over what they were made of.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/cpu.h"
#include "lathe/lathe.h"
#include "support/model_builder.h"
#include "support/text_model.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace test;
using Notes = std::vector<std::string>;

Tensor counting(Shape shape) {
  Tensor t(DataType::float32, std::move(shape));
  for (size_t i = 0; float& x : t.as<float>()) x = static_cast<float>(i++ % 97) / 16 - 3;
  return t;
}

uint64_t told(const MemoryInfo& m) { return m.total() - m.weights; }

/// Returns what the steps of one operator save in memory.
Notes notes(const Engine& e, const std::string& op) {
  Notes found;
  for (const StepInfo& s : e.steps())
    if (s.op == op) found.push_back(s.memory);
  return found;
}

/// Runs twice, since the second run finds the memory of the first, and compares with the reference; compares
/// the memory with the announced one, and checks that the inputs are unchanged.
void expect_right(const onnx::Model& model, const std::vector<Value>& inputs, OptimizationLevel level) {
  const Engine e = Engine::build(model, {.threads = 1, .level = level});
  const std::vector<Value> expected =
      Engine::build(model, {.threads = 1, .backend = "reference", .level = OptimizationLevel::none})
          .create_context()
          .run(inputs);
  std::vector<Tensor> before;
  for (const Value& v : inputs) before.push_back(v.tensor().clone());
  Context c = e.create_context();
  for (int run = 0; run < 2; ++run) {
    const std::vector<Value> got = c.run(inputs);
    ASSERT_EQ(got.size(), expected.size());
    for (size_t i = 0; i < got.size(); ++i) {
      const Tensor &a = got[i].tensor(), &b = expected[i].tensor();
      ASSERT_EQ(a.shape(), b.shape());
      for (size_t k = 0; k < a.as<float>().size(); ++k)
        ASSERT_NEAR(a.as<float>()[k], b.as<float>()[k], 1e-4) << e.outputs()[i].name << " " << k;
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    EXPECT_TRUE(std::ranges::equal(inputs[i].tensor().as<float>(), before[i].as<float>()));
  EXPECT_EQ(c.memory_peak(), told(e.memory({})));
}
void expect_right(const ModelBuilder& b, const std::vector<Value>& inputs) {
  for (OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all})
    expect_right(b.model, inputs, level);
}

/// y = -(what the nodes made "joined").
ModelBuilder joining() {
  ModelBuilder b(21);
  b.input("x", "float[16,4]").output("y");
  return b;
}

TEST(Places, PartsAreMadeInTheirPlaces) {
  ModelBuilder b = joining();
  b.node("Exp", {"x"}, {"a"}).node("Sqrt", {"a"}, {"c"}).node("Softmax", {"c"}, {"d"});
  b.node("Concat", {"a", "d", "c"}, {"joined"}, {int_attribute("axis", 0)});
  b.node("Softmax", {"joined"}, {"y"});
  expect_right(b, {counting({16, 4})});
  EXPECT_EQ(notes(Engine::build(b.model), "Concat"), Notes{"copies nothing"});
}

TEST(Places, WhatIsElsewhereIsCopied) {
  ModelBuilder b = joining();
  b.output("a").initializer(onnx::from_tensor(counting({16, 4}), "w"));
  b.node("Softmax", {"x"}, {"a"}).node("Softmax", {"a"}, {"c"});
  // An output of the graph, an input, a constant, the same value twice.
  b.node("Concat", {"a", "x", "w", "c", "c"}, {"joined"}, {int_attribute("axis", 0)});
  b.node("Softmax", {"joined"}, {"y"});
  expect_right(b, {counting({16, 4})});
  EXPECT_EQ(notes(Engine::build(b.model), "Concat"), Notes{"copies 4 of 5 parts"});
}

TEST(Places, NotAlongAnInnerAxisNorWithinACacheLine) {
  for (const bool inner : {true, false}) {
    ModelBuilder b(21);
    b.input("x", inner ? "float[16,4]" : "float[1,4]").output("y");
    b.node("Softmax", {"x"}, {"a"}).node("Softmax", {"a"}, {"c"});
    b.node("Concat", {"a", "c"}, {"joined"}, {int_attribute("axis", inner ? 1 : 0)});
    b.node("Softmax", {"joined"}, {"y"});
    expect_right(b, {counting({inner ? 16 : 1, 4})});
    EXPECT_EQ(notes(Engine::build(b.model), "Concat")[0], inner ? "" : "copies 1 of 2 parts");
  }
}

/// As in DenseNet, every Concat begins with the result of the one before.
TEST(Places, ConcatsThatBeginAlikeAreOne) {
  for (const bool flat : {true, false}) {
    ModelBuilder b = joining();
    b.node("Softmax", {"x"}, {"a"}).node("Softmax", {"a"}, {"c"});
    b.node("Concat", {"a", "c"}, {"two"}, {int_attribute("axis", 0)}).node("Softmax", {"two"}, {"d"});
    if (flat)
      b.node("Concat", {"a", "c", "d"}, {"three"}, {int_attribute("axis", 0)});
    else
      b.node("Concat", {"two", "d"}, {"three"}, {int_attribute("axis", 0)});
    b.node("Softmax", {"three"}, {"y"});
    expect_right(b, {counting({16, 4})});
    const Engine e = Engine::build(b.model);
    EXPECT_EQ(notes(e, "Concat"), (Notes{"copies nothing", "copies nothing"}));
    EXPECT_EQ(e.memory({}).activations, 4u * 16 * 4 * 4);  // the last one's, and nothing else
  }
}

TEST(Places, TwoConcatsAtDifferentPlaces) {
  ModelBuilder b = joining();
  b.output("z");
  b.node("Softmax", {"x"}, {"a"}).node("Softmax", {"a"}, {"c"});
  b.node("Concat", {"a", "c"}, {"one"}, {int_attribute("axis", 0)});
  b.node("Concat", {"c", "a"}, {"two"}, {int_attribute("axis", 0)});
  b.node("Softmax", {"one"}, {"y"}).node("Softmax", {"two"}, {"z"});
  expect_right(b, {counting({16, 4})});
  EXPECT_EQ(notes(Engine::build(b.model), "Concat"), (Notes{"copies 2 of 2 parts", "copies nothing"}));
}

TEST(Places, AConcatMayBeAnOutput) {
  ModelBuilder b = joining();
  b.node("Softmax", {"x"}, {"a"}).node("Softmax", {"a"}, {"c"});
  b.node("Concat", {"a", "c"}, {"y"}, {int_attribute("axis", 0)});
  expect_right(b, {counting({16, 4})});
  const Engine e = Engine::build(b.model);
  EXPECT_EQ(notes(e, "Concat"), Notes{"copies nothing"});
  EXPECT_EQ(e.memory({}).activations, 0u);
}

TEST(Places, WhatIsReshapedToAnOutputIsMadeThere) {
  const auto reshaped = [](const std::string& of, const std::string& to) {
    ModelBuilder b(21);
    b.input("x", "float[16,4]")
        .output("y")
        .output("z")
        .initializer(onnx::from_tensor(Tensor::from<int64_t>({2}, {4, 16}), "s"));
    b.node("Softmax", {"x"}, {"a"}).node("Reshape", {of, "s"}, {"y"}).node("Softmax", {"a"}, {to});
    if (to != "z") b.node("Reshape", {to, "s"}, {"z"});
    return b;
  };
  const Value x = counting({16, 4});
  for (const auto& [of, to, bytes] :
       {std::tuple("a", "z", 0u), std::tuple("a", "c", 0u), std::tuple("x", "z", 256u)}) {
    const ModelBuilder b = reshaped(of, to);
    expect_right(b, {x});
    const BuildOptions plain{.threads = 1, .level = OptimizationLevel::none};
    EXPECT_EQ(Engine::build(b.model, plain).memory({}).activations, bytes) << of << to;
  }
  // Two of one value: the second is a copy.
  ModelBuilder b(21);
  b.input("x", "float[16,4]")
      .output("y")
      .output("z")
      .initializer(onnx::from_tensor(Tensor::from<int64_t>({2}, {4, 16}), "s"));
  b.initializer(onnx::from_tensor(Tensor::from<int64_t>({1}, {64}), "t")).node("Softmax", {"x"}, {"a"});
  b.node("Reshape", {"a", "s"}, {"y"}).node("Reshape", {"a", "t"}, {"z"});
  expect_right(b, {x});
}

TEST(Places, SplitsAndSlicesAreViewsEvenOfInputs) {
  ModelBuilder b(21);
  b.input("x", "float[48,4]").output("y").output("z");
  b.initializer(int64_tensor("from", {1}, {16})).initializer(int64_tensor("to", {1}, {-16}));
  b.node("Split", {"x"}, {"a", "c", "d"}, {int_attribute("axis", 0), int_attribute("num_outputs", 3)});
  b.node("Slice", {"x", "from", "to"}, {"middle"});
  // Steps that could overwrite their input must not: x is the caller's.
  b.node("Exp", {"c"}, {"e"}).node("Softmax", {"e"}, {"f"}).node("Add", {"a", "f"}, {"g"});
  b.node("Exp", {"middle"}, {"h"}).node("Softmax", {"h"}, {"i"}).node("Add", {"i", "d"}, {"j"});
  b.node("Softmax", {"g"}, {"y"}).node("Softmax", {"j"}, {"z"});
  expect_right(b, {counting({48, 4})});
  const Engine e = Engine::build(b.model);
  EXPECT_EQ(notes(e, "Split"), Notes{"copies nothing"});
  EXPECT_EQ(notes(e, "Slice"), Notes{"copies nothing"});
}

TEST(Places, ResultsAreWrittenOverWhatEndsThere) {
  ModelBuilder b = joining();
  b.node("Softmax", {"x"}, {"a"}).node("Exp", {"a"}, {"c"}).node("Softmax", {"c"}, {"y"});
  expect_right(b, {counting({16, 4})});
  const Engine e = Engine::build(b.model, {.level = OptimizationLevel::basic});
  EXPECT_EQ(notes(e, "Exp"), Notes{"writes over a"});
  EXPECT_EQ(e.memory({}).activations, 16u * 4 * 4);
}

TEST(Places, NewRowsAreWrittenIntoTheCacheItself) {
  for (const char* mode : {"linear", "circular"}) {
    ModelBuilder b(24);
    b.input("x", "float[2,6,4]").input("rows", "float[2,2,4]").output("y");
    b.initializer(int64_tensor("at", {2}, {4, 1}));
    b.node("Softmax", {"x"}, {"cache"});
    b.node("TensorScatter", {"cache", "rows", "at"}, {"present"}, {string_attribute("mode", mode)});
    b.node("Softmax", {"present"}, {"y"});
    expect_right(b, {counting({2, 6, 4}), counting({2, 2, 4})});
    EXPECT_EQ(notes(Engine::build(b.model), "TensorScatter"), Notes{"writes over cache"});
  }
  // Rows that replace the whole cache may be rotated in place.
  ModelBuilder b(24);
  b.input("x", "float[2,6,4]").input("cache", "float[2,6,4]").output("y");
  b.initializer(int64_tensor("at", {2}, {4, 0}));
  b.node("Softmax", {"x"}, {"rows"});
  b.node("TensorScatter", {"cache", "rows", "at"}, {"present"}, {string_attribute("mode", "circular")});
  b.node("Softmax", {"present"}, {"y"});
  expect_right(b, {counting({2, 6, 4}), counting({2, 6, 4})});
  EXPECT_EQ(notes(Engine::build(b.model), "TensorScatter"), Notes{"writes over rows"});
}

/// A block of a network: a convolution of `from` with so many groups, in windows of so many pixels, is added
/// to a. z, if it is an output, reads a last of all.
onnx::Model residual(const std::string& outputs, const std::string& from, int64_t kernel, int64_t groups) {
  const auto text = [](int64_t n) { return std::to_string(n); };
  const std::string window = text(kernel) + "," + text(kernel) + "] ";
  const std::string pad = text(kernel / 2), pads = "pads=[" + pad + "," + pad + "," + pad + "," + pad + "]";
  return model_of("(float[2,32,14,13] x) => (" + outputs + ") <float[32,32," + window + "u = {}, float[32," +
                  text(32 / groups) + "," + window + "w = {}, float[32] b = {}>" + "{ p = Conv<" + pads +
                  ">(x, u, b) a = Relu(p) m = Conv<" + pads + ">(a, u, b) n = Relu(m)" + "  q = Conv<" +
                  pads + ", group=" + text(groups) + ">(" + from + ", w) s = Add(a, q)" +
                  "  r = Relu(s) t = Mul(r, n) y = Conv<" + pads + ">(t, u, b)  z = Conv<" + pads +
                  ">(a, u) }");
}

TEST(Places, SumsAreWrittenOverResiduals) {
  const bool in_blocks = cpu_features().avx2;  // others add residuals in passes of their own
  const std::string y = "float[2,32,14,13] y", z = ", float[2,32,14,13] z";
  const auto written_over = [](const Engine& e) {
    return std::ranges::count_if(notes(e, "BlockedConv"),
                                 [](const auto& note) { return note.starts_with("writes over a"); });
  };
  for (const std::string from : {"n", "a"})
    for (int64_t kernel : {1, 3, 5})
      for (int64_t groups : {1, 2}) {
        SCOPED_TRACE(from + ", " + std::to_string(kernel) + " pixels, groups: " + std::to_string(groups));
        const Engine e = Engine::build(residual(y, from, kernel, groups), {.threads = 2});
        // A convolution that reads around a pixel cannot overwrite it, nor can values be overwritten that are
        // read later.
        EXPECT_EQ(written_over(e), in_blocks && from == "n" ? 1 : 0);
        const Engine apart = Engine::build(residual(y + z, from, kernel, groups), {.threads = 2});
        EXPECT_EQ(written_over(apart), 0);
        const std::vector<Value> inputs{counting({2, 32, 14, 13})};
        const Tensor want = apart.create_context().run(inputs)[0].tensor();
        Context c = e.create_context();
        for (int run = 0; run < 2; ++run)
          EXPECT_TRUE(std::ranges::equal(c.run(inputs)[0].tensor().as<float>(), want.as<float>()));
        EXPECT_EQ(c.memory_peak(), told(e.memory({})));
      }
}

TEST(Places, NothingIsWrittenOverWhatIsStillRead) {
  ModelBuilder b = joining();
  b.output("z");
  b.node("Softmax", {"x"}, {"a"}).node("Exp", {"a"}, {"c"}).node("Softmax", {"c"}, {"y"});
  b.node("Add", {"a", "x"}, {"d"}).node("Softmax", {"d"}, {"z"});
  expect_right(b, {counting({16, 4})});
  EXPECT_EQ(notes(Engine::build(b.model, {.level = OptimizationLevel::basic}), "Exp"), Notes{""});
}

/// A graph of operators that cut, join and calculate, some of whose values are outputs.
onnx::Model random_graph(std::mt19937& random) {
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  ModelBuilder b(21);
  b.input("x", "float[32,4]");
  b.initializer(int64_tensor("axis", {1}, {0}));
  std::vector<std::pair<std::string, int64_t>> values{{"x", 32}};  // and their rows
  const auto pick = [&] { return values[values.size() - 1 - below(std::min<size_t>(values.size(), 6))]; };
  for (size_t i = 0, n = 4 + below(16); i < n; ++i) {
    const std::string name = "v" + std::to_string(i);
    const auto [of, rows] = pick();
    switch (below(6)) {
      case 0:
        b.node("Softmax", {of}, {name});
        values.emplace_back(name, rows);
        break;
      case 1:
        b.node("Tanh", {of}, {name});
        values.emplace_back(name, rows);
        break;
      case 2: {
        const auto other = std::ranges::find(values, rows, &std::pair<std::string, int64_t>::second);
        b.node("Add", {of, other->first}, {name});
        values.emplace_back(name, rows);
        break;
      }
      case 3: {
        const auto [other, more] = pick();
        if (rows + more > 512) break;
        b.node("Concat", {of, other}, {name}, {int_attribute("axis", 0)});
        values.emplace_back(name, rows + more);
        break;
      }
      case 4:
        if (rows < 2) break;
        b.initializer(int64_tensor(name + "_sizes", {2}, {rows / 2, rows - rows / 2}));
        b.node("Split", {of, name + "_sizes"}, {name, name + "_b"}, {int_attribute("axis", 0)});
        values.emplace_back(name, rows / 2);
        values.emplace_back(name + "_b", rows - rows / 2);
        break;
      default: {
        const auto first = static_cast<int64_t>(below(static_cast<size_t>(rows)));
        b.initializer(int64_tensor(name + "_from", {1}, {first}))
            .initializer(int64_tensor(name + "_to", {1}, {rows}));
        b.node("Slice", {of, name + "_from", name + "_to", "axis"}, {name});
        values.emplace_back(name, rows - first);
      }
    }
  }
  b.output(values.back().first);
  if (const auto& also = values[below(values.size())]; also.first != "x" && also.first != values.back().first)
    b.output(also.first);
  return std::move(b.model);
}

TEST(Places, RandomGraphsAreRight) {
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    const onnx::Model model = random_graph(random);
    if (model.proto.graph->node.empty() || model.proto.graph->output[0].name == "x") continue;
    SCOPED_TRACE(i);
    for (OptimizationLevel level : {OptimizationLevel::none, OptimizationLevel::all})
      expect_right(model, {counting({32, 4})}, level);
    if (HasFatalFailure()) return;
  }
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
