// Every architecture as transformers wrote it down: exported, run, and compared with what PyTorch computed.
#include "support/exporter_fixtures.h"

#include <gtest/gtest.h>

#include "lathe/exporters.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace {

using testing::ExporterFixture;

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
    // What is not read is no input of the file: keys and values stand for what the encoder gave.
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

TEST(Fixtures, AreMany) { EXPECT_GE(lathe::testing::exporter_fixtures().size(), 60u); }

}  // namespace
}  // namespace lathe::exporters
