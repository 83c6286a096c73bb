#include "lathe/chat_template.h"

#include <algorithm>

#include "base/error_about.h"
#include "base/file.h"
#include "base/utf8.h"
#include "io/bounded_json.h"
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

constexpr uint64_t largest_template_file = uint64_t{16} << 20;

struct ParsedTemplate {
  std::string source, origin;
  std::shared_ptr<const jinja::Program> program;
};

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

}  // namespace

struct ChatTemplate::State {
  std::map<std::string, ParsedTemplate, std::less<>> templates;
  std::map<std::string, std::string> special_tokens;
  std::string origin;

  const ParsedTemplate& find(std::string_view name) const {
    const auto i = templates.find(name);
    if (i != templates.end()) return i->second;
    std::string all;
    for (const auto& entry : templates) all += (all.empty() ? "'" : ", '") + entry.first + "'";
    throw error_about(Code::bad_argument, "template", origin, "the name of a template: " + all,
                      "'" + std::string(name) + "'");
  }

  /// Takes the templates of a chat_template, which is a text or a list of names and texts.
  void add(const Json& chat_template, const std::string& from) {
    const auto fail = [&](const std::string& got) {
      throw error_about(Code::json_malformed, "template", from,
                        "chat_template: a text, or a list of objects with 'name' and 'template'", got);
    };
    if (chat_template.is_string()) {
      templates.insert_or_assign("default", parse_one(chat_template.get<std::string>(), from));
      return;
    }
    if (!chat_template.is_array()) fail(chat_template.type_name());
    for (const Json& one : chat_template) {
      const Json *name = one.find("name"), *text = one.find("template");
      if (!name || !text || !name->is_string() || !text->is_string()) fail("another item");
      const auto key = name->get<std::string>();
      templates.insert_or_assign(key, parse_one(text->get<std::string>(), from + ", " + key));
    }
  }

  /// Takes the special tokens of a tokenizer_config.json: texts, or objects with a content.
  void add_tokens(const Json& config) {
    for (const Json::Member& m : config.items()) {
      if (!m.name.ends_with("_token")) continue;
      const Json* text = m.value.is_object() ? m.value.find("content") : &m.value;
      if (text && text->is_string()) special_tokens[m.name] = text->get<std::string>();
    }
  }
};

namespace {

std::string template_text(const std::filesystem::path& path) {
  File f = open_regular(path);
  if (size_of(f, path) > largest_template_file)
    throw error_about(Code::wire_too_large, "template", path.string(),
                      "at most " + std::to_string(largest_template_file) + " bytes", "more");
  return std::string(read_file(std::move(f), path)->view());
}

bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

ChatTemplate ChatTemplate::parse(std::string_view source, std::string origin) {
  auto state = std::make_shared<State>();
  state->origin = origin;
  state->templates.emplace("default", parse_one(source, std::move(origin)));
  return ChatTemplate(std::move(state));
}

ChatTemplate ChatTemplate::parse_config(std::string_view json, std::string origin) {
  auto state = std::make_shared<State>();
  state->origin = origin;
  const Json config = parse_bounded_json(json, origin);
  state->add_tokens(config);
  if (const Json* t = config.find("chat_template"); t && !t->is_null()) state->add(*t, origin);
  if (state->templates.empty())
    throw error_about(Code::bad_argument, "template", origin, "a chat template", "none");
  return ChatTemplate(std::move(state));
}

ChatTemplate ChatTemplate::open(const std::filesystem::path& path) {
  auto state = std::make_shared<State>();
  state->origin = path.string();
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (const auto config = path / "tokenizer_config.json"; is_there(config)) {
      const Json json = parse_bounded_json(config);
      state->add_tokens(json);
      if (const Json* t = json.find("chat_template"); t && !t->is_null()) state->add(*t, config.string());
    }
    if (const auto file = path / "chat_template.json"; is_there(file)) {
      const Json json = parse_bounded_json(file);
      if (const Json* t = json.find("chat_template"); t && !t->is_null()) state->add(*t, file.string());
    }
    const auto own = path / "chat_template.jinja";
    const auto more = path / "additional_chat_templates";
    const bool has_files = is_there(own) || std::filesystem::is_directory(more, ignored);
    if (has_files) state->templates.clear();
    if (is_there(own)) state->templates.emplace("default", parse_one(template_text(own), own.string()));
    if (has_files && std::filesystem::is_directory(more, ignored)) {
      for (const auto& entry : std::filesystem::directory_iterator(more, ignored))
        if (entry.path().extension() == ".jinja")
          state->templates.insert_or_assign(entry.path().stem().string(),
                                            parse_one(template_text(entry.path()), entry.path().string()));
    }
  } else if (path.extension() == ".json") {
    const Json json = parse_bounded_json(path);
    state->add_tokens(json);
    if (const Json* t = json.find("chat_template"); t && !t->is_null()) state->add(*t, path.string());
  } else {
    state->templates.emplace("default", parse_one(template_text(path), path.string()));
  }
  if (state->templates.empty())
    throw error_about(Code::bad_argument, "template", path.string(), "a chat template", "none",
                      "give the file of a template, or a directory that has one");
  return ChatTemplate(std::move(state));
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
