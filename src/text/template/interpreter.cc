// Statements.
#include "text/template/interpreter.h"

namespace lathe::jinja {

namespace {
constexpr int deepest_evaluation = 1500;  // blocks and expressions within each other, macros included
constexpr size_t searched_scope = 16;
}  // namespace

struct Interpreter::Level {
  explicit Level(Interpreter& i) : in(i) {
    Meter::step();
    if (in.level_ >= deepest_evaluation)
      too_large("more", "at most " + std::to_string(deepest_evaluation) + " levels of evaluation");
    ++in.level_;
  }
  ~Level() { --in.level_; }
  Interpreter& in;
};

const Value* Scope::find(uint32_t name) const {
  if (values_.size() > searched_scope) {
    const auto i = index_.find(name);
    return i == index_.end() ? nullptr : &values_[i->second].second;
  }
  for (const auto& [n, v] : values_)
    if (n == name) return &v;
  return nullptr;
}

void Scope::set(uint32_t name, Value v) {
  if (const Value* there = find(name)) {
    *const_cast<Value*>(there) = std::move(v);
    return;
  }
  charge(sizeof values_[0]);
  values_.emplace_back(name, std::move(v));
  if (values_.size() == searched_scope + 1) {
    for (uint32_t i = 0; i < values_.size(); ++i) index_.emplace(values_[i].first, i);
  } else if (values_.size() > searched_scope) {
    index_.emplace(name, static_cast<uint32_t>(values_.size() - 1));
  }
}

bool Loop::has(size_t count) {
  if (!keeps) return count <= (kept.empty() ? all.size() : kept.size());
  while (kept.size() < count && next < all.size()) {
    const Value& v = all[next++];
    if (keeps(v)) kept.push_back(v);
  }
  return count <= kept.size();
}

void Output::append(std::string_view more) {
  if (more.size() > max_output - text.size())
    too_large("more", "an output of at most " + std::to_string(max_output) + " bytes");
  charge(more.size());
  Meter::step(more.size() / 64);
  text += more;
}

Interpreter::Interpreter(const Program& program, Variables variables, std::optional<int64_t> now)
    : program_(program),
      now_(now),
      globals_(std::make_shared<Scope>()),
      root_(inner(globals_, program.hidden)),
      loop_name_(program.find("loop")),
      varargs_(program.find("varargs")),
      kwargs_(program.find("kwargs")),
      caller_(program.find("caller")) {
  const auto absent = static_cast<uint32_t>(program.names.size());
  for (const char* name : global_functions())
    if (const uint32_t n = program.find(name); n != absent) globals_->set(n, make_function(name));
  for (auto& [name, value] : variables)
    if (const uint32_t n = program.find(name); n != absent) globals_->set(n, std::move(value));
}

Interpreter::~Interpreter() {
  for (const auto& m : macros_) m->closure.reset();
  for (const auto& l : loops_) static_cast<Loop&>(*l).changed.reset();
  for (const auto& s : spaces_) s->members = std::make_shared<Dict>();
}

ScopePtr Interpreter::inner(const ScopePtr& scope, const std::vector<uint32_t>& hidden) {
  Meter::step(16);  // a block of variables costs as much as several expressions
  auto s = std::make_shared<Scope>();
  s->parent = scope;
  s->charge(sizeof(Scope));
  for (uint32_t name : hidden)
    s->set(name, Value::undefined("'" + program_.names[name] + "', which is not set yet"));
  return s;
}

std::string Interpreter::run() {
  Output out;
  run_block(program_.body, root_, out);
  return std::move(out.text);
}

Interpreter::Flow Interpreter::run_block(const Block& block, const ScopePtr& scope, Output& out) {
  const Level level(*this);
  for (const StmtPtr& s : block)
    if (const Flow flow = run_one(*s, scope, out); flow != Flow::normal) return flow;
  return Flow::normal;
}

void Interpreter::print(const Value& v, Output& out) {
  if (v.is(Kind::string))
    out.append(v.as_string());
  else if (!v.is(Kind::undefined))
    out.append(to_text(v));
}

Interpreter::Flow Interpreter::run_one(const Stmt& s, const ScopePtr& scope, Output& out) {
  Meter::step();
  at_ = s.at;
  switch (s.kind) {
    case StmtKind::data:
      out.append(s.text);
      break;
    case StmtKind::print:
      for (const ExprPtr& e : s.values) {
        const Value v = evaluate(*e, scope);
        at_ = e->at;
        print(v, out);
      }
      break;
    case StmtKind::for_loop:
      return run_loop(s, scope, out);
    case StmtKind::if_else:
      for (const auto& [condition, body] : s.branches)
        if (!condition || evaluate(*condition, scope).truth()) return run_block(body, scope, out);
      break;
    case StmtKind::assign: {
      const Value v = evaluate(*s.values[0], scope);
      at_ = s.at;
      assign(s.targets[0], v, *scope);
      break;
    }
    case StmtKind::assign_block:
      return run_set_block(s, scope);
    case StmtKind::macro:
      scope->set(s.name, make_macro(s, scope));
      break;
    case StmtKind::call_block:
      run_call_block(s, scope, out);
      break;
    case StmtKind::filter_block:
      return run_filter_block(s, scope, out);
    case StmtKind::with_block:
      return run_with(s, scope, out);
    case StmtKind::scope_block:
      return run_block(s.body, inner(scope, s.hidden), out);
    case StmtKind::break_loop:
      return Flow::broke;
    case StmtKind::continue_loop:
      return Flow::continued;
  }
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_loop(const Stmt& s, const ScopePtr& scope, Output& out) {
  const Value over = evaluate(*s.values[0], scope);
  at_ = s.values[0]->at;
  auto loop = std::make_shared<Loop>();
  loop->all = items_of(over);
  loop->charge(sizeof(Loop) + loop->all.size() * sizeof(Value) * (s.condition ? 2 : 1));
  for (const Value& v : loop->all) loop->nest(v);
  loop->depth0 = loop_depth_;
  if (s.condition)
    loop->keeps = [&](const Value& v) {
      const ScopePtr tested = inner(scope);
      assign(s.targets[0], v, *tested);
      return evaluate(*s.condition, tested).truth();
    };
  const bool wants_loop = loop_name_ != program_.names.size();
  const Value handle = Value::object(Kind::loop, loop);
  size_t i = 0;
  Flow flow = Flow::normal;
  try {
    for (; loop->has(i + 1); ++i) {
      loop->index0 = i;
      const ScopePtr body = inner(scope, s.hidden);
      at_ = s.at;
      assign(s.targets[0], loop->item(i), *body);
      if (wants_loop) body->set(loop_name_, handle);
      flow = run_block(s.body, body, out);
      if (flow == Flow::broke) break;
    }
  } catch (...) {
    loop->keeps = nullptr;
    throw;
  }
  if (loop->keeps) {
    // What it refers to ends here; an empty list of kept items must not become one of all items.
    loop->keeps = nullptr;
    loop->all = loop->kept;
    loop->next = loop->all.size();
  }
  if (i == 0 && flow != Flow::broke && !s.otherwise.empty())
    return run_block(s.otherwise, inner(scope, s.hidden_otherwise), out);
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_set_block(const Stmt& s, const ScopePtr& scope) {
  Output own;
  const Flow flow = run_block(s.body, inner(scope, s.hidden), own);
  if (flow != Flow::normal) return flow;
  Value v = Value::string(std::move(own.text));
  if (s.values[0]) v = evaluate_filter(*s.values[0], scope, &v);
  at_ = s.at;
  assign(s.targets[0], v, *scope);
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_filter_block(const Stmt& s, const ScopePtr& scope, Output& out) {
  Output own;
  const ScopePtr body = inner(scope, s.hidden);
  const Flow flow = run_block(s.body, body, own);
  if (flow != Flow::normal) return flow;
  const Value v = Value::string(std::move(own.text));
  print(evaluate_filter(*s.values[0], body, &v), out);
  return Flow::normal;
}

Interpreter::Flow Interpreter::run_with(const Stmt& s, const ScopePtr& scope, Output& out) {
  const ScopePtr body = inner(scope, s.hidden);
  for (size_t i = 0; i < s.targets.size(); ++i) assign(s.targets[i], evaluate(*s.values[i], scope), *body);
  return run_block(s.body, body, out);
}

void Interpreter::run_call_block(const Stmt& s, const ScopePtr& scope, Output& out) {
  const Value caller = make_macro(s, scope);
  const Value v = evaluate_call(*s.values[0], scope, &caller);
  print(v, out);
}

void Interpreter::assign(const Target& target, const Value& v, Scope& scope) {
  if (target.is_tuple) {
    const std::vector<Value> items = items_of(v);
    if (items.size() != target.items.size())
      raise(std::to_string(items.size()) + " values",
            std::to_string(target.items.size()) + " values to assign");
    for (size_t i = 0; i < items.size(); ++i) assign(target.items[i], items[i], scope);
    return;
  }
  if (target.attribute.empty()) {
    scope.set(target.name, v);
    return;
  }
  const Value* space = nullptr;
  for (const Scope* s = &scope; s && !space; s = s->parent.get()) space = s->find(target.name);
  if (!space || !space->is(Kind::space))
    raise(space ? std::string("a value of type ") + space->type_name() : "a name that is not defined",
          "a namespace, whose attributes can be assigned to");
  if (target.attribute.starts_with("_"))
    raise("'" + target.attribute + "'", "an attribute that does not begin with an underscore");
  space->as<Space>().members->put(Value::string(target.attribute), v);
}

Value Interpreter::keep_space(std::shared_ptr<Space> s) {
  spaces_.push_back(s);
  return Value::object(Kind::space, std::move(s));
}

Value Interpreter::make_macro(const Stmt& s, const ScopePtr& scope) {
  auto m = std::make_shared<Macro>();
  m->definition = &s;
  m->closure = scope;
  m->charge(sizeof(Macro) + sizeof(Scope));
  macros_.push_back(m);
  return Value::object(Kind::macro, std::move(m));
}

Value Interpreter::call_macro(const Macro& m, Args args) {
  const Stmt& s = *m.definition;
  if (macro_depth_ >= max_macro_depth)
    too_large("more", "at most " + std::to_string(max_macro_depth) + " macros that call each other");
  const size_t count = s.parameters.size();
  const ScopePtr scope = inner(m.closure, s.hidden);
  std::vector<bool> given(count);
  for (size_t i = 0; i < count; ++i) {
    Value v;
    if (i < args.positional.size())
      v = args.positional[i];
    else if (!args.take(s.parameters[i].text, v))
      continue;
    given[i] = true;
    scope->set(s.parameters[i].name, std::move(v));
  }
  if (s.takes_caller) {
    Value caller;
    if (!args.take("caller", caller))
      caller = Value::undefined("'caller', since the macro is not called by a call block");
    scope->set(caller_, std::move(caller));
  }
  if (s.takes_kwargs) {
    std::vector<std::pair<Value, Value>> rest;
    for (auto& [name, v] : args.named) rest.emplace_back(Value::string(name), v);
    scope->set(kwargs_, make_dict(std::move(rest)));
  } else if (!args.named.empty()) {
    raise("'" + args.named[0].first + "'", "a parameter of the macro '" + s.text + "'");
  }
  if (s.takes_varargs) {
    std::vector<Value> rest;
    for (size_t i = count; i < args.positional.size(); ++i) rest.push_back(args.positional[i]);
    scope->set(varargs_, Value::tuple(std::move(rest)));
  } else if (args.positional.size() > count) {
    raise(std::to_string(args.positional.size()),
          "at most " + std::to_string(count) + " arguments of the macro '" + s.text + "'");
  }
  for (size_t i = 0; i < count; ++i) {
    if (given[i]) continue;
    const Parameter& p = s.parameters[i];
    scope->set(p.name, p.fallback ? evaluate(*p.fallback, scope)
                                  : Value::undefined("parameter '" + p.text + "', which was not given"));
  }
  ++macro_depth_;
  Output out;
  try {
    run_block(s.body, scope, out);
  } catch (...) {
    --macro_depth_;
    throw;
  }
  --macro_depth_;
  return Value::string(std::move(out.text));
}

Value Interpreter::call(const Value& f, Args args) {
  Meter::step();
  switch (f.kind()) {
    case Kind::undefined:
      use_of_undefined(f);
    case Kind::macro: {
      const Level level(*this);
      return call_macro(f.as<Macro>(), std::move(args));
    }
    case Kind::method: {
      const auto& m = f.as<Method>();
      if (m.self.is(Kind::loop)) return loop_method(m.self, m.name, args);
      return call_method(*this, m.self, m.name, args);
    }
    case Kind::function:
      return call_function(*this, f.as<Function>().name, args);
    case Kind::joiner: {
      bind(args, "joiner", {});
      auto& j = f.as<Joiner>();
      return Value::string(std::exchange(j.used, true) ? j.separator : std::string());
    }
    case Kind::loop:
      unsupported("a recursive loop", "a macro that calls itself");
    default:
      raise(std::string("a value of type ") + f.type_name(), "a value that can be called");
  }
}

}  // namespace lathe::jinja
