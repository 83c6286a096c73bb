// Options of the subcommands that generate text.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"
#include "lathe/generate.h"

namespace lathe::cli {

/// A language model and how it is opened.
struct GeneratorArguments {
  std::filesystem::path model;
  int threads = 0;
  int64_t context_length = 0, prompt_piece = GeneratorOptions().prompt_piece;
  std::string isa, kv_type;
  bool untrusted = false;

  void add_to(CLI::App* sub);
  /// Opens it, and tells of it on standard error if it takes long.
  Generator open() const;
};

/// Returns whether the path is a language model with what belongs to it, not a single ONNX file: a directory
/// or a GGUF file.
bool is_language_model(const std::filesystem::path& path);
/// Returns whether an engine is one that a generator has made.
bool is_language_model(const Engine& engine);
/// Returns whether the path is a language model, or a plan of one.
bool is_language_model_or_plan(const std::filesystem::path& path);

/// An input that generators add to decoders: of which tokens of a run logits are wanted.
inline constexpr std::string_view logits_rows_input = "logits_rows";

/// Adds --kv-type, the type in which keys and values are kept.
void add_kv_type(CLI::App* sub, std::string& type);
/// Returns the type of that name; undefined for an empty one.
DataType kv_type_of(const std::string& name);

/// How text is continued; what is not given is the model's default.
struct SamplingArguments {
  std::optional<int64_t> max_tokens, min_tokens, top_k, no_repeat_ngram_size;
  std::optional<float> temperature, top_p, min_p, typical_p, repetition_penalty, presence_penalty,
      frequency_penalty;
  std::optional<uint64_t> seed;
  std::vector<std::string> stop;
  bool greedy = false, ignore_eos = false;

  void add_to(CLI::App* sub);
  GenerationConfig config(const Generator& g) const;
};

/// Prompt, answer, their tokens, the reason of the end, and times.
Json to_json(const GenerationUsage& u);
/// "45 tokens of prompt in 143.0 ms, 64 tokens at 79.0 per second"
std::string describe(const GenerationUsage& u);

}  // namespace lathe::cli
