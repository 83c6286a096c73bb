// Opens chat templates: a file, a folder, GGUF.
#include <fstream>

#include "base/error_about.h"
#include "base/file.h"
#include "io/bounded_json.h"
#include "io/gguf.h"
#include "text/chat_template_state.h"
#include "text/gguf_templates.h"
#include "text/text_files.h"

namespace lathe {

const ParsedTemplate& ChatTemplate::State::find(std::string_view name) const {
  const auto i = templates.find(name);
  if (i != templates.end()) return i->second;
  std::string all;
  for (const auto& entry : templates) all += (all.empty() ? "'" : ", '") + entry.first + "'";
  throw error_about(Code::bad_argument, "template", origin, "the name of a template: " + all,
                    "'" + std::string(name) + "'");
}

void ChatTemplate::State::add(const Json& chat_template, const std::string& from) {
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

void ChatTemplate::State::add_tokens(const Json& config) {
  for (const Json::Member& m : config.items()) {
    if (!m.name.ends_with("_token")) continue;
    const Json* text = m.value.is_object() ? m.value.find("content") : &m.value;
    if (text && text->is_string()) special_tokens[m.name] = text->get<std::string>();
  }
}

namespace {

constexpr uint64_t largest_template_file = uint64_t{16} << 20;

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

namespace {

constexpr const char* config_file = "tokenizer_config.json";
constexpr const char* json_file = "chat_template.json";
constexpr const char* own_file = "chat_template.jinja";
constexpr const char* more_folder = "additional_chat_templates";
constexpr std::string_view template_extension = ".jinja";

/// Returns the name of a template in a file of `more_folder`; empty for other files.
std::string_view name_in_more(std::string_view file) {
  const std::string_view folder = more_folder;
  if (!file.starts_with(folder) || !file.ends_with(template_extension)) return {};
  file.remove_prefix(folder.size());
  if (!file.starts_with('/') || file.size() <= template_extension.size() + 1) return {};
  return file.substr(1, file.size() - 1 - template_extension.size());
}

}  // namespace

text::TextFiles text::read_template_files(const std::filesystem::path& folder) {
  TextFiles files;
  for (const char* name : {config_file, json_file, own_file})
    if (is_there(folder / name)) files[name] = template_text(folder / name);
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder / more_folder, ignored))
    if (entry.path().extension() == template_extension)
      files[std::string(more_folder) + "/" + entry.path().filename().string()] = template_text(entry.path());
  return files;
}

std::optional<ChatTemplate> text::chat_template_of(const TextFiles& files,
                                                   const std::filesystem::path& folder) {
  auto state = std::make_shared<ChatTemplateMaker::State>();
  state->origin = folder.empty() ? std::string(own_file) : folder.string();
  const auto path_of = [&](const std::string& name) { return (folder / name).string(); };
  for (const char* name : {config_file, json_file}) {
    const auto file = files.find(name);
    if (file == files.end()) continue;
    const Json json = parse_bounded_json(file->second, path_of(name));
    if (name == config_file) state->add_tokens(json);
    if (const Json* t = json.find("chat_template"); t && !t->is_null()) state->add(*t, path_of(name));
  }
  std::map<std::string, ParsedTemplate, std::less<>> alone;
  for (const auto& [name, source] : files) {
    const std::string_view key = name == own_file ? "default" : name_in_more(name);
    if (!key.empty()) alone.insert_or_assign(std::string(key), parse_one(source, path_of(name)));
  }
  if (!alone.empty()) state->templates = std::move(alone);
  if (state->templates.empty()) return std::nullopt;
  return ChatTemplateMaker::of(std::move(state));
}

ChatTemplate ChatTemplate::open(const std::filesystem::path& path) {
  const auto refuse = [&] {
    return error_about(Code::bad_argument, "template", path.string(), "a chat template", "none",
                       "give the file of a template, or a directory that has one");
  };
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    if (auto t = text::chat_template_of(text::read_template_files(path), path)) return *t;
    throw refuse();
  }
  auto state = std::make_shared<State>();
  state->origin = path.string();
  open_regular(path);  // throws where there is no such file
  char head[4] = {};
  std::ifstream(path, std::ios::binary).read(head, sizeof head);
  if (begins_as_gguf({head, sizeof head})) {
    text::GgufTemplates said = text::read_gguf_templates(Gguf::open(path));
    for (auto& [name, source] : said.templates)
      state->templates.emplace(name, parse_one(source, state->origin + ", " + name));
    state->special_tokens = std::move(said.special_tokens);
  } else if (path.extension() == ".json") {
    const Json json = parse_bounded_json(path);
    state->add_tokens(json);
    if (const Json* t = json.find("chat_template"); t && !t->is_null()) state->add(*t, path.string());
  } else {
    state->templates.emplace("default", parse_one(template_text(path), path.string()));
  }
  if (state->templates.empty()) throw refuse();
  return ChatTemplate(std::move(state));
}

}  // namespace lathe
