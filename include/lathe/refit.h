// Exchanging the weights of an engine that was built with BuildOptions::refit, without building it again:
// only what depends on a changed weight is computed again, all or nothing, while contexts go on serving.
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

using NamedWeights = std::map<std::string, Tensor, std::less<>>;  // maps names of weights to tensors

/// Describes a weight of an engine: an initializer or a constant of the model that it was built from.
struct WeightInfo {
  std::string name;                     // as in the model
  DataType type = DataType::undefined;  // element type
  Shape shape;                          // sizes, outermost first
  uint64_t bytes = 0;                   // size of its elements
};

/// Describes what one refit() did.
struct RefitReport {
  int64_t weights = 0;  // number of weights whose values changed
  int64_t folded = 0;   // number of arrays that were computed again from changed weights
  int64_t packed = 0;   // number of arrays that were packed again for kernels
  uint64_t bytes = 0;   // size of all these; everything else is shared with the engine as it was
  double seconds = 0;   // that it took
};

/// A low-rank change of one weight [out, in]: scale · b · a (LoRA, Hu et al. 2021).
struct LoraDelta {
  std::string weight;  // name of the weight
  Tensor a;            // [rank, in], a floating-point type
  Tensor b;            // [out, rank]
  float scale = 1;     // factor of the product
  /// True where the weight is stored as [in, out], as MatMul reads it: the transpose is added.
  bool transposed = false;
};

/// Exchanges weights by name. New values wait until refit(), which takes all of them or, where it throws,
/// none. Not thread-safe, but other refitters, contexts and copies of the engine may be in use on other
/// threads. TensorRT: IRefitter.
///
/// Weights that decide shapes or were used up when the engine was built (axes, sizes, pads, …) cannot be
/// exchanged. They are not in all(); setting one to the values that it has is accepted, anything else throws
/// Code::refit_built_in.
class LATHE_API Refitter {
 public:
  /// Prepares the exchange of an engine's weights. Throws Code::refit_not_allowed where the engine was built
  /// without BuildOptions::refit.
  explicit Refitter(const Engine& engine);
  /// Drops what was set and not taken by refit().
  ~Refitter();
  /// Moves; only destruction and assignment are allowed on what is left.
  Refitter(Refitter&&) noexcept;
  /// Moves; what was set here and not taken by refit() is dropped.
  Refitter& operator=(Refitter&&) noexcept;

  /// Returns the names of all weights that can be exchanged, sorted. TensorRT: IRefitter::getAllWeights.
  std::vector<std::string> all() const;
  /// Returns the names of those that were not set since the last refit(): they keep their values. TensorRT:
  /// IRefitter::getMissingWeights.
  std::vector<std::string> missing() const;
  /// Returns whether it is the name of one of them, or of one that is built in.
  bool knows(std::string_view name) const;
  /// Returns type and shape that a weight must have. Throws Code::bad_argument, with similar names. TensorRT:
  /// IRefitter::getWeightsPrototype.
  WeightInfo prototype(std::string_view name) const;
  /// Returns what is set for the weight, otherwise what the engine has, adapters included; not to be written
  /// to. Throws Code::bad_argument, with similar names.
  Tensor get_named_weights(std::string_view name) const;

  /// Sets a weight. The tensor's memory is shared and must not change any more (a view is copied). Throws
  /// Code::refit_bad_weight for another type or shape than prototype() returns, bad_argument for an unknown
  /// name, with similar names, refit_built_in. TensorRT: IRefitter::setNamedWeights.
  void set_weights(std::string_view name, const Tensor& weights);
  /// Sets several weights, or none where one does not fit. Throws as set_weights() does.
  void set_named_weights(const NamedWeights& weights);
  /// Sets weights from a checkpoint, with tensors mapped where they can be. `name_of` returns the engine's
  /// name for a tensor of the file ("": leave it out); without it the names are the same. Returns the names,
  /// in the file, of tensors that the engine has no weight for. Throws as above; bad_argument where the
  /// engine has none of them; what Checkpoint::tensor throws.
  std::vector<std::string> set_named_weights(
      const Checkpoint& checkpoint, const std::function<std::string(const std::string&)>& name_of = {});
  /// Sets weights from the initializers and constants of a model, bodies included. Returns and throws as
  /// above.
  std::vector<std::string> set_named_weights(const onnx::Model& model);
  /// Drops what was set for one weight, or for all. Throws Code::bad_argument for an unknown name.
  void unset_weights(std::string_view name);
  /// Drops all that was set.
  void unset_weights();

  /// Adds an adapter, or replaces the one of that name: from the next refit() on, weights have their values
  /// plus the deltas of all adapters, summed in the order of the adapters' names in float64 and rounded once.
  /// Removing it gives back, bit by bit, what there was without it. Weights that are set while adapters are
  /// applied are set beneath them. Throws refit_bad_weight for shapes and types that do not fit,
  /// bad_argument.
  void add_lora(const std::string& adapter, const std::vector<LoraDelta>& deltas);
  /// Removes an adapter from the next refit() on. Throws Code::bad_argument where there is none of that name.
  void remove_lora(std::string_view adapter);
  /// Returns the names of the adapters that there will be after refit().
  std::vector<std::string> loras() const;

  /// Gives the engine the weights that are set: every copy of it, and its contexts from their next run on.
  /// Runs that are under way end with the weights that they began with. Refits of one engine happen one after
  /// the other. Throws run_out_of_memory, cancelled, deadline, refit_bad_weight where an array computed from
  /// the new weights has another shape, and what kernels throw; the engine is then as it was, and what was
  /// set stays set. TensorRT: IRefitter::refitCudaEngine.
  RefitReport refit(RunControl* control = nullptr);

 private:
  void set_some(const NamedWeights& weights, const std::vector<std::string>& ignored,
                std::string_view origin);
  std::shared_ptr<const Engine::Impl> engine() const;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace lathe
