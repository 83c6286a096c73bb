#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "compiler/build.h"
#include "compiler/plugin_schemas.h"
#include "lathe/builder.h"
#include "lathe/lathe.h"
#include "runtime/engine_impl.h"
#include "support/fake_device.h"
#include "support/model_builder.h"
#include "support/toy_ops.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;
using std::vector;

std::optional<Error> error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const Error& e) {
    return e;
  }
  return std::nullopt;
}

/// A graph in the domain "fake".
struct FakeGraph : GraphMaker {
  ValueId node(std::string op, std::vector<ValueId> inputs, std::string output, float factor = 2) {
    const ValueId v = GraphMaker::node(op, std::move(inputs), std::move(output), f32({Dim::symbol("n")}));
    Node& n = graph->node(graph->value(v).producer);
    n.domain = "fake";
    if (op == "Scale") n.attributes.set("factor", factor);
    return v;
  }
};

/// Device, host (the device refuses negative factors), device again, a constant, and an inner value as
/// output.
FakeGraph split_graph() {
  FakeGraph g;
  const ValueId x = g.input("x", f32({Dim::symbol("n")}));
  const ValueId a = g.node("Scale", {x}, "a", 3);
  const ValueId b = g.node("Scale", {a}, "b", -1);
  const ValueId c = g.node("Add", {a, b}, "c");
  const ValueId d = g.node("Add", {c, g.constant("k", floats({3}, {1, 2, 3}))}, "d");
  const ValueId e = g.node("Add", {d, a}, "e");
  g.graph->set_outputs({g.node("Scale", {e}, "y", 10), b});
  return g;
}

Engine build(const FakeGraph& g, const std::string& backend, const vector<std::string>& taps = {},
             const vector<StatePair>& states = {}) {
  const vector<std::filesystem::path> libraries{plugin("fake_device")};
  const auto extensions = Extensions::load(libraries);
  Plan plan = build_plan(*g.graph, *schemas_with(*extensions), *extensions,
                         {.backend = backend, .taps = taps, .states = states});
  return EngineAccess::make(
      std::make_shared<const Engine::Impl>(std::move(plan), extensions, ProgramOptions{}));
}
vector<std::string> backends_of(const Engine& e) {
  vector<std::string> list;
  for (const StepInfo& s : e.steps()) list.push_back(s.backend);
  return list;
}

TEST(Plugin, AGraphSplitOverTwoDevicesGivesTheSameAnswers) {
  const Engine host = build(split_graph(), "cpu"), both = build(split_graph(), "fake:cpu");
  EXPECT_EQ(std::ranges::count(backends_of(host), "fake"), 0);
  EXPECT_EQ(std::ranges::count(backends_of(both), "fake"), 5);
  EXPECT_EQ(std::ranges::count(backends_of(both), "reference"), 1);
  EXPECT_EQ(std::ranges::count(backends_of(both), "copy"), 4);  // x in, a out, b in, y out
  Context h = host.create_context(), d = both.create_context();
  for (int round = 0; round < 4; ++round) {
    const Value x = floats({3}, {1.0f + static_cast<float>(round), -2, 0.5f});
    const auto want = h.run(vector<Value>{x}), got = d.run(vector<Value>{x});
    EXPECT_EQ(list(want[0]), list(got[0]));
    EXPECT_EQ(list(want[1]), list(got[1]));
  }
}

TEST(Plugin, StatesThatADeviceReadsAndMakes) {
  // h' = 3 (h + x) on the device; y reads the old value there after the new one is made.
  for (const bool late : {false, true}) {
    FakeGraph g;
    const ValueId x = g.input("x", f32({Dim::symbol("n")})), h = g.input("h", f32({Dim::symbol("n")}));
    const ValueId next = g.node("Scale", {g.node("Add", {h, x}, "sum")}, "next", 3);
    g.graph->set_outputs({g.node("Add", {late ? h : x, next}, "y"), next});
    const Engine e = build(g, "fake:cpu", {}, {{"h", "next"}});
    EXPECT_GE(std::ranges::count(backends_of(e), "fake"), 3);
    NamedStates states = State::create_all(e, {{"n", 3}});
    Context c = e.create_context();
    c.bind_states(states);
    vector<float> history(3);
    for (int round = 0; round < 3; ++round) {
      const vector<float> add{1.0f + static_cast<float>(round), -2, 0.5f};
      const NamedValues got = c.run({{"x", floats({3}, add)}});
      vector<float> y(3);
      for (size_t i = 0; i < 3; ++i) {
        const float old = history[i];
        history[i] = 3 * (old + add[i]);
        y[i] = (late ? old : add[i]) + history[i];
      }
      EXPECT_EQ(list(got.at("y")), y);
      EXPECT_EQ(list(states.at("h").tensor()), history);
    }
  }
}

TEST(Plugin, ADevicesRefusalIsKept) {
  size_t found = 0;
  for (const StepInfo& s : build(split_graph(), "fake").steps()) {
    if (s.node != "b" || s.op != "Scale") continue;
    EXPECT_EQ(s.refusals, vector<std::string>{"fake.scale: negative factors"});
    ++found;
  }
  EXPECT_EQ(found, 1u);
}

TEST(Plugin, DeviceMemoryIsPlannedCountedAndGivenBack) {
  {
    const Engine e = build(split_graph(), "fake:cpu");
    EXPECT_EQ(query_plugin("fake_device_bytes"), 64u);  // the constant, as its kernel prepared it
    const size_t uploads = query_plugin("fake_device_copies_in");
    {
      Context c = e.create_context();
      c.bind_input("x", floats({3}, {1, 2, 3}));
      c.run();
      EXPECT_EQ(query_plugin("fake_device_copies_in") - uploads, 2u);
      const MemoryInfo m = e.memory({{"x", {3}}});
      EXPECT_EQ(c.memory_peak(), m.activations + m.workspace + m.outputs);
      EXPECT_GT(query_plugin("fake_device_bytes"), 64u);
    }
    EXPECT_EQ(query_plugin("fake_device_bytes"), 64u);
  }
  EXPECT_EQ(query_plugin("fake_device_bytes"), 0u);
}

TEST(Plugin, TapsReadDeviceMemory) {
  Context c = build(split_graph(), "fake:cpu", {"a", "d"}).create_context();
  std::map<std::string, vector<float>> seen;
  c.on_tap([&](std::string_view name, const Value& v) { seen[std::string(name)] = list(v); });
  c.run(vector<Value>{floats({3}, {1, 1, 1})});
  EXPECT_EQ(seen, (std::map<std::string, vector<float>>{{"a", {3, 3, 3}}, {"d", {1, 2, 3}}}));
}

TEST(Plugin, ShapesThatOnlyTheRunKnowsReachTheDevice) {
  FakeGraph g;
  const ValueId n = g.input("n", f32({1}));
  const ValueId ones = g.node("Ones", {n}, "ones");
  g.graph->set_outputs({g.node("Scale", {ones}, "y", 5)});
  Context c = build(g, "fake:cpu").create_context();
  for (int64_t size : {3, 0, 7, 3})
    EXPECT_EQ(list(c.run(vector<Value>{floats({1}, {static_cast<float>(size)})})[0]),
              vector<float>(static_cast<size_t>(size), 5));
}

TEST(Plugin, ADeviceOutOfMemoryIsAnErrorAndTheNextRunWorks) {
  Context c = build(split_graph(), "fake:cpu").create_context();
  FakeGraph g;
  const ValueId x = g.input("x", f32({Dim::symbol("n")}));
  g.graph->set_outputs({g.node("Scale", {g.node("Scale", {x}, "a")}, "y")});
  Context big = build(g, "fake:cpu").create_context();
  const auto e = error_of([&] { big.run(vector<Value>{Tensor(DataType::float32, {20 << 20})}); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), Code::run_out_of_memory);
  EXPECT_EQ(list(big.run(vector<Value>{floats({2}, {1, 2})})[0]), (vector<float>{4, 8}));
}

TEST(Plugin, AModelMayUseItsOperators) {
  ModelBuilder b(17);
  b.import_opset("fake", 1).input("x", "float[n]").output("y");
  b.node("Scale", {"x"}, {"a"}, {}, "fake");
  b.node("Ones", {"a"}, {"o"}, {}, "fake");
  b.node("Scale", {"o"}, {"y"}, {}, "fake");
  for (const std::string backend : {"cpu", "fake:cpu"}) {
    const Engine e = Engine::build(b.model, {.backend = backend, .plugins = {plugin("fake_device")}});
    EXPECT_EQ(list(e.create_context().run(vector<Value>{floats({2}, {1.5f, 7})})[0]),
              (vector<float>{2, 2, 2}));
  }
  const auto e = error_of([&] { Engine::build(b.model); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), Code::node_unknown_domain) << e->what();

  // Networks too.
  Parser parser({plugin("fake_device")});
  EXPECT_TRUE(parser.supports_operator("Scale", "fake"));
  const Network n = parser.parse(b.model).clone();
  EXPECT_EQ(n.num_layers(), 3u);
  EXPECT_EQ(n.get_output(0).element_type(), DataType::float32);
  const Engine built = Builder().build_engine(n, {.plugins = {plugin("fake_device")}});
  EXPECT_EQ(list(built.create_context().run(vector<Value>{floats({2}, {1.5f, 7})})[0]),
            (vector<float>{2, 2, 2}));
  Parser without;
  EXPECT_FALSE(without.supports_operator("Scale", "fake"));
  EXPECT_TRUE(error_of([&] { without.parse(b.model); }));
}

TEST(Plugin, OtherWeightsGoToTheDevice) {
  ModelBuilder b(17);
  b.import_opset("fake", 1).input("x", "float[3]").output("y");
  b.initializer(test::float_tensor("v", {3}, {1, 2, 3}));
  b.initializer(test::float_tensor("w", {3}, {10, 20, 30}));
  b.node("Add", {"x", "v"}, {"a"}, {}, "fake");
  b.node("Add", {"a", "w"}, {"y"}, {}, "fake");
  const vector<Value> x{floats({3}, {0, 0, 0})};
  {
    const Engine e =
        Engine::build(b.model, {.backend = "fake:cpu", .refit = true, .plugins = {plugin("fake_device")}});
    EXPECT_EQ(query_plugin("fake_device_bytes"), 128u);
    Context c = e.create_context();
    EXPECT_EQ(list(c.run(x)[0]), (vector<float>{11, 22, 33}));
    c.trim();
    const size_t before = query_plugin("fake_device_preparations");
    Builder().refit_engine(e, {{"w", Tensor::from<float>({3}, vector<float>{100, 200, 300})}});
    EXPECT_EQ(query_plugin("fake_device_preparations") - before, 1u);  // the other one is there already
    EXPECT_EQ(query_plugin("fake_device_bytes"), 192u);  // … as long as the context has the old one
    EXPECT_EQ(list(c.run(x)[0]), (vector<float>{101, 202, 303}));
    c.trim();
    EXPECT_EQ(query_plugin("fake_device_bytes"), 128u);
  }
  EXPECT_EQ(query_plugin("fake_device_bytes"), 0u);
}

TEST(Plugin, PlansNameTheirDevices) {
  const auto path =
      std::filesystem::path(testing::TempDir()) / ("plugin" + std::to_string(getpid()) + ".lathe");
  build(split_graph(), "fake:cpu").save(path);
  const Engine again = Engine::load(path, {.plugins = {plugin("fake_device")}});
  EXPECT_EQ(list(again.create_context().run(vector<Value>{floats({3}, {1, 1, 1})})[0]),
            (vector<float>{40, 50, 60}));
  const auto e = error_of([&] { Engine::load(path); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), Code::build_device_absent);
  std::filesystem::remove(path);
}

TEST(Plugin, AnAbsentDeviceSaysWhatWasSearched) {
  const auto e = error_of([] { build(split_graph(), "npu"); });
  ASSERT_TRUE(e);
  EXPECT_EQ(e->code(), Code::build_device_absent);
  const std::string text = e->what();
  EXPECT_NE(text.find("'npu'"), std::string::npos) << text;
  EXPECT_NE(text.find("fake"), std::string::npos) << text;
  EXPECT_NE(text.find(plugin("fake_device").string()), std::string::npos) << text;
}

TEST(Plugin, OperatorsInNetworks) {
  Network n("with a plug-in");
  const TensorRef x = n.add_input("x", "float[n]");
  const OperatorOptions times_3{.attributes = {{"factor", 3.0f}}, .name = "threefold"};
  const Layer l = n.add_plugin("fake", "Scale", {x}, {"float[n]"}, times_3);
  n.mark_output(n.add_unary(l, UnaryOperation::neg), "y");
  EXPECT_EQ(l.kind(), "plugin");
  EXPECT_EQ(l.operators(), vector<std::string>{"fake::Scale"});
  EXPECT_NE(n.cpp().find("n.add_plugin(\"fake\", \"Scale\", {x}, {\"float[n]\"}"), std::string::npos)
      << n.cpp();
  const Engine e = Builder().build_engine(n, {.plugins = {plugin("fake_device")}});
  const vector<Value> y =
      e.create_context().run(vector<Value>{Tensor::from<float>({2}, vector<float>{1, 2})});
  EXPECT_EQ(y[0].tensor().as<float>()[1], -6);
  EXPECT_TRUE(error_of([&] { n.add_plugin("", "Relu", {x}, {"float[n]"}); }));
  EXPECT_TRUE(error_of([&] { Builder().build_engine(n); }));
}

TEST(Plugin, BadPluginsAreErrors) {
  const auto load = [](std::filesystem::path p) {
    const auto e = error_of([&] { Extensions::load(vector<std::filesystem::path>{p}); });
    return e ? e->code() : Code::none;
  };
  EXPECT_EQ(load(plugin("old_interface")), Code::build_plugin_failed);
  EXPECT_EQ(load(plugin("greedy_names")), Code::build_plugin_failed);
  EXPECT_EQ(load("/no/such/library.so"), Code::build_plugin_failed);
  const auto text =
      std::filesystem::path(testing::TempDir()) / ("not_a_library" + std::to_string(getpid()) + ".so");
  std::ofstream(text) << "hello";
  EXPECT_EQ(load(text), Code::build_plugin_failed);
  std::filesystem::remove(text);
  EXPECT_EQ(load(plugin("fake_device")), Code::none);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
