// Where the output of a Resize reads from, in numbers, for its kernels.
#pragma once

#include "ops/movement.h"
#include "ops/numeric_store.h"
#include "ops/resize/resize.h"

namespace lathe {

/// Where one axis of the output reads from: `taps` indices and weights for each position. A position outside
/// the region of interest has taps of its own value instead.
struct AxisSamples {
  int64_t taps = 1;
  std::pmr::vector<int64_t> index;
  std::pmr::vector<double> weight;
  std::pmr::vector<uint8_t> outside;
  explicit AxisSamples(KernelContext& c) : index(c.scratch()), weight(c.scratch()), outside(c.scratch()) {}
};

struct AxisToResize {
  int64_t in, out;
  float scale, length, roi_start = 0, roi_end = 1;
};

/// Does it stay as it is? Coordinates in single precision do not tell long axes' elements apart.
inline bool is_whole(const std::string& mode, const AxisToResize& a) {
  return a.in == a.out && a.scale == 1 && a.roi_start == 0 && a.roi_end == 1 &&
         mode != "tf_half_pixel_for_nn";
}

/// The coordinate in the input, in single precision: ties decide what is nearest, and this is how the
/// coordinates of the models at hand were rounded.
inline float source_coordinate(const std::string& mode, const AxisToResize& a, int64_t position) {
  const auto x = static_cast<float>(position), in = static_cast<float>(a.in), out = static_cast<float>(a.out);
  if (mode == "align_corners") return a.length == 1 ? 0 : x * (in - 1) / (a.length - 1);
  if (mode == "asymmetric") return x / a.scale;
  if (mode == "tf_half_pixel_for_nn") return (x + 0.5f) / a.scale;
  if (mode == "pytorch_half_pixel") return a.out > 1 ? (x + 0.5f) / a.scale - 0.5f : 0;
  if (mode == "tf_crop_and_resize")
    return a.length > 1 ? a.roi_start * (in - 1) + x * (a.roi_end - a.roi_start) * (in - 1) / (a.length - 1)
                        : 0.5f * (a.roi_start + a.roi_end) * (in - 1);
  // From the middles of both: places that are whole numbers come out as such.
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

/// By how much an axis's filter is stretched: shrinking with antialias, so that every input counts.
inline double filter_stretch(const Resize& op, float scale) {
  return op.antialias && op.mode != "nearest" ? std::min<double>(scale, 1) : 1;
}
/// From the element at or before a coordinate to the first one that its filter reaches, which reaches as many
/// behind the next.
inline double filter_reach(const Resize& op, float scale) {
  return std::floor((op.mode == "cubic" ? -2 : -1) / filter_stretch(op, scale)) + 1;
}
inline double filter_taps(const Resize& op, float scale) {
  return op.mode == "nearest" ? 1 : 2 - 2 * filter_reach(op, scale);
}

inline AxisSamples sample_axis(const Resize& op, const AxisToResize& a, KernelContext& c) {
  const bool nearest = op.mode == "nearest", cubic = op.mode == "cubic";
  const double stretch = filter_stretch(op, a.scale), reach = filter_reach(op, a.scale);
  if (!(reach > -4.0 * static_cast<double>(a.in) - 8))
    c.fail(Code::run_bad_value, "a scale that leaves something of the input", std::to_string(a.scale));
  const auto first = static_cast<int64_t>(reach);
  AxisSamples s(c);
  s.taps = static_cast<int64_t>(filter_taps(op, a.scale));
  s.index.reserve(static_cast<size_t>(a.out * s.taps));
  s.outside.reserve(static_cast<size_t>(a.out));
  if (!nearest) s.weight.reserve(static_cast<size_t>(a.out * s.taps));
  const bool whole = is_whole(op.coordinate_transformation_mode, a);
  Poller poll(c);
  for (int64_t i = 0; i < a.out; ++i) {
    poll.did(s.taps);
    double x = whole ? static_cast<double>(i) : source_coordinate(op.coordinate_transformation_mode, a, i);
    s.outside.push_back(op.coordinate_transformation_mode == "tf_crop_and_resize" &&
                        !(x >= 0 && x <= static_cast<double>(a.in - 1)));
    // Far outside only the edge counts, however far.
    const auto far = static_cast<double>(a.in + 2 * s.taps + 2);
    x = x == x ? std::clamp(x, -far, far) : 0;
    if (nearest) {
      s.index.push_back(std::clamp<int64_t>(nearest_index(op.nearest_mode, x), 0, a.in - 1));
      continue;
    }
    const double base = std::floor(x), ratio = x - base;
    double sum = 0;
    const size_t begin = s.weight.size();
    for (int64_t k = 0; k < s.taps; ++k) {
      const int64_t at = static_cast<int64_t>(base) + first + k;
      const double distance = (static_cast<double>(first + k) - ratio) * stretch;
      double w = cubic ? cubic_weight(distance, op.cubic_coeff_a) : std::max(0.0, 1 - std::abs(distance));
      if (op.exclude_outside && (at < 0 || at >= a.in)) w = 0;
      sum += w;
      s.weight.push_back(w);
      s.index.push_back(std::clamp<int64_t>(at, 0, a.in - 1));
    }
    if ((op.exclude_outside || stretch < 1) && sum != 0)
      for (size_t k = begin; k < s.weight.size(); ++k) s.weight[k] /= sum;
  }
  return s;
}

/// What a Resize comes to in a run.
struct ResizeJob {
  InlineVector<AxisToResize, 6> axes;  // by axis of the input
  ResizeJob(const Resize& op, KernelContext& c);
  Shape shape() const {
    Shape s;
    for (const AxisToResize& a : axes) s.push_back(a.out);
    return s;
  }
};

inline ResizeJob::ResizeJob(const Resize& op, KernelContext& c) {
  const Tensor& in = c.in(0);
  const bool by_sizes = c.has(3) && c.in(3).size() > 0;
  if (!by_sizes && !c.has(2)) c.fail(Code::run_missing_input, "either scales or sizes", "neither");
  const ResizeGrid grid =
      by_sizes ? op.grid(in.shape(), nullptr, c.in(3).as<int64_t>()) : op.grid(in.shape(), &c.in(2), {});
  for (size_t a = 0; a < in.rank(); ++a)
    axes.push_back({in.dim(a), grid.size[a], grid.scale[a], grid.length[a]});
  if (op.coordinate_transformation_mode != "tf_crop_and_resize") return;
  const Shape which = op.resized_axes(static_cast<int64_t>(in.rank()));
  if (!c.has(1) || c.in(1).size() != 2 * static_cast<int64_t>(which.size()))
    c.fail(Code::run_bad_shape, "a roi of a start and an end for every axis",
           c.has(1) ? describe(c.in(1)) : "none");
  for (size_t i = 0; i < which.size(); ++i) {
    AxisToResize& axis = axes[static_cast<size_t>(which[i])];
    axis.roi_start = static_cast<float>(load_double(c.in(1), static_cast<int64_t>(i)));
    axis.roi_end = static_cast<float>(load_double(c.in(1), static_cast<int64_t>(which.size() + i)));
  }
}

}  // namespace lathe
