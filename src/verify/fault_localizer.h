// Finds the cause of a difference: a patch of a pass, a kernel, a fused step, a lowering pass, or
// the memory plan.
#pragma once

#include <functional>
#include <map>

#include "lathe/verify.h"
#include "verify/patch_traces.h"
#include "verify/reproduction.h"
#include "verify/step_by_step.h"

namespace lathe {

/// A run whose results are beyond the tolerance, or that threw.
struct WrongRun {
  const onnx::Model& file;
  const Graph& model;  // as imported
  OptimizationLevel level;
  const std::vector<Value>& inputs;
  const std::vector<Value>& want;
  std::string shapes, values;
  Held held;
};

class FaultLocalizer {
 public:
  using Fault = VerifyReport::Fault;
  FaultLocalizer(const BuildVariants& variants, const WrongRun& run,
                 std::function<void(const std::string&)> progress)
      : variants_(variants),
        run_(run),
        progress_(std::move(progress)),
        reproducer_(variants, run.level, run.held) {}

  /// Returns nothing if every patch and every step is right by itself: the model amplifies rounding.
  std::optional<Fault> find() const;

 private:
  using Values = std::map<ValueId, Value>;

  /// The search for the guilty among changes of a build, in their order: returns the number of the first one
  /// after which the result is not right; nothing if it is after all `n`, or is not before them. `right`: is
  /// it after so many?
  static std::optional<size_t> faulty_change(size_t n, const std::function<bool(size_t)>& right);
  std::optional<Fault> faulty_pass(size_t patches) const;
  bool right_after(size_t patches) const;
  Difference across(const Graph& before, const Graph& after, const PatchTraces& traces,
                    const std::vector<double>& slack) const;
  std::optional<Fault> report_patch(size_t number, size_t of) const;

  std::vector<Value> run(const Engine& engine) const;
  std::optional<Fault> faulty_step(const Optimum& all) const;
  Fault report_memory(const std::vector<Value>& got, const std::vector<Value>& want,
                      const Graph& graph) const;
  /// Finds a lowering pass that makes something wrong of several operators that are right one by one.
  std::optional<Fault> faulty_lowering_pass(const Optimum& all, const std::vector<Value>& got,
                                            const std::vector<Value>& want) const;
  Fault report_lowering_pass(const Optimum& all, std::string_view name) const;
  bool agrees_alone(const Optimum& all, const std::vector<ValueId>& values) const;
  void name_lowering_pass(Fault& fault, std::string_view name) const;
  std::string_view lowering_pass_behind(const Piece& piece) const;
  Fault report_step(const Optimum& all, const TracedStep& traced) const;
  Fault report_thrower(const Optimum& all, const Error& e) const;
  std::vector<NodeId> region_of(const Optimum& all, NodeId node) const;
  std::optional<Fault> fusion_with(const Optimum& all, NodeId node) const;
  /// Returns name and operator of the node in a body whose kernel is wrong; nothing if none of them is.
  std::optional<std::pair<std::string, std::string>> inside(const Piece& piece) const;

  /// Returns the reference's results for these values of the main graph, without those behind an error.
  Values values_of(const Graph& graph, const std::vector<ValueId>& wanted) const;
  std::optional<Piece> piece_of(const Graph& graph, const std::vector<NodeId>& nodes,
                                const std::vector<ValueId>& outputs) const;

  /// A piece, and how it fails by itself.
  struct ReproducedPiece {
    Piece piece;
    Reproducer::Failure failure;
  };
  std::optional<ReproducedPiece> reproduce(std::optional<Piece> piece) const;
  /// Reproduces the fault with the nodes from `known` to `outputs`, or from a little further back, since
  /// passes and fusion look at neighbors.
  std::optional<ReproducedPiece> reproduce_grown(const Graph& graph, const std::vector<ValueId>& outputs,
                                                 std::vector<ValueId> known) const;
  std::optional<ReproducedPiece> whole_model() const;
  /// The fault with its reproduction: without a reproduced piece, the whole model.
  Fault report_fault(Fault::Kind kind, std::string node, std::string op,
                     std::optional<ReproducedPiece> reproduced) const;

  const BuildVariants& variants_;
  const WrongRun& run_;
  std::function<void(const std::string&)> progress_;
  Reproducer reproducer_;
};

}  // namespace lathe
