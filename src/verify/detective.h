// Who is guilty of a difference: a patch of a pass, a kernel, a fused step, a rewrite of the builder, or the
// layout of memory.
#pragma once

#include <functional>
#include <map>

#include "lathe/verify.h"
#include "verify/patch_traces.h"
#include "verify/reproduction.h"
#include "verify/step_by_step.h"

namespace lathe {

/// A run whose results are beyond the contract, or that threw.
struct WrongRun {
  const onnx::Model& file;
  const Graph& model;  // as imported
  OptimizationLevel level;
  const std::vector<Value>& inputs;
  const std::vector<Value>& want;
  std::string shapes, values;
  Held held;
};

class Detective {
 public:
  using Fault = VerifyReport::Fault;
  Detective(const Workshop& shop, const WrongRun& run, std::function<void(const std::string&)> progress)
      : shop_(shop), run_(run), progress_(std::move(progress)), reproducer_(shop, run.level, run.held) {}

  /// Nothing: every patch and every step is right by itself; the model amplifies rounding.
  std::optional<Fault> find() const;

 private:
  using Values = std::map<ValueId, Value>;

  std::optional<Fault> guilty_pass(size_t patches) const;
  bool right_after(size_t patches) const;
  Difference across(const Graph& before, const Graph& after, const PatchTraces& traces,
                    const std::vector<double>& slack) const;
  std::optional<Fault> accuse_patch(size_t number, size_t of) const;

  std::optional<Fault> guilty_step(const Optimum& all) const;
  Fault accuse_memory(const std::vector<Value>& got, const std::vector<Value>& want,
                      const Graph& graph) const;
  /// Of several operators that are right one by one.
  std::optional<Fault> guilty_rewrite(const Optimum& all, const std::vector<Value>& got,
                                      const std::vector<Value>& want) const;
  Fault accuse_rewrite(const Optimum& all, std::string_view name) const;
  bool agrees_alone(const Optimum& all, const std::vector<ValueId>& values) const;
  void tell_rewrite(Fault& fault, std::string_view name) const;
  std::string_view rewrite_behind(const Piece& piece) const;
  Fault accuse_step(const Optimum& all, const Suspect& suspect) const;
  Fault accuse_thrower(const Optimum& all, const Error& e) const;
  std::vector<NodeId> region_of(const Optimum& all, NodeId node) const;
  std::optional<Fault> fusion_with(const Optimum& all, NodeId node) const;
  /// Of a node with bodies: the node in them whose kernel is wrong; nothing where it is its own.
  std::optional<std::pair<std::string, std::string>> inside(const Piece& piece) const;

  /// Of these values of the main graph, what the reference gives; without those behind an error.
  Values values_of(const Graph& graph, const std::vector<ValueId>& wanted) const;
  std::optional<Piece> piece_of(const Graph& graph, const std::vector<NodeId>& nodes,
                                const std::vector<ValueId>& outputs) const;

  /// A piece, and how it fails by itself.
  struct Proof {
    Piece piece;
    Reproducer::Failure failure;
  };
  std::optional<Proof> prove(std::optional<Piece> piece) const;
  /// What leads from `known` to `outputs`, or from a little further back: passes and fusion look around.
  std::optional<Proof> prove_grown(const Graph& graph, const std::vector<ValueId>& outputs,
                                   std::vector<ValueId> known) const;
  std::optional<Proof> whole_model() const;
  /// The fault with its reproduction: without proof, the whole model.
  Fault charge(Fault::Kind kind, std::string node, std::string op, std::optional<Proof> proof) const;

  const Workshop& shop_;
  const WrongRun& run_;
  std::function<void(const std::string&)> progress_;
  Reproducer reproducer_;
};

}  // namespace lathe
