// Every architecture against what transformers computes on small random checkpoints: bound by name, emitted
// as a network, run by the engine and by the reference, at all recorded shapes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "support/exporter_fixtures.h"

namespace lathe {
namespace {

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

/// Architectures that are recorded and not written yet.
const std::set<std::string> waiting{
    "bart", "clip", "mbart", "swin", "t5", "vision-encoder-decoder", "whisper"};

std::vector<ExporterFixture> written() {
  std::vector<ExporterFixture> all = testing::exporter_fixtures();
  std::erase_if(all, [](const ExporterFixture& f) { return waiting.contains(f.model_type); });
  return all;
}

TEST(ModelRegistry, HasEveryRecordedArchitecture) {
  const auto& all = nn::ModelRegistry::builtin();
  for (const ExporterFixture& f : testing::exporter_fixtures())
    EXPECT_EQ(all.contains(f.model_type, f.task), !waiting.contains(f.model_type)) << f.name;
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
        const NamedValues got = context.run(runs[n].inputs);
        for (const std::string& name : runs[n].output_names) {
          ASSERT_TRUE(got.contains(name)) << name;
          expect_near(got.at(name).tensor(), runs[n].outputs.at(name).tensor(),
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
  // What no exported output depends on: poolers, and absolute positions beside relative ones.
  for (const std::string& name : report.unexpected)
    EXPECT_TRUE(name.find("pooler.") != std::string::npos ||
                name.find("position_embeddings") != std::string::npos)
        << name;
  EXPECT_GT(report.bound, 0u);
}

INSTANTIATE_TEST_SUITE_P(Recorded, Models, ::testing::ValuesIn(written()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace lathe
