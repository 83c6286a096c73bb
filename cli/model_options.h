// Options for a model and its sizes, for the subcommands that take one.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/lathe.h"

namespace lathe::cli {

/// --shape batch=1 (a symbol) and --shape x=1x3x224x224 (an input).
struct Sizes {
  std::map<std::string, int64_t> symbols;
  NamedShapes inputs;
};

/// Returns whether it is a regular file that begins with these bytes.
bool begins_with(const std::filesystem::path& file, std::string_view magic);
/// Returns whether the file is a plan, by its ending or its first bytes.
bool is_plan(const std::filesystem::path& file);

struct ModelOptions {
  std::filesystem::path model;
  bool untrusted = false;
  std::vector<std::filesystem::path> link_roots;

  /// `takes_plans`: whether the subcommand takes a .lathe plan, too.
  void add_to(CLI::App* sub, bool takes_plans = false);
  onnx::LoadOptions load_options() const;
  bool is_plan() const;
  /// Loads the model. Refuses a plan, which can only be run.
  onnx::Model load() const;
};

struct ShapeOptions {
  std::vector<std::string> shapes;
  void add_to(CLI::App* sub);
  Sizes parse() const;
};

struct EngineOptions {
  int threads = 0;
  uint64_t memory_limit = 0;
  std::string backend = "cpu";
  std::string isa;
  std::vector<std::filesystem::path> plugins;
  Precision precision = BuildOptions().precision;
  Numerics numerics = BuildOptions().numerics;
  std::vector<std::string> ranges;
  std::vector<std::string> states;
  int64_t state_capacity = BuildOptions().state_capacity;
  uint64_t fold_limit = BuildOptions().fold_limit;
  bool fix_defaults = false;
  bool refit = false, flush_denormals = false, verify_weights = false;
  OptimizationLevel level = OptimizationLevel::all;
  std::vector<std::string> passes;

  void add_to(CLI::App* sub);
  /// For a plan, refuses options that only a build can use.
  BuildOptions build_options(const ModelOptions& model) const;

 private:
  void add_level(CLI::App* sub);

  std::vector<const CLI::Option*> of_builds_;
};

/// --states 'past_key_values.*=present.*' and --states auto: inputs and the outputs that are their next
/// values.
std::vector<StatePair> parse_states(const std::vector<std::string>& states);
/// --range x=1x3:4x3:8x3 and --range large@x=…: smallest, usual and greatest shape of an input, in a profile.
std::vector<ShapeProfile> parse_profiles(const std::vector<std::string>& ranges);

/// --memory-limit 512M: bytes, or so many K, M, G or T (of 1024 each; KiB and KB are the same).
void add_memory_limit(CLI::App* sub, uint64_t& limit);

/// Returns the sizes of symbols, given as such or by shapes of inputs. Refuses names that the model lacks.
std::map<std::string, int64_t> known_symbols(const std::vector<IoInfo>& inputs, const Sizes& sizes);

/// Returns a shape for every input that is a tensor: as given, else as declared with the sizes known from the
/// other inputs, else 1. `assumed` lists the symbols that were taken as 1.
NamedShapes complete_shapes(const std::vector<IoInfo>& inputs, const Sizes& sizes,
                            std::vector<std::string>* assumed = nullptr);

/// Refuses those of `options` that were given: a plan has been built without them.
void refuse_for_plan(const std::vector<const CLI::Option*>& options, const std::filesystem::path& plan);

/// An engine from a model or a .lathe plan.
Engine make_engine(const ModelOptions& model, const BuildOptions& options);

/// Says what inputs with defaults cost, if there are any: a line for `lathe inspect` and `lathe build`.
std::string defaults_text(const std::vector<IoInfo>& inputs);

}  // namespace lathe::cli
