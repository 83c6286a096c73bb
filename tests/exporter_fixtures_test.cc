// Every architecture as transformers wrote it down: exported, run, and compared with what PyTorch computed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lathe/exporters.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace {

namespace fs = std::filesystem;
const fs::path fixtures = fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter";

struct Case {
  std::string name, model_type, task;
  std::vector<std::string> files;  // "model", "encoder_model", …
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& entry : fs::directory_iterator(fixtures)) {
    if (!fs::exists(entry.path() / "case.json")) continue;
    const auto j = nlohmann::json::parse(std::ifstream(entry.path() / "case.json"));
    Case c{entry.path().filename().string(), j.at("model_type"), j.at("task"), {}};
    std::set<std::string> files;
    for (const auto& file : fs::directory_iterator(entry.path())) {
      const std::string name = file.path().filename().string();
      if (const size_t at = name.find(".io-"); at != std::string::npos) files.insert(name.substr(0, at));
    }
    c.files.assign(files.begin(), files.end());
    all.push_back(std::move(c));
  }
  std::ranges::sort(all, {}, &Case::name);
  return all;
}

class Fixtures : public ::testing::TestWithParam<Case> {};

TEST_P(Fixtures, ComputeWhatPyTorchDid) {
  const Case& c = GetParam();
  const TasksManager& tasks = TasksManager::builtin();
  const auto config = ModelConfig::open(fixtures / c.name);
  const auto type = config.get<std::string>("model_type");
  if (!tasks.models().contains(type, c.task)) GTEST_SKIP() << "no architecture for " << type << ", " << c.task;
  const lathe::testing::TempDirectory folder;
  ExportOptions o;
  o.task = c.task;
  o.shapes.sequence_length = 6;
  o.build.threads = 1;
  o.validation->build.threads = 1;
  const ExportReport r = export_checkpoint(fixtures / c.name, folder / "out", o);
  for (const auto& [file, v] : r.validation) {
    EXPECT_GE(v.runs.size(), 2u) << file;
    EXPECT_TRUE(v.skipped.empty()) << file << ": " << v.skipped[0];
  }
  OnnxConfigOptions as_exported;
  const auto submodels = tasks.make(config, c.task, as_exported)->submodels(false);
  size_t compared = 0;
  for (const SubModel& s : submodels)
    for (int i = 0;; ++i) {
      const fs::path recorded = fixtures / c.name / (s.name + ".io-" + std::to_string(i) + ".safetensors");
      if (!fs::exists(recorded)) break;
      const auto run =
          compare_with_recorded(folder / "out" / (s.name + ".onnx"), recorded, *s.config, *o.validation);
      EXPECT_EQ(run.outputs.size(), s.config->outputs().size()) << recorded;
      ++compared;
    }
  EXPECT_GE(compared, 1u);
  // Without a task it is what the checkpoint was made for.
  if (c.task.ends_with("-with-past")) {
    EXPECT_EQ(tasks.infer_task_from_model(config) + "-with-past", c.task);
  }
}

INSTANTIATE_TEST_SUITE_P(Transformers, Fixtures, ::testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param.name; });

TEST(FixtureList, HasArchitecturesToExport) {
  size_t exported = 0;
  for (const Case& c : cases())
    exported += TasksManager::builtin().models().contains(c.model_type, c.task);
  EXPECT_GE(exported, 20u);
}

}  // namespace
}  // namespace lathe::exporters
