// Weights exchanged in engines that stay: the same bits as an engine that was built with them, nothing else
// touched, and back again.
#include "lathe/refit.h"

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "lathe/builder.h"
#include "lathe/checkpoint.h"
#include "lathe/lathe.h"
#include "network/cases.h"
#include "runtime/engine_impl.h"
#include "support/checkpoint_files.h"
#include "support/error_code.h"
#include "support/shared_data.h"
#include "support/temp_directory.h"
#include "support/text_model.h"
#include "tensor/element.h"

namespace lathe::testing {
namespace LATHE_TEST_FILE {

using std::vector;

const BuildOptions refittable{.refit = true};

bool same_bits(const Value& a, const Value& b) {
  if (!a.is_tensor() || !b.is_tensor()) return compare(a, b, 0, 0).equal;
  const Tensor &x = a.tensor(), &y = b.tensor();
  if (x.type() != y.type() || x.shape() != y.shape()) return false;
  if (x.type() == DataType::string) return std::ranges::equal(x.as<std::string>(), y.as<std::string>());
  return x.bytes() == 0 || std::memcmp(x.data(), y.data(), x.bytes()) == 0;
}
bool same_bits(const vector<Value>& a, const vector<Value>& b) {
  return std::ranges::equal(a, b, [](const Value& x, const Value& y) { return same_bits(x, y); });
}
bool same_bits(const NamedValues& a, const NamedValues& b) {
  return std::ranges::equal(
      a, b, [](const auto& x, const auto& y) { return x.first == y.first && same_bits(x.second, y.second); });
}

/// A product whose weights are scaled and whose bias is a sum (folds), a convolution with a normalization in
/// its weights (folds, packed), and an embedding (read as it is).
constexpr std::string_view small = R"((float[N,6] x, float[1,3,8,8] image, int64[K] words)
      => (float[N,4] y, float[1,16,8,8] z, float[K,5] e)
  <float[6,4] w = {}, float[1] scale = {}, float[4] b1 = {}, float[4] b2 = {},
   float[16,3,3,3] kernel = {}, float[16] gamma = {}, float[16] beta = {}, float[16] mean = {},
   float[16] variance = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16}, float[7,5] table = {}, int64[2] turned = {4, -1}> {
    scaled = Mul(w, scale)
    product = MatMul(x, scaled)
    bias = Add(b1, b2)
    y = Add(product, bias)
    conv = Conv<pads = [1, 1, 1, 1]>(image, kernel)
    norm = BatchNormalization(conv, gamma, beta, mean, variance)
    z = Relu(norm)
    e = Gather(table, words)
    flat = Reshape(y, turned)
  })";

vector<Value> inputs_of_small() {
  return {random_tensor(DataType::float32, {3, 6}, 5), random_tensor(DataType::float32, {1, 3, 8, 8}, 6),
          Tensor::from<int64_t>({3}, vector<int64_t>{6, 0, 3})};
}

/// Other floats for every weight that the engine has.
NamedWeights other_weights(const Engine& e, uint64_t seed) {
  const Refitter r(e);
  NamedWeights all;
  for (const std::string& name : r.all()) {
    const WeightInfo w = r.prototype(name);
    if (!is_float(w.type) || bits_of(w.type) < 16) continue;
    const Tensor made = random_tensor(DataType::float32, w.shape, ++seed);
    Tensor t(w.type, w.shape);
    for (int64_t i = 0; i < t.size(); ++i) store_double(t, i, std::abs(load_double(made, i)) + 0.125);
    all.emplace(name, std::move(t));
  }
  return all;
}

/// Replaces initializers and values of Constant nodes, in bodies too.
void replace(onnx::GraphProto& g, const NamedWeights& weights) {
  for (onnx::TensorProto& t : g.initializer)
    if (const auto at = weights.find(t.name.value_or("")); at != weights.end())
      t = onnx::from_tensor(at->second, at->first);
  for (onnx::NodeProto& n : g.node)
    for (onnx::AttributeProto& a : n.attribute) {
      if (a.g) replace(*a.g, weights);
      if (n.op_type != "Constant" || a.name != "value") continue;
      if (const auto at = weights.find(n.output.at(0)); at != weights.end())
        a.t = onnx::from_tensor(at->second, at->first);
    }
}
onnx::Model with(const onnx::Model& model, const NamedWeights& weights) {
  onnx::Model copy = model;
  replace(*copy.proto.graph, weights);
  return copy;
}

NamedWeights weights_of(const Engine& e) {
  const Refitter r(e);
  NamedWeights all;
  for (const std::string& name : r.all()) all.emplace(name, r.get_named_weights(name).clone());
  return all;
}

std::string safetensors_of(const NamedWeights& weights, const std::string& prefix) {
  std::string header = "{", data;
  for (const auto& [name, t] : weights) {
    std::string dims;
    for (int64_t d : t.shape()) dims += (dims.empty() ? "" : ",") + std::to_string(d);
    header += (header.size() > 1 ? "," : "") +
              entry(prefix + name, "F32", dims, data.size(), data.size() + t.bytes());
    data.append(static_cast<const char*>(t.data()), t.bytes());
  }
  return safetensors(header + "}", data);
}

vector<Value> answers(const Engine& e, const vector<Value>& in) { return e.create_context().run(in); }

TEST(Refit, AnswersAsAnEngineBuiltWithTheWeights) {
  const onnx::Model model = model_of(small);
  for (const std::string isa : {"generic", "avx2", ""})
    for (OptimizationLevel level : optimization_levels)
      for (const std::string backend : {"cpu", "reference"}) {
        const BuildOptions o{.backend = backend, .isa = isa, .level = level, .refit = true};
        const Engine e = Engine::build(model, o);
        const vector<Value> before = answers(e, inputs_of_small());
        const NamedWeights a = weights_of(e), b = other_weights(e, 40);
        const vector<Value> want = answers(Engine::build(with(model, b), o), inputs_of_small());
        ASSERT_FALSE(same_bits(before, want));
        const RefitReport report = Builder().refit_engine(e, b);
        EXPECT_EQ(report.weights, static_cast<int64_t>(b.size()));
        EXPECT_TRUE(same_bits(answers(e, inputs_of_small()), want)) << isa << " " << name_of(level);
        Builder().refit_engine(e, a);
        EXPECT_TRUE(same_bits(answers(e, inputs_of_small()), before)) << isa << " " << name_of(level);
      }
}

TEST(Refit, ReachesConvDepthwise) {
  const onnx::Model model = model_of(R"((float[N,16,64,64] x) => (float[N,64,32,32] y)
      <float[64,16,1,1] a = {}, float[64] b = {}, float[64,1,3,3] c = {}, float[64] d = {}>
      { p = Conv(x, a, b) q = HardSwish(p) y = Conv<group=64, strides=[2,2], pads=[1,1,1,1]>(q, c, d) })");
  const vector<Value> in = {random_tensor(DataType::float32, {2, 16, 64, 64}, 5)};
  const Engine e = Engine::build(model, refittable);
  const NamedWeights b = other_weights(e, 40);
  ASSERT_EQ(b.size(), 4u);
  const vector<Value> want = answers(Engine::build(with(model, b), refittable), in);
  ASSERT_FALSE(same_bits(answers(e, in), want));
  Builder().refit_engine(e, b);
  EXPECT_TRUE(same_bits(answers(e, in), want));
}

class EveryNetwork : public ::testing::TestWithParam<network_cases::NetworkCase> {};

TEST_P(EveryNetwork, GoesToOtherWeightsAndBack) {
  const onnx::Model model = GetParam().network().to_model();
  const NamedValues in = GetParam().values();
  const Engine e = Engine::build(model, refittable);
  const NamedValues before = e.create_context().run(in);
  const NamedWeights a = weights_of(e);
  NamedWeights b = other_weights(e, 40);
  const auto code = [&](auto&& f) {
    const Code c = code_of(f);
    EXPECT_NE(c, Code::internal);
    return c;
  };
  Engine rebuilt = e;
  // Some cases assert something of their constants.
  if (code([&] { rebuilt = Engine::build(with(model, b), refittable); }) != Code::none) return;
  if (b.empty()) return;
  Builder().refit_engine(e, b);
  NamedValues want, got;
  const Code expected = code([&] { want = rebuilt.create_context().run(in); });
  EXPECT_EQ(code([&] { got = e.create_context().run(in); }), expected);
  EXPECT_TRUE(same_bits(got, want));
  Builder().refit_engine(e, a);
  EXPECT_TRUE(same_bits(e.create_context().run(in), before));
}

INSTANTIATE_TEST_SUITE_P(All, EveryNetwork, ::testing::ValuesIn(network_cases::all_cases()),
                         [](const auto& i) { return i.param.name; });

TEST(Refit, HoldsForRealModels) {
  LATHE_NEEDS_SHARED(shared);
  size_t compared = 0;
  for (const ConformanceCase& c : model_cases(shared, false)) {
    if (std::filesystem::file_size(c.model) > (2u << 20)) continue;
    const onnx::Model model = onnx::Model::load(c.model);
    if (code_of([&] { Engine::build(model, refittable); }) != Code::none)
      continue;  // operators still missing
    const Engine e = Engine::build(model, refittable);
    NamedWeights a = weights_of(e), b;
    for (const auto& [name, t] : a) {
      if (t.type() != DataType::float32 || t.size() < 16) continue;
      Tensor half = t.clone();
      for (float& x : half.as<float>()) x /= 2;
      b.emplace(name, std::move(half));
    }
    if (b.empty()) continue;
    const Engine rebuilt = Engine::build(with(model, b), refittable);
    run_case(c, {}, [&](Engine&, const vector<Value>& in) {
      const vector<Value> before = answers(e, in);
      Builder().refit_engine(e, b);
      EXPECT_TRUE(same_bits(answers(e, in), answers(rebuilt, in))) << c.name;
      Builder().refit_engine(e, a);
      EXPECT_TRUE(same_bits(answers(e, in), before)) << c.name;
      ++compared;
      return before;
    });
  }
  EXPECT_GE(compared, 4u);
}

TEST(Refit, TouchesOnlyWhatDependsOnTheWeight) {
  const Engine e = Engine::build(model_of(small), refittable);
  const auto before = e.impl();
  const auto arrays = [](const Engine::Impl& i) {
    std::map<std::pair<std::string, WeightRecipe::Kind>, vector<const void*>> all;
    for (const Weight& w : i.program.plan().weights)
      all[{w.name, w.recipe.kind}].push_back(w.value.tensor().data());
    return all;
  };
  const RefitReport bias = Builder().refit_engine(e, {{"b2", random_tensor(DataType::float32, {4}, 3)}});
  EXPECT_EQ(bias.weights, 1);
  EXPECT_EQ(bias.folded, 1);
  EXPECT_EQ(bias.packed, 0);
  EXPECT_EQ(bias.bytes, 32u);
  const auto after = e.impl();
  size_t changed = 0;
  const auto was = arrays(*before), is = arrays(*after);
  ASSERT_EQ(was.size(), is.size());
  for (const auto& [name, data] : was) changed += is.at(name) != data;
  EXPECT_EQ(changed, 2u);
  EXPECT_EQ(e.refits(), 1u);
  // The same weights again change nothing, and count as no refit.
  EXPECT_EQ(Builder().refit_engine(e, {{"b2", random_tensor(DataType::float32, {4}, 3)}}).weights, 0);
  EXPECT_EQ(e.refits(), 1u);
  EXPECT_EQ(e.impl(), after);
}

TEST(Refit, ContextsTakeItAtTheirNextRun) {
  const Engine e = Engine::build(model_of(small), refittable), copy = e;
  const vector<Value> in = inputs_of_small();
  const auto& inputs = e.inputs();
  Context c = e.create_context();
  for (size_t i = 0; i < in.size(); ++i) c.bind_input(inputs[i].name, in[i]);
  Tensor y(DataType::float32, {3, 4});
  c.bind_output("y", y);
  c.run();
  const Tensor before = y.clone();
  const Value z = c.output("z").tensor().clone();
  Builder().refit_engine(copy, other_weights(e, 4));
  EXPECT_TRUE(same_bits(c.output("z"), z));  // the last run's, until the next
  EXPECT_TRUE(same_bits(y, before));
  c.run();
  EXPECT_FALSE(same_bits(y, before));
  EXPECT_TRUE(same_bits(y, answers(e, in)[0]));
  EXPECT_EQ(inputs[0].name, "x");  // the reference from before
}

TEST(Refit, ContextsKeepWhatTheyWereTold) {
  const std::string text = "(float[n,6] x) => (float[n,4] y) <float[6,4] w = {}> { y = MatMul(x, w) }";
  const Engine e =
      Engine::build(model_of(text),
                    {.refit = true, .taps = {"y"}, .profiles = {{"p", {{"x", {{1, 6}, {2, 6}, {40, 6}}}}}}});
  Context c = e.create_context();
  int taps = 0, steps = 0;
  c.on_tap([&](std::string_view, const Value&) { ++taps; });
  c.on_step([&](const StepRun&) { ++steps; });
  c.reserve("p");
  c.start_profile(128);
  const uint64_t reserved = c.memory_in_use();
  const NamedValues x{{"x", random_tensor(DataType::float32, {3, 6}, 1)}};
  c.run(x);
  Builder().refit_engine(e, other_weights(e, 4));
  c.run(x);
  EXPECT_EQ(taps, 2);
  EXPECT_GE(steps, 2);
  EXPECT_EQ(c.profile().runs, 1u);  // it began anew
  EXPECT_EQ(c.memory_in_use(), reserved);
  EXPECT_GE(c.memory_peak(), reserved);
  c.stop_profile();
  Builder().refit_engine(e, other_weights(e, 5));
  c.run(x);
  EXPECT_EQ(c.profile().runs, 1u);  // what was recorded is still told
}

TEST(Refit, SavedPlansCarryTheNewWeights) {
  const TempDirectory folder;
  const Engine e = Engine::build(model_of(small), refittable);
  const vector<Value> before = answers(e, inputs_of_small());
  const NamedWeights a = weights_of(e), b = other_weights(e, 8);
  Builder().refit_engine(e, b);
  const vector<Value> want = answers(e, inputs_of_small());
  e.save(folder / "b.lathe");
  const Engine loaded = Engine::load(folder / "b.lathe", {.verify_weights = true});
  EXPECT_TRUE(same_bits(answers(loaded, inputs_of_small()), want));
  EXPECT_TRUE(loaded.is_refittable());
  EXPECT_TRUE(check_plan(folder / "b.lathe").empty());
  // A plan that was mapped is refitted too, on a lesser machine as well.
  for (const std::string isa : {"", "generic"}) {
    const Engine again = Engine::load(folder / "b.lathe", {.isa = isa});
    EXPECT_EQ(Refitter(again).all(), Refitter(e).all());
    Builder().refit_engine(again, a);
    const Engine built = Engine::build(model_of(small), {.isa = isa, .refit = true});
    EXPECT_TRUE(!isa.empty() || same_bits(answers(again, inputs_of_small()), before));
    const vector<Value> got = answers(again, inputs_of_small()), ref = answers(built, inputs_of_small());
    for (size_t i = 0; i < ref.size(); ++i) EXPECT_TRUE(compare(got[i], ref[i], 1e-5, 1e-5).equal);
  }
  // The engine is loaded from memory.
  const Engine bytes = Engine::deserialize(e.serialize());
  EXPECT_TRUE(same_bits(answers(bytes, inputs_of_small()), want));
}

TEST(Serialize, GivesTheBytesOfTheFile) {
  const TempDirectory folder;
  const Engine e = Engine::build(model_of(small));
  e.save(folder / "e.lathe");
  const vector<std::byte> bytes = e.serialize();
  std::ifstream file(folder / "e.lathe", std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(text.size(), bytes.size());
  EXPECT_EQ(std::memcmp(text.data(), bytes.data(), bytes.size()), 0);
  EXPECT_TRUE(
      same_bits(answers(Engine::deserialize(bytes), inputs_of_small()), answers(e, inputs_of_small())));
  for (size_t n : {size_t{0}, size_t{10}, size_t{64}, bytes.size() - 1})
    EXPECT_EQ(code_of([&] { Engine::deserialize(std::span(bytes).first(n)); }), Code::plan_malformed) << n;
  vector<std::byte> damaged = bytes;
  damaged[64] ^= std::byte{1};
  EXPECT_EQ(code_of([&] { Engine::deserialize(damaged, {.verify_weights = true}); }), Code::plan_damaged);
}

TEST(Refitter, SaysWhatThereIsAndWhatIsMissing) {
  const Engine e = Engine::build(model_of(small), refittable);
  Refitter r(e);
  EXPECT_EQ(r.all(), (vector<std::string>{"b1", "b2", "beta", "gamma", "kernel", "mean", "scale", "table",
                                          "variance", "w"}));
  EXPECT_EQ(r.missing(), r.all());
  const WeightInfo w = r.prototype("kernel");
  EXPECT_EQ(w.type, DataType::float32);
  EXPECT_EQ(w.shape, (Shape{16, 3, 3, 3}));
  EXPECT_EQ(w.bytes, 4u * 16 * 27);
  const Tensor now = r.get_named_weights("w").clone(), other = random_tensor(DataType::float32, {6, 4}, 99);
  r.set_weights("w", other);
  EXPECT_EQ(r.missing().size(), 9u);
  EXPECT_TRUE(same_bits(r.get_named_weights("w"), other));
  r.unset_weights("w");
  EXPECT_EQ(r.missing().size(), 10u);
  EXPECT_TRUE(same_bits(r.get_named_weights("w"), now));
  r.set_weights("w", other);
  r.unset_weights();
  EXPECT_EQ(r.refit().weights, 0);
  r.set_weights("w", other);
  EXPECT_EQ(r.refit().weights, 1);
  EXPECT_EQ(r.missing().size(), 10u);
  EXPECT_TRUE(same_bits(r.get_named_weights("w"), other));
}

TEST(Refitter, RefusesWhatDoesNotFit) {
  const Engine e = Engine::build(model_of(small), refittable);
  const vector<Value> before = answers(e, inputs_of_small());
  Refitter r(e);
  const Tensor w = random_tensor(DataType::float32, {6, 4}, 99);
  const auto says = [&](auto&& f, Code code, std::initializer_list<const char*> words) {
    EXPECT_EQ(code_of(f), code);
    for (const char* word : words) EXPECT_NE(sentence_of(f).find(word), std::string::npos) << sentence_of(f);
  };
  says([&] { r.set_weights("kernl", w); }, Code::bad_argument, {"kernl", "near: 'kernel'"});
  says(
      [&] {
        r.set_weights("w", random_tensor(DataType::float32, {4, 6}, 1));
      },
      Code::refit_bad_weight, {"\"w\"", "float32[6, 4]", "float32[4, 6]", "transpose"});
  says(
      [&] {
        r.set_weights("w", random_tensor(DataType::int64, {6, 4}, 1));
      },
      Code::refit_bad_weight, {"\"w\"", "float32[6, 4]", "int64[6, 4]", "convert"});
  says([&] { r.set_weights("w", Tensor()); }, Code::refit_bad_weight, {"\"w\""});
  says([&] { (void)r.prototype("nothing like it"); }, Code::bad_argument, {"nothing like it"});
  says([&] { r.unset_weights("x"); }, Code::bad_argument, {});
  // All or nothing.
  says(
      [&] {
        r.set_named_weights({{"b1", random_tensor(DataType::float32, {4}, 1)}, {"w", Tensor()}});
      },
      Code::refit_bad_weight, {});
  EXPECT_EQ(r.missing(), r.all());
  r.set_weights("w", w);
  RunControl control;
  control.cancel();
  EXPECT_EQ(code_of([&] { r.refit(&control); }), Code::cancelled);
  EXPECT_TRUE(same_bits(answers(e, inputs_of_small()), before));
  EXPECT_EQ(r.missing().size(), 9u);  // still set
  EXPECT_EQ(r.refit().weights, 1);
  says([] { Refitter(Engine::build(model_of(small))); }, Code::refit_not_allowed, {"refit"});
  EXPECT_FALSE(Engine::build(model_of(small)).is_refittable());
}

TEST(Refitter, KnowsWhatIsBuiltIn) {
  const std::string text =
      R"((float[N,8] x) => (float[a,b] y, float[c,d] z) <int64[2] shape = {-1, 4}, float[2] factor = {1, 2},
      int64[1] first = {1}, int64[1] last = {3}, int64[1] axis = {1}, float[1,8] w = {}> {
    m = Mul(x, w)
    y = Reshape(m, shape)
    s = Slice(m, first, last, axis)
    empty = Constant<value = float[0] {}>()
    image = Unsqueeze(s, axis)
    z = Squeeze(image, axis)
  })";
  const onnx::Model model = model_of(text);
  const Engine e = Engine::build(model, refittable);
  Refitter r(e);
  EXPECT_EQ(r.all(), (vector<std::string>{"w"}));
  EXPECT_TRUE(r.knows("shape"));
  r.set_weights("shape", Tensor::from<int64_t>({2}, vector<int64_t>{-1, 4}));  // what it is
  EXPECT_EQ(r.missing(), r.all());
  EXPECT_EQ(code_of([&] {
              r.set_weights("shape", Tensor::from<int64_t>({2}, vector<int64_t>{-1, 8}));
            }),
            Code::refit_built_in);
  EXPECT_EQ(code_of([&] { r.set_weights("last", Tensor::from<int64_t>({1}, vector<int64_t>{4})); }),
            Code::refit_built_in);
  EXPECT_EQ(code_of([&] { (void)r.prototype("shape"); }), Code::refit_built_in);
  // A plan keeps it.
  EXPECT_EQ(code_of([&] {
              Refitter(Engine::deserialize(e.serialize()))
                  .set_weights("shape", Tensor::from<int64_t>({2}, vector<int64_t>{-1, 8}));
            }),
            Code::refit_built_in);
  // A float that decides a size is built in as well.
  const Engine resize = Engine::build(
      model_of(
          R"((float[1,1,2,2] x) => (float[a,b,c,d] y) <float[4] scales = {1, 1, 2, 2}, float[1] k = {3}> {
        r = Resize(x, , scales)
        y = Mul(r, k)
      })"),
      refittable);
  EXPECT_EQ(Refitter(resize).all(), (vector<std::string>{"k"}));
}

TEST(Refitter, TakesCheckpointsAndModels) {
  const TempDirectory folder;
  const onnx::Model model = model_of(small);
  const Engine e = Engine::build(model, refittable);
  const NamedWeights a = weights_of(e), b = other_weights(e, 12);
  const vector<Value> before = answers(e, inputs_of_small());
  Builder().refit_engine(e, with(model, b));
  const vector<Value> want = answers(Engine::build(with(model, b), refittable), inputs_of_small());
  EXPECT_TRUE(same_bits(answers(e, inputs_of_small()), want));
  Builder().refit_engine(e, model);
  EXPECT_TRUE(same_bits(answers(e, inputs_of_small()), before));

  NamedWeights stored = b;
  stored.emplace("head", random_tensor(DataType::float32, {3}, 1));
  const Checkpoint c = Checkpoint::open(folder.write("b.safetensors", safetensors_of(stored, "model.")));
  Refitter r(e);
  EXPECT_EQ(code_of([&] { r.set_named_weights(c); }), Code::bad_argument);
  const auto ignored = r.set_named_weights(c, [](const std::string& n) { return n.substr(6); });
  EXPECT_EQ(ignored, (vector<std::string>{"model.head"}));
  EXPECT_TRUE(r.missing().empty());
  r.refit();
  EXPECT_TRUE(same_bits(answers(e, inputs_of_small()), want));
  // A model whose built-in parts differ is another model.
  onnx::Model other = model;
  for (onnx::TensorProto& t : other.proto.graph->initializer)
    if (t.name == "turned")
      t = onnx::from_tensor(Tensor::from<int64_t>({2}, vector<int64_t>{2, -1}), "turned");
  EXPECT_EQ(code_of([&] { Builder().refit_engine(e, other); }), Code::refit_built_in);
  EXPECT_EQ(
      code_of([&] {
        r.set_named_weights(model_of("(float[2] x) => (float[2] y) <float[2] q = {}> { y = Add(x, q) }"));
      }),
      Code::bad_argument);
}

TEST(Lora, IsAppliedAndRemovedExactly) {
  const Engine e = Engine::build(model_of(small), refittable);
  const vector<Value> in = inputs_of_small(), base = answers(e, in);
  const NamedWeights a = weights_of(e);
  const auto delta = [](uint64_t seed, float scale) {
    return LoraDelta{.weight = "w",
                     .a = random_tensor(DataType::float32, {2, 6}, seed),
                     .b = random_tensor(DataType::float32, {4, 2}, seed + 1),
                     .scale = scale,
                     .transposed = true};
  };
  const auto sum = [](Tensor w, const LoraDelta& d) {  // w [in, out] + scale · (b · a)ᵀ
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t o = 0; o < 4; ++o) {
        double x = 0;
        for (int64_t k = 0; k < 2; ++k) x += load_double(d.b, o * 2 + k) * load_double(d.a, k * 6 + i);
        store_double(w, i * 4 + o, load_double(w, i * 4 + o) + static_cast<double>(d.scale) * x);
      }
    return w;
  };
  Refitter r(e);
  r.add_lora("style", {delta(20, 0.5f)});
  EXPECT_EQ(r.loras(), (vector<std::string>{"style"}));
  EXPECT_EQ(r.refit().weights, 1);
  EXPECT_TRUE(same_bits(r.get_named_weights("w"), sum(a.at("w").clone(), delta(20, 0.5f))));
  const vector<Value> styled = answers(e, in);
  EXPECT_FALSE(same_bits(styled, base));
  // Another one on top; then the first goes, then both.
  r.add_lora("accent", {delta(30, 2)});
  r.refit();
  EXPECT_EQ(Refitter(e).loras(), (vector<std::string>{"accent", "style"}));
  r.remove_lora("style");
  r.refit();
  EXPECT_TRUE(same_bits(r.get_named_weights("w"), sum(a.at("w").clone(), delta(30, 2))));
  // The deltas are added to weights that are set.
  const Tensor other = random_tensor(DataType::float32, {6, 4}, 50);
  r.set_weights("w", other);
  r.refit();
  EXPECT_TRUE(same_bits(r.get_named_weights("w"), sum(other.clone(), delta(30, 2))));
  r.set_weights("w", a.at("w"));
  r.remove_lora("accent");
  r.refit();
  EXPECT_TRUE(same_bits(answers(e, in), base));
  EXPECT_TRUE(r.loras().empty());
  // … whatever came in between, and in whatever order.
  for (const bool first : {false, true}) {
    r.add_lora("style", {delta(20, 0.5f)});
    r.add_lora("accent", {delta(30, 2)});
    r.refit();
    r.remove_lora(first ? "style" : "accent");
    r.refit();
    r.remove_lora(first ? "accent" : "style");
    r.refit();
    EXPECT_TRUE(same_bits(answers(e, in), base));
  }
  r.add_lora("style", {delta(20, 0.5f)});
  r.refit();
  EXPECT_TRUE(same_bits(answers(e, in), styled));

  LoraDelta wrong = delta(20, 1);
  wrong.transposed = false;
  EXPECT_NE(sentence_of([&] { r.add_lora("x", {wrong}); }).find("set transposed to true"), std::string::npos);
  EXPECT_EQ(code_of([&] { r.add_lora("x", {wrong}); }), Code::refit_bad_weight);
  wrong.weight = "kernel";
  EXPECT_EQ(code_of([&] { r.add_lora("x", {wrong}); }), Code::refit_bad_weight);
  wrong.weight = "kern";
  EXPECT_EQ(code_of([&] { r.add_lora("x", {wrong}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { r.add_lora("x", {delta(1, 1), delta(2, 1)}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { r.add_lora("x", {}); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { r.remove_lora("styles"); }), Code::bad_argument);
}

TEST(Refit, TakesWeightsThatLieAnyhow) {
  const Engine e = Engine::build(model_of(small), refittable);
  const Tensor table = random_tensor(DataType::float32, {7, 5}, 9);
  vector<char> bytes(table.bytes() + 1);
  std::memcpy(bytes.data() + 1, table.data(), table.bytes());
  Refitter r(e);
  r.set_weights("table", Tensor::view(DataType::float32, {7, 5}, bytes.data() + 1));
  std::ranges::fill(bytes, '\0');  // a view was copied
  r.refit();
  const vector<Value> got = answers(e, inputs_of_small());
  Builder().refit_engine(e, {{"table", table}});
  EXPECT_TRUE(same_bits(got, answers(e, inputs_of_small())));
  const auto shared = std::make_shared<vector<char>>(table.bytes() + 1);
  std::memcpy(shared->data() + 1, table.data(), table.bytes());
  Builder().refit_engine(e, {{"w", random_tensor(DataType::float32, {6, 4}, 3)},
                             {"table", Tensor::view(DataType::float32, {7, 5}, shared->data() + 1, shared)}});
  EXPECT_TRUE(same_bits(got[2], answers(e, inputs_of_small())[2]));
}

TEST(Refit, ReachesBodiesAndDefaults) {
  const std::string text =
      R"((float[2] x, bool go, float[2] d) => (float[2] y) <float[2] w = {}, float[2] d = {1, 2}> {
    s = Add(x, d)
    y = If(go) <then_branch = one () => (float[2] s1) { s1 = Mul(s, w) },
                else_branch = other () => (float[2] t) <float[2] inside = {5, 6}> { t = Sub(s, inside) }>
  })";
  const Engine e = Engine::build(model_of(text), refittable);
  EXPECT_EQ(Refitter(e).all(), (vector<std::string>{"d", "inside", "w"}));
  const auto pair = [](float a, float b) { return Tensor::from<float>({2}, vector<float>{a, b}); };
  Builder().refit_engine(e, {{"w", pair(10, 100)}, {"d", pair(0, 1)}, {"inside", pair(3, 3)}});
  const auto run = [&](bool go) {
    const NamedValues out = e.create_context().run({{"x", pair(1, 1)}, {"go", Tensor::scalar(go)}});
    return out.at("y").tensor().clone();
  };
  EXPECT_TRUE(same_bits(run(true), pair(10, 200)));
  EXPECT_TRUE(same_bits(run(false), pair(-2, -1)));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::testing
