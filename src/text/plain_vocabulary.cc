#include "text/plain_vocabulary.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/file.h"
#include "base/utf8.h"
#include "io/bounded_json.h"
#include "io/stored_tensor.h"
#include "text/json_part.h"
#include "text/tokenizer_document.h"

namespace lathe::text {
namespace {

using Kind = PlainVocabulary::Kind;
using Type = PlainVocabulary::Type;

constexpr std::string_view space_mark = "\xe2\x96\x81";  // U+2581
constexpr uint64_t max_vocabulary_bytes = uint64_t{64} << 20;

PreTokenizerPtr pre_tokenizer_of(const SplitPatterns& split) {
  std::vector<PreTokenizerPtr> parts;
  for (const std::string& pattern : split.patterns)
    parts.push_back(pattern_pre_tokenizer(Pattern(Regex::compile(pattern)), SplitBehavior::isolated, false));
  parts.push_back(byte_level_pre_tokenizer(false, split.like_gpt2));
  return pre_tokenizer_sequence(std::move(parts));
}

/// The pairs of tokens that make a third one, by its score: equal scores have equal ranks.
std::vector<Merge> merges_of_scores(const Vocabulary& v, const std::vector<float>& scores) {
  std::vector<uint32_t> order(scores.size()), rank(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t id) { return scores[id]; });
  for (size_t i = 0; i < order.size(); ++i) {
    const bool equal = i > 0 && scores[order[i]] == scores[order[i - 1]];
    rank[order[i]] = equal ? rank[order[i - 1]] : static_cast<uint32_t>(i);
  }
  std::vector<Merge> merges;
  for (const Vocabulary::Entry& e : v.entries()) {
    const std::string_view text = v.text_of(e);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if (!begins_character(text[cut])) continue;
      const uint32_t left = v.find(text.substr(0, cut));
      if (left == no_token) continue;
      const uint32_t right = v.find(text.substr(cut));
      if (right != no_token) merges.push_back({left, right, e.id, rank[e.id]});
    }
  }
  return merges;
}

DecoderPtr sentence_piece_decoder(bool space_prefix) {
  std::vector<DecoderPtr> parts;
  parts.push_back(replace_decoder(Pattern(std::string(space_mark)), " "));
  parts.push_back(byte_fallback_decoder());
  parts.push_back(fuse_decoder());
  if (space_prefix) parts.push_back(strip_decoder(U' ', 1, 0));
  return decoder_sequence(std::move(parts));
}

NormalizerPtr sentence_piece_normalizer(const Pipeline& p, const PlainVocabulary& v, bool space_prefix) {
  std::vector<NormalizerPtr> parts;
  if (!v.charsmap.empty()) {
    parts.push_back(precompiled_normalizer(v.charsmap));
    if (!parts.back()) p.fail(Code::json_malformed, "a table of SentencePiece", "other bytes");
  }
  if (space_prefix) parts.push_back(prepend_normalizer(std::string(space_mark)));
  parts.push_back(replace_normalizer(Pattern(std::string(" ")), std::string(space_mark)));
  return normalizer_sequence(std::move(parts));
}

void check(const Pipeline& p, const PlainVocabulary& v) {
  const auto malformed = [&](const std::string& expected, const std::string& got) {
    p.fail(Code::json_malformed, expected, got);
  };
  const std::string count = std::to_string(v.tokens.size());
  if (v.tokens.empty() || v.tokens.size() >= no_token) malformed("tokens", count);
  if (!v.types.empty() && v.types.size() != v.tokens.size())
    malformed(count + " types of tokens", std::to_string(v.types.size()));
  if (v.kind != Kind::byte_level_bpe && v.scores.size() != v.tokens.size())
    malformed(count + " scores", std::to_string(v.scores.size()));
  if (std::ranges::any_of(v.scores, [](float s) { return !(s == s); }))
    malformed("scores that are numbers", "NaN");
  for (const auto& id : {v.begin, v.end, v.unknown})
    if (id && (*id < 0 || static_cast<uint64_t>(*id) >= v.tokens.size()))
      malformed("ids of special tokens below " + count, std::to_string(*id));
  for (const std::string& t : v.tokens) {
    if (t.size() > longest_token)
      p.fail(Code::wire_too_large, "tokens of at most " + std::to_string(longest_token) + " bytes",
             std::to_string(t.size()));
    if (!is_utf8(t)) p.fail(Code::wire_bad_utf8, "tokens in UTF-8", "other bytes");
  }
}

ModelPtr merged_model(const Pipeline& p, const PlainVocabulary& v, Vocabulary vocabulary,
                      bool ignore_merges) {
  std::vector<Merge> merges;
  merges.reserve(v.merges.size());
  for (const std::string& both : v.merges) {
    // The first space may begin a token in no byte-level vocabulary.
    const size_t space = both.find(' ', 1);
    if (space == both.npos) p.fail(Code::json_malformed, "merges of two tokens", in_quotes(both));
    const std::string left = both.substr(0, space), right = both.substr(space + 1);
    const Merge m{vocabulary.find(left), vocabulary.find(right), vocabulary.find(left + right)};
    if (m.left == no_token || m.right == no_token || m.result == no_token)
      p.fail(Code::json_malformed, "merges of tokens of the vocabulary", in_quotes(both));
    merges.push_back(m);
  }
  BpeOptions o;
  o.ignore_merges = ignore_merges;
  return bpe_model(std::move(vocabulary), merges, std::move(o));
}

}  // namespace

Tokenizer make_tokenizer(PlainVocabulary v, std::string origin) {
  auto s = std::make_shared<TokenizerMaker::State>();
  s->origin = std::move(origin);
  check(*s, v);
  Vocabulary vocabulary;
  vocabulary.reserve(v.tokens.size());
  std::vector<AddedToken> added;
  for (uint32_t i = 0; i < v.tokens.size(); ++i) {
    vocabulary.add(v.tokens[i], i);
    const Type type = v.types.empty() ? Type::normal : static_cast<Type>(v.types[i]);
    if (type != Type::control && type != Type::user_defined) continue;
    AddedToken t;
    t.content = v.tokens[i];
    t.special = type == Type::control;
    added.push_back(std::move(t));
  }
  vocabulary.finish();
  const bool bytes = v.kind == Kind::byte_level_bpe;
  const bool space_prefix = !bytes && v.add_space_prefix.value_or(true);
  bool begins = v.kind == Kind::scored_bpe;
  try {
    if (bytes) {
      const auto split = split_patterns(v.pre);
      if (!split)
        s->fail(Code::not_supported,
                "a way to split texts among default, gpt-2, llama-bpe, qwen2, smollm, tekken, gpt-4o, "
                "deepseek-v3 and their like",
                in_quotes(v.pre));
      begins = split->add_begin;
      s->pre_tokenizer = pre_tokenizer_of(*split);
      s->model = merged_model(*s, v, std::move(vocabulary), split->ignore_merges);
      s->decoder = byte_level_decoder();
    } else {
      s->normalizer = sentence_piece_normalizer(*s, v, space_prefix);
      s->decoder = sentence_piece_decoder(space_prefix);
    }
  } catch (const PatternFault& f) {
    s->fail(f);
  }
  const uint32_t unknown = v.unknown ? static_cast<uint32_t>(*v.unknown) : no_token;
  if (v.kind == Kind::scored_bpe) {
    BpeOptions o;
    o.byte_fallback = true;
    o.has_unknown = unknown != no_token;
    if (o.has_unknown) o.unknown = v.tokens[unknown];
    const std::vector<Merge> merges = merges_of_scores(vocabulary, v.scores);
    s->model = bpe_model(std::move(vocabulary), merges, std::move(o));
  } else if (v.kind == Kind::unigram) {
    s->model = unigram_model(std::move(vocabulary), std::vector<double>(v.scores.begin(), v.scores.end()),
                             unknown, v.tokens.size() > 256);
  }
  s->added = AddedTokens(std::move(added), s->model->vocabulary(), s->normalizer.get());
  Template single, pair;
  const auto around = [&](int sequence) {
    Template t;
    if (v.begin && v.add_begin.value_or(begins))
      t.push_back({-1, 0, {{v.tokens[static_cast<size_t>(*v.begin)], *v.begin}}});
    t.push_back({sequence, 0});
    if (v.end && v.add_end.value_or(v.kind == Kind::unigram))
      t.push_back({-1, 0, {{v.tokens[static_cast<size_t>(*v.end)], *v.end}}});
    return t;
  };
  single = pair = around(0);
  for (TemplatePiece& piece : around(1)) pair.push_back(std::move(piece));
  if (single.size() > 1) s->post_processor = template_processor(std::move(single), std::move(pair));
  return TokenizerMaker::of(std::move(s));
}

Tokenizer open_vocabulary(const std::filesystem::path& vocabulary, const std::filesystem::path& merges) {
  auto s = std::make_shared<TokenizerMaker::State>();
  s->origin = vocabulary.string();
  const auto file = read_file(open_regular(vocabulary), vocabulary);
  const Json document = parse_bounded_json(file->view(), vocabulary, max_vocabulary_bytes);
  Vocabulary v = read_vocabulary(Part(*s, document, ""));
  const auto lines = read_file(open_regular(merges), merges);
  const std::string_view text = lines->view();
  if (text.size() > max_vocabulary_bytes)
    s->fail(Code::wire_too_large, "merges of at most " + std::to_string(max_vocabulary_bytes) + " bytes",
            std::to_string(text.size()));
  std::vector<Merge> all;
  for (size_t i = 0, number = 1; i < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', i), text.size());
    std::string_view line = text.substr(i, end - i);
    i = end + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.starts_with("#version") || line.empty()) continue;
    const size_t space = line.find(' ');
    const std::string_view left = line.substr(0, space),
                           right = space == line.npos ? "" : line.substr(space + 1);
    const Merge m{v.find(left), v.find(right), v.find(std::string(left) + std::string(right))};
    if (m.left == no_token || m.right == no_token || m.result == no_token)
      s->fail(
          Code::json_malformed,
          merges.filename().string() + ", line " + std::to_string(number) + ": two tokens of the vocabulary",
          in_quotes(line), "take vocab.json and merges.txt of the same model");
    all.push_back(m);
  }
  s->pre_tokenizer = byte_level_pre_tokenizer(false, true);
  s->decoder = byte_level_decoder();
  s->model = bpe_model(std::move(v), all, {});
  std::vector<AddedToken> added;
  if (s->model->vocabulary().find("<|endoftext|>") != no_token) {
    added.emplace_back().content = "<|endoftext|>";
    added.back().special = true;
  }
  s->added = AddedTokens(std::move(added), s->model->vocabulary(), nullptr);
  return TokenizerMaker::of(std::move(s));
}

}  // namespace lathe::text

namespace lathe {

Tokenizer TokenizerMaker::of(std::shared_ptr<State> s) {
  s->finish();
  return Tokenizer(std::move(s));
}

}  // namespace lathe
