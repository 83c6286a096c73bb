// Post-processors: special tokens around texts, and offsets without spaces.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/tokenizer.h"

namespace lathe::text {

/// The encodings of one text or two, and what becomes of them. The texts are by their numbers.
struct PostProcessing {
  std::vector<Encoding> encodings;
  std::vector<std::string_view> texts;
  bool special_tokens = true;
};

class PostProcessor {
 public:
  virtual ~PostProcessor() = default;
  /// Returns how many tokens it adds.
  virtual int64_t added(bool pair) const = 0;
  virtual void apply(PostProcessing& p) const = 0;
  virtual bool takes_pairs() const { return true; }
};
using PostProcessorPtr = std::unique_ptr<const PostProcessor>;

struct NamedToken {
  std::string text;
  int64_t id = 0;
};
/// One part of a template: a text, or special tokens.
struct TemplatePiece {
  int sequence = -1;  // 0, 1; -1: `tokens`
  int64_t type_id = 0;
  std::vector<NamedToken> tokens = {};
};
using Template = std::vector<TemplatePiece>;

PostProcessorPtr template_processor(Template single, Template pair);
PostProcessorPtr bert_processor(NamedToken begin, NamedToken end);
PostProcessorPtr roberta_processor(NamedToken begin, NamedToken end, bool trim, bool prefix_space);
PostProcessorPtr byte_level_processor(bool trim, bool prefix_space);
PostProcessorPtr post_processor_sequence(std::vector<PostProcessorPtr> parts);

/// Appends all of another encoding.
void append(Encoding& to, const Encoding& other);
/// Removes tokens at the end, or at the beginning.
void keep_tokens(Encoding& e, size_t count, bool left);

}  // namespace lathe::text
