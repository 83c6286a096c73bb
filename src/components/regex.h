// The component "regex": regular expressions in the syntax of RE2, over UTF-8.
#pragma once

#include <cstddef>

#include "components/component.h"

namespace lathe {

struct RegexTable {
  ComponentTable component;
  /// Null for a pattern that is none; `why` (of `room` bytes) then says what is wrong with it.
  void* (*compile)(const char* pattern, size_t bytes, char* why, size_t room);
  void (*release)(void* compiled);
  /// Does all of the text match? Thread-safe.
  bool (*matches)(const void* compiled, const char* text, size_t bytes);
};

}  // namespace lathe
