// Makes programs of tokens: the grammar of Jinja2.
#pragma once

#include <initializer_list>

#include "text/template/ast.h"
#include "text/template/lexer.h"

namespace lathe::jinja {

/// Fills in the hidden names of all blocks.
void find_hidden_names(Program& program);

class Parser {
 public:
  explicit Parser(Program& program) : program_(program), tokens_(tokens_of(program.source)) {}
  void run();

 private:
  using Names = std::initializer_list<std::string_view>;
  const Lexeme& current() const { return tokens_[at_]; }
  const Lexeme& look() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  Lexeme next();
  bool is_op(std::string_view op) const { return current().token == Token::op && current().text == op; }
  bool is_name(std::string_view name) const {
    return current().token == Token::name && current().text == name;
  }
  bool is_any_name(Names names) const;
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_op(std::string_view op);
  std::string expect_name();
  [[noreturn]] void fail(std::string expected) const;
  [[noreturn]] void fail_at(size_t at, std::string got, std::string expected,
                            Code code = Code::template_malformed) const;
  std::string described() const;

  // Statements
  Block statements(Names ends);
  Block body_until(Names ends, bool drop = true);
  StmtPtr statement();
  StmtPtr for_loop();
  StmtPtr if_else();
  StmtPtr assignment();
  StmtPtr macro();
  StmtPtr call_block();
  StmtPtr filter_block();
  StmtPtr with_block();
  StmtPtr print();
  void signature(Stmt& s);
  void macro_body(Stmt& s, Names ends);
  Target target(bool with_namespace, Names ends);
  Target simple_target(bool with_namespace);
  StmtPtr made(StmtKind kind, size_t at) const { return std::make_unique<Stmt>(Stmt{kind, at}); }

  // Expressions
  ExprPtr expression(bool with_conditional = true);
  ExprPtr conditional();
  ExprPtr logical_or();
  ExprPtr logical_and();
  ExprPtr negation();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter = true);
  ExprPtr primary();
  ExprPtr list();
  ExprPtr dict();
  ExprPtr tuple(bool with_conditional = true, Names ends = {}, bool parenthesized = false);
  bool ends_tuple(Names ends) const;
  ExprPtr postfix(ExprPtr e);
  ExprPtr filters_and_tests(ExprPtr e);
  ExprPtr filter(ExprPtr e, bool inline_start = false);
  ExprPtr test(ExprPtr e);
  ExprPtr subscript(ExprPtr e);
  ExprPtr subscript_item();
  ExprPtr call(ExprPtr e);
  Arguments arguments();
  ExprPtr constant(Value v, size_t at) const;
  ExprPtr made(ExprKind kind, size_t at, std::vector<ExprPtr> items) const;
  ExprPtr closed(ExprPtr e) const;

  /// Refuses filters and tests that do not exist, but for those that an `if` may keep from being used.
  void check(const Expr* e, bool soft) const;
  void check(const Block& block, bool soft) const;
  void check(const Arguments& a, bool soft) const;
  /// Whether a macro's body names something, which is then passed to it.
  static bool names(const Block& block, uint32_t name);
  static bool names(const Expr* e, uint32_t name);
  static bool names(const Arguments& a, uint32_t name);

  struct Level {
    Level(Parser& p, int& depth, int limit);
    ~Level() { --depth; }
    int& depth;
  };

  Program& program_;
  std::vector<Lexeme> tokens_;
  size_t at_ = 0;
  int expression_depth_ = 0, statement_depth_ = 0;
  bool in_loop_ = false;
};

}  // namespace lathe::jinja
