// Networks that architectures make, kept in every form; and what is said where an architecture, a task or a
// checkpoint does not fit.
#include <gtest/gtest.h>

#include <cstring>

#include "lathe/builder.h"
#include "lathe/nn.h"
#include "support/exporter_fixtures.h"
#include "support/temp_directory.h"

namespace lathe::nn {
namespace {

testing::ExporterFixture fixture(const std::string& name) {
  for (const auto& f : testing::exporter_fixtures())
    if (f.name == name) return f;
  throw std::out_of_range(name);
}

TEST(ArchitecturesKept, FileCppAndEngineGiveTheSameBits) {
  const auto recorded = fixture("bert_classes");
  const Network n = testing::network_of(recorded, "model");
  const testing::TempDirectory folder;
  n.save(folder / "model.onnx");
  Parser parser;
  const Network again = parser.parse(folder / "model.onnx");
  EXPECT_EQ(again.cpp(), n.cpp());  // what it prints makes either
  const Engine engine = Builder().build_engine(n), reread = Builder().build_engine(again);
  engine.save(folder / "model.lathe");
  const Engine loaded = Engine::load(folder / "model.lathe");
  for (const testing::RecordedRun& r : recorded.runs("model")) {
    const auto want = engine.create_context().run(r.inputs);
    ASSERT_FALSE(want.empty());
    for (const Engine* e : {&reread, &loaded}) {
      const auto got = e->create_context().run(r.inputs);
      for (const auto& [name, v] : want) {
        const Tensor &a = v.tensor(), &b = got.at(name).tensor();
        ASSERT_EQ(a.bytes(), b.bytes());
        EXPECT_EQ(std::memcmp(a.data(), b.data(), a.bytes()), 0);
      }
    }
  }
}

TEST(ArchitecturesErrors, SayWhatIsNear) {
  const auto config = ModelConfig::open(fixture("bert").folder);
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
  const std::string missing = said([&] { classes->bind(Checkpoint::open(fixture("bert").folder)); });
  EXPECT_NE(missing.find("2 missing: 'classifier.weight', 'classifier.bias'"), std::string::npos) << missing;
}

}  // namespace
}  // namespace lathe::nn
