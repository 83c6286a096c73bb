// Every stored array can be made anew from its sources, with nothing but the plan and the kernels.
#include "runtime/weight_program.h"

#include <gtest/gtest.h>

#include <cstring>

#include "runtime/engine_impl.h"
#include "support/error_code.h"
#include "support/model_builder.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using test::ModelBuilder;

const KernelCatalog& kernels() { return KernelCatalog::standard(); }
const Plan& plan_of(const Engine& e) { return e.impl()->program.plan(); }
Engine engine_of(Plan plan) {
  return EngineAccess::make(
      std::make_shared<const Engine::Impl>(std::move(plan), Extensions::none(), ProgramOptions{}));
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || !(a.shape() == b.shape())) return false;
  if (a.type() == DataType::string) return std::ranges::equal(a.as<std::string>(), b.as<std::string>());
  return a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

bool same_plan_weights(const Plan& a, const Plan& b) {
  if (a.weights.size() != b.weights.size()) return false;
  for (size_t i = 0; i < a.weights.size(); ++i)
    if (!same_bytes(a.weights[i].value.tensor(), b.weights[i].value.tensor())) return false;
  return true;
}

size_t count(const Plan& p, WeightRecipe::Kind kind) {
  return static_cast<size_t>(
      std::ranges::count_if(p.weights, [&](const Weight& w) { return w.recipe.kind == kind; }));
}

/// Overwrites computed weights, so that only their types and shapes are left.
Plan without_results(const Plan& plan) {
  Plan p = plan;
  for (Weight& w : p.weights) {
    if (w.recipe.kind == WeightRecipe::Kind::source) continue;
    const Tensor& t = w.value.tensor();
    Tensor blank(t.type(), t.shape());
    if (t.type() != DataType::string && t.bytes() > 0) std::memset(blank.data(), 0x55, blank.bytes());
    w.value = std::move(blank);
  }
  return p;
}

void set_source(Plan& p, const std::string& name, const Tensor& t) {
  for (Weight& w : p.weights)
    if (w.recipe.kind == WeightRecipe::Kind::source && w.recipe.source == name) w.value = t;
}

/// y = x · (2w) + (b1 + b2): both operands fold, the matrix is packed.
onnx::Model folding(std::vector<float> w = {1, 2, 3, 4, 5, 6}) {
  ModelBuilder b(17);
  b.input("x", "float[batch,2]").output("y");
  b.initializer(test::float_tensor("w", {2, 3}, std::move(w)));
  b.initializer(test::float_tensor("two", {}, {2}));
  b.initializer(test::float_tensor("b1", {3}, {-5, 0, 1}));
  b.initializer(test::float_tensor("b2", {3}, {-5, 0, -1}));
  b.initializer(test::int64_tensor("sizes", {2}, {1, 2}));
  b.node("Mul", {"w", "two"}, {"w2"});
  b.node("Add", {"b1", "b2"}, {"b"});
  b.node("Split", {"b", "sizes"}, {"head", "tail"});
  b.node("MatMul", {"x", "w2"}, {"xw"});
  b.node("Concat", {"tail", "head"}, {"turned"}, {test::int_attribute("axis", 0)});
  b.node("Add", {"xw", "turned"}, {"y"});
  return std::move(b.model);
}

TEST(WeightProgram, MakesTheSameBytesAgain) {
  const Plan built = plan_of(Engine::build(folding()));
  EXPECT_GE(count(built, WeightRecipe::Kind::fold), 5u);
  EXPECT_GE(count(built, WeightRecipe::Kind::pack), 1u);
  Plan p = without_results(built);
  EXPECT_FALSE(same_plan_weights(p, built));
  replay_weights(p, kernels());
  EXPECT_TRUE(same_plan_weights(p, built));
}

/// A stack that grew with the chain would not last.
TEST(WeightProgram, ChainsAreAsLongAsAFileLikes) {
  const int length = 50'000;
  ModelBuilder b(17);
  b.input("x", "float[1]").output("y").initializer(test::float_tensor("v0", {1}, {0.5f}));
  for (int i = 0; i < length; ++i) b.node("Sin", {"v" + std::to_string(i)}, {"v" + std::to_string(i + 1)});
  b.node("Add", {"x", "v" + std::to_string(length)}, {"y"});
  const Plan built = plan_of(Engine::build(b.model));
  EXPECT_EQ(count(built, WeightRecipe::Kind::fold), static_cast<size_t>(length));
  Plan p = without_results(built);
  replay_weights(p, kernels());
  EXPECT_TRUE(same_plan_weights(p, built));
}

TEST(WeightProgram, CarriesChangedSourcesThrough) {
  const std::vector<float> changed{6, 5, 4, 3, 2, 1};
  Plan p = plan_of(Engine::build(folding()));
  set_source(p, "w", Tensor::from<float>({2, 3}, changed));
  replay_weights(p, kernels());
  const std::vector<Value> x{Tensor::from<float>({1, 2}, std::vector<float>{1, 10})};
  const std::vector<Value> want = Engine::build(folding(changed)).create_context().run(x);
  EXPECT_EQ(difference(engine_of(std::move(p)).create_context().run(x)[0], want[0], 0, 0), "");
}

TEST(WeightProgram, LeavesThePlanAloneWhenItFails) {
  const Plan built = plan_of(Engine::build(folding()));
  Plan p = built;
  set_source(p, "w", Tensor::from<float>({1, 3}, std::vector<float>{1, 2, 3}));
  const Plan before = p;
  EXPECT_EQ(code_of([&] { replay_weights(p, kernels()); }), Code::plan_malformed);
  EXPECT_TRUE(same_plan_weights(p, before));
  RunControl control;
  control.cancel();
  EXPECT_EQ(code_of([&] { replay_weights(p, kernels(), &control); }), Code::cancelled);
}

/// y = x · ((w + w) * 2), of so many weights that what is folded is worth letting go of.
onnx::Model folding_much(int64_t size) {
  ModelBuilder b(17);
  std::vector<float> w(static_cast<size_t>(size * size));
  for (size_t i = 0; i < w.size(); ++i) w[i] = static_cast<float>(i % 17) - 8;
  b.input("x", "float[1," + std::to_string(size) + "]").output("y");
  b.initializer(test::float_tensor("w", {size, size}, std::move(w)));
  b.initializer(test::float_tensor("two", {}, {2}));
  b.node("Add", {"w", "w"}, {"w2"}).node("Mul", {"w2", "two"}, {"w4"}).node("MatMul", {"x", "w4"}, {"y"});
  return std::move(b.model);
}

TEST(WeightProgram, WhatOnlyPackingReadIsLetGoAndFoldedAgain) {
  const int64_t size = 192;
  const onnx::Model model = folding_much(size);
  const Engine e = Engine::build(model, {.isa = "avx2"});
  const auto folds = [](const Plan& p, bool stored) {
    return std::ranges::count_if(p.weights, [&](const Weight& w) {
      return w.recipe.kind == WeightRecipe::Kind::fold && w.stored == stored;
    });
  };
  ASSERT_GE(count(plan_of(e), WeightRecipe::Kind::pack), 1u);
  EXPECT_EQ(folds(plan_of(e), true), 0);
  EXPECT_EQ(folds(plan_of(e), false), 2);
  const Plan whole = with_folded(plan_of(e), kernels());
  EXPECT_EQ(folds(whole, false), 0);
  const Engine refit = Engine::build(model, {.isa = "avx2", .refit = true});
  EXPECT_EQ(folds(plan_of(refit), false), 0);  // an exchange should not fold what does not change
  EXPECT_TRUE(same_plan_weights(whole, plan_of(refit)));
  // The portable section has the weights that a machine with fewer instructions packs, and those of the file
  // stay.
  const std::vector<Value> x{Tensor::from<float>({1, size}, std::vector<float>(size, 0.5F))};
  const std::vector<Value> want = e.create_context().run(x);
  const Engine generic = Engine::deserialize(e.serialize(), {.isa = "generic"});
  EXPECT_EQ(difference(generic.create_context().run(x)[0], want[0], 1e-3, 1e-6), "");
  EXPECT_EQ(folds(plan_of(generic), false), 1);  // w + w, which no file holds
  EXPECT_EQ(generic.serialize().size(), Engine::deserialize(generic.serialize()).serialize().size());
}

/// Large weights are read from their file one after the other into the same memory: what is folded of them,
/// by copying or by another shape alone, is their own.
TEST(WeightProgram, FoldsLargeWeightsOfAFile) {
  const int64_t size = 520;
  ModelBuilder b(17);
  b.input("x", "float[1," + std::to_string(size) + "]").output("y");
  for (int i = 0; i < 4; ++i) {
    std::vector<float> w(size * size);
    for (size_t k = 0; k < w.size(); ++k)
      w[k] = static_cast<float>((k * 7 + static_cast<size_t>(i)) % 13) - 6;
    const std::string name = "w" + std::to_string(i);
    // The names have all lengths, so that some are at odd addresses.
    b.initializer(
        test::float_tensor(name + std::string(static_cast<size_t>(i), 'x'), {size * size}, std::move(w)));
  }
  b.initializer(test::int64_tensor("square", {2}, {size, size}));
  b.node("Reshape", {"w0", "square"}, {"a"});
  b.node("Reshape", {"w1x", "square"}, {"b"}).node("Add", {"a", "b"}, {"ab"});
  b.node("Identity", {"w2xx"}, {"same"}).node("Reshape", {"same", "square"}, {"c"});
  b.node("Mul", {"w3xxx", "w2xx"}, {"product"}).node("Reshape", {"product", "square"}, {"d"});
  b.node("MatMul", {"x", "ab"}, {"h"}).node("MatMul", {"h", "c"}, {"i"}).node("MatMul", {"i", "d"}, {"y"});
  const TempDirectory folder;
  const auto path = folder.write("model.onnx", onnx::serialize(b.model.proto));
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
    const BuildOptions options{.isa = "avx2", .precision = precision};
    const Plan of_file = with_folded(plan_of(Engine::build(path, options)), kernels()),
               of_memory = with_folded(plan_of(Engine::build(b.model, options)), kernels());
    EXPECT_GE(count(of_file, WeightRecipe::Kind::fold), 3u);
    EXPECT_TRUE(same_plan_weights(of_file, of_memory));
  }
}

/// Models small enough to be built several times, with folds or packed arrays.
std::vector<ConformanceCase> models(const std::filesystem::path& shared) {
  std::vector<ConformanceCase> list;
  for (ConformanceCase& c : model_cases(shared, false))
    if (std::filesystem::file_size(c.model) < (4u << 20)) list.push_back(std::move(c));
  return list;
}

TEST(WeightProgram, MakesTheArraysOfRealModelsAgain) {
  LATHE_NEEDS_SHARED(shared);
  size_t folds = 0, packs = 0;
  for (const ConformanceCase& c : models(shared)) {
    Plan built;
    try {
      built = plan_of(Engine::build(c.model));
    } catch (const Error&) {  // operators that are still missing
      continue;
    }
    folds += count(built, WeightRecipe::Kind::fold);
    packs += count(built, WeightRecipe::Kind::pack);
    Plan p = without_results(built);
    replay_weights(p, kernels());
    EXPECT_TRUE(same_plan_weights(p, built)) << c.name;
  }
  EXPECT_GT(folds, 100u);
  EXPECT_GT(packs, 100u);
}

/// The model with its larger float initializers halved: what sizes and axes are made of stays.
onnx::Model halved(const onnx::Model& m, std::map<std::string, Tensor>& changed) {
  onnx::Model copy = m;
  for (onnx::TensorProto& t : copy.proto.graph->initializer) {
    if (t.data_type != static_cast<int32_t>(DataType::float32)) continue;
    Tensor half = onnx::to_tensor(t, &m).clone();
    if (half.size() < 16) continue;
    for (float& x : half.as<float>()) x /= 2;
    changed[t.name.value_or("")] = half;
    t = onnx::from_tensor(half, t.name.value_or(""));
  }
  return copy;
}

TEST(WeightProgram, ChangedWeightsAnswerAsARebuiltModelDoes) {
  LATHE_NEEDS_SHARED(shared);
  size_t compared = 0;
  for (const std::string name : {"mnist_8", "gtcrn_simple", "silero_vad_v6", "ultraface_rfb_320"})
    for (const ConformanceCase& c : model_cases(shared, false)) {
      if (c.name != name) continue;
      const onnx::Model model = onnx::Model::load(c.model);
      std::map<std::string, Tensor> changed;
      const Engine rebuilt = Engine::build(halved(model, changed));
      Plan p = plan_of(Engine::build(model));
      for (const auto& [source, t] : changed) set_source(p, source, t);
      replay_weights(p, kernels());
      Context replayed = engine_of(std::move(p)).create_context();
      run_case(c, {}, [&](Engine&, const std::vector<Value>& inputs) {
        const auto got = replayed.run(inputs), want = rebuilt.create_context().run(inputs);
        for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(difference(got[i], want[i], 0, 0), "") << name;
        ++compared;
        return got;
      });
    }
  EXPECT_GE(compared, 4u);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
