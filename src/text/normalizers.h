// Normalizers: what happens to a text before it is split.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "text/aligned_text.h"
#include "text/pattern.h"

namespace lathe::text {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void apply(AlignedText& text) const = 0;
};
using NormalizerPtr = std::unique_ptr<const Normalizer>;

struct BertOptions {
  bool clean = true, ideographs = true, strip_accents = true, lowercase = true;
};
NormalizerPtr bert_normalizer(BertOptions o);
NormalizerPtr lowercase_normalizer();
NormalizerPtr strip_accents_normalizer();
NormalizerPtr nmt_normalizer();
NormalizerPtr form_normalizer(Form form);
NormalizerPtr strip_normalizer(bool left, bool right);
NormalizerPtr prepend_normalizer(std::string what);
NormalizerPtr replace_normalizer(Pattern pattern, std::string by);
NormalizerPtr byte_level_normalizer();
NormalizerPtr normalizer_sequence(std::vector<NormalizerPtr> parts);

/// The table of SentencePiece: a double array of what is replaced, and the texts that replace it.
/// Returns null for bytes that are no such table.
NormalizerPtr precompiled_normalizer(std::string_view charsmap);

/// Maps each byte to the character that stands for it in byte-level vocabularies.
char32_t byte_letter(uint8_t byte);
/// Returns the byte of such a character; -1: it is none.
int letter_byte(char32_t c);
void map_bytes_to_letters(AlignedText& text);
/// Puts a text in front, which comes from where the first character comes from.
AlignedText with_prefix(const AlignedText& text, std::string_view prefix);
void lower(AlignedText& text);

}  // namespace lathe::text
