// `lathe chat`: a conversation with a language model, line by line.
#include <fmt/core.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <utility>

#include "command.h"
#include "generation_options.h"
#include "output.h"
#include "stop_signals.h"

namespace lathe::cli {
namespace {

struct ChatArguments {
  GeneratorArguments generator;
  SamplingArguments sampling;
  std::string system;
  std::vector<std::string> said;
};

class Conversation {
 public:
  Conversation(const ChatArguments& o, bool json)
      : generator_(o.generator.open()),
        config_(o.sampling.config(generator_)),
        sequence_(generator_.sequence()),
        system_(o.system),
        json_(json),
        ignore_eos_(o.sampling.ignore_eos) {
    generator_.chat_template();  // an error where there is none
    reset();
  }

  /// Answers a message; what the model knows of the conversation is not computed again.
  void answer(const std::string& message) {
    const size_t before = messages_.size();
    try {
      answer_or_throw(message);
    } catch (const Error& e) {
      if (e.code() == Code::cancelled) throw;
      // The message did not fit, or the like: the conversation is as it was.
      end_on_signals();
      messages_.resize(before);
      failed_ = true;
      if (json_) print_line({{"error", to_json(e.diagnostic())}});
      print_error(std::string(e.what()) + "\n");
    }
  }

  /// Returns the exit code of a conversation that ends here. `alone`: nobody saw what was refused.
  int exit_code(bool alone) const { return alone && failed_ ? model_at_fault : success; }
  /// Returns whether somebody reads what is printed.
  bool is_read() const { return is_read_; }

  void reset() {
    messages_.clear();
    if (!system_.empty()) messages_.push_back({"system", system_});
  }

 private:
  void answer_or_throw(const std::string& message) {
    // From here on: a long message takes its time to be encoded.
    RunControl& control = stop_on_signals();
    messages_.push_back({"user", message});
    sequence_.assign(generator_.encode_chat(messages_));
    Generation made =
        generator_.generate(std::exchange(sequence_, generator_.sequence()),
                            {.config = config_, .ignore_eos = ignore_eos_, .control = &control});
    std::string text, reason;
    try {
      for (const GeneratedToken& t : made) {
        text += t.text;
        if (!json_ && !(is_read_ = print_now(t.text))) return;
      }
      reason = name_of(made.finish_reason());
    } catch (const Error& e) {
      // Ctrl-C ends the answer, not the conversation; other signals end the program.
      sequence_ = made.sequence();
      if (e.code() != Code::cancelled || stop_signal() != SIGINT) throw;
      reason = "cancelled";
    }
    end_on_signals();
    // One that came behind the last token has nothing to end any more: not the next answer.
    if (stop_signal() == SIGINT) go_on_after_signal();
    control.check();
    sequence_ = made.sequence();
    messages_.push_back({"assistant", text});
    if (json_) {
      print_line({{"text", text}, {"finish_reason", reason}, {"usage", to_json(made.usage())}});
    } else {
      is_read_ = print_now("\n");
      print_error(describe(made.usage()) + ", ended by " + reason + "\n");
    }
  }

  void print_line(const Json& j) {
    is_read_ = print_now(j.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  }

  Generator generator_;
  GenerationConfig config_;
  TokenSequence sequence_;
  std::string system_;
  bool json_, ignore_eos_, failed_ = false, is_read_ = true;
  std::vector<ChatMessage> messages_;
};

int run_chat(const ChatArguments& o, bool json) {
  Conversation conversation(o, json);
  for (const std::string& message : o.said)
    if (conversation.is_read()) conversation.answer(message);
  const bool asks = ::isatty(STDIN_FILENO) && !json;
  if (asks) print_error("/reset begins anew, /exit ends; Ctrl-C stops an answer\n");
  for (std::string line; conversation.is_read();) {
    if (asks) print_error("> ");
    if (!std::getline(std::cin, line) || line == "/exit") break;
    if (line == "/reset")
      conversation.reset();
    else if (!line.empty())
      conversation.answer(line);
  }
  return conversation.exit_code(!asks);
}

}  // namespace

void add_chat(CLI::App& app, Command& command) {
  CLI::App* sub =
      declare(app, command, "chat", "A conversation with a language model, a line a message",
              "  lathe chat decoder --say 'w3 w4' --max-tokens 8\n"
              "  lathe chat decoder --system w7 --temperature 0.7 --say w3 --max-tokens 8 --json\n");
  auto o = std::make_shared<ChatArguments>();
  o->generator.add_to(sub);
  sub->add_option("--system", o->system, "Message of the system before all others")->type_name("TEXT");
  sub->add_option("--say", o->said, "A message before those of standard input; may be repeated")
      ->type_name("TEXT")
      ->allow_extra_args(false);
  o->sampling.add_to(sub);
  sub->callback([&command, o] { command.run = [&command, o] { return run_chat(*o, command.json); }; });
}

}  // namespace lathe::cli
