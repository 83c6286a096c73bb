// Runs of engines some of whose inputs are states, as if they were given and returned like the others.
#pragma once

#include <span>
#include <vector>

#include "lathe/engine.h"

namespace lathe {

/// Runs with inputs and outputs by position. States are made of the inputs' values, and their values after
/// the run are outputs. Throws what State::create() and Context::run() throw.
std::vector<Value> run_statefully(const Engine& engine, Context& context, std::span<const Value> inputs,
                                  RunControl* control);

}  // namespace lathe
