// The elements that an axis of a Resize reads: the arithmetic alone, for kernels and for the decomposition.
#pragma once

#include <algorithm>
#include <vector>

#include "ops/resize/resize.h"

namespace lathe {

struct AxisToResize {
  int64_t in, out;
  float scale, length, roi_start = 0, roi_end = 1;
};

/// Returns whether the axis is unchanged; coordinates in single precision would mix up elements of long axes.
inline bool is_whole(const std::string& mode, const AxisToResize& a) {
  return a.in == a.out && a.scale == 1 && a.roi_start == 0 && a.roi_end == 1 &&
         mode != "tf_half_pixel_for_nn";
}

/// The coordinate in the input, in single precision: ties decide what is nearest, and the coordinates of
/// existing models were rounded so.
inline float source_coordinate(const std::string& mode, const AxisToResize& a, int64_t position) {
  const auto x = static_cast<float>(position), in = static_cast<float>(a.in), out = static_cast<float>(a.out);
  if (mode == "align_corners") return a.length == 1 ? 0 : x * (in - 1) / (a.length - 1);
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5f) / a.scale;
  if (mode == "pytorch_half_pixel") return a.out > 1 ? (x + 0.5f) / a.scale - 0.5f : 0;
  if (mode == "tf_crop_and_resize")
    return a.length > 1 ? a.roi_start * (in - 1) + x * (a.roi_end - a.roi_start) * (in - 1) / (a.length - 1)
                        : 0.5f * (a.roi_start + a.roi_end) * (in - 1);
  // Measured from the middles of both, so that integer positions stay integers.
  if (mode == "half_pixel_symmetric") return in / 2 + (x + 0.5f - out / 2) / a.scale - 0.5f;
  return (x + 0.5f) / a.scale - 0.5f;
}

inline int64_t nearest_index(const std::string& mode, double x) {
  if (mode == "floor") return static_cast<int64_t>(std::floor(x));
  if (mode == "ceil") return static_cast<int64_t>(std::ceil(x));
  if (mode == "round_prefer_ceil") return static_cast<int64_t>(std::floor(x + 0.5));
  return static_cast<int64_t>(std::ceil(x - 0.5));
}

inline double cubic_weight(double x, double a) {
  x = std::abs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// The factor of distances in an axis's filter: less than 1 when antialias shrinks, so that every input
/// counts.
inline double filter_stretch(const Resize& op, float scale) {
  return op.antialias && op.mode != "nearest" ? std::min<double>(scale, 1) : 1;
}
/// The distance from the element at or before a coordinate to the first one that its filter reaches; it
/// reaches as many behind the next.
inline double filter_reach(const Resize& op, float scale) {
  return std::floor((op.mode == "cubic" ? -2 : -1) / filter_stretch(op, scale)) + 1;
}
inline double filter_taps(const Resize& op, float scale) {
  return op.mode == "nearest" ? 1 : 2 - 2 * filter_reach(op, scale);
}

/// Passes the elements and weights of an output position to `add`. False if the position is outside of the
/// region of interest, and has the extrapolation value instead.
template <class Add>
bool taps_at(const Resize& op, const AxisToResize& a, int64_t position, Add&& add) {
  const std::string& mode = op.coordinate_transformation_mode;
  double x = is_whole(mode, a) ? static_cast<double>(position) : source_coordinate(mode, a, position);
  const bool inside = mode != "tf_crop_and_resize" || (x >= 0 && x <= static_cast<double>(a.in - 1));
  const auto taps = static_cast<int64_t>(filter_taps(op, a.scale));
  // Far outside only the edge counts, however far.
  const auto far = static_cast<double>(a.in + 2 * taps + 2);
  x = x == x ? std::clamp(x, -far, far) : 0;
  if (op.mode == "nearest") {
    add(std::clamp<int64_t>(nearest_index(op.nearest_mode, x), 0, a.in - 1), 1.0);
    return inside;
  }
  const double stretch = filter_stretch(op, a.scale), base = std::floor(x), ratio = x - base;
  const auto first = static_cast<int64_t>(filter_reach(op, a.scale));
  const auto weight = [&](int64_t k) {
    const int64_t at = static_cast<int64_t>(base) + first + k;
    if (op.exclude_outside && (at < 0 || at >= a.in)) return 0.0;
    const double distance = (static_cast<double>(first + k) - ratio) * stretch;
    return op.mode == "cubic" ? cubic_weight(distance, op.cubic_coeff_a)
                              : std::max(0.0, 1 - std::abs(distance));
  };
  double sum = 0;
  if (op.exclude_outside || stretch < 1)
    for (int64_t k = 0; k < taps; ++k) sum += weight(k);
  if (sum == 0) sum = 1;
  for (int64_t k = 0; k < taps; ++k)
    add(std::clamp<int64_t>(static_cast<int64_t>(base) + first + k, 0, a.in - 1), weight(k) / sum);
  return inside;
}

}  // namespace lathe
