// Shapes that an engine is built for.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "lathe/shape.h"

namespace lathe {

/// Bounds the shape of one input: `min`, `opt` and `max` have its rank, each size of a run lies between `min`
/// and `max`, and `opt` is the likeliest. TensorRT: OptProfileSelector.
struct ShapeRange {
  Shape min, opt, max;  // sizes, axis by axis
  friend bool operator==(const ShapeRange&, const ShapeRange&) = default;
};

/// Names the shapes that an engine is built for, input by input. Inputs that are left out keep the shapes
/// that the model declares, with their symbols' sizes from the other inputs. TensorRT: IOptimizationProfile.
struct ShapeProfile {
  std::string name;                                       // unique among an engine's profiles
  std::map<std::string, ShapeRange, std::less<>> inputs;  // ranges by the input's name
  /// Sets or replaces the range of an input and returns this profile. Nothing is checked before the build.
  /// TensorRT: IOptimizationProfile::setDimensions.
  ShapeProfile& set_shape(std::string_view input, Shape min, Shape opt, Shape max) {
    inputs.insert_or_assign(std::string(input), ShapeRange{std::move(min), std::move(opt), std::move(max)});
    return *this;
  }
  /// Returns the range of an input, or null where the profile leaves it out.
  const ShapeRange* get_shape(std::string_view input) const {
    const auto at = inputs.find(input);
    return at == inputs.end() ? nullptr : &at->second;
  }
  friend bool operator==(const ShapeProfile&, const ShapeProfile&) = default;
};

}  // namespace lathe
