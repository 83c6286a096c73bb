// Large constants that folding made of little, as nodes again.
#pragma once

#include "compiler/fold.h"

namespace lathe {

enum class UnfoldFor : uint8_t {
  /// Whoever reads the file folds what it likes: all that is much larger than what it was made of.
  files,
  /// What repeats or counts (Expand, Tile, ConstantOfShape, Range), read by operators that look at each
  /// element once:
  /// a run spends no longer on making it than on reading it from the plan.
  plans,
};

/// Replaces constants of `graph` and its bodies by the nodes that made them, where those need less than a
/// third of the bytes: a file of some KB does not become one of many MB. Small constants stay.
void unfold_repeated(Graph& graph, const Folds& folds, UnfoldFor kind);

}  // namespace lathe
