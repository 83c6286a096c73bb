// The component "regex", through RE2.
#include "components/regex.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <new>
#include <string>
#include <string_view>

namespace lathe {
namespace {

void* compile(const char* pattern, size_t bytes, bool longest, char* why, size_t capacity) {
  RE2::Options options;  // UTF-8, as RE2 has it
  options.set_longest_match(longest);
  options.set_log_errors(false);
  try {
    auto compiled = std::make_unique<RE2>(std::string(pattern, bytes), options);
    if (compiled->ok()) return compiled.release();
    std::snprintf(why, capacity, "%s", compiled->error().c_str());
  } catch (const std::bad_alloc&) {
    std::snprintf(why, capacity, "no memory for it");
  }
  return nullptr;
}

void release(void* compiled) { delete static_cast<RE2*>(compiled); }

bool matches(const void* compiled, const char* text, size_t bytes) {
  return static_cast<const RE2*>(compiled)->Match(std::string_view(text, bytes), 0, bytes, RE2::ANCHOR_BOTH,
                                                  nullptr, 0);
}

bool find(const void* compiled, const char* text, size_t bytes, size_t from, size_t* begin, size_t* end) {
  re2::StringPiece found;
  if (from > bytes || !static_cast<const RE2*>(compiled)->Match(std::string_view(text, bytes), from, bytes,
                                                                RE2::UNANCHORED, &found, 1))
    return false;
  *begin = static_cast<size_t>(found.data() - text);
  *end = *begin + found.size();
  return true;
}

constexpr RegexTable table{{component_abi, "regex", "", ""}, compile, release, matches, find};

}  // namespace
}  // namespace lathe

extern "C" __attribute__((visibility("default"))) const lathe::ComponentTable* lathe_component() {
  return &lathe::table.component;
}
