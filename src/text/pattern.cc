#include "text/pattern.h"

#include "text/aligned_text.h"
#include "text/pattern_program.h"

namespace lathe::text {
namespace {

using Op = Instruction::Op;

/// Published: a pattern may take so many steps for each byte of a text, and so many more at once.
constexpr uint64_t steps_per_byte = 256, more_steps = 1 << 20;
constexpr size_t max_frames = size_t{1} << 20;

/// Matches by backtracking, on a stack of its own, with a limit of steps.
class Matcher {
 public:
  Matcher(const PatternProgram& p, std::string_view text)
      : p_(p), s_(text), left_(more_steps + steps_per_byte * text.size()) {}

  /// Returns the end of the match at `pos`; npos: there is none.
  size_t match(size_t pos) {
    const size_t first = pos == s_.size() ? 129 : std::min<size_t>(static_cast<unsigned char>(s_[pos]), 128);
    for (const Alternative& a : p_.alternatives) {
      // Whatever could be empty has all bits.
      if (first == 129 ? !a.first.all() : !a.first[first]) continue;
      const size_t end = run(a.begin, pos);
      if (end != std::string_view::npos) return end;
    }
    spend(1);
    return std::string_view::npos;
  }

 private:
  static constexpr size_t npos = std::string_view::npos;
  struct Frame {
    enum class Kind : uint8_t { resume, give_back, take_more } kind;
    uint32_t pc;
    size_t pos, limit;
  };

  void spend(uint64_t steps) {
    if (left_ < steps)
      throw PatternFault{
          "a pattern that takes at most " + std::to_string(steps_per_byte) + " steps for each byte", "more",
          true};
    left_ -= steps;
  }
  void push(Frame f) {
    if (frames_.size() >= max_frames)
      throw PatternFault{"a pattern with at most " + std::to_string(max_frames) + " open choices", "more",
                         true};
    frames_.push_back(f);
  }
  bool in(uint32_t set, size_t pos, size_t& next) const {
    if (pos >= s_.size()) return false;
    next = pos;
    return p_.contains(set, next_character(s_, next));
  }
  size_t before(size_t pos) const {
    do --pos;
    while (!begins_character(s_[pos]));
    return pos;
  }
  bool word_at(size_t pos) const {
    if (pos >= s_.size()) return false;
    return is_pattern_word(next_character(s_, pos));
  }

  /// Runs from `pc` up to an end, and returns where; npos: no match.
  size_t run(uint32_t pc, size_t pos) {
    const size_t bottom = frames_.size();
    for (;;) {
      const Instruction& i = p_.code[pc];
      bool ok = true;
      spend(1);
      size_t next = pos;
      switch (i.op) {
        case Op::set:
          ok = in(i.a, pos, next);
          pos = next, ++pc;
          break;
        case Op::loop:
        case Op::loop_keep: {
          uint32_t count = 0;
          size_t least = pos;
          for (; count < i.max && in(i.a, pos, next); ++count) {
            pos = next;
            if (count + 1 == i.min) least = pos;
          }
          spend(count / 4);
          ok = count >= i.min;
          ++pc;
          if (ok && i.op == Op::loop && pos > least) push({Frame::Kind::give_back, pc, pos, least});
          break;
        }
        case Op::loop_lazy: {
          uint32_t count = 0;
          for (; count < i.min && in(i.a, pos, next); ++count) pos = next;
          ok = count == i.min;
          if (ok && count < i.max)
            push({Frame::Kind::take_more, pc, pos, i.max == unlimited ? SIZE_MAX : i.max - count});
          ++pc;
          break;
        }
        case Op::split:
          push({Frame::Kind::resume, i.b, pos, 0});
          pc = i.a;
          break;
        case Op::jump:
          pc = i.a;
          break;
        case Op::look:
          ok = (run(pc + 1, pos) != npos) != i.inverted;
          pc = i.a;
          break;
        case Op::atomic:
          next = run(pc + 1, pos);
          ok = next != npos;
          pos = next, pc = i.a;
          break;
        case Op::behind: {
          size_t ignored = 0;
          ok = (pos > 0 && in(i.a, before(pos), ignored)) != i.inverted;
          ++pc;
          break;
        }
        case Op::text_begin:
          ok = pos == 0, ++pc;
          break;
        case Op::text_end:
          ok = pos == s_.size(), ++pc;
          break;
        case Op::line_begin:
          ok = pos == 0 || (s_[pos - 1] == '\n' && pos < s_.size()), ++pc;
          break;
        case Op::line_end:
          ok = pos == s_.size() || s_[pos] == '\n', ++pc;
          break;
        case Op::word_edge:
          ok = ((pos > 0 && word_at(before(pos))) != word_at(pos)) != i.inverted, ++pc;
          break;
        case Op::end:
          frames_.resize(bottom);
          return pos;
      }
      if (ok) continue;
      if (!back(bottom, pc, pos)) return npos;
    }
  }

  /// Goes back to the last choice that is open.
  bool back(size_t bottom, uint32_t& pc, size_t& pos) {
    while (frames_.size() > bottom) {
      Frame& f = frames_.back();
      pc = f.pc;
      if (f.kind == Frame::Kind::resume) {
        pos = f.pos;
        frames_.pop_back();
        return true;
      }
      if (f.kind == Frame::Kind::give_back) {
        pos = f.pos = before(f.pos);
        if (f.pos <= f.limit) frames_.pop_back();
        return true;
      }
      size_t next = 0;
      const bool more = f.limit > 0 && in(p_.code[f.pc].a, f.pos, next);
      if (!more) {
        frames_.pop_back();
        continue;
      }
      pos = f.pos = next;
      if (f.limit != SIZE_MAX) --f.limit;
      ++pc;
      return true;
    }
    return false;
  }

  const PatternProgram& p_;
  std::string_view s_;
  uint64_t left_;
  std::vector<Frame> frames_;
};

class CompiledRegex : public Regex {
 public:
  explicit CompiledRegex(PatternProgram p) : p_(std::move(p)) {}

  void cut(std::string_view text, std::vector<PatternPart>& to) const override {
    Matcher m(p_, text);
    constexpr size_t npos = std::string_view::npos;
    size_t done = 0, pos = 0, last_end = npos;
    while (pos <= text.size()) {
      const size_t end = m.match(pos);
      // Nothing at the end of the last match is no match of its own.
      if (end == npos || (end == pos && last_end == pos)) {
        pos += pos < text.size() ? character_bytes(text[pos]) : 1;
        continue;
      }
      if (pos > done) to.push_back({done, pos, false});
      to.push_back({pos, end, true});
      done = pos = last_end = end;
    }
    if (done < text.size()) to.push_back({done, text.size(), false});
  }

 private:
  PatternProgram p_;
};

}  // namespace

std::shared_ptr<const Regex> Regex::compile(std::string_view pattern, bool tiktoken) {
  return std::make_shared<CompiledRegex>(
      parse_pattern(pattern, tiktoken ? PatternSyntax::tiktoken : PatternSyntax::oniguruma));
}

void Pattern::cut(std::string_view text, std::vector<PatternPart>& to) const {
  if (regex_) return regex_->cut(text, to);
  size_t done = 0;
  while (!literal_.empty()) {
    const size_t at = text.find(literal_, done);
    if (at == text.npos) break;
    if (at > done) to.push_back({done, at, false});
    done = at + literal_.size();
    to.push_back({at, done, true});
  }
  if (done < text.size()) to.push_back({done, text.size(), false});
}

}  // namespace lathe::text
