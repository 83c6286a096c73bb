#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "compiler/build.h"
#include "lathe/lathe.h"
#include "plan/plan_file.h"
#include "plan/verify.h"
#include "runtime/engine_impl.h"
#include "runtime/retarget.h"
#include "support/error_code.h"
#include "support/toy_ops.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace test;
using std::vector;

using lathe::testing::code_of;
Dim n() { return Dim::symbol("n"); }
Plan plan_of(const GraphMaker& g, const BuildOptions& o = {}) {
  return build_plan(*g.graph, toy_schemas(), *Extensions::of(toy_catalog()), o);
}
Engine engine_of(Plan plan) {
  return EngineAccess::make(
      std::make_shared<const Engine::Impl>(std::move(plan), Extensions::of(toy_catalog()), ProgramOptions{}));
}

/// y = x + (a + b), where the sum of constants folds and is then packed; and a branch with a captured
/// constant.
GraphMaker folding() {
  GraphMaker g;
  const ValueId x = g.input("x", f32({2}));
  const ValueId a = g.constant("a", floats({2}, {1, 2})), b = g.constant("b", floats({2}, {10, 20}));
  const ValueId s = g.node("Add", {a, b}, "s", f32({2}));
  g.node("Add", {x, x}, "unused", f32({2}));
  g.graph->set_outputs({g.node("Add", {x, s}, "y", f32({2}))});
  g.graph->metadata = {{"key", "value"}};
  return g;
}

TEST(Build, FoldsPacksAndRecordsHow) {
  const Plan p = plan_of(folding());
  ASSERT_EQ(p.graphs.size(), 1u);
  ASSERT_EQ(p.graphs[0].steps.size(), 1u);
  const PlanStep& step = p.graphs[0].steps[0];
  EXPECT_EQ(step.kernel, "toy.add.cpu");
  EXPECT_EQ(step.origin, vector<std::string>{"y"});
  ASSERT_EQ(step.packed.size(), 2u);
  const Weight& packed = p.weights[static_cast<size_t>(step.packed[1])];
  EXPECT_EQ(packed.recipe.kind, WeightRecipe::Kind::pack);
  EXPECT_EQ(packed.recipe.kernel, "toy.add.cpu");
  EXPECT_EQ(list(packed.value), (vector<float>{22, 44}));
  const Weight& folded = p.weights[packed.recipe.from.at(0)];
  EXPECT_EQ(folded.recipe.kind, WeightRecipe::Kind::fold);
  EXPECT_EQ(folded.recipe.op, "Add");
  EXPECT_EQ(list(folded.value), (vector<float>{11, 22}));
  EXPECT_EQ(p.weights[folded.recipe.from.at(0)].recipe.source, "a");
  EXPECT_EQ(p.weights[folded.recipe.from.at(1)].recipe.source, "b");
  EXPECT_EQ(list(engine_of(p).create_context().run(vector<Value>{floats({2}, {1, 1})})[0]),
            (vector<float>{12, 23}));
}

TEST(Build, AFoldBombStaysANode) {
  GraphMaker g;
  const ValueId shape = g.constant("shape", ints({1 << 20, 1 << 20}));
  const ValueId big = g.node("Fill", {shape}, "big", f32({1 << 20, 1 << 20}));
  const ValueId small = g.node("Fill", {g.constant("small_shape", ints({2}))}, "small", f32({2}));
  g.graph->set_outputs({small, big});
  const Plan p = plan_of(g);
  EXPECT_EQ(p.graphs[0].steps.size(), 1u);
  EXPECT_EQ(p.graphs[0].steps[0].node, "big");
}

TEST(Build, SaysWhyKernelsRefuse) {
  GraphMaker g;
  const ValueType doubles = ValueType::tensor(DataType::float64, SymShape{2});
  const ValueId x = g.input("x", doubles);
  g.graph->set_outputs({g.node("Add", {x, x}, "y", doubles)});
  const Plan p = plan_of(g);
  EXPECT_EQ(p.graphs[0].steps[0].kernel, "Add.ref");
  EXPECT_EQ(p.graphs[0].steps[0].refusals, vector<std::string>{"toy.add.cpu: only float32"});
  EXPECT_EQ(code_of([&] { plan_of(g, {.allow_reference = false}); }), Code::build_reference_forbidden);
  GraphMaker unknown;
  unknown.graph->set_outputs({unknown.node("Nonsense", {}, "y", f32({1}))});
  EXPECT_EQ(code_of([&] { plan_of(unknown); }), Code::build_no_kernel);
}

TEST(Build, ChoosesByBackend) {
  EXPECT_EQ(plan_of(folding(), {.backend = "reference"}).graphs[0].steps[0].kernel, "Add.ref");
  EXPECT_EQ(code_of([] { plan_of(folding(), {.backend = "npu:cpu"}); }), Code::build_device_absent);
  EXPECT_EQ(code_of([] { plan_of(folding(), {.isa = "mmx"}); }), Code::build_bad_option);
  try {
    plan_of(folding(), {.backend = "npu"});
  } catch (const Error& e) {
    EXPECT_NE(std::string(e.what()).find("npu"), std::string::npos);
    EXPECT_NE(std::string(e.what()).find("no plug-ins were loaded"), std::string::npos) << e.what();
  }
}

TEST(Build, TapsKeepDeadValuesAlive) {
  const Plan p = plan_of(folding(), {.taps = {"un*", "s"}});
  EXPECT_EQ(p.graphs[0].steps.size(), 2u);
  EXPECT_EQ(p.taps.size(), 2u);
}

TEST(Build, ReportsProgressAndStops) {
  EXPECT_EQ(code_of([] { plan_of(folding(), {.progress = [](std::string_view, double) { return false; }}); }),
            Code::cancelled);
  RunControl control;
  control.cancel();
  EXPECT_EQ(code_of([&] { plan_of(folding(), {.control = &control}); }), Code::cancelled);
}

class PlanFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path = std::filesystem::path(::testing::TempDir()) / ("lathe" + std::to_string(getpid()) + ".lathe");
  }
  void TearDown() override { std::filesystem::remove(path); }
  std::string bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write(const std::string& b) const { std::ofstream(path, std::ios::binary | std::ios::trunc) << b; }
  std::filesystem::path path;
};

/// A plan with all that a plan can have: attributes of all kinds, bodies, strings, symbols, taps.
Plan rich_plan() {
  GraphMaker g;
  const ValueId count = g.input("count", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId x = g.input("x", f32({n()}));
  GraphMaker body(g.graph.get());
  body.input("i", ValueType::tensor(DataType::int64, SymShape{}));
  const ValueId state = body.input("state", f32({n()}));
  body.graph->set_outputs({body.node("Add", {state, body.graph->capture(x)}, "next", f32({n()}))});
  const ValueId y = g.node("Repeat", {count, x}, "y", f32({n()}), {{"body", body.graph}});
  Tensor words(DataType::string, {2});
  words.as<std::string>()[0] = "one";
  words.as<std::string>()[1] = std::string("t\0wo", 4);
  g.graph->set_outputs({y, g.constant("words", words), g.constant("k", floats({3}, {1, 2, 3}))});
  Attributes& a = g.graph->node(g.graph->value(y).producer).attributes;
  a.set("int", int64_t{-7});
  a.set("float", 0.5f);
  a.set("string", std::string("a\xff\0b", 4));
  a.set("tensor", floats({1, 2}, {3, 4}));
  a.set("ints", vector<int64_t>{1, 2});
  a.set("floats", vector<float>{1.5f});
  a.set("strings", vector<std::string>{"p", ""});
  a.set("tensors", vector<Tensor>{words, ints({5})});
  Plan p = plan_of(g, {.taps = {"y"}});
  p.metadata = {{"key", "value"}};
  p.producer = "test";
  return p;
}

TEST_F(PlanFile, SavesAndLoadsEverything) {
  const Plan saved = rich_plan();
  save_plan(saved, path);
  const Plan p = load_plan(path);
  EXPECT_EQ(p.graphs.size(), saved.graphs.size());
  EXPECT_EQ(p.metadata, saved.metadata);
  EXPECT_EQ(p.producer, "test");
  EXPECT_EQ(p.taps, saved.taps);
  EXPECT_EQ(p.target, saved.target);
  ASSERT_EQ(p.symbols.size(), 1u);
  EXPECT_EQ(p.symbols[0].name, "n");
  const Attributes& a = p.graphs[0].steps[0].attributes;
  EXPECT_EQ(a.get<int64_t>("int", 0), -7);
  EXPECT_EQ(a.get<float>("float", 0), 0.5f);
  EXPECT_EQ(a.get<std::string>("string", ""), std::string("a\xff\0b", 4));
  EXPECT_EQ(list(*a.get_if<Tensor>("tensor")), (vector<float>{3, 4}));
  EXPECT_EQ(a.get<vector<int64_t>>("ints", {}), (vector<int64_t>{1, 2}));
  EXPECT_EQ(a.get<vector<std::string>>("strings", {}), (vector<std::string>{"p", ""}));
  EXPECT_EQ(a.get_if<vector<Tensor>>("tensors")->at(0).as<std::string>()[1], std::string("t\0wo", 4));
  Context c = engine_of(p).create_context();
  const auto out = c.run({{"count", Tensor::scalar<int64_t>(2)}, {"x", floats({2}, {1, 2})}});
  EXPECT_EQ(list(out.at("y")), (vector<float>{3, 6}));
  EXPECT_EQ(out.at("words").tensor().as<std::string>()[0], "one");
  EXPECT_EQ(list(out.at("k")), (vector<float>{1, 2, 3}));
}

TEST_F(PlanFile, WeightsAreMappedAndAligned) {
  save_plan(plan_of(folding(), {.refit = true}), path);  // with the sources of folds
  const Plan p = load_plan(path);
  for (const Weight& w : p.weights) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(w.value.tensor().data()) % 64, 0u);
    EXPECT_EQ(w.value.tensor().owner(), p.weights[0].value.tensor().owner());  // one mapping, no copies
  }
  EXPECT_EQ(list(engine_of(p).create_context().run(vector<Value>{floats({2}, {0, 0})})[0]),
            (vector<float>{11, 22}));
}

TEST_F(PlanFile, WhatIsReadSurvivesTheFile) {
  save_plan(plan_of(folding()), path);
  const Plan p = load_plan(path, true);
  std::filesystem::resize_file(path, 10);  // what is mapped would be gone
  EXPECT_EQ(list(engine_of(p).create_context().run(vector<Value>{floats({2}, {0, 0})})[0]),
            (vector<float>{11, 22}));
}

TEST_F(PlanFile, EveryTruncationIsAnError) {
  save_plan(rich_plan(), path);
  const std::string whole = bytes();
  for (size_t cut = 0; cut < whole.size(); cut += 7) {
    write(whole.substr(0, cut));
    EXPECT_EQ(code_of([&] { load_plan(path); }), Code::plan_malformed) << cut;
  }
  write(whole + "more");
  EXPECT_EQ(code_of([&] { load_plan(path); }), Code::plan_malformed);
  std::filesystem::remove(path);
  EXPECT_EQ(code_of([&] { load_plan(path); }), Code::file_not_found);
}

TEST_F(PlanFile, FlippedBitsInTheStructureAreErrors) {
  save_plan(rich_plan(), path);
  const std::string whole = bytes();
  uint64_t structure = 0;
  std::memcpy(&structure, whole.data() + 16, 8);
  for (size_t i = 0; i < whole.size(); i += i < 64 ? 1 : 11) {
    if (i >= 64 && i < structure) continue;
    std::string damaged = whole;
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    write(damaged);
    const Code c = code_of([&] { load_plan(path); });
    EXPECT_TRUE(c == Code::plan_malformed || c == Code::plan_version) << i << " " << code_name(c);
  }
}

TEST_F(PlanFile, OtherVersionsAreRefused) {
  save_plan(rich_plan(), path);
  std::string b = bytes();
  b[8] = static_cast<char>(b[8] + 1);
  write(b);
  EXPECT_EQ(code_of([&] { load_plan(path); }), Code::plan_version);
}

TEST_F(PlanFile, AModelInItsPlaceIsToBeBuiltFirst) {
  write(std::string(200, 'x'));
  try {
    load_plan(path);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), Code::plan_malformed);
    EXPECT_NE(std::string(e.what()).find("lathe build MODEL"), std::string::npos) << e.what();
  }
}

TEST_F(PlanFile, AWrongIndexBehindAGoodChecksumIsAnError) {
  const auto refused = [&](const std::function<void(Plan&)>& change) {
    Plan p = rich_plan();
    change(p);
    save_plan(p, path);
    return code_of([&] { load_plan(path); }) == Code::plan_malformed;
  };
  EXPECT_FALSE(refused([](Plan&) {}));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].steps[0].inputs[0] = 999; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].steps[0].outputs[0] = p.graphs[0].steps[0].inputs[0]; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].steps[0].inputs[0] = p.graphs[0].steps[0].outputs[0]; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].steps[0].bodies[0].graph = 0; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].steps[0].bodies[0].captures.clear(); }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].outputs[0] = 77; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].values[0].alias_of = 1; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].values[0].memory = 3; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs[0].values.back().weight = 50; }));
  EXPECT_TRUE(refused([](Plan& p) { p.taps[0].value = 99; }));
  EXPECT_TRUE(refused([](Plan& p) { p.taps[0].graph = 99; }));
  EXPECT_TRUE(refused([](Plan& p) { p.graphs.clear(); }));
}

TEST_F(PlanFile, NothingIsLeftWhenSavingFails) {
  const std::filesystem::path nowhere = path.parent_path() / "no such folder" / "x.lathe";
  EXPECT_EQ(code_of([&] { save_plan(rich_plan(), nowhere); }), Code::file_write_failed);
}

TEST(Plan, AnUnknownKernelIsNamed) {
  Plan p = plan_of(folding());
  p.graphs[0].steps[0].kernel = "npu.add";
  EXPECT_EQ(code_of([&] { engine_of(p); }), Code::plan_missing_kernel);
}

TEST(Plan, AKernelOnlyGetsWhatItAccepts) {
  GraphMaker g;
  const ValueType doubles = ValueType::tensor(DataType::float64, SymShape{2});
  const ValueId x = g.input("x", doubles);
  g.graph->set_outputs({g.node("Add", {x, x}, "y", doubles)});
  Plan p = plan_of(g);
  p.graphs[0].steps[0].kernel = "toy.add.cpu";
  EXPECT_EQ(code_of([&] { engine_of(p); }), Code::plan_target);
}

TEST(Plan, PackedArraysAreThoseTheKernelMakes) {
  const auto spoiled = [](auto&& spoil) {
    Plan p = plan_of(folding());
    spoil(p, p.graphs[0].steps[0]);
    return code_of([&] { engine_of(p); });
  };
  const auto contents = [](Plan& p, PlanStep& s) -> Value& {
    return p.weights[static_cast<size_t>(s.packed[1])].value;
  };
  EXPECT_EQ(spoiled([](Plan&, PlanStep& s) { s.packed = {}; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](Plan&, PlanStep& s) { s.packed[1] = -1; }), Code::plan_malformed);
  EXPECT_EQ(spoiled([&](Plan& p, PlanStep& s) { contents(p, s) = floats({1}, {22}); }), Code::plan_malformed);
  EXPECT_EQ(spoiled([&](Plan& p, PlanStep& s) { contents(p, s) = ints({22, 44}); }), Code::plan_malformed);
  EXPECT_EQ(spoiled([](Plan& p, PlanStep& s) {  // a constant of another shape than declared
              const PlanValue& b = p.graphs[0].values[static_cast<size_t>(s.inputs[1])];
              p.weights[static_cast<size_t>(b.weight)].value = floats({1}, {11});
            }),
            Code::plan_malformed);
}

TEST(Plan, OperandsThatAreMissingAreAnError) {
  const vector<Value> x{floats({2}, {1, 1})};
  Plan p = plan_of(folding(), {.backend = "reference"});
  p.graphs[0].steps[0].inputs.resize(1);
  EXPECT_EQ(code_of([&] { engine_of(p).create_context().run(x); }), Code::internal);
  p = plan_of(folding(), {.backend = "reference"});
  p.graphs[0].steps[0].outputs = {-1};
  p.graphs[0].outputs = p.graphs[0].inputs;
  EXPECT_EQ(code_of([&] { engine_of(p).create_context().run(x); }), Code::internal);
}

TEST(Plan, MemoryIsWhereItIsSaidToBe) {
  Plan p = plan_of(folding());
  p.backends = {"cpu"};  // the host is memory 0, and no device
  EXPECT_EQ(code_of([&] { engine_of(p); }), Code::plan_malformed);
  p.graphs[0].values[p.graphs[0].inputs[0]].memory = 1;
  EXPECT_EQ(code_of([&] { verify(p); }), Code::plan_malformed);
}

/// A catalog where the fast Add needs AVX-512 and packs in its own way.
const KernelCatalog& wide_catalog() {
  static const KernelCatalog catalog = [] {
    KernelCatalog c;
    register_toy_ops(c);
    Kernel wide = *c.by_name("toy.add.cpu");
    wide.name = "toy.add.avx512";
    wide.isa = Isa::avx512;
    c.add(std::move(wide));
    return c;
  }();
  return catalog;
}

TEST(Plan, OpensOnALesserMachineByPackingAnew) {
  const auto extensions = Extensions::of(wide_catalog());
  Plan p = plan_of(folding());
  PlanStep& step = p.graphs[0].steps[0];
  p.target.isa = Isa::avx512;
  step.kernel = "toy.add.avx512";
  step.packed = {-1, -1};
  const size_t weights = p.weights.size();  // one of them is read no longer
  retarget(p, wide_catalog(), Isa::generic);
  EXPECT_EQ(p.target.isa, Isa::generic);
  EXPECT_EQ(step.kernel, "toy.add.cpu");
  EXPECT_EQ(step.refusals, vector<std::string>{"toy.add.avx512: needs avx512"});
  EXPECT_EQ(p.weights.size(), weights);
  EXPECT_EQ(list(engine_of(p).create_context().run(vector<Value>{floats({2}, {1, 1})})[0]),
            (vector<float>{12, 23}));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
