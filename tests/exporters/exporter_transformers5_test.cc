// Checkpoints as transformers 5 saves them, and what it computes of them (tools/record_transformers5.py):
// every recorded checkpoint saved again, and variants in which weights that the configuration ties have
// values of their own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "lathe/exporters.h"
#include "lathe/safetensors.h"
#include "support/error_code.h"
#include "support/exporter_fixtures.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using testing::ExporterFixture;
using testing::TempDirectory;
using Names = std::vector<std::string>;

const fs::path data = fs::path(LATHE_SOURCE_DIR) / "tests/data";

const Json& recorded() {
  static const Json all = [] {
    std::ifstream in(data / "transformers5.json");
    return Json::parse(in);
  }();
  return all;
}

const Json& entry_of(const std::string& name) {
  const Json& cases = recorded()["cases"];
  return cases.contains(name) ? cases[name] : recorded()["variants"][name];
}

Names all_names() {
  Names all;
  for (const char* group : {"cases", "variants"})
    for (const auto& item : recorded()[group].items()) all.push_back(item.key());
  return all;
}

ExporterFixture fixture_of(const std::string& name) {
  static const auto all = testing::exporter_fixtures();
  const std::string base = entry_of(name).value("base", name);
  return *std::ranges::find(all, base, &ExporterFixture::name);
}

/// The rows moved on by one, the last of them first.
Tensor rolled(const Tensor& t) {
  Tensor to(t.type(), t.shape());
  const size_t row = t.bytes() / static_cast<size_t>(t.dim(0));
  std::memcpy(static_cast<char*>(to.data()) + row, t.data(), t.bytes() - row);
  std::memcpy(to.data(), static_cast<const char*>(t.data()) + t.bytes() - row, row);
  return to;
}

Tensor zeros(const Json& shape) {
  Tensor t(DataType::float32, Shape(shape.begin(), shape.end()));
  std::memset(t.data(), 0, t.bytes());
  return t;
}

/// The tensors of a file that was saved in one of the ways, of those of the old one.
std::vector<std::pair<std::string, Tensor>> tensors_of(const Checkpoint& old, const Json& way) {
  std::set<std::string> gone;
  if (way.contains("lost"))
    for (const Json& name : way["lost"]) gone.insert(name.get<std::string>());
  std::vector<std::pair<std::string, Tensor>> all;
  for (const CheckpointTensor& t : old.tensors())
    if (!gone.contains(t.name)) all.emplace_back(t.name, old.tensor(t.name));
  for (const auto& [kind, make] : std::map<std::string, std::function<Tensor(const Json&)>>{
           {"names", [&](const Json& of) { return old.tensor(of.get<std::string>()); }},
           {"rolled", [&](const Json& of) { return rolled(old.tensor(of.get<std::string>())); }},
           {"zeros", zeros}})
    if (way.contains(kind))
      for (const auto& [name, of] : way[kind].items()) {
        std::erase_if(all, [&, n = name](const auto& t) { return t.first == n; });
        all.emplace_back(name, make(of));
      }
  return all;
}

/// The folder that transformers 5 saved.
void save(const std::string& name, const std::string& way, const fs::path& to) {
  const ExporterFixture f = fixture_of(name);
  for (const auto& item : fs::recursive_directory_iterator(f.folder)) {
    const fs::path file = item.path().lexically_relative(f.folder);
    if (!item.is_regular_file() || file.string().find(".io-") != std::string::npos) continue;
    fs::create_directories((to / file).parent_path());
    fs::copy_file(item.path(), to / file);
  }
  const fs::path folder = to / f.config_folder;
  std::ofstream(folder / "config.json") << entry_of(name)["config"].dump(2);
  const Checkpoint old = Checkpoint::open(f.folder / f.config_folder);
  save_safetensors(folder / "model.safetensors", tensors_of(old, entry_of(name)["ways"][way]));
}

ExportOptions quick(const ExporterFixture& f) {
  ExportOptions o;
  o.task = f.task;
  o.shapes.sequence_length = 6;
  o.build.threads = 1;
  o.validation->build.threads = 1;
  o.validation->seeds = 1;
  return o;
}

/// transformers 5 no longer has positions by distance, and saves the checkpoint without their weights.
bool lost_its_positions(const std::string& name) {
  const Json& way = entry_of(name)["ways"]["again"];
  return way.contains("lost") && std::ranges::any_of(way["lost"], [](const Json& lost) {
           return lost.get<std::string>().find("distance_embedding") != std::string::npos;
         });
}

class Transformers5 : public ::testing::TestWithParam<std::string> {};

TEST_P(Transformers5, SavesWhatIsExportedAndComputedAlike) {
  const std::string& name = GetParam();
  const ExporterFixture f = fixture_of(name);
  const TempDirectory folder;
  save(name, "again", folder / "in");
  if (lost_its_positions(name)) {
    const std::string said =
        testing::sentence_of([&] { export_checkpoint(folder / "in", folder / "out", quick(f)); });
    EXPECT_NE(said.find("distance_embedding.weight'"), std::string::npos) << said;
    return;
  }
  const ExportReport r = export_checkpoint(folder / "in", folder / "out", quick(f));
  const auto submodels = TasksManager::builtin().make(f.config(), f.task)->submodels(false);
  for (const SubModel& s : submodels)
    for (int n = 0; f.padding_counts; ++n) {
      const std::string run = s.name + ".io-" + std::to_string(n) + ".safetensors";
      const fs::path own = data / "transformers5" / (name + "." + run);
      if (!fs::exists(f.folder / run)) break;
      // Throws where it is off.
      const auto compared = compare_with_recorded(folder / "out" / (s.name + ".onnx"),
                                                  fs::exists(own) ? own : f.folder / run, *s.config);
      EXPECT_FALSE(compared.outputs.empty());
    }
  // Every tensor is in a file, or named.
  std::set<std::string> written, unexpected(r.unexpected.begin(), r.unexpected.end());
  const Checkpoint saved = Checkpoint::open(folder / "in" / f.config_folder);
  for (const std::string& t : r.unexpected) EXPECT_TRUE(saved.contains(t) || !f.exported_type.empty()) << t;
  for (const SubModel& s : submodels) {
    const onnx::Model m = onnx::Model::load(folder / "out" / (s.name + ".onnx"));
    for (const onnx::TensorProto& t : m.proto.graph->initializer)
      if (t.raw_data) written.emplace(t.raw_data->view());
  }
  for (const CheckpointTensor& t : saved.tensors()) {
    const Tensor weights = saved.tensor(t.name);
    const std::string bytes(static_cast<const char*>(weights.data()), weights.bytes());
    EXPECT_TRUE(unexpected.contains(t.name) || written.contains(bytes)) << t.name;
  }
}

/// Under other names it is the same model.
TEST_P(Transformers5, KnowsMoreNamesThanOne) {
  const std::string& name = GetParam();
  const ExporterFixture f = fixture_of(name);
  if (!f.exported_type.empty() || lost_its_positions(name)) return;
  const auto config = ModelConfig::parse(entry_of(name)["config"].dump());
  const auto bound = [&](const std::string& way) {
    const TempDirectory folder;
    save(name, way, folder.path());
    auto model = nn::ModelRegistry::builtin().make(config, f.task);
    model->bind(Checkpoint::open(folder.path()));
    std::map<std::string, std::string> all;
    for (const nn::NamedParameter& p : model->named_parameters()) {
      const Tensor& t = p.parameter.value.tensor();
      all[p.name] = std::string(static_cast<const char*>(t.data()), t.bytes());
    }
    return all;
  };
  const auto again = bound("again");
  for (const auto& way : entry_of(name)["ways"].items())
    if (way.key() != "again") {
      EXPECT_TRUE(bound(way.key()) == again) << way.key();
    }
}

INSTANTIATE_TEST_SUITE_P(Recorded, Transformers5, ::testing::ValuesIn(all_names()),
                         [](const auto& info) { return info.param; });

TEST(Transformers5, SavedEveryRecordedCheckpoint) {
  std::set<std::string> types;
  for (const ExporterFixture& f : testing::exporter_fixtures()) {
    EXPECT_TRUE(recorded()["cases"].contains(f.name)) << f.name;
    types.insert(f.model_type);
  }
  EXPECT_GE(types.size(), 20u);
  EXPECT_TRUE(recorded()["made_by"]["transformers"].get<std::string>().starts_with("5."));
}

ExportReport reported(const std::string& name) {
  const TempDirectory folder;
  save(name, "again", folder / "in");
  return export_checkpoint(folder / "in", folder / "out", quick(fixture_of(name)));
}

TEST(Transformers5, WeightsOfTheirOwnAreNotTiedAndSaid) {
  EXPECT_EQ(reported("t5_own_head").untied, Names{"lm_head.weight"});
  EXPECT_EQ(reported("t5_own_tokens").untied, (Names{"encoder.embed_tokens.weight"}));
  EXPECT_EQ(reported("gpt2_own_head").untied, Names{"lm_head.weight"});
  EXPECT_EQ(reported("bert_own_head").untied, Names{"cls.predictions.decoder.weight"});
  EXPECT_EQ(reported("bart_own_tokens").untied, Names{"model.encoder.embed_tokens.weight"});
  EXPECT_TRUE(reported("t5_past").untied.empty());
}

/// A tower with the projection behind it, which is no output of Optimum's files: it is named.
TEST(Transformers5, ATowerMayHaveAProjectionBehindIt) {
  for (const char* way : {"again", "anew"}) {
    const TempDirectory folder;
    save("clip_vision", way, folder / "in");
    Json config = entry_of("clip_vision")["config"];
    config["architectures"] = {"CLIPVisionModelWithProjection"};
    std::ofstream(folder / "in/config.json") << config.dump();
    std::vector<std::pair<std::string, Tensor>> all;
    {
      const Checkpoint saved = Checkpoint::open(folder / "in");
      for (const CheckpointTensor& t : saved.tensors()) all.emplace_back(t.name, saved.tensor(t.name));
      all.emplace_back("visual_projection.weight", Tensor(DataType::float32, {512, 16}));
      save_safetensors(folder / "in/with.safetensors", all);
    }
    fs::rename(folder / "in/with.safetensors", folder / "in/model.safetensors");
    ExportOptions o = quick(fixture_of("clip_vision"));
    o.task = "auto";
    const ExportReport r = export_checkpoint(folder / "in", folder / "out", o);
    EXPECT_EQ(r.unexpected, Names{"visual_projection.weight"}) << way;
  }
}

/// If there are two biases, the product's own is used, and the other is reported.
TEST(Transformers5, OfTwoBiasesTheOtherIsNamed) {
  for (const auto& [name, other] : {std::pair{"bert_untied_bias", "cls.predictions.bias"},
                                    {"bert_own_bias", "cls.predictions.bias"},
                                    {"roberta_untied_bias", "lm_head.bias"},
                                    {"mpnet_untied_bias", "lm_head.bias"},
                                    {"vit_bert_own_bias", "decoder.cls.predictions.bias"}}) {
    const Names named = reported(name).unexpected;
    EXPECT_NE(std::ranges::find(named, other), named.end()) << name;
  }
  const Names named = reported("bert_fill_mask").unexpected;
  EXPECT_EQ(std::ranges::find(named, "cls.predictions.bias"), named.end());
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
