// Small models that show a fault: cut out of the graph, exported, built again, and run.
#pragma once

#include "lathe/engine.h"
#include "verify/build_variants.h"
#include "verify/cut.h"
#include "verify/tolerance.h"

namespace lathe {

/// A model with inputs, and the outputs that the reference computes; all by position.
struct Piece {
  std::unique_ptr<Graph> graph;
  std::vector<Value> inputs, expected;
  std::vector<double> slack;  // see sensitivity()
};

class Reproducer {
 public:
  Reproducer(const BuildVariants& variants, OptimizationLevel level, Held held)
      : variants_(variants), level_(level), held_(held) {}

  /// Returns nothing if the reference fails on it.
  std::optional<Piece> piece(Cut cut, std::vector<Value> inputs) const;

  struct Failure {
    onnx::Model model;
    Difference difference;
    std::vector<StepInfo> steps;
  };
  /// Returns how the piece fails when it comes from a file: with its symbolic sizes, else with those of the
  /// inputs. Nothing: it does not.
  std::optional<Failure> failure(const Piece& piece, const Search& search = {}) const;
  /// The same for a model that exists already.
  std::optional<Failure> failure_of(const onnx::Model& model, const Piece& piece,
                                    const Search& search = {}) const;
  /// Returns whether the graph fails without going through a file.
  bool fails(const Optimum& of, const Piece& piece, const Search& search = {}) const;

 private:
  /// Returns the difference: results beyond the tolerance or the bounds of sums (sums.h), or an error.
  Difference run(const Engine& engine, const Piece& piece) const;

  const BuildVariants& variants_;
  OptimizationLevel level_;
  Held held_;
};

/// The difference of a run that threw while the reference did not.
Difference failed_run(const Error& e);

/// Returns whether an error stops the whole search, rather than being a result of the model.
inline bool stops_everything(const Error& e) {
  return e.code() == Code::cancelled || e.code() == Code::deadline;
}

}  // namespace lathe
