// The splits that llama.cpp knows by names.
#include <algorithm>

#include "text/tokenizer_document.h"

namespace lathe::text {

std::optional<SplitPatterns> split_patterns(std::string_view name) {
  const auto one_of = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
  };
  const std::string behind = R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  const std::string before = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|)";
  const std::string upper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", lower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])";
  const std::string edge = R"([^\r\n\p{L}\p{N}]?)", ending = R"((?:(?i:'s|'t|'re|'ve|'m|'ll|'d))?)";
  const std::string slashes = R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
  SplitPatterns s;
  s.ignore_merges = one_of({"llama-bpe", "llama3", "llama-v3", "tekken", "gpt-4o", "llama4"});
  s.add_begin = one_of({"llama-bpe", "llama3", "llama-v3", "tekken"});
  if (one_of({"gpt-2", "gpt2", "phi-2", "jina-es", "jina-de", "mpt", "olmo", "jais"})) {
    s.like_gpt2 = true;
  } else if (one_of({"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral", "dbrx"})) {
    s.patterns = {before + R"(\p{N}{1,3})" + behind};
  } else if (one_of({"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez"})) {
    s.patterns = {before + R"(\p{N})" + behind};
  } else if (one_of({"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"})) {
    s.patterns = {R"(\p{N})"};
    s.like_gpt2 = true;
  } else if (one_of({"tekken"})) {
    s.patterns = {edge + upper + "*" + lower + "+|" + edge + upper + "+" + lower + R"(*|\p{N})" + slashes};
  } else if (one_of({"gpt-4o", "llama4"})) {
    s.patterns = {edge + upper + "*" + lower + "+" + ending + "|" + edge + upper + "+" + lower + "*" +
                  ending + R"(|\p{N}{1,3})" + slashes};
  } else if (one_of({"deepseek-v3"})) {
    s.patterns = {R"(\p{N}{1,3})",
                  "[\xe4\xb8\x80-\xe9\xbe\xa5\xe3\x81\x80-\xe3\x82\x9f\xe3\x82\xa0-\xe3\x83\xbf]+",
                  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)"
                  R"(|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*)"
                  R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"};
  } else if (one_of({"", "default"})) {
    s.patterns = {R"([\p{P}\$\+<=>\^~\|]+)",
                  R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))", R"(\p{N}+)",
                  "[0-9][0-9][0-9]"};
  } else {
    return std::nullopt;
  }
  return s;
}

}  // namespace lathe::text
