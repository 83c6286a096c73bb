// The implementation of Engine and the state that it shares with its contexts.
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "base/declared_sums.h"
#include "lathe/engine.h"
#include "runtime/frame.h"

namespace lathe {

/// The sizes of inputs that are declared as expressions over others.
DeclaredSums sums_of(const Plan& plan);

/// Checks inputs against what the plan declares: kind, element type, rank, fixed sizes, equal symbols,
/// profiles, alignment. Declared sums are not checked, since nothing relies on them.
class InputValidator {
 public:
  InputValidator() = default;
  /// The plan outlives it.
  explicit InputValidator(const Plan& plan);

  /// The sizes that follow from the inputs of one call checked so far. Reused from call to call.
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
  /// Returns the declared shape of an input if the sizes known so far determine it. Sums that were not given
  /// have their declared values. Throws bad_argument naming the missing symbols.
  Shape shape_from(size_t input, const Sizes& sizes) const;
  /// "mask has 1 on axis 1, where past + seq is 2": declared sums that these sizes contradict. Empty: none.
  std::string contradictions(const Sizes& sizes) const;
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
  /// Returns the size of a symbol, or of a declared sum whose terms are known; nothing if it is unknown.
  std::optional<int64_t> size_of(std::string_view symbol, const Sizes& sizes) const;
  std::optional<int64_t> sum_of(std::string_view symbol, const Sizes& sizes) const;
  std::vector<Input> inputs_;
  std::vector<std::string> symbols_;
  DeclaredSums sums_;
  const std::vector<PlanProfile>* profiles_ = nullptr;
};

/// The part of an engine that does not change when weights are exchanged, so that references to it stay
/// valid.
struct EngineSignature {
  EngineSignature(const Plan& plan, const TuningReport& tuned);
  std::vector<IoInfo> inputs, outputs;
  std::vector<ShapeProfile> profiles;
  TuningReport tuning;
};

/// An engine with the weights of one moment. Immutable.
struct Engine::Impl {
  Impl(Plan plan, std::shared_ptr<const Extensions> extensions, const ProgramOptions& options,
       const TuningReport& tuned = {});
  /// The same engine with the weights of another plan.
  Impl(const Impl& before, Plan plan);

  Program program;
  const std::shared_ptr<const EngineSignature> signature;
  const std::vector<IoInfo>&inputs, &outputs;
  InputValidator validator;

  size_t input_index(std::string_view name) const;  // throws run_bad_input, listing the names
  size_t output_index(std::string_view name) const;
  /// The value that an input has when nothing is given: its default. Null: none.
  const Value* default_of(size_t input) const;
  ShapeKey key_for(const NamedShapes& shapes) const;
  MemoryPlan memory_plan_for(const NamedShapes& shapes) const {
    return plan_memory(program, 0, key_for(shapes));
  }
  /// The one memory plan there is where the shapes of all inputs are fixed; else nothing.
  std::optional<MemoryPlan> fixed_memory_plan() const;
  const PlanProfile& profile(std::string_view name) const;  // throws bad_argument, listing the names
};

/// A low-rank change of a weight (LoraDelta) by one adapter.
struct LowRank;
/// The adapters of one weight, and the weight without them.
struct AdaptedWeight {
  Tensor base;
  std::map<std::string, std::shared_ptr<const LowRank>, std::less<>> adapters;
};
using AdaptedWeights = std::map<std::string, AdaptedWeight, std::less<>>;

/// The state that copies of an engine and its contexts share. Readers hold a reference to the current engine;
/// a refit makes another one and replaces it.
struct Engine::State {
  explicit State(std::shared_ptr<const Impl> impl) : current_(std::move(impl)) {}

  std::shared_ptr<const Impl> current() const {
    const std::lock_guard lock(mutex_);
    return current_;
  }
  /// How often it was replaced. A context looks at this before each run, and takes no lock while it stays.
  uint64_t version() const { return version_.load(std::memory_order_acquire); }
  void replace(std::shared_ptr<const Impl> by) {
    {
      const std::lock_guard lock(mutex_);
      current_.swap(by);
      version_.fetch_add(1, std::memory_order_release);
    }
    // The replaced engine, if this was its last owner, is destroyed after the lock is released.
  }

  /// Held during a refit. Only refits use the following members.
  std::mutex refitting;
  /// Steps as they were built. A kernel that did not support earlier weights is tried first again.
  std::shared_ptr<const std::vector<PlanGraph>> built;
  AdaptedWeights adapted;

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Impl> current_;
  std::atomic<uint64_t> version_{0};
};

struct EngineAccess {
  static Engine make(std::shared_ptr<const Engine::Impl> impl) {
    return Engine(std::make_shared<Engine::State>(std::move(impl)));
  }
  static const std::shared_ptr<Engine::State>& state(const Engine& e) { return e.state_; }
};

/// Options of a run out of those of a build.
ProgramOptions program_options(const BuildOptions& options);

}  // namespace lathe
