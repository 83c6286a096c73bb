#include "text/plain_vocabulary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/utf8.h"
#include "io/stored_tensor.h"
#include "text/named_splits.h"
#include "text/pipeline.h"
#include "text/ranked_merges.h"
#include "text/sentence_piece.h"

namespace lathe::text {
namespace {

using Kind = PlainVocabulary::Kind;
using Type = PlainVocabulary::Type;

constexpr std::string_view space_mark = "\xe2\x96\x81";  // U+2581

/// Returns ranks by id for scores by id: the highest score first, equal ones equal.
std::vector<uint32_t> ranks_of_scores(const std::vector<float>& scores) {
  std::vector<uint32_t> order(scores.size()), rank(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater<>(), [&](uint32_t id) { return scores[id]; });
  for (size_t i = 0; i < order.size(); ++i) {
    const bool equal = i > 0 && scores[order[i]] == scores[order[i - 1]];
    rank[order[i]] = equal ? rank[order[i - 1]] : static_cast<uint32_t>(i);
  }
  return rank;
}

DecoderPtr space_decoder(bool space_prefix) {
  std::vector<DecoderPtr> parts;
  parts.push_back(replace_decoder(Pattern(std::string(space_mark)), " "));
  parts.push_back(byte_fallback_decoder());
  parts.push_back(fuse_decoder());
  if (space_prefix) parts.push_back(strip_decoder(U' ', 1, 0));
  return decoder_sequence(std::move(parts));
}

NormalizerPtr space_normalizer(bool space_prefix) {
  std::vector<NormalizerPtr> parts;
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
  const bool scored = v.kind == Kind::scored_bpe || v.kind == Kind::unigram;
  if (scored && v.scores.size() != v.tokens.size())
    malformed(count + " scores", std::to_string(v.scores.size()));
  if (std::ranges::any_of(v.scores, [](float score) { return !std::isfinite(score); }))
    malformed("finite scores", "others");
  for (const auto& id : {v.begin, v.end, v.unknown})
    if (id && (*id < 0 || static_cast<uint64_t>(*id) >= v.tokens.size()))
      malformed("ids of special tokens below " + count, std::to_string(*id));
  const size_t longest = v.kind == Kind::scored_bpe ? longest_ranked_token : longest_token;
  for (const std::string& t : v.tokens) {
    if (t.size() > longest)
      p.fail(Code::wire_too_large, "tokens of at most " + std::to_string(longest) + " bytes",
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

ModelPtr scored_model(const Pipeline& p, const PlainVocabulary& v, Vocabulary vocabulary) {
  BpeOptions o;
  o.byte_fallback = true;
  o.has_unknown = v.unknown.has_value();
  if (o.has_unknown) o.unknown = v.tokens[static_cast<size_t>(*v.unknown)];
  const std::vector<uint32_t> ranks = ranks_of_scores(v.scores);
  const std::vector<Merge> merges = ranked_merges(vocabulary, [&](uint32_t id) { return ranks[id]; });
  if (merges.size() > most_ranked_merges)
    p.fail(Code::wire_too_large, "tokens that at most " + std::to_string(most_ranked_merges) + " pairs make",
           "more");
  return bpe_model(std::move(vocabulary), merges, std::move(o));
}

ModelPtr bert_model(const Pipeline& p, PlainVocabulary& v) {
  Vocabulary words;
  words.reserve(v.tokens.size());
  v.tokens = bert_words(v);
  for (uint32_t i = 0; i < v.tokens.size(); ++i) words.add(v.tokens[i], i);
  words.finish();
  if (!v.unknown) p.fail(Code::json_malformed, "the id of the unknown token", "none");
  return word_piece_model(std::move(words), v.tokens[static_cast<size_t>(*v.unknown)], continuing_prefix,
                          longest_bert_word);
}

/// A SentencePiece model, whose control and unknown pieces are found in texts, too.
Tokenizer unigram_tokenizer(const Pipeline& p, PlainVocabulary v, std::string origin) {
  SentencePiece said;
  SentencePieceUse use;
  size_t bytes = 0;
  for (uint32_t i = 0; i < v.tokens.size(); ++i) {
    Type t = v.types.empty() ? Type::normal : static_cast<Type>(v.types[i]);
    // The file names the unknown token by its id, and by its type perhaps.
    if (t == Type::unknown || v.unknown == i) t = v.unknown.value_or(i) == i ? Type::unknown : Type::control;
    bytes += t == Type::byte;
    said.types.push_back(static_cast<SentencePiece::Type>(t));
    if (t == Type::unknown) said.unk_surface = v.tokens[i];
    if (t != Type::control && t != Type::unknown) continue;
    AddedToken a;
    a.content = v.tokens[i], a.id = i, a.special = true;
    use.added.push_back(std::move(a));
  }
  if (std::ranges::count(said.types, SentencePiece::Type::unknown) != 1)
    p.fail(Code::json_malformed, "one unknown token", "none, or several");
  said.byte_fallback = bytes == 256;
  for (uint32_t i = 0; !said.byte_fallback && i < said.types.size(); ++i)
    if (said.types[i] == SentencePiece::Type::byte) said.types[i] = SentencePiece::Type::normal;
  said.charsmap = std::move(v.charsmap);
  said.add_dummy_prefix = v.add_space_prefix.value_or(true);
  said.remove_extra_whitespaces = v.remove_extra_spaces.value_or(true);
  if (v.begin) use.begin = v.tokens[static_cast<size_t>(*v.begin)];
  if (v.end) use.end = v.tokens[static_cast<size_t>(*v.end)];
  use.add_begin = v.begin && v.add_begin.value_or(false), use.add_end = v.end && v.add_end.value_or(true);
  said.pieces = std::move(v.tokens), said.scores = std::move(v.scores);
  check_pieces(said, origin);
  return make_tokenizer(std::move(said), std::move(use), std::move(origin));
}

/// Adds tokens around texts.
PostProcessorPtr around_texts(const PlainVocabulary& v, bool begins, bool ends) {
  const auto named = [&](int64_t id) { return NamedToken{v.tokens[static_cast<size_t>(id)], id}; };
  begins = v.begin && v.add_begin.value_or(begins), ends = v.end && v.add_end.value_or(ends);
  if (v.kind == Kind::word_piece && begins && ends) return bert_processor(named(*v.begin), named(*v.end));
  Template single, pair;
  for (int sequence : {0, 1}) {
    Template one;
    if (begins) one.push_back({-1, 0, {named(*v.begin)}});
    one.push_back({sequence, 0});
    if (ends) one.push_back({-1, 0, {named(*v.end)}});
    if (sequence == 0) single = one;
    pair.insert(pair.end(), one.begin(), one.end());
  }
  return begins || ends ? template_processor(std::move(single), std::move(pair)) : nullptr;
}

}  // namespace

std::vector<std::string> bert_words(const PlainVocabulary& v) {
  std::vector<std::string> words = v.tokens;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string& t = words[i];
    const bool normal = v.types.empty() || static_cast<Type>(v.types[i]) == Type::normal;
    if (!normal || (t.starts_with('[') && t.ends_with(']') && t.size() > 1)) continue;
    t = t.starts_with(space_mark) ? t.substr(space_mark.size()) : std::string(continuing_prefix) + t;
  }
  return words;
}

Tokenizer make_tokenizer(PlainVocabulary v, std::string origin) {
  auto s = std::make_shared<TokenizerMaker::State>();
  s->origin = std::move(origin);
  check(*s, v);
  if (v.kind == Kind::unigram) return unigram_tokenizer(*s, std::move(v), s->origin);
  Vocabulary vocabulary;
  vocabulary.reserve(v.tokens.size());
  for (uint32_t i = 0; i < v.tokens.size(); ++i) vocabulary.add(v.tokens[i], i);
  vocabulary.finish();
  const bool space_prefix = v.kind == Kind::scored_bpe && v.add_space_prefix.value_or(true);
  bool begins = true;
  if (v.kind == Kind::byte_level_bpe) {
    const std::optional<SplitPatterns> split = split_patterns(v.pre);
    if (!split)
      s->fail(Code::not_supported, "a way to split texts (tokenizer.ggml.pre) among " + gguf_split_names(),
              in_quotes(v.pre), "take the tokenizer.json of the model");
    begins = split->add_begin;
    s->pre_tokenizer = pre_tokenizer_of(*split);
    s->model = merged_model(*s, v, std::move(vocabulary), split->ignore_merges);
    s->decoder = byte_level_decoder();
  } else if (v.kind == Kind::scored_bpe) {
    s->normalizer = space_normalizer(space_prefix);
    s->decoder = space_decoder(space_prefix);
    s->model = scored_model(*s, v, std::move(vocabulary));
  } else {
    s->normalizer = bert_normalizer({});
    s->pre_tokenizer = bert_pre_tokenizer();
    s->decoder = word_piece_decoder(continuing_prefix, true);
    s->model = bert_model(*s, v);
  }
  std::vector<AddedToken> added;
  for (uint32_t i = 0; i < v.types.size(); ++i) {
    const Type type = static_cast<Type>(v.types[i]);
    if (type != Type::control && type != Type::user_defined && type != Type::unknown) continue;
    AddedToken t;
    t.content = v.tokens[i];
    t.special = type != Type::user_defined;
    added.push_back(std::move(t));
  }
  s->added = AddedTokens(std::move(added), s->model->vocabulary(), s->normalizer.get());
  s->post_processor = around_texts(v, begins, v.kind == Kind::word_piece);
  return TokenizerMaker::of(std::move(s));
}

}  // namespace lathe::text

namespace lathe {

Tokenizer TokenizerMaker::of(std::shared_ptr<State> s) {
  s->finish();
  return Tokenizer(std::move(s));
}

}  // namespace lathe
