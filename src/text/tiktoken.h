// Files of ranks as https://github.com/openai/tiktoken has them: a line for each token with its bytes in
// base64 and its rank, which is its id.
#pragma once

#include <string>
#include <string_view>

#include "lathe/tokenizer.h"
#include "text/added_tokens.h"
#include "text/named_splits.h"

namespace lathe::text {

/// Returns whether bytes begin as such a file does.
bool looks_like_ranks(std::string_view bytes);

/// Makes a tokenizer of a file's bytes. Throws json_malformed for lines that are none of such a file, for ids
/// that two tokens have and for single bytes that no token is; wire_too_large for more than 64 MiB, tokens of
/// more than 1024 bytes and for more merges than 2^23; not_supported for a pattern beyond the syntax.
Tokenizer read_ranks(std::string_view bytes, const NamedEncoding& encoding, std::string origin);

}  // namespace lathe::text
