// Boxes and how much they overlap.
#pragma once

#include <algorithm>

namespace lathe {

struct Box {
  float x_min, y_min, x_max, y_max;

  Box(const float* b, bool center) {
    if (center) {
      x_min = b[0] - b[2] / 2;
      x_max = b[0] + b[2] / 2;
      y_min = b[1] - b[3] / 2;
      y_max = b[1] + b[3] / 2;
    } else {
      x_min = std::min(b[1], b[3]);
      x_max = std::max(b[1], b[3]);
      y_min = std::min(b[0], b[2]);
      y_max = std::max(b[0], b[2]);
    }
  }
  float area() const { return (x_max - x_min) * (y_max - y_min); }
};

/// Intersection over union; 0 if boxes do not meet or have no area.
inline float overlap(const Box& a, const Box& b) {
  const float width = std::min(a.x_max, b.x_max) - std::max(a.x_min, b.x_min);
  const float height = std::min(a.y_max, b.y_max) - std::max(a.y_min, b.y_min);
  if (!(width > 0 && height > 0)) return 0;
  const float common = width * height, all = a.area() + b.area() - common;
  return a.area() > 0 && b.area() > 0 && all > 0 ? common / all : 0;
}

}  // namespace lathe
