// Processors of logits beside those of transformers (recorded by tools/record_logits_processors.py), and what
// has no counterpart there.
#include "lathe/sampling.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <numeric>
#include <sstream>

#include "base/json.h"
#include "lathe/error.h"
#include "support/error_code.h"
#include "support/temp_directory.h"

namespace lathe {
namespace LATHE_TEST_FILE {

using testing::code_of;

constexpr float banned = -std::numeric_limits<float>::infinity();

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<float> floats(const Json& list) {
  std::vector<float> all;
  for (const Json& v : list) all.push_back(v.is_null() ? banned : static_cast<float>(v.get<double>()));
  return all;
}
std::vector<int32_t> tokens(const Json& list) {
  std::vector<int32_t> all;
  for (const Json& v : list) all.push_back(static_cast<int32_t>(v.get<int64_t>()));
  return all;
}

GenerationConfig config_of(const Json& c) {
  GenerationConfig g;
  for (const auto& [key, v] : c.items()) {
    const auto number = [&] { return static_cast<float>(v.get<double>()); };
    if (key == "logit_bias")
      for (const Json& pair : v)
        g.logit_bias.emplace_back(static_cast<int32_t>(pair[0].get<int64_t>()),
                                  static_cast<float>(pair[1].get<double>()));
    else if (key == "bad_words_ids")
      for (const Json& word : v) g.bad_words_ids.push_back(tokens(word));
    else if (key == "repetition_penalty")
      g.repetition_penalty = number();
    else if (key == "no_repeat_ngram_size")
      g.no_repeat_ngram_size = v.get<int64_t>();
    else if (key == "min_length")
      g.min_length = v.get<int64_t>();
    else if (key == "min_new_tokens")
      g.min_new_tokens = v.get<int64_t>();
    else if (key == "max_length")
      g.max_length = v.get<int64_t>();
    else if (key == "forced_bos_token_id")
      g.forced_bos_token_id = static_cast<int32_t>(v.get<int64_t>());
    else if (key == "forced_eos_token_id")
      g.forced_eos_token_id = static_cast<int32_t>(v.get<int64_t>());
    else if (key == "suppress_tokens")
      g.suppress_tokens = tokens(v);
    else if (key == "begin_suppress_tokens")
      g.begin_suppress_tokens = tokens(v);
    else if (key == "eos_token_id")
      g.eos_token_id = tokens(v);
    else if (key == "do_sample")
      g.do_sample = v.get<bool>();
    else if (key == "temperature")
      g.temperature = number();
    else if (key == "top_k")
      g.top_k = v.get<int64_t>();
    else if (key == "top_p")
      g.top_p = number();
    else if (key == "min_p")
      g.min_p = number();
    else if (key == "typical_p")
      g.typical_p = number();
    else
      ADD_FAILURE() << key;
  }
  return g;
}

TEST(Sampling, ProcessorsOfTransformers) {
  const Json recorded =
      Json::parse(text_of(std::filesystem::path(LATHE_SOURCE_DIR) / "tests/data/logits_processors.json"));
  std::map<std::string, int> seen;
  for (const Json& c : *recorded.find("cases")) {
    const GenerationConfig config = config_of(*c.find("config"));
    std::vector<float> logits = floats(*c.find("logits"));
    const std::vector<float> expected = floats(*c.find("expected"));
    const Sampler sampler(config, static_cast<int64_t>(logits.size()));
    sampler.process(tokens(*c.find("tokens")), c.find("prompt_length")->get<int64_t>(), logits);
    if (config.do_sample) sampler.warp(logits);
    for (size_t i = 0; i < logits.size(); ++i) {
      if (expected[i] == banned || logits[i] == banned)
        ASSERT_EQ(logits[i], expected[i]) << c.find("config")->dump() << " " << i;
      else
        ASSERT_NEAR(logits[i], expected[i], 1e-6) << c.find("config")->dump() << " " << i;
    }
    for (const auto& [key, v] : c.find("config")->items()) ++seen[std::string(key)];
  }
  EXPECT_EQ(seen.size(), 18u);
  for (const auto& [key, count] : seen) EXPECT_GE(count, 8) << key;
}

TEST(Sampling, GreedyTakesTheLowestOfEqualTokens) {
  const Sampler s({}, 5);
  EXPECT_EQ(s.choose(std::vector<float>{1, 3, 2, 3, 3}, 0), 1);
  EXPECT_EQ(s.choose(std::vector<float>{banned, banned, -1e30f, banned, banned}, 9), 2);
  EXPECT_EQ(code_of([&] { s.choose(std::vector<float>(5, banned), 0); }), Code::run_bad_value);
  EXPECT_EQ(code_of([&] { s.choose(std::vector<float>{1, 2, NAN, 0, 0}, 0); }), Code::run_bad_value);
}

TEST(Sampling, DrawsHaveTheirProbabilities) {
  const std::vector<float> logits{0, 1, 2, banned, 0.5f};
  const Sampler s({.do_sample = true, .seed = 42}, 5);
  double sum = 0;
  for (float v : logits) sum += std::exp(v);
  std::vector<int> count(5);
  constexpr int draws = 100000;
  for (int i = 0; i < draws; ++i) ++count[static_cast<size_t>(s.choose(logits, i))];
  double chi = 0;
  EXPECT_EQ(count[3], 0);
  for (size_t t : {0u, 1u, 2u, 4u}) {
    const double expected = draws * std::exp(logits[t]) / sum;
    chi += (count[t] - expected) * (count[t] - expected) / expected;
  }
  EXPECT_LT(chi, 16.3);  // three degrees of freedom: one in a thousand seeds exceeds it
  // A number is a function of seed, answer and position.
  EXPECT_EQ(s.choose(logits, 77), Sampler({.do_sample = true, .seed = 42}, 5).choose(logits, 77));
  const auto first = [&](uint64_t seed, uint32_t answer) {
    std::vector<int32_t> all;
    const Sampler other({.do_sample = true, .seed = seed}, 5);
    for (int64_t i = 0; i < 64; ++i) all.push_back(other.choose(logits, i, answer));
    return all;
  };
  EXPECT_NE(first(42, 0), first(43, 0));
  EXPECT_NE(first(42, 0), first(42, 1));
  EXPECT_EQ(first(7, 3), first(7, 3));
}

/// What seeds stand for stays: texts that were made with them can be made again.
TEST(Sampling, SeedsAreStable) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(i % 37) * 0.125f;
  const Sampler s({.do_sample = true, .top_k = 200, .top_p = 0.95f, .seed = 1}, 1000);
  std::vector<int32_t> all;
  for (int64_t i = 0; i < 6; ++i) all.push_back(s.choose(logits, i));
  EXPECT_EQ(all, (std::vector<int32_t>{887, 665, 254, 772, 254, 178}));
}

TEST(Sampling, PresenceAndFrequencyCountWhatWasGenerated) {
  const Sampler s({.presence_penalty = 0.5f, .frequency_penalty = 0.25f}, 4);
  std::vector<float> logits{1, 1, 1, 1};
  s.process(std::vector<int32_t>{0, 1, 1, 2, 1, 1}, 2, logits);
  EXPECT_EQ(logits, (std::vector<float>{1, 1 - 0.5f - 0.75f, 1 - 0.75f, 1}));
}

TEST(Sampling, LongRepetitionsAreLowered) {
  GenerationConfig c;
  c.dry = {.multiplier = 0.8f, .base = 2, .allowed_length = 2};
  // "1 2 3" stood in front of 4, and "2 3" in front of 5.
  const std::vector<int32_t> text{1, 2, 3, 4, 6, 2, 3, 5, 1, 2, 3};
  const auto lowered = [&](const GenerationConfig& config, std::span<const int32_t> t) {
    std::vector<float> logits(8, 0);
    Sampler(config, 8).process(t, 0, logits);
    return logits;
  };
  EXPECT_EQ(lowered(c, text), (std::vector<float>{0, 0, 0, 0, -0.8f * 2, -0.8f, 0, 0}));
  c.dry.allowed_length = 3;
  EXPECT_EQ(lowered(c, text), (std::vector<float>{0, 0, 0, 0, -0.8f, 0, 0, 0}));
  c.dry = {.multiplier = 0.8f, .base = 2, .allowed_length = 2, .sequence_breakers = {1}};
  EXPECT_EQ(lowered(c, text), (std::vector<float>{0, 0, 0, 0, -0.8f, -0.8f, 0, 0}))
      << "2 3 is all that counts";
  c.dry.sequence_breakers = {3};
  EXPECT_EQ(lowered(c, text), std::vector<float>(8, 0));
  c.dry.sequence_breakers = {5};
  EXPECT_EQ(lowered(c, text), (std::vector<float>{0, 0, 0, 0, -0.8f * 2, 0, 0, 0})) << "breakers stay";
  c.dry = {.multiplier = 0.8f, .base = 2, .allowed_length = 2, .last_n = 0};
  EXPECT_EQ(lowered(c, text), std::vector<float>(8, 0));
  c.dry.last_n = 6;
  EXPECT_EQ(lowered(c, text), (std::vector<float>{0, 0, 0, 0, 0, -0.8f, 0, 0}));
  // One token a thousand times: a matter of a millisecond, and a penalty that stays a number.
  c.dry = {.multiplier = 0.8f, .base = 2, .allowed_length = 2};
  const std::vector<float> much = lowered(c, std::vector<int32_t>(20000, 7));
  EXPECT_LT(much[7], -1e29f);
  EXPECT_TRUE(std::isfinite(much[7]));
}

/// The same by comparing all suffixes, on random texts of few tokens.
TEST(Sampling, LongRepetitionsAreThoseThatComparingFinds) {
  uint32_t state = 5;
  const auto draw = [&](uint32_t n) {
    return (state = state * 1664525 + 1013904223) >> 16 & 0xffff ? (state >> 16) % n : 0;
  };
  for (int round = 0; round < 200; ++round) {
    std::vector<int32_t> text(1 + draw(30));
    for (int32_t& t : text) t = static_cast<int32_t>(draw(3));
    GenerationConfig c;
    c.dry = {.multiplier = 1, .base = 1.5f, .allowed_length = 1 + draw(3)};
    std::vector<float> logits(4, 0), expected(4, 0);
    Sampler(c, 4).process(text, 0, logits);
    for (int32_t next = 0; next < 4; ++next) {
      int64_t longest = 0;
      for (size_t i = 1; i < text.size(); ++i) {
        if (text[i] != next) continue;
        int64_t n = 0;
        while (static_cast<size_t>(n) < i &&
               text[i - 1 - static_cast<size_t>(n)] == text[text.size() - 1 - static_cast<size_t>(n)])
          ++n;
        longest = std::max(longest, n);
      }
      if (longest >= c.dry.allowed_length)
        expected[static_cast<size_t>(next)] =
            -static_cast<float>(std::pow(1.5, static_cast<double>(longest - c.dry.allowed_length)));
    }
    EXPECT_EQ(logits, expected) << round;
  }
}

TEST(Sampling, LogProbabilities) {
  const std::vector<float> logits{1, 2, 2, banned, -50};
  const double sum = std::exp(1.0) + 2 * std::exp(2.0) + std::exp(-50.0);
  EXPECT_FLOAT_EQ(log_probability(logits, 0), static_cast<float>(1 - std::log(sum)));
  EXPECT_EQ(log_probability(logits, 3), banned);
  const std::vector<TokenLogprob> top = top_log_probabilities(logits, 3);
  ASSERT_EQ(top.size(), 3u);
  EXPECT_EQ(top[0].token, 1);
  EXPECT_EQ(top[1].token, 2);
  EXPECT_EQ(top[2].token, 0);
  EXPECT_EQ(top[1].logprob, log_probability(logits, 2));
  EXPECT_EQ(top_log_probabilities(logits, 100).size(), 5u);
  EXPECT_EQ(code_of([&] { log_probability(logits, 5); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { log_probability(std::vector<float>(3, banned), 0); }), Code::run_bad_value);
}

TEST(Sampling, StopStringsAcrossPieces) {
  StopStrings s({"\n\n", "</end>", "end>"});
  EXPECT_EQ(s.append("ab\n"), "ab");
  EXPECT_EQ(s.append("c</"), "\nc");
  EXPECT_EQ(s.append("x"), "</x");
  EXPECT_EQ(s.append("</"), "");
  EXPECT_EQ(s.append("end>more"), "");
  EXPECT_EQ(s.found(), std::optional<size_t>(1));
  EXPECT_EQ(s.append("y") + s.finish(), "");
  StopStrings none({""});
  EXPECT_EQ(none.append("abc"), "abc");
  EXPECT_FALSE(none.found());
  StopStrings open({"abc"});
  EXPECT_EQ(open.append("ab"), "");
  EXPECT_EQ(open.append("ab"), "ab");
  EXPECT_EQ(open.finish(), "ab");
  EXPECT_EQ(code_of([] { StopStrings(std::vector<std::string>{std::string(70000, 'a')}); }),
            Code::bad_argument);
}

/// Cut anywhere, a text gives what it gives in one piece.
TEST(Sampling, StopStringsInPiecesOfAnySize) {
  const std::string text = "one <|im_end|> two STOP three";
  for (const std::vector<std::string>& strings : {std::vector<std::string>{"<|im_end|>"},
                                                  {"STOP"},
                                                  {"STOP", "S"},
                                                  {"nothing"},
                                                  {"hree"},
                                                  {"<|im_start|>", "two S"}}) {
    StopStrings whole(strings);
    const std::string expected = whole.append(text) + whole.finish();
    for (size_t size = 1; size < 12; ++size) {
      StopStrings s(strings);
      std::string got;
      for (size_t i = 0; i < text.size(); i += size) got += s.append(std::string_view(text).substr(i, size));
      got += s.finish();
      EXPECT_EQ(got, expected) << size;
      EXPECT_EQ(s.found(), whole.found());
    }
  }
}

TEST(Sampling, WhatIsOutOfRangeIsRefused) {
  using C = GenerationConfig;
  const auto refused = [](auto change) {
    C c;
    change(c);
    return code_of([&] { Sampler(c, 10); });
  };
  EXPECT_EQ(refused([](C& c) { c.temperature = 0; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.temperature = NAN; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.top_k = -1; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.top_p = 1.5f; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.min_p = NAN; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.typical_p = 0; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.repetition_penalty = 0; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.dry.base = 0.5f; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.dry.allowed_length = 0; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.max_new_tokens = 0; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.suppress_tokens = {10}; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.bad_words_ids = {{}}; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.logit_bias = {{-1, 0.0f}}; }), Code::bad_argument);
  EXPECT_EQ(refused([](C& c) { c.forced_eos_token_id = 11; }), Code::bad_argument);
  EXPECT_EQ(code_of([] { Sampler({}, 0); }), Code::bad_argument);
  const Sampler s({}, 3);
  std::vector<float> logits(3), few(2);
  EXPECT_EQ(code_of([&] { s.process({}, 0, few); }), Code::run_bad_shape);
  EXPECT_EQ(code_of([&] { s.process(std::vector<int32_t>{3}, 1, logits); }), Code::bad_argument);
  EXPECT_EQ(code_of([&] { s.process(std::vector<int32_t>{1}, 2, logits); }), Code::bad_argument);
}

TEST(Sampling, ConfigurationsAreReadAsTransformersDoes) {
  const auto c = GenerationConfig::parse(
      R"({"_from_model_config": true, "bos_token_id": 1, "eos_token_id": [2, 32000], "do_sample": true,
          "temperature": 0.6, "top_p": 0.9, "max_length": 4096, "transformers_version": "5.0", "num_beams": 1,
          "guidance_scale": null, "suppress_tokens": []})");
  EXPECT_EQ(c.eos_token_id, (std::vector<int32_t>{2, 32000}));
  EXPECT_TRUE(c.do_sample);
  EXPECT_FLOAT_EQ(c.temperature, 0.6f);
  EXPECT_EQ(c.top_k, 50) << "unset";
  EXPECT_EQ(c.length_limit(10), std::optional<int64_t>(4096));
  EXPECT_EQ(
      GenerationConfig::parse(R"({"eos_token_id": 7, "top_k": 3, "max_new_tokens": 5})").length_limit(10),
      std::optional<int64_t>(15));
  EXPECT_EQ(GenerationConfig::parse(R"({"pad_token_id": 2})").pad_token_id, 2);
  EXPECT_FALSE(GenerationConfig::parse(R"({"pad_token_id": -1})").pad_token_id);
  EXPECT_FALSE(GenerationConfig::parse(R"({"pad_token_id": null})").pad_token_id);
  EXPECT_EQ(code_of([] { GenerationConfig::parse(R"({"num_beams": 4})"); }), Code::not_supported);
  EXPECT_EQ(code_of([] { GenerationConfig::parse(R"({"penalty_alpha": 0.6})"); }), Code::not_supported);
  EXPECT_EQ(code_of([] { GenerationConfig::parse(R"({"unheard_of": 1})"); }), Code::not_supported);
  EXPECT_EQ(code_of([] { GenerationConfig::parse(R"({"temperature": "hot"})"); }), Code::bad_argument);
  EXPECT_EQ(code_of([] { GenerationConfig::parse(R"({"eos_token_id": -1})"); }), Code::json_malformed);
  EXPECT_EQ(code_of([] { GenerationConfig::parse("[1]"); }), Code::json_malformed);
  const testing::TempDirectory directory;
  std::ofstream(directory / "generation_config.json") << R"({"top_k": 7})";
  EXPECT_EQ(GenerationConfig::open(directory.path()).top_k, 7);
  EXPECT_EQ(code_of([&] { GenerationConfig::open(directory / "none.json"); }), Code::file_not_found);
}

}  // namespace LATHE_TEST_FILE
}  // namespace lathe
