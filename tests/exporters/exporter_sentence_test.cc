// Tests encoders of sentences and of images beside them: modules.json, and where their files are.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "lathe/checkpoint.h"
#include "lathe/engine.h"
#include "lathe/error.h"
#include "lathe/exporters.h"
#include "support/error_code.h"
#include "support/exporter_fixtures.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;
namespace fs = std::filesystem;

ExporterFixture fixture(const std::string& name) {
  const auto all = exporter_fixtures();
  return *std::ranges::find(all, name, &ExporterFixture::name);
}

ExportOptions unchecked() {
  ExportOptions o;
  o.validation.reset();
  return o;
}

std::string text_of(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// A copy of a fixture, whose modules.json and folders a test changes.
class Copy {
 public:
  explicit Copy(const std::string& name) : of_(fixture(name)) {
    fs::copy(of_.folder, folder_ / "model", fs::copy_options::recursive);
  }
  fs::path path() const { return folder_ / "model"; }
  fs::path target() const { return folder_ / "out"; }
  const ExporterFixture& recorded() const { return of_; }
  void write(const std::string& file, const std::string& text) const { folder_.write("model/" + file, text); }
  /// Appends a module of sentence-transformers.
  void add(const std::string& sort, const std::string& path, const std::string& config = "{}") const {
    auto modules = nlohmann::ordered_json::parse(text_of(path_of("modules.json")));
    modules.push_back({{"type", "sentence_transformers.models." + sort}, {"path", path}});
    write("modules.json", modules.dump());
    write(path + "/config.json", config);
  }
  ExportReport exported(const ExportOptions& o = unchecked()) const {
    return export_checkpoint(path(), target(), o);
  }
  NamedValues run(const NamedValues& inputs) const {
    return Engine::build(target() / "model.onnx", {.threads = 1}).create_context().run(inputs);
  }

 private:
  fs::path path_of(const char* file) const { return path() / file; }
  ExporterFixture of_;
  TempDirectory folder_;
};

TEST(Sentences, AnEncoderInAFolderOfItsOwn) {
  const Copy clip("sentence_clip_folder");
  clip.write("0_CLIPModel/preprocessor_config.json", R"({"crop_size": 12})");
  ExportOptions o;  // and the file is run
  o.build.threads = o.validation->build.threads = 1;
  const ExportReport r = clip.exported(o);
  EXPECT_EQ(r.library, "sentence_transformers");
  EXPECT_EQ(r.model_type, "clip");
  EXPECT_EQ(r.task, "feature-extraction");
  EXPECT_TRUE(r.validation.at("model.onnx").skipped.empty());
  // The files are beside the model, and its list of modules refers to them there.
  EXPECT_EQ(text_of(clip.target() / "config.json"), text_of(clip.path() / "0_CLIPModel/config.json"));
  EXPECT_TRUE(fs::exists(clip.target() / "preprocessor_config.json"));
  const auto modules = nlohmann::json::parse(text_of(clip.target() / "modules.json"));
  EXPECT_EQ(modules[0]["path"], "");
  EXPECT_EQ(modules[0]["type"], "sentence_transformers.models.CLIPModel");
}

TEST(Sentences, ATransformerInAFolderOfItsOwn) {
  const Copy bert("sentence_bert");
  for (const char* file : {"config.json", "model.safetensors"}) {
    fs::create_directories(bert.path() / "0_Transformer");
    fs::rename(bert.path() / file, bert.path() / "0_Transformer" / file);
  }
  auto modules = nlohmann::ordered_json::parse(text_of(bert.path() / "modules.json"));
  modules[0]["path"] = "0_Transformer";
  bert.write("modules.json", modules.dump());
  bert.exported();
  for (size_t i = 0; i < 3; ++i) {
    const auto config = TasksManager::builtin().make(bert.recorded().config(), "feature-extraction");
    compare_with_recorded(bert.target() / "model.onnx",
                          bert.recorded().folder / ("model.io-" + std::to_string(i) + ".safetensors"),
                          *config);
  }
}

/// Each of both vectors goes through them.
TEST(Sentences, ModulesBehindClip) {
  const Copy clip("sentence_clip");
  const RecordedRun run = clip.recorded().runs("model")[0];
  clip.exported();
  const NamedValues plain = clip.run(run.inputs);
  clip.add("Normalize", "1_Normalize");
  clip.exported();
  const NamedValues normal = clip.run(run.inputs);
  for (const char* name : {"text_embeds", "image_embeds"}) {
    const auto a = plain.at(name).tensor().as<float>(), b = normal.at(name).tensor().as<float>();
    const size_t size = static_cast<size_t>(plain.at(name).tensor().dim(1));
    for (size_t row = 0; row < a.size() / size; ++row) {
      double length = 0;
      for (size_t i = 0; i < size; ++i) length += static_cast<double>(a[row * size + i]) * a[row * size + i];
      EXPECT_GT(std::abs(length - 1), 1e-3) << "not of length 1 by themselves";
      for (size_t i = 0; i < size; ++i)
        EXPECT_NEAR(b[row * size + i], a[row * size + i] / std::sqrt(length), 1e-6) << name;
    }
  }
  clip.add("Pooling", "2_Pooling", R"({"word_embedding_dimension": 20})");
  EXPECT_EQ(code_of([&] { clip.exported(); }), Code::bad_argument);
}

TEST(Sentences, WaysToPool) {
  const auto outputs = [](const std::string& pooling) {
    const Copy bert("sentence_bert");
    bert.write("1_Pooling/config.json", pooling);
    bert.exported();
    const auto found = bert.run(bert.recorded().runs("model")[0].inputs).at("sentence_embedding");
    const auto numbers = found.tensor().as<float>();
    return std::vector<float>(numbers.begin(), numbers.end());
  };
  const std::string size = R"({"word_embedding_dimension": 16)";
  // The mean is the default, also beside other ways; "pooling_mode" names a single way.
  EXPECT_EQ(outputs(size + "}"), outputs(size + R"(, "pooling_mode_mean_tokens": true})"));
  EXPECT_EQ(outputs(size + R"(, "pooling_mode": "cls"})"),
            outputs(size + R"(, "pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false})"));
  EXPECT_EQ(outputs(size + R"(, "pooling_mode_cls_token": true})").size(), 2 * outputs(size + "}").size());
  EXPECT_NE(sentence_of([&] { outputs(size + R"(, "pooling_mode": "meam"})"); }).find("near to it: 'mean'"),
            std::string::npos);
  EXPECT_EQ(code_of([&] { outputs(size + R"(, "pooling_mode_mean_tokens": false})"); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { outputs("{}"); }), Code::bad_argument);
}

TEST(Sentences, AnotherConfigurationIsRefused) {
  const Copy bert("sentence_bert");
  bert.write("sentence_bert_config.json", R"({"max_seq_length": 8, "config_args": {}})");
  bert.exported();
  bert.write("sentence_bert_config.json", R"({"max_seq_length": 8, "config_args": {"is_decoder": true}})");
  EXPECT_NE(sentence_of([&] { bert.exported(); }).find("'config_args' with 'is_decoder'"), std::string::npos);
  const Copy dense("sentence_t5");
  const std::string module = R"({"in_features": 16, "out_features": 8, "bias": false, "module_input_name": )";
  dense.write("2_Dense/config.json", module + R"("token_embeddings"})");
  EXPECT_NE(sentence_of([&] { dense.exported(); }).find("'module_input_name' 'token_embeddings'"),
            std::string::npos);
}

TEST(Sentences, OfAnEncoderOrADecoderAlone) {
  const TempDirectory folder;
  const ExporterFixture bart = fixture("bart");
  ExportOptions o = unchecked();
  o.library = "sentence_transformers";
  const std::string said = sentence_of([&] { export_checkpoint(bart.folder, folder / "out", o); });
  EXPECT_NE(said.find("'bart', which is both"), std::string::npos) << said;
  EXPECT_FALSE(fs::exists(folder / "out"));
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
