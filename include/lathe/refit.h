// Exchanging the weights of an engine that was built with BuildOptions::refit, without building it again:
// only what depends on a weight is made anew, all or nothing, while contexts go on serving what they have.
//
//   lathe::Refitter refitter(engine);
//   refitter.set_named_weights(lathe::Checkpoint::open("step_2000.safetensors"));
//   refitter.refit();                        // contexts take the new weights at their next run
//   lathe::Builder().refit_engine(engine, weights);    // … in one call
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lathe/engine.h"
#include "lathe/export.h"
#include "lathe/tensor.h"

namespace lathe {

class Checkpoint;

using NamedWeights = std::map<std::string, Tensor, std::less<>>;

/// What a weight of an engine is: an initializer or a constant of the model it was built from, by its name
/// there.
struct WeightInfo {
  std::string name;
  DataType type = DataType::undefined;
  Shape shape;
  uint64_t bytes = 0;
};

/// What one refit() did.
struct RefitReport {
  int64_t weights = 0;  // that hold something else than before
  int64_t folded = 0;   // arrays that were computed anew, of weights that changed
  int64_t packed = 0;   // … laid out anew for kernels
  uint64_t bytes = 0;   // of all these; everything else is shared with the engine as it was
  double seconds = 0;
};

/// A low-rank change of one weight [out, in]: scale · b · a.
struct LoraDelta {
  std::string weight;
  Tensor a;  // [rank, in], a type of floats
  Tensor b;  // [out, rank]
  float scale = 1;
  /// The weight is stored as [in, out], as MatMul reads it: the transpose is added.
  bool transposed = false;
};

/// Exchanges weights by name. What is set waits until refit(), which takes all of it or, where it throws,
/// nothing. One thread each; any number of refitters, contexts and copies of the engine may be at work on
/// other threads.
///
/// Weights that decide shapes or were used up when the engine was built (axes, sizes, pads, …) cannot be
/// exchanged. They are not among all(); setting one to what it holds is taken, anything else is
/// Code::refit_built_in.
class LATHE_API Refitter {
 public:
  /// Throws Code::refit_not_allowed where the engine was built without BuildOptions::refit.
  explicit Refitter(const Engine& engine);
  ~Refitter();
  Refitter(Refitter&&) noexcept;
  Refitter& operator=(Refitter&&) noexcept;

  /// The names of all weights that can be exchanged, sorted.
  std::vector<std::string> all() const;
  /// Those that nothing was set for since the last refit(): they keep what they hold.
  std::vector<std::string> missing() const;
  /// Is it the name of one of them, or of one that is built in?
  bool knows(std::string_view name) const;
  /// Throws Code::bad_argument, with names that are near.
  WeightInfo prototype(std::string_view name) const;
  /// What is set for the weight, else what the engine holds, adapters included. Not to be written to.
  Tensor get_named_weights(std::string_view name) const;

  /// The tensor's memory is shared, and must not change any more (a view is copied). Its type and shape are
  /// those of the weight: Code::refit_bad_weight says which were expected. Throws Code::bad_argument for a
  /// name that is not known, with names that are near; refit_built_in.
  void set_weights(std::string_view name, const Tensor& weights);
  /// All of them, or none where one does not fit.
  void set_named_weights(const NamedWeights& weights);
  /// From a checkpoint, tensors mapped where they can be. `name_of` says what a tensor of the file is called
  /// in the engine ("": leave it out); empty: the same. Returns the names, in the file, of tensors that the
  /// engine has no weight for. Throws as above; bad_argument where there is none that it has, and what
  /// Checkpoint::tensor throws.
  std::vector<std::string> set_named_weights(
      const Checkpoint& checkpoint, const std::function<std::string(const std::string&)>& name_of = {});
  /// The initializers and constants of a model, bodies too. Returns and throws as above.
  std::vector<std::string> set_named_weights(const onnx::Model& model);
  /// Forgets what was set. Throws Code::bad_argument for a name that is not known.
  void unset_weights(std::string_view name);
  void unset_weights();

  /// An adapter, by a name: from the next refit() on, weights are what they hold plus the deltas of all
  /// adapters, summed in the order of their names in double and rounded once. One of that name is replaced.
  /// Removing it gives back, bit by bit, what there was without it. Weights set while adapters are applied
  /// are set beneath them. Throws refit_bad_weight for shapes and types that do not fit, bad_argument.
  void add_lora(const std::string& adapter, const std::vector<LoraDelta>& deltas);
  /// Throws Code::bad_argument where there is none of that name.
  void remove_lora(std::string_view adapter);
  /// Adapters there will be after refit().
  std::vector<std::string> loras() const;

  /// Makes the weights that are set those of the engine: of every copy of it, and of its contexts from their
  /// next run on. Runs that are under way end with what they began with. Refits of one engine happen one
  /// after the other. Throws run_out_of_memory, cancelled, deadline, refit_bad_weight where a fold of the new
  /// weights has another shape, and what kernels throw; the engine is then as it was, and what was set is
  /// still set.
  RefitReport refit(RunControl* control = nullptr);

 private:
  void set_some(const NamedWeights& weights, const std::vector<std::string>& ignored,
                std::string_view origin);
  std::shared_ptr<const Engine::Impl> engine() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe
