// `lathe generate`: continues a text, or answers a question, token by token.
#include <fmt/core.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>

#include "command.h"
#include "generation_options.h"
#include "output.h"
#include "progress.h"
#include "stop_signals.h"
#include "text.h"

namespace lathe::cli {
namespace {

struct GenerateArguments {
  GeneratorArguments generator;
  SamplingArguments sampling;
  std::string prompt, system;
  size_t logprobs = 0;
  bool chat = false, quiet = false;
};

std::string prompt_of(const GenerateArguments& o) {
  if (o.prompt != "-") return o.prompt;
  std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  if (text.ends_with('\n')) text.pop_back();  // as shells do with what a command prints
  return text;
}

std::vector<int32_t> tokens_of(const GenerateArguments& o, const Generator& g) {
  if (!o.chat && o.system.empty()) return g.encode(prompt_of(o));
  std::vector<ChatMessage> messages;
  if (!o.system.empty()) messages.push_back({"system", o.system});
  messages.push_back({"user", prompt_of(o)});
  return g.encode_chat(messages);
}

Json likeliest(const Generator& g, const std::vector<TokenLogprob>& all) {
  Json list = Json::array();
  for (const TokenLogprob& t : all)
    list.push_back({{"token", t.token},
                    {"text", g.tokenizer().decode(std::vector<int64_t>{t.token}, false)},
                    {"logprob", t.logprob}});
  return list;
}

int run_generate(const GenerateArguments& o, bool json) {
  if (o.logprobs > 0 && !json) refuse_argument("--json with --logprobs", "text as the output");
  const Generator g = o.generator.open();
  const std::vector<int32_t> tokens = tokens_of(o, g);
  std::optional<Progress> progress(std::in_place, "computing the prompt");
  GenerationRequest request{.config = o.sampling.config(g),
                            .logprobs = json,
                            .top_logprobs = o.logprobs,
                            .ignore_eos = o.sampling.ignore_eos,
                            .control = &stop_on_signals()};
  request.prompt_progress = [&](int64_t done, int64_t total) {
    if (done == total)
      progress.reset();
    else if (progress)
      progress->stage("", static_cast<double>(done) / static_cast<double>(total));
  };
  Generation answer = g.generate(g.sequence(tokens), std::move(request));
  Json made = Json::array();
  std::string text;
  bool stopped = false;
  try {
    for (const GeneratedToken& t : answer) {
      text += t.text;
      if (json) {
        made.push_back({{"token", t.token}, {"text", t.text}, {"logprob", t.logprob}});
        if (o.logprobs > 0) made.back()["top"] = likeliest(g, t.top);
      } else if (!print_now(t.text)) {
        return success;  // nobody reads it any more, of which the caller tells
      }
    }
  } catch (const Error& e) {
    if (e.code() != Code::cancelled || !stop_signal()) throw;
    stopped = true;
  }
  const std::string reason = stopped ? "cancelled" : std::string(name_of(answer.finish_reason()));
  if (json) {
    print({{"text", text}, {"tokens", made}, {"finish_reason", reason}, {"usage", to_json(answer.usage())}});
  } else {
    fmt::print("\n");
    std::fflush(stdout);
    if (!o.quiet) print_error(describe(answer.usage()) + ", ended by " + reason + "\n");
  }
  return stopped ? 128 + stop_signal() : success;
}

}  // namespace

void add_generate(CLI::App& app, Command& command) {
  CLI::App* sub = declare(
      app, command, "generate", "Continue a text, or answer a question, with a language model",
      "  lathe generate decoder 'w3 w4 w5' --max-tokens 8\n"
      "  lathe generate decoder 'w3 w4' --chat --temperature 0.7 --top-p 0.9 --seed 1 --max-tokens 8\n"
      "  lathe generate decoder 'w3' --max-tokens 4 --json --logprobs 3\n");
  auto o = std::make_shared<GenerateArguments>();
  o->generator.add_to(sub);
  sub->add_option("prompt", o->prompt,
                  "Text to continue; -: standard input, without the end of its last line")
      ->required()
      ->type_name("TEXT");
  sub->add_flag("--chat", o->chat, "The text is a message, which the model answers by its chat template");
  sub->add_option("--system", o->system, "Message of the system before it, which is then a message too")
      ->type_name("TEXT");
  o->sampling.add_to(sub);
  sub->add_option("--logprobs", o->logprobs, "With --json, the likeliest tokens at each place")
      ->type_name("N");
  sub->add_flag("--quiet", o->quiet, "Print the text only");
  sub->callback([&command, o] { command.run = [&command, o] { return run_generate(*o, command.json); }; });
}

}  // namespace lathe::cli
