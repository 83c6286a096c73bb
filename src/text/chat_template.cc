#include "lathe/chat_template.h"

#include <algorithm>

#include "base/error_about.h"
#include "base/utf8.h"
#include "text/chat_template_state.h"
#include "text/template/characters.h"
#include "text/template/interpreter.h"
#include "text/template/lexer.h"

namespace lathe {

static_assert(ChatTemplateLimits::source == jinja::max_source);
static_assert(ChatTemplateLimits::nesting == jinja::max_nesting &&
              ChatTemplateLimits::nesting == jinja::max_value_nesting);
static_assert(ChatTemplateLimits::expression == jinja::max_expression);
static_assert(ChatTemplateLimits::macros == jinja::max_macro_depth);
static_assert(ChatTemplateLimits::steps == jinja::max_steps);
static_assert(ChatTemplateLimits::output == jinja::max_output);
static_assert(ChatTemplateLimits::values == jinja::max_live);
static_assert(ChatTemplateLimits::range == jinja::max_range);

namespace {

/// Says where in the source a fault is.
Error template_error(const jinja::Fault& f, const std::string& origin, std::string_view source) {
  std::string got = f.got;
  if (f.at != static_cast<size_t>(-1)) {
    const std::string_view before = source.substr(0, std::min(f.at, source.size()));
    const size_t line = static_cast<size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    const size_t begin = before.rfind('\n');
    const size_t column = jinja::character_count(before.substr(begin == before.npos ? 0 : begin + 1)) + 1;
    got += " at line " + std::to_string(line) + ", column " + std::to_string(column);
  }
  return error_about(f.code, "template", origin, f.expected, std::move(got), f.remedy);
}

}  // namespace

ParsedTemplate parse_one(std::string_view source, std::string origin) {
  ParsedTemplate t;
  t.source = source;
  t.origin = std::move(origin);
  try {
    t.program = jinja::parse_template(source);
  } catch (const jinja::Fault& f) {
    throw template_error(f, t.origin, jinja::normalized(source));
  }
  return t;
}

namespace {

using jinja::Kind;
using jinja::Value;

[[noreturn]] void bad_request(const std::string& expected, const std::string& got) {
  throw jinja::Fault{Code::bad_argument, expected, got, {}};
}

const Value* member(const Value& dict, std::string_view name) {
  const Value* v = dict.is(Kind::dict) ? dict.as_dict().find(name) : nullptr;
  return v && !v->is(Kind::none) ? v : nullptr;
}

/// Returns a message whose reasoning also has the names under which templates look for it.
Value with_reasoning_names(const Value& message) {
  const Value* reasoning = member(message, "reasoning_content");
  if (!reasoning) reasoning = member(message, "thinking");
  if (!reasoning) reasoning = member(message, "reasoning");
  if (!reasoning) return message;
  std::vector<std::pair<Value, Value>> all{{Value::string("thinking"), *reasoning}};
  for (const auto& entry : message.as_dict().entries) all.push_back(entry);
  all.emplace_back(Value::string("reasoning_content"), *reasoning);
  return jinja::make_dict(std::move(all));
}

constexpr std::string_view continue_tag = "CONTINUE_FINAL_MESSAGE_TAG ";

Value with_member(const Value& dict, const char* name, Value v) {
  auto entries = dict.as_dict().entries;
  entries.emplace_back(Value::string(name), std::move(v));
  return jinja::make_dict(std::move(entries));
}

/// Marks where the last message ends, and returns its text.
std::string mark_final(Value& message) {
  const Value* content = member(message, "content");
  if (!content) bad_request("a last message with content that can be continued", "none");
  if (content->is(Kind::string)) {
    const std::string text = content->as_string();
    message = with_member(message, "content", Value::string(text + std::string(continue_tag)));
    return text;
  }
  if (content->is(Kind::list)) {
    std::vector<Value> parts = content->as_items();
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      const Value* text = part->is(Kind::dict) ? part->as_dict().find("text") : nullptr;
      if (!text || !text->is(Kind::string)) continue;
      std::string final_text = text->as_string();
      *part = with_member(*part, "text", Value::string(final_text + std::string(continue_tag)));
      message = with_member(message, "content", Value::list(std::move(parts)));
      return final_text;
    }
  }
  bad_request("a last message with text that can be continued", "none");
}

/// Drops what the template wrote after the text of the last message.
std::string cut_at_tag(std::string rendered, const std::string& final_text) {
  const std::string_view tag = jinja::strip_space(continue_tag);
  const size_t at = rendered.rfind(tag);
  const std::string_view text = jinja::strip_space(final_text);
  if (at == rendered.npos || jinja::find_text(rendered, text) == rendered.npos)
    bad_request("a template that writes the last message, which is to be continued",
                "one that leaves it out");
  const bool spaces_stay = std::string_view(rendered).substr(at, continue_tag.size()) == continue_tag;
  rendered.resize(at);
  if (!spaces_stay) rendered.resize(jinja::strip_space(rendered, false, true).size());
  return rendered;
}

}  // namespace

std::string ChatTemplate::render(const ChatRequest& request) const {
  const bool has_tools = !request.tools.empty() && request.tools != "null";
  std::string_view name = request.name;
  if (name.empty()) name = has_tools && state_->templates.contains("tool_use") ? "tool_use" : "default";
  const ParsedTemplate& t = state_->find(name);
  const jinja::Meter meter;
  size_t at = static_cast<size_t>(-1);
  try {
    for (const std::string* text : {&request.messages, &request.tools, &request.documents})
      if (!is_utf8(*text)) throw jinja::Fault{Code::wire_bad_utf8, "JSON in UTF-8", "other bytes", {}};
    if (request.continue_final_message && request.add_generation_prompt)
      bad_request("either add_generation_prompt or continue_final_message", "both");
    std::string final_text;
    const Value messages = [&] {
      const Value all = jinja::parse_json_value(request.messages, "messages");
      if (!all.is(Kind::list))
        bad_request("messages: a list", std::string("a value of type ") + all.type_name());
      std::vector<Value> list = all.as_items();
      for (Value& m : list) {
        if (!m.is(Kind::dict))
          bad_request("messages that are objects", std::string("a value of type ") + m.type_name());
        m = with_reasoning_names(m);
      }
      if (request.continue_final_message) {
        if (list.empty()) bad_request("a last message to continue", "no messages");
        final_text = mark_final(list.back());
      }
      return Value::list(std::move(list));
    }();
    const auto optional = [](const std::string& text, const char* what) {
      if (text.empty()) return Value::none();
      Value v = jinja::parse_json_value(text, what);
      if (!v.is(Kind::list) && !v.is(Kind::none))
        bad_request(std::string(what) + ": a list", std::string("a value of type ") + v.type_name());
      return v;
    };
    jinja::Interpreter::Variables variables;
    for (const auto& [key, text] : state_->special_tokens) variables.emplace_back(key, Value::string(text));
    for (const auto& [key, text] : request.variables) {
      if (!is_utf8(text)) throw jinja::Fault{Code::wire_bad_utf8, "JSON in UTF-8", "other bytes", {}};
      if (key == "messages" || key == "tools" || key == "documents" || key == "add_generation_prompt")
        bad_request("variables with other names", "'" + key + "'");
      variables.emplace_back(key, jinja::parse_json_value(text, "'" + key + "'"));
    }
    variables.emplace_back("messages", messages);
    variables.emplace_back("tools", optional(request.tools, "tools"));
    variables.emplace_back("documents", optional(request.documents, "documents"));
    variables.emplace_back("add_generation_prompt", Value::boolean(request.add_generation_prompt));
    jinja::Interpreter interpreter(*t.program, std::move(variables), request.now);
    std::string rendered;
    try {
      rendered = interpreter.run();
    } catch (const jinja::Fault&) {
      at = interpreter.at();
      throw;
    }
    return request.continue_final_message ? cut_at_tag(std::move(rendered), final_text) : rendered;
  } catch (jinja::Fault& f) {
    if (f.at == static_cast<size_t>(-1)) f.at = at;
    throw template_error(f, t.origin, t.program->source);
  }
}

std::vector<std::string> ChatTemplate::names() const {
  std::vector<std::string> all;
  for (const auto& entry : state_->templates) all.push_back(entry.first);
  return all;
}

const std::string& ChatTemplate::source(std::string_view name) const { return state_->find(name).source; }

const std::map<std::string, std::string>& ChatTemplate::special_tokens() const {
  return state_->special_tokens;
}

ChatTemplate ChatTemplate::with_special_tokens(std::map<std::string, std::string> tokens) const {
  auto other = std::make_shared<State>(*state_);
  other->special_tokens = std::move(tokens);
  return ChatTemplate(std::move(other));
}

}  // namespace lathe
