// Generators, prompts and answers that tests compare.
#pragma once

#include <cstring>
#include <utility>
#include <vector>

#include "lathe/generate.h"

namespace lathe::testing {

using Ids = std::vector<int32_t>;

/// Decoders whose keys and values grow, and one of 16-bit floats that also has states which cannot be taken
/// back.
inline constexpr const char* decoders[] = {"stories260k_opset17", "genai_tiny_qwen35_fp16"};

inline GeneratorOptions options(int threads = 1, int64_t piece = 64, int64_t context = 256,
                                DataType kv_type = DataType::undefined) {
  GeneratorOptions o;
  o.kv_type = kv_type;
  o.build.threads = threads;
  o.context_length = context;
  o.prompt_piece = piece;
  return o;
}

inline Ids some_tokens(const Generator& g, int64_t n) {
  Ids ids;
  for (int64_t i = 0; i < n; ++i) ids.push_back(static_cast<int32_t>((i * 37 + 11) % g.vocabulary_size()));
  return ids;
}

struct Answer {
  Ids tokens;
  std::vector<float> logprobs;
  bool operator==(const Answer& o) const {
    return tokens == o.tokens && logprobs.size() == o.logprobs.size() &&
           std::memcmp(logprobs.data(), o.logprobs.data(), logprobs.size() * sizeof(float)) == 0;
  }
};

inline GenerationConfig config(int64_t tokens, bool samples = true) {
  GenerationConfig c;
  c.max_new_tokens = tokens;
  if (!samples) return c;
  c.do_sample = true;
  c.temperature = 0.9f;
  c.top_p = 0.95f;
  c.repetition_penalty = 1.1f;
  c.seed = 7;
  return c;
}

inline Answer answer(const Generator& g, TokenSequence s, int64_t tokens = 20) {
  Answer made;
  auto all = g.generate(std::move(s), {.config = config(tokens), .logprobs = true, .ignore_eos = true});
  for (const GeneratedToken& t : all) {
    made.tokens.push_back(t.token);
    made.logprobs.push_back(t.logprob);
  }
  return made;
}

}  // namespace lathe::testing
