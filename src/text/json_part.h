// A part of a JSON file, with its path in it, and functions that report errors about it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "text/pipeline.h"

namespace lathe::text {

class Part {
 public:
  Part(const Pipeline& state, const Json& json, std::string path)
      : state_(state), json_(json), path_(std::move(path)) {}

  const Json& json() const { return json_; }
  bool is_null() const { return json_.is_null(); }
  [[noreturn]] void fail(const std::string& expected, const std::string& got) const;
  [[noreturn]] void too_large(const std::string& expected, const std::string& got) const;
  [[noreturn]] void unsupported(const std::vector<std::string>& known, const std::string& got) const;

  /// Null if there is none.
  Part operator[](const std::string& key) const;
  std::vector<Part> items() const;
  std::string text() const;
  /// Returns a string of bounded length.
  std::string token() const;
  std::string token(const std::string& fallback) const { return is_null() ? fallback : token(); }
  std::string type() const;
  bool flag(bool fallback) const;
  int64_t number(int64_t most) const;
  int64_t number(int64_t most, int64_t fallback) const { return is_null() ? fallback : number(most); }
  int64_t id() const { return number((int64_t{1} << 32) - 2); }
  char32_t character() const;
  /// Returns the index of the word in the list; the first if it is null.
  size_t choice(const std::vector<std::string>& known) const;

 private:
  const Pipeline& state_;
  const Json& json_;
  std::string path_;
};

NormalizerPtr read_normalizer(const Part& p);
PreTokenizerPtr read_pre_tokenizer(const Part& p);
DecoderPtr read_decoder(const Part& p);
PostProcessorPtr read_post_processor(const Part& p);
ModelPtr read_model(const Part& p);
/// Reads the ids of tokens: an object.
Vocabulary read_vocabulary(const Part& p);

}  // namespace lathe::text
