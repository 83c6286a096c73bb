// Every architecture against what transformers computes on small random checkpoints: bound by name, emitted
// as a network, run by the engine and by the reference, at all recorded shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "support/exporter_fixtures.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using testing::ExporterFixture;

/// The largest difference that sums in another order explain, in epsilons of the largest element: layers pass
/// roundings on, and attention magnifies them.
constexpr double epsilons = 128;

void expect_near(const Tensor& got, const Tensor& want, const std::string& what) {
  ASSERT_EQ(got.type(), want.type()) << what;
  ASSERT_EQ(got.shape(), want.shape()) << what;
  ASSERT_EQ(want.type(), DataType::float32) << what;
  double scale = 0, worst = 0;
  for (float w : want.as<float>()) scale = std::max(scale, std::abs(static_cast<double>(w)));
  for (int64_t i = 0; i < want.size(); ++i) {
    const size_t at = static_cast<size_t>(i);
    const double difference = std::abs(static_cast<double>(got.as<float>()[at]) - want.as<float>()[at]);
    worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
  }
  EXPECT_LE(worst, epsilons * std::numeric_limits<float>::epsilon() * scale)
      << what << ": the largest element is " << scale;
}

ExporterFixture fixture(std::string_view name) {
  for (const ExporterFixture& f : testing::exporter_fixtures())
    if (f.name == name) return f;
  throw std::runtime_error("no such fixture");
}

TEST(ModelRegistry, HasEveryRecordedArchitecture) {
  const auto& all = nn::ModelRegistry::builtin();
  for (const ExporterFixture& f : testing::architecture_fixtures())
    EXPECT_TRUE(all.contains(f.model_type, f.task)) << f.name;
}

class Models : public ::testing::TestWithParam<ExporterFixture> {};

TEST_P(Models, ComputeWhatTransformersComputes) {
  const ExporterFixture& fixture = GetParam();
  ASSERT_FALSE(fixture.files.empty());
  for (const std::string& file : fixture.files) {
    const Network network = testing::network_of(fixture, file);
    const auto runs = fixture.runs(file);
    ASSERT_EQ(runs.size(), 3u);
    for (const char* backend : {"cpu", "reference"}) {
      Context context = Builder().build_engine(network, {.threads = 1, .backend = backend}).create_context();
      for (size_t n = 0; n < runs.size(); ++n) {
        // Inputs that a file lists and its model does not read are no inputs of the engine.
        NamedValues got = context.run(runs[n].inputs), wanted = runs[n].outputs;
        if (!fixture.padding_counts)
          for (NamedValues* v : {&got, &wanted}) *v = testing::without_padding(runs[n], *v);
        for (const std::string& name : runs[n].output_names) {
          ASSERT_TRUE(got.contains(name)) << name;
          expect_near(got.at(name).tensor(), wanted.at(name).tensor(),
                      file + ", run " + std::to_string(n) + ", " + backend + ", " + name);
        }
      }
    }
  }
}

TEST_P(Models, BindEveryTensorOfTheCheckpoint) {
  const ExporterFixture& fixture = GetParam();
  const auto config = ModelConfig::open(fixture.folder);
  const auto model = nn::ModelRegistry::builtin().make(config, fixture.task);
  const nn::BindReport report = model->bind(Checkpoint::open(fixture.folder));
  // No exported output depends on these: poolers, absolute positions beside relative ones, cross attention of
  // a decoder without encoder, tokens beside those of an encoder and a decoder that share none, indices and
  // positions that are calculated, counts of training.
  for (const std::string& name : report.unexpected)
    EXPECT_TRUE(std::ranges::any_of(
        std::vector{"pooler.", "position_embeddings", "encoder_attn", "crossattention", "shared.",
                    "relative_position_index", "mask_token", "num_batches_tracked", "_float_tensor"},
        [&](const char* part) { return name.find(part) != std::string::npos; }))
        << name;
  EXPECT_GT(report.bound, 0u);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Models, ::testing::ValuesIn(lathe::testing::architecture_fixtures()),
                         [](const auto& info) { return info.param.name; });

/// The model gives the same bits after it was written to a file and read, and saved as an engine and loaded.
TEST(ModelsKept, AreTheSameWhereverTheyAreKept) {
  for (const auto& [name, file] : {std::pair{"bert_classes", "model"},
                                   {"llama_past", "model"},
                                   {"t5_past", "decoder_with_past_model"}}) {
    const Network n = testing::network_of(fixture(name), file);
    const testing::TempDirectory folder;
    n.save(folder / "model.onnx");
    Parser parser;
    const Network again = parser.parse(folder / "model.onnx");
    const Engine engine = Builder().build_engine(n), reread = Builder().build_engine(again);
    engine.save(folder / "model.lathe");
    const Engine loaded = Engine::load(folder / "model.lathe");
    for (const testing::RecordedRun& r : fixture(name).runs(file)) {
      const NamedValues want = engine.create_context().run(r.inputs);
      for (const Engine* e : {&reread, &loaded}) {
        const NamedValues got = e->create_context().run(r.inputs);
        for (const auto& [output, v] : want) {
          const Tensor &a = v.tensor(), &b = got.at(output).tensor();
          ASSERT_EQ(a.bytes(), b.bytes()) << name;
          EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0) << name << " " << output;
        }
      }
    }
  }
}

TEST(ModelRegistry, SaysWhatIsNear) {
  const auto config = ModelConfig::open(fixture("bert").folder);
  auto said = [](auto&& f) -> std::string {
    try {
      f();
    } catch (const Error& e) {
      return e.what();
    }
    return {};
  };
  const nn::ModelRegistry& all = nn::ModelRegistry::builtin();
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
  const std::string missing = said([&] { classes->bind(Checkpoint::open(fixture("bert").folder)); });
  EXPECT_NE(missing.find("2 missing: 'classifier.weight', 'classifier.bias'"), std::string::npos) << missing;
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
