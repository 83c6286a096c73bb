// Returns the code of the error that a piece of code throws.
#pragma once

#include <string>

#include "lathe/error.h"

namespace lathe::testing {

/// The code of the Error that f throws; Code::none when it throws none.
Code code_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.code();
  }
  return Code::none;
}

/// The sentence of the Error that f throws; empty when it throws none.
std::string sentence_of(auto&& f) {
  try {
    f();
  } catch (const Error& e) {
    return e.what();
  }
  return {};
}

}  // namespace lathe::testing
