// Options about what goes in: files, or made-up values of given sizes.
#pragma once

#include "model_options.h"

namespace lathe::cli {

struct InputOptions {
  std::vector<std::string> inputs;  // NAME=FILE
  std::filesystem::path dir;
  std::string case_name;
  uint64_t seed = 0;
  ShapeOptions shape;

  void add_to(CLI::App* sub);
  /// A value for every input that needs one: from files where any are named, else random. `assumed` lists the
  /// symbols that were taken as 1.
  NamedValues values(const Engine& engine, std::vector<std::string>& assumed) const;
  bool names_files() const { return !dir.empty() || !inputs.empty(); }
  /// Those that files are named for; refuses inputs that lack one.
  NamedValues from_files(const Engine& engine) const;

 private:
  NamedValues made_up(const Engine& engine, std::vector<std::string>& assumed) const;
};

}  // namespace lathe::cli
