// Regular expressions as programs, which pattern_parse.cc makes and pattern.cc runs.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/unicode.h"

namespace lathe::text {

/// A set of characters: bits for those of ASCII; a union of parts for the others.
struct CharacterSet {
  struct Part {
    enum class Kind : uint8_t { range, categories, script, word, space, set } kind = Kind::range;
    bool inverted = false;
    char32_t first = 0, last = 0;  // kind range
    uint32_t value = 0;            // kind categories: bits; script: its class; set: the index of another set
  };
  std::array<uint64_t, 2> ascii{};
  std::vector<Part> parts;
  std::vector<uint32_t> also;  // sets that must have the character, too (&&)
  bool inverted = false, any_case = false;
};

struct Instruction {
  enum class Op : uint8_t {
    set,        // one character of set `a`
    loop,       // from `min` to `max` characters of set `a`, as many as possible, given back one by one
    loop_keep,  // the same, never given back
    loop_lazy,  // the same, as few as possible
    split,      // goes on at `a`, and if that fails at `b`
    jump,       // goes on at `a`
    look,       // what is behind this, up to `end`, matches here or, inverted, does not; goes on at `a`
    atomic,     // what is behind this, up to `end`, matches, and is not tried otherwise; goes on at `a`
    behind,     // the character before is, or inverted is not, one of set `a`
    text_begin,
    text_end,
    line_begin,
    line_end,
    word_edge,
    end
  };
  Op op = Op::end;
  bool inverted = false;
  uint32_t a = 0, b = 0, min = 0, max = 0;
};

constexpr uint32_t unlimited = UINT32_MAX;

/// An alternative of the whole pattern: where its code begins, and with which bytes a match can begin; those
/// above 127 share a bit.
struct Alternative {
  uint32_t begin = 0;
  std::bitset<129> first;
};

struct PatternProgram {
  std::vector<Instruction> code;
  std::vector<CharacterSet> sets;
  std::vector<Alternative> alternatives;

  bool contains(uint32_t set, char32_t c) const {
    const CharacterSet& s = sets[set];
    return c < 128 ? (s.ascii[c >> 6] >> (c & 63)) & 1 : contains_any_case(s, c);
  }
  bool contains_any_case(const CharacterSet& s, char32_t c) const;

 private:
  bool contains_exactly(const CharacterSet& s, char32_t c) const;
};

/// Whose rules apply where they differ: in Oniguruma `x{1,3}+` repeats a repetition and `$` is the end of
/// every line; in the Rust crate of tiktoken the one is possessive and the other the end of the text.
enum class PatternSyntax : uint8_t { oniguruma, tiktoken };

/// Throws PatternFault.
PatternProgram parse_pattern(std::string_view pattern, PatternSyntax syntax);

}  // namespace lathe::text
