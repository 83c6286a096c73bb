// Filters of lists and dicts.
#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "text/template/characters.h"
#include "text/template/interpreter.h"

namespace lathe::jinja {

namespace {

/// Looks up an attribute such as "address.city" or 0, as filters take it.
class AttributePath {
 public:
  /// None is the item itself.
  AttributePath(Interpreter& in, const Value* attribute, const Value* fallback = nullptr) : in_(in) {
    if (fallback && !fallback->is(Kind::none)) fallback_ = *fallback, has_fallback_ = true;
    if (!attribute || attribute->is(Kind::none)) return;
    if (!attribute->is(Kind::string)) {
      parts_.push_back(*attribute);
      return;
    }
    add(attribute->as_string());
  }
  AttributePath(Interpreter& in, std::string_view path) : in_(in) { add(path); }

  Value of(Value item) const {
    for (const Value& part : parts_) {
      item = in_.subscript(item, part);
      if (has_fallback_ && item.is(Kind::undefined)) item = fallback_;
    }
    return item;
  }

 private:
  void add(std::string_view path) {
    for (;;) {
      const size_t dot = std::min(path.find('.'), path.size());
      const std::string_view part = path.substr(0, dot);
      int64_t index = 0;
      const bool digits = !part.empty() && part.find_first_not_of("0123456789") == part.npos;
      parts_.push_back(digits && read_integer(part, 10, index) ? Value::integer(index)
                                                               : Value::string(std::string(part)));
      if (dot == path.size()) return;
      path.remove_prefix(dot + 1);
    }
  }
  Interpreter& in_;
  std::vector<Value> parts_;
  Value fallback_;
  bool has_fallback_ = false;
};

Value without_case(const Value& v, bool case_sensitive) {
  if (case_sensitive || !v.is(Kind::string)) return v;
  return Value::string(lower_text(v.as_string()));
}

Value filter_default(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "default", {"default_value", "boolean"});
  const bool replaces = v.is(Kind::undefined) || (given[1] && given[1]->truth() && !v.truth());
  if (!replaces) return v;
  return given[0] ? *given[0] : Value::string("");
}

Value filter_length(Interpreter&, const Value& v, const Args& args) {
  bind(args, "length", {});
  return Value::integer(length_of(v));
}

Value filter_list(Interpreter&, const Value& v, const Args& args) {
  bind(args, "list", {});
  return Value::list(items_of(v));
}

Value filter_items(Interpreter&, const Value& v, const Args& args) {
  bind(args, "items", {});
  if (v.is(Kind::undefined)) return Value::iterator({});
  if (!v.is(Kind::dict)) raise(std::string("a value of type ") + v.type_name(), "a dict");
  std::vector<Value> pairs;
  for (const auto& [key, value] : v.as_dict().entries) pairs.push_back(Value::tuple({key, value}));
  return Value::iterator(std::move(pairs));
}

Value filter_first(Interpreter&, const Value& v, const Args& args) {
  bind(args, "first", {});
  if (v.is(Kind::iterator)) {
    auto& i = v.as<Items>();
    if (i.next < i.v.size()) return i.v[i.next++];
  } else {
    if (v.is(Kind::string) && !v.as_string().empty()) return character_at(v.as<Text>(), 0);
    if (v.is_items() && !v.as_items().empty()) return v.as_items()[0];
    const std::vector<Value> items = items_of(v);
    if (!items.empty()) return items[0];
  }
  return Value::undefined("the first item of none");
}

Value filter_last(Interpreter&, const Value& v, const Args& args) {
  bind(args, "last", {});
  if (v.is(Kind::iterator)) raise("items that run once", "a list, as the filter 'list' makes it");
  if (v.is(Kind::string) && !v.as_string().empty())
    return character_at(v.as<Text>(), static_cast<size_t>(length_of(v)) - 1);
  const std::vector<Value> items = items_of(v);
  return items.empty() ? Value::undefined("the last item of none") : items.back();
}

Value filter_reverse(Interpreter&, const Value& v, const Args& args) {
  bind(args, "reverse", {});
  if (v.is(Kind::string)) return slice(v, Value::none(), Value::none(), Value::integer(-1));
  std::vector<Value> items = items_of(v);
  std::reverse(items.begin(), items.end());
  // What Python can reverse runs once then; of what it can not, Jinja2 makes a list.
  return v.is(Kind::iterator) ? Value::list(std::move(items)) : Value::iterator(std::move(items));
}

Value filter_join(Interpreter& in, const Value& v, const Args& args) {
  const auto given = bind(args, "join", {"d", "attribute"});
  const std::string between = given[0] ? to_text(*given[0]) : "";
  const AttributePath path(in, given[1]);
  Output out;
  bool first = true;
  for (const Value& item : items_of(v)) {
    if (!first) out.append(between);
    first = false;
    Meter::step();
    out.append(to_text(path.of(item)));
  }
  return Value::string(std::move(out.text));
}

Value filter_map(Interpreter& in, const Value& v, const Args& args) {
  std::vector<Value> out;
  // Nothing is looked at where there is nothing to map.
  if (!v.truth()) {
    if (!is_iterable(v) && !v.is(Kind::none) && !v.is_number()) check_defined(v);
    return Value::iterator({});
  }
  if (args.positional.empty() &&
      std::ranges::any_of(args.named, [](const auto& a) { return a.first == "attribute"; })) {
    const auto given = bind(args, "map", {"attribute", "default"});
    const AttributePath path(in, given[0], given[1]);
    for (const Value& item : items_of(v)) {
      Meter::step();
      out.push_back(path.of(item));
    }
    return Value::iterator(std::move(out));
  }
  if (args.positional.empty()) raise("none", "a filter, or an attribute, for map");
  const std::string& name = string_argument(args.positional[0], "the name of a filter");
  Args rest{{args.positional.begin() + 1, args.positional.end()}, args.named};
  for (const Value& item : items_of(v)) out.push_back(in.filter(name, item, rest));
  return Value::iterator(std::move(out));
}

template <bool attribute, bool keep>
Value filter_select(Interpreter& in, const Value& v, const Args& args) {
  if (!v.truth()) return Value::iterator({});
  const size_t skipped = attribute ? 1 : 0;
  if (args.positional.size() < skipped) raise("none", "the name of an attribute");
  const AttributePath path(in, attribute ? &args.positional[0] : nullptr);
  Args rest{{}, args.named};
  const std::string* name = nullptr;
  if (args.positional.size() > skipped) {
    name = &string_argument(args.positional[skipped], "the name of a test");
    rest.positional.assign(args.positional.begin() + static_cast<ptrdiff_t>(skipped) + 1,
                           args.positional.end());
  }
  std::vector<Value> out;
  for (const Value& item : items_of(v)) {
    Meter::step();
    const Value tested = path.of(item);
    if ((name ? in.test(*name, tested, rest) : tested.truth()) == keep) out.push_back(item);
  }
  return Value::iterator(std::move(out));
}

void sort_by_keys(std::vector<std::pair<Value, Value>>& keyed, bool reverse) {
  size_t bits = 1;
  for (size_t n = keyed.size(); n > 1; n /= 2) ++bits;
  Meter::step(keyed.size() * bits);
  // Python reverses before and after, so that equal items keep their order.
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& a, const auto& b) {
    return reverse ? less(b.first, a.first) : less(a.first, b.first);
  });
}

Value filter_sort(Interpreter& in, const Value& v, const Args& args) {
  const auto given = bind(args, "sort", {"reverse", "case_sensitive", "attribute"});
  const bool case_sensitive = given[1] && given[1]->truth();
  std::vector<AttributePath> paths;
  if (given[2] && given[2]->is(Kind::string)) {
    std::string_view all = given[2]->as_string();
    for (;;) {
      const size_t comma = std::min(all.find(','), all.size());
      paths.emplace_back(in, all.substr(0, comma));
      if (comma == all.size()) break;
      all.remove_prefix(comma + 1);
    }
  } else {
    paths.emplace_back(in, given[2]);
  }
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items_of(v)) {
    std::vector<Value> key;
    for (const AttributePath& p : paths) key.push_back(without_case(p.of(item), case_sensitive));
    keyed.emplace_back(Value::list(std::move(key)), item);
  }
  sort_by_keys(keyed, given[0] && given[0]->truth());
  std::vector<Value> out;
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return Value::list(std::move(out));
}

Value filter_dictsort(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "dictsort", {"case_sensitive", "by", "reverse"});
  const std::string by = given[1] ? string_argument(*given[1], "'key' or 'value'") : "key";
  if (by != "key" && by != "value") raise("'" + by + "'", "'key' or 'value'");
  check_defined(v);
  if (!v.is(Kind::dict)) raise(std::string("a value of type ") + v.type_name(), "a dict");
  std::vector<std::pair<Value, Value>> keyed;
  for (const auto& [key, value] : v.as_dict().entries)
    keyed.emplace_back(without_case(by == "key" ? key : value, given[0] && given[0]->truth()),
                       Value::tuple({key, value}));
  sort_by_keys(keyed, given[2] && given[2]->truth());
  std::vector<Value> out;
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return Value::list(std::move(out));
}

Value filter_unique(Interpreter& in, const Value& v, const Args& args) {
  const auto given = bind(args, "unique", {"case_sensitive", "attribute"});
  const AttributePath path(in, given[1]);
  std::unordered_set<std::string> seen;
  std::vector<Value> out;
  for (const Value& item : items_of(v)) {
    std::string key = key_text(without_case(path.of(item), given[0] && given[0]->truth()));
    Meter::expect(key.size() + 64);
    if (seen.insert(std::move(key)).second) out.push_back(item);
  }
  return Value::iterator(std::move(out));
}

template <bool most>
Value filter_extreme(Interpreter& in, const Value& v, const Args& args) {
  const auto given = bind(args, most ? "max" : "min", {"case_sensitive", "attribute"});
  const AttributePath path(in, given[1]);
  const std::vector<Value> items = items_of(v);
  if (items.empty()) return Value::undefined("the least or greatest item of none");
  size_t best = 0;
  Value best_key;
  for (size_t i = 0; i < items.size(); ++i) {
    Value key = without_case(path.of(items[i]), given[0] && given[0]->truth());
    if (i && !(most ? ordered(key, best_key, ">") : less(key, best_key))) continue;
    best = i;
    best_key = std::move(key);
  }
  return items[best];
}

Value filter_sum(Interpreter& in, const Value& v, const Args& args) {
  const auto given = bind(args, "sum", {"attribute", "start"});
  const AttributePath path(in, given[0]);
  Value total = given[1] ? *given[1] : Value::integer(0);
  if (total.is(Kind::string)) raise("a string", "a start of sum that is no string");
  for (const Value& item : items_of(v)) total = arithmetic("+", total, path.of(item));
  return total;
}

Value filter_batch(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "batch", {"linecount", "fill_with"}, 1);
  const Value fill = given[1] ? *given[1] : Value::none();
  std::vector<Value> out, row;
  check_defined(*given[0]);
  const std::vector<Value> items = items_of(v);
  if (!given[0]->is_number()) {
    if (items.empty()) return Value::iterator({});
    unsupported("batches of another size", "a number of items");
  }
  const double size = given[0]->as_real();
  for (const Value& item : items) {
    if (static_cast<double>(row.size()) == size) out.push_back(Value::list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    if (!fill.is(Kind::none) && static_cast<double>(row.size()) < size) {
      const int64_t more =
          integer_argument(*given[0], "a number of items") - static_cast<int64_t>(row.size());
      if (static_cast<uint64_t>(more) > max_live / sizeof(Value))
        too_large("more", "values of at most " + std::to_string(max_live) + " bytes");
      Meter::expect(static_cast<uint64_t>(more) * sizeof(Value));
      row.insert(row.end(), static_cast<size_t>(more), fill);
    }
    out.push_back(Value::list(std::move(row)));
  }
  return Value::iterator(std::move(out));
}

Value filter_slice(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "slice", {"slices", "fill_with"}, 1);
  const int64_t slices = integer_argument(*given[0], "a number of slices");
  const Value fill = given[1] ? *given[1] : Value::none();
  const std::vector<Value> seq = items_of(v);
  if (slices == 0) raise("0", "another number of slices");
  if (slices < 0) return Value::iterator({});
  Meter::expect(static_cast<uint64_t>(std::min<int64_t>(slices, INT64_MAX / 256)) *
                (sizeof(Items) + sizeof(Value)));
  const auto length = static_cast<int64_t>(seq.size());
  const int64_t each = length / slices, extra = length % slices;
  std::vector<Value> out;
  int64_t at = 0;
  for (int64_t i = 0; i < slices; ++i) {
    const int64_t end = at + each + (i < extra);
    std::vector<Value> part(seq.begin() + at, seq.begin() + end);
    at = end;
    if (!fill.is(Kind::none) && i >= extra) part.push_back(fill);
    out.push_back(Value::list(std::move(part)));
  }
  return Value::iterator(std::move(out));
}

Value filter_groupby(Interpreter& in, const Value& v, const Args& args) {
  const auto given = bind(args, "groupby", {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(in, given[0], given[1]);
  const bool case_sensitive = given[2] && given[2]->truth();
  std::vector<std::pair<Value, Value>> keyed;
  for (const Value& item : items_of(v)) keyed.emplace_back(without_case(path.of(item), case_sensitive), item);
  sort_by_keys(keyed, false);
  std::vector<Value> groups;
  for (size_t i = 0; i < keyed.size();) {
    std::vector<Value> members;
    size_t j = i;
    for (; j < keyed.size() && equal(keyed[i].first, keyed[j].first); ++j) members.push_back(keyed[j].second);
    Value group = Value::tuple({path.of(keyed[i].second), Value::list(std::move(members))});
    group.as<Items>().name = "group";
    groups.push_back(std::move(group));
    i = j;
  }
  return Value::list(std::move(groups));
}

Value filter_attr(Interpreter& in, const Value& v, const Args& args) {
  const std::string name = to_text(*bind(args, "attr", {"name"}, 1)[0]);
  check_defined(v);
  if (v.is(Kind::dict) && !has_method(v, name)) return Value::undefined("attribute '" + name + "' of a dict");
  return in.attribute(v, name);
}

Value filter_tojson(Interpreter&, const Value& v, const Args& args) {
  const auto given = bind(args, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = given[0] && given[0]->truth();
  style.sort_keys = given[3] && given[3]->truth();
  if (given[1] && !given[1]->is(Kind::none)) {
    style.lines = true;
    style.item_separator = ",";
    if (given[1]->is(Kind::string)) {
      style.indent = given[1]->as_string();
    } else {
      style.indent = repeated(" ", integer_argument(*given[1], "an indent"));
    }
  }
  if (given[2] && !given[2]->is(Kind::none)) {
    const std::vector<Value> two = items_of(*given[2]);
    if (two.size() != 2) raise(std::to_string(two.size()), "two separators");
    style.item_separator = string_argument(two[0], "a separator");
    style.key_separator = string_argument(two[1], "a separator");
  }
  return Value::string(json_text(v, style));
}

constexpr FilterEntry sequence_entries[] = {
    {"attr", filter_attr},
    {"batch", filter_batch},
    {"count", filter_length},
    {"d", filter_default},
    {"default", filter_default},
    {"dictsort", filter_dictsort},
    {"first", filter_first},
    {"groupby", filter_groupby},
    {"items", filter_items},
    {"join", filter_join},
    {"last", filter_last},
    {"length", filter_length},
    {"list", filter_list},
    {"map", filter_map},
    {"max", filter_extreme<true>},
    {"min", filter_extreme<false>},
    {"reject", filter_select<false, false>},
    {"rejectattr", filter_select<true, false>},
    {"reverse", filter_reverse},
    {"select", filter_select<false, true>},
    {"selectattr", filter_select<true, true>},
    {"slice", filter_slice},
    {"sort", filter_sort},
    {"sum", filter_sum},
    {"tojson", filter_tojson},
    {"unique", filter_unique},
};

}  // namespace

std::span<const FilterEntry> sequence_filters() { return sequence_entries; }

const FilterEntry* find_filter(std::string_view name) {
  for (const auto& all : {text_filters(), sequence_filters()})
    for (const FilterEntry& f : all)
      if (name == f.name) return &f;
  return nullptr;
}

}  // namespace lathe::jinja
