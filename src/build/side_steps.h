// Taps see the values of the model as it was imported. What the optimiser has done away with is computed
// beside the main path, from what it has left; the main path stays as it is without taps.
#pragma once

#include <memory>

#include "graph/graph.h"

namespace lathe {

class Tapped {
 public:
  /// Remembers the graph, if any value of it fits a pattern of the shell.
  Tapped(const Graph& graph, const std::vector<std::string>& patterns);
  /// The tapped values in the optimised graph, which gets the steps for those that it lacks.
  std::vector<ValueId> restore(Graph& optimised) const;

 private:
  std::unique_ptr<const Graph> before_;
  std::vector<ValueId> values_;
};

}  // namespace lathe
