// What a ChatTemplate holds.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "lathe/chat_template.h"

namespace lathe {

namespace jinja {
struct Program;
}
class Json;

struct ParsedTemplate {
  std::string source, origin;
  std::shared_ptr<const jinja::Program> program;
};
/// Throws what ChatTemplate::parse() throws.
ParsedTemplate parse_one(std::string_view source, std::string origin);

struct ChatTemplate::State {
  std::map<std::string, ParsedTemplate, std::less<>> templates;
  std::map<std::string, std::string> special_tokens;
  std::string origin;

  /// Throws bad_argument for a name that there is not.
  const ParsedTemplate& find(std::string_view name) const;
  /// Takes the templates of a chat_template, which is a text or a list of names and texts.
  void add(const Json& chat_template, const std::string& from);
  /// Takes the special tokens of a tokenizer_config.json: texts, or objects with a content.
  void add_tokens(const Json& config);
};

struct ChatTemplateMaker {
  using State = ChatTemplate::State;
  static ChatTemplate of(std::shared_ptr<const State> state) { return ChatTemplate(std::move(state)); }
};

}  // namespace lathe
