// Tests the whole way from the structures of a file to answers.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <thread>

#include "lathe/lathe.h"
#include "support/allocations.h"
#include "support/error_code.h"
#include "support/model_builder.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;
using lathe::testing::code_of;
using std::vector;

Tensor floats(Shape shape, const vector<float>& v) { return Tensor::from<float>(std::move(shape), v); }
vector<float> list(const Value& v) { return {v.tensor().as<float>().begin(), v.tensor().as<float>().end()}; }

/// y = relu(x · w + b), flattened through a shape that is computed from x's.
onnx::Model perceptron() {
  ModelBuilder b(17);
  b.input("x", "float[batch,2]").output("y").output("flat");
  b.initializer(float_tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6}));
  b.initializer(float_tensor("b1", {3}, {-5, 0, 1}));
  b.initializer(float_tensor("b2", {3}, {-5, 0, -1}));
  b.initializer(int64_tensor("minus_one", {1}, {-1}));
  b.node("Add", {"b1", "b2"}, {"b"});
  b.node("MatMul", {"x", "w"}, {"xw"});
  b.node("Add", {"xw", "b"}, {"sum"});
  b.node("Relu", {"sum"}, {"y"});
  b.node("Reshape", {"y", "minus_one"}, {"flat"});
  b.node("Neg", {"sum"}, {"unused"});
  return std::move(b.model);
}
const vector<float> unit{1, 0, 0, 1};
const vector<float> answer{0, 2, 3, 0, 5, 6};  // for x = unit: w + {-10, 0, 0}, clipped

TEST(Engine, AnswersOnEveryPath) {
  const onnx::Model model = perceptron();
  for (const std::string backend : {"cpu", "reference"})
    for (const std::string isa : {"generic", "avx2", "avx512"})
      for (int threads : {1, 2}) {
        const Engine e = Engine::build(model, {.threads = threads, .backend = backend, .isa = isa});
        EXPECT_EQ(e.threads(), threads);
        Context c = e.create_context();
        const NamedValues out = c.run({{"x", floats({2, 2}, unit)}});
        EXPECT_EQ(list(out.at("y")), answer);
        EXPECT_EQ(out.at("flat").tensor().shape(), Shape{6});
      }
}

// From IR version 4 on, an initializer that is an input too is the input's default.
TEST(Engine, InputsWithDefaults) {
  ModelBuilder b(17, 8);
  b.input("x", "float[batch,2]").input("w", "float[2]").input("shape", "int64[n]").output("y").output("z");
  b.initializer(float_tensor("w", {2}, {10, 20})).initializer(int64_tensor("shape", {1}, {-1}));
  b.node("Add", {"x", "w"}, {"y"}).node("Reshape", {"y", "shape"}, {"z"});
  const Engine built = Engine::build(b.model);
  const auto file =
      std::filesystem::path(LATHE_BINARY_DIR) / ("defaults." + std::to_string(getpid()) + ".lathe");
  built.save(file);
  for (const Engine& e : {built, Engine::load(file)}) {
    ASSERT_EQ(e.inputs().size(), 3u);
    EXPECT_FALSE(e.inputs()[0].optional);
    EXPECT_TRUE(e.inputs()[1].optional);
    EXPECT_EQ(e.output_shapes({{"x", {3, 2}}}).at("y"), (Shape{3, 2}));
    Context c = e.create_context();
    const Tensor x = floats({1, 2}, {1, 2});
    const auto plain = c.run({{"x", x}});
    EXPECT_EQ(list(plain.at("y")), (vector<float>{11, 22}));
    EXPECT_EQ(plain.at("z").tensor().shape(), Shape{2});
    const auto given = c.run(
        {{"x", x}, {"w", floats({2}, {0, 1})}, {"shape", Tensor::from<int64_t>({2}, vector<int64_t>{2, 1})}});
    EXPECT_EQ(list(given.at("y")), (vector<float>{1, 3}));
    EXPECT_EQ(given.at("z").tensor().shape(), (Shape{2, 1}));
    EXPECT_EQ(list(c.run({{"x", x}}).at("y")), (vector<float>{11, 22}));  // nothing is remembered
    EXPECT_EQ(code_of([&] { c.run({{"x", x}, {"w", floats({3}, {0, 1, 2})}}); }), Code::run_bad_shape);
    EXPECT_EQ(code_of([&] { c.run({{"w", floats({2}, {0, 1})}}); }), Code::run_missing_input);
    c.bind_input("x", x);
    c.run();
    EXPECT_EQ(list(c.output("y")), (vector<float>{11, 22}));
  }
  std::filesystem::remove(file);

  const Engine fixed = Engine::build(b.model, {.fix_defaults = true});
  ASSERT_EQ(fixed.inputs().size(), 1u);
  Context c = fixed.create_context();
  const Tensor x = floats({1, 2}, {1, 2});
  EXPECT_EQ(list(c.run({{"x", x}}).at("y")), (vector<float>{11, 22}));
  EXPECT_EQ(fixed.outputs()[1].shape, (SymShape{Dim::symbol("batch") * 2}));
  EXPECT_EQ(code_of([&] { c.run({{"x", x}, {"w", x}}); }), Code::run_bad_input);
  const OptimizedModel better = optimize(b.model, {.fix_defaults = true});
  EXPECT_EQ(Engine::build(better.model).inputs().size(), 1u);

  b.model.proto.ir_version = 3;  // all initializers had to be inputs: constants
  EXPECT_EQ(Engine::build(b.model).inputs().size(), 1u);
}

TEST(Engine, TellsWhatItIs) {
  BuildOptions as_written;
  as_written.level = OptimizationLevel::none;
  const Engine e = Engine::build(perceptron(), as_written);
  ASSERT_EQ(e.inputs().size(), 1u);
  EXPECT_EQ(e.inputs()[0].name, "x");
  EXPECT_EQ(e.inputs()[0].type, "tensor(float)");
  EXPECT_EQ(describe(*e.inputs()[0].shape), "[batch, 2]");
  EXPECT_EQ(e.symbols(), vector<std::string>{"batch"});
  EXPECT_EQ(describe(*e.outputs()[1].shape), "[3*batch]");
  EXPECT_EQ(e.output_shapes({{"x", {7, 2}}}).at("flat"), Shape{21});
  for (const StepInfo& s : e.steps()) EXPECT_NE(s.op, "Neg");  // nobody wants it
  EXPECT_EQ(e.steps().size(), 4u);                             // b1 + b2 is folded
  EXPECT_EQ(Engine::build(perceptron()).steps().size(), 2u);   // MatMul, Add and Relu are one
}

TEST(Engine, AllocatesNothingAndKnowsItsMemory) {
  ModelBuilder b(17);
  b.input("x", "float[batch,2]").output("y").output("flat");
  b.initializer(float_tensor("v", {2, 2}, {1, 2, 3, 4}))
      .initializer(float_tensor("w", {2, 3}, {1, 2, 3, 4, 5, 6}));
  b.initializer(int64_tensor("minus_one", {1}, {-1}));
  b.node("MatMul", {"x", "v"}, {"xv"})
      .node("MatMul", {"xv", "w"}, {"y"})
      .node("Reshape", {"y", "minus_one"}, {"flat"});
  const Engine e = Engine::build(b.model, {.threads = 2});
  Context c = e.create_context();
  Tensor x(DataType::float32, {300, 2}), y(DataType::float32, {300, 3}), flat(DataType::float32, {900});
  std::fill(x.as<float>().begin(), x.as<float>().end(), 0.5f);
  c.bind_input("x", x);
  c.run();
  const MemoryInfo m = e.memory({{"x", {300, 2}}});
  EXPECT_EQ(c.memory_peak(), m.activations + m.workspace + m.outputs);
  c.bind_output("y", y);
  c.bind_output("flat", flat);
  c.run();
  const long before = allocations;
  for (int i = 0; i < 20; ++i) c.run();
  EXPECT_EQ(allocations - before, 0);
  EXPECT_EQ(list(y), list(flat));
}

TEST(Engine, SavesAndLoads) {
  const auto path =
      std::filesystem::path(::testing::TempDir()) / ("engine" + std::to_string(getpid()) + ".lathe");
  Engine::build(perceptron()).save(path);
  for (const std::string isa : {"generic", "avx2", "avx512"}) {
    Context c = Engine::load(path, {.isa = isa}).create_context();
    EXPECT_EQ(list(c.run({{"x", floats({2, 2}, unit)}}).at("y")), answer);
  }
  std::filesystem::remove(path);
}

TEST(Engine, FixesSymbols) {
  const Engine e = Engine::build(perceptron(), {.shapes = {{"batch", 2}}});
  EXPECT_TRUE(e.symbols().empty());
  Context c = e.create_context();
  EXPECT_EQ(code_of([&] { c.run({{"x", floats({1, 2}, {1, 1})}}); }), Code::run_bad_shape);
  EXPECT_EQ(code_of([] { Engine::build(perceptron(), {.shapes = {{"heads", 2}}}); }), Code::build_bad_option);
}

TEST(Engine, OptionsThatCannotBeAreErrors) {
  const onnx::Model model = perceptron();
  EXPECT_EQ(code_of([&] { Engine::build(model, {.backend = "npu"}); }), Code::build_device_absent);
  EXPECT_EQ(code_of([&] { Engine::build(model, {.isa = "mmx"}); }), Code::build_bad_option);
  EXPECT_EQ(code_of([&] { Engine::build("/no/such/model.onnx"); }), Code::file_not_found);
  EXPECT_EQ(code_of([&] { Engine::build(model, {.plugins = {"/no/such/plugin.so"}}); }),
            Code::build_plugin_failed);
}

TEST(Engine, BuildingStopsWhenAsked) {
  RunControl control;
  control.cancel();
  EXPECT_EQ(code_of([&] { Engine::build(perceptron(), {.control = &control}); }), Code::cancelled);
  EXPECT_EQ(code_of([&] { Engine::build(perceptron(), {.progress = [](auto...) { return false; }}); }),
            Code::cancelled);
  control.reset();
  EXPECT_EQ(code_of([&] { Engine::build(perceptron(), {.control = &control}); }), Code::none);
}

TEST(Engine, TapsHaveTheNamesOfTheFile) {
  Context c = Engine::build(perceptron(), {.taps = {"su*", "unused", "b"}}).create_context();
  std::map<std::string, vector<float>> seen;
  c.on_tap([&](std::string_view name, const Value& v) { seen[std::string(name)] = list(v); });
  c.run({{"x", floats({1, 2}, {1, 1})}});
  EXPECT_EQ(seen, (std::map<std::string, vector<float>>{
                      {"sum", {-5, 7, 9}}, {"unused", {5, -7, -9}}, {"b", {-10, 0, 0}}}));
}

TEST(Engine, TellsEveryStepOfARun) {
  const Engine e = Engine::build(perceptron());
  Context c = e.create_context();
  vector<std::string> seen, steps;
  for (const StepInfo& s : e.steps()) steps.push_back(s.node + " " + s.op + " " + s.kernel);
  c.on_step([&](const StepRun& s) {
    EXPECT_GT(s.seconds, 0);
    seen.push_back(std::string(s.node) + " " + std::string(s.op) + " " + std::string(s.kernel));
  });
  c.run({{"x", floats({1, 2}, {1, 1})}});
  EXPECT_EQ(seen, steps);
  c.on_step(nullptr);
  c.run({{"x", floats({1, 2}, {1, 1})}});
  EXPECT_EQ(seen.size(), steps.size());
}

TEST(Engine, IsBuiltFromOneModelInManyThreads) {
  const onnx::Model model = perceptron();
  vector<std::thread> threads;
  std::atomic<int> right{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&] {
      Context c = Engine::build(model, {.threads = 1}).create_context();
      right += list(c.run({{"x", floats({2, 2}, unit)}}).at("y")) == answer;
    });
  for (auto& t : threads) t.join();
  EXPECT_EQ(right, 8);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
