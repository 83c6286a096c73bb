// Writes tokenizer.json for vocabularies that have no description of their steps.
#pragma once

#include <string>

#include "text/plain_vocabulary.h"

namespace lathe::text {

/// Returns the text of a tokenizer.json with which the Rust library makes the tokens that make_tokenizer(v)
/// makes. It has one rank for each merge: of equal scores the lower id goes first, and of pairs that make one
/// token the longer first part. Of unigram that library normalizes clusters of characters rather than what
/// the table has, finds byte pieces in texts, and sums in float64. Throws what make_tokenizer() throws, and
/// not_supported for unigram with unused tokens or with user-defined ones that its normalization changes.
std::string tokenizer_document(const PlainVocabulary& v, const std::string& origin);

}  // namespace lathe::text
