// Steps that run side by side because none of them alone gives all threads enough to do.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace lathe {

struct ProgramGraph;
struct Slot;

/// Steps [first, end) of a graph. Each lane is run by one thread, its steps in order; no step reads what a
/// step of another lane makes.
struct Branches {
  uint32_t first = 0, end = 0;
  std::vector<std::vector<uint32_t>> lanes;
};

/// Cuts the steps into those that follow one another and branches, so that by the costs of the steps the run
/// is shortest. `slots`: by value, what the shapes are and where results go (not yet at which offset). In
/// order of the steps; empty where it does not pay.
std::vector<Branches> find_branches(const ProgramGraph& graph, std::span<const Slot> slots, int threads);

}  // namespace lathe
