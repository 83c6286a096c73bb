// Movements of images that keep to channel blocks: Resize of pixels, and Split between blocks. In blocks they
// are the same operators, with other numbers: [N, C / 16, H, W, 16] has pixels on the same axes.
#pragma once

#include "graph/graph.h"

namespace lathe {

/// Does a Resize leave images and channels alone, by numbers that are known, in a way that is fast?
bool resizes_pixels(const Graph& g, const Node& n);
/// Does a Split cut channels so that parts begin with blocks?
bool splits_blocks(const Graph& g, const Node& n);

/// What such a node is in blocks, but for the image and its parts: attributes, and the other inputs where
/// they were.
void describe_resize(Graph& g, const Node& old, Node& n);
void describe_split(Graph& g, const Node& old, Node& n);

}  // namespace lathe
