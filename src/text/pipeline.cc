#include "text/pipeline.h"

#include <algorithm>

namespace lathe::text {

void Pipeline::finish() {
  // Letters that stand for bytes are left out where the pre-tokenizer would write them last, and the model
  // can do without them.
  if (pre_tokenizer && pre_tokenizer->may_leave_bytes() && model->take_bytes()) pre_tokenizer->leave_bytes();
}

void Pipeline::fail(Code code, std::string expected, std::string got, std::string remedy) const {
  Diagnostic d;
  d.code = code;
  d.stage = "tokenize";
  d.node = origin;
  d.expected = std::move(expected);
  d.got = std::move(got);
  d.remedy = std::move(remedy);
  throw Error(std::move(d));
}

void Pipeline::fail(const PatternFault& f) const {
  fail(f.too_slow ? Code::run_too_large : Code::not_supported, f.expected, f.got);
}

Encoding Pipeline::encode(std::string_view text, int sequence, size_t limit, bool from_end) const {
  Splits splits;
  try {
    added.extract(text, normalizer.get(), splits);
    if (pre_tokenizer) pre_tokenizer->apply(splits);
  } catch (const PatternFault& f) {
    fail(f);
  }
  Encoding e;
  std::vector<WordToken> tokens;
  const auto put = [&](uint32_t id, std::string_view token, size_t begin, size_t end) {
    e.ids.push_back(id), e.tokens.emplace_back(token), e.offsets.emplace_back(begin, end);
  };
  const auto put_split = [&](const Split& s) {
    const Extent all = s.text->extent(s.begin, s.end);
    // An added token is spelled as in the text, like in the Rust library.
    if (s.added != no_token) return put(s.added, s.bytes(), all.begin, all.end);
    tokens.clear();
    const std::string_view word = s.bytes();
    try {
      model->tokenize(word, tokens);
    } catch (const UnknownWord& u) {
      fail(Code::run_bad_value,
           "a vocabulary with a token for unknown words" + (u.token.empty() ? "" : " '" + u.token + "'"),
           "none, and a word that it does not know");
    }
    for (const WordToken& t : tokens) {
      const std::string_view name =
          t.as_in_text ? word.substr(t.begin, t.end - t.begin) : model->vocabulary().text(t.id).value_or("");
      // Where bytes stand for a character and a prefix, offsets reach beyond the word: as they are then, like
      // in the Rust library, but within the text.
      if (t.end > word.size() || t.begin == t.end) {
        const size_t shift = t.begin == t.end ? all.begin : 0;
        put(t.id, name, std::min(shift + t.begin, text.size()), std::min(shift + t.end, text.size()));
        continue;
      }
      const Extent of = s.text->extent(s.begin + t.begin, s.begin + t.end);
      put(t.id, name, of.begin, std::max(of.begin, of.end));
    }
  };
  if (from_end && limit != SIZE_MAX) {
    // Words at the end are enough; their tokens come in front.
    std::vector<Encoding> words;
    size_t count = 0;
    for (size_t i = splits.parts.size(); i-- > 0 && count < limit;) {
      put_split(splits.parts[i]);
      count += e.ids.size();
      words.push_back(std::move(e));
      e = {};
    }
    std::ranges::reverse(words);
    for (const Encoding& w : words) append(e, w);
  } else {
    for (const Split& s : splits.parts) {
      put_split(s);
      if (e.ids.size() >= limit) break;
    }
  }
  e.type_ids.assign(e.ids.size(), sequence), e.attention_mask.assign(e.ids.size(), 1);
  e.sequence.assign(e.ids.size(), sequence), e.special_mask.assign(e.ids.size(), 0);
  return e;
}

void Pipeline::truncate(const Truncation& t, int64_t limit, Encoding& first, Encoding* second) const {
  const auto a = static_cast<int64_t>(first.ids.size()),
             b = second ? static_cast<int64_t>(second->ids.size()) : 0;
  if (a + b <= limit) return;
  const auto keep = [&](Encoding& e, int64_t count) { keep_tokens(e, static_cast<size_t>(count), t.left); };
  if (t.from == Truncation::From::longest_first && second) {
    // The longer one gets what the shorter one leaves of its half.
    int64_t shorter = std::min(a, b), longer = shorter > limit ? shorter : std::max(shorter, limit - shorter);
    if (shorter + longer > limit) shorter = limit / 2, longer = shorter + limit % 2;
    keep(first, a <= b ? shorter : longer);
    keep(*second, a <= b ? longer : shorter);
    return;
  }
  const bool cut_second = t.from == Truncation::From::only_second;
  if (cut_second && !second)
    fail(Code::bad_argument, "two texts, to cut the second", "one", "cut the longest first");
  const int64_t of = cut_second ? b : a, left = of - (a + b - limit);
  // At least one token stays if only one of two texts is cut, like in the Rust library.
  if (left < 0 || (left == 0 && t.from != Truncation::From::longest_first))
    fail(Code::bad_argument, "a text of more than " + std::to_string(a + b - limit) + " tokens to cut",
         std::to_string(of), "cut the longest first, or allow more tokens");
  keep(cut_second ? *second : first, left);
}

std::optional<std::string_view> Pipeline::decoded(int64_t id, bool skip_special) const {
  if (id < 0 || id >= no_token) return std::nullopt;
  const auto known = static_cast<uint32_t>(id);
  const auto token = added.decoded(known);
  // A token of the model may have the text of a special one.
  if (!token) return model->vocabulary().text(known);
  if (skip_special && added.is_special(*token)) return std::nullopt;
  return token;
}

}  // namespace lathe::text
