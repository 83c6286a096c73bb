#include "text/normalizers.h"

#include <algorithm>
#include <array>

#include "base/letters.h"

namespace lathe::text {
namespace {

bool is_ascii(std::string_view s) {
  return std::ranges::none_of(s, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

/// Keeps some characters and maps them; those that go are counted to the one before, as in the Rust library.
template <class Keep, class Map>
void filter_map(AlignedText& text, const Keep& keep, const Map& map) {
  std::vector<Change> changes;
  changes.reserve(text.size());
  size_t skipped = 0;
  bool same = true;
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_character(text.bytes(), i);
    if (keep(c)) {
      const char32_t to = map(c);
      same &= to == c;
      changes.push_back({to, 0});
      continue;
    }
    same = false;
    if (changes.empty())
      ++skipped;
    else
      --changes.back().removed;
  }
  if (!same) text.transform(changes, skipped);
}

class Bert : public Normalizer {
 public:
  explicit Bert(BertOptions o) : o_(o) {}
  void apply(AlignedText& text) const override {
    if (o_.clean)
      filter_map(
          text, [](char32_t c) { return c && !is_control(c); },
          [](char32_t c) { return is_space(c) ? U' ' : c; });
    if (o_.ideographs) space_ideographs(text);
    if (o_.strip_accents) {
      if (!has_form(text.bytes(), Form::nfd)) text.transform(normal_form(text.bytes(), Form::nfd));
      if (!is_ascii(text.bytes()))
        filter_map(
            text, [](char32_t c) { return !is_accent(c); }, [](char32_t c) { return c; });
    }
    if (o_.lowercase) lower(text);
  }

 private:
  static void space_ideographs(AlignedText& text) {
    if (is_ascii(text.bytes())) return;
    std::vector<Change> changes;
    bool any = false;
    for (size_t i = 0; i < text.size();) {
      const char32_t c = next_character(text.bytes(), i);
      if (is_ideograph(c)) {
        changes.insert(changes.end(), {{U' ', 0}, {c, 1}, {U' ', 1}});
        any = true;
      } else {
        changes.push_back({c, 0});
      }
    }
    if (any) text.transform(changes);
  }
  BertOptions o_;
};

class Lowercase : public Normalizer {
  void apply(AlignedText& text) const override { lower(text); }
};

class StripAccents : public Normalizer {
  void apply(AlignedText& text) const override {
    if (!is_ascii(text.bytes()))
      filter_map(
          text, [](char32_t c) { return !is_combining(c); }, [](char32_t c) { return c; });
  }
};

/// The characters that SentencePiece's rules "nmt" drop or make spaces.
class Nmt : public Normalizer {
  void apply(AlignedText& text) const override {
    filter_map(
        text,
        [](char32_t c) {
          return !((c >= 0x01 && c <= 0x08) || c == 0x0b || (c >= 0x0e && c <= 0x1f) || c == 0x7f ||
                   c == 0x8f || c == 0x9f);
        },
        [](char32_t c) {
          const bool space = c == 0x09 || c == 0x0a || c == 0x0c || c == 0x0d || c == 0x1680 ||
                             (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                             c == 0xfeff || c == 0xfffd;
          return space ? U' ' : c;
        });
  }
};

class ToForm : public Normalizer {
 public:
  explicit ToForm(Form form) : form_(form) {}
  void apply(AlignedText& text) const override {
    if (!has_form(text.bytes(), form_)) text.transform(normal_form(text.bytes(), form_));
  }

 private:
  Form form_;
};

class Strip : public Normalizer {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(AlignedText& text) const override {
    const std::string& s = text.bytes();
    size_t begin = 0, end = s.size();
    for (size_t i = 0; left_ && i < end; begin = i)
      if (!is_space(next_character(s, i))) break;
    while (right_ && end > begin) {
      size_t i = end - 1;
      while (!begins_character(s[i])) --i;
      const size_t at = i;
      if (!is_space(next_character(s, i))) break;
      end = at;
    }
    if (begin == 0 && end == s.size()) return;
    Splicer parts(text);
    parts.keep(begin, end);
    text = parts.take();
  }

 private:
  bool left_, right_;
};

class Prepend : public Normalizer {
 public:
  explicit Prepend(std::string what) : what_(std::move(what)) {}
  void apply(AlignedText& text) const override {
    if (text.size() && !what_.empty()) text = with_prefix(text, what_);
  }

 private:
  std::string what_;
};

class Replace : public Normalizer {
 public:
  Replace(Pattern pattern, std::string by) : pattern_(std::move(pattern)), by_(std::move(by)) {}
  void apply(AlignedText& text) const override {
    if (!text.size()) return;
    std::vector<PatternPart> parts;
    pattern_.cut(text.bytes(), parts);
    if (std::ranges::none_of(parts, &PatternPart::match)) return;
    Splicer spliced(text);
    const uint32_t start = text.extent(0).begin;
    for (const PatternPart& p : parts) {
      if (!p.match)
        spliced.keep(p.begin, p.end);
      else  // comes from the last character that it replaces
        spliced.put(by_, p.end ? text.extent(p.end - 1) : Extent{start, start});
      // A text that grows beyond all limits would be the work of the pattern, not of the caller.
      if (spliced.size() > longest_text)
        throw PatternFault{"a text of less than 2 GiB", "a longer one", true};
    }
    text = spliced.take();
  }

 private:
  Pattern pattern_;
  std::string by_;
};

class ByteLevelNormalizer : public Normalizer {
  void apply(AlignedText& text) const override { map_bytes_to_letters(text); }
};

class NormalizerSequence : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> parts) : parts_(std::move(parts)) {}
  void apply(AlignedText& text) const override {
    for (const NormalizerPtr& p : parts_) p->apply(text);
  }

 private:
  std::vector<NormalizerPtr> parts_;
};

bool stands_for_itself(uint32_t b) {
  return (b >= 0x21 && b <= 0x7e) || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
}

struct ByteLetters {
  std::array<uint16_t, 256> letter{};
  std::array<int16_t, 512> byte{};
  std::array<std::string, 256> utf8;
  ByteLetters() {
    byte.fill(-1);
    uint16_t next = 256;
    for (uint32_t b = 0; b < 256; ++b) {
      letter[b] = stands_for_itself(b) ? static_cast<uint16_t>(b) : next++;
      byte[letter[b]] = static_cast<int16_t>(b);
      append_utf8(utf8[b], letter[b]);
    }
  }
};
const ByteLetters& byte_letters() {
  static const ByteLetters all;
  return all;
}

}  // namespace

char32_t byte_letter(uint8_t byte) { return byte_letters().letter[byte]; }
int letter_byte(char32_t c) { return c < 512 ? byte_letters().byte[c] : -1; }

void map_bytes_to_letters(AlignedText& text) {
  const ByteLetters& letters = byte_letters();
  Splicer mapped(text);
  for (size_t i = 0; i < text.size(); ++i)
    mapped.put(letters.utf8[static_cast<unsigned char>(text.bytes()[i])], text.extent(i));
  text = mapped.take();
}

AlignedText with_prefix(const AlignedText& text, std::string_view prefix) {
  Splicer parts(text);
  parts.put(prefix, text.extent(0));
  parts.keep(0, text.size());
  return parts.take();
}

void lower(AlignedText& text) {
  constexpr char32_t dotted_i = 0x0130, dot_above = 0x0307;
  const auto upper = [](char c) { return (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80; };
  if (std::ranges::none_of(text.bytes(), upper)) return;
  std::vector<Change> changes;
  changes.reserve(text.size());
  for (size_t i = 0; i < text.size();) {
    const char32_t c = next_character(text.bytes(), i);
    changes.push_back({lower_case(c), 0});
    if (c == dotted_i) changes.push_back({dot_above, 1});  // the one letter that becomes two
  }
  text.transform(changes);
}

NormalizerPtr bert_normalizer(BertOptions o) { return std::make_unique<Bert>(o); }
NormalizerPtr lowercase_normalizer() { return std::make_unique<Lowercase>(); }
NormalizerPtr strip_accents_normalizer() { return std::make_unique<StripAccents>(); }
NormalizerPtr nmt_normalizer() { return std::make_unique<Nmt>(); }
NormalizerPtr form_normalizer(Form form) { return std::make_unique<ToForm>(form); }
NormalizerPtr strip_normalizer(bool left, bool right) { return std::make_unique<Strip>(left, right); }
NormalizerPtr prepend_normalizer(std::string what) { return std::make_unique<Prepend>(std::move(what)); }
NormalizerPtr replace_normalizer(Pattern pattern, std::string by) {
  return std::make_unique<Replace>(std::move(pattern), std::move(by));
}
NormalizerPtr byte_level_normalizer() { return std::make_unique<ByteLevelNormalizer>(); }
NormalizerPtr normalizer_sequence(std::vector<NormalizerPtr> parts) {
  return std::make_unique<NormalizerSequence>(std::move(parts));
}

}  // namespace lathe::text
