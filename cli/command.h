// What every subcommand of `lathe` shares: how it is declared, what it returns, how it fails.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lathe/error.h"

namespace lathe::cli {

/// Exit codes of the program; work that a signal ended has 128 and the signal, as shells say it.
enum Exit : int { success = 0, model_at_fault = 1, command_line_at_fault = 2 };

/// What runs once the command line has been read; the subcommand that was asked for sets it.
struct Command {
  std::function<int()> run;
  bool json = false;
};

/// Declares a subcommand with --json. `examples`: one command a line, as a person would type it; tests run
/// them.
CLI::App* declare(CLI::App& app, Command& command, const std::string& name, const std::string& description,
                  const std::string& examples);

/// Whether the person's words are at fault rather than the model or its data.
bool blames_command_line(Code code);

/// Numbers that an option takes: CLI11's own checks name the largest double as the other end.
inline CLI::Validator at_least(double least) {
  return CLI::Validator(
      [least](std::string& text) {
        double v = 0;
        return CLI::detail::lexical_cast(text, v) && v >= least ? std::string()
                                                                : text + " is no number it takes";
      },
      least == 0 ? "0 or more" : "more than 0");
}
inline const CLI::Validator not_negative = at_least(0);
inline const CLI::Validator positive = at_least(std::numeric_limits<double>::min());

/// An option that takes one of some words; the help says which it is where it is left out.
template <class T, class Words>
CLI::Option* add_word(CLI::App* sub, const std::string& name, T& value, const Words& words,
                      const std::string& says) {
  std::map<std::string, T> known;
  std::string all, usual;
  for (const auto& [word, meaning] : words) {
    known.emplace(word, meaning);
    all += (all.empty() ? "" : ", ") + std::string(word);
    if (meaning == value) usual = word;
  }
  return sub
      ->add_option_function<std::string>(
          name,
          [&value, known, all, name](const std::string& given) {
            const auto at = known.find(given);
            if (at == known.end())
              throw CLI::ValidationError(name, "'" + given + "', which is none of " + all);
            value = at->second;
          },
          says)
      ->type_name("WORD")
      ->default_str(usual);
}
/// The same of values that have names.
template <class T, size_t n>
CLI::Option* add_word(CLI::App* sub, const std::string& name, T& value, const T (&values)[n],
                      const std::string& says) {
  std::vector<std::pair<std::string, T>> words;
  for (const T v : values) words.emplace_back(name_of(v), v);
  return add_word(sub, name, value, words, says);
}

[[noreturn]] inline void refuse_argument(std::string expected, std::string got, std::string remedy = {}) {
  throw Error(Code::bad_argument, "command line", std::move(expected), std::move(got), std::move(remedy));
}

void add_check(CLI::App& app, Command& command);
void add_inspect(CLI::App& app, Command& command);
void add_run(CLI::App& app, Command& command);
void add_verify(CLI::App& app, Command& command);
void add_bench(CLI::App& app, Command& command);
void add_profile(CLI::App& app, Command& command);
void add_build(CLI::App& app, Command& command);
void add_convert(CLI::App& app, Command& command);
void add_export(CLI::App& app, Command& command);
void add_ops(CLI::App& app, Command& command);
void add_refit(CLI::App& app, Command& command);
void add_tokenize(CLI::App& app, Command& command);
void add_timings(CLI::App& app, Command& command);
void add_info(CLI::App& app, Command& command);

}  // namespace lathe::cli
