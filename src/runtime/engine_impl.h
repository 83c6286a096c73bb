// What an Engine and a Context are inside.
#pragma once

#include "lathe/engine.h"
#include "runtime/frame.h"

namespace lathe {

/// Checks inputs against what the plan declares: kind, element type, rank, fixed sizes, equal symbols,
/// alignment.
class InputContract {
 public:
  InputContract() = default;
  explicit InputContract(const Plan& plan);

  /// Sizes of the symbols, one per symbol() of the plan; -1: not known yet. Reused from call to call.
  using Sizes = std::vector<int64_t>;
  /// Throws run_bad_input, run_bad_shape. `sizes` learns the symbols of this input.
  void check(size_t input, const Value& v, Sizes& sizes) const;
  void check_shape(size_t input, const Shape& shape, Sizes& sizes) const;
  /// The declared shape where the sizes known so far decide it; throws bad_argument naming the missing
  /// symbols.
  Shape shape_from(size_t input, const Sizes& sizes) const;
  Sizes no_sizes() const { return Sizes(symbols_.size(), -1); }

 private:
  struct Axis {
    int64_t fixed = -1;   // the size, where it is a number
    int32_t symbol = -1;  // the symbol, where it is one; else an expression or nothing known
  };
  struct Input {
    std::string name;
    PlanType type;
    std::vector<Axis> axes;
  };
  std::vector<Input> inputs_;
  std::vector<std::string> symbols_;
};

struct Engine::Impl {
  Impl(Plan plan, std::shared_ptr<const Extensions> extensions, const ProgramOptions& options);

  Program program;
  std::vector<IoInfo> inputs, outputs;
  InputContract contract;
  TuningReport tuning;

  size_t input_index(std::string_view name) const;  // throws run_bad_input, listing the names
  size_t output_index(std::string_view name) const;
  /// The value that an input has when nothing is given: its default. Null: none.
  const Value* default_of(size_t input) const;
  Layout layout_for(const NamedShapes& shapes) const;
  /// The one layout there is where the shapes of all inputs are fixed; else nothing.
  std::optional<Layout> fixed_layout() const;
};

struct EngineAccess {
  static Engine make(std::shared_ptr<const Engine::Impl> impl) { return Engine(std::move(impl)); }
};

/// Options of a run out of those of a build.
ProgramOptions program_options(const BuildOptions& options);

}  // namespace lathe
