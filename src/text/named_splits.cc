#include "text/named_splits.h"

#include <algorithm>

namespace lathe::text {
namespace {

/// Parts that several patterns have.
struct SplitParts {
  std::string contractions = "(?i:'s|'t|'re|'ve|'m|'ll|'d)";
  std::string first_letter = R"([^\r\n\p{L}\p{N}]?)";
  std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  std::string spaces = R"(\s+(?!\S)|\s+)";
  std::string lines_and_spaces = R"(\s*[\r\n]+|)" + spaces;
  std::string marks_and_spaces = R"( ?[^\s\p{L}\p{N}]+[\r\n]*|)" + lines_and_spaces;
  std::string paths_and_spaces = R"( ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + lines_and_spaces;
  std::string words = contractions + "|" + first_letter + R"(\p{L}+|)";

  std::string cased_words(const std::string& ending) const {
    return first_letter + upper + "*" + lower + "+" + ending + "|" + first_letter + upper + "+" + lower +
           "*" + ending + "|";
  }
};

/// A way to split, and the names that files have for it.
struct GgufSplit {
  std::vector<std::string_view> names;
  std::vector<std::string> patterns;
  bool like_gpt2 = false;  // then as GPT-2 does
  bool ignore_merges = false, add_begin = false;
};

const std::vector<GgufSplit>& gguf_splits() {
  static const SplitParts p;
  static const std::vector<GgufSplit> all = {
      {{"default", ""},
       {R"([\p{P}\$\+<=>\^~\|]+)",
        R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))", R"(\p{N}+)",
        "[0-9][0-9][0-9]"}},
      {{"gpt-2", "gpt2", "phi-2", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0",
        "mellum", "modern-bert", "exaone4", "mpt", "olmo", "jais", "trillion", "granite-docling"},
       {},
       true},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b", "mellum2"},
       {R"(\p{N})"},
       true},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"},
       {p.words + R"(\p{N}{1,3}|)" + p.marks_and_spaces},
       false,
       true,
       true},
      {{"dbrx", "smaug-bpe", "glm4", "chatglm-bpe"}, {p.words + R"(\p{N}{1,3}|)" + p.marks_and_spaces}},
      {{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "stablelm2", "megrez", "hunyuan", "solar-open",
        "grok-2"},
       {p.words + R"(\p{N}|)" + p.marks_and_spaces}},
      {{"qwen35"},
       {p.contractions + "|" + p.first_letter + R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" +
        p.lines_and_spaces}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"},
       {R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|)" +
        p.spaces}},
      {{"seed-coder"}, {p.words + R"(\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" + p.lines_and_spaces}},
      {{"tekken"}, {p.cased_words("") + R"(\p{N}|)" + p.paths_and_spaces}, false, true, true},
      {{"gpt-4o", "llama4", "kanana2", "talkie", "minimax-m2"},
       {p.cased_words(p.contractions + "?") + R"(\p{N}{1,3}|)" + p.paths_and_spaces}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm"},
       {R"(\p{N}{1,3})", "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf]+",
        R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)"
        R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|)" +
            p.lines_and_spaces}},
  };
  return all;
}

std::string joined(const std::vector<std::string_view>& names) {
  std::string all;
  for (std::string_view n : names)
    if (!n.empty()) all += (all.empty() ? "" : ", ") + std::string(n);
  return all;
}

constexpr const char* r50k_pattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s)";

}  // namespace

std::optional<SplitPatterns> split_patterns(std::string_view name) {
  for (const GgufSplit& g : gguf_splits())
    if (std::ranges::find(g.names, name) != g.names.end())
      return SplitPatterns{g.patterns, g.like_gpt2, g.ignore_merges, g.add_begin};
  return std::nullopt;
}

PreTokenizerPtr pre_tokenizer_of(const SplitPatterns& split) {
  std::vector<PreTokenizerPtr> parts;
  for (const std::string& pattern : split.patterns)
    parts.push_back(pattern_pre_tokenizer(Pattern(Regex::compile(pattern)), SplitBehavior::isolated, false));
  parts.push_back(byte_level_pre_tokenizer(false, split.like_gpt2));
  return pre_tokenizer_sequence(std::move(parts));
}

std::string gguf_split_names() {
  std::vector<std::string_view> names;
  for (const GgufSplit& g : gguf_splits()) names.insert(names.end(), g.names.begin(), g.names.end());
  return joined(names);
}

std::string tiktoken_encoding_names() {
  return joined(
      {"cl100k_base", "gpt2", "o200k_base", "o200k_harmony", "p50k_base", "p50k_edit", "qwen", "r50k_base"});
}

std::optional<NamedEncoding> tiktoken_encoding(std::string_view name) {
  const SplitParts p;
  NamedEncoding e;
  const auto special = [&](std::string text, uint32_t id) {
    e.special_tokens.emplace_back(std::move(text), id);
  };
  const bool harmony = name == "o200k_harmony";
  if (name == "gpt2" || name == "r50k_base" || name == "p50k_base" || name == "p50k_edit") {
    e.pattern = r50k_pattern;
    special("<|endoftext|>", 50256);
    if (name == "p50k_edit")
      special("<|fim_prefix|>", 50281), special("<|fim_middle|>", 50282), special("<|fim_suffix|>", 50283);
  } else if (name == "cl100k_base") {
    e.pattern = R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+|)"
                R"( ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s)";
    special("<|endoftext|>", 100257), special("<|endofprompt|>", 100276);
    special("<|fim_prefix|>", 100258), special("<|fim_middle|>", 100259), special("<|fim_suffix|>", 100260);
  } else if (name == "o200k_base" || harmony) {
    e.pattern = p.cased_words(p.contractions + "?") + R"(\p{N}{1,3}|)" + p.paths_and_spaces;
    special("<|endoftext|>", 199999);
    if (!harmony) special("<|endofprompt|>", 200018);
  } else if (name == "qwen") {
    e.pattern = p.words + R"(\p{N}|)" + p.marks_and_spaces;
    e.composes = true;
    uint32_t id = 151643;
    for (const char* text : {"<|endoftext|>", "<|im_start|>", "<|im_end|>"}) special(text, id++);
    for (int i = 0; i < 205; ++i) special("<|extra_" + std::to_string(i) + "|>", id++);
  } else {
    return std::nullopt;
  }
  if (harmony) {
    constexpr std::pair<const char*, uint32_t> named[] = {
        {"<|startoftext|>", 199998}, {"<|return|>", 200002}, {"<|constrain|>", 200003},
        {"<|channel|>", 200005},     {"<|start|>", 200006},  {"<|end|>", 200007},
        {"<|message|>", 200008},     {"<|call|>", 200012}};
    for (const auto& [text, id] : named) special(text, id);
    special("<|endofprompt|>", 200018);
    // All others are reserved; 200018 has two names, of which this is the second.
    for (uint32_t id = 200000; id < 201088; ++id)
      if (std::ranges::none_of(named, [&](const auto& n) { return n.second == id; }))
        special("<|reserved_" + std::to_string(id) + "|>", id);
  }
  return e;
}

}  // namespace lathe::text
