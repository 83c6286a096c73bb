// Modules: parameters and their names, binding, emission.
#include <gtest/gtest.h>

#include <cstring>

#include "lathe/builder.h"
#include "lathe/io.h"
#include "lathe/nn.h"
#include "lathe/safetensors.h"
#include "lathe/values.h"
#include "support/temp_directory.h"

namespace lathe::nn {
namespace LATHE_TEST_FILE {

Tensor made(const Shape& shape, uint64_t seed) { return random_tensor(DataType::float32, shape, seed); }

std::string said(const std::function<void()>& f, Code code) {
  try {
    f();
  } catch (const Error& e) {
    EXPECT_EQ(e.code(), code) << e.what();
    return e.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}
bool has(const std::string& text, std::string_view part) {
  const bool found = text.find(part) != std::string::npos;
  if (!found) ADD_FAILURE() << text << " lacks " << part;
  return found;
}

struct Block : Module {
  Block() : norm(4), fc(4, 4) {}
  void fields(Fields& f) override { f("LayerNorm", norm), f("fc", fc); }
  TensorRef operator()(const TensorRef& x) const { return fc(norm(x)); }
  LayerNorm norm;
  Linear fc;
};
struct Net : Module {
  Net() : embed(10, 4), head(4, 10, {.bias = false}) {
    for (int i = 0; i < 2; ++i) blocks.push_back(Block());
    head.weight = embed.weight;
  }
  void fields(Fields& f) override { f("embed", embed), f("blocks", blocks), f("head", head); }
  TensorRef operator()(const TensorRef& ids) const {
    TensorRef x = embed(ids);
    for (const Block& b : blocks) x = b(x);
    return head(x);
  }
  Embedding embed;
  ModuleList<Block> blocks;
  Linear head;
};

void fill(Module& m, uint64_t seed = 1) {
  for (const NamedParameter& p : m.named_parameters()) {
    Parameter handle = p.parameter;
    handle.value = made(handle.shape(), seed++);
  }
}

/// Files as others write them.
void save(const std::filesystem::path& path, const std::vector<std::pair<std::string, Tensor>>& tensors,
          const char* type = "F32") {
  std::string header = "{", data;
  for (const auto& [name, t] : tensors) {
    header += (header.size() > 1 ? ",\"" : "\"") + name + "\":{\"dtype\":\"" + type + "\",\"shape\":[";
    for (size_t i = 0; i < t.rank(); ++i) header += (i ? "," : "") + std::to_string(t.dim(i));
    header += "],\"data_offsets\":[" + std::to_string(data.size()) + ",";
    data.append(static_cast<const char*>(t.data()), t.bytes());
    header += std::to_string(data.size()) + "]}";
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  uint64_t size = header.size();
  std::string bytes(reinterpret_cast<const char*>(&size), 8);
  std::ofstream(path, std::ios::binary) << bytes << header << data;
}

std::vector<std::pair<std::string, Tensor>> weights_of(const Module& m, uint64_t seed = 1) {
  std::vector<std::pair<std::string, Tensor>> list;
  for (const NamedParameter& p : m.named_parameters())
    list.emplace_back(p.name, made(p.parameter.shape(), seed++));
  return list;
}

TEST(NnModule, NamesItsParametersInOrderAndTiedOnesOnce) {
  Net net;
  std::vector<std::string> names;
  for (const NamedParameter& p : net.named_parameters()) names.push_back(p.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"embed.weight", "blocks.0.LayerNorm.weight", "blocks.0.LayerNorm.bias",
                                      "blocks.0.fc.weight", "blocks.0.fc.bias", "blocks.1.LayerNorm.weight",
                                      "blocks.1.LayerNorm.bias", "blocks.1.fc.weight", "blocks.1.fc.bias"}));
  EXPECT_EQ(net.named_parameters()[0].aliases, std::vector<std::string>{"head.weight"});
  EXPECT_EQ(net.unbound(), names);
  EXPECT_TRUE(net.parameter("head.weight") == net.embed.weight);
  EXPECT_FALSE(net.head.bias);
  std::vector<std::string> modules;
  for (const auto& [path, m] : net.named_modules()) modules.push_back(path);
  EXPECT_EQ(modules,
            (std::vector<std::string>{"", "embed", "blocks", "blocks.0", "blocks.0.LayerNorm", "blocks.0.fc",
                                      "blocks.1", "blocks.1.LayerNorm", "blocks.1.fc", "head"}));
  has(said([&] { net.parameter("block.0.fc.weight"); }, Code::bad_argument), "'blocks.0.fc.weight'");
}

TEST(NnParameter, TakesWhatFitsAndSaysWhatDoesNot) {
  Net net;
  fill(net);
  Linear& fc = net.blocks[1].fc;
  const Network n;
  const Emission named(n, net);
  const Tensor before = fc.weight.value;
  has(said(
          [&] {
            fc.weight.value = made({4, 5}, 1);
          },
          Code::tensor_bad_shape),
      "\"blocks.1.fc.weight\": expected float32[4, 4], got float32[4, 5]");
  has(said(
          [&] {
            fc.weight.value = Tensor(DataType::float16, {4, 4});
          },
          Code::tensor_bad_type),
      "expected float32[4, 4], got float16[4, 4]");
  said([&] { net.head.bias.value = made({10}, 1); }, Code::bad_argument);
  EXPECT_EQ(fc.weight.value.tensor().data(), before.data());
  fc.weight.value.reset();
  EXPECT_FALSE(fc.weight.bound());
  said([&] { fc.weight.value.tensor(); }, Code::bad_argument);
  const Tensor t = made({4, 4}, 3);
  fc.weight.value = t;
  EXPECT_EQ(fc.weight.value.tensor().data(), t.data());  // shared, not copied
  net.blocks[0].fc.weight.value = fc.weight.value;
  EXPECT_EQ(net.blocks[0].fc.weight.value.tensor().data(), t.data());
  EXPECT_FALSE(net.blocks[0].fc.weight == fc.weight);
}

TEST(NnEmission, RefusesUnboundParametersAllAtOnce) {
  Net net;
  fill(net);
  net.blocks[0].fc.bias.value.reset();
  net.blocks[1].norm.weight.value.reset();
  const Network n;
  has(said([&] { Emission(n, net, "body."); }, Code::bad_argument),
      "2 without: 'body.blocks.0.fc.bias', 'body.blocks.1.LayerNorm.weight'");
  Linear alone(2, 2);
  Network other;
  const TensorRef x = other.add_input("x", DataType::float32, {"N", 2});
  said([&] { alone(x); }, Code::bad_argument);
}

TEST(NnEmission, NamesLayersAndConstantsByPathAndStoresTiedWeightsOnce) {
  Net net;
  fill(net);
  Network n("net");
  const TensorRef ids = n.add_input("ids", DataType::int64, {"N", "L"});
  {
    const Emission emission(n, net);
    n.mark_output(net(ids), "y");
    n.mark_output(net(ids), "again");  // names are free a second time too
  }
  EXPECT_TRUE(n.find_layer("/blocks.1/fc/MatMul"));
  EXPECT_TRUE(n.find_layer("/blocks.1/fc/MatMul_1"));
  ASSERT_TRUE(n.find_tensor("blocks.0.LayerNorm.weight"));
  EXPECT_TRUE(n.find_tensor("embed.weight"));
  EXPECT_FALSE(n.find_tensor("head.weight"));
  EXPECT_EQ(n.find_tensor("embed.weight")->constant()->data(), net.embed.weight.value.tensor().data());
  // Without an emission, layers are added to the network of their inputs.
  EXPECT_NO_THROW(net(ids));
  EXPECT_EQ(n.to_model().proto.graph->initializer.size(), 9u);
}

TEST(NnEmission, BodiesTakeWeightsFromTheNetworkAround) {
  Net net;
  fill(net);
  Network n;
  const TensorRef ids = n.add_input("ids", DataType::int64, {"N", "L"});
  const TensorRef twice = n.add_input("twice", DataType::boolean, {});
  const Emission outer(n, net);
  auto branch = [&](int times) {
    return [&, times](Network& body) -> std::vector<TensorRef> {
      const Emission inner(body, net);
      const TensorRef y = net(ids);
      return {body.add_elementwise(y, y, times == 2 ? ElementWiseOperation::sum : ElementWiseOperation::max)};
    };
  };
  n.mark_output(n.add_if_conditional(twice, branch(2), branch(1)), "y");
  n.mark_output(net(ids), "z");
  EXPECT_TRUE(n.find_tensor("blocks.0.fc.weight"));
  auto context = Builder().build_engine(n).create_context();
  for (bool two : {false, true}) {
    const auto outputs = context.run({{"ids", Tensor::from<int64_t>({1, 2}, std::vector<int64_t>{3, 9})},
                                      {"twice", Tensor::scalar<bool>(two)}});
    const Tensor &y = outputs.at("y").tensor(), &z = outputs.at("z").tensor();
    for (size_t i = 0; i < 20; ++i) EXPECT_FLOAT_EQ(y.as<float>()[i], z.as<float>()[i] * (two ? 2 : 1));
  }
}

TEST(NnEmission, SubstitutesByName) {
  Net net;
  fill(net);
  Network n;
  const TensorRef ids = n.add_input("ids", DataType::int64, {"N", "L"});
  int asked = 0;
  const Emission emission(n, net, "",
                          {{"blocks.*.fc", [&](const Module& m, Network& network, const TensorRef& x) {
                              ++asked;
                              EXPECT_TRUE(dynamic_cast<const Linear*>(&m));
                              return network.add_identity(x).get_output(0);
                            }}});
  net(ids);
  EXPECT_EQ(asked, 2);
  EXPECT_TRUE(n.query("kind == product").empty());
  EXPECT_FALSE(n.find_layer("/blocks.0/fc/MatMul"));
  EXPECT_TRUE(n.find_layer("/head/MatMul"));
}

TEST(NnBind, TakesTensorsByPathWithoutCopies) {
  const testing::TempDirectory folder;
  Net net;
  save(folder / "model.safetensors", weights_of(net));
  const auto file = Checkpoint::open(folder / "model.safetensors");
  const BindReport report = net.bind(file);
  EXPECT_EQ(report.bound, 9u);
  EXPECT_TRUE(report.unexpected.empty() && report.missing.empty());
  EXPECT_TRUE(net.unbound().empty());
  EXPECT_EQ(net.embed.weight.value.tensor().data(), file.tensor("embed.weight").data());
  EXPECT_EQ(net.blocks[1].fc.weight.name(), "blocks.1.fc.weight");
}

TEST(NnBind, RenamesAndTriesWhatOldFilesSay) {
  const testing::TempDirectory folder;
  Net net;
  auto weights = weights_of(net);
  for (auto& [name, t] : weights) {
    if (name == "blocks.0.LayerNorm.weight") name = "blocks.0.LayerNorm.gamma";
    if (name == "blocks.0.LayerNorm.bias") name = "blocks.0.LayerNorm.beta";
    name = "old." + name;
  }
  weights.emplace_back("old.position_ids", made({3}, 1));
  save(folder / "m.safetensors", weights);
  const auto file = Checkpoint::open(folder / "m.safetensors");
  EXPECT_EQ(net.bind(file, {.rename = {{"old.", ""}}}).unexpected,
            std::vector<std::string>{"old.position_ids"});
  Net second;
  EXPECT_EQ(second.bind(file, {.base_prefix = "old."}).bound, 9u);
}

TEST(NnBind, OldNamesOfANormThatIsTheRoot) {
  const testing::TempDirectory folder;
  save(folder / "m.safetensors", {{"gamma", made({4}, 2)}, {"beta", made({4}, 3)}});
  LayerNorm norm(4);
  EXPECT_EQ(norm.bind(Checkpoint::open(folder / "m.safetensors")).bound, 2u);
}

TEST(NnBind, NamesBelowAnotherModuleAreNear) {
  const testing::TempDirectory folder;
  Net net;
  auto weights = weights_of(net);
  for (auto& [name, t] : weights) name = "transformer.decoder." + name;
  save(folder / "m.safetensors", weights);
  has(said([&] { net.bind(Checkpoint::open(folder / "m.safetensors")); }, Code::bad_argument),
      "'embed.weight': near to it: 'transformer.decoder.embed.weight'");
}

TEST(NnBind, PartsWhatTheFileHasWeightsOfItsOwnFor) {
  const testing::TempDirectory folder;
  const auto bound = [&](Net& net, const std::vector<std::pair<std::string, Tensor>>& more) {
    auto weights = weights_of(net);
    weights.insert(weights.end(), more.begin(), more.end());
    save(folder / "m.safetensors", weights);
    return net.bind(Checkpoint::open(folder / "m.safetensors"));
  };
  {  // The same twice: still one.
    Net net;
    const Tensor same = weights_of(net)[0].second;
    const BindReport report = bound(net, {{"head.weight", same}});
    EXPECT_TRUE(report.untied.empty() && report.unexpected.empty());
    EXPECT_TRUE(net.head.weight == net.embed.weight);
  }
  {  // Others: two.
    Net net;
    const Tensor other = made({10, 4}, 99);
    const BindReport report = bound(net, {{"head.weight", other}});
    EXPECT_EQ(report.untied, std::vector<std::string>{"head.weight"});
    EXPECT_TRUE(report.unexpected.empty());
    EXPECT_EQ(report.bound, 10u);
    EXPECT_FALSE(net.head.weight == net.embed.weight);
    EXPECT_EQ(std::memcmp(net.head.weight.value.tensor().data(), other.data(), other.bytes()), 0);
    EXPECT_EQ(std::memcmp(net.embed.weight.value.tensor().data(), weights_of(net)[0].second.data(), 160), 0);
  }
  {  // Of the other name alone: one.
    Net net;
    auto weights = weights_of(net);
    weights[0].first = "head.weight";
    save(folder / "m.safetensors", weights);
    const BindReport report = net.bind(Checkpoint::open(folder / "m.safetensors"));
    EXPECT_TRUE(report.untied.empty() && report.unexpected.empty());
    EXPECT_TRUE(net.head.weight == net.embed.weight);
  }
  {  // What does not fit is an error, and nothing was parted.
    Net net;
    EXPECT_NE(said(
                  [&] {
                    bound(net, {{"head.weight", made({11, 4}, 1)}});
                  },
                  Code::tensor_bad_shape)
                  .find("head.weight"),
              std::string::npos);
    EXPECT_TRUE(net.head.weight == net.embed.weight);
    EXPECT_FALSE(net.embed.weight.bound());
  }
}

/// One parameter under two names: the first one counts, and the other is reported if its weights differ.
struct TwoNames : Module {
  void fields(Fields& f) override { f("first", weight), f("second", weight); }
  Parameter weight{DataType::float32, {3}};
};

TEST(NnBind, NamesWhatItDoesNotTake) {
  const testing::TempDirectory folder;
  const auto bound = [&](TwoNames& net, const std::vector<std::pair<std::string, Tensor>>& weights,
                         const BindOptions& how = {}) {
    save(folder / "m.safetensors", weights);
    return net.bind(Checkpoint::open(folder / "m.safetensors"), how);
  };
  const Tensor a = made({3}, 1), b = made({3}, 2);
  TwoNames net;
  EXPECT_TRUE(bound(net, {{"second", a}, {"first", a}}).unexpected.empty());
  EXPECT_EQ(bound(net, {{"second", b}, {"first", a}}).unexpected, std::vector<std::string>{"second"});
  EXPECT_EQ(std::memcmp(net.weight.value.tensor().data(), a.data(), a.bytes()), 0);
  EXPECT_TRUE(bound(net, {{"second", b}}).unexpected.empty());
  EXPECT_EQ(std::memcmp(net.weight.value.tensor().data(), b.data(), b.bytes()), 0);
  // The names differ by a prefix.
  EXPECT_EQ(bound(net, {{"base.first", b}, {"first", a}}, {.base_prefix = "base."}).unexpected,
            std::vector<std::string>{"base.first"});
  // Other names for parts of a path, all of them at once.
  EXPECT_TRUE(bound(net, {{"1st", a}}, {.other_parts = {{"fir", "1"}}}).unexpected.empty());
  EXPECT_EQ(bound(net, {{"1st", b}, {"first", a}}, {.other_parts = {{"fir", "1"}}}).unexpected,
            std::vector<std::string>{"1st"});
}

TEST(NnBind, SaysAllThatIsMissingAndBindsNothing) {
  const testing::TempDirectory folder;
  Net net;
  auto weights = weights_of(net);
  weights[3].first = "blocks.0.fc.wieght";
  weights.pop_back();
  save(folder / "m.safetensors", weights);
  const auto file = Checkpoint::open(folder / "m.safetensors");
  const std::string text = said([&] { net.bind(file); }, Code::bad_argument);
  has(text, "2 missing: 'blocks.0.fc.weight', 'blocks.1.fc.bias'");
  has(text, "'blocks.0.fc.wieght'");
  EXPECT_EQ(net.unbound().size(), 9u);
  const BindReport report = net.bind(file, {.allow_missing = true});
  EXPECT_EQ(report.missing, (std::vector<std::string>{"blocks.0.fc.weight", "blocks.1.fc.bias"}));
  EXPECT_EQ(net.unbound(), report.missing);

  auto wrong = weights_of(net);
  wrong[7].second = made({4, 3}, 1);
  save(folder / "wrong.safetensors", wrong);
  Net other;
  has(said([&] { other.bind(Checkpoint::open(folder / "wrong.safetensors")); }, Code::tensor_bad_shape),
      "\"blocks.1.fc.weight\": expected float32[4, 4], got float32[4, 3]");
  EXPECT_EQ(other.unbound().size(), 9u);
}

TEST(NnBind, ConvertsOnlyWhenAsked) {
  const testing::TempDirectory folder;
  Linear fc(2, 1, {.bias = false});
  Tensor half(DataType::float16, {1, 2});
  half.as<Float16>()[0].bits = 0x3c00, half.as<Float16>()[1].bits = 0xc100;  // 1, -2.5
  save(folder / "m.safetensors", {{"weight", half}}, "F16");
  const auto file = Checkpoint::open(folder / "m.safetensors");
  has(said([&] { fc.bind(file); }, Code::tensor_bad_type), "expected float32[1, 2], got float16[1, 2]");
  EXPECT_EQ(fc.bind(file, {.convert = true}).converted, std::vector<std::string>{"weight"});
  EXPECT_EQ(fc.weight.value.tensor().as<float>()[1], -2.5f);
  fc.to(DataType::bfloat16);
  EXPECT_EQ(fc.weight.value.tensor().as<BFloat16>()[1].bits, 0xc020);
  Linear narrow(2, 1, {.bias = false});
  narrow.to(DataType::float16);
  EXPECT_EQ(narrow.bind(file).converted.size(), 0u);
  EXPECT_EQ(narrow.weight.value.tensor().data(), file.tensor("weight").data());
  said([&] { narrow.to(DataType::int8); }, Code::bad_argument);
}

TEST(NnBind, OneFileForOneParameter) {
  const testing::TempDirectory folder;
  const Tensor w = made({3, 2}, 1);
  save_npy(folder / "w.npy", w);
  Linear fc(2, 3, {.bias = false});
  fc.weight.value = from_file(folder / "w.npy");
  EXPECT_EQ(std::memcmp(fc.weight.value.tensor().data(), w.data(), w.bytes()), 0);
  save(folder / "two.safetensors", {{"a", w}, {"b", made({1}, 1)}});
  has(said([&] { from_file(folder / "two.safetensors"); }, Code::bad_argument), "2: 'a', 'b'");
  fc.weight.value = from_file(folder / "two.safetensors", "a");
  has(said([&] { from_file(folder / "two.safetensors", "c"); }, Code::bad_argument), "'c'");
  said([&] { from_file(folder / "none.npy"); }, Code::file_not_found);
}

struct FeedForward : Module {
  void fields(Fields& f) override { f("fc", fc), f("proj", proj); }
  TensorRef operator()(const TensorRef& x) const { return proj(gelu(fc(x))); }
  Linear fc{4, 8}, proj{8, 4};
};
struct GptLayer : Module {
  void fields(Fields& f) override { f("norm", norm), f("attention", attention), f("mlp", mlp); }
  TensorRef operator()(const TensorRef& x) const {
    const Ops o(*this, x);
    return o.add(x, mlp(attention(norm(x)).output));
  }
  RmsNorm norm{4};
  Attention attention{4, 2, {.causal = true}};
  FeedForward mlp;
};
struct Gpt : Module {
  Gpt() { head.weight = embed.weight; }
  void fields(Fields& f) override { f("embed", embed), f("layers", layers), f("head", head); }
  TensorRef operator()(const TensorRef& ids) const {
    TensorRef x = embed(ids);
    for (const GptLayer& l : layers) x = l(x);
    return head(x);
  }
  Network network() {
    Network n("gpt");
    const TensorRef ids = n.add_input("ids", DataType::int64, {"N", "L"});
    const Emission emission(n, *this);
    n.mark_output((*this)(ids), "logits");
    return n;
  }
  Embedding embed{10, 4};
  ModuleList<GptLayer> layers{2, [](int64_t) { return GptLayer(); }};
  Linear head{4, 10, {.bias = false}};
};

TEST(NnRefit, BoundLayerByLayerBuiltRunRefittedAndRunAgain) {
  const testing::TempDirectory folder;
  Gpt gpt;
  // Two trainings of it as files: one of a .npy for each weight, one whole.
  std::vector<std::pair<std::string, Tensor>> one, other;
  for (const NamedParameter& p : gpt.named_parameters()) {
    one.emplace_back(p.name, made(p.parameter.shape(), 10 + one.size()));
    other.emplace_back(p.name, made(p.parameter.shape(), 90 + one.size()));
    save_npy(folder / (p.name + ".npy"), one.back().second);
  }
  save_safetensors(folder / "one.safetensors", one);
  save_safetensors(folder / "other.safetensors", other);

  const auto file = [&](const std::string& path) { return from_file(folder / (path + ".npy")); };
  for (size_t i = 0; i < gpt.layers.size(); ++i) {
    const std::string layer = "layers." + std::to_string(i) + ".";
    gpt.layers[i].norm.weight.value = file(layer + "norm.weight");
    gpt.layers[i].mlp.fc.weight.value = file(layer + "mlp.fc.weight");
    gpt.layers[i].mlp.fc.bias.value = file(layer + "mlp.fc.bias");
    gpt.layers[i].mlp.proj.weight.value = file(layer + "mlp.proj.weight");
    gpt.layers[i].mlp.proj.bias.value = file(layer + "mlp.proj.bias");
    for (const NamedParameter& p : gpt.layers[i].attention.named_parameters())
      Parameter(p.parameter).value = file(layer + "attention." + p.name);
  }
  has(said([&] { gpt.network(); }, Code::bad_argument), "'embed.weight'");
  gpt.embed.weight.value = file("embed.weight");

  const Engine engine = Builder().build_engine(gpt.network(), {.refit = true});
  Context context = engine.create_context();
  const NamedValues ids = {{"ids", Tensor::from<int64_t>({2, 3}, {1, 2, 3, 9, 0, 4})}};
  const auto run = [&](Context& c) { return c.run(ids).at("logits").tensor().clone(); };
  const auto same = [](const Tensor& a, const Tensor& b) {
    return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
  };
  const Tensor first = run(context);

  Refitter refitter(engine);
  for (const NamedParameter& p : gpt.named_parameters()) {
    EXPECT_TRUE(refitter.knows(p.name)) << p.name;
    EXPECT_EQ(refitter.prototype(p.name).shape, p.parameter.shape()) << p.name;
  }
  EXPECT_TRUE(refitter.set_named_weights(Checkpoint::open(folder / "other.safetensors")).empty());
  for (const std::string& name : refitter.missing())  // numbers that layers bring, which no checkpoint has
    EXPECT_TRUE(name.find("onstant") != std::string::npos) << name;
  refitter.refit();
  const Tensor second = run(context);
  EXPECT_FALSE(same(second, first));
  Gpt anew;
  anew.bind(Checkpoint::open(folder / "other.safetensors"));
  Context built = Builder().build_engine(anew.network(), {.refit = true}).create_context();
  EXPECT_TRUE(same(second, run(built)));

  Builder().refit_engine(engine, Checkpoint::open(folder / "one.safetensors"));
  EXPECT_TRUE(same(run(context), first));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::nn
