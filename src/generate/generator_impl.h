// The implementations of Generator and TokenSequence.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "generate/decoder.h"
#include "lathe/generate.h"

namespace lathe {

/// The tokens that a block of keys and values has.
inline constexpr int64_t kv_block = 64;

struct Generator::Impl {
  /// Throws as the constructor of Generator does. `context_length`: 0: as much as the states hold.
  Impl(Engine engine, std::map<std::string, std::string> files, int64_t context_length, int64_t prompt_piece);

  Decoder decoder;
  std::map<std::string, std::string> files;
  std::optional<Tokenizer> tokenizer;
  std::optional<ChatTemplate> chat_template;
  GenerationConfig defaults;
  int64_t context_length, prompt_piece;

  /// Throws bad_argument for a token that is not in the vocabulary.
  void check_tokens(std::span<const int32_t> tokens) const;
  /// Computes what a sequence lacks in front of `end`, and passes the logits of the last `wanted` of these
  /// tokens to `visit`, piece after piece: the position of the first of them, and their rows.
  using Visit = std::function<void(int64_t position, std::span<const float> rows)>;
  void compute(DecoderRun& run, TokenSequence& s, int64_t wanted, const Visit& visit, RunControl* control,
               const std::function<void(int64_t, int64_t)>& progress = {}) const;
  /// Returns a number that depends on the bits that the decoder computes: on its weights and its kernels.
  uint64_t fingerprint() const;
};

/// Keys and values that sequences share. Whoever is its only owner may change it.
struct TokenSequence::Cache {
  Cache(std::shared_ptr<const Generator::Impl> by, NamedStates s);
  ~Cache();
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  std::shared_ptr<const Generator::Impl> generator;
  uint64_t serial;     // no other cache has it
  NamedStates states;  // empty: nothing was computed yet
  int64_t length = 0;  // tokens that they have

  /// `is_shared`: several sequences have this cache; else those blocks are shared that other caches have.
  TokenSequenceMemory memory(bool is_shared) const;
  /// Returns a cache of its own with the same contents.
  std::shared_ptr<Cache> clone() const;
  /// Drops what is beyond this length. Throws what State::rewind throws.
  void rewind(int64_t to);
};

struct TokenSequenceAccess {
  static std::vector<int32_t>& tokens(TokenSequence& s) { return s.tokens_; }
  static int64_t& cached(TokenSequence& s) { return s.cached_; }
  static std::shared_ptr<TokenSequence::Cache>& cache(TokenSequence& s) { return s.cache_; }
  static const std::shared_ptr<TokenSequence::Cache>& cache(const TokenSequence& s) { return s.cache_; }
};

struct GeneratorAccess {
  static const std::shared_ptr<const Generator::Impl>& impl(const Generator& g) { return g.impl_; }
  static Generator make(std::shared_ptr<const Generator::Impl> i) { return Generator(std::move(i)); }
};

}  // namespace lathe
