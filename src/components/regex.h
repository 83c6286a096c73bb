// The component "regex": regular expressions in the syntax of RE2, over UTF-8.
#pragma once

#include <cstddef>

#include "components/component.h"

namespace lathe {

struct RegexTable {
  ComponentTable component;
  /// Null for a pattern that is none; `why` (of `room` bytes) then says what is wrong with it. `longest`: of
  /// several matches at one place the longest is found, not that of the alternative that comes first.
  void* (*compile)(const char* pattern, size_t bytes, bool longest, char* why, size_t room);
  void (*release)(void* compiled);
  /// Does all of the text match? Thread-safe.
  bool (*matches)(const void* compiled, const char* text, size_t bytes);
  /// The first match within the text that begins at `from` or behind it. Thread-safe.
  bool (*find)(const void* compiled, const char* text, size_t bytes, size_t from, size_t* begin, size_t* end);
};

}  // namespace lathe
