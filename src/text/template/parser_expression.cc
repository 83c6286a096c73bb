// Expressions, from what binds least to what binds most.
#include <algorithm>

#include "text/template/filters.h"
#include "text/template/parser.h"

namespace lathe::jinja {

ExprPtr Parser::closed(ExprPtr e) const {
  const auto count = [&](const ExprPtr& child) {
    if (child) e->depth = std::max(e->depth, child->depth + 1);
  };
  for (const auto& item : e->items) count(item);
  for (const auto& item : e->arguments.positional) count(item);
  for (const auto& [name, item] : e->arguments.named) count(item);
  count(e->arguments.more_positional);
  count(e->arguments.more_named);
  if (e->depth > max_expression)
    fail_at(e->at, "more", "an expression of at most " + std::to_string(max_expression) + " levels",
            Code::template_too_large);
  return e;
}

ExprPtr Parser::made(ExprKind kind, size_t at, std::vector<ExprPtr> items) const {
  auto e = std::make_unique<Expr>(Expr{kind, at});
  e->items = std::move(items);
  return closed(std::move(e));
}

namespace {

template <class... T>
std::vector<ExprPtr> several(T... e) {
  std::vector<ExprPtr> all;
  (all.push_back(std::move(e)), ...);
  return all;
}

}  // namespace

ExprPtr Parser::constant(Value v, size_t at) const {
  auto e = std::make_unique<Expr>(Expr{ExprKind::constant, at});
  e->constant = std::move(v);
  return e;
}

ExprPtr Parser::expression(bool with_conditional) { return with_conditional ? conditional() : logical_or(); }

ExprPtr Parser::conditional() {
  const Level level(*this, expression_depth_, max_expression);
  const size_t at = current().at;
  ExprPtr e = logical_or();
  while (skip_name("if")) {
    ExprPtr test = logical_or();
    ExprPtr other = skip_name("else") ? conditional() : nullptr;
    e = made(ExprKind::conditional, at, several(std::move(test), std::move(e), std::move(other)));
  }
  return e;
}

ExprPtr Parser::logical_or() {
  const size_t at = current().at;
  ExprPtr e = logical_and();
  while (skip_name("or")) {
    ExprPtr other = logical_and();
    e = made(ExprKind::logical_or, at, several(std::move(e), std::move(other)));
  }
  return e;
}

ExprPtr Parser::logical_and() {
  const size_t at = current().at;
  ExprPtr e = negation();
  while (skip_name("and")) {
    ExprPtr other = negation();
    e = made(ExprKind::logical_and, at, several(std::move(e), std::move(other)));
  }
  return e;
}

ExprPtr Parser::negation() {
  if (!is_name("not")) return comparison();
  const Level level(*this, expression_depth_, max_expression);
  const size_t at = next().at;
  return made(ExprKind::negate, at, several(negation()));
}

ExprPtr Parser::comparison() {
  const size_t at = current().at;
  ExprPtr e = sum();
  std::vector<ExprPtr> items;
  std::vector<std::string> operators;
  for (;;) {
    std::string op;
    static constexpr std::string_view known[] = {"==", "!=", "<", "<=", ">", ">="};
    if (current().token == Token::op && std::ranges::find(known, current().text) != std::end(known)) {
      op = next().text;
    } else if (skip_name("in")) {
      op = "in";
    } else if (is_name("not") && look().token == Token::name && look().text == "in") {
      at_ += 2;
      op = "not in";
    } else {
      break;
    }
    if (items.empty()) items.push_back(std::move(e));
    items.push_back(sum());
    operators.push_back(std::move(op));
  }
  if (items.empty()) return e;
  e = made(ExprKind::compare, at, std::move(items));
  e->operators = std::move(operators);
  return e;
}

ExprPtr Parser::sum() {
  ExprPtr e = concatenation();
  while (is_op("+") || is_op("-")) {
    Lexeme op = next();
    ExprPtr other = concatenation();
    e = made(ExprKind::binary, op.at, several(std::move(e), std::move(other)));
    e->text = std::move(op.text);
  }
  return e;
}

ExprPtr Parser::concatenation() {
  const size_t at = current().at;
  ExprPtr e = product();
  if (!is_op("~")) return e;
  std::vector<ExprPtr> items = several(std::move(e));
  while (skip_op("~")) items.push_back(product());
  return made(ExprKind::concatenate, at, std::move(items));
}

ExprPtr Parser::product() {
  ExprPtr e = power();
  while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
    Lexeme op = next();
    ExprPtr other = power();
    e = made(ExprKind::binary, op.at, several(std::move(e), std::move(other)));
    e->text = std::move(op.text);
  }
  return e;
}

ExprPtr Parser::power() {
  ExprPtr e = unary();
  while (is_op("**")) {
    Lexeme op = next();
    ExprPtr other = unary();
    e = made(ExprKind::binary, op.at, several(std::move(e), std::move(other)));
    e->text = std::move(op.text);
  }
  return e;
}

ExprPtr Parser::unary(bool with_filter) {
  const Level level(*this, expression_depth_, max_expression);
  ExprPtr e;
  if (is_op("-") || is_op("+")) {
    Lexeme op = next();
    e = made(op.text == "-" ? ExprKind::minus : ExprKind::plus, op.at, several(unary(false)));
  } else {
    e = primary();
  }
  e = postfix(std::move(e));
  return with_filter ? filters_and_tests(std::move(e)) : std::move(e);
}

ExprPtr Parser::primary() {
  const size_t at = current().at;
  switch (current().token) {
    case Token::name: {
      const std::string name = next().text;
      if (name == "true" || name == "True") return constant(Value::boolean(true), at);
      if (name == "false" || name == "False") return constant(Value::boolean(false), at);
      if (name == "none" || name == "None") return constant(Value::none(), at);
      auto e = std::make_unique<Expr>(Expr{ExprKind::name, at});
      e->name = program_.intern(name);
      e->text = name;
      return e;
    }
    case Token::string: {
      std::string all = next().text;
      while (current().token == Token::string) all += next().text;
      return constant(Value::string(std::move(all)), at);
    }
    case Token::integer:
      return constant(Value::integer(next().integer), at);
    case Token::real:
      return constant(Value::real(next().real), at);
    default:
      break;
  }
  if (skip_op("(")) {
    ExprPtr e = tuple(true, {}, true);
    expect_op(")");
    return e;
  }
  if (is_op("[")) return list();
  if (is_op("{")) return dict();
  fail("an expression");
}

bool Parser::ends_tuple(Names ends) const {
  return current().token == Token::variable_end || current().token == Token::block_end || is_op(")") ||
         is_any_name(ends);
}

ExprPtr Parser::tuple(bool with_conditional, Names ends, bool parenthesized) {
  const size_t at = current().at;
  std::vector<ExprPtr> items;
  bool comma = false;
  for (;;) {
    if (!items.empty()) expect_op(",");
    if (ends_tuple(ends)) break;
    items.push_back(expression(with_conditional));
    if (!is_op(",")) break;
    comma = true;
  }
  if (!comma) {
    if (!items.empty()) return std::move(items.front());
    if (!parenthesized) fail("an expression");
  }
  return made(ExprKind::tuple, at, std::move(items));
}

ExprPtr Parser::list() {
  const size_t at = next().at;
  std::vector<ExprPtr> items;
  while (!is_op("]")) {
    if (!items.empty()) expect_op(",");
    if (is_op("]")) break;
    items.push_back(expression());
  }
  expect_op("]");
  return made(ExprKind::list, at, std::move(items));
}

ExprPtr Parser::dict() {
  const size_t at = next().at;
  std::vector<ExprPtr> items;
  while (!is_op("}")) {
    if (!items.empty()) expect_op(",");
    if (is_op("}")) break;
    items.push_back(expression());
    expect_op(":");
    items.push_back(expression());
  }
  expect_op("}");
  return made(ExprKind::dict, at, std::move(items));
}

ExprPtr Parser::postfix(ExprPtr e) {
  for (;;) {
    if (is_op(".") || is_op("["))
      e = subscript(std::move(e));
    else if (is_op("("))
      e = call(std::move(e));
    else
      return e;
  }
}

ExprPtr Parser::filters_and_tests(ExprPtr e) {
  for (;;) {
    if (is_op("|"))
      e = filter(std::move(e));
    else if (is_name("is"))
      e = test(std::move(e));
    else if (is_op("("))
      e = call(std::move(e));
    else
      return e;
  }
}

ExprPtr Parser::filter(ExprPtr e, bool inline_start) {
  while (is_op("|") || inline_start) {
    if (!inline_start) ++at_;
    inline_start = false;
    auto f = std::make_unique<Expr>(Expr{ExprKind::filter, current().at});
    f->text = expect_name();
    while (skip_op(".")) f->text += "." + expect_name();
    f->filter = find_filter(f->text);
    f->items.push_back(std::move(e));
    if (is_op("(")) f->arguments = arguments();
    e = closed(std::move(f));
  }
  return e;
}

ExprPtr Parser::test(ExprPtr e) {
  ++at_;
  const size_t at = current().at;
  const bool negated = skip_name("not");
  auto t = std::make_unique<Expr>(Expr{ExprKind::test, at});
  t->text = expect_name();
  while (skip_op(".")) t->text += "." + expect_name();
  t->test = find_test(t->text);
  t->items.push_back(std::move(e));
  const Token kind = current().token;
  if (is_op("(")) {
    t->arguments = arguments();
  } else if ((kind == Token::name || kind == Token::string || kind == Token::integer || kind == Token::real ||
              is_op("[") || is_op("{")) &&
             !is_any_name({"else", "or", "and"})) {
    if (is_name("is")) fail("no second test");
    t->arguments.positional.push_back(postfix(primary()));
  }
  e = closed(std::move(t));
  return negated ? made(ExprKind::negate, at, several(std::move(e))) : std::move(e);
}

ExprPtr Parser::subscript(ExprPtr e) {
  const Lexeme op = next();
  if (op.text == ".") {
    if (current().token == Token::integer) {
      ExprPtr index = constant(Value::integer(current().integer), current().at);
      ++at_;
      return made(ExprKind::subscript, op.at, several(std::move(e), std::move(index)));
    }
    if (current().token != Token::name) fail("a name or a number");
    std::string name = next().text;
    e = made(ExprKind::attribute, op.at, several(std::move(e)));
    e->text = std::move(name);
    return e;
  }
  std::vector<ExprPtr> items;
  while (!is_op("]")) {
    if (!items.empty()) expect_op(",");
    items.push_back(subscript_item());
  }
  expect_op("]");
  ExprPtr index =
      items.size() == 1 ? std::move(items.front()) : made(ExprKind::tuple, op.at, std::move(items));
  return made(ExprKind::subscript, op.at, several(std::move(e), std::move(index)));
}

ExprPtr Parser::subscript_item() {
  const size_t at = current().at;
  std::vector<ExprPtr> parts;
  if (is_op(":")) {
    parts.push_back(nullptr);
  } else {
    ExprPtr e = expression();
    if (!is_op(":")) return e;
    parts.push_back(std::move(e));
  }
  ++at_;
  const auto ends = [&] { return is_op("]") || is_op(","); };
  parts.push_back(is_op(":") || ends() ? nullptr : expression());
  parts.push_back(skip_op(":") && !ends() ? expression() : nullptr);
  return made(ExprKind::slice, at, std::move(parts));
}

ExprPtr Parser::call(ExprPtr e) {
  auto c = std::make_unique<Expr>(Expr{ExprKind::call, current().at});
  c->items.push_back(std::move(e));
  c->arguments = arguments();
  return closed(std::move(c));
}

Arguments Parser::arguments() {
  Arguments a;
  expect_op("(");
  bool first = true;
  while (!is_op(")")) {
    if (!first) {
      expect_op(",");
      if (is_op(")")) break;
    }
    first = false;
    if (is_op("*")) {
      if (a.more_positional || a.more_named) fail("at most one '*', before '**'");
      ++at_;
      a.more_positional = expression();
    } else if (is_op("**")) {
      if (a.more_named) fail("at most one '**'");
      ++at_;
      a.more_named = expression();
    } else if (current().token == Token::name && look().token == Token::op && look().text == "=") {
      if (a.more_named) fail("'**' at the end");
      std::string name = next().text;
      ++at_;
      for (const auto& other : a.named)
        if (other.first == name) fail("each name once");
      a.named.emplace_back(std::move(name), expression());
    } else {
      if (a.more_positional || a.more_named || !a.named.empty()) fail("arguments without names first");
      a.positional.push_back(expression());
    }
  }
  expect_op(")");
  return a;
}

}  // namespace lathe::jinja
