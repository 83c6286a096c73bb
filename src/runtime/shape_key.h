// The shapes that a memory plan is made for, as numbers that are compared quickly.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/program.h"

namespace lathe {

/// The shapes of inputs and captured values of a graph: for each of them, its rank and its sizes; -1 if it is
/// no tensor.
using ShapeKey = std::vector<int64_t>;
void append_to_key(ShapeKey& key, const Value& v);
void append_to_key(ShapeKey& key, const Shape& s);
/// Ends a key of the main graph whose lengths of states are rounded up (Growth).
inline constexpr int64_t rounded_lengths = -2;
/// Rounds the lengths of states up, if there are any.
void round_key(const Program& program, ShapeKey& key, Growth::Sizes& sizes);

}  // namespace lathe
