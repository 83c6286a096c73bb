// Taps see the values of the model as it was imported. The optimizer may have removed a tapped value: then
// nodes after the main path compute it from what is left. The main path is the same as without taps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/lower.h"

namespace lathe {

class Tapped {
 public:
  /// Remembers the graph, if any value of it or of its bodies fits a pattern of the shell.
  Tapped(const Graph& graph, const std::vector<std::string>& patterns);
  /// The tapped values of the optimized graph, which gets the steps for those that it lacks.
  TappedValues restore(Graph& optimized) const;

 private:
  bool is_inside(const Node& n) const;
  void restore(Graph& g, const Graph& before, TappedValues& found) const;

  std::unique_ptr<const Graph> before_;
  TappedValues values_;  // of before_
};

}  // namespace lathe
