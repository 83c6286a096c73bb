#include "text/post_processors.h"

#include <algorithm>

#include "text/aligned_text.h"

namespace lathe::text {
namespace {

Encoding special(const std::vector<NamedToken>& tokens, int64_t type_id) {
  Encoding e;
  for (const NamedToken& t : tokens) {
    e.ids.push_back(t.id), e.type_ids.push_back(type_id), e.attention_mask.push_back(1);
    e.tokens.push_back(t.text), e.offsets.emplace_back(0, 0), e.sequence.push_back(-1);
    e.special_mask.push_back(1);
  }
  return e;
}

class TemplateProcessor : public PostProcessor {
 public:
  TemplateProcessor(Template single, Template pair) : single_(std::move(single)), pair_(std::move(pair)) {}
  int64_t added(bool pair) const override {
    int64_t count = 0;
    for (const TemplatePiece& p : pair ? pair_ : single_) count += static_cast<int64_t>(p.tokens.size());
    return count;
  }
  void apply(PostProcessing& p) const override {
    std::vector<Encoding> out;
    for (const TemplatePiece& piece : p.encodings.size() > 1 ? pair_ : single_) {
      if (piece.sequence < 0) {
        if (p.special_tokens) out.push_back(special(piece.tokens, piece.type_id));
        continue;
      }
      out.push_back(p.encodings.at(static_cast<size_t>(piece.sequence)));
      std::ranges::fill(out.back().type_ids, piece.type_id);
    }
    p.encodings = std::move(out);
  }

 private:
  Template single_, pair_;
};

/// Moves the edges of offsets over the spaces that tokens of byte-level vocabularies begin or end with.
void trim(Encoding& e, bool prefix_space, const std::vector<std::string_view>& texts) {
  constexpr char32_t space_letter = 0x120;
  const auto blank = [](char32_t c) { return c == space_letter || is_space(c); };
  for (size_t k = 0; k < e.size(); ++k) {
    const std::string& token = e.tokens[k];
    size_t leading = 0, trailing = 0;
    for (size_t i = 0; i < token.size() && blank(next_character(token, i));) ++leading;
    for (size_t i = token.size(); i > 0;) {
      do --i;
      while (i > 0 && !begins_character(token[i]));
      size_t at = i;
      if (!blank(next_character(token, at))) break;
      ++trailing;
    }
    if (e.sequence[k] < 0 || static_cast<size_t>(e.sequence[k]) >= texts.size()) continue;
    const std::string_view text = texts[static_cast<size_t>(e.sequence[k])];
    auto& [begin, end] = e.offsets[k];
    if (leading) {
      if ((k == 0 || begin == 0) && prefix_space && leading == 1) leading = 0;
      for (; leading && begin < end; --leading) begin += character_bytes(text[begin]);
      begin = std::min(begin, end);
    }
    // As in the Rust library, nothing is cut from a text that is shorter than the spaces.
    size_t before = 0;
    for (size_t i = 0; i < end && before < trailing;) i += character_bytes(text[i]), ++before;
    if (before < trailing) continue;
    for (; trailing && end > begin; --trailing) {
      do --end;
      while (end > begin && !begins_character(text[end]));
    }
  }
}

class ByteLevelProcessor : public PostProcessor {
 public:
  ByteLevelProcessor(bool trim, bool prefix_space) : trim_(trim), prefix_space_(prefix_space) {}
  int64_t added(bool) const override { return 0; }
  void apply(PostProcessing& p) const override {
    if (trim_)
      for (Encoding& e : p.encodings) trim(e, prefix_space_, p.texts);
  }

 private:
  bool trim_, prefix_space_;
};

/// Special tokens in front of the first encoding and behind each.
class Surrounding : public PostProcessor {
 public:
  /// `doubled`: RoBERTa has two tokens between texts, and the type 0 for all.
  Surrounding(NamedToken begin, NamedToken end, bool doubled, bool trim, bool prefix_space)
      : begin_{std::move(begin)},
        end_{std::move(end)},
        doubled_(doubled),
        trim_(trim),
        prefix_space_(prefix_space) {}
  int64_t added(bool pair) const override { return pair ? (doubled_ ? 4 : 3) : 2; }
  void apply(PostProcessing& p) const override {
    for (Encoding& e : p.encodings) {
      if (trim_) trim(e, prefix_space_, p.texts);
      if (doubled_) std::ranges::fill(e.type_ids, 0);
    }
    if (!p.special_tokens) return;
    for (size_t i = 0; i < p.encodings.size(); ++i) {
      const int64_t type = i > 0 && !doubled_;
      Encoding e;
      if (i == 0 || doubled_) e = special(i == 0 ? begin_ : end_, type);
      append(e, p.encodings[i]);
      append(e, special(end_, type));
      p.encodings[i] = std::move(e);
    }
  }

 private:
  std::vector<NamedToken> begin_, end_;
  bool doubled_, trim_, prefix_space_;
};

class PostProcessorSequence : public PostProcessor {
 public:
  explicit PostProcessorSequence(std::vector<PostProcessorPtr> parts) : parts_(std::move(parts)) {}
  int64_t added(bool pair) const override {
    int64_t count = 0;
    for (const PostProcessorPtr& p : parts_) count += p->added(pair);
    return count;
  }
  void apply(PostProcessing& p) const override {
    for (const PostProcessorPtr& part : parts_) part->apply(p);
  }

 private:
  std::vector<PostProcessorPtr> parts_;
};

}  // namespace

void append(Encoding& to, const Encoding& other) {
  const auto add = [](auto& list, const auto& more) { list.insert(list.end(), more.begin(), more.end()); };
  add(to.ids, other.ids), add(to.type_ids, other.type_ids), add(to.attention_mask, other.attention_mask);
  add(to.tokens, other.tokens), add(to.offsets, other.offsets), add(to.sequence, other.sequence);
  add(to.special_mask, other.special_mask);
}

void keep_tokens(Encoding& e, size_t count, bool left) {
  if (count >= e.size()) return;
  const auto drop = static_cast<ptrdiff_t>(e.size() - count);
  const auto cut = [&](auto& list) {
    left ? list.erase(list.begin(), list.begin() + drop) : list.erase(list.end() - drop, list.end());
  };
  cut(e.ids), cut(e.type_ids), cut(e.attention_mask), cut(e.tokens), cut(e.offsets), cut(e.sequence);
  cut(e.special_mask);
}

PostProcessorPtr template_processor(Template single, Template pair) {
  return std::make_unique<TemplateProcessor>(std::move(single), std::move(pair));
}
PostProcessorPtr bert_processor(NamedToken begin, NamedToken end) {
  return std::make_unique<Surrounding>(std::move(begin), std::move(end), false, false, false);
}
PostProcessorPtr roberta_processor(NamedToken begin, NamedToken end, bool trim, bool prefix_space) {
  return std::make_unique<Surrounding>(std::move(begin), std::move(end), true, trim, prefix_space);
}
PostProcessorPtr byte_level_processor(bool trim, bool prefix_space) {
  return std::make_unique<ByteLevelProcessor>(trim, prefix_space);
}
PostProcessorPtr post_processor_sequence(std::vector<PostProcessorPtr> parts) {
  return std::make_unique<PostProcessorSequence>(std::move(parts));
}

}  // namespace lathe::text
