// The indices and weights that the output of a Resize reads, for its kernels.
#pragma once

#include "ops/movement.h"
#include "ops/numeric_store.h"
#include "ops/resize/resize_taps.h"

namespace lathe {

/// The elements that one axis of the output reads: `taps` indices and weights for each position. A position
/// outside of the region of interest gets the extrapolation value instead.
struct AxisSamples {
  int64_t taps = 1;
  std::pmr::vector<int64_t> index;
  std::pmr::vector<double> weight;
  std::pmr::vector<uint8_t> outside;
  explicit AxisSamples(KernelContext& c) : index(c.scratch()), weight(c.scratch()), outside(c.scratch()) {}
};

inline AxisSamples sample_axis(const Resize& op, const AxisToResize& a, KernelContext& c) {
  const bool nearest = op.mode == "nearest";
  const double reach = filter_reach(op, a.scale);
  if (!(reach > -4.0 * static_cast<double>(a.in) - 8))
    c.fail(Code::run_bad_value, "a scale that leaves something of the input", std::to_string(a.scale));
  AxisSamples s(c);
  s.taps = static_cast<int64_t>(filter_taps(op, a.scale));
  s.index.reserve(static_cast<size_t>(a.out * s.taps));
  s.outside.reserve(static_cast<size_t>(a.out));
  if (!nearest) s.weight.reserve(static_cast<size_t>(a.out * s.taps));
  Poller poll(c);
  for (int64_t i = 0; i < a.out; ++i) {
    poll.did(s.taps);
    const bool inside = taps_at(op, a, i, [&](int64_t index, double w) {
      s.index.push_back(index);
      if (!nearest) s.weight.push_back(w);
    });
    s.outside.push_back(!inside);
  }
  return s;
}

/// The sizes and regions of a Resize in a run.
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
