// Small graphs: nodes like those of the operators' cases with something about them changed, and nodes drawn
// from signatures. What inference refuses is mostly drawn again; most graphs run.
#pragma once

#include <cstdint>
#include <span>

#include "lathe/engine.h"
#include "lathe/onnx.h"

namespace lathe::testing {

struct DrawnGraph {
  onnx::Model model;
  NamedValues inputs;
};

/// The graph that these bytes choose; fewer bytes, smaller graphs.
DrawnGraph draw_graph(std::span<const uint8_t> choices);

}  // namespace lathe::testing
