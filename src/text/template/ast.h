// Templates after parsing.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/template/value.h"

namespace lathe::jinja {

struct FilterEntry;
struct TestEntry;

enum class ExprKind : uint8_t {
  constant,
  name,
  list,
  tuple,
  dict,       // keys and values alternate
  attribute,  // items[0].text
  subscript,  // items[0][items[1]]
  slice,      // items: start, stop, step; absent ones are null
  call,       // items[0](arguments)
  filter,     // items[0], or null in filter blocks
  test,       // items[0]
  negate,     // not
  minus,
  plus,
  conditional,  // items: test, then, else or null
  logical_and,
  logical_or,
  binary,       // text: the operator
  concatenate,  // ~
  compare,      // items, operators
};

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Arguments {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> named;
  ExprPtr more_positional, more_named;  // *x, **x
};

struct Expr {
  ExprKind kind;
  size_t at;  // byte of the source
  int depth = 1;
  std::string text = {};
  uint32_t name = 0;
  Value constant = {};
  std::vector<ExprPtr> items = {};
  std::vector<std::string> operators = {};
  Arguments arguments = {};
  const FilterEntry* filter = nullptr;
  const TestEntry* test = nullptr;
};

enum class StmtKind : uint8_t {
  data,
  print,
  for_loop,
  if_else,       // branches: test and body; an else has no test
  assign,        // target, value
  assign_block,  // target, value: filters or null, body
  macro,
  call_block,    // value: the call; parameters, body
  filter_block,  // value: filters
  with_block,    // targets and values, body
  scope_block,   // generation
  break_loop,
  continue_loop,
};

/// What an assignment writes: a name, an attribute of a namespace, or several of these.
struct Target {
  size_t at = 0;
  uint32_t name = 0;
  std::string attribute = {};  // empty: the name itself
  bool is_tuple = false;
  std::vector<Target> items = {};
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Block = std::vector<StmtPtr>;

struct Parameter {
  std::string text;
  uint32_t name = 0;
  ExprPtr fallback = nullptr;
};

struct Stmt {
  StmtKind kind;
  size_t at;
  std::string text = {};  // data; a macro's name
  std::vector<ExprPtr> values = {};
  std::vector<Target> targets = {};
  ExprPtr condition = {};  // of a loop
  std::vector<std::pair<ExprPtr, Block>> branches = {};
  Block body = {}, otherwise = {};
  std::vector<Parameter> parameters = {};
  uint32_t name = 0;
  std::vector<uint32_t> hidden = {}, hidden_otherwise = {};  // names of the body without a value at first
  bool takes_varargs = false, takes_kwargs = false, takes_caller = false;
};

/// A parsed template. Immutable, and shared by threads.
struct Program {
  std::string source;  // newlines are \n
  Block body;
  std::vector<uint32_t> hidden;    // names without a value at first
  std::vector<std::string> names;  // of variables, by number
  /// Returns the number of a name; names.size() if there is none.
  uint32_t find(std::string_view name) const;
  std::unordered_map<std::string, uint32_t> numbers;
  uint32_t intern(const std::string& name);
};

/// Throws Fault.
std::shared_ptr<const Program> parse_template(std::string_view source);

}  // namespace lathe::jinja
