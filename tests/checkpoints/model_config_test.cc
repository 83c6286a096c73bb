#include <gtest/gtest.h>

#include "lathe/checkpoint.h"
#include "lathe/error.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

const ModelConfig config = ModelConfig::parse(R"({
  "model_type": "gpt2", "hidden_size": 768, "layer_norm_eps": 1e-5, "dropout": 0, "tie": true, "pad": null,
  "architectures": ["GPT2LMHeadModel"], "depths": [2, 2, 6], "scales": [1, 0.5], "flags": [true, false],
  "dotted.key": 7, "huge": 18446744073709551615,
  "rope_scaling": {"factor": 8.0, "inner": {"kind": "llama3"}}})");

TEST(ModelConfig, ValuesByType) {
  EXPECT_EQ(config.get<std::string>("model_type"), "gpt2");
  EXPECT_EQ(config.get<int64_t>("hidden_size"), 768);
  EXPECT_EQ(config.get<double>("layer_norm_eps"), 1e-5);
  EXPECT_EQ(config.get<double>("dropout"), 0.0);
  EXPECT_TRUE(config.get<bool>("tie"));
  EXPECT_EQ(config.get<std::vector<std::string>>("architectures"),
            std::vector<std::string>{"GPT2LMHeadModel"});
  EXPECT_EQ(config.get<std::vector<int64_t>>("depths"), (std::vector<int64_t>{2, 2, 6}));
  EXPECT_EQ(config.get<std::vector<double>>("scales"), (std::vector<double>{1, 0.5}));
  EXPECT_EQ(config.get<std::vector<bool>>("flags"), (std::vector<bool>{true, false}));
  EXPECT_EQ(config.get<int64_t>("dotted.key"), 7);
  EXPECT_EQ(config.keys().front(), "model_type");
}

TEST(ModelConfig, NestedObjects) {
  EXPECT_EQ(config.get<double>("rope_scaling.factor"), 8);
  const ModelConfig rope = config.get<ModelConfig>("rope_scaling");
  EXPECT_EQ(rope.get<std::string>("inner.kind"), "llama3");
  EXPECT_EQ(rope.keys(), (std::vector<std::string>{"factor", "inner"}));
  const auto wrong = [&] { rope.get<int64_t>("inner.kind"); };
  EXPECT_NE(sentence_of(wrong).find("'rope_scaling.inner.kind' as an integer, got \"llama3\""),
            std::string::npos)
      << sentence_of(wrong);
}

TEST(ModelConfig, Defaults) {
  EXPECT_EQ(config.get<int64_t>("num_heads", 12), 12);
  EXPECT_EQ(config.get<int64_t>("pad", -1), -1);
  EXPECT_EQ(config.get<std::string>("act", "gelu"), "gelu");
  EXPECT_FALSE(config.has("pad"));
  EXPECT_EQ(code_of([] { config.get<int64_t>("model_type", 3); }), Code::bad_argument);
}

TEST(ModelConfig, ErrorsNameKeyExpectedAndGot) {
  const auto says = [](auto f, const std::string& part) {
    EXPECT_EQ(code_of(f), Code::bad_argument);
    EXPECT_NE(sentence_of(f).find(part), std::string::npos) << sentence_of(f);
  };
  says([] { config.get<int64_t>("hiden_size"); }, "near to it: 'hidden_size'");
  says([] { config.get<double>("rope_scaling.facto"); }, "'rope_scaling.factor'");
  says([] { config.get<int64_t>("pad"); }, "got null");
  says([] { config.get<int64_t>("layer_norm_eps"); }, "'layer_norm_eps' as an integer, got 1e-05");
  says([] { config.get<int64_t>("huge"); }, "got 18446744073709551615");
  says([] { config.get<bool>("dropout"); }, "as true or false, got 0");
  says([] { config.get<std::string>("tie"); }, "as a string, got true");
  says([] { config.get<double>("model_type"); }, "as a number");
  says([] { config.get<std::vector<int64_t>>("scales"); }, "got 0.5 as item 1");
  says([] { config.get<std::vector<int64_t>>("hidden_size"); }, "as a list");
  says([] { config.get<ModelConfig>("depths"); }, "as an object");
}

TEST(ModelConfig, Files) {
  const TempDirectory folder;
  EXPECT_EQ(code_of([&] { ModelConfig::open(folder.path()); }), Code::file_not_found);
  const auto path = folder.write("config.json", R"({"a": 1})");
  EXPECT_EQ(ModelConfig::open(folder.path()).get<int64_t>("a"), 1);
  EXPECT_NE(sentence_of([&] { ModelConfig::open(path).get<int64_t>("b"); }).find(path.string()),
            std::string::npos);
}

TEST(ModelConfig, Bombs) {
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{"), std::string("{\"a\": NaN}"), std::string("\xff"),
        "{\"a\":" + std::string(100000, '[') + std::string(100000, ']') + "}", std::string(1000000, '['),
        std::string("{\"\xff\": 1}")})
    EXPECT_EQ(code_of([&] { ModelConfig::parse(text); }), Code::json_malformed) << text.substr(0, 40);
  EXPECT_EQ(code_of([] { ModelConfig::parse(std::string((16 << 20) + 1, ' ')); }), Code::wire_too_large);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
