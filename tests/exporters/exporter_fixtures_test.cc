// Every architecture as transformers wrote it down: exported, run, and compared with what PyTorch computed.
#include "support/exporter_fixtures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "lathe/exporters.h"
#include "support/temp_directory.h"
#include "tensor/element.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

using testing::ExporterFixture;

const std::vector<ExporterFixture>& all_fixtures() {
  static const std::vector<ExporterFixture> all = lathe::testing::exporter_fixtures();
  return all;
}

Tensor cast(const Tensor& t, DataType type) {
  Tensor to(type, t.shape());
  for (int64_t i = 0; i < t.size(); ++i) store_double(to, i, load_double(t, i));
  return to;
}

class Fixtures : public ::testing::TestWithParam<ExporterFixture> {};

TEST_P(Fixtures, AreExportedAndComputeWhatPyTorchDid) {
  const ExporterFixture& f = GetParam();
  const TasksManager& tasks = TasksManager::builtin();
  const lathe::testing::TempDirectory folder;
  ExportOptions o;
  o.task = f.task;
  o.shapes.sequence_length = 6;
  o.build.threads = 1;
  o.validation->build.threads = 1;
  const ExportReport r = export_checkpoint(f.folder, folder / "out", o);
  EXPECT_EQ(r.opset, 18);
  for (const auto& [file, v] : r.validation) {
    EXPECT_GE(v.runs.size(), 2u) << file;
    EXPECT_TRUE(v.skipped.empty()) << file << ": " << v.skipped[0];
  }
  const auto submodels = tasks.make(f.config(), f.task)->submodels(false);
  std::vector<std::string> names;
  for (const SubModel& s : submodels) names.push_back(s.name);
  EXPECT_EQ(names, f.files);
  for (const SubModel& s : submodels) {
    const auto runs = f.runs(s.name);
    ASSERT_FALSE(runs.empty());
    // Values that are not read are no inputs of the file: keys and values replace the encoder's output.
    std::vector<std::string> wanted = runs[0].input_names;
    if (std::ranges::find(wanted, "past_key_values.0.encoder.key") != wanted.end())
      std::erase(wanted, "encoder_hidden_states");
    EXPECT_EQ(s.config->ordered_inputs().names(), wanted);
    EXPECT_EQ(s.config->outputs().names(), runs[0].output_names);
    for (size_t i = 0; i < runs.size() && f.padding_counts; ++i) {
      const auto recorded = f.folder / (s.name + ".io-" + std::to_string(i) + ".safetensors");
      const ValidationRun run =
          compare_with_recorded(folder / "out" / (s.name + ".onnx"), recorded, *s.config, *o.validation);
      EXPECT_EQ(run.outputs.size(), runs[i].outputs.size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Transformers, Fixtures, ::testing::ValuesIn(lathe::testing::exporter_fixtures()),
                         [](const auto& info) { return info.param.name; });

// ── Half as large weights

/// One of every architecture.
constexpr const char* of_every_kind[] = {
    "bert_classes",  "distilbert",    "roberta_fill_mask",   "mpnet",
    "gpt2_past",     "llama_past",    "mistral_past",        "qwen2_past",
    "t5_past",       "bart_past",     "mbart_past",          "whisper_past",
    "vit_classes",   "swin_classes",  "resnet_classes",      "clip_text",
    "clip",          "clip_vision",   "donut_past",          "vit_gpt2_past",
    "sentence_bert", "sentence_clip", "deit_teacher",        "trocr_past",
    "trocr_printed", "vit_bert",      "xlm_roberta_classes", "donut_swin"};

class Halves : public ::testing::TestWithParam<std::tuple<const char*, DataType>> {};

/// Validation holds the engine and the reference to float64 of the same rounded weights. What was recorded
/// was computed with weights that were not rounded.
TEST_P(Halves, ComputeWhatTheWeightsGiveInTheirPrecision) {
  const auto [name, type] = GetParam();
  const ExporterFixture f = *std::ranges::find(all_fixtures(), name, &ExporterFixture::name);
  const lathe::testing::TempDirectory folder;
  ExportOptions o;
  o.task = f.task;
  o.dtype = type;
  o.shapes.sequence_length = 6;
  o.validation->build.threads = 1;
  const ExportReport r = export_checkpoint(f.folder, folder / "out", o);
  EXPECT_GE(r.validation.size(), f.files.size());
  for (const auto& [file, v] : r.validation) {
    EXPECT_GE(v.runs.size(), 2u) << file;
    EXPECT_TRUE(v.skipped.empty()) << file << ": " << v.skipped[0];
  }
  const double epsilon = type == DataType::float16 ? 0x1p-10 : 0x1p-7;
  for (const std::string& file : f.files) {
    const Engine engine = Engine::build(folder / "out" / (file + ".onnx"), {.threads = 1});
    auto context = engine.create_context();
    for (const auto& run : f.runs(file)) {
      NamedValues inputs, got, wanted = run.outputs;
      for (const IoInfo& input : engine.inputs()) {
        const Tensor& t = run.inputs.at(input.name).tensor();
        inputs.emplace(input.name, t.type() == DataType::float32 ? cast(t, type) : t);
      }
      for (const auto& [output, value] : context.run(inputs)) {
        ASSERT_EQ(value.tensor().type(), type) << output;
        got.emplace(output, cast(value.tensor(), DataType::float32));
      }
      // Padding on the left of a decoder sees nothing, evenly in one type and not in another.
      if (inputs.contains("position_ids"))
        for (NamedValues* v : {&got, &wanted}) *v = lathe::testing::without_padding(run, *v);
      for (const auto& [output, value] : wanted) {
        const Tensor want = value.tensor(), wide = got.at(output).tensor();
        double scale = 0, worst = 0;
        for (float w : want.as<float>()) scale = std::max(scale, std::abs(static_cast<double>(w)));
        for (size_t i = 0; i < want.as<float>().size(); ++i)
          worst = std::max(worst, std::abs(static_cast<double>(wide.as<float>()[i]) - want.as<float>()[i]));
        EXPECT_LE(worst, 16 * epsilon * scale) << file << " " << output;
      }
    }
  }
}

TEST(HalfPrecision, IsTriedOfEveryArchitecture) {
  std::set<std::string> all, halved;
  for (const ExporterFixture& f : all_fixtures()) {
    all.insert(f.model_type);
    if (std::ranges::find(of_every_kind, f.name) != std::end(of_every_kind)) halved.insert(f.model_type);
  }
  EXPECT_EQ(halved, all);
}

INSTANTIATE_TEST_SUITE_P(OfTransformers, Halves,
                         ::testing::Combine(::testing::ValuesIn(of_every_kind),
                                            ::testing::Values(DataType::float16, DataType::bfloat16)),
                         [](const auto& info) {
                           return std::get<0>(info.param) + std::string("_") +
                                  std::string(name_of(std::get<1>(info.param)));
                         });

TEST(Fixtures, AreMany) { EXPECT_GE(lathe::testing::exporter_fixtures().size(), 60u); }

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
