// What the steps of an engine are spared by where their operands lie in memory.
#pragma once

#include <string>
#include <vector>

#include "lathe/engine.h"

namespace lathe {

/// By step of `engine.steps()`: "copies nothing" (a Concat whose inputs are made in their places in its
/// output), "copies 1 of 3 parts", "writes over x"; empty: nothing. Told of the main graph, where the shapes
/// of all inputs are fixed. Thread-safe.
std::vector<std::string> step_memory(const Engine& engine);

}  // namespace lathe
