// The steps of a tokenizer: normalizer, pre-tokenizer, model, post-processor; decoder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lathe/error.h"
#include "lathe/tokenizer.h"
#include "text/added_tokens.h"
#include "text/decoders.h"
#include "text/model.h"
#include "text/normalizers.h"
#include "text/post_processors.h"
#include "text/pre_tokenizers.h"

namespace lathe::text {

/// Published limits of what a file may contain.
constexpr int64_t longest_encoding = int64_t{1} << 20;
constexpr size_t longest_token = 8192, max_template_pieces = 256, max_parts = 64;

/// What a file says except truncation and padding, which users change. Immutable once made.
struct Pipeline {
  std::string origin;
  NormalizerPtr normalizer;       // null: none
  PreTokenizerPtr pre_tokenizer;  // null: none
  ModelPtr model;
  AddedTokens added;
  PostProcessorPtr post_processor;  // null: none
  DecoderPtr decoder = spaces_decoder();

  /// Joins the parts: where byte-level letters need not be written out, they are not. Called once.
  void finish();

  /// Returns the tokens of a text that is number `sequence`, at least `limit` where there are so many: those
  /// at the beginning, or at the end.
  Encoding encode(std::string_view text, int sequence, size_t limit, bool from_end) const;
  /// Throws bad_argument.
  void truncate(const Truncation& t, int64_t limit, Encoding& first, Encoding* second) const;
  /// Returns what a decoder gets for an id; nothing: the id has no token, or is left out.
  std::optional<std::string_view> decoded(int64_t id, bool skip_special) const;

  [[noreturn]] void fail(Code code, std::string expected, std::string got, std::string remedy = {}) const;
  [[noreturn]] void fail(const PatternFault& f) const;
};

}  // namespace lathe::text

namespace lathe {

struct Tokenizer::State : text::Pipeline {};

}  // namespace lathe
