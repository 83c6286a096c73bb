// What holds of any tokenizer that a file makes, whatever it says.
#pragma once

#include <string>

#include "fuzz/targets.h"
#include "lathe/tokenizer.h"

namespace lathe::fuzz {

inline void check_decoding(const Tokenizer& t, const std::vector<int64_t>& ids, bool skip_special) {
  std::string whole, joined;
  const Code code = code_of([&] { whole = t.decode(ids, skip_special); });
  const Code streamed = code_of([&] {
    DecodeStream stream = t.decode_stream(skip_special);
    for (int64_t id : ids) joined += stream.append(id);
    joined += stream.finish();
  });
  require(code == streamed && whole == joined, "a stream decodes as it does at once");
}

inline void check_tokenizer(const Tokenizer& t, const std::string& text) {
  Encoding e;
  if (code_of([&] { e = t.encode(text); }) != Code::none) return;
  require(e.ids.size() == e.tokens.size() && e.ids.size() == e.offsets.size() &&
              e.ids.size() == e.sequence.size() && e.ids.size() == e.special_mask.size(),
          "all lists have the same length");
  for (const auto& [begin, behind] : e.offsets)
    require(begin <= text.size() && behind <= text.size(), "offsets are within the text");
  check_decoding(t, e.ids, true);
}

/// Splits bytes: the low six bits of the first say how long the text is that follows it; a file is behind.
struct TextAndFile {
  explicit TextAndFile(Bytes data) {
    if (data.empty()) return;
    choice = static_cast<uint8_t>(data[0] >> 6);
    const std::string_view all = chars(data.subspan(1));
    text = all.substr(0, data[0] & 63);
    file = all.substr(text.size());
  }
  std::string text;
  std::string_view file;
  uint8_t choice = 0;
};

}  // namespace lathe::fuzz
