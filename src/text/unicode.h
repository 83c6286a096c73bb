// Properties of characters as tokenizers know them: each table follows the version of Unicode that the Rust
// library `tokenizers` has for it (tools/tokenizer_tables.py).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace lathe::text {

/// A class for each code point, in two stages: blocks of 256 that are equal are kept once.
class CharacterTable {
 public:
  /// Reads runs: one capital letter for the class (two if `wide`), and digits in base 36 for the count.
  CharacterTable(std::string_view runs, bool wide = false);
  uint8_t operator[](char32_t c) const { return c < 0x110000 ? pages_[first_[c >> 8] + (c & 255)] : 0; }

 private:
  std::vector<uint32_t> first_;
  std::vector<uint8_t> pages_;
};

/// General categories; the value is an index of `category_names` and a bit of the sets of regular
/// expressions.
const CharacterTable& general_categories();
/// Returns the set of categories by a name such as L or Lu as bits; 0: there is none.
uint32_t category_set(std::string_view name);
/// Scripts of \p{Han} and the like: returns the class, 0: the name is not known.
const CharacterTable& scripts_in_patterns();
uint8_t script_class(std::string_view name);
/// Scripts that the pre-tokenizer UnicodeScripts tells apart; 0 joins all.
const CharacterTable& splitting_scripts();
/// 1 joins the character before, 2 the one behind, 3 neither.
const CharacterTable& cluster_classes();

bool is_pattern_word(char32_t c);  // \w of patterns
bool is_word(char32_t c);          // of the pre-tokenizer Whitespace and of single words
bool is_numeric(char32_t c);
bool is_combining(char32_t c);
bool is_space(char32_t c);
bool is_control(char32_t c);      // left out of clean text
bool is_accent(char32_t c);       // a mark without width, by BertNormalizer
bool is_punctuation(char32_t c);  // a word of its own
bool is_ideograph(char32_t c);    // a word of its own, by BertNormalizer

/// Returns the lower case; U+0130 alone has a second letter, U+0307.
char32_t lower_case(char32_t c);

/// A character of a changed text, and how many characters of the old one it stands for: 0: one; above: none,
/// it is inserted; below: one, and as many more are removed.
struct Change {
  char32_t c;
  int32_t removed;
};
enum class Form : uint8_t { nfd, nfkd, nfc, nfkc };
/// Returns the changes that bring UTF-8 text into a normal form.
std::vector<Change> normal_form(std::string_view utf8, Form form);
/// Returns whether the text is certainly in that form, at a glance.
bool has_form(std::string_view utf8, Form form);

}  // namespace lathe::text
