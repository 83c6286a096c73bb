// `lathe tokenize`: texts and conversations as the tokens of a model, to look at or to run it on; and tokens
// as texts.
#include <fmt/core.h>

#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>

#include "command.h"
#include "generation_options.h"
#include "json.h"
#include "lathe/chat_template.h"
#include "lathe/generate.h"
#include "lathe/tokenizer.h"
#include "model_options.h"
#include "output.h"
#include "text.h"
#include "value_files.h"

namespace lathe::cli {
namespace {

namespace fs = std::filesystem;

struct TokenizeArguments {
  std::string tokenizer, chat, chat_template;
  fs::path output;
  std::vector<std::string> texts, special_tokens;
  TokenizerOptions options;
  int64_t max_length = -1;
  std::string padding;
  bool pairs = false, no_special = false, decode = false, keep_special = false;
};

std::vector<std::string> lines_of_input() {
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> texts_of(const TokenizeArguments& o) {
  return o.texts.empty() ? lines_of_input() : o.texts;
}

std::string contents_of(const std::string& file) {
  if (file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream in(file, std::ios::binary);
  if (std::error_code ignored; !in || fs::is_directory(file, ignored))
    throw Error(Code::file_not_found, "command line", "a file that can be read", "'" + file + "'",
                "-: standard input");
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<TextInput> inputs_of(const TokenizeArguments& o) {
  const std::vector<std::string> texts = texts_of(o);
  std::vector<TextInput> all;
  if (!o.pairs) {
    all.assign(texts.begin(), texts.end());
    return all;
  }
  if (texts.size() % 2) refuse_argument("texts two by two", std::to_string(texts.size()));
  for (size_t i = 0; i < texts.size(); i += 2) all.emplace_back(texts[i], texts[i + 1]);
  return all;
}

std::optional<int64_t> number_in(std::string_view text) {
  int64_t n = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), n);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return n;
}

/// Opens a plan of a language model, which holds its tokenizer and template; nothing for other files.
std::optional<Generator> plan_of(const TokenizeArguments& o) {
  if (!is_plan(o.tokenizer)) return std::nullopt;
  return Generator::load(o.tokenizer, {.build = {.threads = 1}});
}

Tokenizer open_tokenizer(const TokenizeArguments& o, const TokenizerOptions& options) {
  const auto plan = plan_of(o);
  return plan ? plan->tokenizer() : Tokenizer::open(o.tokenizer, options);
}

/// Returns the tokenizer for so many texts.
Tokenizer tokenizer_of(const TokenizeArguments& o, size_t texts) {
  TokenizerOptions options = o.options;
  for (const std::string& said : o.special_tokens) {
    const size_t cut = said.rfind('=');
    const auto id = cut == said.npos ? std::nullopt : number_in(std::string_view(said).substr(cut + 1));
    if (!id) refuse_argument("--special-token TEXT=ID", "'" + said + "'");
    options.special_tokens[said.substr(0, cut)] = *id;
  }
  Tokenizer t = open_tokenizer(o, options);
  if (o.max_length >= 0) {
    Truncation cut = t.truncation().value_or(Truncation{});
    cut.max_length = o.max_length;
    t = t.with_truncation(cut);
  }
  if (o.padding == "none") return t.with_padding(std::nullopt);
  // An array needs texts of one length.
  if (o.padding == "longest" || (!o.output.empty() && texts > 1 && !t.padding())) {
    Padding pad = t.padding().value_or(Padding{});
    pad.length = 0;
    return t.with_padding(pad);
  }
  return t;
}

Json to_json(const Encoding& e) {
  return {{"ids", e.ids},
          {"tokens", e.tokens},
          {"type_ids", e.type_ids},
          {"attention_mask", e.attention_mask},
          {"special_mask", e.special_mask},
          {"sequence", e.sequence},
          {"offsets", e.offsets}};
}

void print_text(const std::vector<Encoding>& all) {
  for (const Encoding& e : all) {
    std::vector<std::string> ids;
    for (int64_t id : e.ids) ids.push_back(std::to_string(id));
    fmt::print("{}\n{}\n\n", printable(join(e.tokens, " ")), join(ids, " "));
  }
}

std::vector<std::string> write_inputs(const TokenizeArguments& o, const Tokenizer& t,
                                      const std::vector<TextInput>& texts, bool special_tokens) {
  std::error_code failed;
  std::filesystem::create_directories(o.output, failed);
  std::vector<std::string> files;
  for (const auto& [name, value] : t.inputs(texts, special_tokens))
    files.push_back(write_value(o.output, name, value).string());
  return files;
}

using Ids = std::vector<int64_t>;

/// Reads ids that spaces or commas part, or a list of JSON.
Ids ids_in(std::string_view text) {
  constexpr std::string_view between = " \t\r\n,";
  const auto trim = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
    text = text.substr(0, text.find_last_not_of(between) + 1);
  };
  trim();
  if (text.starts_with('[') && text.ends_with(']')) {
    text = text.substr(1, text.size() - 2);
    trim();
  }
  Ids ids;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(between));
    const auto id = number_in(word);
    if (!id)
      refuse_argument("ids of tokens: numbers that spaces or commas part", "'" + std::string(word) + "'");
    ids.push_back(*id);
    text.remove_prefix(word.size());
    text.remove_prefix(std::min(text.find_first_not_of(between), text.size()));
  }
  return ids;
}

/// Returns one list of all arguments; of standard input one of each line, or the lists of JSON that it is.
std::vector<Ids> lists_of_ids(const TokenizeArguments& o) {
  if (!o.texts.empty()) {
    Ids all;
    for (const std::string& text : o.texts) std::ranges::copy(ids_in(text), std::back_inserter(all));
    return {all};
  }
  const std::string all = contents_of("-");
  const size_t first = all.find_first_not_of(" \t\r\n");
  std::vector<Ids> lists;
  if (first == all.npos) return lists;
  if (const Json j = all[first] == '[' ? Json::parse(all, nullptr, false) : Json(); j.is_array()) {
    const auto is_list = [](const Json& item) { return item.is_array(); };
    if (j.empty() || !std::ranges::all_of(j, is_list)) return {ids_in(j.dump())};
    for (const Json& item : j) lists.push_back(ids_in(item.dump()));
    return lists;
  }
  for (size_t at = 0; at < all.size();) {
    const size_t end = std::min(all.find('\n', at), all.size());
    lists.push_back(ids_in(std::string_view(all).substr(at, end - at)));
    at = end + 1;
  }
  return lists;
}

int run_decode(const TokenizeArguments& o, bool json) {
  const Tokenizer t = tokenizer_of(o, 0);
  const std::vector<Ids> lists = lists_of_ids(o);
  const std::vector<std::string> texts = t.decode_batch(lists, !o.keep_special);
  Ids absent;
  for (const Ids& ids : lists)
    for (int64_t id : ids)
      if (t.token_of(id).empty()) absent.push_back(id);
  if (json) {
    Json decoded = Json::array();
    for (size_t i = 0; i < lists.size(); ++i) decoded.push_back({{"ids", lists[i]}, {"text", texts[i]}});
    print({{"texts", decoded}, {"without_token", absent}});
    return success;
  }
  for (const std::string& text : texts) fmt::print("{}\n", text);
  if (!absent.empty()) {
    std::vector<std::string> words;
    for (int64_t id : absent) words.push_back(std::to_string(id));
    print_error("no token has these ids, which add nothing: " + join(words, " ") + "\n");
  }
  return success;
}

/// Reads a conversation: a list of messages, or the arguments of a template, messages among them.
ChatRequest conversation_of(const TokenizeArguments& o) {
  const std::string from = o.chat == "-" ? "standard input" : o.chat;
  const auto malformed = [&](const std::string& expected, const std::string& got) {
    return Error(Code::json_malformed, "read", from + ": " + expected, got);
  };
  const std::string text = contents_of(o.chat);
  const auto bounded = [&](int depth, Json::parse_event_t, Json& v) {
    if (depth > ChatTemplateLimits::nesting)
      throw malformed("at most " + std::to_string(ChatTemplateLimits::nesting) + " levels", "more");
    // What is beyond 64 bits would lose digits.
    if (v.is_number_float() && std::abs(v.get<double>()) >= 18446744073709551616.0)
      throw malformed("numbers below 2^64", v.dump());
    return true;
  };
  Json j;
  try {
    j = Json::parse(text, bounded);
  } catch (const Json::exception& e) {
    throw malformed("JSON", e.what());
  }
  ChatRequest r;
  r.add_generation_prompt = true;
  if (j.is_array()) {
    r.messages = j.dump();
    return r;
  }
  if (!j.is_object() || !j.contains("messages"))
    throw malformed("a list of messages, or an object with messages", j.is_object() ? "none" : j.type_name());
  const auto flag = [&](const std::string& name, bool usual) {
    if (!j.contains(name)) return usual;
    if (!j[name].is_boolean()) throw malformed(name + ": true or false", j[name].type_name());
    return j[name].get<bool>();
  };
  r.continue_final_message = flag("continue_final_message", false);
  r.add_generation_prompt = flag("add_generation_prompt", !r.continue_final_message);
  for (const auto& [name, value] : j.items()) {
    if (name == "messages")
      r.messages = value.dump();
    else if (name == "tools")
      r.tools = value.dump();
    else if (name == "documents")
      r.documents = value.dump();
    else if (name != "add_generation_prompt" && name != "continue_final_message")
      r.variables[name] = value.dump();
  }
  return r;
}

ChatTemplate open_template(const TokenizeArguments& o) {
  if (const auto plan = plan_of(o)) return plan->chat_template();
  fs::path model = o.tokenizer;
  if (std::error_code ignored; model.extension() != ".gguf" && !fs::is_directory(model, ignored))
    model = model.has_parent_path() ? model.parent_path() : fs::path(".");
  return ChatTemplate::open(model);
}

/// Returns the template of the model, or the given one with the special tokens of the model.
ChatTemplate template_of(const TokenizeArguments& o) {
  if (o.chat_template.empty()) return open_template(o);
  const ChatTemplate given = ChatTemplate::open(o.chat_template);
  if (!given.special_tokens().empty()) return given;
  try {
    return given.with_special_tokens(open_template(o).special_tokens());
  } catch (const Error& e) {
    if (e.code() != Code::bad_argument) throw;  // the model has no template
    return given;
  }
}

int run_encode(const TokenizeArguments& o, bool json) {
  std::vector<TextInput> texts;
  std::string rendered;
  if (o.chat.empty()) {
    texts = inputs_of(o);
  } else {
    if (!o.texts.empty()) refuse_argument("a conversation, or texts", "both");
    rendered = template_of(o).render(conversation_of(o));
    texts.emplace_back(rendered);
  }
  const Tokenizer t = tokenizer_of(o, texts.size());
  // Templates write the special tokens themselves.
  const bool special_tokens = !o.no_special && o.chat.empty();
  const std::vector<Encoding> all = t.encode_batch(texts, special_tokens);
  const std::vector<std::string> files =
      o.output.empty() ? std::vector<std::string>() : write_inputs(o, t, texts, special_tokens);
  if (json) {
    Json encodings = Json::array();
    for (const Encoding& e : all) encodings.push_back(to_json(e));
    Json j{{"encodings", encodings}, {"files", files}};
    if (!o.chat.empty()) j["text"] = rendered;
    print(j);
    return success;
  }
  if (!o.chat.empty()) fmt::print("{}\n\n", rendered);
  print_text(all);
  if (!files.empty()) fmt::print("written: {}\n", join(files, ", "));
  return success;
}

int run_tokenize(const TokenizeArguments& o, bool json) {
  return o.decode ? run_decode(o, json) : run_encode(o, json);
}

}  // namespace

void add_tokenize(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "tokenize", "Texts and conversations as the tokens of a model, and back",
              "  lathe tokenize tokenizer.json 'A man is eating food.' --padding none\n"
              "  lathe tokenize tokenizer.json --pairs 'Who eats?' 'A man is eating food.' --json\n"
              "  lathe tokenize tokenizer.json 'one' 'one two' --padding longest --output inputs\n"
              "  lathe tokenize tokenizer.json --decode 101 1037 2158 102 --keep-special\n"
              "  lathe tokenize decoder --chat conversation.json\n"
              "  lathe tokenize own.tiktoken 'abba' --pattern '[ab]+' --special-token '<|end|>=300'\n");
  auto o = std::make_shared<TokenizeArguments>();
  sub->add_option(
         "tokenizer", o->tokenizer,
         "tokenizer.json, a .model of SentencePiece, ranks of tiktoken, a .gguf, the .lathe plan of a "
         "language model, or a directory with a tokenizer")
      ->required()
      ->type_name("FILE|DIR");
  sub->add_option("texts", o->texts,
                  "Texts, or ids with --decode; the lines of standard input where there are none")
      ->type_name("TEXT");
  CLI::Option* decode = sub->add_flag(
      "--decode", o->decode, "Print the text of tokens: ids that spaces or commas part, or JSON lists");
  sub->add_flag("--keep-special", o->keep_special, "Special tokens are part of that text")->needs(decode);
  CLI::Option* chat =
      sub->add_option(
             "--chat", o->chat,
             "A conversation as JSON, which the chat template makes a text: a list of messages, or an "
             "object with messages, tools and whatever the template reads; -: standard input")
          ->type_name("FILE")
          ->excludes(decode);
  sub->add_option("--template", o->chat_template, "Another chat template than the model's")
      ->type_name("FILE|DIR")
      ->needs(chat);
  sub->add_flag("--pairs", o->pairs, "Texts belong together two by two")->excludes(decode)->excludes(chat);
  sub->add_option("--max-length", o->max_length, "Cut to so many tokens, special ones too")
      ->check(not_negative)
      ->excludes(decode);
  sub->add_option("--padding", o->padding, "none, or longest: as long as the longest; else as the file says")
      ->check(CLI::IsMember({"none", "longest"}))
      ->excludes(decode);
  sub->add_flag("--no-special-tokens", o->no_special, "Only what comes from the texts")->excludes(decode);
  sub->add_option("-o,--output", o->output, "Write input_ids.npy and the like there, for lathe run --inputs")
      ->type_name("DIR")
      ->excludes(decode);
  sub->add_option("--encoding", o->options.encoding,
                  "Of ranks: the encoding that they belong to, as cl100k_base; else the name of the file")
      ->type_name("NAME");
  sub->add_option("--pattern", o->options.pattern, "Of ranks: the regular expression that splits texts")
      ->type_name("REGEX");
  sub->add_option("--special-token", o->special_tokens, "Of ranks with a pattern: a special token and its id")
      ->type_name("TEXT=ID")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  sub->callback([&command, o] {
    for (std::string* word :
         {&o->tokenizer, &o->chat, &o->chat_template, &o->options.encoding, &o->options.pattern})
      *word = unmarked(*word);
    for (std::string& text : o->texts) text = unmarked(text);
    for (std::string& text : o->special_tokens) text = unmarked(text);
    command.run = [&command, o] { return run_tokenize(*o, command.json); };
  });
}

}  // namespace lathe::cli
