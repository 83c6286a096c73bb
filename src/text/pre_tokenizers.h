// Pre-tokenizers: texts to the words that a model takes.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "text/aligned_text.h"
#include "text/pattern.h"
#include "text/vocabulary.h"

namespace lathe::text {

/// A part of a text: a word to be, or an added token.
struct Split {
  const AlignedText* text;
  uint32_t begin, end;        // bytes of `text`
  uint32_t added = no_token;  // id of an added token
  std::string_view bytes() const { return std::string_view(text->bytes()).substr(begin, end - begin); }
};

/// All parts of a text, and the texts that they are parts of.
struct Splits {
  std::vector<Split> parts;
  std::deque<AlignedText> texts;

  /// Puts the parts of `with` in place of each that is no added token, empty ones left out.
  template <class With>
  void replace(const With& with) {
    std::vector<Split> old;
    old.swap(parts);
    parts.reserve(old.size());
    for (const Split& s : old)
      if (s.added != no_token)
        parts.push_back(s);
      else
        with(s);
  }
  void put(const AlignedText* text, size_t begin, size_t end) {
    if (begin < end) parts.push_back({text, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)});
  }
};

/// How matches and what is between them become parts.
enum class SplitBehavior : uint8_t { removed, isolated, merged_with_previous, merged_with_next, contiguous };

class PreTokenizer {
 public:
  virtual ~PreTokenizer() = default;
  virtual void apply(Splits& s) const = 0;
  /// Returns whether the last thing that it does is to write letters for bytes; leave_bytes() stops that.
  virtual bool may_leave_bytes() const { return false; }
  virtual void leave_bytes() {}
};
using PreTokenizerPtr = std::unique_ptr<PreTokenizer>;

PreTokenizerPtr bert_pre_tokenizer();
PreTokenizerPtr byte_level_pre_tokenizer(bool prefix_space, bool use_regex);
PreTokenizerPtr delimiter_pre_tokenizer(char32_t delimiter);
PreTokenizerPtr digits_pre_tokenizer(bool individual);
PreTokenizerPtr fixed_length_pre_tokenizer(size_t length);
enum class PrependScheme : uint8_t { always, first, never };
PreTokenizerPtr metaspace_pre_tokenizer(std::string replacement, PrependScheme scheme, bool split);
PreTokenizerPtr punctuation_pre_tokenizer(SplitBehavior behavior);
PreTokenizerPtr pattern_pre_tokenizer(Pattern pattern, SplitBehavior behavior, bool invert);
PreTokenizerPtr scripts_pre_tokenizer();
PreTokenizerPtr whitespace_pre_tokenizer();
PreTokenizerPtr whitespace_split_pre_tokenizer();
PreTokenizerPtr pre_tokenizer_sequence(std::vector<PreTokenizerPtr> parts);

}  // namespace lathe::text
