#include "text/template/value.h"

#include <cmath>
#include <cstring>

#include "text/template/characters.h"

namespace lathe::jinja {

void raise(std::string got, std::string expected) {
  throw Fault{Code::template_failed, std::move(expected), std::move(got), {}};
}
void unsupported(std::string got, std::string expected) {
  throw Fault{Code::template_unsupported, std::move(expected), std::move(got), {}};
}
void too_large(std::string got, std::string expected) {
  throw Fault{Code::template_too_large, std::move(expected), std::move(got), {}};
}

namespace {
thread_local Meter* current_meter = nullptr;
}

Meter::Meter() : outer_(current_meter) { current_meter = this; }
Meter::~Meter() { current_meter = outer_; }
Meter* Meter::current() { return current_meter; }

void Meter::stop() {
  too_large("more", "a template that ends within " + std::to_string(max_steps) + " steps");
}

void Meter::add(size_t bytes) {
  if (bytes > max_live - live_) too_large("more", "values of at most " + std::to_string(max_live) + " bytes");
  live_ += bytes;
}

void Meter::expect(uint64_t bytes) {
  const Meter* m = current();
  const size_t used = m ? m->live_ : 0;
  if (bytes > max_live - used)
    too_large(std::to_string(bytes) + " more", "values of at most " + std::to_string(max_live) + " bytes");
  step(bytes / 64);
}

void Object::charge(size_t bytes) {
  if (!meter && charged == 0) meter = Meter::current();
  if (!meter) return;
  meter->add(bytes);
  charged += bytes;
}

void Object::nest(const Value& v) {
  depth = std::max(depth, v.depth() + 1);
  if (depth > max_value_nesting)
    too_large("more", "values that are nested at most " + std::to_string(max_value_nesting) + " times");
}

Value Value::boolean(bool b) {
  Value v(Kind::boolean);
  v.number_.i = b;
  return v;
}
Value Value::integer(int64_t i) {
  Value v(Kind::integer);
  v.number_.i = i;
  return v;
}
Value Value::real(double d) {
  Value v(Kind::real);
  v.number_.d = d;
  return v;
}
Value Value::string(std::string s, bool markup) {
  auto t = std::make_shared<Text>();
  t->charge(sizeof(Text) + s.size() + 1);
  Meter::step(s.size() / 64);
  t->s = std::move(s);
  t->ascii = is_ascii(t->s);
  Value v(Kind::string);
  v.markup_ = markup;
  v.object_ = std::move(t);
  return v;
}
Value Value::items_of(Kind kind, std::vector<Value> items) {
  auto o = std::make_shared<Items>();
  o->charge(sizeof(Items) + items.size() * sizeof(Value));
  Meter::step(items.size() / 8);
  o->depth = 1;
  for (const Value& i : items) o->nest(i);
  o->v = std::move(items);
  return object(kind, std::move(o));
}
Value Value::range(int64_t start, int64_t stop, int64_t step) {
  auto o = std::make_shared<RangeObject>();
  o->charge(sizeof(RangeObject));
  o->start = start, o->stop = stop, o->step = step;
  return object(Kind::range, std::move(o));
}
Value Value::dict(std::shared_ptr<Dict> d) {
  d->depth = 1;
  for (const auto& [key, value] : d->entries) d->nest(key), d->nest(value);
  return object(Kind::dict, std::move(d));
}
Value Value::undefined(std::string message) {
  Value v = string(std::move(message));
  v.kind_ = Kind::undefined;
  return v;
}
Value Value::object(Kind kind, std::shared_ptr<Object> o) {
  Value v(kind);
  v.object_ = std::move(o);
  return v;
}

const std::string& Value::as_string() const { return as<Text>().s; }
const std::vector<Value>& Value::as_items() const { return as<Items>().v; }
const Dict& Value::as_dict() const { return as<Dict>(); }
const RangeObject& Value::as_range() const { return as<RangeObject>(); }

bool Value::truth() const {
  switch (kind_) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return number_.i != 0;
    case Kind::real:
      return number_.d != 0;
    case Kind::string:
      return !as_string().empty();
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
      return !as_items().empty();
    case Kind::dict:
      return !as_dict().entries.empty();
    case Kind::range:
      return as_range().size() != 0;
    default:
      return true;
  }
}

const char* Value::type_name() const {
  switch (kind_) {
    case Kind::undefined:
      return "Undefined";
    case Kind::none:
      return "NoneType";
    case Kind::boolean:
      return "bool";
    case Kind::integer:
      return "int";
    case Kind::real:
      return "float";
    case Kind::string:
      return "str";
    case Kind::list:
      return "list";
    case Kind::tuple:
      return "tuple";
    case Kind::dict:
      return "dict";
    case Kind::range:
      return "range";
    case Kind::view:
      return as<Items>().name;
    case Kind::iterator:
      return "generator";
    case Kind::space:
      return "Namespace";
    case Kind::macro:
      return "Macro";
    case Kind::method:
      return "method";
    case Kind::function:
      return "function";
    case Kind::cycler:
      return "Cycler";
    case Kind::joiner:
      return "Joiner";
    case Kind::loop:
      return "LoopContext";
  }
  return "?";
}

int64_t RangeObject::size() const {
  if (step > 0) return start < stop ? (stop - 1 - start) / step + 1 : 0;
  return start > stop ? (start - 1 - stop) / -step + 1 : 0;
}

namespace {
constexpr size_t searched_dict = 8;  // entries up to which a dict is searched
}

const Value* Dict::find(std::string_view key) const {
  if (entries.size() > searched_dict) {
    const auto i = index_.find("s" + std::string(key));
    return i == index_.end() ? nullptr : &entries[i->second].second;
  }
  for (const auto& [name, value] : entries)
    if (name.is(Kind::string) && name.as_string() == key) return &value;
  return nullptr;
}

const Value* Dict::find(const Value& key) const {
  if (key.is(Kind::string)) return find(key.as_string());
  const std::string wanted = key_text(key);
  if (entries.size() > searched_dict) {
    const auto i = index_.find(wanted);
    return i == index_.end() ? nullptr : &entries[i->second].second;
  }
  for (const auto& [name, value] : entries)
    if (key_text(name) == wanted) return &value;
  return nullptr;
}

void Dict::put(Value key, Value value) {
  if (const Value* there = find(key)) {
    *const_cast<Value*>(there) = std::move(value);
    return;
  }
  charge(2 * sizeof(Value) + 64);
  Meter::step();
  const std::string text = key_text(key);
  entries.emplace_back(std::move(key), std::move(value));
  if (entries.size() == searched_dict + 1) {
    for (uint32_t i = 0; i < entries.size(); ++i) index_.emplace(key_text(entries[i].first), i);
  } else if (entries.size() > searched_dict + 1) {
    charge(text.size());
    index_.emplace(text, static_cast<uint32_t>(entries.size() - 1));
  }
}

Value make_function(std::string name) {
  auto f = std::make_shared<Function>();
  f->name = std::move(name);
  return Value::object(Kind::function, std::move(f));
}

Value make_dict(std::vector<std::pair<Value, Value>> entries) {
  auto d = std::make_shared<Dict>();
  for (auto& [key, value] : entries) d->put(std::move(key), std::move(value));
  return Value::dict(std::move(d));
}

void use_of_undefined(const Value& v) {
  raise(v.identity() ? v.as_string() : "a value that does not exist", "a value that is defined");
}

int64_t length_of(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::string:
      if (v.as<Text>().ascii) return static_cast<int64_t>(v.as_string().size());
      Meter::step(v.as_string().size() / 64);
      return static_cast<int64_t>(character_count(v.as_string()));
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
      return static_cast<int64_t>(v.as_items().size());
    case Kind::dict:
      return static_cast<int64_t>(v.as_dict().entries.size());
    case Kind::range:
      return v.as_range().size();
    case Kind::loop:
      unsupported("the length of a loop", "loop.length");
    default:
      raise(std::string("a value of type ") + v.type_name(), "a value with a length");
  }
}

bool is_iterable(const Value& v) {
  switch (v.kind()) {
    case Kind::undefined:
    case Kind::string:
    case Kind::list:
    case Kind::tuple:
    case Kind::dict:
    case Kind::range:
    case Kind::view:
    case Kind::iterator:
      return true;
    default:
      return false;
  }
}

Value character_at(const Text& t, size_t index) {
  if (t.ascii) return Value::string(std::string(1, t.s[index]));
  Meter::step(t.s.size() / 64);
  const size_t begin = byte_of_character(t.s, index);
  const size_t end = begin + byte_of_character(std::string_view(t.s).substr(begin), 1);
  return Value::string(t.s.substr(begin, end - begin));
}

std::vector<Value> items_of(const Value& v) {
  std::vector<Value> all;
  switch (v.kind()) {
    case Kind::undefined:
      return all;
    case Kind::string: {
      const std::string& s = v.as_string();
      Meter::expect(uint64_t{s.size()} * (sizeof(Value) + sizeof(Text)));
      for (size_t i = 0; i < s.size();) {
        const size_t n = byte_of_character(std::string_view(s).substr(i, 5), 1);
        all.push_back(Value::string(s.substr(i, n)));
        i += n;
      }
      return all;
    }
    case Kind::list:
    case Kind::tuple:
    case Kind::view:
      Meter::expect(v.as_items().size() * sizeof(Value));
      return v.as_items();
    case Kind::iterator: {
      auto& items = v.as<Items>();
      all.assign(items.v.begin() + static_cast<ptrdiff_t>(items.next), items.v.end());
      items.next = items.v.size();
      Meter::step(all.size() / 8);
      return all;
    }
    case Kind::dict:
      Meter::expect(v.as_dict().entries.size() * sizeof(Value));
      for (const auto& entry : v.as_dict().entries) all.push_back(entry.first);
      return all;
    case Kind::range: {
      const RangeObject& r = v.as_range();
      Meter::expect(static_cast<uint64_t>(r.size()) * sizeof(Value));
      for (int64_t i = 0; i < r.size(); ++i) all.push_back(Value::integer(r.start + i * r.step));
      return all;
    }
    case Kind::loop:
      unsupported("iteration over the loop itself");
    default:
      raise(std::string("a value of type ") + v.type_name(), "a value that can be iterated over");
  }
}

}  // namespace lathe::jinja
