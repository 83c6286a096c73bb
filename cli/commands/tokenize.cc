// `lathe tokenize`: texts as the tokens of a model, to look at or to run it on.
#include <fmt/core.h>

#include <iostream>
#include <memory>

#include "command.h"
#include "json.h"
#include "lathe/tokenizer.h"
#include "text.h"
#include "value_files.h"

namespace lathe::cli {
namespace {

struct TokenizeArguments {
  std::filesystem::path tokenizer, output;
  std::vector<std::string> texts;
  int64_t max_length = -1;
  std::string padding;
  bool pairs = false, no_special = false;
};

std::vector<std::string> texts_of(const TokenizeArguments& o) {
  if (!o.texts.empty()) return o.texts;
  std::vector<std::string> lines;
  for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
  return lines;
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

Tokenizer tokenizer_of(const TokenizeArguments& o) {
  Tokenizer t = Tokenizer::open(o.tokenizer);
  if (o.max_length >= 0) {
    Truncation cut = t.truncation().value_or(Truncation{});
    cut.max_length = o.max_length;
    t = t.with_truncation(cut);
  }
  if (o.padding == "none") return t.with_padding(std::nullopt);
  // An array needs texts of one length.
  if (o.padding == "longest" || (!o.output.empty() && !t.padding())) {
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
                                      const std::vector<TextInput>& texts) {
  std::error_code failed;
  std::filesystem::create_directories(o.output, failed);
  std::vector<std::string> files;
  for (const auto& [name, value] : t.inputs(texts, !o.no_special))
    files.push_back(write_value(o.output, name, value).string());
  return files;
}

int run_tokenize(const TokenizeArguments& o, bool json) {
  const Tokenizer t = tokenizer_of(o);
  const std::vector<TextInput> texts = inputs_of(o);
  const std::vector<Encoding> all = t.encode_batch(texts, !o.no_special);
  const std::vector<std::string> files =
      o.output.empty() ? std::vector<std::string>() : write_inputs(o, t, texts);
  if (json) {
    Json encodings = Json::array();
    for (const Encoding& e : all) encodings.push_back(to_json(e));
    print({{"encodings", encodings}, {"files", files}});
    return success;
  }
  print_text(all);
  if (!files.empty()) fmt::print("written: {}\n", join(files, ", "));
  return success;
}

}  // namespace

void add_tokenize(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "tokenize", "Texts as the tokens of a model, by its tokenizer.json",
              "  lathe tokenize tokenizer.json 'A man is eating food.' --padding none\n"
              "  lathe tokenize tokenizer.json --pairs 'Who eats?' 'A man is eating food.' --json\n"
              "  lathe tokenize tokenizer.json 'one' 'one two' --padding longest --output inputs\n");
  auto o = std::make_shared<TokenizeArguments>();
  sub->add_option("tokenizer", o->tokenizer, "tokenizer.json, or the directory of a checkpoint with one")
      ->required()
      ->type_name("FILE|DIR");
  sub->add_option("texts", o->texts, "Texts; the lines of standard input where there are none")
      ->type_name("TEXT");
  sub->add_flag("--pairs", o->pairs, "Texts belong together two by two");
  sub->add_option("--max-length", o->max_length, "Cut to so many tokens, special ones too")
      ->check(not_negative);
  sub->add_option("--padding", o->padding, "none, or longest: as long as the longest; else as the file says")
      ->check(CLI::IsMember({"none", "longest"}));
  sub->add_flag("--no-special-tokens", o->no_special, "Only what comes from the texts");
  sub->add_option("-o,--output", o->output, "Write input_ids.npy and the like there, for lathe run --inputs")
      ->type_name("DIR");
  sub->callback([&command, o] { command.run = [&command, o] { return run_tokenize(*o, command.json); }; });
}

}  // namespace lathe::cli
