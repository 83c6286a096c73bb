// What an Engine and a Context are inside.
#pragma once

#include <algorithm>

#include "lathe/engine.h"
#include "runtime/frame.h"

namespace lathe {

/// Checks inputs against what the plan declares: kind, element type, rank, fixed sizes, equal symbols,
/// profiles, alignment.
class InputContract {
 public:
  InputContract() = default;
  /// The plan outlives it.
  explicit InputContract(const Plan& plan);

  /// What the inputs of one call have said so far. Reused from call to call.
  struct Sizes {
    std::vector<int64_t> symbols;      // one per symbol of the plan; -1: not known yet
    uint64_t profiles = ~uint64_t{0};  // bit by bit: may it be this one?
    void forget() {
      std::ranges::fill(symbols, -1);
      profiles = ~uint64_t{0};
    }
  };
  /// Throws run_bad_input, run_bad_shape. `sizes` learns the symbols of this input.
  void check(size_t input, const Value& v, Sizes& sizes) const;
  void check_shape(size_t input, const Shape& shape, Sizes& sizes) const;
  /// The declared shape where the sizes known so far decide it; throws bad_argument naming the missing
  /// symbols.
  Shape shape_from(size_t input, const Sizes& sizes) const;
  Sizes no_sizes() const { return {std::vector<int64_t>(symbols_.size(), -1)}; }

 private:
  struct Axis {
    int64_t fixed = -1;   // the size, where it is a number
    int32_t symbol = -1;  // the symbol, where it is one; else an expression or nothing known
  };
  struct Input {
    std::string name;
    PlanType type;
    std::vector<Axis> axes;
    std::vector<const PlanProfile::Input*> ranges;  // by profile; null: what is declared
  };
  void check_profiles(const Input& in, const Shape& shape, Sizes& sizes) const;
  std::vector<Input> inputs_;
  std::vector<std::string> symbols_;
  const std::vector<PlanProfile>* profiles_ = nullptr;
};

struct Engine::Impl {
  Impl(Plan plan, std::shared_ptr<const Extensions> extensions, const ProgramOptions& options);

  Program program;
  std::vector<IoInfo> inputs, outputs;
  InputContract contract;
  std::vector<ShapeProfile> profiles;
  TuningReport tuning;

  size_t input_index(std::string_view name) const;  // throws run_bad_input, listing the names
  size_t output_index(std::string_view name) const;
  /// The value that an input has when nothing is given: its default. Null: none.
  const Value* default_of(size_t input) const;
  ShapeKey key_for(const NamedShapes& shapes) const;
  Layout layout_for(const NamedShapes& shapes) const { return make_layout(program, 0, key_for(shapes)); }
  /// The one layout there is where the shapes of all inputs are fixed; else nothing.
  std::optional<Layout> fixed_layout() const;
  const PlanProfile& profile(std::string_view name) const;  // throws bad_argument, listing the names
};

struct EngineAccess {
  static Engine make(std::shared_ptr<const Engine::Impl> impl) { return Engine(std::move(impl)); }
};

/// Options of a run out of those of a build.
ProgramOptions program_options(const BuildOptions& options);

}  // namespace lathe
