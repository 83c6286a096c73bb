// Times tactics on synthetic inputs of the real shapes, through the same runtime that will run them.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "kernel/select.h"
#include "lathe/run_control.h"
#include "runtime/extensions.h"
#include "tune/problem.h"

namespace lathe {

struct StopwatchOptions {
  int rounds = 10;            // at least, of one run of every tactic
  double seconds = 0.05;      // at least, until `max_rounds`
  uint64_t memory_limit = 0;  // bytes a tactic may use; 0: none
  RunControl* control = nullptr;
  std::function<bool()> go_on = {};  // asked before every run; false: ends early, with what there is
};

/// Microseconds of one run of each, on one thread: the least of several, the tactics taking turns. One that
/// is far behind is left early. Nothing for those that cannot run, or were not reached. Throws cancelled and
/// deadline.
///
/// Inputs and scratch memory are where the run before has left them; constants are in memory, out of all
/// caches, where the problem says that they are streamed.
std::vector<std::optional<double>> time_tactics(const Problem& problem, std::span<const Tactic> tactics,
                                                const Extensions& extensions,
                                                const StopwatchOptions& options);

}  // namespace lathe
