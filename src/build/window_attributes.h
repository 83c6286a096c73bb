// Windows of convolutions and pools, as numbers: what the layouts of images have in common.
#pragma once

#include <string>
#include <vector>

#include "graph/graph.h"

namespace lathe {

/// Are the pads told, or none? Those of auto_pad SAME depend on the size of the image.
inline bool explicit_pads(const Node& n) {
  const auto pad = n.attributes.get<std::string>("auto_pad", "NOTSET");
  return pad.empty() || pad == "NOTSET" || pad == "VALID";
}

/// Pads, strides and dilations as numbers, for so many spatial axes.
inline void make_explicit(Node& n, size_t axes) {
  using Ints = std::vector<int64_t>;
  if (n.attributes.get<std::string>("auto_pad", "") == "VALID") {
    n.attributes.set("pads", Ints(2 * axes, 0));
    n.attributes.erase("ceil_mode");  // of no meaning there, but of one with pads
  }
  n.attributes.erase("auto_pad");
  if (!n.attributes.has("pads")) n.attributes.set("pads", Ints(2 * axes, 0));
  for (const char* name : {"strides", "dilations"})
    if (!n.attributes.has(name)) n.attributes.set(name, Ints(axes, 1));
}

}  // namespace lathe
