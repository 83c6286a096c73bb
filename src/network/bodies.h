// Bodies of control flow while they are built.
#pragma once

#include <memory>

#include "network/maker.h"

namespace lathe {

/// An empty body of the layer that is being made, as a network.
Network begin_body(LayerMaker& m, const std::string& name);
/// The body's outputs are these; ready to be a node's.
Body end_body(const Network& body, const std::string& name, const std::vector<TensorRef>& outputs);
/// From beginning to end.
Body build_body(LayerMaker& m, const std::string& name, const BodyBuilder& fill);

}  // namespace lathe
