#include "base/json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <numeric>

namespace lathe {

struct Json::Object {
  std::vector<Member> members;
};

/// Small objects are searched from the front; larger ones pay four bytes a member for being searched fast.
struct Json::IndexedObject : Object {
  std::vector<uint32_t> by_name;  // positions in `members`, in the order of their names
};

namespace {

constexpr size_t max_unindexed = 16;

[[noreturn]] void wrong_type(const char* expected, const Json& got) {
  throw JsonFault(std::string("a JSON value of type ") + expected + " expected, got " + got.type_name());
}

/// Sorts positions by the names that stand there; equal ones stay in order.
std::vector<uint32_t> by_name_of(const std::vector<Json::Member>& members) {
  if (members.size() > std::numeric_limits<uint32_t>::max())
    throw JsonFault("a JSON object of at most 2^32 - 1 members expected, got more");
  std::vector<uint32_t> order(members.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](uint32_t a, uint32_t b) {
    const int c = members[a].name.compare(members[b].name);
    return c != 0 ? c < 0 : a < b;
  });
  return order;
}

/// The first in `by_name` that is not less than `name`.
auto place_of(std::string_view name, auto& by_name, const std::vector<Json::Member>& members) {
  return std::ranges::lower_bound(by_name, name, {},
                                  [&](uint32_t at) { return std::string_view(members[at].name); });
}

/// Merges members of equal names: the first keeps its place and gets the value of the last. Returns whether
/// there were any.
bool merge_equal_names(std::vector<Json::Member>& members, const std::vector<uint32_t>& by_name) {
  std::vector<uint32_t> dropped;
  for (size_t first = 0, next = 1; next <= by_name.size(); ++next) {
    if (next < by_name.size() && members[by_name[next]].name == members[by_name[first]].name) {
      dropped.push_back(by_name[next]);
      continue;
    }
    if (next - first > 1) members[by_name[first]].value = std::move(members[by_name[next - 1]].value);
    first = next;
  }
  if (dropped.empty()) return false;
  std::ranges::sort(dropped);
  size_t kept = dropped[0];
  for (size_t i = kept, d = 0; i < members.size(); ++i)
    if (d < dropped.size() && dropped[d] == i)
      ++d;
    else
      members[kept++] = std::move(members[i]);
  members.erase(members.begin() + static_cast<ptrdiff_t>(kept), members.end());
  return true;
}

}  // namespace

Json::Json(std::string v) : type_(Type::string) { value_.string = new std::string(std::move(v)); }
Json::Json(std::string_view v) : type_(Type::string) { value_.string = new std::string(v); }

Json::Json(Type container) : type_(container) {
  if (container == Type::array)
    value_.array = new std::vector<Json>;
  else
    value_.object = new Object;
}

Json::Json(const std::vector<std::string>& list) : Json(Type::array) {
  for (const std::string& s : list) push_back(s);
}

Json::Json(std::initializer_list<Field> fields) : Json(Type::object) {
  value_.object->members.reserve(fields.size());
  for (const Field& f : fields)
    if (!contains(f.name)) (*this)[f.name] = std::move(f.value);
}

const char* Json::name_of(Type type) {
  switch (type) {
    case Type::null:
      return "null";
    case Type::boolean:
      return "boolean";
    case Type::integer:
    case Type::unsigned_integer:
    case Type::real:
      return "number";
    case Type::string:
      return "string";
    case Type::array:
      return "array";
    case Type::object:
      return "object";
  }
  return "unknown";
}

template <>
bool Json::get() const {
  if (!is_boolean()) wrong_type("boolean", *this);
  return value_.boolean;
}

namespace {

template <class T, class Number>
T number_as(const Json& j, Number value) {
  switch (j.type()) {
    case Json::Type::integer:
      return static_cast<T>(value.integer);
    case Json::Type::unsigned_integer:
      return static_cast<T>(value.unsigned_integer);
    case Json::Type::real:
      return static_cast<T>(value.real);
    default:
      wrong_type("number", j);
  }
}

}  // namespace

template <>
int64_t Json::get() const {
  return number_as<int64_t>(*this, value_);
}
template <>
uint64_t Json::get() const {
  return number_as<uint64_t>(*this, value_);
}
template <>
double Json::get() const {
  return number_as<double>(*this, value_);
}
template <>
std::string Json::get() const {
  if (!is_string()) wrong_type("string", *this);
  return *value_.string;
}

size_t Json::size() const {
  if (is_array()) return value_.array->size();
  if (is_object()) return value_.object->members.size();
  return is_null() ? 0 : 1;
}

const Json& Json::child(size_t i) const {
  if (is_array()) return (*value_.array)[i];
  return is_object() ? value_.object->members[i].value : *this;
}

const Json& Json::operator[](size_t i) const {
  if (!is_array()) wrong_type("array", *this);
  return (*value_.array)[i];
}

void Json::push_back(Json item) {
  if (is_null()) *this = Json(Type::array);
  if (!is_array()) wrong_type("array", *this);
  value_.array->push_back(std::move(item));
}

const Json* Json::find(std::string_view name) const {
  if (!is_object()) return nullptr;
  const std::vector<Member>& members = value_.object->members;
  if (indexed_) {
    const std::vector<uint32_t>& by_name = static_cast<const IndexedObject*>(value_.object)->by_name;
    const auto at = place_of(name, by_name, members);
    return at == by_name.end() || members[*at].name != name ? nullptr : &members[*at].value;
  }
  const auto at = std::ranges::find(members, name, [](const Member& m) { return std::string_view(m.name); });
  return at == members.end() ? nullptr : &at->value;
}

Json& Json::operator[](std::string_view name) {
  if (is_null()) *this = Json(Type::object);
  if (!is_object()) wrong_type("object", *this);
  if (const Json* known = find(name)) return const_cast<Json&>(*known);
  std::vector<Member>& members = value_.object->members;
  members.push_back({std::string(name), {}});
  if (indexed_) {
    std::vector<uint32_t>& by_name = static_cast<IndexedObject*>(value_.object)->by_name;
    by_name.insert(place_of(name, by_name, members), static_cast<uint32_t>(members.size() - 1));
  } else if (members.size() > max_unindexed) {
    index_members(by_name_of(members));
  }
  return value_.object->members.back().value;
}

void Json::index_members(std::vector<uint32_t> by_name) {
  auto* indexed = new IndexedObject{{std::move(value_.object->members)}, std::move(by_name)};
  delete value_.object;
  value_.object = indexed;
  indexed_ = true;
}

void Json::finish_object() {
  std::vector<Member>& members = value_.object->members;
  if (members.size() < 2) return;
  std::vector<uint32_t> by_name = by_name_of(members);
  if (merge_equal_names(members, by_name)) by_name = by_name_of(members);
  if (members.size() > max_unindexed) index_members(std::move(by_name));
}

std::span<const Json::Member> Json::items() const {
  return is_object() ? std::span<const Member>(value_.object->members) : std::span<const Member>();
}

const Json* Json::last_child() const {
  const bool container = is_array() || is_object();
  return container && !empty() ? &child(size() - 1) : nullptr;
}

void Json::drop_last_child() {
  if (is_array())
    value_.array->pop_back();
  else
    value_.object->members.pop_back();
}

void Json::free_childless() {
  if (is_string())
    delete value_.string;
  else if (is_array())
    delete value_.array;
  else if (is_object() && indexed_)
    delete static_cast<IndexedObject*>(value_.object);
  else if (is_object())
    delete value_.object;
  type_ = Type::null;
  indexed_ = false;
}

void Json::clear() noexcept {
  // A destructor that left the children to their own would need a stack as deep as they are nested.
  std::vector<Json> nested;  // each was inside the one before
  for (Json* now = this;;) {
    if (const Json* last = now->last_child()) {
      if (last->last_child()) {
        Json inner = std::move(const_cast<Json&>(*last));
        now->drop_last_child();
        nested.push_back(std::move(inner));
        now = &nested.back();
      } else {
        now->drop_last_child();
      }
      continue;
    }
    now->free_childless();
    if (nested.empty()) return;
    nested.pop_back();
    now = nested.empty() ? this : &nested.back();
  }
}

/// Makes the tree. nlohmann's own builder bounds the depth by a callback, and with one it looks at all
/// earlier siblings at the end of each object (3.11): a list of many objects takes quadratic time.
class Json::Builder final : public JsonListener {
 public:
  Builder(Json& root, size_t max_depth, RealReader reader)
      : root_(root), max_depth_(max_depth), reader_(reader) {}
  void null() override { add({}); }
  void boolean(bool v) override { add(v); }
  void number_integer(int64_t v) override { add(v); }
  void number_unsigned(uint64_t v) override { add(v); }
  void number_float(double v, const std::string& text) override { add(reader_ ? reader_(text) : v); }
  void string(const std::string& v) override { add(v); }
  void start_object() override { open_.push_back(&add(Json::object())); }
  void key(const std::string& name) override {
    check_depth();
    open_.back()->value_.object->members.push_back({name, {}});
  }
  void end_object() override {
    open_.back()->finish_object();
    open_.pop_back();
  }
  void start_array() override { open_.push_back(&add(Json::array())); }
  void end_array() override { open_.pop_back(); }

 private:
  void check_depth() const {
    if (open_.size() > max_depth_)
      throw JsonFault("JSON nested at most " + std::to_string(max_depth_) + " deep expected, got more", 0,
                      true);
  }
  Json& add(Json v) {
    check_depth();
    if (open_.empty()) return root_ = std::move(v);
    const Data& around = open_.back()->value_;
    if (open_.back()->is_object()) return around.object->members.back().value = std::move(v);
    around.array->push_back(std::move(v));
    return around.array->back();
  }

  Json& root_;
  size_t max_depth_;
  RealReader reader_;
  std::vector<Json*> open_;  // each is the last child of the one before, so none moves while it is here
};

Json Json::parse(std::string_view text, size_t max_depth, RealReader reader) {
  Json root;
  Builder builder(root, max_depth, reader);
  parse_json(text, builder);
  return root;
}

namespace {

/// The callbacks of nlohmann's parser.
class Parser {
 public:
  explicit Parser(JsonListener& listener) : listener_(listener) {}
  bool null() { return listener_.null(), true; }
  bool boolean(bool v) { return listener_.boolean(v), true; }
  bool number_integer(int64_t v) { return listener_.number_integer(v), true; }
  bool number_unsigned(uint64_t v) { return listener_.number_unsigned(v), true; }
  bool number_float(double v, const std::string& text) { return listener_.number_float(v, text), true; }
  bool string(std::string& v) { return listener_.string(v), true; }
  bool binary(nlohmann::json::binary_t&) { return false; }  // never in a text
  bool start_object(size_t) { return listener_.start_object(), true; }
  bool key(std::string& name) { return listener_.key(name), true; }
  bool end_object() { return listener_.end_object(), true; }
  bool start_array(size_t) { return listener_.start_array(), true; }
  bool end_array() { return listener_.end_array(), true; }
  [[noreturn]] bool parse_error(size_t at, const std::string&, const nlohmann::detail::exception& e) {
    throw JsonFault(e.what(), at);
  }

 private:
  JsonListener& listener_;
};

/// Writes names, and values that have no children.
class Leaves {
 public:
  explicit Leaves(std::string& out) : out_(out) {}
  void write(const nlohmann::json& leaf) {
    out_ += leaf.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  void write(const Json& j) {
    switch (j.type()) {
      case Json::Type::null:
        out_ += "null";
        break;
      case Json::Type::boolean:
        out_ += j.get<bool>() ? "true" : "false";
        break;
      case Json::Type::integer:
        out_ += std::to_string(j.get<int64_t>());
        break;
      case Json::Type::unsigned_integer:
        out_ += std::to_string(j.get<uint64_t>());
        break;
      case Json::Type::real:
        write(nlohmann::json(j.get<double>()));
        break;
      case Json::Type::string:
        write(nlohmann::json(j.get<std::string>()));
        break;
      case Json::Type::array:
        out_ += "[]";
        break;
      case Json::Type::object:
        out_ += "{}";
        break;
    }
  }

 private:
  std::string& out_;
};

}  // namespace

void parse_json(std::string_view text, JsonListener& listener) {
  Parser parser(listener);
  nlohmann::json::sax_parse(text.begin(), text.end(), &parser);
}

std::string Json::dump(int indent) const {
  struct Level {
    const Json* container;
    size_t next;  // child
  };
  std::string out;
  Leaves leaves(out);
  std::vector<Level> levels;
  const auto new_line = [&] {
    if (indent < 0) return;
    out += '\n';
    out.append(levels.size() * static_cast<size_t>(indent), ' ');
  };
  for (const Json* now = this;;) {
    if (now->last_child()) {
      out += now->is_array() ? '[' : '{';
      levels.push_back({now, 0});
    } else {
      leaves.write(*now);
    }
    while (!levels.empty() && levels.back().next == levels.back().container->size()) {
      const bool list = levels.back().container->is_array();
      levels.pop_back();
      new_line();
      out += list ? ']' : '}';
    }
    if (levels.empty()) return out;
    auto& [container, next] = levels.back();
    if (next > 0) out += ',';
    new_line();
    if (container->is_object()) {
      leaves.write(nlohmann::json(container->value_.object->members[next].name));
      out += indent < 0 ? ":" : ": ";
    }
    now = &container->child(next++);
  }
}

}  // namespace lathe
