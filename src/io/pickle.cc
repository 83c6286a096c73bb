#include "io/pickle.h"

#include <cstring>
#include <unordered_map>

#include "base/utf8.h"
#include "io/stored_tensor.h"

namespace lathe {
namespace {

using Kind = PickleObject::Kind;

constexpr size_t max_objects = size_t{1} << 22;

class Machine {
 public:
  Machine(std::string_view bytes, const std::filesystem::path& file, bool (*allowed)(std::string_view))
      : bytes_(bytes), file_(file), allowed_(allowed) {}

  Pickle run() {
    while (!step(static_cast<unsigned char>(take(1)[0]))) {
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void malformed(std::string expected, std::string got) const {
    throw checkpoint_error(Code::wire_malformed, file_, {}, std::move(expected),
                           std::move(got) + " before byte " + std::to_string(at_) + " of the pickle");
  }

  std::string_view take(uint64_t count) {
    if (count > bytes_.size() - at_) malformed("a whole pickle", "its end");
    const std::string_view piece = bytes_.substr(at_, count);
    at_ += count;
    return piece;
  }
  uint64_t number(unsigned width) {
    uint64_t v = 0;
    const std::string_view b = take(width);
    for (unsigned i = 0; i < width; ++i) v |= uint64_t{static_cast<unsigned char>(b[i])} << (8 * i);
    return v;
  }
  std::string_view line() {
    const size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) malformed("a line that ends", "the pickle's end");
    const std::string_view text = take(end - at_);
    take(1);
    return text;
  }

  PickleObject& make(Kind kind) {
    if (out_.objects.size() == max_objects)
      throw checkpoint_error(Code::wire_too_large, file_, {},
                             "a pickle of at most " + std::to_string(max_objects) + " objects", "more",
                             "store the model as safetensors");
    PickleObject& o = out_.objects.emplace_back();
    o.kind = kind;
    return o;
  }
  void push(PickleObject& o) { stack_.push_back(&o); }
  void push(Kind kind) { push(make(kind)); }
  void push_integer(int64_t v, Kind kind = Kind::integer) {
    PickleObject& o = make(kind);
    o.integer = v;
    push(o);
  }
  void push_text(std::string_view s) {
    if (!is_utf8(s)) throw checkpoint_error(Code::wire_bad_utf8, file_, {}, "strings in UTF-8", in_quotes(s));
    PickleObject& o = make(Kind::text);
    o.text = s;
    push(o);
  }
  /// Pops an operand. An instruction that does not pop the topmost mark may not take objects below it.
  PickleObject* pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) malformed("an operand", "none");
    PickleObject* o = stack_.back();
    stack_.pop_back();
    return o;
  }
  PickleObject& top() {
    PickleObject* o = pop();
    stack_.push_back(o);
    return *o;
  }
  std::vector<PickleObject*> pop_to_mark() {
    if (marks_.empty()) malformed("a mark", "none");
    const auto from = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<PickleObject*> items(from, stack_.end());
    stack_.erase(from, stack_.end());
    marks_.pop_back();
    return items;
  }
  void push_tuple(size_t count) {
    PickleObject& t = make(Kind::list);
    t.items.resize(count);
    for (size_t i = count; i-- > 0;) t.items[i] = pop();
    push(t);
  }
  void append(Kind kind, const std::vector<PickleObject*>& items) {
    PickleObject& to = top();
    if (to.kind != kind) malformed(kind == Kind::list ? "a list" : "a dictionary", "something else");
    if (kind == Kind::dict && items.size() % 2) malformed("a value for each key", "none");
    to.items.insert(to.items.end(), items.begin(), items.end());
  }

  void push_global(std::string_view module, std::string_view name) {
    const std::string& full = out_.texts.emplace_back(std::string(module) + "." + std::string(name));
    if (!allowed_(full))
      throw checkpoint_error(Code::not_supported, file_, {}, "a pickle of tensors only",
                             "one that wants the global " + in_quotes(full),
                             "nothing in it was executed; save a state_dict of plain tensors, or store the "
                             "model as safetensors");
    PickleObject& g = make(Kind::global);
    g.text = full;
    push(g);
  }
  void call();
  void build();
  void long_integer();
  void remember(uint64_t slot) {
    if (memo_.size() == max_objects) malformed("a memo of sane size", "more");
    memo_[slot] = &top();
  }
  void recall(uint64_t slot) {
    const auto found = memo_.find(slot);
    if (found == memo_.end())
      malformed("an object that was remembered", "none in slot " + std::to_string(slot));
    stack_.push_back(found->second);
  }
  /// One instruction; true at the last one.
  bool step(unsigned char op);
  bool step_container(unsigned char op);

  std::string_view bytes_;
  const std::filesystem::path& file_;
  bool (*allowed_)(std::string_view);
  size_t at_ = 0;
  Pickle out_;
  std::vector<PickleObject*> stack_;
  std::vector<size_t> marks_;
  std::unordered_map<uint64_t, PickleObject*> memo_;
};

/// OrderedDict() is a dictionary, torch.Size(t) is t; all other calls are kept for the reader to judge.
void Machine::call() {
  PickleObject* arguments = pop();
  PickleObject* function = pop();
  if (function->kind != Kind::global || arguments->kind != Kind::list)
    malformed("a call of a global with a tuple", "something else");
  if (function->text == "collections.OrderedDict") {
    if (!arguments->items.empty()) malformed("OrderedDict without arguments", "some");
    return push(Kind::dict);
  }
  if (function->text == "torch.Size") {
    if (arguments->items.size() != 1 || arguments->items[0]->kind != Kind::list)
      malformed("torch.Size of a tuple", "something else");
    return push(*arguments->items[0]);
  }
  PickleObject& c = make(Kind::call);
  c.text = function->text;
  c.items = {arguments};
  push(c);
}

/// The attributes of an OrderedDict (PyTorch keeps versions there) say nothing about tensors.
void Machine::build() {
  pop();
  if (top().kind != Kind::dict) malformed("state for an OrderedDict", "state for something else");
}

void Machine::long_integer() {
  const std::string_view b = take(number(1));
  if (b.size() > 8) return push(Kind::other);
  uint64_t v = 0;
  for (size_t i = 0; i < b.size(); ++i) v |= uint64_t{static_cast<unsigned char>(b[i])} << (8 * i);
  if (!b.empty() && b.size() < 8 && (b.back() & 0x80)) v |= ~uint64_t{0} << (8 * b.size());
  push_integer(static_cast<int64_t>(v));
}

bool Machine::step_container(unsigned char op) {
  switch (op) {
    case '(':
      marks_.push_back(stack_.size());
      return true;
    case ')':
      push(Kind::list);
      return true;
    case ']':
      push(Kind::list);
      return true;
    case '}':
      push(Kind::dict);
      return true;
    case 0x85:
      push_tuple(1);
      return true;
    case 0x86:
      push_tuple(2);
      return true;
    case 0x87:
      push_tuple(3);
      return true;
    case 't': {
      auto items = pop_to_mark();
      PickleObject& t = make(Kind::list);
      t.items = std::move(items);
      push(t);
      return true;
    }
    case 'a': {
      PickleObject* item = pop();
      append(Kind::list, {item});
      return true;
    }
    case 'e':
      append(Kind::list, pop_to_mark());
      return true;
    case 's': {
      PickleObject *value = pop(), *k = pop();
      append(Kind::dict, {k, value});
      return true;
    }
    case 'u':
      append(Kind::dict, pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Machine::step(unsigned char op) {
  if (step_container(op)) return false;
  switch (op) {
    case 0x80:  // PROTO
      if (const uint64_t version = number(1); version < 2 || version > 5)
        malformed("pickle protocol 2 to 5", std::to_string(version));
      break;
    case 0x95:
      take(8);
      break;  // FRAME: a hint for readers of streams
    case '.':
      out_.root = pop();
      return true;
    case '0':
      pop();
      break;
    case 'N':
      push(Kind::other);
      break;
    case 0x88:
      push_integer(1, Kind::boolean);
      break;
    case 0x89:
      push_integer(0, Kind::boolean);
      break;
    case 'J':
      push_integer(static_cast<int32_t>(number(4)));
      break;
    case 'K':
      push_integer(static_cast<int64_t>(number(1)));
      break;
    case 'M':
      push_integer(static_cast<int64_t>(number(2)));
      break;
    case 0x8a:
      long_integer();
      break;
    case 'G':
      take(8);
      push(Kind::other);
      break;
    case 'X':
      push_text(take(number(4)));
      break;
    case 0x8c:
      push_text(take(number(1)));
      break;
    case 0x8d:
      push_text(take(number(8)));
      break;
    case 'B':
      take(number(4));
      push(Kind::other);
      break;
    case 'C':
      take(number(1));
      push(Kind::other);
      break;
    case 'c': {
      const std::string_view module = line();
      push_global(module, line());
      break;
    }
    case 0x93: {  // STACK_GLOBAL
      const PickleObject *name = pop(), *module = pop();
      if (name->kind != Kind::text || module->kind != Kind::text) malformed("names of a global", "none");
      push_global(module->text, name->text);
      break;
    }
    case 'R':
      call();
      break;
    case 'b':
      build();
      break;
    case 'Q': {  // BINPERSID
      PickleObject* id = pop();
      if (id->kind != Kind::list) malformed("a tuple that names a storage", "something else");
      PickleObject& s = make(Kind::storage);
      s.items = {id};
      push(s);
      break;
    }
    case 'q':
      remember(number(1));
      break;
    case 'r':
      remember(number(4));
      break;
    case 0x94:
      remember(memo_.size());
      break;  // MEMOIZE
    case 'h':
      recall(number(1));
      break;
    case 'j':
      recall(number(4));
      break;
    default:
      throw checkpoint_error(Code::not_supported, file_, {}, "the pickle instructions that tensors need",
                             "instruction " + std::to_string(op),
                             "save a state_dict of plain tensors with torch.save, or store the model as "
                             "safetensors");
  }
  return false;
}

}  // namespace

Pickle read_pickle(std::string_view bytes, const std::filesystem::path& file,
                   bool (*allowed)(std::string_view)) {
  return Machine(bytes, file, allowed).run();
}

}  // namespace lathe
