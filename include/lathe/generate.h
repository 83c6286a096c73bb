// Generates text with language models: a Generator is a decoder with its tokenizer, its chat template and its
// defaults; a TokenSequence is a text with the keys and values that the decoder keeps of it.
//
//   auto model = lathe::Generator::open("SmolLM2-135M-Instruct.Q4_1.gguf");
//   auto answer = model.chat({{"user", "Name three colors."}}, {.config = {.max_new_tokens = 100}});
//   for (const lathe::GeneratedToken& t : answer) std::cout << t.text << std::flush;
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/build_options.h"
#include "lathe/chat_template.h"
#include "lathe/engine.h"
#include "lathe/export.h"
#include "lathe/run_control.h"
#include "lathe/sampling.h"
#include "lathe/tokenizer.h"

namespace lathe {

/// Options of Generator::open and load. A plain value.
struct GeneratorOptions {
  /// Options of the engine. `numerics` is strict whatever it says, so that an answer depends on its request
  /// alone; `states`, `state_capacity`, `shapes` and `refit` are the generator's own. Unless it is
  /// `portable`, weights are in memory once: as they were packed.
  BuildOptions build = {.portable = false};
  int64_t context_length = 0;  // tokens that a sequence may have; 0: as many as the model was made for
  /// Type in which keys and values are kept: float32, float16, bfloat16, or int8 with a scale for each token
  /// and head; undefined: the model's, or the plan's, which keeps that of its build. Narrow types take less
  /// memory, and round.
  DataType kv_type = DataType::undefined;
  int64_t prompt_piece = 64;  // tokens of a prompt that one run computes; it has no influence on answers
};

/// Says what a generator keeps in memory (Generator::memory).
struct GeneratorMemory {
  uint64_t weights = 0;  // stored arrays, which all generators of one plan share
  uint64_t context = 0;  // working memory of an answer; each sequence that is computed at that time takes it
  uint64_t sequences = 0;  // keys and values of all sequences
  /// Returns the sum.
  uint64_t total() const { return weights + context + sequences; }
};

/// Bytes that a sequence takes (TokenSequence::memory).
struct TokenSequenceMemory {
  uint64_t own = 0;     // keys and values that are this sequence's alone
  uint64_t shared = 0;  // keys and values that it shares with forks of it
};

/// A text as tokens, and the keys and values that a decoder keeps of those that were computed. A value:
/// copies are forks, which share keys and values until one of them computes more. What is in it has no
/// influence on answers, only on the time that they take. Copies may be used by several threads, one object
/// may not. llama.cpp: llama_seq_id; vLLM: a sequence with its blocks.
class LATHE_API TokenSequence {
 public:
  /// Makes an empty sequence of no generator: Generator::sequence() makes those that can be used.
  TokenSequence() = default;

  /// Returns the tokens.
  std::span<const int32_t> tokens() const { return tokens_; }
  /// Returns the number of tokens.
  int64_t size() const { return static_cast<int64_t>(tokens_.size()); }
  /// Returns the number of tokens, from the first one on, whose keys and values are there.
  int64_t cached() const;

  /// Appends tokens, which are computed when they are needed.
  void append(std::span<const int32_t> tokens);
  /// Returns a copy: both share what was computed until one of them computes more.
  TokenSequence fork() const { return *this; }
  /// Drops the tokens behind the first `size`. A decoder with a state that cannot be taken back computes the
  /// rest anew. Throws bad_argument for a size that is negative or greater than its own.
  void rewind(int64_t size);
  /// Makes these its tokens; what was computed of those that both begin with stays.
  void assign(std::span<const int32_t> tokens);
  /// Returns the bytes of its keys and values now.
  TokenSequenceMemory memory() const;
  /// Writes tokens, keys and values beside the file and renames it, so that no reader sees a part of it;
  /// Generator::load_sequence() reads it. Throws file_write_failed, bad_argument for one of no generator.
  void save(const std::filesystem::path& file) const;

  struct Cache;

 private:
  friend struct TokenSequenceAccess;
  std::vector<int32_t> tokens_;
  int64_t cached_ = 0;
  std::shared_ptr<Cache> cache_;
};

/// Says why a text ended.
enum class FinishReason : uint8_t {
  none,         // it goes on
  eos,          // an end token
  stop_string,  // one of the strings of GenerationConfig::stop_strings
  length,       // max_new_tokens, max_length or the context
  criterion     // GenerationRequest::stopping_criterion
};
/// Holds all reasons.
inline constexpr FinishReason finish_reasons[] = {FinishReason::none, FinishReason::eos,
                                                  FinishReason::stop_string, FinishReason::length,
                                                  FinishReason::criterion};
/// Returns the name that the command line and Python use: "none", "eos", "stop_string", "length",
/// "criterion".
constexpr std::string_view name_of(FinishReason r) {
  constexpr std::string_view names[] = {"none", "eos", "stop_string", "length", "criterion"};
  return names[static_cast<size_t>(r)];
}

/// One token of an answer.
struct GeneratedToken {
  int32_t token = 0;  // id
  /// Text that is certain by now: never a part of a character, nothing that may belong to a stop string. The
  /// texts of all tokens together are the answer, without special tokens.
  std::string text;
  /// The logarithm of the probability that the model gives it, before any processing, where
  /// GenerationRequest::logprobs asks for it.
  float logprob = 0;
  std::vector<TokenLogprob> top;  // the likeliest tokens in its place, with GenerationRequest::top_logprobs
  FinishReason finish_reason = FinishReason::none;  // why the text ends, if this is the last token
};

/// Says how a sequence is continued.
struct GenerationRequest {
  /// Nothing: the model's own defaults (Generator::defaults). End tokens that it does not name are the
  /// model's.
  std::optional<GenerationConfig> config = {};
  bool logprobs = false;    // report the log probability of each token
  size_t top_logprobs = 0;  // likeliest tokens to report with each token
  uint32_t answer = 0;      // index among several answers to one prompt; each has random numbers of its own
  bool ignore_eos = false;  // go on behind end tokens
  /// Changes the logits of the next token, after the penalties and bans of `config` and before sampling.
  /// transformers: LogitsProcessor.
  std::function<void(std::span<const int32_t> tokens, std::span<float> logits)> logits_processor = {};
  /// Ends the text where it returns true for prompt and answer. transformers: StoppingCriteria.
  std::function<bool(std::span<const int32_t> tokens)> stopping_criterion = {};
  /// Called while a prompt is computed, with the number of tokens that are done and of all.
  std::function<void(int64_t done, int64_t total)> prompt_progress = {};
  RunControl* control = nullptr;  // cancels within 50 ms, in prompts too; must outlive the Generation
};

/// Counts what an answer took.
struct GenerationUsage {
  int64_t prompt_tokens = 0;     // tokens in front of the answer
  int64_t cached_tokens = 0;     // those of the prompt that were computed before
  int64_t generated_tokens = 0;  // tokens of the answer
  double prompt_seconds = 0;     // from the beginning to the first token
  double generate_seconds = 0;   // from there on
};

class Generator;

/// An answer in the making: a range of tokens that are computed as they are asked for. Movable; not
/// thread-safe; keeps the generator alive.
class LATHE_API Generation {
 public:
  /// Moves; only destruction and assignment are allowed on what is left.
  Generation(Generation&&) noexcept;
  /// Moves; what this one held before is freed.
  Generation& operator=(Generation&&) noexcept;
  /// Ends it.
  ~Generation();

  /// Computes the next token; nothing once the text has ended. After an error, cancelled and deadline among
  /// them, another call goes on where it stopped. Throws run_state_full for a prompt beyond the context, with
  /// both numbers, before anything is computed; run_bad_value where logits are NaN; what Context::run throws.
  std::optional<GeneratedToken> next();
  /// Computes all that is left and returns its text. Throws as next() does.
  std::string text();
  /// Returns why the text ended; none: it has not.
  FinishReason finish_reason() const;
  /// Returns the sequence with what was generated by now, the end token included.
  const TokenSequence& sequence() const;
  /// Returns what it took by now.
  GenerationUsage usage() const;

  /// Goes from token to token.
  class iterator {
   public:
    using iterator_category = std::input_iterator_tag;  // it goes forward, once
    using value_type = GeneratedToken;                  // type of what it points to
    using difference_type = std::ptrdiff_t;             // type of distances
    using pointer = const GeneratedToken*;              // type of operator->
    using reference = const GeneratedToken&;            // type of operator*
    /// Makes an iterator at the end.
    iterator() = default;
    /// Computes the first token.
    explicit iterator(Generation& g) : answer_(&g), now_(g.next()) {}
    /// Returns the token.
    reference operator*() const { return *now_; }
    /// Returns the token's address.
    pointer operator->() const { return &*now_; }
    /// Computes the next token.
    iterator& operator++() {
      now_ = answer_->next();
      return *this;
    }
    /// Computes the next token.
    void operator++(int) { ++*this; }
    /// Returns whether the text has ended.
    bool operator==(std::default_sentinel_t) const { return !now_; }

   private:
    Generation* answer_ = nullptr;
    std::optional<GeneratedToken> now_;
  };
  /// Computes the first token that is left.
  iterator begin() { return iterator(*this); }
  /// Returns the end of every range.
  std::default_sentinel_t end() const { return {}; }

  struct State;

 private:
  friend class Generator;
  explicit Generation(std::unique_ptr<State> s);
  std::unique_ptr<State> state_;
};

/// One message of a conversation.
struct ChatMessage {
  std::string role;     // "system", "user", "assistant", …
  std::string content;  // UTF-8
};

/// A decoder that generates text. Thread-safe; copies share everything. Each answer depends on its request
/// alone: its tokens and log probabilities have the same bits whatever was computed before, in which pieces a
/// prompt is computed, and on how many threads. onnxruntime-genai: Model; transformers: a causal language
/// model with its tokenizer.
class LATHE_API Generator {
 public:
  /// Opens a .lathe plan that save() wrote, a GGUF file, a directory with a checkpoint (config.json and
  /// safetensors), a directory with an exported decoder (model.onnx, decoder_model.onnx or what
  /// genai_config.json names), or such an ONNX file. Tokenizer, chat template and generation_config.json come
  /// from the file or lie beside it; without them there is no text, but tokens. All but plans are built now.
  ///
  /// Throws what Engine::build, Gguf::open, Tokenizer::open, ChatTemplate::open, GenerationConfig::open and
  /// exporters::export_checkpoint throw; not_supported where the model is no decoder with keys and values.
  static Generator open(const std::filesystem::path& model, const GeneratorOptions& options = {});
  /// Opens a .lathe plan that save() wrote, as open() does; it is in the runtime library alone. Throws what
  /// Engine::load throws, and not_supported for the plan of another model.
  static Generator load(const std::filesystem::path& plan, const GeneratorOptions& options = {});
  /// Makes a generator of an engine that was built with BuildOptions::states for its keys and values, and
  /// with strict numerics. `files`: contents by name of generation_config.json and of the files that
  /// Tokenizer::open and ChatTemplate::open read in a directory, as far as there are such. Throws
  /// bad_argument for another engine, and what reading the files throws.
  Generator(Engine engine, std::map<std::string, std::string> files, int64_t prompt_piece = 64);
  /// Writes plan, tokenizer, chat template and defaults into one file, beside it and then renamed. Throws
  /// file_write_failed.
  void save(const std::filesystem::path& plan) const;

  /// Returns the engine.
  const Engine& engine() const;
  /// Returns whether there is a tokenizer.
  bool has_tokenizer() const;
  /// Returns the tokenizer. Throws bad_argument if there is none.
  const Tokenizer& tokenizer() const;
  /// Returns whether there is a chat template.
  bool has_chat_template() const;
  /// Returns the chat template. Throws bad_argument if there is none.
  const ChatTemplate& chat_template() const;
  /// Returns the model's defaults: generation_config.json, or the end tokens of config.json or the tokenizer.
  const GenerationConfig& defaults() const;
  /// Returns the number of tokens that logits have.
  int64_t vocabulary_size() const;
  /// Returns the greatest number of tokens of a sequence.
  int64_t context_length() const;

  /// Returns the tokens of a text, with the special tokens that the tokenizer puts around texts. Throws as
  /// tokenizer() and Tokenizer::encode() do.
  std::vector<int32_t> encode(std::string_view text, bool special_tokens = true) const;
  /// Returns the tokens of a conversation, up to the beginning of the assistant's answer. Throws as
  /// chat_template() and ChatTemplate::render() do.
  std::vector<int32_t> encode_chat(std::span<const ChatMessage> messages) const;
  /// Returns the tokens of a conversation as the request says, tools included. Throws as above.
  std::vector<int32_t> encode_chat(const ChatRequest& request) const;

  /// Returns a sequence of these tokens, of which nothing is computed yet. Throws bad_argument for tokens
  /// that are not in the vocabulary.
  TokenSequence sequence(std::span<const int32_t> tokens = {}) const;
  /// Returns the sequence of a text. Throws as encode() does.
  TokenSequence sequence(std::string_view text) const { return sequence(encode(text)); }
  /// Reads what TokenSequence::save() wrote, also in another process. Throws file_*, state_malformed where it
  /// is no sequence, bad_argument where it was computed by another model, or with other bits.
  TokenSequence load_sequence(const std::filesystem::path& file) const;

  /// Begins an answer to a sequence, which must not be empty. Throws bad_argument for a sequence of another
  /// generator, an empty one, a configuration that is out of range, and stop strings without a tokenizer.
  Generation generate(TokenSequence sequence, GenerationRequest request = {}) const;
  /// Begins the continuation of a text. Throws as encode() and generate() do.
  Generation generate(std::string_view text, GenerationRequest request = {}) const {
    return generate(sequence(text), std::move(request));
  }
  /// Begins the answer to a conversation. Throws as encode_chat() and generate() do.
  Generation chat(std::span<const ChatMessage> messages, GenerationRequest request = {}) const {
    return generate(sequence(encode_chat(messages)), std::move(request));
  }
  /// The same for a list of messages in braces.
  Generation chat(std::initializer_list<ChatMessage> messages, GenerationRequest request = {}) const {
    return chat(std::span(messages.begin(), messages.size()), std::move(request));
  }

  /// Computes what is not computed yet of a sequence and passes the logits behind each of these tokens to
  /// `visit`, in order: `position` is the token's, and the logits are those of the token that follows.
  /// Without `visit`, only keys and values are made. Throws as Generation::next() does.
  void compute(TokenSequence& sequence,
               const std::function<void(int64_t position, std::span<const float> logits)>& visit = {},
               RunControl* control = nullptr) const;
  /// Returns the log probability of each token but the first, given those before it. Throws bad_argument for
  /// tokens that are not in the vocabulary, and as compute() does.
  std::vector<float> score(std::span<const int32_t> tokens, RunControl* control = nullptr) const;

  /// Returns the bytes that so many sequences of this length take, of which `running` are computed at a time.
  /// Exact for weights and sequences; answers take no more than the contexts say, whatever chooses their
  /// tokens. Throws bad_argument for negative numbers and lengths beyond the context.
  GeneratorMemory memory(int64_t sequences = 1, int64_t length = 0, int64_t running = 1) const;

  struct Impl;

 private:
  friend struct GeneratorAccess;
  explicit Generator(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
  std::shared_ptr<const Impl> impl_;
};

}  // namespace lathe
