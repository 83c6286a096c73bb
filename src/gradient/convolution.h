// Functions shared by the derivatives of Conv and ConvTranspose, each of which is the other's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gradient/backward.h"

namespace lathe {

/// The attributes that both convolutions have, written out.
struct ConvWindows {
  std::vector<int64_t> strides, dilations, pads;
  int64_t group = 1;

  explicit ConvWindows(const Backward& b) : group(b.attributes().get<int64_t>("group", 1)) {
    // The ranks must be known: only then has inference checked the attributes.
    if (b.rank(b.x(0)) < 3 || b.rank(b.x(1)) != b.rank(b.x(0)))
      b.refuse("filters of the data's rank", "others");
    const size_t axes = b.rank(b.x(1)) - 2;
    const std::string automatic = b.attributes().get<std::string>("auto_pad", "NOTSET");
    if (automatic != "NOTSET" && automatic != "VALID") b.refuse("explicit pads", "auto_pad " + automatic);
    strides = b.attributes().get("strides", std::vector<int64_t>(axes, 1));
    dilations = b.attributes().get("dilations", std::vector<int64_t>(axes, 1));
    pads = automatic == "VALID" ? std::vector<int64_t>(2 * axes, 0)
                                : b.attributes().get("pads", std::vector<int64_t>(2 * axes, 0));
  }
  size_t axes() const { return strides.size(); }
  Attributes attributes() const {
    Attributes a = with("strides", strides);
    a.set("dilations", dilations);
    a.set("pads", pads);
    a.set("group", group);
    return a;
  }
};

/// Returns the gradient of W [few's channels, many's / group, kernel …], between many [N, C, in …] and few
/// [N, M, out …]. Each of its elements is the sum of products of the two over the batch and all positions:
/// a convolution whose filter is `few`, with batch and channels exchanged, strides and dilations too.
ValueId filter_gradient(Backward& b, const ConvWindows& w, ValueId many, ValueId few, ValueId filter);

/// Summed over the batch and `axes` spatial axes.
ValueId bias_gradient(Backward& b, size_t axes);

}  // namespace lathe
