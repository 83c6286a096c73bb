// Tests configurations of exports: normalized names, axes, synthetic inputs, tasks.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>

#include "lathe/error.h"
#include "lathe/exporters.h"
#include "support/error_code.h"

namespace lathe::exporters {
namespace LATHE_TEST_FILE {

using namespace lathe::testing;

ModelConfig config_of(const std::string& type, const std::string& rest = "") {
  return ModelConfig::parse("{\"model_type\": \"" + type + "\"" + (rest.empty() ? "" : ", " + rest) + "}");
}
const ModelConfig gpt2 =
    config_of("gpt2", R"("n_embd": 24, "n_head": 3, "n_layer": 2, "vocab_size": 50, "n_positions": 32)");
const ModelConfig llama = config_of("llama", R"("hidden_size": 32, "num_attention_heads": 4,
    "num_key_value_heads": 2, "num_hidden_layers": 2, "vocab_size": 50, "use_cache": true)");
const ModelConfig t5 = config_of("t5", R"("d_model": 16, "num_heads": 4, "d_kv": 6, "num_layers": 2,
    "num_decoder_layers": 3, "vocab_size": 50, "is_encoder_decoder": true)");

TEST(NormalizedConfig, WordsOfAnArchitecture) {
  const NormalizedConfig plain(config_of("bert", R"("hidden_size": 768, "num_hidden_layers": 12)"),
                               normalized_text_config());
  EXPECT_EQ(plain.size("hidden_size"), 768);
  EXPECT_EQ(plain.size("num_layers"), 12);
  EXPECT_FALSE(plain.has_attribute("vocab_size"));
  EXPECT_EQ(plain.get<int64_t>("vocab_size", 7), 7);
  EXPECT_EQ(code_of([&] { plain.size("vocab_size"); }), Code::bad_argument);
}

TEST(NormalizedConfig, WithArgsAndWhatTheArchitectureHasAlwaysCalledIt) {
  const NormalizedConfig named(gpt2, normalized_text_config().with_args(
                                         {{"num_layers", "n_layer"}, {"num_attention_heads", "n_head"}}));
  EXPECT_EQ(named.size("num_layers"), 2);
  EXPECT_EQ(named.size("hidden_size"), 24);
  EXPECT_EQ(code_of([] { normalized_text_config().with_args({{"hiden_size", "x"}}); }), Code::bad_argument);
  EXPECT_NE(sentence_of([] {
              normalized_text_config().with_args({{"hiden_size", "x"}});
            }).find("'hidden_size'"),
            std::string::npos);
  const NormalizedConfig wider(gpt2,
                               normalized_text_config().with_args({{"positions", "n_positions"}}, true));
  EXPECT_EQ(wider.size("positions"), 32);
}

TEST(NormalizedConfig, DottedPathsPartsListsAndDefaults) {
  const ModelConfig clip = config_of(
      "clip",
      R"("text_config": {"hidden_size": 8, "inner": {"depth": 5}}, "vision_config": {"image_size": 30})");
  const NormalizedConfig both(clip, normalized_text_and_vision_config().with_defaults({{"num_channels", 3}}));
  EXPECT_EQ(both.size("hidden_size"), 8);
  EXPECT_EQ(both.size("image_size"), 30);
  EXPECT_EQ(both.size("num_channels"), 3);
  EXPECT_EQ(both.size("text_config.inner.depth"), 5);
  const NormalizedConfig segformer(config_of("segformer", R"("hidden_sizes": [32, 64])"),
                                   normalized_segformer_config());
  EXPECT_EQ(segformer.size("hidden_size"), 0);
  EXPECT_EQ(segformer.sizes("hidden_size"), (std::vector<int64_t>{32, 64}));
  const NormalizedConfig series(config_of("patchtst", R"("num_input_channels": 4, "context_length": 32)"),
                                normalized_time_series_forecasting_config());
  EXPECT_EQ(series.size("context_length"), 32);
}

TEST(NormalizedConfig, AnEncoderAndADecoder) {
  NormalizedConfig both(config_of("encoder-decoder"), normalized_encoder_decoder_config());
  both.set_encoder({config_of("vit", R"("image_size": 12)"), normalized_vision_config()});
  both.set_decoder({gpt2, normalized_text_config()});
  EXPECT_EQ(both.size("image_size"), 12);
  EXPECT_EQ(both.size("hidden_size"), 24);
}

TEST(NormalizedConfig, ByModelType) {
  EXPECT_EQ(NormalizedConfigManager::get_normalized_config_class("bert").name(), "NormalizedTextConfig");
  EXPECT_EQ(
      NormalizedConfig(t5, NormalizedConfigManager::get_normalized_config_class("t5")).size("hidden_size"),
      16);
  EXPECT_EQ(code_of([] { NormalizedConfigManager::get_normalized_config_class("berd"); }),
            Code::not_supported);
}

TEST(DummyInputs, TheSameSizesAsOptimum) {
  const DummyShapes s;
  EXPECT_EQ(s.batch_size, 2);
  EXPECT_EQ(s.sequence_length, 16);
  EXPECT_EQ(s.num_choices, 4);
  EXPECT_EQ((Shape{s.width, s.height, s.num_channels}), (Shape{64, 64, 3}));
  EXPECT_EQ((Shape{s.point_batch_size, s.nb_points_per_image}), (Shape{3, 2}));
  EXPECT_EQ(s.visual_seq_length, 16);
  EXPECT_EQ((Shape{s.feature_size, s.nb_max_frames, s.audio_sequence_length}), (Shape{80, 3000, 16000}));
}

DummyInput input(const char* kind, const ModelConfig& config, const std::string& name,
                 const Preprocessors& preprocessors = {}) {
  const auto g = DummyInputGeneratorClass(kind)(
      "feature-extraction", NormalizedConfig(config, normalized_text_config()), {}, preprocessors);
  EXPECT_TRUE(g->supports_input(name)) << kind << " " << name;
  return g->generate(name, DataType::int64, DataType::float32);
}

Tensor made(const char* kind, const ModelConfig& config, const std::string& name,
            const std::string& task = "feature-extraction", const DummyShapes& shapes = {},
            DataType ints = DataType::int64, DataType floats = DataType::float32) {
  const auto g =
      DummyInputGeneratorClass(kind)(task, NormalizedConfig(config, normalized_text_config()), shapes);
  EXPECT_TRUE(g->supports_input(name)) << name;
  return g->generate(name, ints, floats).tensor;
}

TEST(DummyInputs, TextsAreTokensOfTheVocabulary) {
  const Tensor ids = made("DummyTextInputGenerator", gpt2, "input_ids");
  EXPECT_EQ(ids.shape(), (Shape{2, 16}));
  for (int64_t id : ids.as<int64_t>()) EXPECT_TRUE(id >= 0 && id < 50);
  EXPECT_EQ(made("DummyTextInputGenerator", gpt2, "input_ids", "multiple-choice").shape(), (Shape{2, 4, 16}));
  const Tensor narrow =
      made("DummyTextInputGenerator", gpt2, "token_type_ids", "fill-mask", {}, DataType::int8);
  EXPECT_EQ(narrow.type(), DataType::int8);
  DummyShapes left;
  left.padding_side = PaddingSide::left;
  const Tensor mask = made("DummyTextInputGenerator", gpt2, "attention_mask", "fill-mask", left);
  EXPECT_EQ(mask.as<int64_t>().front(), 0);
  EXPECT_EQ(mask.as<int64_t>().back(), 1);
  const Tensor right = made("DummyTextInputGenerator", gpt2, "attention_mask");
  EXPECT_EQ(right.as<int64_t>().front(), 1);
  EXPECT_EQ(right.as<int64_t>().back(), 0);
}

TEST(DummyInputs, SeedsDecideAndNothingElse) {
  const auto ids = [](uint64_t seed) {
    DummyShapes s;
    s.seed = seed;
    const Tensor t = made("DummyTextInputGenerator", gpt2, "input_ids", "fill-mask", s);
    return std::vector<int64_t>(t.as<int64_t>().begin(), t.as<int64_t>().end());
  };
  EXPECT_EQ(ids(3), ids(3));
  EXPECT_NE(ids(3), ids(4));
}

TEST(DummyInputs, ImagesSoundAndSeries) {
  const ModelConfig vit = config_of("vit", R"("image_size": [20, 30], "num_channels": 1)");
  const auto images = DummyInputGeneratorClass("DummyVisionInputGenerator")(
      "image-classification", NormalizedConfig(vit, normalized_vision_config()));
  EXPECT_EQ(images->generate("pixel_values", DataType::int64, DataType::float16).tensor.shape(),
            (Shape{2, 1, 20, 30}));
  EXPECT_EQ(images->generate("pixel_values", DataType::int64, DataType::float16).tensor.type(),
            DataType::float16);
  EXPECT_EQ(made("DummyVisionInputGenerator", gpt2, "pixel_values").shape(), (Shape{2, 3, 64, 64}));
  EXPECT_EQ(made("DummyAudioInputGenerator", gpt2, "input_values").shape(), (Shape{2, 16000}));
  EXPECT_EQ(made("DummyAudioInputGenerator", gpt2, "input_features").shape(), (Shape{2, 80, 3000}));
  EXPECT_EQ(made("DummyPointsGenerator", gpt2, "input_points").shape(), (Shape{2, 3, 2, 2}));
  EXPECT_EQ(made("DummyPointsGenerator", gpt2, "input_labels").shape(), (Shape{2, 3, 2}));
  EXPECT_EQ(made("DummyBboxInputGenerator", gpt2, "bbox").shape(), (Shape{2, 16, 4}));
  EXPECT_EQ(made("DummyLabelsGenerator", gpt2, "labels").shape(), (Shape{2}));
  EXPECT_EQ(made("DummyTimestepInputGenerator", gpt2, "timestep").shape(), Shape{});
  EXPECT_EQ(made("DummyTimestepInputGenerator", gpt2, "time_ids").shape(), (Shape{2, 6}));
  EXPECT_EQ(made("DummyIntGenerator", gpt2, "max_length").shape(), (Shape{1}));
  const ModelConfig series = config_of("patchtst", R"("num_input_channels": 4, "context_length": 32)");
  EXPECT_EQ(made("DummyPatchTSTInputGenerator", series, "past_values").shape(), (Shape{2, 32, 4}));
  EXPECT_EQ(made("DummySeq2SeqDecoderTextInputGenerator", gpt2, "encoder_outputs").shape(),
            (Shape{2, 16, 24}));
}

TEST(DummyInputs, EveryRowOfAClassifiedTextEndsOnce) {
  const ModelConfig bart = config_of("bart", R"("vocab_size": 3, "eos_token_id": 2)");
  const Tensor ids = made("BartDummyTextInputGenerator", bart, "input_ids", "text-classification");
  for (int64_t row = 0; row < 2; ++row)
    EXPECT_EQ(std::ranges::count(ids.as<int64_t>().subspan(static_cast<size_t>(row) * 16, 16), 2), 1);
}

TEST(DummyInputs, KeysAndValuesOfEveryKindOfHeads) {
  const ModelConfig c = config_of("x", R"("hidden_size": 24, "num_attention_heads": 4, "num_hidden_layers": 3,
      "num_key_value_heads": 2, "head_dim": 5, "multi_query": true, "new_decoder_architecture": false,
      "num_kv_heads": 2, "qk_rope_head_dim": 3, "qk_nope_head_dim": 4, "v_head_dim": 6)");
  const auto key = [&](const char* kind) {
    const DummyInput past = input(kind, c, "past_key_values");
    EXPECT_EQ(past.layers.size(), 3u) << kind;
    EXPECT_EQ(past.layers[0].size(), 2u) << kind;
    return past.layers[2][0].shape();
  };
  EXPECT_EQ(key("DummyPastKeyValuesGenerator"), (Shape{2, 4, 16, 6}));
  EXPECT_EQ(key("BloomDummyPastKeyValuesGenerator"), (Shape{2, 4, 16, 6}));
  EXPECT_EQ(key("MistralDummyPastKeyValuesGenerator"), (Shape{2, 2, 16, 5}));
  EXPECT_EQ(key("GemmaDummyPastKeyValuesGenerator"), (Shape{2, 2, 16, 5}));
  EXPECT_EQ(key("GPTBigCodeDummyPastKeyValuesGenerator"), (Shape{2, 1, 16, 6}));
  EXPECT_EQ(key("FalconDummyPastKeyValuesGenerator"), (Shape{2, 1, 16, 6}));
  EXPECT_EQ(key("MultiQueryPastKeyValuesGenerator"), (Shape{4, 16, 6}));
  EXPECT_EQ(key("DeepSeekV3DummyPastKeyValuesGenerator"), (Shape{2, 4, 16, 7}));
  EXPECT_EQ(input("DeepSeekV3DummyPastKeyValuesGenerator", c, "past_key_values").layers[0][1].shape(),
            (Shape{2, 4, 16, 6}));
  const ModelConfig falcon = config_of("falcon", R"("hidden_size": 24, "num_attention_heads": 4,
      "num_hidden_layers": 1, "multi_query": true, "new_decoder_architecture": true, "num_kv_heads": 2)");
  EXPECT_EQ(input("FalconDummyPastKeyValuesGenerator", falcon, "past_key_values").layers[0][0].shape(),
            (Shape{2, 2, 16, 6}));
  EXPECT_EQ(code_of([&] { input("GemmaDummyPastKeyValuesGenerator", falcon, "past_key_values"); }),
            Code::bad_argument);
}

TEST(DummyInputs, WhatOneArchitectureOnlyTakes) {
  const ModelConfig c =
      config_of("x", R"("vocab_size": 50, "hidden_size": 24, "max_depth": 7, "tag_pad_id": 9,
      "subs_pad_id": 11, "state_dim": 5, "act_dim": 6, "max_ep_len": 30, "speaker_embedding_dim": 12,
      "num_mel_bins": 8, "max_length": 40, "input_features_per_channel": 3, "projection_size": 13, "num_codebooks": 4,
      "decoder": {"num_codebooks": 4}, "prompt_encoder_config": {"image_embedding_size": 10},
      "vision_config": {"output_channels": 14})");
  const auto shape = [&](const char* kind, const char* name) { return input(kind, c, name).tensor.shape(); };
  EXPECT_EQ(shape("LongformerDummyTextInputGenerator", "input_ids"), (Shape{2, 16}));
  const Tensor global = input("LongformerDummyTextInputGenerator", c, "global_attention_mask").tensor;
  for (int64_t v : global.as<int64_t>()) EXPECT_EQ(v, 0);
  EXPECT_EQ(shape("DummyXPathSeqInputGenerator", "xpath_tags_seq"), (Shape{2, 16, 7}));
  const Tensor subscripts = input("DummyXPathSeqInputGenerator", c, "xpath_subs_seq").tensor;
  for (int64_t v : subscripts.as<int64_t>()) EXPECT_LT(v, 11);
  EXPECT_EQ(shape("DummyDecisionTransformerInputGenerator", "states"), (Shape{2, 16, 5}));
  EXPECT_EQ(shape("DummyDecisionTransformerInputGenerator", "actions"), (Shape{2, 16, 6}));
  EXPECT_EQ(shape("DummyDecisionTransformerInputGenerator", "returns_to_go"), (Shape{2, 16, 1}));
  EXPECT_EQ(input("DummyDecisionTransformerInputGenerator", c, "timesteps").tensor.type(), DataType::int64);
  EXPECT_EQ(shape("DummyVisionEmbeddingsGenerator", "image_embeddings"), (Shape{2, 14, 10, 10}));
  EXPECT_EQ(shape("DummySpeechT5InputGenerator", "output_sequence"), (Shape{1, 16, 8}));
  EXPECT_EQ(shape("DummySpeechT5InputGenerator", "speaker_embeddings"), (Shape{1, 12}));
  EXPECT_EQ(shape("DummySpeechT5InputGenerator", "spectrogram"), (Shape{20, 8}));
  EXPECT_EQ(shape("DummyCodegenDecoderTextInputGenerator", "decoder_input_ids"), (Shape{8, 16}));
  EXPECT_EQ(shape("DummyCodegenDecoderTextInputGenerator", "encoder_outputs"), (Shape{2, 16, 24}));
  EXPECT_EQ(shape("DummyEncodecInputGenerator", "audio_codes"), (Shape{1, 2, 4, 16}));
  EXPECT_EQ(shape("DummyTransformerTimestepInputGenerator", "timestep"), (Shape{2}));
  EXPECT_EQ(shape("DummyTransformerVisionInputGenerator", "hidden_states"), (Shape{2, 3, 64, 64}));
  EXPECT_EQ(shape("DummyTransformerTextInputGenerator", "encoder_hidden_states"), (Shape{2, 16, 24}));
  EXPECT_EQ(shape("DummyTransformerTextInputGenerator", "pooled_projections"), (Shape{2, 13}));
  EXPECT_EQ(shape("DummySanaTransforemerTextInputGenerator", "encoder_attention_mask"), (Shape{2, 16}));
  EXPECT_EQ(shape("DummyFluxTransformerVisionInputGenerator", "hidden_states"), (Shape{2, 1024, 3}));
  EXPECT_EQ(shape("DummyFluxTransformerVisionInputGenerator", "img_ids"), (Shape{1024, 3}));
  EXPECT_EQ(shape("DummyFluxTransformerTextInputGenerator", "txt_ids"), (Shape{16, 3}));
  EXPECT_EQ(shape("DummyFluxTransformerTextInputGenerator", "guidance"), (Shape{2}));
  EXPECT_EQ(shape("ASTDummyAudioInputGenerator", "input_values"), (Shape{2, 40, 8}));
  EXPECT_EQ(shape("MCTCTDummyAudioInputGenerator", "input_features"), (Shape{2, 16000, 3}));
  EXPECT_EQ(shape("Speech2TextDummyAudioInputGenerator", "input_features"), (Shape{2, 16000, 3}));
  EXPECT_EQ(shape("DummyMoonshineAudioInputGenerator", "attention_mask"), (Shape{2, 16000}));
}

TEST(DummyInputs, SizesThatThePreprocessorSays) {
  Preprocessors p;
  p.preprocessor =
      ModelConfig::parse(R"({"size": {"height": 10, "width": 12}, "crop_size": {"height": 8, "width": 6},
      "patch_size": {"height": 4, "width": 5}, "max_patches": 9})");
  const auto shape = [&](const char* kind, const char* name) {
    return input(kind, gpt2, name, p).tensor.shape();
  };
  EXPECT_EQ(shape("DummyVisionStaticInputGenerator", "pixel_values"), (Shape{2, 3, 10, 12}));
  EXPECT_EQ(shape("PerceiverDummyInputGenerator", "pixel_values"), (Shape{2, 3, 10, 12}));
  EXPECT_EQ(shape("VitPoseDummyInputGenerator", "pixel_values"), (Shape{2, 3, 10, 12}));
  EXPECT_EQ(shape("Dinov2DummyInputGenerator", "pixel_values"), (Shape{2, 3, 8, 6}));
  EXPECT_EQ(shape("DummyPix2StructInputGenerator", "flattened_patches"), (Shape{2, 9, 2 + 4 * 5 * 3}));
  EXPECT_EQ(code_of([] { input("DummyPix2StructInputGenerator", gpt2, "flattened_patches"); }),
            Code::bad_argument);
  // Sizes from files cannot make an input that exceeds memory.
  for (const char* sides : {"65536", "2147483648", "4611686018427387904"}) {
    p.preprocessor =
        ModelConfig::parse(R"({"size": {"height": )" + std::string(sides) + R"(, "width": )" + sides + "}}");
    EXPECT_NE(code_of([&] { shape("DummyVisionStaticInputGenerator", "pixel_values"); }), Code::none)
        << sides;
  }
}

TEST(DummyInputs, AllOfOptimumsKindsByTheirNames) {
  // 43 of Optimum, 2 that its ONNX exporter adds.
  EXPECT_EQ(dummy_input_generators().size(), 45u);
  EXPECT_EQ(code_of([] { DummyInputGeneratorClass("DummyTextGenerator"); }), Code::not_supported);
  EXPECT_NE(sentence_of([] {
              DummyInputGeneratorClass("DummyTextInputGenerators");
            }).find("'DummyTextInputGenerator'"),
            std::string::npos);
  const auto text = DummyInputGeneratorClass("DummyTextInputGenerator")(
      "fill-mask", NormalizedConfig(gpt2, normalized_text_config()));
  EXPECT_EQ(code_of([&] { text->generate("pixel_values", DataType::int64, DataType::float32); }),
            Code::bad_argument);
}

TEST(DummyInputs, PaddingAndConcatenation) {
  const Tensor mask = DummyInputGenerator::constant_tensor({2, 3}, 0, DataType::int64);
  const Tensor padded = DummyInputGenerator::pad_input_on_dim(mask, 1, 5);
  EXPECT_EQ(std::vector<int64_t>(padded.as<int64_t>().begin(), padded.as<int64_t>().end()),
            (std::vector<int64_t>{0, 0, 0, 1, 1, 0, 0, 0, 1, 1}));
  EXPECT_EQ(code_of([&] { DummyInputGenerator::concat_inputs({mask, padded}, 0); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { DummyInputGenerator::concat_inputs({}, 0); }), Code::bad_argument);
}

// ── Configs: names and axes as Optimum's files have them

class TextEncoderForTest : public TextEncoderOnnxConfig {
 public:
  using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
  NamedAxes inputs() const override { return {{"input_ids", {{0, "batch_size"}, {1, "sequence_length"}}}}; }
};

std::shared_ptr<OnnxConfig> config_for(const ModelConfig& c, const std::string& task) {
  return TasksManager::builtin().make(c, task);
}

using Names = std::vector<std::string>;

TEST(OnnxConfigs, TextEncoders) {
  const auto bert = config_for(config_of("bert", R"("vocab_size": 9)"), "fill-mask");
  EXPECT_EQ(bert->inputs().names(), (Names{"input_ids", "attention_mask", "token_type_ids"}));
  EXPECT_EQ(*bert->outputs().find("logits"), (Axes{{0, "batch_size"}, {1, "sequence_length"}}));
  EXPECT_EQ(bert->default_onnx_opset(), 18);
  EXPECT_EQ(bert->atol_for_validation(), 1e-5);
  const auto choices = config_for(config_of("roberta", R"("vocab_size": 9)"), "multiple-choice");
  EXPECT_EQ(*choices->inputs().find("attention_mask"),
            (Axes{{0, "batch_size"}, {1, "num_choices"}, {2, "sequence_length"}}));
  EXPECT_EQ(choices->file_inputs().names(), (Names{"input_ids", "attention_mask"}));
  EXPECT_EQ(config_for(config_of("bert"), "question-answering")->outputs().names(),
            (Names{"start_logits", "end_logits"}));
}

TEST(OnnxConfigs, DecodersWithPastAreOneFile) {
  const auto config = config_for(gpt2, "text-generation-with-past");
  const auto files = config->submodels(false);
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(files[0].name, "model");
  const OnnxConfig& file = *files[0].config;
  EXPECT_EQ(file.ordered_inputs().names(),
            (Names{"input_ids", "past_key_values.0.key", "past_key_values.0.value", "past_key_values.1.key",
                   "past_key_values.1.value", "attention_mask", "position_ids"}));
  EXPECT_EQ(*file.inputs().find("attention_mask"),
            (Axes{{0, "batch_size"}, {1, "past_sequence_length + sequence_length"}}));
  EXPECT_EQ(*file.inputs().find("past_key_values.1.value"),
            (Axes{{0, "batch_size"}, {2, "past_sequence_length"}}));
  EXPECT_EQ(file.outputs().names(),
            (Names{"logits", "present.0.key", "present.0.value", "present.1.key", "present.1.value"}));
  EXPECT_EQ(*file.outputs().find("present.0.key"),
            (Axes{{0, "batch_size"}, {2, "past_sequence_length + sequence_length"}}));
  const auto inputs = file.file_inputs();
  EXPECT_EQ(inputs.find("past_key_values.0.key")->shape(), (Shape{2, 3, 16, 8}));
  EXPECT_EQ(inputs.find("attention_mask")->shape(), (Shape{2, 32}));
}

TEST(OnnxConfigs, HeadsThatShareKeys) {
  const auto config = config_for(llama, "text-generation-with-past");
  const auto files = config->submodels(false);
  const OnnxConfig& file = *files[0].config;
  EXPECT_EQ(file.file_inputs().find("past_key_values.1.key")->shape(), (Shape{2, 2, 16, 8}));
  EXPECT_EQ(file.ordered_inputs().names()[2], "position_ids");
  EXPECT_EQ(config->values_override(), (std::map<std::string, std::string>{{"use_cache", "true"}}));
  EXPECT_EQ(config_for(llama, "text-generation")->values_override().at("use_cache"), "false");
  EXPECT_EQ(config_for(llama, "text-classification")->inputs().names(),
            (Names{"input_ids", "attention_mask"}));
}

TEST(OnnxConfigs, LegacyDecodersAreTwoFiles) {
  OnnxConfigOptions o;
  o.legacy = true;
  const auto files = TasksManager::builtin().make(gpt2, "text-generation-with-past", o)->submodels(false);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].name, "decoder_model");
  EXPECT_FALSE(files[0].config->inputs().contains("past_key_values.0.key"));
  EXPECT_TRUE(files[0].config->outputs().contains("present.0.key"));
  EXPECT_EQ(files[1].name, "decoder_with_past_model");
  EXPECT_TRUE(files[1].config->inputs().contains("past_key_values.0.key"));
}

TEST(OnnxConfigs, EncoderDecodersAreSplit) {
  const auto config = config_for(t5, "text2text-generation-with-past");
  const auto files = config->submodels(false);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].name, "encoder_model");
  EXPECT_EQ(files[0].config->ordered_inputs().names(), (Names{"input_ids", "attention_mask"}));
  EXPECT_EQ(*files[0].config->outputs().find("last_hidden_state"),
            (Axes{{0, "batch_size"}, {1, "encoder_sequence_length"}}));
  EXPECT_EQ(files[0].config->outputs().size(), 1u);
  EXPECT_EQ(files[1].name, "decoder_model");
  EXPECT_EQ(files[1].config->ordered_inputs().names(),
            (Names{"encoder_attention_mask", "input_ids", "encoder_hidden_states"}));
  EXPECT_EQ(files[1].config->outputs().names().size(), 1u + 3 * 4);
  EXPECT_EQ(files[2].name, "decoder_with_past_model");
  const Names with_past = files[2].config->ordered_inputs().names();
  EXPECT_EQ(Names(with_past.begin(), with_past.begin() + 6),
            (Names{"encoder_attention_mask", "input_ids", "past_key_values.0.decoder.key",
                   "past_key_values.0.decoder.value", "past_key_values.0.encoder.key",
                   "past_key_values.0.encoder.value"}));
  EXPECT_EQ(files[2].config->outputs().names().size(), 1u + 3 * 2);
  EXPECT_EQ(*files[2].config->outputs().find("present.2.decoder.value"),
            (Axes{{0, "batch_size"}, {2, "past_decoder_sequence_length + decoder_sequence_length"}}));
  const auto inputs = files[2].config->file_inputs();
  EXPECT_EQ(inputs.find("input_ids")->shape(), (Shape{2, 1}));
  EXPECT_EQ(inputs.find("past_key_values.0.encoder.key")->shape(), (Shape{2, 4, 16, 6}));
  EXPECT_EQ(config->merged_submodels()->first, "decoder_model");
  EXPECT_EQ(config->submodels(true).size(), 1u);
}

TEST(OnnxConfigs, BehaviorsMakeOthersOfTheSameClass) {
  const auto whole = config_for(t5, "text2text-generation");
  const auto* seq2seq = dynamic_cast<const OnnxSeq2SeqConfigWithPast*>(whole.get());
  ASSERT_NE(seq2seq, nullptr);
  EXPECT_EQ(whole->inputs().names(), (Names{"input_ids", "attention_mask", "decoder_input_ids"}));
  const auto encoder = seq2seq->with_behavior(ConfigBehavior::encoder);
  EXPECT_EQ(encoder->task(), "feature-extraction");
  EXPECT_EQ(encoder->inputs().names(), (Names{"input_ids", "attention_mask"}));
  EXPECT_EQ(name_of(encoder->options().behavior), "encoder");
  const OnnxConfig &one = *encoder, &other = *whole;
  EXPECT_EQ(typeid(one), typeid(other));
}

TEST(OnnxConfigs, ImagesAndTexts) {
  const ModelConfig clip =
      config_of("clip", R"("text_config": {"vocab_size": 20}, "vision_config": {"image_size": 30})");
  const auto config = config_for(clip, "zero-shot-image-classification");
  EXPECT_EQ(config->ordered_inputs().names(), (Names{"input_ids", "pixel_values", "attention_mask"}));
  EXPECT_EQ(*config->inputs().find("input_ids"), (Axes{{0, "text_batch_size"}, {1, "sequence_length"}}));
  EXPECT_EQ(config->outputs().names(),
            (Names{"logits_per_image", "logits_per_text", "text_embeds", "image_embeds"}));
  EXPECT_EQ(config->file_inputs().find("pixel_values")->shape(), (Shape{2, 3, 30, 30}));
  const auto vit = config_for(config_of("vit", R"("image_size": 30)"), "feature-extraction");
  EXPECT_EQ(*vit->outputs().find("last_hidden_state"), (Axes{{0, "batch_size"}}));
}

TEST(OnnxConfigs, AnyEncoderWithAnyDecoder) {
  const ModelConfig donut = config_of("vision-encoder-decoder", R"(
      "encoder": {"model_type": "donut-swin", "image_size": [16, 24], "num_channels": 3, "hidden_size": 8},
      "decoder": {"model_type": "mbart", "d_model": 12, "decoder_layers": 2, "decoder_attention_heads": 3,
                  "encoder_layers": 9, "encoder_attention_heads": 3, "vocab_size": 30})");
  const auto files = config_for(donut, "image-to-text-with-past")->submodels(false);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].config->ordered_inputs().names(), (Names{"pixel_values"}));
  EXPECT_EQ(*files[0].config->outputs().find("last_hidden_state"), (Axes{{0, "batch_size"}}));
  EXPECT_EQ(files[1].config->ordered_inputs().names(), (Names{"input_ids", "encoder_hidden_states"}));
  EXPECT_EQ(files[1].config->file_inputs().find("encoder_hidden_states")->shape(), (Shape{2, 16, 8}));
  EXPECT_EQ(files[2].config->file_inputs().find("past_key_values.1.encoder.value")->shape(),
            (Shape{2, 3, 16, 4}));
  const ModelConfig wrong = config_of(
      "vision-encoder-decoder", R"("encoder": {"model_type": "vit"}, "decoder": {"model_type": "bert"})");
  EXPECT_EQ(code_of([&] { config_for(wrong, "image-to-text-with-past"); }), Code::not_supported);
}

TEST(OnnxConfigs, SoundToText) {
  const ModelConfig whisper = config_of("whisper", R"("d_model": 12, "encoder_layers": 2, "decoder_layers": 2,
      "encoder_attention_heads": 3, "decoder_attention_heads": 3, "vocab_size": 30, "num_mel_bins": 8,
      "max_source_positions": 10)");
  const auto files = config_for(whisper, "automatic-speech-recognition-with-past")->submodels(false);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(*files[0].config->inputs().find("input_features"), (Axes{{0, "batch_size"}}));
  EXPECT_EQ(files[0].config->file_inputs().find("input_features")->shape(), (Shape{2, 8, 20}));
  EXPECT_EQ(files[1].config->ordered_inputs().names(), (Names{"input_ids", "encoder_hidden_states"}));
}

TEST(OnnxConfigs, Errors) {
  const auto lonely = [] {
    struct Lonely : TextEncoderOnnxConfig {
      using TextEncoderOnnxConfig::TextEncoderOnnxConfig;
      NamedAxes inputs() const override { return {{"smell", {{0, "batch_size"}}}}; }
    };
    return std::make_shared<Lonely>(gpt2, OnnxConfigOptions{});
  }();
  EXPECT_EQ(code_of([&] { lonely->submodels(false); }), Code::bad_argument);
  EXPECT_NE(sentence_of([&] { lonely->generate_dummy_inputs(); }).find("'smell'"), std::string::npos);
  EXPECT_EQ(code_of([&] { lonely->set_variant("split"); }), Code::not_supported);
  OnnxConfigOptions wrong;
  wrong.task = "fill-mask-with-past";
  EXPECT_EQ(code_of([&] { make_config<TextEncoderForTest>(gpt2, wrong); }), Code::bad_argument);
}

// ── Tasks

TEST(Tasks, SynonymsAndNeighbors) {
  EXPECT_EQ(TasksManager::map_from_synonym("causal-lm-with-past"), "text-generation-with-past");
  EXPECT_EQ(TasksManager::map_from_synonym("fill-mask"), "fill-mask");
  EXPECT_TRUE(TasksManager::synonyms_for_task("text2text-generation").contains("summarization"));
  EXPECT_EQ(TasksManager::known_task("seq2seq-lm"), "text2text-generation");
  const std::string said = sentence_of([] { TasksManager::known_task("fil-mask"); });
  EXPECT_NE(said.find("near to it: fill-mask"), std::string::npos) << said;
  EXPECT_EQ(code_of([] { TasksManager::known_task("paint"); }), Code::bad_argument);
  // A task whose name is also a synonym of another is suggested once.
  const std::string mask = sentence_of([] { TasksManager::known_task("mask-generatio"); });
  const size_t first = mask.find("mask-generation");
  ASSERT_NE(first, std::string::npos) << mask;
  EXPECT_EQ(mask.find("mask-generation", first + 1), std::string::npos) << mask;
}

TEST(Tasks, FromArchitectures) {
  const auto task = [](const std::string& name) {
    return TasksManager::builtin().infer_task_from_model(
        ModelConfig::parse(R"({"model_type": "x", "architectures": [")" + name + "\"]}"));
  };
  EXPECT_EQ(task("BertForMaskedLM"), "fill-mask");
  EXPECT_EQ(task("BertModel"), "feature-extraction");
  EXPECT_EQ(task("GPT2LMHeadModel"), "text-generation");
  EXPECT_EQ(task("LlamaForCausalLM"), "text-generation");
  EXPECT_EQ(task("T5ForConditionalGeneration"), "text2text-generation");
  EXPECT_EQ(task("WhisperForConditionalGeneration"), "automatic-speech-recognition");
  EXPECT_EQ(task("VisionEncoderDecoderModel"), "image-to-text");
  EXPECT_EQ(task("ViTForImageClassification"), "image-classification");
  EXPECT_EQ(task("RobertaForSequenceClassification"), "text-classification");
  EXPECT_EQ(task("XLMRobertaForTokenClassification"), "token-classification");
  EXPECT_EQ(task("DistilBertForQuestionAnswering"), "question-answering");
  EXPECT_EQ(task("MPNetForMultipleChoice"), "multiple-choice");
  EXPECT_EQ(task("SwinForMaskedImageModeling"), "masked-im");
  EXPECT_EQ(task("CLIPModel"), "feature-extraction");
  EXPECT_EQ(task("CLIPTextModelWithProjection"), "feature-extraction");
  EXPECT_EQ(task("CLIPVisionModelWithProjection"), "feature-extraction");
  EXPECT_EQ(code_of([&] { task("Frobnicator"); }), Code::bad_argument);
  EXPECT_EQ(code_of([] { TasksManager::builtin().infer_task_from_model(gpt2); }), Code::bad_argument);
}

TEST(Tasks, TheNearestArchitectureAndTheTasksOfOne) {
  const TasksManager& tasks = TasksManager::builtin();
  const std::string berd = sentence_of([&] { tasks.get_supported_tasks_for_model_type("berd"); });
  EXPECT_NE(berd.find("near to it: bert"), std::string::npos) << berd;
  EXPECT_EQ(code_of([&] { tasks.get_supported_tasks_for_model_type("berd"); }), Code::not_supported);
  const std::string said = sentence_of([&] { config_for(config_of("bert"), "text-generation"); });
  EXPECT_NE(said.find("it does feature-extraction, fill-mask"), std::string::npos) << said;
  EXPECT_TRUE(tasks.supports("t5", "text2text-generation-with-past"));
  const Names fillers = tasks.get_supported_model_type_for_task("fill-mask");
  EXPECT_NE(std::ranges::find(fillers, "xlm-roberta"), fillers.end());
}

TEST(Tasks, EveryArchitectureIsInTheDocument) {
  std::ifstream in(std::string(LATHE_SOURCE_DIR) + "/docs/guide/export.md");
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const size_t from = text.find("## Architectures"), to = text.find("## In C++");
  ASSERT_LT(from, to);
  const std::string table = text.substr(from, to - from);
  for (const std::string& type : TasksManager::builtin().model_types())
    EXPECT_NE(table.find(type), std::string::npos) << type;
}

/// Model types that recorded checkpoints have, by their case.json.
std::set<std::string> recorded_types() {
  std::set<std::string> types;
  for (const auto& folder : std::filesystem::directory_iterator(LATHE_SOURCE_DIR "/tests/data/exporter"))
    types.insert(ModelConfig::open(folder.path() / "case.json").get<std::string>("model_type"));
  return types;
}

TEST(Tasks, EveryArchitectureHasItsFileAndACheckpoint) {
  // Parts of CLIP: its text side has one model type in checkpoints, and two more in Optimum.
  const std::set<std::string> parts{"clip_vision_model", "clip_text_model", "clip-text",
                                    "clip-text-with-projection"};
  const std::set<std::string> recorded = recorded_types();
  const std::vector<std::string> types = nn::ModelRegistry::builtin().model_types();
  EXPECT_GE(types.size(), 21u);
  for (const std::string& type : types) {
    // TrOCR's decoder is recorded behind encoders of images only: it is nothing by itself.
    // Gemma 3 is held against a float64 reference of its own, in tests/python/test_gemma3.py.
    EXPECT_TRUE(recorded.contains(type) || type.starts_with("clip-") || type == "trocr" ||
                type == "gemma3_text")
        << type;
    std::string file = parts.contains(type) ? "clip" : type;
    std::ranges::replace(file, '-', '_');
    EXPECT_TRUE(std::filesystem::exists(LATHE_SOURCE_DIR "/src/nn/models/" + file + ".cc")) << type;
  }
}

TEST(Tasks, EveryArchitectureHasAConfigAndEveryConfigAnArchitecture) {
  const TasksManager& tasks = TasksManager::builtin();
  for (const std::string& type : tasks.models().model_types())
    EXPECT_TRUE(std::ranges::any_of(tasks.models().tasks(type), [&](const std::string& task) {
      return tasks.supports(type, task);
    })) << type;
  for (const std::string& type : tasks.model_types())
    for (const std::string& task : tasks.get_supported_tasks_for_model_type(type)) {
      // Encoders of sentences are made around another architecture.
      if (type == "transformer" || type == "sentence_transformers/clip") continue;
      EXPECT_TRUE(tasks.models().contains(type, task)) << type << " for " << task;
    }
}

/// The manager and a model type's OnnxConfig read the same sizes.
TEST(Tasks, EveryArchitectureHasANormalizedConfigThatReadsTheSame) {
  const TasksManager& tasks = TasksManager::builtin();
  const std::vector<std::string> kinds = NormalizedConfigManager::model_types();
  size_t compared = 0;
  for (const auto& fixture : std::filesystem::directory_iterator(LATHE_SOURCE_DIR "/tests/data/exporter")) {
    if (!std::filesystem::exists(fixture.path() / "config.json")) continue;
    const ModelConfig config = ModelConfig::open(fixture.path());
    const auto type = config.get<std::string>("model_type");
    // Optimum has no class for parts of CLIP.
    if (type.starts_with("clip_")) continue;
    ASSERT_TRUE(std::ranges::count(kinds, type))
        << type << ": config_kinds() of normalized_config.cc lacks it";
    const NormalizedConfig told(config, NormalizedConfigManager::get_normalized_config_class(type));
    const auto made = tasks.make(config, tasks.get_supported_tasks_for_model_type(type).front());
    for (const char* word : {"hidden_size", "num_attention_heads", "num_layers", "vocab_size"}) {
      if (!NormalizedConfigManager::get_normalized_config_class(type).knows(word)) continue;
      if (!made->normalized_config_kind().knows(word)) continue;
      // For an encoder with a decoder the config's sizes are the decoder's, as in Optimum.
      if (made->normalized_config_kind().knows("encoder_num_layers") &&
          std::string_view(word).starts_with("num_"))
        continue;
      ASSERT_TRUE(told.has_attribute(word)) << fixture.path() << " " << word;
      EXPECT_EQ(told.sizes(word), made->normalized_config().sizes(word)) << fixture.path() << " " << word;
      ++compared;
    }
  }
  EXPECT_GT(compared, 200u);
}

TEST(Tasks, ACopyTakesMore) {
  TasksManager mine = TasksManager::builtin();
  mine.register_config<TextEncoderForTest>("mine", {"fill-mask", "causal-lm"});
  EXPECT_EQ(mine.make(config_of("mine", R"("vocab_size": 4)"), "masked-lm")->task(), "fill-mask");
  EXPECT_EQ(mine.make(config_of("mine", R"("vocab_size": 4)"), "text-generation")->task(), "text-generation");
  EXPECT_FALSE(TasksManager::builtin().supports("mine", "fill-mask"));
  EXPECT_EQ(code_of([&] { mine.register_config<TextEncoderForTest>("mine", {"paint"}); }),
            Code::bad_argument);
  mine.register_config<TextEncoderForTest>("mine", {"fill-mask-with-past"});
  EXPECT_EQ(code_of([&] { mine.make(config_of("mine"), "fill-mask-with-past"); }), Code::not_supported);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe::exporters
