// Writes tokenizer.json for vocabularies that have no description of their steps.
#pragma once

#include <string>

#include "text/plain_vocabulary.h"

namespace lathe::text {

/// Returns the text of a tokenizer.json with which the Rust library makes the tokens that make_tokenizer(v)
/// makes. It has one rank for each merge: of equal scores the lower id goes first, and of pairs that make one
/// token the longer first part. Throws what make_tokenizer() throws, and not_supported for unigram: the Rust
/// library normalizes otherwise and knows no types of tokens within a model.
std::string tokenizer_document(const PlainVocabulary& v, const std::string& origin);

}  // namespace lathe::text
