// The architectures of src/nn/models: <name>.cc defines void register_<name>(ModelRegistry&).
#pragma once

#include "lathe/nn.h"

namespace lathe::nn {

/// Generated from the names of the sources.
void register_all_models(ModelRegistry& all);

}  // namespace lathe::nn
