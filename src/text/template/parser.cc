// Statements.
#include "text/template/parser.h"

#include <algorithm>

#include "text/template/filters.h"

namespace lathe::jinja {

uint32_t Program::find(std::string_view name) const {
  const auto i = numbers.find(std::string(name));
  return i == numbers.end() ? static_cast<uint32_t>(names.size()) : i->second;
}

uint32_t Program::intern(const std::string& name) {
  const auto [i, added] = numbers.emplace(name, static_cast<uint32_t>(names.size()));
  if (added) names.push_back(name);
  return i->second;
}

std::shared_ptr<const Program> parse_template(std::string_view source) {
  if (source.size() > max_source)
    throw Fault{Code::template_too_large,
                "a template of at most " + std::to_string(max_source) + " bytes",
                std::to_string(source.size()),
                {}};
  auto program = std::make_shared<Program>();
  program->source = normalized(source);
  Parser(*program).run();
  return program;
}

Parser::Level::Level(Parser& p, int& d, int limit) : depth(d) {
  if (depth >= limit)
    p.fail_at(p.current().at, "more", "at most " + std::to_string(limit) + " levels",
              Code::template_too_large);
  ++depth;
}

void Parser::run() {
  program_.body = statements({});
  check(program_.body, false);
  find_hidden_names(program_);
}

Lexeme Parser::next() {
  Lexeme l = std::move(tokens_[at_]);
  if (l.token != Token::end)
    ++at_;
  else
    tokens_[at_] = l;
  return l;
}

bool Parser::is_any_name(Names wanted) const {
  return current().token == Token::name && std::ranges::find(wanted, current().text) != wanted.end();
}
bool Parser::skip_op(std::string_view op) {
  if (!is_op(op)) return false;
  ++at_;
  return true;
}
bool Parser::skip_name(std::string_view name) {
  if (!is_name(name)) return false;
  ++at_;
  return true;
}
void Parser::expect_op(std::string_view op) {
  if (!skip_op(op)) fail("'" + std::string(op) + "'");
}
std::string Parser::expect_name() {
  if (current().token != Token::name) fail("a name");
  return next().text;
}

std::string Parser::described() const {
  switch (current().token) {
    case Token::end:
      return "the end of the template";
    case Token::data:
      return "text";
    case Token::string:
      return "a string";
    default:
      return "'" + current().text.substr(0, 60) + "'";
  }
}
void Parser::fail(std::string expected) const { fail_at(current().at, described(), std::move(expected)); }
void Parser::fail_at(size_t at, std::string got, std::string expected, Code code) const {
  throw Fault{code, std::move(expected), std::move(got), {}, at};
}

Block Parser::statements(Names ends) {
  const Level level(*this, statement_depth_, max_nesting);
  Block block;
  for (;;) {
    switch (current().token) {
      case Token::end:
        if (ends.size()) {
          std::string all;
          for (std::string_view name : ends) all += (all.empty() ? "'" : "' or '") + std::string(name);
          fail(all + "'");
        }
        return block;
      case Token::data: {
        Lexeme l = next();
        block.push_back(made(StmtKind::data, l.at));
        block.back()->text = std::move(l.text);
        break;
      }
      case Token::variable_begin: {
        const size_t at = next().at;
        block.push_back(made(StmtKind::print, at));
        block.back()->values.push_back(tuple());
        if (current().token != Token::variable_end) fail("the end of the expression, '}}'");
        ++at_;
        break;
      }
      case Token::block_begin: {
        ++at_;
        if (is_any_name(ends)) return block;
        StmtPtr s = statement();
        if (s) block.push_back(std::move(s));
        if (current().token != Token::block_end) fail("the end of the statement, '%}'");
        ++at_;
        break;
      }
      default:
        fail("text or a tag");
    }
  }
}

Block Parser::body_until(Names ends, bool drop) {
  skip_op(":");
  if (current().token != Token::block_end) fail("the end of the statement, '%}'");
  ++at_;
  Block block = statements(ends);
  if (drop) ++at_;
  return block;
}

StmtPtr Parser::statement() {
  if (current().token != Token::name) fail("the name of a statement");
  const std::string& name = current().text;
  const size_t at = current().at;
  if (name == "for") return for_loop();
  if (name == "if") return if_else();
  if (name == "set") return assignment();
  if (name == "macro") return macro();
  if (name == "call") return call_block();
  if (name == "filter") return filter_block();
  if (name == "with") return with_block();
  if (name == "print") return print();
  if (name == "break" || name == "continue") {
    if (!in_loop_) fail_at(at, "'" + name + "' outside of a loop", "it within a loop");
    const bool is_break = name == "break";
    ++at_;
    return made(is_break ? StmtKind::break_loop : StmtKind::continue_loop, at);
  }
  if (name == "generation") {
    ++at_;
    StmtPtr s = made(StmtKind::scope_block, at);
    const bool outer = std::exchange(in_loop_, false);
    s->body = body_until({"endgeneration"});
    in_loop_ = outer;
    return s;
  }
  for (std::string_view other :
       {"include", "import", "from", "extends", "block", "autoescape", "trans", "do", "debug"})
    if (name == other)
      fail_at(at, "'" + name + "'",
              "for, if, set, macro, call, filter, with, print, raw, generation, break or continue",
              Code::template_unsupported);
  fail("a statement: for, if, set, macro, call, filter, with, print, raw, generation, break or continue");
}

StmtPtr Parser::for_loop() {
  StmtPtr s = made(StmtKind::for_loop, next().at);
  s->targets.push_back(target(false, {"in"}));
  if (!skip_name("in")) fail("'in'");
  s->values.push_back(tuple(false, {"recursive"}));
  if (skip_name("if")) s->condition = expression();
  if (is_name("recursive"))
    fail_at(current().at, "'recursive'", "a macro that calls itself", Code::template_unsupported);
  const bool outer = std::exchange(in_loop_, true);
  s->body = body_until({"endfor", "else"}, false);
  in_loop_ = outer;
  if (next().text == "else") s->otherwise = body_until({"endfor"});
  return s;
}

StmtPtr Parser::if_else() {
  StmtPtr s = made(StmtKind::if_else, next().at);
  for (;;) {
    ExprPtr condition = tuple(false);
    s->branches.emplace_back(std::move(condition), body_until({"elif", "else", "endif"}, false));
    const std::string end = next().text;
    if (end == "elif") continue;
    if (end == "else") s->branches.emplace_back(nullptr, body_until({"endif"}));
    return s;
  }
}

Target Parser::simple_target(bool with_namespace) {
  Target t;
  t.at = current().at;
  if (is_op("(")) {
    const Level level(*this, expression_depth_, max_nesting);
    ++at_;
    t = target(with_namespace, {});
    expect_op(")");
    return t;
  }
  if (current().token != Token::name) fail("a name to assign to");
  static constexpr std::string_view constants[] = {"true", "false", "none", "True", "False", "None"};
  const std::string name = next().text;
  if (std::ranges::find(constants, name) != std::end(constants))
    fail_at(t.at, "'" + name + "'", "a name to assign to");
  t.name = program_.intern(name);
  if (with_namespace && skip_op(".")) {
    t.attribute = expect_name();
  }
  return t;
}

Target Parser::target(bool with_namespace, Names ends) {
  Target all;
  all.at = current().at;
  bool comma = false;
  while (true) {
    if (!all.items.empty()) expect_op(",");
    if (current().token == Token::block_end || is_op(")") || is_any_name(ends)) break;
    all.items.push_back(simple_target(with_namespace));
    if (!is_op(",")) break;
    comma = true;
  }
  if (all.items.empty()) fail("a name to assign to");
  if (!comma) return std::move(all.items.front());
  all.is_tuple = true;
  return all;
}

StmtPtr Parser::assignment() {
  StmtPtr s = made(StmtKind::assign, next().at);
  s->targets.push_back(target(true, {}));
  if (skip_op("=")) {
    s->values.push_back(tuple());
    return s;
  }
  s->kind = StmtKind::assign_block;
  ExprPtr filters = is_op("|") ? filter(nullptr) : nullptr;
  s->values.push_back(std::move(filters));
  s->body = body_until({"endset"});
  return s;
}

void Parser::signature(Stmt& s) {
  expect_op("(");
  while (!is_op(")")) {
    if (!s.parameters.empty()) expect_op(",");
    Parameter p;
    p.text = expect_name();
    p.name = program_.intern(p.text);
    if (skip_op("="))
      p.fallback = expression();
    else if (!s.parameters.empty() && s.parameters.back().fallback)
      fail("a default, since the parameter before has one");
    for (const Parameter& other : s.parameters)
      if (other.name == p.name)
        fail_at(current().at, "'" + p.text + "' twice", "parameters with different names");
    s.parameters.push_back(std::move(p));
  }
  expect_op(")");
}

void Parser::macro_body(Stmt& s, Names ends) {
  const bool outer = std::exchange(in_loop_, false);
  s.body = body_until(ends);
  in_loop_ = outer;
  const auto has = [&](const char* name) {
    const uint32_t number = program_.find(name);
    if (number == program_.names.size()) return false;
    for (const Parameter& p : s.parameters)
      if (p.name == number) return false;
    return names(s.body, number);
  };
  s.takes_varargs = has("varargs");
  s.takes_kwargs = has("kwargs");
  s.takes_caller = has("caller");
}

StmtPtr Parser::macro() {
  StmtPtr s = made(StmtKind::macro, next().at);
  s->text = expect_name();
  s->name = program_.intern(s->text);
  signature(*s);
  macro_body(*s, {"endmacro"});
  return s;
}

StmtPtr Parser::call_block() {
  StmtPtr s = made(StmtKind::call_block, next().at);
  if (is_op("(")) signature(*s);
  const size_t at = current().at;
  s->values.push_back(expression());
  if (s->values[0]->kind != ExprKind::call) fail_at(at, "another expression", "a call");
  s->text = "caller";
  program_.intern("caller");
  macro_body(*s, {"endcall"});
  return s;
}

StmtPtr Parser::filter_block() {
  StmtPtr s = made(StmtKind::filter_block, next().at);
  s->values.push_back(filter(nullptr, true));
  s->body = body_until({"endfilter"});
  return s;
}

StmtPtr Parser::with_block() {
  StmtPtr s = made(StmtKind::with_block, next().at);
  while (current().token != Token::block_end) {
    if (!s->targets.empty()) expect_op(",");
    s->targets.push_back(simple_target(false));
    expect_op("=");
    s->values.push_back(expression());
  }
  s->body = body_until({"endwith"});
  return s;
}

StmtPtr Parser::print() {
  StmtPtr s = made(StmtKind::print, next().at);
  while (current().token != Token::block_end) {
    if (!s->values.empty()) expect_op(",");
    s->values.push_back(expression());
  }
  return s;
}

void Parser::check(const Arguments& a, bool soft) const {
  for (const auto& e : a.positional) check(e.get(), soft);
  for (const auto& [name, e] : a.named) check(e.get(), soft);
  check(a.more_positional.get(), soft);
  check(a.more_named.get(), soft);
}

void Parser::check(const Expr* e, bool soft) const {
  if (!e) return;
  if (e->kind == ExprKind::filter && !e->filter && !soft)
    fail_at(e->at, "'" + e->text + "'", "a filter that exists", Code::template_unsupported);
  if (e->kind == ExprKind::test && !e->test && !soft)
    fail_at(e->at, "'" + e->text + "'", "a test that exists", Code::template_unsupported);
  for (const auto& item : e->items) check(item.get(), soft || e->kind == ExprKind::conditional);
  check(e->arguments, soft);
}

void Parser::check(const Block& block, bool soft) const {
  for (const StmtPtr& s : block) {
    for (const auto& e : s->values) check(e.get(), soft);
    check(s->condition.get(), false);
    for (const auto& [condition, body] : s->branches) check(condition.get(), true), check(body, true);
    for (const auto& p : s->parameters) check(p.fallback.get(), false);
    check(s->body, false);
    check(s->otherwise, false);
  }
}

bool Parser::names(const Arguments& a, uint32_t name) {
  for (const auto& e : a.positional)
    if (names(e.get(), name)) return true;
  for (const auto& [key, e] : a.named)
    if (names(e.get(), name)) return true;
  return names(a.more_positional.get(), name) || names(a.more_named.get(), name);
}

bool Parser::names(const Expr* e, uint32_t name) {
  if (!e) return false;
  if (e->kind == ExprKind::name && e->name == name) return true;
  for (const auto& item : e->items)
    if (names(item.get(), name)) return true;
  return names(e->arguments, name);
}

bool Parser::names(const Block& block, uint32_t name) {
  for (const StmtPtr& s : block) {
    for (const auto& e : s->values)
      if (names(e.get(), name)) return true;
    if (names(s->condition.get(), name)) return true;
    for (const auto& [condition, body] : s->branches)
      if (names(condition.get(), name) || names(body, name)) return true;
    for (const auto& p : s->parameters)
      if (names(p.fallback.get(), name)) return true;
    if (names(s->body, name) || names(s->otherwise, name)) return true;
  }
  return false;
}

}  // namespace lathe::jinja
