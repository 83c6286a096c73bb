// Taps see the values of the model as it was imported. What the optimiser has done away with is computed
// beside the main path, from what it has left; the main path stays as it is without taps.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "build/lower.h"

namespace lathe {

class Tapped {
 public:
  /// Remembers the graph, if any value of it or of its bodies fits a pattern of the shell.
  Tapped(const Graph& graph, const std::vector<std::string>& patterns);
  /// The tapped values of the optimised graph, which gets the steps for those that it lacks.
  TappedValues restore(Graph& optimised) const;

 private:
  bool is_inside(const Node& n) const;
  void restore(Graph& g, const Graph& before, TappedValues& found) const;

  std::unique_ptr<const Graph> before_;
  TappedValues values_;  // of before_
};

}  // namespace lathe
