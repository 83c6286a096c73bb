// Expressions.
#include "text/template/interpreter.h"

namespace lathe::jinja {

namespace {
constexpr int deepest_expression_level = 1500;
}

Value Interpreter::evaluate(const Expr& e, const ScopePtr& scope) {
  Meter::step();
  if (level_ >= deepest_expression_level)
    too_large("more", "at most " + std::to_string(deepest_expression_level) + " levels of evaluation");
  struct Deeper {
    explicit Deeper(int& l) : level(l) { ++level; }
    ~Deeper() { --level; }
    int& level;
  } deeper(level_);
  switch (e.kind) {
    case ExprKind::constant:
      return e.constant;
    case ExprKind::name:
      for (const Scope* s = scope.get(); s; s = s->parent.get())
        if (const Value* v = s->find(e.name)) return *v;
      return Value::undefined("'" + e.text + "', which is not defined");
    case ExprKind::list:
    case ExprKind::tuple:
      return evaluate_items(e, scope);
    case ExprKind::dict:
      return evaluate_dict(e, scope);
    case ExprKind::attribute: {
      const Value o = evaluate(*e.items[0], scope);
      at_ = e.at;
      return attribute(o, e.text);
    }
    case ExprKind::subscript:
      return evaluate_subscript(e, scope);
    case ExprKind::slice:
      unsupported("a slice beside other subscripts");
    case ExprKind::call:
      return evaluate_call(e, scope);
    case ExprKind::filter:
      return evaluate_filter(e, scope, nullptr);
    case ExprKind::test:
      return evaluate_test(e, scope);
    case ExprKind::negate:
      return Value::boolean(!evaluate(*e.items[0], scope).truth());
    case ExprKind::minus:
    case ExprKind::plus: {
      const Value v = evaluate(*e.items[0], scope);
      at_ = e.at;
      return e.kind == ExprKind::minus ? negative(v) : positive(v);
    }
    case ExprKind::conditional:
      if (evaluate(*e.items[0], scope).truth()) return evaluate(*e.items[1], scope);
      if (e.items[2]) return evaluate(*e.items[2], scope);
      return Value::undefined("the result of an inline 'if' without 'else' whose condition is false");
    case ExprKind::logical_and:
    case ExprKind::logical_or: {
      Value v = evaluate(*e.items[0], scope);
      if (v.truth() == (e.kind == ExprKind::logical_or)) return v;
      return evaluate(*e.items[1], scope);
    }
    case ExprKind::binary:
      return evaluate_binary(e, scope);
    case ExprKind::concatenate:
      return evaluate_concatenation(e, scope);
    case ExprKind::compare:
      return evaluate_comparison(e, scope);
  }
  return {};
}

Value Interpreter::evaluate_items(const Expr& e, const ScopePtr& scope) {
  std::vector<Value> items;
  items.reserve(e.items.size());
  for (const ExprPtr& item : e.items) items.push_back(evaluate(*item, scope));
  return e.kind == ExprKind::list ? Value::list(std::move(items)) : Value::tuple(std::move(items));
}

Value Interpreter::evaluate_dict(const Expr& e, const ScopePtr& scope) {
  std::vector<std::pair<Value, Value>> entries;
  for (size_t i = 0; i + 1 < e.items.size(); i += 2) {
    Value key = evaluate(*e.items[i], scope);
    entries.emplace_back(std::move(key), evaluate(*e.items[i + 1], scope));
  }
  at_ = e.at;
  return make_dict(std::move(entries));
}

Value Interpreter::evaluate_subscript(const Expr& e, const ScopePtr& scope) {
  const Value o = evaluate(*e.items[0], scope);
  const Expr& key = *e.items[1];
  if (key.kind == ExprKind::slice) return evaluate_slice(o, key, scope);
  const Value k = evaluate(key, scope);
  at_ = e.at;
  return subscript(o, k);
}

Value Interpreter::evaluate_slice(const Value& o, const Expr& s, const ScopePtr& scope) {
  Value part[3];
  for (size_t i = 0; i < 3; ++i) part[i] = s.items[i] ? evaluate(*s.items[i], scope) : Value::none();
  at_ = s.at;
  return slice(o, part[0], part[1], part[2]);
}

Args Interpreter::evaluate(const Arguments& a, const ScopePtr& scope) {
  Args args;
  for (const ExprPtr& e : a.positional) args.positional.push_back(evaluate(*e, scope));
  for (const auto& [name, e] : a.named) args.named.emplace_back(name, evaluate(*e, scope));
  if (a.more_positional)
    for (Value& v : items_of(evaluate(*a.more_positional, scope))) args.positional.push_back(std::move(v));
  if (a.more_named) {
    const Value more = evaluate(*a.more_named, scope);
    if (!more.is(Kind::dict)) raise(std::string("a value of type ") + more.type_name(), "a dict after '**'");
    for (const auto& [key, v] : more.as_dict().entries) {
      const std::string& name = string_argument(key, "a name after '**'");
      for (const auto& other : args.named)
        if (other.first == name) raise("'" + name + "' twice", "each argument once");
      args.named.emplace_back(name, v);
      Meter::step(args.named.size());
    }
  }
  return args;
}

Value Interpreter::evaluate_call(const Expr& e, const ScopePtr& scope, const Value* caller) {
  const Value f = evaluate(*e.items[0], scope);
  Args args = evaluate(e.arguments, scope);
  if (caller) {
    for (const auto& other : args.named)
      if (other.first == "caller") raise("'caller' twice", "each argument once");
    args.named.emplace_back("caller", *caller);
  }
  at_ = e.at;
  return call(f, std::move(args));
}

Value Interpreter::evaluate_filter(const Expr& e, const ScopePtr& scope, const Value* input) {
  // In blocks, the innermost filter of a chain takes what the block wrote.
  const Value v = e.items[0]
                      ? (input ? evaluate_filter(*e.items[0], scope, input) : evaluate(*e.items[0], scope))
                      : *input;
  const Args args = evaluate(e.arguments, scope);
  at_ = e.at;
  if (!e.filter) unsupported("'" + e.text + "'", "a filter that exists");
  return e.filter->apply(*this, v, args);
}

Value Interpreter::evaluate_test(const Expr& e, const ScopePtr& scope) {
  const Value v = evaluate(*e.items[0], scope);
  const Args args = evaluate(e.arguments, scope);
  at_ = e.at;
  if (!e.test) unsupported("'" + e.text + "'", "a test that exists");
  return Value::boolean(e.test->apply(*this, v, args));
}

Value Interpreter::evaluate_concatenation(const Expr& e, const ScopePtr& scope) {
  Output out;
  for (const ExprPtr& item : e.items) print(evaluate(*item, scope), out);
  at_ = e.at;
  return Value::string(std::move(out.text));
}

Value Interpreter::evaluate_comparison(const Expr& e, const ScopePtr& scope) {
  Value left = evaluate(*e.items[0], scope);
  for (size_t i = 0; i < e.operators.size(); ++i) {
    Value right = evaluate(*e.items[i + 1], scope);
    at_ = e.at;
    const std::string& op = e.operators[i];
    bool holds = false;
    if (op == "==")
      holds = equal(left, right);
    else if (op == "!=")
      holds = !equal(left, right);
    else if (op == "in")
      holds = contains(right, left);
    else if (op == "not in")
      holds = !contains(right, left);
    else
      holds = ordered(left, right, op.c_str());
    if (!holds) return Value::boolean(false);
    left = std::move(right);
  }
  return Value::boolean(true);
}

Value Interpreter::evaluate_binary(const Expr& e, const ScopePtr& scope) {
  const Value a = evaluate(*e.items[0], scope);
  const Value b = evaluate(*e.items[1], scope);
  at_ = e.at;
  return arithmetic(e.text, a, b);
}

namespace {

Value no_attribute(const Value& o, const std::string& name) {
  return Value::undefined("attribute '" + name.substr(0, 100) + "' of a value of type " + o.type_name() +
                          ", which does not have it");
}

Value method_of(const Value& o, const std::string& name) {
  if (is_forbidden_method(o, name))
    return Value::undefined("method '" + name + "' of a value of type " + o.type_name() +
                            ", which would change it: values are immutable");
  auto m = std::make_shared<Method>();
  m->self = o;
  m->nest(o);
  m->name = name;
  m->charge(sizeof(Method));
  return Value::object(Kind::method, std::move(m));
}

}  // namespace

Value Interpreter::attribute(const Value& o, const std::string& name) {
  check_defined(o);
  switch (o.kind()) {
    case Kind::dict:
      if (has_method(o, name)) return method_of(o, name);
      if (const Value* v = o.as_dict().find(name)) return *v;
      break;
    case Kind::space:
      if (name.starts_with("_"))
        return Value::undefined("attribute '" + name + "' of a namespace, which begins with an underscore");
      if (const Value* v = o.as<Space>().members->find(name)) return *v;
      break;
    case Kind::loop:
      return loop_attribute(o.as<Loop>(), o, name);
    case Kind::macro:
      if (name == "name") return Value::string(o.as<Macro>().definition->text);
      if (name == "arguments") {
        std::vector<Value> all;
        for (const Parameter& p : o.as<Macro>().definition->parameters) all.push_back(Value::string(p.text));
        return Value::tuple(std::move(all));
      }
      if (name == "catch_kwargs") return Value::boolean(o.as<Macro>().definition->takes_kwargs);
      if (name == "catch_varargs") return Value::boolean(o.as<Macro>().definition->takes_varargs);
      if (name == "caller") return Value::boolean(o.as<Macro>().definition->takes_caller);
      break;
    case Kind::cycler:
      if (name == "current") {
        const auto& c = o.as<Cycler>();
        return c.items[c.at];
      }
      if (name == "next" || name == "reset") return method_of(o, name);
      if (name == "items") return Value::tuple(o.as<Cycler>().items);
      if (name == "pos") return Value::integer(static_cast<int64_t>(o.as<Cycler>().at));
      break;
    case Kind::tuple:
      if (std::string_view(o.as<Items>().name) == "group") {
        if (name == "grouper") return o.as_items()[0];
        if (name == "list") return o.as_items()[1];
      }
      [[fallthrough]];
    default:
      if (has_method(o, name)) return method_of(o, name);
  }
  return no_attribute(o, name);
}

Value Interpreter::subscript(const Value& o, const Value& key) {
  check_defined(o);
  if (o.is(Kind::dict)) {
    // What has no hash cannot be a key: there is no such item.
    const bool hashable = !key.is(Kind::list) && !key.is(Kind::dict) && !key.is(Kind::view);
    if (key.is(Kind::tuple)) {
      try {
        key_text(key);
      } catch (const Fault& f) {
        if (f.code != Code::template_failed) throw;
        return no_attribute(o, "…");
      }
    }
    if (hashable)
      if (const Value* v = o.as_dict().find(key)) return *v;
    if (key.is(Kind::string) && has_method(o, key.as_string())) return method_of(o, key.as_string());
    return no_attribute(o, hashable ? to_text(key) : "…");
  }
  if (key.is_integral() && (o.is(Kind::string) || o.is_items() || o.is(Kind::range))) {
    const int64_t count = length_of(o);
    int64_t i = key.as_int();
    if (i < 0) i += count;
    if (i < 0 || i >= count)
      return Value::undefined("item " + std::to_string(key.as_int()) + " of " + std::to_string(count));
    if (o.is(Kind::string)) return character_at(o.as<Text>(), static_cast<size_t>(i));
    if (o.is(Kind::range)) return Value::integer(o.as_range().start + i * o.as_range().step);
    return o.as_items()[static_cast<size_t>(i)];
  }
  if (key.is(Kind::string)) return attribute(o, key.as_string());
  return no_attribute(o, key.is_number() || key.is(Kind::none) ? to_text(key) : key.type_name());
}

Value Interpreter::filter(const std::string& name, const Value& v, const Args& args) {
  const FilterEntry* f = find_filter(name);
  if (!f) unsupported("'" + name + "'", "a filter that exists");
  Meter::step();
  return f->apply(*this, v, args);
}

bool Interpreter::test(const std::string& name, const Value& v, const Args& args) {
  const TestEntry* t = find_test(name);
  if (!t) unsupported("'" + name + "'", "a test that exists");
  Meter::step();
  return t->apply(*this, v, args);
}

Value Interpreter::loop_attribute(Loop& loop, const Value& self, const std::string& name) {
  const auto number = [](size_t n) { return Value::integer(static_cast<int64_t>(n)); };
  const auto length = [&] {
    loop.has(loop.all.size());
    return loop.keeps ? loop.kept.size() : loop.all.size();
  };
  if (name == "index") return number(loop.index0 + 1);
  if (name == "index0") return number(loop.index0);
  if (name == "first") return Value::boolean(loop.index0 == 0);
  if (name == "last") return Value::boolean(!loop.has(loop.index0 + 2));
  if (name == "length") return number(length());
  if (name == "revindex") return number(length() - loop.index0);
  if (name == "revindex0") return number(length() - loop.index0 - 1);
  if (name == "depth") return number(1);
  if (name == "depth0") return number(0);
  if (name == "previtem")
    return loop.index0 ? loop.item(loop.index0 - 1) : Value::undefined("the item before the first one");
  if (name == "nextitem")
    return loop.has(loop.index0 + 2) ? loop.item(loop.index0 + 1)
                                     : Value::undefined("the item after the last one");
  if (name == "cycle" || name == "changed") return method_of(self, name);
  return no_attribute(self, name);
}

Value Interpreter::loop_method(const Value& self, const std::string& name, const Args& args) {
  auto& loop = self.as<Loop>();
  if (!args.named.empty()) raise("'" + args.named[0].first + "'", "arguments without names");
  if (name == "cycle") {
    if (args.positional.empty()) raise("none", "values to cycle through");
    return args.positional[loop.index0 % args.positional.size()];
  }
  Value now = Value::tuple(args.positional);
  if (loop.changed && equal(*loop.changed, now)) return Value::boolean(false);
  // A loop may so come to hold itself.
  if (!loop.changed) loops_.push_back(self.shared());
  loop.changed = std::move(now);
  return Value::boolean(true);
}

}  // namespace lathe::jinja
