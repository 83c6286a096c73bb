// Attention and RotaryEmbedding in operators that are older than they.
#pragma once

#include "schema/schema.h"

namespace lathe::decomposition {

std::vector<ValueId> attention(DecomposeContext& c);
std::vector<ValueId> rotary_embedding(DecomposeContext& c);

}  // namespace lathe::decomposition
