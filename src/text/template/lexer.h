// Splits templates into tokens.
#pragma once

#include <string>
#include <vector>

#include "text/template/value.h"

namespace lathe::jinja {

enum class Token : uint8_t {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  real,
  op,
  end,
};

struct Lexeme {
  Token token;
  size_t at;         // byte of the source
  std::string text;  // what a string says; an operator
  int64_t integer = 0;
  double real = 0;
};

/// Returns the source with \n for every newline, without one at the end.
std::string normalized(std::string_view source);
/// `source` is normalized. Throws Fault.
std::vector<Lexeme> tokens_of(std::string_view source);

}  // namespace lathe::jinja
