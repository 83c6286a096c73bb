// Chat templates turn conversations into the text that a language model was trained on: the Jinja templates
// of tokenizer_config.json, chat_template.jinja and GGUF files.
//
//   const auto chat = lathe::ChatTemplate::open("checkpoint");
//   std::string prompt = chat.render({.messages = R"([{"role": "user", "content": "Hello"}])"});
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/export.h"

namespace lathe {

/// A conversation and what a template is told beside it. transformers: arguments of apply_chat_template.
struct ChatRequest {
  std::string messages =
      "[]";                    // JSON: a list of objects with "role", "content" and whatever a template reads
  std::string tools = {};      // JSON: a list of descriptions of functions; empty: none
  std::string documents = {};  // JSON: a list of documents to answer from; empty: none
  bool add_generation_prompt = false;  // end with the beginning of the assistant's answer
  /// End within the last message, which the model continues: what the template writes after its content is
  /// left out. Not together with add_generation_prompt.
  bool continue_final_message = false;
  /// Further variables by name, each as JSON; they go before special tokens of the same name.
  std::map<std::string, std::string> variables = {};
  std::string name = {};  // template to use; empty: "tool_use" with tools if there is one, else "default"
  std::optional<int64_t> now = {};  // seconds since 1970 that strftime_now sees; nothing: the clock's
};

/// Limits of templates and of what they make, which keep time and memory bounded whatever a template says.
struct ChatTemplateLimits {
  static constexpr size_t source = size_t{1} << 20;   // bytes of a template
  static constexpr int nesting = 100;                 // statements, brackets, and values within each other
  static constexpr int expression = 200;              // levels of an expression
  static constexpr int macros = 100;                  // macros that call each other
  static constexpr uint64_t steps = 10'000'000;       // expressions and statements that a rendering evaluates
  static constexpr size_t output = size_t{64} << 20;  // bytes of a text
  static constexpr size_t values = size_t{256} << 20;  // bytes of all values of a rendering
  static constexpr int64_t range = 100'000;            // numbers of a range(), as Jinja2's sandbox has it
};

/// One or several chat templates and the special tokens that they print. Immutable; copies share the parsed
/// templates; thread-safe.
///
/// The language is that of Jinja2 3.1 as transformers uses it: its immutable sandbox with trim_blocks,
/// lstrip_blocks, break and continue, generation blocks, raise_exception, strftime_now and its own filter
/// tojson. docs/reference/chat-templates.md lists what is not there, which is refused with line and column.
class LATHE_API ChatTemplate {
 public:
  /// Opens a file or a directory. A file is a chat_template.jinja; GGUF, with the templates and special
  /// tokens of its metadata; or JSON: a tokenizer_config.json or a chat_template.json, whose chat_template is
  /// a text or a list of names and templates. In a directory, chat_template.jinja takes precedence over
  /// chat_template.json and tokenizer_config.json, which brings the special tokens;
  /// additional_chat_templates/*.jinja are templates with these names. Throws file_not_found,
  /// file_not_regular, file_unreadable; json_malformed for other JSON; wire_too_large for more than 16 MiB;
  /// template_malformed, template_unsupported, template_too_large as parse() does; what Gguf::open() throws;
  /// bad_argument where there is no template.
  static ChatTemplate open(const std::filesystem::path& path);
  /// Parses the source of a template, UTF-8; errors name `origin` in the place of a file. Throws
  /// template_malformed for other syntax than Jinja2's, template_unsupported for what this library does not
  /// have, template_too_large beyond the limits, wire_bad_utf8.
  static ChatTemplate parse(std::string_view source, std::string origin = "template");

  /// Parses the text of a tokenizer_config.json or chat_template.json, as open() reads it; errors name
  /// `origin` in the place of a file. Throws as open() does.
  static ChatTemplate parse_config(std::string_view json, std::string origin = "tokenizer_config.json");

  /// Returns what the template makes of a conversation. Throws template_failed where the template raises an
  /// exception or does what values do not allow, template_unsupported, template_too_large; all with line and
  /// column. Throws json_malformed for a text of the request that is no JSON, wire_bad_utf8, bad_argument for
  /// a name that no template has and for a last message that cannot be continued.
  std::string render(const ChatRequest& request) const;

  /// Returns the names of the templates, sorted: "default", "tool_use", "rag", ….
  std::vector<std::string> names() const;
  /// Returns the source of a template as it was read. Throws bad_argument for a name that no template has.
  const std::string& source(std::string_view name = "default") const;
  /// Returns the special tokens that templates see as variables: "bos_token", "eos_token", ….
  const std::map<std::string, std::string>& special_tokens() const;
  /// Returns templates that see other special tokens.
  ChatTemplate with_special_tokens(std::map<std::string, std::string> tokens) const;

 private:
  friend struct ChatTemplateMaker;
  struct State;
  explicit ChatTemplate(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

}  // namespace lathe
