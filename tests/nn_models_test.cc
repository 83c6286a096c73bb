// Architectures against what transformers computed (tests/data/exporter, tools/record_transformers.py).
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <regex>

#include "lathe/builder.h"
#include "lathe/nn.h"
#include "lathe/values.h"
#include "support/temp_directory.h"

namespace lathe::nn {
namespace {

namespace fs = std::filesystem;

const fs::path fixtures = fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter";

std::vector<std::string> words(const std::string& text) {
  std::vector<std::string> list;
  const std::regex word("[^,\\s\\[\\]\"]+");
  for (std::sregex_iterator at(text.begin(), text.end(), word), end; at != end; ++at)
    list.push_back(at->str());
  return list;
}

struct Recorded {
  std::vector<std::pair<std::string, Tensor>> inputs;
  std::vector<std::pair<std::string, Tensor>> outputs;
};

std::vector<Recorded> recorded(const fs::path& folder) {
  std::vector<Recorded> runs;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with("model.io-")) continue;
    const auto file = Checkpoint::open(entry.path());
    Recorded run;
    for (const std::string& n : words(file.metadata().at("inputs")))
      run.inputs.emplace_back(n, file.tensor(n));
    for (const std::string& n : words(file.metadata().at("outputs")))
      run.outputs.emplace_back(n, file.tensor(n));
    runs.push_back(std::move(run));
  }
  return runs;
}

/// The inputs of the recorded run with every size open.
Inputs declare(Network& n, const Recorded& run) {
  Inputs inputs;
  for (const auto& [name, t] : run.inputs) {
    Sizes sizes;
    const bool image = name == "pixel_values";
    for (size_t i = 0; i < t.rank(); ++i) {
      const bool channels = image && i == 1, mask = name == "bool_masked_pos";
      sizes.push_back(channels            ? Size(t.dim(i))
                      : i == 0            ? Size("batch")
                      : image             ? Size(i == 2 ? "height" : "width")
                      : mask              ? Size("patches")
                      : i + 1 == t.rank() ? Size("length")
                                          : Size("choices"));
    }
    inputs.set(name, n.add_input(name, t.type(), sizes));
  }
  return inputs;
}

std::map<std::string, Value> run(const Engine& engine, const Recorded& r) {
  auto context = engine.create_context();
  std::map<std::string, Value> inputs;
  for (const auto& [name, t] : r.inputs) inputs.emplace(name, t);
  const auto outputs = context.run({inputs.begin(), inputs.end()});
  std::map<std::string, Value> values;
  for (const auto& [name, v] : outputs) values.emplace(name, owned(v));
  return values;
}

struct Case {
  std::string folder, task;
};

Network network_of(const Case& c, const Recorded& first, Model& model) {
  Network n(c.folder);
  const Inputs inputs = declare(n, first);
  const Emission emission(n, model);
  for (const auto& [name, t] : model.forward(n, inputs)) n.mark_output(t, name);
  return n;
}

class Architectures : public ::testing::TestWithParam<Case> {};

TEST_P(Architectures, ComputeWhatTransformersComputes) {
  const fs::path folder = fixtures / GetParam().folder;
  const auto runs = recorded(folder);
  ASSERT_FALSE(runs.empty());
  auto model = ModelRegistry::builtin().make(ModelConfig::open(folder), GetParam().task);
  const BindReport report = model->bind(Checkpoint::open(folder));
  EXPECT_EQ(report.bound, model->named_parameters().size());
  Network n = network_of(GetParam(), runs[0], *model);
  ASSERT_EQ(n.num_outputs(), runs[0].outputs.size());
  for (size_t i = 0; i < n.num_outputs(); ++i) EXPECT_EQ(n.get_output(i).name(), runs[0].outputs[i].first);
  EXPECT_NO_THROW(n.to_model(18));
  const Engine engine = Builder().build_engine(n);
  for (const Recorded& r : runs) {
    auto outputs = run(engine, r);
    for (const auto& [name, want] : r.outputs) {
      const Comparison same = compare(outputs.at(name), want, 2e-5, 2e-5);
      EXPECT_TRUE(same.equal) << name << ": " << same.reason;
    }
  }
}

std::vector<Case> cases() {
  std::vector<Case> list;
  const std::vector<std::pair<const char*, const char*>> heads{
      {"", "feature-extraction"},          {"_fill_mask", "fill-mask"},
      {"_fill_mask_untied", "fill-mask"},  {"_classes", "text-classification"},
      {"_tokens", "token-classification"}, {"_answers", "question-answering"},
      {"_choices", "multiple-choice"},     {"_relative_key", "feature-extraction"},
      {"_relative_key_query", "fill-mask"}};
  for (const char* family : {"bert", "distilbert", "roberta", "xlm_roberta", "mpnet"})
    for (const auto& [end, task] : heads)
      if (const std::string folder = std::string(family) + end; fs::exists(fixtures / folder))
        list.push_back({folder, task});
  for (const char* folder : {"vit", "resnet"}) list.push_back({folder, "feature-extraction"});
  for (const char* folder : {"vit_classes", "vit_wide", "resnet_classes", "resnet_downsample"})
    list.push_back({folder, "image-classification"});
  list.push_back({"vit_masked", "masked-im"});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, Architectures, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.folder; });

TEST(ArchitecturesKept, FileCppAndEngineGiveTheSameBits) {
  const Case c{"bert_classes", "text-classification"};
  const auto runs = recorded(fixtures / c.folder);
  auto model = ModelRegistry::builtin().make(ModelConfig::open(fixtures / c.folder), c.task);
  model->bind(Checkpoint::open(fixtures / c.folder));
  const Network n = network_of(c, runs[0], *model);
  const testing::TempDirectory folder;
  n.save(folder / "model.onnx");
  Parser parser;
  const Network again = parser.parse(folder / "model.onnx");
  EXPECT_EQ(again.cpp(), n.cpp());  // what it prints makes either
  const Engine engine = Builder().build_engine(n), reread = Builder().build_engine(again);
  engine.save(folder / "model.lathe");
  const Engine loaded = Engine::load(folder / "model.lathe");
  for (const Recorded& r : runs) {
    const auto want = run(engine, r);
    for (const Engine* e : {&reread, &loaded}) {
      const auto got = run(*e, r);
      for (const auto& [name, v] : want) {
        const Tensor &a = v.tensor(), &b = got.at(name).tensor();
        ASSERT_EQ(a.bytes(), b.bytes());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
      }
    }
  }
}

TEST(ArchitecturesErrors, SayWhatIsNear) {
  const auto config = ModelConfig::open(fixtures / "bert");
  auto said = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  const ModelRegistry& all = ModelRegistry::builtin();
  EXPECT_NE(said([&] { all.make("bertt", config, "fill-mask"); }).find("'bert'"), std::string::npos);
  EXPECT_NE(said([&] { all.make(config, "fill-maks"); }).find("'fill-mask'"), std::string::npos);
  EXPECT_TRUE(all.contains("xlm-roberta", "multiple-choice"));
  EXPECT_FALSE(all.contains("bert", "text-generation"));
  EXPECT_NE(said([&] {
              all.make("bert",
                       ModelConfig::parse(R"({"vocab_size": 4, "hidden_size": 4, "num_hidden_layers": 1,
                "num_attention_heads": 2, "intermediate_size": 4, "max_position_embeddings": 4, "hidden_act": "gelo"})"),
                       "feature-extraction");
            }).find("'gelu'"),
            std::string::npos);
  // A checkpoint of another task lacks the head, and its other names do not matter.
  auto classes = all.make(config, "text-classification");
  const std::string missing = said([&] { classes->bind(Checkpoint::open(fixtures / "bert")); });
  EXPECT_NE(missing.find("2 missing: 'classifier.weight', 'classifier.bias'"), std::string::npos) << missing;
}

}  // namespace
}  // namespace lathe::nn
