// Collects the stored arrays of a plan, each once, with the program that makes them.
#pragma once

#include <deque>
#include <map>
#include <memory>

#include "compiler/fold.h"
#include "plan/plan.h"

namespace lathe {

/// The name of the initializer that a constant is, in an enclosing graph too; empty if it is none.
const std::string& source_of(const Graph& graph, ValueId v);

class WeightTable {
 public:
  WeightTable(std::deque<Weight>& weights, const Folds& folds) : weights_(weights), folds_(folds) {}

  /// Index of a constant; what it was folded from is stored before it.
  uint32_t add(const std::shared_ptr<const Value>& constant, const std::string& name,
               const std::string& source);

 private:
  void append(const Fold::Operand& made, const Fold* fold);

  std::deque<Weight>& weights_;
  const Folds& folds_;
  std::map<const Value*, uint32_t> index_;
};

}  // namespace lathe
