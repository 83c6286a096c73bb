#include "lathe/tokenizer.h"

#include <string>

#include "fuzz/targets.h"

namespace lathe::fuzz {

/// The bytes are a file of a tokenizer, and behind a 0 the text that it gets.
void tokenizer(Bytes data) {
  const std::string_view all = chars(data);
  const size_t end = std::min(all.find('\0'), all.size());
  const std::string text(all.substr(std::min(end + 1, all.size())));
  code_of([&] {
    const Tokenizer t = Tokenizer::parse(all.substr(0, end)).with_truncation({}).with_padding({});
    Encoding e;
    if (code_of([&] { e = t.encode(text); }) != Code::none) return;
    require(e.ids.size() == e.tokens.size() && e.ids.size() == e.offsets.size() &&
                e.ids.size() == e.sequence.size() && e.ids.size() == e.special_mask.size(),
            "all lists have the same length");
    for (const auto& [begin, behind] : e.offsets)
      require(begin <= text.size() && behind <= text.size(), "offsets are within the text");
    std::string whole, joined;
    const Code code = code_of([&] { whole = t.decode(e.ids); });
    const Code streamed = code_of([&] {
      DecodeStream stream = t.decode_stream();
      for (int64_t id : e.ids) joined += stream.append(id);
      joined += stream.finish();
    });
    require(code == streamed && whole == joined, "a stream decodes as it does at once");
  });
}

}  // namespace lathe::fuzz
