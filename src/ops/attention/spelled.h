// Attention and RotaryEmbedding in operators that are older than they.
#pragma once

#include "schema/schema.h"

namespace lathe::spelling {

std::vector<ValueId> attention(SpellContext& c);
std::vector<ValueId> rotary_embedding(SpellContext& c);

}  // namespace lathe::spelling
