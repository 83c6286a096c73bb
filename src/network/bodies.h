// Bodies of control flow while they are built.
#pragma once

#include <memory>

#include "network/maker.h"

namespace lathe {

/// Returns an empty body of the layer that is being made, as a network.
Network begin_body(LayerMaker& m, const std::string& name);
/// Sets the body's outputs, and returns it for use in a node.
Body end_body(const Network& body, const std::string& name, const std::vector<TensorRef>& outputs);
/// Begins a body, fills it with `fill`, and ends it.
Body build_body(LayerMaker& m, const std::string& name, const BodyBuilder& fill);

}  // namespace lathe
