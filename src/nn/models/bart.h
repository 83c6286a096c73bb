// Code that BART and mBART share.
#pragma once

#include <string>

#include "lathe/nn.h"

namespace lathe::nn {

/// BART with its heads. `norm_first`: norms before attention and MLP, and one behind all layers.
void add_bart_family(ModelRegistry& all, const std::string& type, bool norm_first);

}  // namespace lathe::nn
