#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/letters.h"
#include "base/utf8.h"
#include "text/aligned_text.h"
#include "text/pattern.h"
#include "text/pattern_program.h"

namespace lathe::text {
namespace {

constexpr size_t max_pattern_bytes = 1 << 16, max_instructions = 1 << 14, max_pattern_depth = 64;
constexpr uint32_t max_repetitions = 1000;

using Op = Instruction::Op;

struct Node {
  enum class Kind : uint8_t { set, sequence, choice, repeat, look, atomic, assertion } kind;
  std::vector<std::unique_ptr<Node>> parts = {};
  uint32_t set = 0, min = 0, max = 0;
  enum class Mode : uint8_t { greedy, lazy, possessive } mode = Mode::greedy;
  Op assertion = Op::end;
  bool inverted = false, behind = false;
};
using NodePtr = std::unique_ptr<Node>;

NodePtr make_node(Node::Kind kind) { return std::make_unique<Node>(Node{kind}); }

class PatternParser {
 public:
  PatternParser(std::string_view pattern, PatternSyntax syntax) : s_(pattern), syntax_(syntax) {
    if (s_.size() > max_pattern_bytes)
      throw PatternFault{"at most " + std::to_string(max_pattern_bytes) + " bytes",
                         std::to_string(s_.size())};
    if (!is_utf8(s_)) throw PatternFault{"UTF-8", "other bytes"};
  }

  PatternProgram program() {
    NodePtr all = choice();
    if (at_ < s_.size()) fail("a pattern whose parentheses match", "')' alone");
    if (all->kind != Node::Kind::choice) {
      NodePtr one = make_node(Node::Kind::choice);
      one->parts.push_back(std::move(all));
      all = std::move(one);
    }
    for (const NodePtr& part : all->parts) {
      Alternative a;
      a.begin = static_cast<uint32_t>(p_.code.size());
      if (first_of(*part, a.first)) a.first.set();
      p_.alternatives.push_back(a);
      emit(*part);
      put({});
    }
    return std::move(p_);
  }

 private:
  [[noreturn]] void fail(std::string expected, std::string got) const {
    throw PatternFault{std::move(expected), std::move(got)};
  }
  bool more() const { return at_ < s_.size(); }
  bool ahead(std::string_view what) const { return s_.substr(at_, what.size()) == what; }
  bool take(std::string_view what) {
    if (!ahead(what)) return false;
    at_ += what.size();
    return true;
  }
  char32_t next() {
    if (!more()) fail("a whole pattern", "one that ends too early");
    return next_character(s_, at_);
  }

  NodePtr choice() {
    if (++depth_ > max_pattern_depth)
      fail("groups nested at most " + std::to_string(max_pattern_depth) + " deep", "more");
    const bool any_case = any_case_, dot_all = dot_all_;
    NodePtr all = make_node(Node::Kind::choice);
    do all->parts.push_back(sequence());
    while (take("|"));
    any_case_ = any_case, dot_all_ = dot_all;
    --depth_;
    return all->parts.size() == 1 ? std::move(all->parts[0]) : std::move(all);
  }

  NodePtr sequence() {
    NodePtr all = make_node(Node::Kind::sequence);
    while (more() && s_[at_] != '|' && s_[at_] != ')')
      if (NodePtr a = atom()) all->parts.push_back(repeated(std::move(a)));
    return all;
  }

  NodePtr repeated(NodePtr of) {
    for (;;) {
      uint32_t min = 0, max = unlimited;
      bool interval = false;
      if (take("*")) {
      } else if (take("+")) {
        min = 1;
      } else if (take("?")) {
        max = 1;
      } else if (const auto both = braces()) {
        std::tie(min, max) = *both;
        interval = true;
      } else {
        return of;
      }
      NodePtr r = make_node(Node::Kind::repeat);
      r->min = min, r->max = max;
      const bool possessive_interval = syntax_ == PatternSyntax::tiktoken;
      if (take("?")) {
        if (interval && min == max) fail("a repetition that is not both exact and lazy", "{n}?");
        r->mode = Node::Mode::lazy;
      } else if ((!interval || possessive_interval) && take("+")) {
        r->mode = Node::Mode::possessive;
      }
      std::bitset<129> ignored;
      if (of->kind != Node::Kind::set && first_of(*of, ignored) && max > 1)
        fail("a repetition of what is never empty", "one of what may be empty");
      r->parts.push_back(std::move(of));
      of = std::move(r);
    }
  }

  /// Reads {n}, {n,}, {,m} or {n,m}; anything else is no repetition.
  std::optional<std::pair<uint32_t, uint32_t>> braces() {
    if (!ahead("{")) return std::nullopt;
    size_t i = at_ + 1;
    const auto number = [&]() -> std::optional<uint32_t> {
      const size_t begin = i;
      uint32_t n = 0;
      for (; i < s_.size() && s_[i] >= '0' && s_[i] <= '9'; ++i)
        n = std::min(n * 10 + static_cast<uint32_t>(s_[i] - '0'), max_repetitions + 1);
      return i > begin ? std::optional(n) : std::nullopt;
    };
    const auto low = number();
    std::optional<uint32_t> high = low;
    bool open = false;
    if (i < s_.size() && s_[i] == ',') {
      ++i;
      high = number();
      open = !high;
    }
    if (i >= s_.size() || s_[i] != '}' || (!low && open)) return std::nullopt;
    at_ = i + 1;
    if (low.value_or(0) > max_repetitions || (!open && *high > max_repetitions))
      fail("at most " + std::to_string(max_repetitions) + " repetitions", "more");
    if (!open && *high < low.value_or(0))
      fail("a repetition of at least as many as at most", "{n,m} with n > m");
    return std::pair(low.value_or(0), open ? unlimited : *high);
  }

  /// Returns null for what only changes options.
  NodePtr atom() {
    if (take("(")) return group();
    if (take("[")) return of_set(bracket());
    if (take(".")) {
      CharacterSet any;
      if (!dot_all_) any.parts.push_back({CharacterSet::Part::Kind::range, false, U'\n', U'\n'});
      any.inverted = true;
      return of_set(add(std::move(any)));
    }
    const bool whole = syntax_ == PatternSyntax::tiktoken;
    if (take("^")) return asserted(whole ? Op::text_begin : Op::line_begin);
    if (take("$")) return asserted(whole ? Op::text_end : Op::line_end);
    if (take("\\A")) return asserted(Op::text_begin);
    if (take("\\z")) return asserted(Op::text_end);
    if (take("\\b")) return asserted(Op::word_edge);
    if (take("\\B")) return asserted(Op::word_edge, true);
    if (ahead("*") || ahead("+") || ahead("?"))
      fail("something to repeat", std::string(1, s_[at_]) + " alone");
    CharacterSet one;
    one.any_case = any_case_;
    if (take("\\"))
      one.parts.push_back(escape());
    else
      one.parts.push_back(character(next()));
    return of_set(add(std::move(one)));
  }

  NodePtr group() {
    if (take("?:")) return closed(choice());
    if (take("?=")) return look(false, false);
    if (take("?!")) return look(true, false);
    if (take("?<=")) return look(false, true);
    if (take("?<!")) return look(true, true);
    if (take("?>")) {
      NodePtr n = make_node(Node::Kind::atomic);
      n->parts.push_back(closed(choice()));
      return n;
    }
    if (take("?#")) {
      while (next() != U')') {
      }
      return nullptr;
    }
    if (!take("?")) return closed(choice());  // what a group matched is asked nowhere
    bool on = true, any_case = any_case_, dot_all = dot_all_;
    for (;;) {
      const char32_t c = next();
      if (c == U'-') {
        on = false;
      } else if (c == U'i') {
        any_case = on;
      } else if (c == (syntax_ == PatternSyntax::tiktoken ? U's' : U'm')) {
        dot_all = on;
      } else if (c == U')') {
        any_case_ = any_case, dot_all_ = dot_all;  // up to the end of the group around it
        return nullptr;
      } else if (c == U':') {
        const bool case_before = any_case_, dot_before = dot_all_;
        any_case_ = any_case, dot_all_ = dot_all;
        NodePtr n = closed(choice());
        any_case_ = case_before, dot_all_ = dot_before;
        return n;
      } else {
        fail("groups (…), (?:…), (?i:…), (?=…), (?!…), (?<=…), (?<!…), (?>…)", "(?" + utf8(c));
      }
    }
  }

  NodePtr closed(NodePtr n) {
    if (!take(")")) fail("a pattern whose parentheses match", "'(' alone");
    return n;
  }
  NodePtr look(bool inverted, bool behind) {
    NodePtr n = make_node(Node::Kind::look);
    n->inverted = inverted, n->behind = behind;
    n->parts.push_back(closed(choice()));
    if (behind) {
      Node* of = n->parts[0].get();
      while (of->kind == Node::Kind::sequence && of->parts.size() == 1) of = of->parts[0].get();
      if (of->kind != Node::Kind::set) fail("a single character in (?<=…) and (?<!…)", "more");
      n->set = of->set;
    }
    return n;
  }
  NodePtr asserted(Op op, bool inverted = false) {
    NodePtr n = make_node(Node::Kind::assertion);
    n->assertion = op, n->inverted = inverted;
    return n;
  }
  NodePtr of_set(uint32_t set) {
    NodePtr n = make_node(Node::Kind::set);
    n->set = set;
    return n;
  }

  using Part = CharacterSet::Part;
  static Part character(char32_t c) { return {Part::Kind::range, false, c, c}; }
  static Part classes(std::string_view names, bool inverted) {
    Part p{Part::Kind::categories, inverted};
    for (size_t i = 0; i < names.size(); i += 2) p.value |= category_set(names.substr(i, 2));
    return p;
  }
  static std::string utf8(char32_t c) {
    std::string s;
    append_utf8(s, c);
    return s;
  }

  /// Reads what is behind a backslash.
  Part escape() {
    const char32_t c = next();
    switch (c) {
      case U'n':
        return character(U'\n');
      case U'r':
        return character(U'\r');
      case U't':
        return character(U'\t');
      case U'f':
        return character(U'\f');
      case U'v':
        return character(U'\v');
      case U'a':
        return character(U'\a');
      case U'e':
        return character(0x1b);
      case U's':
      case U'S':
        return {Part::Kind::space, c == U'S'};
      case U'd':
      case U'D':
        return classes("Nd", c == U'D');
      case U'w':
      case U'W':
        return {Part::Kind::word, c == U'W'};
      case U'x':
        return character(take("{") ? hexadecimal(1, 8, true) : hexadecimal(1, 2, false));
      case U'u':
        return character(hexadecimal(4, 4, false));
      case U'p':
      case U'P':
        return property(c == U'P');
      default:
        break;
    }
    if ((c >= U'0' && c <= U'9') || (c >= U'a' && c <= U'z') || (c >= U'A' && c <= U'Z'))
      fail("an escape among \\n \\r \\t \\f \\v \\a \\e \\s \\d \\w \\x \\u \\p \\b \\A \\z", "\\" + utf8(c));
    return character(c);
  }
  char32_t hexadecimal(size_t least, size_t most, bool braced) {
    char32_t n = 0;
    size_t count = 0;
    for (; count < most && more(); ++count, ++at_) {
      const char c = s_[at_];
      const int d = c >= '0' && c <= '9'                 ? c - '0'
                    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
                                                         : -1;
      if (d < 0) break;
      n = n * 16 + static_cast<char32_t>(d);
    }
    if (count < least || n > 0x10ffff || (braced && !take("}")))
      fail("a character in hexadecimal digits", "others");
    return n;
  }
  Part property(bool inverted) {
    if (!take("{")) fail("a property in braces", "none");
    if (take("^")) inverted = !inverted;
    const size_t end = s_.find('}', at_);
    if (end == s_.npos) fail("a property in braces", "no closing one");
    const std::string_view name = s_.substr(at_, end - at_);
    at_ = end + 1;
    if (const uint32_t set = category_set(name)) return {Part::Kind::categories, inverted, 0, 0, set};
    if (const uint8_t script = script_class(name)) return {Part::Kind::script, inverted, 0, 0, script};
    constexpr std::pair<std::string_view, std::string_view> long_names[] = {
        {"Letter", "L"}, {"Number", "N"},    {"Punctuation", "P"}, {"Symbol", "S"},
        {"Mark", "M"},   {"Separator", "Z"}, {"Other", "C"}};
    for (const auto& [known, category] : long_names)
      if (name == known) return {Part::Kind::categories, inverted, 0, 0, category_set(category)};
    fail("a general category or a well-known script", "\\p{" + std::string(name) + "}");
  }

  /// Reads a set in brackets, whose first bracket is read.
  uint32_t bracket() {
    if (++depth_ > max_pattern_depth)
      fail("sets nested at most " + std::to_string(max_pattern_depth) + " deep", "more");
    CharacterSet s;
    s.any_case = any_case_;
    s.inverted = take("^");
    for (bool first = true; first || !ahead("]"); first = false) {
      if (!more()) fail("a set that ends", "'[' alone");
      if (ahead("[:")) fail("sets without [:…:]", "[:");
      if (take("[")) {
        s.parts.push_back({Part::Kind::set, false, 0, 0, bracket()});
      } else if (take("&&")) {
        // What is behind it is a set of its own, up to the same bracket.
        const bool inverted = s.inverted;
        s.inverted = false;
        CharacterSet both;
        both.inverted = inverted;
        both.parts.push_back({Part::Kind::set, false, 0, 0, add(std::move(s))});
        at_ -= 1;
        s_behind_and(both);
        --depth_;
        return add(std::move(both));
      } else {
        member(s);
      }
    }
    at_ += 1;
    --depth_;
    return add(std::move(s));
  }
  void s_behind_and(CharacterSet& both) {
    at_ += 1;
    CharacterSet rest;
    rest.any_case = any_case_;
    while (!ahead("]")) {
      if (!more()) fail("a set that ends", "'[' alone");
      if (ahead("&&")) fail("one && in a set", "two");
      if (take("["))
        rest.parts.push_back({Part::Kind::set, false, 0, 0, bracket()});
      else
        member(rest);
    }
    at_ += 1;
    both.also.push_back(add(std::move(rest)));
  }
  void member(CharacterSet& s) {
    Part p = take("\\") ? escape() : character(next());
    const bool single = p.kind == Part::Kind::range;
    if (single && ahead("-") && at_ + 1 < s_.size() && s_[at_ + 1] != ']') {
      ++at_;
      if (ahead("[")) fail("a range between two characters", "a set");
      const Part last = take("\\") ? escape() : character(next());
      if (last.kind != Part::Kind::range || last.first < p.first)
        fail("a range from a lower character to a higher one", "another");
      p.last = last.first;
    }
    s.parts.push_back(p);
  }

  uint32_t add(CharacterSet s) {
    for (char32_t c = 0; c < 128; ++c)
      if (p_.contains_any_case(s, c)) s.ascii[c >> 6] |= uint64_t{1} << (c & 63);
    p_.sets.push_back(std::move(s));
    return static_cast<uint32_t>(p_.sets.size() - 1);
  }

  /// Adds the bytes that a match can begin with. Returns whether it can be empty.
  bool first_of(const Node& n, std::bitset<129>& first) const {
    switch (n.kind) {
      case Node::Kind::set:
        for (size_t c = 0; c < 128; ++c)
          if (p_.contains(n.set, static_cast<char32_t>(c))) first.set(c);
        first.set(128);
        return false;
      case Node::Kind::sequence:
        for (const NodePtr& p : n.parts)
          if (!first_of(*p, first)) return false;
        return true;
      case Node::Kind::choice: {
        bool empty = false;
        for (const NodePtr& p : n.parts) empty |= first_of(*p, first);
        return empty;
      }
      case Node::Kind::repeat:
        return first_of(*n.parts[0], first) || n.min == 0;
      case Node::Kind::atomic:
        return first_of(*n.parts[0], first);
      default:
        return true;
    }
  }

  uint32_t put(Instruction i) {
    if (p_.code.size() >= max_instructions)
      fail("a pattern of at most " + std::to_string(max_instructions) + " steps", "more");
    p_.code.push_back(i);
    return static_cast<uint32_t>(p_.code.size() - 1);
  }
  uint32_t here() const { return static_cast<uint32_t>(p_.code.size()); }

  void emit(const Node& n) {
    switch (n.kind) {
      case Node::Kind::set:
        put({Op::set, false, n.set});
        break;
      case Node::Kind::sequence:
        for (const NodePtr& p : n.parts) emit(*p);
        break;
      case Node::Kind::choice: {
        std::vector<uint32_t> ends;
        for (size_t i = 0; i < n.parts.size(); ++i) {
          const bool last = i + 1 == n.parts.size();
          const uint32_t split = last ? 0 : put({Op::split});
          if (!last) p_.code[split].a = here();
          emit(*n.parts[i]);
          if (!last) ends.push_back(put({Op::jump})), p_.code[split].b = here();
        }
        for (uint32_t e : ends) p_.code[e].a = here();
        break;
      }
      case Node::Kind::repeat:
        emit_repeat(n);
        break;
      case Node::Kind::look:
        if (n.behind) {
          put({Op::behind, n.inverted, n.set});
          break;
        }
        [[fallthrough]];
      case Node::Kind::atomic: {
        const uint32_t begin = put({n.kind == Node::Kind::atomic ? Op::atomic : Op::look, n.inverted});
        emit(*n.parts[0]);
        put({});
        p_.code[begin].a = here();
        break;
      }
      case Node::Kind::assertion:
        put({n.assertion, n.inverted});
        break;
    }
  }

  void emit_repeat(const Node& n) {
    const Node* of = n.parts[0].get();
    while (of->kind == Node::Kind::sequence && of->parts.size() == 1) of = of->parts[0].get();
    if (of->kind == Node::Kind::set) {
      const Op op = n.mode == Node::Mode::lazy         ? Op::loop_lazy
                    : n.mode == Node::Mode::possessive ? Op::loop_keep
                                                       : Op::loop;
      put({op, false, of->set, 0, n.min, n.max});
      return;
    }
    const bool possessive = n.mode == Node::Mode::possessive, lazy = n.mode == Node::Mode::lazy;
    const uint32_t atomic = possessive ? put({Op::atomic}) : 0;
    for (uint32_t i = 0; i < n.min; ++i) emit(*of);
    const auto split = [&] { return put({Op::split}); };
    const auto aim = [&](uint32_t at, uint32_t body, uint32_t out) {
      p_.code[at].a = lazy ? out : body, p_.code[at].b = lazy ? body : out;
    };
    if (n.max == unlimited) {
      const uint32_t at = split();
      emit(*of);
      put({Op::jump, false, at});
      aim(at, at + 1, here());
    } else {
      std::vector<uint32_t> splits;
      for (uint32_t i = n.min; i < n.max; ++i) splits.push_back(split()), emit(*of);
      for (uint32_t at : splits) aim(at, at + 1, here());
    }
    if (possessive) put({}), p_.code[atomic].a = here();
  }

  std::string_view s_;
  PatternSyntax syntax_;
  size_t at_ = 0, depth_ = 0;
  bool any_case_ = false, dot_all_ = false;
  PatternProgram p_;
};

}  // namespace

PatternProgram parse_pattern(std::string_view pattern, PatternSyntax syntax) {
  return PatternParser(pattern, syntax).program();
}

bool PatternProgram::contains_exactly(const CharacterSet& s, char32_t c) const {
  using Kind = CharacterSet::Part::Kind;
  bool found = false;
  for (const CharacterSet::Part& p : s.parts) {
    bool in = false;
    switch (p.kind) {
      case Kind::range:
        in = c >= p.first && c <= p.last;
        break;
      case Kind::categories:
        in = (p.value >> general_categories()[c]) & 1;
        break;
      case Kind::script:
        in = scripts_in_patterns()[c] == p.value;
        break;
      case Kind::word:
        in = is_pattern_word(c);
        break;
      case Kind::space:
        in = is_space(c);
        break;
      case Kind::set:
        in = contains(p.value, c);
        break;
    }
    if (in != p.inverted) {
      found = true;
      break;
    }
  }
  for (uint32_t other : s.also) found = found && contains(other, c);
  return found;
}

bool PatternProgram::contains_any_case(const CharacterSet& s, char32_t c) const {
  bool found = contains_exactly(s, c);
  if (!found && s.any_case) {
    const char32_t lower = lower_case(c);
    found = contains_exactly(s, lower) || contains_exactly(s, upper_letter(c)) ||
            contains_exactly(s, upper_letter(lower));
    // The long s and the sign of Kelvin are other cases of letters of ASCII.
    const char32_t folded = c == 0x17f      ? U's'
                            : c == 0x212a   ? U'k'
                            : lower == U's' ? char32_t{0x17f}
                            : lower == U'k' ? char32_t{0x212a}
                                            : 0;
    if (folded) found = found || contains_exactly(s, folded) || contains_exactly(s, upper_letter(folded));
  }
  return found != s.inverted;
}

}  // namespace lathe::text
