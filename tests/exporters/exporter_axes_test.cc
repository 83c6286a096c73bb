// Names of files, inputs, outputs and axes of every architecture and task, as Optimum's own exports of the
// same checkpoints have them (tools/record_axes.py).
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "lathe/exporters.h"
#include "lathe/onnx.h"
#include "support/temp_directory.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// Axes of a file: the name of each, or its size in digits.
using Dims = std::vector<std::string>;
using Tensors = std::vector<std::pair<std::string, Dims>>;

struct Recorded {
  std::string model_type, library, task, checkpoint;
  Json files;
  /// Returns the name under which it is registered here.
  std::string registered() const {
    return library == "sentence_transformers" && model_type == "clip" ? library + "/" + model_type
                                                                      : model_type;
  }
  friend std::ostream& operator<<(std::ostream& to, const Recorded& r) {
    return to << r.library << " " << r.model_type << " " << r.task;
  }
};

const std::vector<Recorded>& recorded() {
  static const std::vector<Recorded> all = [] {
    std::ifstream in(LATHE_SOURCE_DIR "/tests/data/optimum_axes.json");
    std::vector<Recorded> read;
    const Json json = Json::parse(in);
    for (const Json& e : json["exports"])
      read.push_back({e["model_type"], e["library"], e["task"], e["checkpoint"], e["files"]});
    return read;
  }();
  return all;
}

Tensors tensors_of(const Json& json) {
  Tensors all;
  for (const auto& [name, dims] : json.items()) {
    all.emplace_back(name, Dims{});
    for (const Json& d : dims)
      all.back().second.push_back(d.is_string() ? d.get<std::string>() : std::to_string(d.get<int64_t>()));
  }
  return all;
}

Tensors tensors_of(const std::vector<onnx::ValueInfoProto>& values) {
  Tensors all;
  for (const onnx::ValueInfoProto& v : values) {
    all.emplace_back(v.name.value_or(""), Dims{});
    for (const auto& d : v.type->tensor_type->shape->dim)
      all.back().second.push_back(d.dim_param ? *d.dim_param : std::to_string(d.dim_value.value_or(0)));
  }
  return all;
}

std::vector<std::string> names_of(const Tensors& tensors) {
  std::vector<std::string> names;
  for (const auto& [name, dims] : tensors) names.push_back(name);
  return names;
}

/// PyTorch names an axis without a name after the node that made it.
bool is_made_up(const std::string& axis) { return axis.find("_dim_") != std::string::npos; }

/// Differences from Optimum, and why: docs/reference/export.md lists them too.
struct Difference {
  const char *model_type, *output, *theirs, *ours;
};
const Difference differences[] = {
    // A decoder with a past takes any number of tokens. Optimum's files do too, but have "1".
    {"", "logits", "1", "decoder_sequence_length"},
    {"", "last_hidden_state", "1", "decoder_sequence_length"},
    // A vector for each text, not for each token.
    {"clip-text-with-projection", "text_embeds", "sequence_length", "12"},
    // The size of the synthetic image decides these, though the image may be of any size.
    {"resnet", "last_hidden_state", "4", "floor((height + 15)/16)"},
    {"resnet", "last_hidden_state", "4", "floor((width + 15)/16)"},
};

bool is_known(const Difference& d, const std::string& model_type, const std::string& output,
              const std::string& ours, const std::string& theirs) {
  return (*d.model_type == 0 || d.model_type == model_type) && d.output == output && d.ours == ours &&
         d.theirs == theirs;
}

class Axes : public ::testing::TestWithParam<Recorded> {};

TEST_P(Axes, AreThoseOfOptimum) {
  const Recorded& r = GetParam();
  ASSERT_TRUE(TasksManager::builtin().supports(r.registered(), r.task));
  const lathe::testing::TempDirectory folder;
  ExportOptions o;
  o.task = r.task;
  if (r.library != "diffusers") o.library = r.library;
  o.validation.reset();
  export_checkpoint(fs::path(LATHE_SOURCE_DIR) / "tests/data/exporter" / r.checkpoint, folder / "out", o);
  std::set<std::string> wanted, there;
  for (const auto& [file, content] : r.files.items()) wanted.insert(file);
  for (const auto& entry : fs::directory_iterator(folder / "out"))
    if (entry.path().extension() == ".onnx") there.insert(entry.path().filename());
  ASSERT_EQ(there, wanted);
  for (const auto& [file, content] : r.files.items()) {
    const onnx::Model model = onnx::Model::load(folder / "out" / file);
    for (const bool in : {true, false}) {
      const Tensors want = tensors_of(content[in ? "inputs" : "outputs"]),
                    got = tensors_of(in ? model.proto.graph->input : model.proto.graph->output);
      ASSERT_EQ(names_of(got), names_of(want)) << file;
      for (size_t i = 0; i < want.size(); ++i) {
        ASSERT_EQ(got[i].second.size(), want[i].second.size()) << file << " " << want[i].first;
        for (size_t a = 0; a < want[i].second.size(); ++a) {
          const std::string &mine = got[i].second[a], &theirs = want[i].second[a];
          if (is_made_up(theirs) || std::ranges::any_of(differences, [&](const Difference& d) {
                return !in && is_known(d, r.model_type, want[i].first, mine, theirs);
              }))
            continue;
          EXPECT_EQ(mine, theirs) << file << " " << want[i].first << ", axis " << a;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Recorded, Axes, ::testing::ValuesIn(recorded()), [](const auto& info) {
  const Recorded& r = info.param;
  std::string name = r.library + "_" + r.model_type + "_" + r.task + "_of_" + r.checkpoint;
  std::ranges::replace(name, '-', '_');
  return name;
});

TEST(Tasks, AreThoseOfOptimum) {
  std::map<std::string, std::set<std::string>> optimum, here;
  for (const Recorded& r : recorded()) optimum[r.registered()].insert(r.task);
  const TasksManager& tasks = TasksManager::builtin();
  for (const std::string& type : tasks.model_types()) {
    const auto list = tasks.get_supported_tasks_for_model_type(type);
    here[type] = std::set<std::string>(list.begin(), list.end());
  }
  // Checkpoints of CLIP's text side have this model type: Optimum has it as a part of pipelines only.
  EXPECT_EQ(here["clip_text_model"], optimum["clip-text"]);
  here.erase("clip_text_model");
  // A decoder that Optimum, too, knows as a part of vision-encoder-decoder only: it exports none by itself.
  EXPECT_EQ(here["trocr"], (std::set<std::string>{"feature-extraction", "feature-extraction-with-past"}));
  here.erase("trocr");
  // Its axes are those of Llama's config, from which its own derives; Optimum's were not recorded.
  EXPECT_EQ(here["gemma3_text"], (std::set<std::string>{"feature-extraction", "feature-extraction-with-past",
                                                        "text-generation", "text-generation-with-past"}));
  here.erase("gemma3_text");
  EXPECT_EQ(here, optimum);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
