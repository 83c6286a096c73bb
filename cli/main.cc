// The `lathe` command: reads the command line, runs one subcommand, turns every error into one sentence and a
// code.
#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "command.h"
#include "json.h"
#include "lathe/lathe.h"
#include "output.h"
#include "stop_signals.h"

namespace lathe::cli {

CLI::App* declare(CLI::App& app, Command& command, const std::string& name, const std::string& description,
                  const std::string& examples) {
  CLI::App* sub = app.add_subcommand(name, description);
  sub->add_flag("--json", command.json, "Print JSON on standard output");
  sub->footer(
      "Examples:\n" + examples +
      "\nExit code: 0 success, 1 the model or its data is at fault, 2 the command line is; 130, 143 a "
      "signal ended it.");
  return sub;
}

bool blames_command_line(Code code) {
  switch (code) {
    case Code::bad_argument:
    case Code::not_supported:
    case Code::build_bad_option:
    case Code::build_device_absent:
    case Code::file_not_found:
    case Code::file_not_regular:
    case Code::file_write_failed:
      return true;
    default:
      return false;
  }
}

namespace {

int fail(const Command& command, const Error& e) {
  try {
    if (command.json) print(Json{{"error", to_json(e.diagnostic())}});
  } catch (const std::system_error&) {  // said at the end, with all else that did not get out
  }
  print_error(std::string(e.what()) + "\n");
  if (e.code() == Code::cancelled && stop_signal()) return 128 + stop_signal();
  return blames_command_line(e.code()) ? command_line_at_fault : model_at_fault;
}

/// Returns the words of the command line, the last one first, as CLI11 wants them. It would take a text in
/// brackets for a list of texts.
std::vector<std::string> words_of(int argc, char** argv) {
  std::vector<std::string> words(std::make_reverse_iterator(argv + argc),
                                 std::make_reverse_iterator(argv + 1));
  if (argc < 2 || words.back() != "tokenize") return words;
  for (std::string& word : words)
    if (word.starts_with('[') && word.ends_with(']')) word += mark_of_text;
  return words;
}

int run(int argc, char** argv) {
  CLI::App app{"Lathe reads, checks, optimizes and runs ONNX models.", "lathe"};
  app.set_version_flag("--version", std::string(version()));
  app.require_subcommand(1);
  Command command;
  add_all_commands(app, command);
  try {
    app.parse(words_of(argc, argv));
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e);  // --help, --version
    command.json = std::find(argv, argv + argc, std::string_view("--json")) != argv + argc;
    const auto named = [&](const CLI::App* sub) { return sub->check_name(argv[1]); };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(named).empty())
      return fail(command, Error(Code::bad_argument, "command line", "a command",
                                 "'" + std::string(argv[1]) + "'", "`lathe --help` lists them"));
    return fail(command, Error(Code::bad_argument, "command line", "a command that can be read", e.what(),
                               "`lathe --help` and `lathe COMMAND --help` say how"));
  }
  try {
    return command.run();
  } catch (const Error& e) {
    return fail(command, e);
  } catch (const std::bad_alloc&) {
    return fail(command, Error(Code::run_out_of_memory, "run", "enough memory", "an allocation that failed"));
  } catch (const std::filesystem::filesystem_error& e) {
    return fail(command, Error(Code::file_unreadable, "read", "a file system that answers", e.what()));
  } catch (const std::exception& e) {
    if (std::ferror(stdout)) return success;  // but for the output, of which the caller tells
    return fail(command, Error(Code::internal, "command", "an error that says where", e.what(),
                               "report it, with this command line"));
  }
}

}  // namespace

/// Runs the program and returns its exit code, before standard output is flushed.
int run_program(int argc, char** argv) { return run(argc, argv); }

}  // namespace lathe::cli

int main(int argc, char** argv) {
  using namespace lathe::cli;
  keep_standard_streams();
  watch_signals();
  return with_output_written(run_program(argc, argv));
}
