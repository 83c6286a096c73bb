// The arrays of a plan: where they come from, which of them a file holds, and how damage to them is found.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>

#include "base/cpu.h"
#include "kernel/select.h"
#include "lathe/lathe.h"
#include "plan/checksum.h"
#include "plan/plan_file.h"
#include "runtime/engine_impl.h"
#include "runtime/retarget.h"
#include "runtime/weight_program.h"
#include "support/error_code.h"
#include "support/model_builder.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using namespace test;

Tensor noise(Shape shape, unsigned seed) {
  Tensor t(DataType::float32, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> between(-1, 1);
  for (float& x : t.as<float>()) x = between(random);
  return t;
}
onnx::TensorProto noise_initializer(const std::string& name, Shape shape, unsigned seed) {
  return onnx::from_tensor(noise(std::move(shape), seed), name);
}

/// The network reads large weights in every way: by Gather, in products, transposed, and in convolutions of
/// all kinds.
onnx::Model network(const std::string& doc = {}) {
  ModelBuilder b(17);
  b.input("id", "int64[3]").input("image", "float[1,32,9,9]").output("y").output("z");
  b.initializer(noise_initializer("table", {300, 96}, 1))
      .initializer(noise_initializer("w1", {96, 190}, 2))
      .initializer(noise_initializer("w2", {101, 190}, 3))
      .initializer(noise_initializer("bias", {101}, 4))
      .initializer(noise_initializer("k3", {70, 32, 3, 3}, 5))
      .initializer(noise_initializer("k1", {600, 70, 1, 1}, 6))
      .initializer(noise_initializer("k2", {20, 600, 3, 3}, 7))
      .initializer(noise_initializer("two", {}, 8))
      .initializer(noise_initializer("w3", {20, 1000}, 9));
  b.node("Gather", {"table", "id"}, {"rows"})
      .node("MatMul", {"rows", "w1"}, {"m"})
      .node("Gemm", {"m", "w2", "bias"}, {"y"}, {int_attribute("transB", 1)})
      .node("Conv", {"image", "k3"}, {"a"}, {ints_attribute("pads", {1, 1, 1, 1})})
      .node("Conv", {"a", "k1"}, {"b"})
      .node("Conv", {"b", "k2"}, {"c"}, {ints_attribute("strides", {2, 2})})
      .node("GlobalAveragePool", {"c"}, {"d"})
      .node("Flatten", {"d"}, {"e"})
      .node("Mul", {"w3", "two"}, {"w4"})
      .node("MatMul", {"e", "w4"}, {"z"});
  if (!doc.empty()) b.model.proto.doc_string = doc;
  return std::move(b.model);
}
std::vector<Value> inputs() {
  return {Tensor::from<int64_t>({3}, std::vector<int64_t>{7, 299, 0}), noise({1, 32, 9, 9}, 10)};
}
std::vector<Value> answers(const Engine& e) { return e.create_context().run(inputs()); }
void expect_same(const std::vector<Value>& got, const std::vector<Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) EXPECT_EQ(difference(got[i], want[i], 0, 0), "") << i;
}
/// Sums of thousands of terms, in another order: as near as the largest of them allows.
void expect_close(const std::vector<Value>& got, const std::vector<Value>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    double largest = 0;
    for (float x : want[i].tensor().as<float>()) largest = std::max(largest, std::abs(double{x}));
    EXPECT_EQ(difference(got[i], want[i], 1e-4, 1e-4 * largest), "") << i;
  }
}
const Plan& plan_of(const Engine& e) { return e.impl()->program.plan(); }
std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PlanWeights, MayLieAtAnyAddressOfAModel) {
  const TempDirectory dir;
  for (const char* isa : {"generic", "avx2", "avx512"}) {
    const std::vector<Value> want = answers(Engine::build(network(), {.isa = isa}));
    size_t odd = 0;
    for (size_t shift = 0; shift < 4; ++shift) {
      onnx::save(network(std::string(shift + 1, '.')), dir / "model.onnx",
                 {.data = onnx::SaveOptions::Data::single_file, .external_name = {}});
      const Engine e = Engine::build(dir / "model.onnx", {.isa = isa});
      for (const Weight& w : plan_of(e).weights)
        odd += reinterpret_cast<uintptr_t>(w.value.tensor().data()) % 4 != 0;
      expect_same(answers(e), want);
    }
    EXPECT_GT(odd, 0u) << "every weight was aligned by chance, or copied";
  }
}

TEST(PlanWeights, ArePackedAlikeByAnyNumberOfThreads) {
  const Engine one = Engine::build(network(), {.threads = 1}),
               four = Engine::build(network(), {.threads = 4});
  const auto &a = plan_of(one).weights, &b = plan_of(four).weights;
  ASSERT_EQ(a.size(), b.size());
  size_t packed = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const Tensor &x = a[i].value.tensor(), &y = b[i].value.tensor();
    ASSERT_EQ(x.bytes(), y.bytes());
    EXPECT_EQ(std::memcmp(x.data(), y.data(), x.bytes()), 0) << a[i].name;
    packed += a[i].recipe.kind == WeightRecipe::Kind::pack;
  }
  EXPECT_GE(packed, 6u);
}

TEST(Checksum, ChangesWithEveryBit) {
  std::string bytes(333, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 37);
  for (size_t length : {0u, 1u, 7u, 63u, 64u, 65u, 128u, 333u}) {
    const uint64_t whole = checksum_of(bytes.data(), length);
    EXPECT_NE(checksum_of(bytes.data(), length + 1), whole);
    for (size_t bit = 0; bit < 8 * length; ++bit) {
      std::string damaged = bytes;
      damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_NE(checksum_of(damaged.data(), length), whole) << length << " " << bit;
    }
  }
}

class SavedPlan : public ::testing::Test {
 protected:
  SavedPlan() { Engine::build(network()).save(path); }
  TempDirectory dir;
  std::filesystem::path path = dir / "plan.lathe";
};

TEST_F(SavedPlan, NamesTheArraysThatAreDamaged) {
  EXPECT_TRUE(check_plan(path).empty());
  EXPECT_NO_THROW(Engine::load(path, {.verify_weights = true}));
  const std::string whole = bytes_of(path);
  const Plan p = load_plan(path);
  size_t checked = 0;
  for (const Weight& w : p.weights) {
    const Tensor& t = w.value.tensor();
    if (!w.stored || t.bytes() == 0) continue;
    const size_t at = whole.find(std::string_view(static_cast<const char*>(t.data()), t.bytes()));
    ASSERT_NE(at, std::string::npos) << w.name;
    for (size_t byte : {at, at + t.bytes() / 2, at + t.bytes() - 1}) {
      std::string damaged = whole;
      damaged[byte] = static_cast<char>(damaged[byte] ^ 0x10);
      const auto file = dir.write("damaged.lathe", damaged);
      EXPECT_NO_THROW(Engine::load(file)) << w.name;  // the structure is whole
      const auto found = check_plan(file);
      ASSERT_EQ(found.size(), 1u) << w.name;
      EXPECT_EQ(found[0].code, Code::plan_damaged);
      EXPECT_EQ(found[0].node, w.name);
      EXPECT_EQ(code_of([&] { Engine::load(file, {.verify_weights = true}); }), Code::plan_damaged);
    }
    ++checked;
  }
  EXPECT_GE(checked, 12u);
  EXPECT_EQ(check_plan(dir.write("short.lathe", whole.substr(0, whole.size() / 2))).at(0).code,
            Code::plan_malformed);
  EXPECT_EQ(code_of([&] { check_plan(dir / "none.lathe"); }), Code::file_not_found);
}

TEST_F(SavedPlan, OpensOnLesserMachinesFromItsPortableSection) {
  const Isa best = choose_isa("");
  const std::vector<Value> want = answers(Engine::load(path));
  const TargetInfo here = Engine::load(path).target();
  EXPECT_EQ(here.isa, name_of(best));
  EXPECT_EQ(here.built_for, name_of(best));
  EXPECT_EQ(here.section, "native");
  for (Isa isa : {Isa::generic, Isa::avx2}) {
    if (isa >= best) continue;
    for (int threads : {1, 3}) {
      const Engine lesser = Engine::load(path, {.threads = threads, .isa = std::string(name_of(isa))});
      EXPECT_EQ(lesser.target().isa, name_of(isa));
      EXPECT_EQ(lesser.target().built_for, name_of(best));
      EXPECT_EQ(lesser.target().section, "portable");
      expect_close(answers(lesser), want);
      for (const StepInfo& s : lesser.steps())
        EXPECT_EQ(s.kernel.find(name_of(best)), std::string::npos) << s.kernel;
    }
  }
}

TEST_F(SavedPlan, WithoutItsPortableSectionIsSmallerAndForMachinesLikeThis) {
  const auto native = dir / "native.lathe";
  Engine::build(network(), {.portable = false}).save(native);
  const auto saved = std::filesystem::file_size(path) - std::filesystem::file_size(native);
  EXPECT_GE(saved, 4u * (96 * 190 + 101 * 190 + 70 * 32 * 9 + 600 * 70 + 20 * 600 * 9 + 20 * 1000));
  EXPECT_TRUE(check_plan(native).empty());
  const Engine e = Engine::load(native, {.verify_weights = true});
  EXPECT_EQ(e.target().section, "native");
  expect_same(answers(e), answers(Engine::load(path)));
  if (choose_isa("") > Isa::generic) {
    EXPECT_EQ(code_of([&] { Engine::load(native, {.isa = "generic"}); }), Code::plan_target);
  }
  e.save(dir / "again.lathe");  // what was left out stays left out
  EXPECT_EQ(std::filesystem::file_size(dir / "again.lathe"), std::filesystem::file_size(native));
  expect_same(answers(Engine::load(dir / "again.lathe")), answers(e));
}

TEST_F(SavedPlan, HoldsSourcesOfFoldsOnlyWhereWeightsMayBeExchanged) {
  const auto find = [](const Plan& p, const char* source) -> const Weight& {
    return *std::ranges::find_if(p.weights, [&](const Weight& w) {
      return w.recipe.kind == WeightRecipe::Kind::source && w.recipe.source == source;
    });
  };
  Plan p = load_plan(path);
  EXPECT_FALSE(find(p, "w3").stored);  // only w3 * two is packed
  EXPECT_TRUE(find(p, "w1").stored);
  EXPECT_EQ(code_of([&] { replay_weights(p, KernelCatalog::standard()); }), Code::plan_target);
  const auto refit = dir / "refit.lathe";
  Engine::build(network(), {.refit = true}).save(refit);
  Plan q = load_plan(refit);
  EXPECT_TRUE(find(q, "w3").stored);
  replay_weights(q, KernelCatalog::standard());
  const Engine replayed = EngineAccess::make(
      std::make_shared<const Engine::Impl>(std::move(q), Extensions::none(), ProgramOptions{}));
  expect_same(answers(replayed), answers(Engine::load(refit)));
}

TEST_F(SavedPlan, WhatIsLeftOutIsNotRead) {
  const auto spoiled = [&](auto&& spoil, const BuildOptions& options = {}) {
    Plan p = load_plan(path);
    spoil(p);
    save_plan(p, dir / "spoiled.lathe");
    return code_of([&] { answers(Engine::load(dir / "spoiled.lathe", options)); });
  };
  const auto leave_out = [](WeightRecipe::Kind kind, bool all) {
    return [=](Plan& p) {
      for (Weight& w : p.weights)
        if (w.recipe.kind == kind && std::exchange(w.stored, false) && !all) return;
    };
  };
  EXPECT_EQ(spoiled([](Plan&) {}), Code::none);
  EXPECT_EQ(spoiled(leave_out(WeightRecipe::Kind::pack, false)), Code::plan_malformed);
  EXPECT_EQ(spoiled(leave_out(WeightRecipe::Kind::source, true)), Code::plan_malformed);
  // The plan claims to be portable, but is not.
  const auto sources = [](Plan& p) {
    for (Weight& w : p.weights)
      if (w.recipe.kind == WeightRecipe::Kind::pack) p.weights[w.recipe.from.at(0)].stored = false;
  };
  EXPECT_EQ(spoiled(sources), Code::none);
  if (choose_isa("") > Isa::generic) {
    EXPECT_EQ(spoiled(sources, {.isa = "generic"}), Code::plan_target);
  }
  // The array exceeds any memory, but nothing needs it.
  EXPECT_NE(spoiled([](Plan& p) {
              for (Weight& w : p.weights)
                if (!w.stored) w.value = Tensor::view(DataType::float32, {int64_t{1} << 58}, nullptr);
            }),
            Code::internal);
  // A packed array in the place of a constant.
  EXPECT_EQ(spoiled([](Plan& p) {
              for (PlanStep& s : p.graphs[0].steps)
                for (size_t i = 0; i < s.packed.size(); ++i)
                  if (s.packed[i] >= 0) {
                    p.graphs[0].values[static_cast<size_t>(s.inputs[i])].weight = s.packed[i];
                    return;
                  }
            }),
            Code::plan_malformed);
}

TEST_F(SavedPlan, TwoStepsThatNameOnePackedArrayAreSurvived) {
  Plan p = load_plan(path);
  int32_t first = -1;
  for (PlanStep& s : p.graphs[0].steps)
    for (int32_t& w : s.packed)
      if (w >= 0) w = first < 0 ? first = w : first;
  save_plan(p, dir / "shared.lathe");
  for (const char* isa : {"generic", ""}) {
    const Code c = code_of([&] { answers(Engine::load(dir / "shared.lathe", {.isa = isa})); });
    EXPECT_TRUE(c == Code::none || c == Code::plan_malformed) << code_name(c);
  }
}

/// The bytes of a mapping of this file in this process, by a key of /proc/self/smaps.
uint64_t mapped(const std::filesystem::path& file, const std::string& word) {
  std::ifstream smaps("/proc/self/smaps");
  uint64_t sum = 0;
  bool here = false;
  for (std::string line; std::getline(smaps, line);) {
    if (line.find('-') < line.find(' ') && line.find(':') > line.find(' '))
      here = line.ends_with(file.string());
    else if (here && line.starts_with(word + ":"))
      sum += std::stoull(line.substr(word.size() + 1)) * 1024;
  }
  return sum;
}

/// A chain of products with 64 MiB of weights.
onnx::Model large_model() {
  ModelBuilder b(17);
  b.input("x", "float[1,1024]").output("y");
  std::string from = "x";
  for (int i = 0; i < 16; ++i) {
    const std::string w = "w" + std::to_string(i), to = i == 15 ? "y" : "v" + std::to_string(i);
    b.initializer(noise_initializer(w, {1024, 1024}, static_cast<unsigned>(i)))
        .node("MatMul", {from, w}, {to});
    from = to;
  }
  return std::move(b.model);
}

TEST(LargePlan, TakesNoMemoryUntilItIsUsed) {
  const TempDirectory dir;
  const auto path = dir / "large.lathe";
  Engine::build(large_model()).save(path);
  const uint64_t size = std::filesystem::file_size(path);
  const Engine e = Engine::load(path, {.threads = 1});
  EXPECT_LT(mapped(path, "Rss"), size / 20);
  const std::vector<Value> x{noise({1, 1024}, 99)};
  Context c = e.create_context();
  const std::vector<Value> first = c.run(x);
  const uint64_t used = mapped(path, "Rss");
  EXPECT_GE(used, (16u << 22) / 8 * 7);  // the packed weights, each in 28 bits or more
  EXPECT_LT(used, size * 6 / 10);        // and not those that only other machines need
  e.trim();
  EXPECT_LT(mapped(path, "Rss"), size / 20);
  c.trim();
  EXPECT_EQ(c.memory_in_use(), 0u);
  expect_same(c.run(x), first);
}

/// The private memory of this process, in bytes.
uint64_t private_bytes() {
  std::ifstream smaps("/proc/self/smaps_rollup");
  uint64_t sum = 0;
  for (std::string line; std::getline(smaps, line);)
    if (line.starts_with("Private_Clean:") || line.starts_with("Private_Dirty:"))
      sum += std::stoull(line.substr(line.find(':') + 1)) * 1024;
  return sum;
}

/// The next test starts this one as a process of its own, which reports how much it grew.
TEST(LargePlan, DISABLED_SecondProcess) {
  const char* path = std::getenv("LATHE_SECOND_PROCESS");
  ASSERT_TRUE(path);
  // The small plan takes the memory that the library needs once, for any plan.
  const Engine small = Engine::load(std::string(path) + ".small", {.threads = 1});
  small.create_context().run(inputs());
  const uint64_t before = private_bytes();
  const Engine e = Engine::load(path, {.threads = 1});
  Context c = e.create_context();
  c.run(std::vector<Value>{noise({1, 1024}, 99)});
  const uint64_t after = private_bytes();
  ASSERT_GT(before, 0u);
  ASSERT_GE(after, before);
  std::ofstream(std::string(path) + ".grown") << after - before;
}

TEST(LargePlan, IsSharedByProcesses) {
  const TempDirectory dir;
  const auto path = dir / "large.lathe";
  Engine::build(large_model()).save(path);
  Engine::build(network()).save(path.string() + ".small");
  const uint64_t size = std::filesystem::file_size(path);
  const Engine here = Engine::load(path, {.threads = 1});
  Context running = here.create_context();
  running.run(std::vector<Value>{noise({1, 1024}, 99)});
  EXPECT_GT(mapped(path, "Rss"), size / 3);
  // The process is started anew, not forked, so that it shares no memory with this one.
  const std::string command =
      "LATHE_SECOND_PROCESS='" + path.string() + "' '" +
      std::filesystem::read_symlink("/proc/self/exe").string() +
      "' --gtest_also_run_disabled_tests --gtest_filter=LargePlan.DISABLED_SecondProcess"
      " > '" +
      path.string() + ".log' 2>&1";
  ASSERT_EQ(std::system(command.c_str()), 0) << bytes_of(path.string() + ".log");
  const std::string grown = bytes_of(path.string() + ".grown");
  ASSERT_FALSE(grown.empty());
  std::printf("a second process grew by %s bytes of a plan of %ju\n", grown.c_str(), uintmax_t{size});
// Sanitizers have memory of their own for all of ours.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(std::stoull(grown), size / 50);
#endif
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
