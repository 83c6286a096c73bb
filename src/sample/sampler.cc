// Processors of logits, in the order that lathe/sampling.h gives. Each does what transformers' class of the
// same purpose does.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <unordered_map>

#include "base/counter_random.h"
#include "lathe/error.h"
#include "lathe/sampling.h"
#include "sample/filters.h"

namespace lathe {
namespace {

using sample::banned;

[[noreturn]] void refuse(std::string expected, std::string got) {
  throw Error(Code::bad_argument, "sample", std::move(expected), std::move(got));
}
void require(bool holds, const char* expected, double got) {
  if (!holds) refuse(expected, std::to_string(got));
}
void require_tokens(std::span<const int32_t> tokens, int64_t size, const char* where) {
  for (int32_t t : tokens)
    if (t < 0 || t >= size)
      refuse(std::string(where) + ": tokens from 0 to " + std::to_string(size - 1), std::to_string(t));
}

void ban(std::span<float> logits, std::span<const int32_t> tokens) {
  for (int32_t t : tokens) logits[static_cast<size_t>(t)] = banned;
}
void force(std::span<float> logits, int32_t token) {
  std::ranges::fill(logits, banned);
  logits[static_cast<size_t>(token)] = 0;
}

/// Of every distinct token, how often it occurs.
std::unordered_map<int32_t, int64_t> counts_of(std::span<const int32_t> tokens) {
  std::unordered_map<int32_t, int64_t> counts;
  for (int32_t t : tokens) ++counts[t];
  return counts;
}

/// Returns, for each position of a sequence but the first, how many tokens in front of it equal the last ones
/// of the sequence, at most `limit`. Linear in the length: the Z function of the reversed sequence.
std::vector<size_t> matches_of_end(std::span<const int32_t> s, size_t limit) {
  const size_t n = s.size();
  const auto reversed = [&](size_t i) { return s[n - 1 - i]; };
  std::vector<size_t> z(n, 0);
  for (size_t i = 1, left = 0, right = 0; i < n; ++i) {
    if (i < right) z[i] = std::min(right - i, z[i - left]);
    while (i + z[i] < n && reversed(z[i]) == reversed(i + z[i])) ++z[i];
    if (i + z[i] > right) left = i, right = i + z[i];
  }
  std::vector<size_t> matches(n, 0);
  for (size_t i = 1; i < n; ++i) matches[n - i] = std::min(limit, z[i]);
  return matches;
}

void penalize_repetitions(const DryPenalty& dry, std::span<const int32_t> tokens, std::span<float> logits) {
  if (dry.last_n >= 0 && tokens.size() > static_cast<size_t>(dry.last_n))
    tokens = tokens.last(static_cast<size_t>(dry.last_n));
  const auto breaks = [&](int32_t t) {
    return std::ranges::find(dry.sequence_breakers, t) != dry.sequence_breakers.end();
  };
  size_t limit = 0;
  while (limit < tokens.size() && !breaks(tokens[tokens.size() - 1 - limit])) ++limit;
  if (limit < static_cast<size_t>(dry.allowed_length)) return;
  const std::vector<size_t> matches = matches_of_end(tokens, limit);
  std::unordered_map<int32_t, size_t> longest;
  for (size_t i = 1; i < tokens.size(); ++i)
    if (matches[i] >= static_cast<size_t>(dry.allowed_length) && !breaks(tokens[i])) {
      size_t& most = longest[tokens[i]];
      most = std::max(most, matches[i]);
    }
  for (const auto& [token, length] : longest) {
    // Bounded, so that what is lowered stays a number and not a ban.
    const double by =
        dry.multiplier * std::pow(static_cast<double>(dry.base),
                                  static_cast<double>(length) - static_cast<double>(dry.allowed_length));
    logits[static_cast<size_t>(token)] -= static_cast<float>(std::min(by, 1e30));
  }
}

/// Bans the tokens that followed the last `size - 1` tokens earlier in the text.
void ban_repeated_ngrams(int64_t size, std::span<const int32_t> tokens, std::span<float> logits) {
  const auto context = static_cast<size_t>(size - 1);
  if (tokens.size() < context + 1) return;
  const std::span<const int32_t> end = tokens.last(context);
  for (size_t i = 0; i + context < tokens.size(); ++i)
    if (std::ranges::equal(tokens.subspan(i, context), end))
      logits[static_cast<size_t>(tokens[i + context])] = banned;
}

/// Bans the last token of every run whose other tokens end the text. End tokens alone are no words.
void ban_bad_words(const GenerationConfig& c, std::span<const int32_t> tokens, std::span<float> logits) {
  for (const std::vector<int32_t>& word : c.bad_words_ids) {
    if (word.size() == 1 && std::ranges::find(c.eos_token_id, word.front()) != c.eos_token_id.end()) continue;
    const std::span<const int32_t> begin = std::span(word).first(word.size() - 1);
    if (begin.size() <= tokens.size() && std::ranges::equal(begin, tokens.last(begin.size())))
      logits[static_cast<size_t>(word.back())] = banned;
  }
}

}  // namespace

Sampler::Sampler(GenerationConfig config, int64_t vocabulary_size)
    : config_(std::move(config)), vocabulary_size_(vocabulary_size) {
  const GenerationConfig& c = config_;
  constexpr int64_t most = std::numeric_limits<int32_t>::max();
  require(vocabulary_size > 0 && vocabulary_size <= most, "a vocabulary of 1 token or more",
          static_cast<double>(vocabulary_size));
  require(std::isfinite(c.temperature) && c.temperature > 0, "a temperature above 0", c.temperature);
  require(c.top_k >= 0, "top_k of 0 or more", static_cast<double>(c.top_k));
  require(c.top_p >= 0 && c.top_p <= 1, "top_p from 0 to 1", c.top_p);
  require(c.min_p >= 0 && c.min_p <= 1, "min_p from 0 to 1", c.min_p);
  require(c.typical_p > 0 && c.typical_p <= 1, "typical_p above 0, at most 1", c.typical_p);
  require(std::isfinite(c.repetition_penalty) && c.repetition_penalty > 0, "a repetition_penalty above 0",
          c.repetition_penalty);
  require(std::isfinite(c.presence_penalty), "a presence_penalty that is a number", c.presence_penalty);
  require(std::isfinite(c.frequency_penalty), "a frequency_penalty that is a number", c.frequency_penalty);
  require(std::isfinite(c.dry.multiplier) && c.dry.multiplier >= 0, "a dry.multiplier of 0 or more",
          c.dry.multiplier);
  require(std::isfinite(c.dry.base) && c.dry.base >= 1, "a dry.base of 1 or more", c.dry.base);
  require(c.dry.allowed_length >= 1, "a dry.allowed_length of 1 or more",
          static_cast<double>(c.dry.allowed_length));
  require(c.dry.last_n >= -1, "a dry.last_n of -1 or more", static_cast<double>(c.dry.last_n));
  require(c.no_repeat_ngram_size >= 0, "a no_repeat_ngram_size of 0 or more",
          static_cast<double>(c.no_repeat_ngram_size));
  require(c.min_length >= 0, "a min_length of 0 or more", static_cast<double>(c.min_length));
  require(c.min_new_tokens >= 0, "min_new_tokens of 0 or more", static_cast<double>(c.min_new_tokens));
  for (const auto& limit : {c.max_length, c.max_new_tokens})
    if (limit) require(*limit >= 1, "a greatest length of 1 or more", static_cast<double>(*limit));
  const auto in_vocabulary = [&](std::span<const int32_t> tokens, const char* where) {
    require_tokens(tokens, vocabulary_size, where);
  };
  in_vocabulary(c.eos_token_id, "eos_token_id");
  in_vocabulary(c.suppress_tokens, "suppress_tokens");
  in_vocabulary(c.begin_suppress_tokens, "begin_suppress_tokens");
  for (const std::vector<int32_t>& word : c.bad_words_ids) {
    if (word.empty()) refuse("bad_words_ids of one token or more each", "an empty one");
    in_vocabulary(word, "bad_words_ids");
  }
  for (const auto& [token, bias] : c.logit_bias) {
    in_vocabulary(std::span(&token, 1), "logit_bias");
    if (std::isnan(bias)) refuse("a logit_bias that is a number", "NaN");
  }
  for (const auto& token : {c.forced_bos_token_id, c.forced_eos_token_id})
    if (token) in_vocabulary(std::span(&*token, 1), "a forced token");
}

void Sampler::apply_penalties(std::span<const int32_t> tokens, int64_t prompt_length,
                              std::span<float> logits) const {
  const GenerationConfig& c = config_;
  for (const auto& [token, bias] : c.logit_bias) logits[static_cast<size_t>(token)] += bias;
  if (c.repetition_penalty != 1)
    for (const auto& [token, count] : counts_of(tokens)) {
      float& logit = logits[static_cast<size_t>(token)];
      logit = logit < 0 ? logit * c.repetition_penalty : logit / c.repetition_penalty;
    }
  if (c.presence_penalty != 0 || c.frequency_penalty != 0)
    for (const auto& [token, count] : counts_of(tokens.subspan(static_cast<size_t>(prompt_length))))
      logits[static_cast<size_t>(token)] -=
          c.presence_penalty + c.frequency_penalty * static_cast<float>(count);
  if (c.dry.multiplier > 0) penalize_repetitions(c.dry, tokens, logits);
}

void Sampler::apply_bans(std::span<const int32_t> tokens, int64_t prompt_length,
                         std::span<float> logits) const {
  const GenerationConfig& c = config_;
  const auto length = static_cast<int64_t>(tokens.size());
  if (c.no_repeat_ngram_size > 0) ban_repeated_ngrams(c.no_repeat_ngram_size, tokens, logits);
  ban_bad_words(c, tokens, logits);
  if (length < c.min_length || length - prompt_length < c.min_new_tokens) ban(logits, c.eos_token_id);
  if (c.forced_bos_token_id && length == 1) force(logits, *c.forced_bos_token_id);
  if (const auto limit = c.length_limit(prompt_length);
      c.forced_eos_token_id && limit && length == *limit - 1)
    force(logits, *c.forced_eos_token_id);
  ban(logits, c.suppress_tokens);
  // A token that is forced behind the prompt is not the first one.
  const int64_t begin = prompt_length + (prompt_length <= 1 && c.forced_bos_token_id ? 1 : 0);
  if (length == begin) ban(logits, c.begin_suppress_tokens);
}

void Sampler::process(std::span<const int32_t> tokens, int64_t prompt_length, std::span<float> logits) const {
  if (static_cast<int64_t>(logits.size()) != vocabulary_size_)
    throw Error(Code::run_bad_shape, "sample", std::to_string(vocabulary_size_) + " logits",
                std::to_string(logits.size()));
  require_tokens(tokens, vocabulary_size_, "the text");
  if (prompt_length < 0 || static_cast<size_t>(prompt_length) > tokens.size())
    refuse("a prompt of at most " + std::to_string(tokens.size()) + " tokens, the text's",
           std::to_string(prompt_length));
  apply_penalties(tokens, prompt_length, logits);
  apply_bans(tokens, prompt_length, logits);
}

void Sampler::warp(std::span<float> logits) const {
  sample::Candidates all(logits);
  all.filter(config_);
  std::ranges::fill(logits, banned);
  for (const sample::Candidate& c : all.list()) logits[static_cast<size_t>(c.token)] = c.logit;
}

int32_t Sampler::choose(std::span<const float> processed, int64_t position, uint32_t answer) const {
  if (!config_.do_sample) return sample::greatest(processed);
  sample::Candidates all(processed);
  all.filter(config_);
  return all.draw(CounterRandom(config_.seed).uniform(static_cast<uint64_t>(position), answer));
}

int32_t Sampler::next(std::span<const int32_t> tokens, int64_t prompt_length, std::span<float> logits,
                      uint32_t answer) const {
  process(tokens, prompt_length, logits);
  return choose(logits, static_cast<int64_t>(tokens.size()), answer);
}

}  // namespace lathe
