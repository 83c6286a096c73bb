// The component "regex": regular expressions in the syntax of RE2, over UTF-8.
#pragma once

#include <cstddef>

#include "components/component.h"

namespace lathe {

struct RegexTable {
  ComponentTable component;
  /// Returns null for an invalid pattern; `why` (of `capacity` bytes) then says what is wrong with it.
  /// `longest`: of several matches at one place the longest is found, not that of the first alternative.
  void* (*compile)(const char* pattern, size_t bytes, bool longest, char* why, size_t capacity);
  void (*release)(void* compiled);
  /// Returns whether all of the text matches. Thread-safe.
  bool (*matches)(const void* compiled, const char* text, size_t bytes);
  /// Finds the first match within the text that begins at `from` or behind it. Thread-safe.
  bool (*find)(const void* compiled, const char* text, size_t bytes, size_t from, size_t* begin, size_t* end);
};

}  // namespace lathe
