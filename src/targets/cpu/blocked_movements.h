// Movements of images that keep to channel blocks: Resize of pixels, and Split between blocks. In blocks they
// are the same operators, with other numbers: [N, C / 16, H, W, 16] has pixels on the same axes.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// Returns whether a Resize changes neither batch nor channels, by constant numbers, in a way that is fast.
bool resizes_pixels(const Graph& g, const Node& n);
/// Returns whether a Split cuts channels so that every part begins with a block.
bool splits_blocks(const Graph& g, const Node& n);

/// Describes such a node in blocks, except for the image and its parts: attributes, and the other inputs at
/// their positions.
void describe_resize(Graph& g, const Node& old, Node& n);
void describe_split(Graph& g, const Node& old, Node& n);

}  // namespace lathe
