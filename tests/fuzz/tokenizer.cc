#include <string>

#include "fuzz/tokenizer_check.h"

namespace lathe::fuzz {

/// The bytes are a file of a tokenizer, and behind a 0 the text that it gets.
void tokenizer(Bytes data) {
  const std::string_view all = chars(data);
  const size_t end = std::min(all.find('\0'), all.size());
  const std::string text(all.substr(std::min(end + 1, all.size())));
  code_of([&] {
    check_tokenizer(Tokenizer::parse(all.substr(0, end)).with_truncation({}).with_padding({}), text);
  });
}

}  // namespace lathe::fuzz
