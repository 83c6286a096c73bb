#include "text/pre_tokenizers.h"

#include <algorithm>
#include <array>

#include "base/letters.h"
#include "text/normalizers.h"

namespace lathe::text {
namespace {

using Parts = std::vector<PatternPart>;

/// Cuts at the characters for which `is` holds, each on its own.
template <class Is>
void cut_at(std::string_view s, const Is& is, Parts& to) {
  size_t done = 0;
  for (size_t i = 0; i < s.size();) {
    const size_t begin = i;
    if (!is(next_character(s, i))) continue;
    if (done < begin) to.push_back({done, begin, false});
    to.push_back({begin, i, true});
    done = i;
  }
  if (done < s.size()) to.push_back({done, s.size(), false});
}

/// Puts the parts of a split in its place, as the behavior has it.
void put_parts(Splits& s, const Split& of, const Parts& parts, SplitBehavior behavior) {
  const auto put = [&](size_t begin, size_t end) { s.put(of.text, of.begin + begin, of.begin + end); };
  if (behavior == SplitBehavior::isolated || behavior == SplitBehavior::removed) {
    for (const PatternPart& p : parts)
      if (!p.match || behavior == SplitBehavior::isolated) put(p.begin, p.end);
    return;
  }
  if (behavior == SplitBehavior::merged_with_next) {
    // From behind: a match takes what is behind it, unless that is a match itself.
    std::vector<PatternPart> merged;
    bool previous = false;
    for (auto p = parts.rbegin(); p != parts.rend(); ++p) {
      if (p->match && !previous && !merged.empty())
        merged.back().begin = p->begin;
      else
        merged.push_back(*p);
      previous = p->match;
    }
    for (auto p = merged.rbegin(); p != merged.rend(); ++p) put(p->begin, p->end);
    return;
  }
  size_t begin = 0, end = 0;
  bool previous = false, any = false;
  for (const PatternPart& p : parts) {
    const bool joins = behavior == SplitBehavior::contiguous ? p.match == previous : p.match && !previous;
    if (!any || !joins) {
      if (any) put(begin, end);
      begin = p.begin;
    }
    end = p.end, any = true, previous = p.match;
  }
  if (any) put(begin, end);
}

template <class Is>
class AtCharacters : public PreTokenizer {
 public:
  AtCharacters(Is is, SplitBehavior behavior) : is_(is), behavior_(behavior) {}
  void apply(Splits& s) const override {
    Parts parts;
    s.replace([&](const Split& of) {
      parts.clear();
      cut_at(of.bytes(), is_, parts);
      put_parts(s, of, parts, behavior_);
    });
  }

 private:
  Is is_;
  SplitBehavior behavior_;
};
template <class Is>
PreTokenizerPtr at_characters(Is is, SplitBehavior behavior) {
  return std::make_unique<AtCharacters<Is>>(is, behavior);
}

class AtPattern : public PreTokenizer {
 public:
  AtPattern(Pattern pattern, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), behavior_(behavior), invert_(invert) {}
  void apply(Splits& s) const override {
    Parts parts;
    s.replace([&](const Split& of) {
      parts.clear();
      pattern_.cut(of.bytes(), parts);
      if (invert_)
        for (PatternPart& p : parts) p.match = !p.match;
      put_parts(s, of, parts, behavior_);
    });
  }

 private:
  Pattern pattern_;
  SplitBehavior behavior_;
  bool invert_;
};

/// White space separates, and punctuation is on its own.
class BertWords : public PreTokenizer {
  void apply(Splits& s) const override {
    s.replace([&](const Split& of) {
      const std::string_view bytes = of.bytes();
      size_t begin = 0;
      for (size_t i = 0; i < bytes.size();) {
        const size_t at = i;
        const char32_t c = next_character(bytes, i);
        const bool space = is_space(c);
        if (!space && !is_punctuation(c)) continue;
        s.put(of.text, of.begin + begin, of.begin + at);
        if (!space) s.put(of.text, of.begin + at, of.begin + i);
        begin = i;
      }
      s.put(of.text, of.begin + begin, of.end);
    });
  }
};

/// Words, and runs of what is neither of words nor white space.
class Whitespace : public PreTokenizer {
  void apply(Splits& s) const override {
    s.replace([&](const Split& of) {
      const std::string_view bytes = of.bytes();
      size_t begin = 0;
      int before = 0;
      for (size_t i = 0; i < bytes.size();) {
        const size_t at = i;
        const char32_t c = next_character(bytes, i);
        const int kind = is_word(c) ? 1 : is_space(c) ? 0 : 2;
        if (kind == before) continue;
        if (before) s.put(of.text, of.begin + begin, of.begin + at);
        begin = at, before = kind;
      }
      if (before) s.put(of.text, of.begin + begin, of.end);
    });
  }
};

/// The split of GPT-2: contractions, letters, digits and other characters with a space before them; spaces.
void cut_gpt2(std::string_view s, Splits& to, const Split& of) {
  const CharacterTable& categories = general_categories();
  static const uint32_t letters = category_set("L"), numbers = category_set("N");
  enum : uint8_t { letter, number, space, other };
  static const auto ascii = [] {
    std::array<uint8_t, 128> kinds{};
    for (char32_t c = 0; c < 128; ++c)
      kinds[c] = (c | 32) >= 'a' && (c | 32) <= 'z' ? letter
                 : c >= '0' && c <= '9'             ? number
                 : is_space(c)                      ? space
                                                    : other;
    return kinds;
  }();
  const auto kind_at = [&](size_t i, size_t& next) -> uint8_t {
    const auto b = static_cast<unsigned char>(s[i]);
    if (b < 128) return next = i + 1, ascii[b];
    next = i;
    const char32_t c = next_character(s, next);
    const uint32_t bit = uint32_t{1} << categories[c];
    return bit & letters ? letter : bit & numbers ? number : is_space(c) ? space : other;
  };
  for (size_t i = 0; i < s.size();) {
    size_t end = i, next = 0;
    if (s[i] == '\'' && i + 1 < s.size()) {
      const char c = s[i + 1], d = i + 2 < s.size() ? s[i + 2] : '\0';
      if (c == 's' || c == 't' || c == 'm' || c == 'd')
        end = i + 2;
      else if ((c == 'r' && d == 'e') || (c == 'v' && d == 'e') || (c == 'l' && d == 'l'))
        end = i + 3;
    }
    if (end == i) {
      size_t at = i;
      if (s[i] == ' ' && i + 1 < s.size()) ++at;
      uint8_t kind = kind_at(at, next);
      if (kind == space) {
        at = i;
        kind = kind_at(at, next);
      }
      size_t last = at;  // the beginning of the last character
      end = next;
      while (end < s.size() && kind_at(end, next) == kind) last = end, end = next;
      // Of several spaces before something else the last one belongs to that.
      if (kind == space && end < s.size() && last > i) end = last;
    }
    to.put(of.text, of.begin + i, of.begin + end);
    i = end;
  }
}

class ByteLevel : public PreTokenizer {
 public:
  ByteLevel(bool prefix_space, bool use_regex) : prefix_space_(prefix_space), use_regex_(use_regex) {}

  void apply(Splits& s) const override {
    if (prefix_space_)
      s.replace([&](const Split& of) {
        if (of.bytes()[0] == ' ') return s.parts.push_back(of);
        Splicer parts(*of.text);
        parts.put(" ", of.text->extent(of.begin));
        parts.keep(of.begin, of.end);
        const AlignedText& longer = s.texts.emplace_back(parts.take());
        s.put(&longer, 0, longer.size());
      });
    if (use_regex_) s.replace([&](const Split& of) { cut_gpt2(of.bytes(), s, of); });
    if (leave_bytes_) return;
    s.replace([&](const Split& of) {
      Splicer parts(*of.text);
      parts.keep(of.begin, of.end);
      AlignedText& mapped = s.texts.emplace_back(parts.take());
      map_bytes_to_letters(mapped);
      s.put(&mapped, 0, mapped.size());
    });
  }
  bool may_leave_bytes() const override { return true; }
  void leave_bytes() override { leave_bytes_ = true; }

 private:
  bool prefix_space_, use_regex_, leave_bytes_ = false;
};

class Metaspace : public PreTokenizer {
 public:
  Metaspace(std::string replacement, PrependScheme scheme, bool split)
      : replacement_(std::move(replacement)), scheme_(scheme), split_(split) {}

  void apply(Splits& s) const override {
    s.replace([&](const Split& of) {
      const std::string_view bytes = of.bytes();
      Splicer parts(*of.text);
      const bool begins = bytes[0] == ' ' || bytes.starts_with(replacement_);
      const Extent first = of.text->extent(of.begin);
      if (!begins &&
          (scheme_ == PrependScheme::always || (scheme_ == PrependScheme::first && first.begin == 0)))
        parts.put(replacement_, first);
      std::vector<size_t> words;
      for (size_t i = 0; i < bytes.size();) {
        const size_t at = i;
        if (bytes[i] == ' ') {
          words.push_back(parts.size());
          parts.put(replacement_, of.text->extent(of.begin + i++));
          continue;
        }
        if (bytes.substr(i).starts_with(replacement_)) words.push_back(parts.size());
        i += character_bytes(bytes[i]);
        parts.keep(of.begin + at, of.begin + i);
      }
      const AlignedText& marked = s.texts.emplace_back(parts.take());
      size_t begin = 0;
      for (size_t word : words) {
        if (split_) s.put(&marked, begin, word), begin = word;
      }
      s.put(&marked, begin, marked.size());
    });
  }

 private:
  std::string replacement_;
  PrependScheme scheme_;
  bool split_;
};

class FixedLength : public PreTokenizer {
 public:
  explicit FixedLength(size_t length) : length_(length) {}
  void apply(Splits& s) const override {
    s.replace([&](const Split& of) {
      const std::string_view bytes = of.bytes();
      for (size_t i = 0; i < bytes.size();) {
        const size_t begin = i;
        for (size_t k = 0; k < length_ && i < bytes.size(); ++k) i += character_bytes(bytes[i]);
        s.put(of.text, of.begin + begin, of.begin + i);
      }
    });
  }

 private:
  size_t length_;
};

class UnicodeScripts : public PreTokenizer {
  void apply(Splits& s) const override {
    const CharacterTable& scripts = splitting_scripts();
    s.replace([&](const Split& of) {
      const std::string_view bytes = of.bytes();
      size_t begin = 0;
      int last = -1;
      for (size_t i = 0; i < bytes.size();) {
        const size_t at = i;
        const int script = scripts[next_character(bytes, i)];
        if (script == 0) continue;
        // What joins stays with what is before it; at the beginning of a text it is lost there, as in the
        // Rust library.
        if (script != last) {
          if (last >= 0) s.put(of.text, of.begin + begin, of.begin + at);
          begin = at;
        }
        last = script;
      }
      if (last >= 0) s.put(of.text, of.begin + begin, of.end);
    });
  }
};

class PreTokenizerSequence : public PreTokenizer {
 public:
  explicit PreTokenizerSequence(std::vector<PreTokenizerPtr> parts) : parts_(std::move(parts)) {}
  void apply(Splits& s) const override {
    for (const PreTokenizerPtr& p : parts_) p->apply(s);
  }
  bool may_leave_bytes() const override { return !parts_.empty() && parts_.back()->may_leave_bytes(); }
  void leave_bytes() override { parts_.back()->leave_bytes(); }

 private:
  std::vector<PreTokenizerPtr> parts_;
};

}  // namespace

PreTokenizerPtr bert_pre_tokenizer() { return std::make_unique<BertWords>(); }
PreTokenizerPtr byte_level_pre_tokenizer(bool prefix_space, bool use_regex) {
  return std::make_unique<ByteLevel>(prefix_space, use_regex);
}
PreTokenizerPtr delimiter_pre_tokenizer(char32_t delimiter) {
  return at_characters([delimiter](char32_t c) { return c == delimiter; }, SplitBehavior::removed);
}
PreTokenizerPtr digits_pre_tokenizer(bool individual) {
  return at_characters(is_numeric, individual ? SplitBehavior::isolated : SplitBehavior::contiguous);
}
PreTokenizerPtr fixed_length_pre_tokenizer(size_t length) { return std::make_unique<FixedLength>(length); }
PreTokenizerPtr metaspace_pre_tokenizer(std::string replacement, PrependScheme scheme, bool split) {
  return std::make_unique<Metaspace>(std::move(replacement), scheme, split);
}
PreTokenizerPtr punctuation_pre_tokenizer(SplitBehavior behavior) {
  return at_characters(is_punctuation, behavior);
}
PreTokenizerPtr pattern_pre_tokenizer(Pattern pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<AtPattern>(std::move(pattern), behavior, invert);
}
PreTokenizerPtr scripts_pre_tokenizer() { return std::make_unique<UnicodeScripts>(); }
PreTokenizerPtr whitespace_pre_tokenizer() { return std::make_unique<Whitespace>(); }
PreTokenizerPtr whitespace_split_pre_tokenizer() { return at_characters(is_space, SplitBehavior::removed); }
PreTokenizerPtr pre_tokenizer_sequence(std::vector<PreTokenizerPtr> parts) {
  return std::make_unique<PreTokenizerSequence>(std::move(parts));
}

}  // namespace lathe::text
