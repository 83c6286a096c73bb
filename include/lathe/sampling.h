// Chooses the next token of a text from what a model says of all tokens: penalties and bans, greedy choice or
// sampling, log probabilities, and the strings at which a text ends.
//
//   lathe::Sampler sampler({.do_sample = true, .temperature = 0.7f, .top_p = 0.9f, .seed = 1}, 49152);
//   tokens.push_back(sampler.next(tokens, prompt_length, logits));
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// Lowers tokens that would go on repeating what a text already has: where the last L tokens stood earlier in
/// the text, with L of `allowed_length` or more, the token that followed there loses multiplier * base ^ (L -
/// allowed_length). Breakers are never lowered. llama.cpp: dry_multiplier and the like.
struct DryPenalty {
  float multiplier = 0;                         // 0: off
  float base = 1.75f;                           // at least 1
  int64_t allowed_length = 2;                   // tokens that may be repeated, at least 1
  int64_t last_n = -1;                          // how many of the last tokens are looked at; -1: all; 0: off
  std::vector<int32_t> sequence_breakers = {};  // tokens over which no repetition reaches
};

/// Selects how a text is continued. Members have the names and the meaning of transformers' GenerationConfig
/// where it has them.
///
/// All that is asked for is applied in this order: logit_bias, repetition_penalty, presence_penalty and
/// frequency_penalty, dry, no_repeat_ngram_size, bad_words_ids, min_length, min_new_tokens,
/// forced_bos_token_id, forced_eos_token_id, suppress_tokens, begin_suppress_tokens; then, where tokens are
/// sampled, temperature, top_k, top_p, min_p, typical_p. The order is transformers', whose penalties these
/// are but for those of the OpenAI interface (presence, frequency) and of llama.cpp (dry).
struct GenerationConfig {
  std::optional<int64_t> max_new_tokens = {};  // tokens behind the prompt; goes before max_length
  std::optional<int64_t> max_length = {};      // tokens with the prompt
  int64_t min_length = 0;                      // tokens with the prompt before which no end token is taken
  int64_t min_new_tokens = 0;                  // the same for tokens behind the prompt
  std::vector<int32_t> eos_token_id = {};      // tokens that end a text
  std::vector<std::string> stop_strings = {};  // texts that end a text, in UTF-8

  bool do_sample = false;  // false: the likeliest token is taken, of equal ones that of the lowest id
  float temperature = 1;   // above 0; logits are divided by it
  int64_t top_k = 0;       // the likeliest tokens that stay, with all that equal the last of them; 0: all
  float top_p =
      1;  // the fewest likeliest tokens stay that have this probability, of equal ones the lowest ids; 1: all
  float min_p = 0;      // tokens stay whose probability is this share of the greatest, or more
  float typical_p = 1;  // tokens stay whose information is nearest to the expected; 1: all
  uint64_t seed = 0;    // a random number depends on the seed, the answer and the position alone

  float repetition_penalty = 1;      // above 0; of tokens in the text, prompt included; 1: none
  float presence_penalty = 0;        // subtracted from tokens behind the prompt. OpenAI: presence_penalty
  float frequency_penalty = 0;       // subtracted for each time that one occurs there. OpenAI: the same
  DryPenalty dry = {};               // a penalty of long repetitions
  int64_t no_repeat_ngram_size = 0;  // no run of so many tokens occurs twice, prompt included; 0: off
  std::vector<std::pair<int32_t, float>> logit_bias = {};  // added to the logits of tokens
  std::vector<std::vector<int32_t>> bad_words_ids = {};    // runs never completed; an end token alone is none
  std::vector<int32_t> suppress_tokens = {};               // tokens that are never taken
  std::vector<int32_t> begin_suppress_tokens = {};         // tokens not taken first, or behind a forced first
  std::optional<int32_t> forced_bos_token_id = {};         // the first token behind a prompt of one token
  std::optional<int32_t> forced_eos_token_id = {};         // the last token at the greatest length
  std::optional<int32_t> pad_token_id = {};                // fills the rows of a batch; no text depends on it

  /// Reads generation_config.json, or the directory that it is in, as transformers does: top_k is 50 where
  /// the file does not say it. Throws what ModelConfig::open throws; bad_argument for values of another type,
  /// json_malformed for ids out of range; not_supported, with the name, for options that are not there and
  /// may change the text (num_beams, penalty_alpha, …).
  static LATHE_API GenerationConfig open(const std::filesystem::path& path);
  /// Reads JSON text; errors name `origin` in the place of a file. Throws as open() does.
  static LATHE_API GenerationConfig parse(std::string_view json,
                                          std::string origin = "generation_config.json");

  /// Returns the greatest length of a text with a prompt of so many tokens; nothing: no limit is set.
  std::optional<int64_t> length_limit(int64_t prompt_length) const {
    return max_new_tokens ? std::optional(prompt_length + *max_new_tokens) : max_length;
  }
};

/// A token and its probability.
struct TokenLogprob {
  int32_t token = 0;  // id
  float logprob = 0;  // natural logarithm of the probability
};

/// Applies a GenerationConfig to logits. It keeps nothing of a text: what comes out depends on the arguments
/// alone. Immutable; copies share; thread-safe.
class LATHE_API Sampler {
 public:
  /// Throws bad_argument for members that are out of range, and for tokens that are not below
  /// `vocabulary_size`.
  Sampler(GenerationConfig config, int64_t vocabulary_size);

  /// Returns the configuration.
  const GenerationConfig& config() const { return config_; }
  /// Returns the number of tokens that logits have.
  int64_t vocabulary_size() const { return vocabulary_size_; }

  /// Applies to the logits of the next token, one float for each token, all but what sampling does. `tokens`:
  /// the prompt and what was generated behind it. Tokens that may not be taken become minus infinity. Throws
  /// run_bad_shape for another number of logits, bad_argument for tokens that are not in the vocabulary and
  /// prompts that are longer than the text.
  void process(std::span<const int32_t> tokens, int64_t prompt_length, std::span<float> logits) const;
  /// Applies temperature, top_k, top_p, min_p and typical_p: tokens that are out become minus infinity.
  void warp(std::span<float> logits) const;
  /// Chooses from logits that process() has been applied to: the greatest, or as warp() leaves them, with the
  /// random number of that position and answer. Throws run_bad_value where a logit is NaN or no token is
  /// left.
  int32_t choose(std::span<const float> processed, int64_t position, uint32_t answer = 0) const;
  /// Calls process() and then choose() for the position behind the text.
  int32_t next(std::span<const int32_t> tokens, int64_t prompt_length, std::span<float> logits,
               uint32_t answer = 0) const;

 private:
  void apply_penalties(std::span<const int32_t> tokens, int64_t prompt_length, std::span<float> logits) const;
  void apply_bans(std::span<const int32_t> tokens, int64_t prompt_length, std::span<float> logits) const;

  GenerationConfig config_;
  int64_t vocabulary_size_ = 0;
};

/// Returns the logarithm of the probability that these logits give a token. Throws bad_argument for a token
/// that they do not have, run_bad_value where no logit is a finite number. The same bits for the same logits.
LATHE_API float log_probability(std::span<const float> logits, int32_t token);
/// Returns the likeliest tokens, the likeliest first, of equal ones that of the lowest id first. Throws as
/// log_probability() does.
LATHE_API std::vector<TokenLogprob> top_log_probabilities(std::span<const float> logits, size_t count);

/// Finds the first of some strings in a text that comes in pieces, and holds back what may be the beginning
/// of one. Not thread-safe.
class LATHE_API StopStrings {
 public:
  /// Empty strings are left out. Throws bad_argument for strings of more than 65536 bytes in all.
  explicit StopStrings(std::vector<std::string> strings);
  /// Appends a piece and returns the text that is certain by now: nothing of it belongs to a stop string.
  /// Once one was found, the text in front of it, and nothing from then on. Of several strings that
  /// which ends first counts, and of those that end at one place the longest: pieces of any size give the
  /// same.
  std::string append(std::string_view piece);
  /// Returns what was held back: the text has ended.
  std::string finish();
  /// Returns the index of the string that was found, in the list given; nothing: none yet.
  std::optional<size_t> found() const { return found_; }

 private:
  std::vector<std::string> strings_;
  std::string held_;
  std::optional<size_t> found_;
};

}  // namespace lathe
