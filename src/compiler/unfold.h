// Turns large constants that folding made of little back into nodes.
#pragma once

#include "compiler/fold.h"

namespace lathe {

enum class UnfoldFor : uint8_t {
  /// Other runtimes fold a file as they like: all constants that are much larger than what they were made of.
  files,
  /// Results that repeat or count (Expand, Tile, ConstantOfShape, Range), read by operators that read each
  /// element once: a run spends no longer on making them than on reading them from the plan.
  plans,
};

/// Replaces constants of `graph` and its bodies by the nodes that made them, where those need less than a
/// third of the bytes: a file of some KB does not become one of many MB. Small constants stay.
void unfold_repeated(Graph& graph, const Folds& folds, UnfoldFor kind);

}  // namespace lathe
