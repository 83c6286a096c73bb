// Small models that show a fault: cut out, written as a file would be, built anew, and run.
#pragma once

#include "lathe/engine.h"
#include "verify/contract.h"
#include "verify/cut.h"
#include "verify/workshop.h"

namespace lathe {

/// A model with inputs, and what the reference makes of them; all by position.
struct Piece {
  std::unique_ptr<Graph> graph;
  std::vector<Value> inputs, expected;
  std::vector<double> slack;  // see sensitivity()
};

class Reproducer {
 public:
  Reproducer(const Workshop& shop, OptimizationLevel level, Held held)
      : shop_(shop), level_(level), held_(held) {}

  /// Nothing where the reference fails on it.
  std::optional<Piece> piece(Cut cut, std::vector<Value> inputs) const;

  struct Failure {
    onnx::Model model;
    Difference difference;
    std::vector<StepInfo> steps;
  };
  /// How the piece fails when it comes from a file: with its symbolic sizes, else with those of the inputs.
  /// Nothing: it does not.
  std::optional<Failure> failure(const Piece& piece, const Search& search = {}) const;
  /// The same of a model that is there already.
  std::optional<Failure> failure_of(const onnx::Model& model, const Piece& piece,
                                    const Search& search = {}) const;
  /// Does it fail as it is?
  bool fails(const Optimum& of, const Piece& piece, const Search& search = {}) const;

 private:
  /// Beyond the contract, or what sums are held to (sums.h), or thrown.
  Difference run(const Engine& engine, const Piece& piece) const;

  const Workshop& shop_;
  OptimizationLevel level_;
  Held held_;
};

/// Of a run that threw where the reference did not.
Difference failed_run(const Error& e);

/// What stops the whole search rather than being an answer of the model.
inline bool stops_everything(const Error& e) {
  return e.code() == Code::cancelled || e.code() == Code::deadline;
}

}  // namespace lathe
