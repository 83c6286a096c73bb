// Runs programs.
#pragma once

#include <functional>
#include <optional>

#include "text/template/ast.h"
#include "text/template/filters.h"

namespace lathe::jinja {

/// Variables of a block; what it does not have, a block around it has.
struct Scope : Object {
  std::shared_ptr<Scope> parent;
  const Value* find(uint32_t name) const;
  void set(uint32_t name, Value v);

 private:
  std::vector<std::pair<uint32_t, Value>> values_;
  std::unordered_map<uint32_t, uint32_t> index_;  // where there are many
};
using ScopePtr = std::shared_ptr<Scope>;

struct Macro : Object {
  const Stmt* definition = nullptr;
  ScopePtr closure;
};

/// The variable `loop`. Items that a condition leaves out are found as late as Jinja2 finds them.
struct Loop : Object {
  std::vector<Value> all;
  std::function<bool(const Value&)> keeps;  // empty: all are kept
  std::vector<Value> kept;
  size_t next = 0;  // of `all`
  size_t index0 = 0;
  int depth0 = 0;
  std::optional<Value> changed;
  /// Whether there are so many kept items.
  bool has(size_t count);
  const Value& item(size_t i) const { return keeps || !kept.empty() ? kept[i] : all[i]; }
};

/// What is written, which charges the meter.
struct Output : Object {
  std::string text;
  void append(std::string_view more);
};

class Interpreter {
 public:
  using Variables = std::vector<std::pair<std::string, Value>>;
  /// `now` is the time in seconds since 1970 that strftime_now sees.
  Interpreter(const Program& program, Variables variables, std::optional<int64_t> now);
  ~Interpreter();
  std::string run();
  /// The byte of the source that was evaluated last.
  size_t at() const { return at_; }
  std::optional<int64_t> now() const { return now_; }

  Value call(const Value& f, Args args);
  Value attribute(const Value& o, const std::string& name);
  Value subscript(const Value& o, const Value& key);
  Value filter(const std::string& name, const Value& v, const Args& args);
  bool test(const std::string& name, const Value& v, const Args& args);
  /// Keeps a namespace until the end, since it may contain itself.
  Value keep_space(std::shared_ptr<Space> s);

 private:
  enum class Flow : uint8_t { normal, broke, continued };
  struct Level;

  Flow run_block(const Block& block, const ScopePtr& scope, Output& out);
  Flow run_one(const Stmt& s, const ScopePtr& scope, Output& out);
  Flow run_loop(const Stmt& s, const ScopePtr& scope, Output& out);
  Flow run_set_block(const Stmt& s, const ScopePtr& scope);
  Flow run_filter_block(const Stmt& s, const ScopePtr& scope, Output& out);
  Flow run_with(const Stmt& s, const ScopePtr& scope, Output& out);
  void run_call_block(const Stmt& s, const ScopePtr& scope, Output& out);
  void print(const Value& v, Output& out);
  void assign(const Target& target, const Value& v, Scope& scope);
  Value make_macro(const Stmt& s, const ScopePtr& scope);
  Value call_macro(const Macro& m, Args args);
  Value loop_attribute(Loop& loop, const Value& self, const std::string& name);
  Value loop_method(const Value& self, const std::string& name, const Args& args);

  Value evaluate(const Expr& e, const ScopePtr& scope);
  Value evaluate_items(const Expr& e, const ScopePtr& scope);
  Value evaluate_dict(const Expr& e, const ScopePtr& scope);
  Value evaluate_subscript(const Expr& e, const ScopePtr& scope);
  Value evaluate_slice(const Value& o, const Expr& s, const ScopePtr& scope);
  Value evaluate_call(const Expr& e, const ScopePtr& scope, const Value* caller = nullptr);
  Value evaluate_filter(const Expr& e, const ScopePtr& scope, const Value* input);
  Value evaluate_test(const Expr& e, const ScopePtr& scope);
  Value evaluate_concatenation(const Expr& e, const ScopePtr& scope);
  Value evaluate_comparison(const Expr& e, const ScopePtr& scope);
  Value evaluate_binary(const Expr& e, const ScopePtr& scope);
  Args evaluate(const Arguments& a, const ScopePtr& scope);
  ScopePtr inner(const ScopePtr& scope, const std::vector<uint32_t>& hidden = {});

  const Program& program_;
  std::optional<int64_t> now_;
  ScopePtr globals_, root_;
  size_t at_ = 0;
  int level_ = 0, macro_depth_ = 0, loop_depth_ = 0;
  uint32_t loop_name_, varargs_, kwargs_, caller_;
  std::vector<std::shared_ptr<Space>> spaces_;  // they may refer to themselves
  std::vector<std::shared_ptr<Macro>> macros_;
  std::vector<std::shared_ptr<Object>> loops_;
};

}  // namespace lathe::jinja
