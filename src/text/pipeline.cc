#include "text/pipeline.h"

#include <algorithm>

#include "base/letters.h"

namespace lathe::text {
namespace {

void clean_text(Letters& text) {
  std::erase_if(text, [](const Letter& l) { return is_control(l.c); });
  for (Letter& l : text)
    if (is_space(l.c)) l.c = U' ';
}

void space_ideographs(Letters& text) {
  if (std::ranges::none_of(text, is_ideograph, &Letter::c)) return;
  Letters apart;
  for (const Letter& l : text) {
    const Letter space{U' ', l.bytes, l.begin};
    if (is_ideograph(l.c))
      apart.insert(apart.end(), {space, l, space});
    else
      apart.push_back(l);
  }
  text = std::move(apart);
}

void strip_accents(Letters& text) {
  Letters bare;
  bare.reserve(text.size());
  for (const Letter& l : text) decompose(l, bare);
  std::erase_if(bare, [](const Letter& l) { return is_mark(l.c); });
  text = std::move(bare);
}

void lower(Letters& text) {
  constexpr char32_t dotted_i = 0x0130, dot_above = 0x0307;
  Letters small;
  small.reserve(text.size());
  for (const Letter& l : text) {
    const bool plain = l.c < 0x80 && (l.c < U'A' || l.c > U'Z');
    small.push_back({plain ? l.c : lower_letter(l.c), l.bytes, l.begin});
    if (l.c == dotted_i) small.push_back({dot_above, l.bytes, l.begin});  // the one letter that becomes two
  }
  text = std::move(small);
}

}  // namespace

void Normalizer::Step::apply(Letters& text) const {
  if (clean) clean_text(text);
  if (ideographs) space_ideographs(text);
  if (this->strip_accents) text::strip_accents(text);
  if (lowercase) lower(text);
}

namespace {

using Span = std::span<const Letter>;

std::string utf8_of(Span letters) {
  std::string text;
  for (const Letter& l : letters) append_utf8(text, l.c);
  return text;
}

}  // namespace

AddedTokens::AddedTokens(std::vector<AddedToken> all, const Normalizer& normalizer) : tokens(std::move(all)) {
  std::vector<Vocabulary::Entry> entries;
  for (size_t i = 0; i < tokens.size(); ++i) {
    Letters letters = letters_of(tokens[i].text);
    normalizer.apply(letters);
    if (!letters.empty()) entries.push_back({utf8_of(letters), static_cast<int64_t>(i)});
  }
  found = Vocabulary(std::move(entries));
}

int64_t special_count(const Template& t) {
  int64_t count = 0;
  for (const TemplatePiece& p : t) count += static_cast<int64_t>(p.tokens.size());
  return count;
}

void Pieces::keep(size_t count, bool left) {
  if (count >= ids.size()) return;
  const auto cut = [&](auto& list) {
    const auto drop = static_cast<std::ptrdiff_t>(list.size() - count);
    left ? list.erase(list.begin(), list.begin() + drop) : list.erase(list.end() - drop, list.end());
  };
  cut(ids), cut(tokens), cut(offsets);
}

namespace {

/// Calls take(token) and rest(span) for the tokens in a text and for the parts between them, in turn.
template <class Take, class Rest>
void split_at(const AddedTokens& added, Span text, const Take& take, const Rest& rest) {
  size_t done = 0;
  const auto pass = [&](size_t until) {
    if (until > done) rest(text.subspan(done, until - done));
  };
  for (size_t i = 0; !added.tokens.empty() && i < text.size();) {
    const auto match = added.found.longest(text.subspan(i), added.found.all());
    if (!match) {
      ++i;
      continue;
    }
    const AddedToken& token = added.tokens[static_cast<size_t>(match->entry->id)];
    size_t begin = i, end = i + match->letters;
    i = end;
    const bool joined =
        (begin > 0 && is_word(text[begin - 1].c)) || (end < text.size() && is_word(text[end].c));
    if (token.single_word && joined) continue;
    while (token.strip_left && begin > done && is_space(text[begin - 1].c)) --begin;
    while (token.strip_right && end < text.size() && is_space(text[end].c)) ++end;
    pass(begin);
    take(token, text.subspan(begin, end - begin));
    done = end;
    i = std::max(i, end);
  }
  pass(text.size());
}

template <class Each>
void split_words(PreTokenizer how, Span text, const Each& each) {
  if (how == PreTokenizer::none) return each(text);
  size_t begin = 0;
  const auto end_word = [&](size_t end) {
    if (end > begin) each(text.subspan(begin, end - begin));
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const bool space = is_space(text[i].c);
    const bool alone = !space && how == PreTokenizer::bert && is_punctuation(text[i].c);
    if (!space && !alone) continue;
    end_word(i);
    if (alone) each(text.subspan(i, 1));
    begin = i + 1;
  }
  end_word(text.size());
}

/// Returns whether the vocabulary has all parts of the word.
bool split_word(const WordPiece& model, Span word, Pieces& to) {
  if (word.size() > model.longest_word) return false;
  for (size_t at = 0; at < word.size();) {
    const auto match =
        model.vocabulary.longest(word.subspan(at), at ? model.continuing : model.vocabulary.all());
    if (!match) return false;
    const size_t next = at + match->letters;
    to.put(match->entry->id, match->entry->text, word[at].begin, word[next - 1].end());
    at = next;
  }
  return true;
}

}  // namespace

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

Pieces Pipeline::pieces_of(std::string_view text) const {
  Pieces all;
  const auto put_added = [&](const AddedToken& token, Span from) {
    // The token is spelled as in the text, like in the Rust library.
    all.put(token.id, utf8_of(from), from.front().begin, from.back().end());
  };
  const auto put_word = [&](Span word) {
    const size_t before = all.ids.size();
    if (split_word(model, word, all)) return;
    all.keep(before, false);
    if (model.unknown_id < 0)
      fail(Code::run_bad_value, "a vocabulary with the unknown token '" + model.unknown + "'",
           "none, and a word that it does not know");
    all.put(model.unknown_id, model.unknown, word.front().begin, word.back().end());
  };
  split_at(raw, letters_of(text), put_added, [&](Span between) {
    Letters changed(between.begin(), between.end());
    normalizer.apply(changed);
    split_at(normalized, changed, put_added, [&](Span rest) { split_words(pre_tokenizer, rest, put_word); });
  });
  return all;
}

void Pipeline::truncate(const Truncation& t, int64_t limit, Pieces& first, Pieces* second) const {
  const auto a = static_cast<int64_t>(first.ids.size()),
             b = second ? static_cast<int64_t>(second->ids.size()) : 0;
  if (a + b <= limit) return;
  const auto keep = [&](Pieces& p, int64_t count) { p.keep(static_cast<size_t>(count), t.left); };
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

Encoding Pipeline::place(const Template& shape, const Pieces& first, const Pieces* second) const {
  Encoding e;
  const auto put = [&](int64_t id, int64_t type, std::string_view token, std::pair<size_t, size_t> from,
                       int sequence) {
    e.ids.push_back(id), e.type_ids.push_back(type), e.attention_mask.push_back(1);
    e.tokens.emplace_back(token), e.offsets.push_back(from), e.sequence.push_back(sequence);
    e.special_mask.push_back(sequence < 0);
  };
  for (const TemplatePiece& p : shape) {
    for (const Vocabulary::Entry& w : p.tokens) put(w.id, p.type_id, w.text, {0, 0}, -1);
    if (p.sequence < 0) continue;
    const Pieces& from = p.sequence ? *second : first;
    for (size_t i = 0; i < from.ids.size(); ++i)
      put(from.ids[i], p.type_id, from.tokens[i], from.offsets[i], p.sequence);
  }
  return e;
}

}  // namespace lathe::text
