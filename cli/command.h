// Common parts of the subcommands of `lathe`: declarations, exit codes and errors.
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

/// Exit codes of the program; if a signal ended it, the code is 128 plus the signal, as in shells.
enum Exit : int { success = 0, model_at_fault = 1, command_line_at_fault = 2 };

/// The function that runs once the command line has been read; the chosen subcommand sets it.
struct Command {
  std::function<int()> run;
  bool json = false;
};

/// Declares a subcommand with --json. `examples`: one command a line, as a person would type it; tests run
/// them.
CLI::App* declare(CLI::App& app, Command& command, const std::string& name, const std::string& description,
                  const std::string& examples);

/// Returns whether an error is due to the command line rather than to the model or its data.
bool blames_command_line(Code code);

/// Checks numbers from below: messages of CLI11's own checks would name the largest double as the upper end.
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

/// An option that takes one of some choices; the help shows the default.
template <class T, class Choices>
CLI::Option* add_choice(CLI::App* sub, const std::string& name, T& value, const Choices& choices,
                        const std::string& help) {
  std::map<std::string, T> known;
  std::string all, usual;
  for (const auto& [word, meaning] : choices) {
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
          help)
      ->type_name("WORD")
      ->default_str(usual);
}
/// The same for values that have names.
template <class T, size_t n>
CLI::Option* add_choice(CLI::App* sub, const std::string& name, T& value, const T (&values)[n],
                        const std::string& help) {
  std::vector<std::pair<std::string, T>> choices;
  for (const T v : values) choices.emplace_back(name_of(v), v);
  return add_choice(sub, name, value, choices, help);
}

/// Stands behind words in brackets, which CLI11 would take for lists without it.
constexpr char mark_of_text = '\x1f';
/// Returns a word as it was typed.
inline std::string unmarked(std::string word) {
  if (word.ends_with(mark_of_text) && word.starts_with('[')) word.pop_back();
  return word;
}

[[noreturn]] inline void refuse_argument(std::string expected, std::string got, std::string remedy = {}) {
  throw Error(Code::bad_argument, "command line", std::move(expected), std::move(got), std::move(remedy));
}

/// Declares all subcommands; cli/CMakeLists.txt generates it from the sources in commands/.
void add_all_commands(CLI::App& app, Command& command);

}  // namespace lathe::cli
