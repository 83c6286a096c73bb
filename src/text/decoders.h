// Decoders: tokens back to texts, one after the other.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/pattern.h"
#include "text/pre_tokenizers.h"

namespace lathe::text {

/// Takes tokens. A token may come in fragments, where it grows while others are decoded.
class DecoderSink {
 public:
  virtual ~DecoderSink() = default;
  virtual void token(std::string_view text) = 0;  // a token, or the beginning of one
  virtual void more(std::string_view text) = 0;   // more of it
  virtual void end() = 0;
};
using DecoderSinkPtr = std::unique_ptr<DecoderSink>;

/// A decoder: makes stages that change tokens and hand them on. Immutable; thread-safe.
class Decoder {
 public:
  virtual ~Decoder() = default;
  /// `fragments`: tokens come in fragments; set to whether they leave so.
  virtual DecoderSinkPtr stage(DecoderSinkPtr next, bool fragments) const = 0;
  virtual bool fragments(bool in) const = 0;
};
using DecoderPtr = std::unique_ptr<const Decoder>;

DecoderPtr byte_level_decoder();
DecoderPtr byte_fallback_decoder();
DecoderPtr fuse_decoder();
DecoderPtr strip_decoder(char32_t content, size_t start, size_t stop);
DecoderPtr replace_decoder(Pattern pattern, std::string by);
DecoderPtr metaspace_decoder(std::string replacement, PrependScheme scheme);
DecoderPtr word_piece_decoder(std::string prefix, bool cleanup);
DecoderPtr ctc_decoder(std::string pad, std::string delimiter, bool cleanup);
DecoderPtr bpe_decoder(std::string suffix);
DecoderPtr decoder_sequence(std::vector<DecoderPtr> parts);
/// Where a file has no decoder: tokens with spaces between them.
DecoderPtr spaces_decoder();

}  // namespace lathe::text
