#include "text/added_tokens.h"

#include <algorithm>

namespace lathe::text {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Vocabulary& vocabulary,
                         const Normalizer* normalizer) {
  auto next = static_cast<uint32_t>(vocabulary.size());
  for (AddedToken& t : tokens) {
    if (t.content.empty()) continue;
    const uint32_t before = by_content_.find(t.content), known = vocabulary.find(t.content);
    if (before == no_token && known == no_token) ++beyond_;
    if (before != no_token)
      t.id = before;
    else if (t.id == no_token)
      t.id = known != no_token ? known : next++;
    by_content_.add(t.content, t.id);
    if (t.special) special_.add(t.content, t.id);
    if (t.normalized && normalizer) {
      AlignedText text(t.content, 0);
      normalizer->apply(text);
      if (text.bytes() != t.content) changed_[t.id] = text.bytes();
    }
    if (const auto at = by_id_.find(t.id); at != by_id_.end()) {
      tokens_[at->second] = std::move(t);
      continue;
    }
    by_id_.emplace(t.id, static_cast<uint32_t>(tokens_.size()));
    tokens_.push_back(std::move(t));
  }
  for (uint32_t i = 0; i < tokens_.size(); ++i) {
    const AddedToken& t = tokens_[i];
    const auto changed = changed_.find(t.id);
    const std::string& text = t.normalized && changed != changed_.end() ? changed->second : t.content;
    if (!text.empty() && !t.hidden) (t.normalized ? normalized_ : raw_).add(text, i);
  }
}

const AddedToken* AddedTokens::of_id(uint32_t id) const {
  const auto at = by_id_.find(id);
  return at == by_id_.end() ? nullptr : &tokens_[at->second];
}

std::optional<std::string_view> AddedTokens::decoded(uint32_t id) const {
  if (tokens_.empty()) return std::nullopt;
  const AddedToken* t = of_id(id);
  if (!t) return std::nullopt;
  const auto changed = changed_.find(id);
  return changed == changed_.end() ? std::string_view(t->content) : std::string_view(changed->second);
}

void AddedTokens::cut(const Trie& among, const AlignedText* text, size_t begin, size_t end,
                      Splits& to) const {
  const std::string_view s = std::string_view(text->bytes()).substr(0, end);
  if (among.empty()) return to.put(text, begin, end);
  const auto before = [&](size_t at) {
    do --at;
    while (!begins_character(s[at]));
    return at;
  };
  const auto at = [&](size_t i) { return next_character(s, i); };
  size_t done = begin;
  for (size_t i = begin; i < end;) {
    uint32_t node = Trie::root, found = no_token;
    size_t stop = i;
    for (size_t k = i; k < end; ++k) {
      node = among.next(node, s[k]);
      if (node == Trie::none) break;
      if (among.value(node) != no_token) found = among.value(node), stop = k + 1;
    }
    if (found == no_token) {
      ++i;
      continue;
    }
    const AddedToken& token = tokens_[found];
    size_t first = i;
    i = stop;
    const bool joined = (first > begin && is_word(at(before(first)))) || (stop < end && is_word(at(stop)));
    if (token.single_word && joined) continue;
    while (token.strip_left && first > done && is_space(at(before(first)))) first = before(first);
    if (token.strip_left) first = std::max(first, done);
    while (token.strip_right && stop < end && is_space(at(stop))) stop += character_bytes(s[stop]);
    if (done < first) to.put(text, done, first);
    if (first < stop)
      to.parts.push_back({text, static_cast<uint32_t>(first), static_cast<uint32_t>(stop), token.id});
    done = stop;
  }
  to.put(text, done, end);
}

void AddedTokens::extract(std::string_view text, const Normalizer* normalizer, Splits& to) const {
  const AlignedText& whole = to.texts.emplace_back(text, 0);
  cut(raw_, &whole, 0, whole.size(), to);
  if (!normalizer && normalized_.empty()) return;
  to.replace([&](const Split& s) {
    if (!normalizer) return cut(normalized_, s.text, s.begin, s.end, to);
    AlignedText& changed = to.texts.emplace_back(s.bytes(), s.begin);
    normalizer->apply(changed);
    if (changed.size()) cut(normalized_, &changed, 0, changed.size(), to);
  });
}

}  // namespace lathe::text
