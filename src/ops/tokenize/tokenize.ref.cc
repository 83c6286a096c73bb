#include "ops/tokenize/tokenize.h"

#include <algorithm>

#include "base/utf8.h"
#include "ops/poller.h"

namespace lathe {
namespace {

using Words = std::vector<std::string_view>;

constexpr bool begins_character(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

int64_t characters_in(std::string_view s) { return std::ranges::count_if(s, begins_character); }

/// The offset of the character after the one at `at`, or of the end of `s`.
size_t behind_character(std::string_view s, size_t at) {
  for (++at; at < s.size() && !begins_character(s[at]);) ++at;
  return at;
}

class Tokenizing {
 public:
  Tokenizing(const TokenizeStrings& op, Poller& poll) : op_(op), poll_(poll) {}

  Words words(std::string_view s) const {
    if (op_.into_characters()) return characters(s);
    if (op_.separators.empty()) return matches(s);
    Words left{s};
    for (const Pattern& separator : op_.patterns()) {
      Words pieces;
      for (std::string_view piece : left) split(piece, separator, pieces);
      left = std::move(pieces);
    }
    return left;
  }

 private:
  static Words characters(std::string_view s) {
    Words words;
    for (size_t at = 0, end = 0; at < s.size(); at = end) {
      end = behind_character(s, at);
      words.push_back(s.substr(at, end - at));
    }
    return words;
  }

  /// Matches that are too short are searched again from their second character on.
  Words matches(std::string_view s) const {
    Words words;
    if (characters_in(s) < op_.mincharnum) return words;
    for (size_t from = 0; from <= s.size();) {
      const std::string_view match = find(op_.patterns()[0], s, from);
      if (!match.data()) break;
      const auto begin = static_cast<size_t>(match.data() - s.data());
      const bool counts = characters_in(match) >= op_.mincharnum;
      if (counts) words.push_back(match);
      from = counts ? begin + match.size() : behind_character(s, begin);
    }
    return words;
  }

  /// An empty match separates too, and drops the character behind it.
  void split(std::string_view s, const Pattern& separator, Words& pieces) const {
    const auto keep = [&](std::string_view piece) {
      if (characters_in(piece) >= op_.mincharnum) pieces.push_back(piece);
    };
    size_t from = 0;
    while (from <= s.size()) {
      const std::string_view match = find(separator, s, from);
      if (!match.data()) break;
      const auto begin = static_cast<size_t>(match.data() - s.data());
      keep(s.substr(from, begin - from));
      from = match.empty() ? behind_character(s, begin) : begin + match.size();
    }
    if (from < s.size()) keep(s.substr(from));
  }

  std::string_view find(const Pattern& p, std::string_view s, size_t from) const {
    const std::string_view match = p.find(s, from);
    poll_.did(256 +
              16 * static_cast<int64_t>((match.data() ? match.data() + match.size() : s.data() + s.size()) -
                                        (s.data() + from)));
    return match;
  }

  const TokenizeStrings& op_;
  Poller& poll_;
};

void tokenize_strings(const TokenizeStrings& op, KernelContext& c) {
  const auto in = c.in(0).as<std::string>();
  Poller poll(c);
  const Tokenizing tokenizing(op, poll);
  std::vector<Words> rows;
  size_t longest = 0;
  for (const std::string& s : in) {
    poll.did(256 + static_cast<int64_t>(s.size()));
    if (!is_utf8(s))
      c.fail(Code::run_bad_value, "strings that are UTF-8",
             "other bytes in string " + std::to_string(rows.size()));
    rows.push_back(tokenizing.words(s));
    longest = std::max(longest, rows.back().size());
  }
  const size_t marks = op.mark != 0 && longest > 0 ? 1 : 0;
  Shape shape = c.in(0).shape();
  shape.push_back(static_cast<int64_t>(longest + 2 * marks));
  auto to = c.out(0, DataType::string, shape).as<std::string>().begin();
  for (const Words& words : rows) {
    const auto end = to + static_cast<std::ptrdiff_t>(longest + 2 * marks);
    if (marks) *to++ = '\x02';
    for (std::string_view w : words) {
      poll.did(64 + static_cast<int64_t>(w.size()));
      *to++ = w;
    }
    if (marks) *to++ = '\x03';
    for (; to != end; ++to) {
      poll.did(64);
      *to = op.pad_value;
    }
  }
}

}  // namespace

void reference_tokenize(KernelCatalog& k) {
  k.reference<TokenizeStrings>("Tokenizer", tokenize_strings, "com.microsoft");
  k.needs("Tokenizer", "regex", "com.microsoft");
}

}  // namespace lathe
