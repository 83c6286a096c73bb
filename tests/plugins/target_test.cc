// A plug-in's device as a target: what its kernels prepare, the elementwise regions that it takes, and the
// lowering passes that it brings.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "lathe/lathe.h"
#include "lathe/verify.h"
#include "support/fake_device.h"
#include "support/model_builder.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;
using std::string;
using std::vector;

Engine build(const ModelBuilder& b, BuildOptions options = {}) {
  options.backend = "fake:cpu";
  options.plugins = {plugin("fake_device")};
  return Engine::build(b.model, options);
}
Engine build_for_host(const ModelBuilder& b) {
  return Engine::build(b.model, {.plugins = {plugin("fake_device")}});
}
/// The only step whose kernel has this name.
StepInfo step_of(const Engine& e, std::string_view kernel) {
  vector<StepInfo> found = e.steps();
  std::erase_if(found, [&](const StepInfo& s) { return s.kernel != kernel; });
  EXPECT_EQ(found.size(), 1u) << kernel;
  return found.empty() ? StepInfo() : found[0];
}
bool any_on(const Engine& e, std::string_view backend) {
  return std::ranges::any_of(e.steps(), [&](const StepInfo& s) { return s.backend == backend; });
}
vector<float> numbers(const Tensor& t) { return {t.as<float>().begin(), t.as<float>().end()}; }
Tensor tensor(vector<float> elements) {
  return Tensor::from<float>({static_cast<int64_t>(elements.size())}, elements);
}
vector<float> run(const Engine& e, vector<float> x) {
  const vector<Value> y = e.create_context().run(vector<Value>{tensor(std::move(x))});
  return numbers(y[0].tensor());
}
ModelBuilder model() {
  ModelBuilder b(22);
  b.import_opset("fake", 1).input("x", "float[n]").output("y", "float[n]");
  return b;
}
onnx::AttributeProto factor(float f) {
  onnx::AttributeProto a;
  a.name = "factor";
  a.type = onnx::AttributeProto::FLOAT;
  a.f = f;
  return a;
}

/// y = … behind the product of x, of n rows, and a matrix.
ModelBuilder product() {
  ModelBuilder b(22);
  b.input("x", "float[n,2]").output("y", "float[n,2]");
  b.initializer(test::float_tensor("w", {2, 2}, {1, 2, 3, 4}));
  b.node("MatMul", {"x", "w"}, {"a"});
  return b;
}
Tensor rows(vector<float> elements) {
  return Tensor::from<float>({static_cast<int64_t>(elements.size() / 2), 2}, elements);
}
vector<float> run_rows(const Engine& e, vector<float> x) {
  const vector<Value> y = e.create_context().run(vector<Value>{rows(std::move(x))});
  return numbers(y[0].tensor());
}

TEST(Target, ADeviceComputesARegionBehindItsKernel) {
  ModelBuilder b = product();
  b.initializer(test::float_tensor("one", {2}, {1, 100}));
  b.node("Add", {"a", "x"}, {"sum"}).node("Sub", {"sum", "one"}, {"less"}).node("Relu", {"less"}, {"y"});
  const Engine e = build(b);
  EXPECT_EQ(step_of(e, "fake.matmul").fused, (vector<string>{"Add", "Sub", "Relu"}));
  EXPECT_FALSE(any_on(e, "cpu"));
  EXPECT_EQ(run_rows(e, {1, 2, 3, 100}), (vector<float>{7, 0, 305, 406}));
  EXPECT_EQ(run_rows(e, {-1, 1}), (vector<float>{0, 0}));
  const Engine again = Engine::deserialize(e.serialize(), {.plugins = {plugin("fake_device")}});
  EXPECT_EQ(run_rows(again, {1, 2, 3, 100}), (vector<float>{7, 0, 305, 406}));
}

TEST(Target, ADeviceComputesRegionsOfTheirOwn) {
  ModelBuilder b(22);
  b.input("x", "float[2,n]").input("row", "float[n]").output("y", "float[2,n]");
  b.node("Mul", {"x", "row"}, {"a"}).node("Neg", {"a"}, {"b"}).node("Add", {"b", "x"}, {"y"});
  const Engine e = build(b);
  EXPECT_EQ(step_of(e, "fake.pointwise").fused, (vector<string>{"Mul", "Neg", "Add"}));
  const NamedValues in{{"x", Tensor::from<float>({2, 3}, vector<float>{1, 2, 3, 4, 5, 6})},
                       {"row", tensor({10, 20, 30})}};
  const Tensor y = e.create_context().run(in).at("y").tensor();
  EXPECT_EQ(numbers(y), (vector<float>{-9, -38, -87, -36, -95, -174}));
}

TEST(Target, AnOperatorWithoutAKernelOfItsOwnIsAProgram) {
  ModelBuilder b = model();
  b.node("Relu", {"x"}, {"y"});
  const Engine e = build(b);
  EXPECT_EQ(step_of(e, "fake.pointwise").fused, vector<string>{"Relu"});
  EXPECT_EQ(run(e, {1, -2}), (vector<float>{1, 0}));
}

TEST(Target, ARefusedRegionHasAReason) {
  // The device has no function for it.
  ModelBuilder b = product();
  b.node("Exp", {"a"}, {"y"});
  const vector<StepInfo> steps = build(b).steps();
  const auto exp = std::ranges::find(steps, "Exp", &StepInfo::op);
  ASSERT_NE(exp, steps.end());
  EXPECT_EQ(exp->backend, "cpu");
  EXPECT_EQ(exp->unfused,
            (vector<string>{"fake: no function for Exp", "MatMul (a): fake: no function for Exp"}));
  // A kernel of the device refuses the region: each operator becomes a step.
  ModelBuilder chain = model();
  string from = "x";
  for (int i = 0; i < 5; ++i) {
    const string to = i == 4 ? "y" : "v" + std::to_string(i);
    chain.node(i % 2 ? "Mul" : "Add", {from, i % 2 ? from : "x"}, {to});
    from = to;
  }
  const Engine e = build(chain);
  EXPECT_EQ(std::ranges::count(e.steps(), "fake.pointwise", &StepInfo::kernel), 5);
  const vector<StepInfo> parts = e.steps();
  const auto last = std::ranges::find_if(parts, [](const StepInfo& s) {
    return !s.unfused.empty() && s.unfused.back() == "fake.pointwise: more than 4 instructions";
  });
  EXPECT_NE(last, parts.end());
  EXPECT_EQ(run(e, {1, 2, 0.5f}), run(build_for_host(chain), {1, 2, 0.5f}));
}

TEST(Target, TapsInsideARegionOfADevice) {
  ModelBuilder b = product();
  b.node("Add", {"a", "x"}, {"s"}).node("Neg", {"s"}, {"y"});
  const Engine e = build(b, {.taps = {"a", "s"}});
  Context c = e.create_context();
  std::map<string, vector<float>> seen;
  c.on_tap([&](std::string_view name, const Value& v) { seen[string(name)] = numbers(v.tensor()); });
  const Value y = c.run(vector<Value>{rows({1, 2})})[0];
  EXPECT_EQ(numbers(y.tensor()), (vector<float>{-8, -12}));
  EXPECT_EQ(seen, (std::map<string, vector<float>>{{"a", {7, 10}}, {"s", {8, 12}}}));
}

TEST(Target, OperandsBehindAKernelAreBroadcastOrRefused) {
  ModelBuilder b = product();
  b.input("k", "float[m]").node("Add", {"a", "k"}, {"y"});
  const Engine e = build(b);
  EXPECT_EQ(step_of(e, "fake.matmul").fused, vector<string>{"Add"});
  Context c = e.create_context();
  EXPECT_EQ(numbers(c.run({{"x", rows({1, 2})}, {"k", tensor({5})}}).at("y").tensor()),
            (vector<float>{12, 15}));
  EXPECT_EQ(numbers(c.run({{"x", rows({1, 2})}, {"k", tensor({5, 6})}}).at("y").tensor()),
            (vector<float>{12, 16}));
  try {
    c.run({{"x", rows({1, 2})}, {"k", tensor({5, 6, 7})}});
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), Code::run_bad_shape) << error.what();
  }
}

TEST(Target, ConstantsArePreparedOnceForAnEngine) {
  ModelBuilder b = model();
  b.initializer(test::float_tensor("k", {3}, {10, 20, 30}));
  b.node("Add", {"x", "k"}, {"a"}, {}, "fake").node("Scale", {"a"}, {"y"}, {factor(2)}, "fake");
  {
    const Engine e = build(b);
    EXPECT_EQ(query_plugin("fake_device_bytes"), 64u);  // what was prepared, in place of the constant
    const size_t prepared = query_plugin("fake_device_preparations");
    for (int i = 0; i < 3; ++i) EXPECT_EQ(run(e, {1, 2, 3}), (vector<float>{22, 44, 66}));
    EXPECT_EQ(query_plugin("fake_device_preparations"), prepared);
    EXPECT_GE(e.memory({{"x", {3}}}).weights, 64u + 3 * sizeof(float));
    // From a plan too.
    const Engine again = Engine::deserialize(e.serialize(), {.plugins = {plugin("fake_device")}});
    EXPECT_EQ(again.target().device, "fake");
    EXPECT_EQ(run(again, {1, 2, 3}), (vector<float>{22, 44, 66}));
  }
  EXPECT_EQ(query_plugin("fake_device_bytes"), 0u);
}

TEST(Target, AConstantThatAnotherStepReadsIsUploadedToo) {
  ModelBuilder b = model();
  b.initializer(test::float_tensor("k", {3}, {10, 20, 30}));
  b.node("Add", {"x", "k"}, {"a"}, {}, "fake").node("Scale", {"k"}, {"s"}, {}, "fake");
  b.node("Add", {"a", "s"}, {"y"}, {}, "fake");
  // Folded, and not.
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1} << 20})
    EXPECT_EQ(run(build(b, {.fold_limit = limit}), {1, 2, 3}), (vector<float>{31, 62, 93}));
  EXPECT_EQ(run(build(b, {.refit = true}), {1, 2, 3}), (vector<float>{31, 62, 93}));
}

TEST(Target, ScratchMemoryIsPlanned) {
  ModelBuilder b = model();
  b.node("Smooth", {"x"}, {"y"}, {}, "fake");
  const Engine e = build(b);
  const vector<float> x(1000, 3.0f);
  const MemoryInfo small = e.memory({{"x", {10}}}), large = e.memory({{"x", {1000}}});
  EXPECT_EQ(small.workspace, 64u);
  EXPECT_EQ(large.workspace, 4032u);
  Context c = e.create_context();
  c.run(vector<Value>{tensor(x)});
  EXPECT_EQ(c.memory_peak(), large.activations + large.workspace + large.outputs);
  EXPECT_EQ(run(e, {1, 2, 3, 4}), run(build_for_host(b), {1, 2, 3, 4}));
  // One after the other, and more where it grows.
  for (const size_t n : {5u, 500u, 50u}) EXPECT_EQ(run(e, vector<float>(n, 2)), vector<float>(n, 2));
  // Where only the run knows the shape.
  ModelBuilder unknown(22);
  unknown.import_opset("fake", 1).input("x", "float[1]").output("y");
  unknown.node("Ones", {"x"}, {"o"}, {}, "fake").node("Smooth", {"o"}, {"y"}, {}, "fake");
  EXPECT_EQ(run(build(unknown), {37}), vector<float>(37, 1));
  // Profiles reserve it.
  const Engine profiled =
      build(b, {.profiles = {{.name = "p", .inputs = {{"x", {.min = {1}, .opt = {10}, .max = {1000}}}}}}});
  EXPECT_EQ(profiled.profile_memory("p").workspace, 4032u);
}

TEST(Target, KernelsSeeSmallConstants) {
  const auto power = [](float exponent) {
    ModelBuilder b = model();
    b.initializer(test::float_tensor("e", {}, {exponent})).node("Pow", {"x", "e"}, {"y"});
    return b;
  };
  const Engine cube = build(power(3), {.level = OptimizationLevel::none});
  EXPECT_EQ(step_of(cube, "fake.pow").backend, "fake");
  EXPECT_EQ(run(cube, {2, -1}), (vector<float>{8, -1}));
  const Engine root = build(power(0.5f), {.level = OptimizationLevel::none});
  EXPECT_FALSE(any_on(root, "fake"));
  EXPECT_EQ(root.steps()[0].refusals[0], "fake.pow: an exponent that is no small whole number");
  // What a refit may exchange is not looked at.
  const Engine refittable = build(power(3), {.level = OptimizationLevel::none, .refit = true});
  EXPECT_EQ(refittable.steps()[0].refusals[0], "fake.pow: an exponent of many elements");
  ModelBuilder free = model();
  free.input("e", "float").node("Pow", {"x", "e"}, {"y"});
  EXPECT_EQ(build(free, {.level = OptimizationLevel::none}).steps()[0].refusals[0],
            "fake.pow: an exponent that is not constant");
}

TEST(Target, ADeviceMayDeclineWhatItCouldRun) {
  for (const int64_t n : {3, 4}) {
    ModelBuilder b(22);
    const string type = "float[" + std::to_string(n) + "]";
    b.input("x", type).output("y", type).node("Floor", {"x"}, {"y"});
    const Engine e = build(b, {.level = OptimizationLevel::none});
    EXPECT_EQ(any_on(e, "fake"), n == 4);
    if (n == 3) {
      EXPECT_EQ(e.steps()[0].refusals[0], "fake.floor: fewer than 4 elements");
    }
  }
}

TEST(Target, FactsOfDevices) {
  const vector<DeviceInfo> all = devices({plugin("fake_device")});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].name, "cpu");
  EXPECT_EQ(all[0].facts.instruction_sets.front(), "generic");
  EXPECT_EQ(all[0].facts.instruction_sets.back(), system_info().isa);
  EXPECT_EQ(all[0].memory.total, system_info().memory_total);
  EXPECT_EQ(all[1].name, "fake");
  EXPECT_EQ(all[1].facts.description, "pages without access");
  EXPECT_EQ(all[1].facts.types, vector<DataType>{DataType::float32});
  EXPECT_EQ(all[1].memory.total, uint64_t{64} << 20);
  EXPECT_EQ(devices().size(), 1u);
  // Its kernels are not asked about other types.
  ModelBuilder b(22);
  b.input("x", "double[4]").output("y", "double[4]").node("Floor", {"x"}, {"y"});
  EXPECT_EQ(build(b, {.level = OptimizationLevel::none}).steps()[0].refusals[0],
            "fake.floor: fake has no kernels for float64");
}

TEST(Target, ConstantsThatExceedADeviceAreRefused) {
  ModelBuilder b(22);
  b.import_opset("fake", 1).output("y");
  b.input("x", "float[17000000]");
  b.initializer(test::float_tensor("k", {17'000'000}, vector<float>(17'000'000, 1)));
  b.node("Add", {"k", "x"}, {"y"}, {}, "fake");
  try {
    build(b);
    ADD_FAILURE() << "no error";
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::run_out_of_memory);
    EXPECT_EQ(e.diagnostic().expected, "68000000 bytes for constants");
    EXPECT_EQ(e.diagnostic().got, "fake has 67108864 in all");
  }
}

ModelBuilder doubling() {
  ModelBuilder b = model();
  b.node("Add", {"x", "x"}, {"two"}, {}, "fake").node("Scale", {"two"}, {"y"}, {factor(5)}, "fake");
  return b;
}

TEST(Target, ItsLoweringPassesRun) {
  const Engine with = build(doubling()), without = build(doubling(), {.passes = {"-fake-double"}});
  const auto adds = [](const Engine& e) {
    return std::ranges::count(e.steps(), "fake.add", &StepInfo::kernel);
  };
  EXPECT_EQ(adds(with), 0);
  EXPECT_EQ(adds(without), 1);
  EXPECT_EQ(run(with, {1, 2}), (vector<float>{10, 20}));
  EXPECT_EQ(run(without, {1, 2}), (vector<float>{10, 20}));
  // A tapped value stays, beside what takes its place.
  const Engine tapped = build(doubling(), {.taps = {"two"}});
  Context watched = tapped.create_context();
  vector<float> seen;
  watched.on_tap([&](std::string_view, const Value& v) { seen = numbers(v.tensor()); });
  EXPECT_EQ(numbers(watched.run(vector<Value>{tensor({1, 2})})[0].tensor()), (vector<float>{10, 20}));
  EXPECT_EQ(seen, (vector<float>{2, 4}));
  // In bodies too.
  ModelBuilder b = model();
  b.input("c", "bool");
  onnx::GraphProto yes, no;
  yes.name = "yes";
  yes.node = {make_node("Add", {"x", "x"}, {"p"}, {}, "fake")};
  yes.output = {make_value("p", "float[n]")};
  no.name = "no";
  no.node = {make_node("Identity", {"x"}, {"q"})};
  no.output = {make_value("q", "float[n]")};
  b.node("If", {"c"}, {"y"}, {graph_attribute("then_branch", yes), graph_attribute("else_branch", no)});
  const Engine e = build(b);
  EXPECT_EQ(adds(e), 0);
  Context c = e.create_context();
  const Value y = c.run({{"x", tensor({1, 2})}, {"c", Tensor::from<bool>({}, vector<bool>{true})}}).at("y");
  EXPECT_EQ(numbers(y.tensor()), (vector<float>{2, 4}));
}

TEST(Target, ADevicesBrokenPassIsNamed) {
  ModelBuilder b = model();
  b.node("Sin", {"x"}, {"s"}).node("Scale", {"s"}, {"y"}, {factor(5)}, "fake");
  VerifyOptions options;
  options.build.backend = "fake:cpu";
  options.build.plugins = {plugin("fake_device"), plugin("broken_pass")};
  const VerifyReport r = verify(b.model, options);
  ASSERT_TRUE(r.fault);
  EXPECT_EQ(r.fault->pass, "fake-lose-sign") << r.fault->diagnostic.message();
  EXPECT_TRUE(r.fault->confirmed);
  options.build.passes = {"-fake-lose-sign"};
  EXPECT_FALSE(verify(b.model, options).fault);
}

TEST(Target, APatchThatDoesNotFitIsAnErrorOfTheBuild) {
  const auto error_of = [](const string& op) {
    ModelBuilder b = model();
    b.node(op, {"x"}, {"y"});
    try {
      Engine::build(b.model,
                    {.backend = "fake:cpu", .plugins = {plugin("fake_device"), plugin("broken_pass")}});
    } catch (const Error& e) {
      return e.diagnostic();
    }
    return Diagnostic();
  };
  for (const auto& [op, pass, got] : {std::tuple("Erf", "fake-misfit", "NoSuchOperator"),
                                      std::tuple("Cosh", "fake-go-on", "one that goes on to propose patches"),
                                      std::tuple("Sinh", "fake-tear", "none")}) {
    const Diagnostic d = error_of(op);
    EXPECT_EQ(d.code, Code::build_plugin_failed) << op;
    EXPECT_EQ(d.got, got);
    EXPECT_EQ(d.op, op);
    EXPECT_EQ(d.stage, "pass " + string(pass));
    EXPECT_EQ(d.remedy, "--passes=-" + string(pass) + " leaves the pass out");
  }
}

TEST(Target, FaultsOfPluginsAreErrors) {
  ModelBuilder b(22);
  b.import_opset("odd", 1)
      .input("x", "float[n]")
      .output("y", "float[n]")
      .node("Odd", {"x"}, {"y"}, {}, "odd");
  const auto error_of = [&](const char* fault) {
    setenv("LATHE_FAULT", fault, 1);
    try {
      const Engine e = Engine::build(b.model, {.plugins = {plugin("faulty")}});
      e.create_context().run(vector<Value>{tensor({1, 2})});
    } catch (const Error& e) {
      return e.diagnostic();
    }
    return Diagnostic();
  };
  for (const char* fault : {"no device", "no function", "kernel without function", "name of a pass"})
    EXPECT_EQ(error_of(fault).code, Code::build_plugin_failed) << fault;
  for (const auto& [fault, expected] :
       {std::pair("many shapes", "shapes of 1 outputs from shape()"),
        std::pair("other type", "output 0 of float32"),
        std::pair("no output", "a kernel that makes output 0"),
        std::pair("input beyond", "a kernel that reads inputs which are there"),
        std::pair("throws", "odd.Odd.ref of a plug-in to end well")}) {
    const Diagnostic d = error_of(fault);
    EXPECT_EQ(d.code, Code::internal) << fault;
    EXPECT_EQ(d.expected, expected);
    EXPECT_EQ(d.op, "Odd");
  }
  EXPECT_EQ(error_of("").code, Code::none);
  unsetenv("LATHE_FAULT");
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
