// Tests sizes as options of `lathe export`, up to the synthetic inputs made with them.
#include "shape_options.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

struct Asked {
  std::string option;
  const char* generator;
  std::string input;
  Shape usual, told;  // the input's shape without the option, and with 7
  std::string task = "feature-extraction";
};

const std::vector<Asked> options = {
    {"--batch-size", "DummyTextInputGenerator", "input_ids", {2, 16}, {7, 16}},
    {"--sequence-length", "DummyTextInputGenerator", "input_ids", {2, 16}, {2, 7}},
    {"--num-choices", "DummyTextInputGenerator", "input_ids", {2, 4, 16}, {2, 7, 16}, "multiple-choice"},
    {"--width", "DummyVisionInputGenerator", "pixel_values", {2, 3, 64, 64}, {2, 3, 64, 7}},
    {"--height", "DummyVisionInputGenerator", "pixel_values", {2, 3, 64, 64}, {2, 3, 7, 64}},
    {"--num-channels", "DummyVisionInputGenerator", "pixel_values", {2, 3, 64, 64}, {2, 7, 64, 64}},
    {"--visual-seq-length", "DummyVisionInputGenerator", "visual_embeds", {2, 16, 512}, {2, 7, 512}},
    {"--feature-size", "DummyAudioInputGenerator", "input_features", {2, 80, 3000}, {2, 7, 3000}},
    {"--nb-max-frames", "DummyAudioInputGenerator", "input_features", {2, 80, 3000}, {2, 80, 7}},
    {"--audio-sequence-length", "DummyAudioInputGenerator", "input_values", {2, 16000}, {2, 7}},
    {"--point-batch-size", "DummyPointsGenerator", "input_points", {2, 3, 2, 2}, {2, 7, 2, 2}},
    {"--nb-points-per-image", "DummyPointsGenerator", "input_points", {2, 3, 2, 2}, {2, 3, 7, 2}},
};

Shape made(const Asked& a, std::vector<std::string> arguments) {
  DummyShapes shapes;
  CLI::App command;
  cli::add_shapes(&command, shapes);
  command.parse(arguments);
  const NormalizedConfig config(
      ModelConfig::parse(R"({"model_type": "toy", "vocab_size": 50})", "config.json"),
      normalized_text_config());
  const auto g = DummyInputGeneratorClass(a.generator)(a.task, config, shapes);
  EXPECT_TRUE(g->supports_input(a.input)) << a.generator << " " << a.input;
  return g->generate(a.input, DataType::int64, DataType::float32).tensor.shape();
}

TEST(ShapeOptions, EachIsASizeOfAnInput) {
  for (const Asked& a : options) {
    EXPECT_EQ(made(a, {}), a.usual) << a.option;
    EXPECT_EQ(made(a, {"7", a.option}), a.told) << a.option;  // CLI11 takes them from the last to the first
  }
}

TEST(ShapeOptions, AreAllOfTheCommands) {
  DummyShapes shapes;
  CLI::App command;
  cli::add_shapes(&command, shapes);
  std::set<std::string> there, tried;
  for (const CLI::Option* o : command.get_options())
    if (o->get_name() != "--help") there.insert(o->get_name());
  for (const Asked& a : options) tried.insert(a.option);
  EXPECT_EQ(there, tried);
  EXPECT_THROW(command.parse(std::vector<std::string>{"0", "--feature-size"}), CLI::ValidationError);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
