#include "base/json_text.h"

#include <algorithm>
#include <cstdio>

#include "base/utf8.h"

namespace lathe {
namespace {

/// How many bytes at the start of `s` are one character; 0: it is none.
size_t character(std::string_view s) {
  for (size_t n = 1; n <= std::min<size_t>(4, s.size()); ++n)
    if (is_utf8(s.substr(0, n))) return n;
  return 0;
}

}  // namespace

std::string valid_utf8(std::string_view s) {
  if (is_utf8(s)) return std::string(s);
  std::string text;
  while (!s.empty()) {
    const size_t n = character(s);
    text += n ? s.substr(0, n) : std::string_view("\xef\xbf\xbd");
    s.remove_prefix(n ? n : 1);
  }
  return text;
}

std::string json_text(std::string_view s) {
  std::string text = "\"";
  for (char c : valid_utf8(s)) {
    if (c == '"' || c == '\\') {
      text += '\\';
      text += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == '<' || c == 0x7f) {
      char escape[7];
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
      text += escape;
    } else {
      text += c;
    }
  }
  return text + '"';
}

}  // namespace lathe
