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

/// Divides the steps into sequences and branches, so that by the costs of the steps the run is shortest.
/// `slots`: by value, the shapes and the kinds of places (no offsets yet). Returns the branches in order of
/// the steps; empty if they do not pay.
std::vector<Branches> find_branches(const ProgramGraph& graph, std::span<const Slot> slots, int threads);

}  // namespace lathe
