// Reads generation_config.json as transformers does.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "base/error_about.h"
#include "lathe/checkpoint.h"
#include "lathe/sampling.h"

namespace lathe {
namespace {

/// Keys without influence on the tokens that are chosen here: what only beam search reads, caches, outputs,
/// and notes on the file.
constexpr std::string_view without_influence[] = {
    "_from_model_config",
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_lookbehind",
    "bos_token_id",
    "cache_config",
    "cache_implementation",
    "compile_config",
    "decoder_start_token_id",
    "disable_compile",
    "early_stopping",
    "is_assistant",
    "length_penalty",
    "low_memory",
    "max_matching_ngram_size",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "return_dict_in_generate",
    "return_legacy_cache",
    "target_lookbehind",
    "token_healing",
    "transformers_version",
    "use_cache",
    "max_time",
};

class GenerationConfigReader {
 public:
  GenerationConfigReader(const ModelConfig& file, std::string origin)
      : file_(file), origin_(std::move(origin)) {}

  GenerationConfig read() {
    GenerationConfig c;
    for (const std::string& key : file_.keys())
      if (file_.has(key)) take(key, c);
    // Unset, it is 50 there wherever tokens are sampled.
    if (!file_.has("top_k")) c.top_k = 50;
    return c;
  }

 private:
  void take(const std::string& key, GenerationConfig& c) const {
    if (key == "max_new_tokens")
      c.max_new_tokens = file_.get<int64_t>(key);
    else if (key == "max_length")
      c.max_length = file_.get<int64_t>(key);
    else if (key == "min_length")
      c.min_length = file_.get<int64_t>(key);
    else if (key == "min_new_tokens")
      c.min_new_tokens = file_.get<int64_t>(key);
    else if (key == "no_repeat_ngram_size")
      c.no_repeat_ngram_size = file_.get<int64_t>(key);
    else if (key == "top_k")
      c.top_k = file_.get<int64_t>(key);
    else if (key == "do_sample")
      c.do_sample = file_.get<bool>(key);
    else if (key == "temperature")
      c.temperature = number(key);
    else if (key == "top_p")
      c.top_p = number(key);
    else if (key == "min_p")
      c.min_p = number(key);
    else if (key == "typical_p")
      c.typical_p = number(key);
    else if (key == "repetition_penalty")
      c.repetition_penalty = number(key);
    else if (key == "eos_token_id")
      c.eos_token_id = tokens(key);
    else if (key == "suppress_tokens")
      c.suppress_tokens = tokens(key);
    else if (key == "begin_suppress_tokens")
      c.begin_suppress_tokens = tokens(key);
    else if (key == "forced_bos_token_id")
      c.forced_bos_token_id = token(key, file_.get<int64_t>(key));
    else if (key == "forced_eos_token_id")
      c.forced_eos_token_id = token(key, file_.get<int64_t>(key));
    else if (key == "pad_token_id") {
      // Where there is no such token, some files say -1.
      if (const auto id = file_.get<int64_t>(key); id >= 0) c.pad_token_id = token(key, id);
    } else if (key == "stop_strings")
      c.stop_strings = texts(key);
    else if (!has_no_influence(key))
      throw error_about(Code::not_supported, "read config", origin_, "options of generation that there are",
                        "'" + key + "'", "take it out of the file to do without");
  }

  /// Returns whether the option is one that is not looked at, or has the value that does nothing.
  bool has_no_influence(const std::string& key) const {
    if (std::ranges::find(without_influence, key) != std::end(without_influence)) return true;
    if (key == "num_beams" || key == "num_beam_groups" || key == "guidance_scale" ||
        key == "encoder_repetition_penalty" || key == "top_h")
      return file_.get<double>(key) == 1;
    if (key == "diversity_penalty" || key == "epsilon_cutoff" || key == "eta_cutoff" ||
        key == "encoder_no_repeat_ngram_size")
      return file_.get<double>(key) == 0;
    if (key == "remove_invalid_values" || key == "renormalize_logits" || key == "trust_remote_code")
      return !file_.get<bool>(key);
    return false;
  }

  float number(const std::string& key) const { return static_cast<float>(file_.get<double>(key)); }
  int32_t token(const std::string& key, int64_t id) const {
    if (id < 0 || id > std::numeric_limits<int32_t>::max())
      throw error_about(Code::json_malformed, "read config", origin_, "'" + key + "' of 0 to 2147483647",
                        std::to_string(id), "correct the configuration");
    return static_cast<int32_t>(id);
  }
  /// A token or a list of some.
  std::vector<int32_t> tokens(const std::string& key) const {
    std::vector<int32_t> list;
    for (int64_t id : one_or_more<int64_t>(key)) list.push_back(token(key, id));
    return list;
  }
  std::vector<std::string> texts(const std::string& key) const { return one_or_more<std::string>(key); }

  template <class T>
  std::vector<T> one_or_more(const std::string& key) const {
    try {
      return {file_.get<T>(key)};
    } catch (const Error&) {
      return file_.get<std::vector<T>>(key);
    }
  }

  const ModelConfig& file_;
  std::string origin_;
};

}  // namespace

GenerationConfig GenerationConfig::parse(std::string_view json, std::string origin) {
  const ModelConfig file = ModelConfig::parse(json, origin);
  return GenerationConfigReader(file, std::move(origin)).read();
}

GenerationConfig GenerationConfig::open(const std::filesystem::path& path) {
  std::error_code ignored;
  const std::filesystem::path file =
      std::filesystem::is_directory(path, ignored) ? path / "generation_config.json" : path;
  const ModelConfig config = ModelConfig::open(file);
  return GenerationConfigReader(config, file.string()).read();
}

}  // namespace lathe
