// Options about what goes in: files, or synthetic values of given sizes.
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
  /// Returns a value for every input that needs one: from files if any are named, else random. `assumed`
  /// lists the symbols that were taken as 1.
  NamedValues values(const Engine& engine, std::vector<std::string>& assumed) const;
  bool names_files() const { return !dir.empty() || !inputs.empty(); }
  /// Returns the values from files; refuses inputs that lack one.
  NamedValues from_files(const Engine& engine) const;

  /// Runs something; if that fails and sizes were only assumed, the error says how to give others.
  template <class Run>
  static auto with_sizes(const std::vector<std::string>& assumed, const Run& run) {
    try {
      return run();
    } catch (const Error& e) {
      throw with_assumed_sizes(e, assumed);
    }
  }

 private:
  static Error with_assumed_sizes(const Error& e, const std::vector<std::string>& assumed);
  NamedValues made_up(const Engine& engine, std::vector<std::string>& assumed) const;
};

/// The inputs of an engine that are states: made of the values for them, which are taken out of `values`, and
/// bound.
class BoundStates {
 public:
  BoundStates(const Engine& engine, Context& context, NamedValues& values);
  /// Puts them back to what they were made of, for another run on the same inputs.
  void reset();
  /// Adds their values to the outputs, by the names of these.
  void add_to(NamedValues& outputs) const;

 private:
  struct Bound {
    std::string output;
    State state;
    Tensor before;
  };
  std::vector<Bound> states_;
};

}  // namespace lathe::cli
