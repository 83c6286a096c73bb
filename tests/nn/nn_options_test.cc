// Tests options of config.json: those that transformers has but an architecture here lacks are refused by
// name, and those that transformers does not read have no effect.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "support/exporter_fixtures.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using Json = nlohmann::ordered_json;
using testing::ExporterFixture;

ExporterFixture fixture(const std::string& name) {
  const auto all = testing::exporter_fixtures();
  return *std::ranges::find(all, name, &ExporterFixture::name);
}

Json config_of(const ExporterFixture& f) {
  std::ifstream in(f.folder / "config.json");
  return Json::parse(in);
}

/// Applies a merge patch in which a null is a value.
void change(Json& config, const Json& changes) {
  for (const auto& [key, value] : changes.items())
    if (value.is_object() && config.contains(key) && config[key].is_object() && !value.empty())
      change(config[key], value);
    else
      config[key] = value;
}

struct Option {
  const char* fixture;
  const char* changes;
  const char* said;         // of the value, with the option where they stand together
  const char* option = "";  // where it stands elsewhere in the sentence
};

class Refused : public ::testing::TestWithParam<Option> {};

TEST_P(Refused, ByName) {
  const ExporterFixture f = fixture(GetParam().fixture);
  Json json = config_of(f);
  change(json, Json::parse(GetParam().changes));
  try {
    nn::ModelRegistry::builtin().make(ModelConfig::parse(json.dump()), f.task);
    FAIL() << GetParam().changes;
  } catch (const Error& e) {
    EXPECT_TRUE(e.code() == Code::not_supported || e.code() == Code::bad_argument) << e.what();
    for (const char* words : {GetParam().said, GetParam().option})
      EXPECT_NE(std::string(e.what()).find(words), std::string::npos) << e.what();
  }
}

const Option refused[] = {
    {"bert", R"({"pruned_heads": {"0": [1, 2]}})", "'pruned_heads' of the layers '0'"},
    {"bert", R"({"quantization_config": {"quant_method": "fp8"}})",
     "'quantization_config' of the quant_method 'fp8'"},
    {"bert", R"({"add_cross_attention": true})", "'add_cross_attention' true"},
    {"bert", R"({"position_embedding_type": "rotary"})", "'rotary'", "position_embedding_type"},
    {"bert", R"({"hidden_act": "gelo"})", "'gelo'", "hidden_act"},
    {"roberta", R"({"add_cross_attention": true})", "'add_cross_attention' true"},
    {"xlm_roberta", R"({"position_embedding_type": "alibi"})", "'alibi'", "position_embedding_type"},
    {"mpnet", R"({"relative_attention_num_buckets": 8})", "'relative_attention_num_buckets' 8"},
    {"mpnet", R"({"hidden_act": "gelo"})", "'gelo'", "hidden_act"},
    {"distilbert", R"({"activation": "tanhh"})", "'tanhh'", "activation"},
    {"distilbert", R"({"hidden_size": 32})", "'hidden_size' 32"},
    {"gpt2", R"({"activation_function": "gelu_newer"})", "'gelu_newer'", "activation_function"},
    {"gpt2", R"({"num_attention_heads": 8})", "'num_attention_heads' 8"},
    {"gpt2", R"({"pruned_heads": {"1": [0]}})", "'pruned_heads' of the layers '1'"},
    {"llama", R"({"rope_scaling": {"rope_type": "mrope"}})", "'mrope'", "rope_type"},
    {"llama", R"({"rope_scaling": {"rope_type": "linear"}})", "a 'factor' for rope_type 'linear'"},
    {"llama", R"({"rope_parameters": {"full_attention": {"rope_theta": 5}}})",
     "'rope_parameters' with one for"},
    {"llama", R"({"partial_rotary_factor": 0.5})", "'partial_rotary_factor' 0.5"},
    {"llama", R"({"hidden_act": "situ"})", "'situ'", "hidden_act"},
    {"mistral_past", R"({"rope_scaling": {"type": "ntk", "factor": 2}})", "'ntk'", "rope_type"},
    {"qwen2_window", R"({"layer_types": ["full_attention", "chunked_attention"]})",
     "'layer_types' with 'chunked_attention'"},
    {"qwen2_window", R"({"layer_types": ["full_attention"]})", "'layer_types' of 1"},
    {"qwen2_window", R"({"use_sliding_window": false})", "'use_sliding_window' false"},
    {"t5", R"({"feed_forward_proj": "silu-gated"})", "'silu-gated'", "feed_forward_proj"},
    {"t5", R"({"dense_act_fn": "swich"})", "'swich'", "dense_act_fn"},
    {"t5", R"({"tie_encoder_decoder": true})", "'tie_encoder_decoder' true"},
    {"t5", R"({"head_dim": 8})", "'head_dim' 8"},
    {"bart", R"({"tie_encoder_decoder": true})", "'tie_encoder_decoder' true"},
    {"bart", R"({"activation_function": "swich"})", "'swich'", "activation_function"},
    {"mbart", R"({"num_attention_heads": 2})", "'num_attention_heads' 2"},
    {"whisper_past", R"({"hidden_size": 32})", "'hidden_size' 32"},
    {"whisper_past", R"({"activation_function": "swich"})", "'swich'", "activation_function"},
    {"vit", R"({"hidden_act": "gelo"})", "'gelo'", "hidden_act"},
    {"vit_masked", R"({"image_size": [8, 16]})", "'image_size' of 2 rows and 4 columns"},
    {"swin", R"({"use_absolute_embeddings": true})", "'use_absolute_embeddings' true"},
    {"swin", R"({"hidden_act": "gelo"})", "'gelo'", "hidden_act"},
    {"swin_masked", R"({"image_size": [16, 32]})", "'image_size' of 4 rows and 8 columns"},
    {"donut_swin", R"({"use_absolute_embeddings": true})", "transformers runs no such checkpoint"},
    {"resnet", R"({"layer_type": "wide"})", "'wide'", "layer_type"},
    {"resnet", R"({"hidden_act": "gelo"})", "'gelo'", "hidden_act"},
    {"clip", R"({"text_config": {"hidden_act": "quick"}})", "'quick'", "hidden_act"},
    {"clip", R"({"vision_config": {"pruned_heads": {"1": [0]}}})", "'pruned_heads' of the layers '1'"},
    {"clip_vision", R"({"hidden_act": "quick"})", "'quick'", "hidden_act"},
    {"clip_text", R"({"hidden_act": "quick"})", "'quick'", "hidden_act"},
    {"vit_gpt2_past", R"({"decoder": {"add_cross_attention": false}})",
     "'decoder.add_cross_attention' false"},
    {"vit_gpt2_past", R"({"encoder": {"model_type": "resnet"}})", "'resnet'"},
    {"vit_gpt2_past", R"({"decoder": {"model_type": "distilbert"}})", "'distilbert'", "'roberta'"},
    {"vit_bert", R"({"decoder": {"add_cross_attention": false}})", "'decoder.add_cross_attention' false"},
    {"deit_roberta", R"({"decoder": {"is_decoder": false, "add_cross_attention": false}})",
     "'decoder.is_decoder' false"},
    {"vit_bert", R"({"decoder": {"position_embedding_type": "rotary"}})", "'rotary'",
     "position_embedding_type"},
    {"vit_gpt2_projected", R"({"decoder": {"cross_attention_hidden_size": 16}})",
     "'decoder.cross_attention_hidden_size' 16"},
    {"deit", R"({"hidden_act": "gelo"})", "'gelo'", "hidden_act"},
    {"deit_masked", R"({"image_size": [8, 16]})", "'image_size' of 2 rows and 4 columns"},
    {"trocr_past", R"({"decoder": {"cross_attention_hidden_size": 12}})",
     "'decoder.cross_attention_hidden_size' 12", "the size of what the encoder gives, 16"},
    {"trocr_past", R"({"decoder": {"activation_function": "gelo"}})", "'gelo'", "activation_function"},
    {"trocr_past", R"({"decoder": {"hidden_size": 32}})", "'hidden_size' 32"},
    {"trocr_past", R"({"decoder": {"model_type": "trocl"}})", "'trocl'", "'trocr'"},
    {"trocr_printed", R"({"decoder": {"d_model": 25}})", "'d_model' 25"},
    {"trocr_printed", R"({"tie_encoder_decoder": true})", "'tie_encoder_decoder' true"},
};

std::string name_of(const ::testing::TestParamInfo<Option>& info) {
  return std::string(info.param.fixture) + "_" + std::to_string(info.index);
}
INSTANTIATE_TEST_SUITE_P(Options, Refused, ::testing::ValuesIn(refused), name_of);

/// Sizes that no model has are refused before anything is made of them, and named with the objects that
/// contain them.
const Option sizes[] = {
    {"bert", R"({"num_hidden_layers": 2147483648})", "'num_hidden_layers' from 0 to 4096, got 2147483648"},
    {"bert", R"({"num_hidden_layers": -1})", "'num_hidden_layers' from 0 to 4096, got -1"},
    {"bert", R"({"num_hidden_layers": 9223372036854775807})", "'num_hidden_layers' from"},
    {"bert", R"({"num_hidden_layers": 18446744073709551615})", "'num_hidden_layers' as an integer"},
    {"bert", R"({"num_attention_heads": 2147483648})", "'num_attention_heads' from 1 to"},
    {"bert", R"({"num_attention_heads": 0})", "'num_attention_heads' from 1 to"},
    {"bert", R"({"vocab_size": 2147483648})", "'vocab_size' from 1 to"},
    {"bert", R"({"hidden_size": 4294967296})", "'hidden_size' from 1 to"},
    {"bert", R"({"max_position_embeddings": 4611686018427387904})", "'max_position_embeddings' from"},
    {"bert", R"({"type_vocab_size": -3})", "'type_vocab_size' from 0"},
    {"mpnet", R"({"relative_attention_num_buckets": 2147483648})", "'relative_attention_num_buckets' from"},
    {"distilbert", R"({"n_layers": 2147483648})", "'n_layers' from 0 to 4096"},
    {"distilbert", R"({"n_heads": 0})", "'n_heads' from 1"},
    {"roberta", R"({"intermediate_size": 2147483648})", "'intermediate_size' from"},
    {"xlm_roberta", R"({"num_hidden_layers": 2147483648})", "'num_hidden_layers' from"},
    {"gpt2", R"({"n_layer": 2147483648})", "'n_layer' from 0 to 4096"},
    {"gpt2", R"({"n_head": 0})", "'n_head' from 1"},
    {"gpt2", R"({"n_inner": 2147483648})", "'n_inner' from"},
    {"llama", R"({"num_hidden_layers": 2147483648})", "'num_hidden_layers' from"},
    {"llama", R"({"num_key_value_heads": 0})", "'num_key_value_heads' from 1"},
    {"llama", R"({"head_dim": 2147483648})", "'head_dim' from 1"},
    {"llama", R"({"num_experts": 2147483648})", "'num_experts' from 0"},
    {"mistral", R"({"num_local_experts": 2147483648})", "'num_local_experts' from 0"},
    {"qwen2", R"({"num_hidden_layers": 2147483648})", "'num_hidden_layers' from"},
    {"t5", R"({"num_layers": 2147483648})", "'num_layers' from 0 to 4096"},
    {"t5", R"({"num_decoder_layers": 2147483648})", "'num_decoder_layers' from"},
    {"t5", R"({"num_heads": 0})", "'num_heads' from 1"},
    {"t5", R"({"num_layers": 0})", "'num_layers' 0"},
    {"t5_past", R"({"num_decoder_layers": 0})", "'num_decoder_layers' 0"},
    {"bart", R"({"encoder_layers": 2147483648})", "'encoder_layers' from"},
    {"mbart", R"({"decoder_layers": 2147483648})", "'decoder_layers' from"},
    {"bart", R"({"decoder_attention_heads": 0})", "'decoder_attention_heads' from 1"},
    {"whisper_past", R"({"decoder_layers": 2147483648})", "'decoder_layers' from"},
    {"whisper_past", R"({"num_mel_bins": 2147483648})", "'num_mel_bins' from"},
    {"vit", R"({"num_hidden_layers": 2147483648})", "'num_hidden_layers' from"},
    {"vit", R"({"patch_size": 0})", "'patch_size' from 1"},
    {"vit", R"({"image_size": [16, 2147483648]})", "'image_size' from 1"},
    {"deit", R"({"num_channels": 2147483648})", "'num_channels' from"},
    {"swin", R"({"window_size": 0})", "'window_size' from 1"},
    {"swin", R"({"depths": [2, 2147483648]})", "'depths' from 0 to 4096"},
    {"swin", R"({"depths": [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]})", "'depths' of at most 16"},
    {"donut_swin", R"({"num_heads": [2, 0]})", "'num_heads' from 1"},
    {"swin", R"({"image_size": 2147483648})", "'image_size' from 1 to 8192"},
    {"swin", R"({"image_size": 8192, "patch_size": 1})", "67108864 patches", "image_size"},
    {"swin", R"({"image_size": 8192, "window_size": 4096})", "16777216 patches", "image_size"},
    {"resnet", R"({"depths": [1, 2147483648, 1]})", "'depths' from"},
    {"resnet", R"({"hidden_sizes": [8, 0, 16]})", "'hidden_sizes' from 1"},
    {"clip", R"({"text_config": {"num_hidden_layers": 2147483648}})", "'text_config.num_hidden_layers' from"},
    {"clip", R"({"vision_config": {"patch_size": 0}})", "'vision_config.patch_size' from 1"},
    {"clip_vision", R"({"num_hidden_layers": 2147483648})", "'num_hidden_layers' from"},
    {"clip_text", R"({"projection_dim": 2147483648})", "'projection_dim' from"},
    {"vit_gpt2_past", R"({"decoder": {"n_layer": 2147483648}})", "'decoder.n_layer' from"},
    {"trocr_past", R"({"encoder": {"num_hidden_layers": 2147483648}})", "'encoder.num_hidden_layers' from"},
};
INSTANTIATE_TEST_SUITE_P(Sizes, Refused, ::testing::ValuesIn(sizes), [](const auto& info) {
  return std::string(info.param.fixture) + "_" + std::to_string(info.index);
});

/// Such names count as sizes only as keys of the configuration, not as labels, which may have any name.
TEST(Sizes, OfLabelsAreNone) {
  const ExporterFixture f = fixture("bert_classes");
  Json json = config_of(f);
  json["label2id"] = {{"dim", 0}, {"num_layers", 2147483648}};
  EXPECT_NO_THROW(nn::ModelRegistry::builtin().make(ModelConfig::parse(json.dump()), f.task));
}

struct OtherWords {
  const char* fixture;
  const char* changes;
  std::vector<std::string> erased = {};
};

class SameModel : public ::testing::TestWithParam<OtherWords> {};

/// Expects the bits of the fixture's config.json, which other tests compare with recorded ones.
TEST_P(SameModel, InOtherWords) {
  const ExporterFixture f = fixture(GetParam().fixture);
  Json json = config_of(f);
  for (const std::string& key : GetParam().erased) ASSERT_EQ(json.erase(key), 1u) << key;
  change(json, Json::parse(GetParam().changes));
  const auto config = ModelConfig::parse(json.dump());
  for (const std::string& file : f.files) {
    Context plain = Builder().build_engine(testing::network_of(f, file), {.threads = 1}).create_context(),
            other =
                Builder().build_engine(testing::network_of(f, file, config), {.threads = 1}).create_context();
    for (const testing::RecordedRun& run : f.runs(file)) {
      const NamedValues want = plain.run(run.inputs), got = other.run(run.inputs);
      for (const std::string& name : run.output_names) {
        const auto a = want.at(name).tensor().as<float>(), b = got.at(name).tensor().as<float>();
        EXPECT_TRUE(std::ranges::equal(a, b)) << file << " " << name;
      }
    }
  }
}

const OtherWords same[] = {
    {"bert",
     R"({"pruned_heads": {}, "chunk_size_feed_forward": 3, "tie_encoder_decoder": true, "use_cache": false})"},
    {"gpt2", R"({"num_attention_heads": 4, "hidden_size": 16, "reorder_and_upcast_attn": true})"},
    // Llama has no windows, and with a null as many groups as heads.
    {"llama", R"({"sliding_window": 2, "use_sliding_window": true, "num_key_value_heads": null,
                  "layer_types": ["sliding_attention", "sliding_attention"]})"},
    {"mistral_past",
     R"({"use_sliding_window": false, "max_window_layers": 9, "mlp_bias": true, "attention_bias": true})"},
    {"qwen2_past", R"({"sliding_window": 2, "max_window_layers": 0, "mlp_bias": true})", {"layer_types"}},
    {"qwen2_past", R"({"sliding_window": 2})", {"layer_types", "use_sliding_window"}},
    {"qwen2_window", "{}", {"layer_types"}},
    {"t5_gated", R"({"feed_forward_proj": "relu"})"},
    {"t5_gated", "{}", {"dense_act_fn", "is_gated_act"}},
    {"t5_gated", R"({"scale_decoder_outputs": false})"},
    {"t5_past", R"({"scale_decoder_outputs": true})"},
    {"llama_rope_longrope", R"({"rope_scaling": {"original_max_position_embeddings": 4}})"},
    {"llama_rope_yarn", R"({"rope_scaling": {"beta_fast": 0, "beta_slow": 0, "factor": null}})"},
    {"llama_rope_yarn",
     R"({"rope_parameters": {"rope_type": "linear", "factor": 7}})"},  // the older key counts
};
INSTANTIATE_TEST_SUITE_P(Options, SameModel, ::testing::ValuesIn(same), [](const auto& info) {
  return std::string(info.param.fixture) + "_" + std::to_string(info.index);
});

// ── Every option that transformers knows

using Options = std::map<std::string, std::set<std::string>>;  // by model type

/// The options of those architectures' configurations, with defaults (tools/record_options.py).
const Json& options_of_transformers() {
  static const Json all = [] {
    std::ifstream in(LATHE_SOURCE_DIR "/tests/data/transformers_options.json");
    return Json::parse(in)["options"];
  }();
  return all;
}

/// Options of `config` and its halves with another value than the default.
void collect_changed(const Json& config, Options& into) {
  const std::string type = config.value("model_type", "");
  const Json& known = options_of_transformers();
  if (known.contains(type))
    for (const auto& [key, fallback] : known[type].items())
      if (config.contains(key) && config[key] != fallback) into[type].insert(key);
  for (const Json& half : config)
    if (half.is_object()) collect_changed(half, into);
}

/// Options that a table's line changes, of the fixture's architecture and its halves.
void collect_named(const Json& config, const Json& changes, Options& into) {
  for (const auto& [key, value] : changes.items()) {
    into[config.value("model_type", "")].insert(key);
    if (value.is_object() && config.contains(key) && config[key].is_object())
      collect_named(config[key], value, into);
  }
}

/// Options that change no file, of these model types or of all.
struct Idle {
  std::vector<std::string> options;
  std::vector<std::string> types;
  const char* why;
};
const Idle idle[] = {
    {{"dropout",
      "dropout_rate",
      "attention_dropout",
      "activation_dropout",
      "classifier_dropout",
      "qa_dropout",
      "hidden_dropout_prob",
      "attention_probs_dropout_prob",
      "seq_classif_dropout",
      "summary_first_dropout",
      "resid_pdrop",
      "embd_pdrop",
      "attn_pdrop",
      "encoder_layerdrop",
      "decoder_layerdrop",
      "drop_path_rate",
      "initializer_range",
      "initializer_factor",
      "init_std",
      "logit_scale_init_value",
      "apply_spec_augment",
      "mask_time_prob",
      "mask_time_length",
      "mask_time_min_masks",
      "mask_feature_prob",
      "mask_feature_length",
      "mask_feature_min_masks"},
     {},
     "training"},
    {{"bos_token_id", "forced_eos_token_id", "suppress_tokens", "median_filter_width"},
     {},
     "what writes text"},
    {{"eos_token_id"},
     {"llama", "mistral", "mpnet", "roberta", "t5", "trocr", "xlm-roberta"},
     "what writes text"},
    {{"decoder_start_token_id"}, {"trocr"}, "what writes text"},
    {{"use_cache"}, {}, "the task says it"},
    {{"pad_token_id"}, {"bert", "clip_text_model", "distilbert", "t5"}, "a row that is as it was trained"},
    {{"tie_word_embeddings"},
     {"clip", "clip_text_model", "clip_vision_model", "deit", "donut-swin", "resnet", "swin", "vit"},
     "no words come out"},
    {{"pruned_heads"}, {}, "refused of all: three architectures stand for them"},
    {{"tie_encoder_decoder"},
     {},
     "refused where there is an encoder and a decoder, and of no meaning elsewhere"},
    {{"cross_attention_hidden_size"},
     {},
     "read inside of vision-encoder-decoder, and there exercised or refused"},
    {{"add_cross_attention", "is_decoder"},
     {"clip", "clip_text_model", "clip_vision_model", "deit", "distilbert", "donut-swin", "llama", "mistral",
      "mpnet", "qwen2", "resnet", "swin", "t5", "vision-encoder-decoder", "vit", "whisper"},
     "not read: an encoder, a decoder or both by nature"},
    {{"is_encoder_decoder"}, {"whisper"}, "both by nature"},
    {{"num_labels"}, {"bart"}, "said by id2label"},
    {{"pooler_act"}, {"deit", "vit"}, "what is pooled is no output"},
    {{"projection_dim"}, {"clip_vision_model"}, "of the projection behind, which Optimum does not export"},
    {{"summary_type", "summary_use_proj", "summary_activation", "summary_proj_to_labels"},
     {"gpt2"},
     "of two heads at once, which Optimum does not export"},
    {{"pretraining_tp"}, {"llama"}, "the same sums in parts"},
};

/// Each option is in a recorded checkpoint with another value than the default, or refused, or listed as
/// without effect.
TEST(Options, OfTransformersAreExercisedRefusedOrIdle) {
  Options exercised, named;
  for (const ExporterFixture& f : testing::exporter_fixtures()) {
    std::ifstream in(f.folder / f.config_folder / "config.json");
    collect_changed(Json::parse(in), exercised);
  }
  for (const Option& o : refused) collect_named(config_of(fixture(o.fixture)), Json::parse(o.changes), named);
  for (const OtherWords& o : same)
    collect_named(config_of(fixture(o.fixture)), Json::parse(o.changes), named);
  const auto is_idle = [](const std::string& type, const std::string& option) {
    return std::ranges::any_of(idle, [&](const Idle& i) {
      return std::ranges::count(i.options, option) && (i.types.empty() || std::ranges::count(i.types, type));
    });
  };
  for (const auto& [type, options] : options_of_transformers().items())
    for (const auto& [option, fallback] : options.items())
      EXPECT_TRUE(exercised[type].contains(option) || named[type].contains(option) || is_idle(type, option))
          << "'" << option << "' of " << type << " is neither exercised nor refused";
  // Options that are listed for some types are not exercised there.
  for (const Idle& i : idle)
    for (const std::string& type : i.types)
      for (const std::string& option : i.options)
        EXPECT_FALSE(exercised[type].contains(option)) << "'" << option << "' of " << type;
  std::set<std::string> types;
  for (const ExporterFixture& f : testing::architecture_fixtures()) types.insert(f.model_type);
  for (const std::string& type : types) EXPECT_TRUE(options_of_transformers().contains(type)) << type;
}

/// Halves of CLIP that older files have twice: the one with "_dict" behind its name is read as a whole.
TEST(Clip, TheSecondSayingOfAHalfCounts) {
  const ExporterFixture f = fixture("clip");
  Json json = config_of(f);
  for (const std::string half : {"text_config", "vision_config"}) {
    json[half + "_dict"] = json[half];
    json[half] = {{"hidden_size", 99}, {"num_hidden_layers", 7}};
  }
  const Network n = testing::network_of(f, "model", ModelConfig::parse(json.dump()));
  Context context = Builder().build_engine(n, {.threads = 1}).create_context(),
          plain = Builder().build_engine(testing::network_of(f, "model"), {.threads = 1}).create_context();
  for (const testing::RecordedRun& run : f.runs("model"))
    for (const auto& [name, value] : plain.run(run.inputs))
      EXPECT_TRUE(std::ranges::equal(context.run(run.inputs).at(name).tensor().as<float>(),
                                     value.tensor().as<float>()))
          << name;
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
