// The pixels that GridSample reads for a sample, for its kernels.
#pragma once

#include <array>
#include <cmath>

#include "kernel/kernel.h"
#include "ops/grid_sample/grid_sample.h"
#include "tensor/element.h"

namespace lathe {

/// The attributes, decoded once because every sample reads them.
struct GridRule {
  enum Mode : uint8_t { nearest, linear, cubic } mode;
  enum Padding : uint8_t { zeros, border, reflection } padding;
  bool align_corners;
  explicit GridRule(const GridSample& op)
      : mode(op.mode == "nearest"  ? nearest
             : op.mode == "linear" ? linear
                                   : cubic),
        padding(op.padding_mode == "zeros"    ? zeros
                : op.padding_mode == "border" ? border
                                              : reflection),
        align_corners(op.align_corners) {}
};

inline void check_grid(const KernelContext& c) {
  const Tensor &image = c.in(0), &grid = c.in(1);
  if (grid.rank() != image.rank() || grid.dim(0) != image.dim(0) ||
      grid.shape().back() != static_cast<int64_t>(image.rank()) - 2)
    c.fail(Code::run_bad_shape, "a grid that fits the image " + describe(image), describe(grid));
}

/// The taps of one axis for one sample: up to four indices (-1: outside, counts as 0) with weights.
struct GridTaps {
  int count = 1;
  std::array<int64_t, 4> index{};
  std::array<double, 4> weight{1, 0, 0, 0};
};

/// Mirrors x at both borders until it is between them.
template <class F>
F reflected(F x, F low, F high) {
  const F range = high - low;
  if (!(range > 0)) return low;
  const F beyond = x < low ? low - x : x > high ? x - high : 0;
  if (beyond == 0) return x;
  const F times = std::floor(beyond / range), rest = beyond - times * range;
  const bool same_side = std::fmod(times, F(2)) == 0;
  return (x < low) == same_side ? low + rest : high - rest;
}

/// The taps of one axis of `size` elements for a coordinate from -1 to 1. F is the precision of coordinates:
/// it decides ties.
template <class F>
GridTaps grid_taps(const GridRule& rule, int64_t size, F coordinate) {
  const F n = static_cast<F>(size);
  const F low = rule.align_corners ? F(0) : F(-0.5), high = rule.align_corners ? n - 1 : n - F(0.5);
  F x = rule.align_corners ? (coordinate + 1) / 2 * (n - 1) : ((coordinate + 1) * n - 1) / 2;
  // All positions this far outside are alike; NaN is one of them.
  x = x == x ? std::clamp(x, F(-1e9), F(1e9)) : F(-1e9);
  if (rule.mode == GridRule::nearest) x = std::nearbyint(x);
  if (x < low || x > high) {
    // In cubic mode each neighbor is clamped to the border by itself, as in PyTorch, where the operator comes
    // from, and in ONNX Runtime: the standard only says that border values are used outside.
    if (rule.padding == GridRule::border && rule.mode != GridRule::cubic) x = std::clamp(x, F(0), n - 1);
    if (rule.padding == GridRule::reflection) x = reflected(x, low, high);
  }
  const auto pixel = [&](int64_t i) -> int64_t {
    if (i >= 0 && i < size) return i;
    if (rule.padding == GridRule::zeros) return -1;
    if (rule.padding == GridRule::reflection)
      i = static_cast<int64_t>(
          reflected(static_cast<double>(i), static_cast<double>(low), static_cast<double>(high)));
    return std::clamp<int64_t>(i, 0, size - 1);
  };
  GridTaps t;
  const auto base = static_cast<int64_t>(std::floor(x));
  const double r = static_cast<double>(x) - static_cast<double>(base);
  if (rule.mode == GridRule::nearest) {
    t.index[0] = pixel(static_cast<int64_t>(x));
  } else if (rule.mode == GridRule::linear) {
    t.count = 2;
    t.index = {pixel(base), pixel(base + 1)};
    t.weight = {1 - r, r};
  } else {
    constexpr double a = -0.75;
    const auto near = [](double d) { return ((a + 2) * d - (a + 3)) * d * d + 1; };
    const auto far = [](double d) { return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a; };
    t.count = 4;
    t.index = {pixel(base - 1), pixel(base), pixel(base + 1), pixel(base + 2)};
    t.weight = {far(r + 1), near(r), near(1 - r), far(2 - r)};
  }
  return t;
}

/// Always three axes: missing outer ones have one element.
struct GridGeometry {
  std::array<int64_t, 3> size{1, 1, 1};
  int64_t batch, channels, samples, axes;
  GridGeometry(const Tensor& image, const Tensor& grid)
      : batch(image.dim(0)),
        channels(image.dim(1)),
        samples(1),
        axes(static_cast<int64_t>(image.rank()) - 2) {
    for (int64_t a = 0; a < axes; ++a)
      size[static_cast<size_t>(3 - axes + a)] = image.dim(static_cast<size_t>(2 + a));
    for (size_t a = 1; a + 1 < grid.rank(); ++a) samples *= grid.dim(a);
  }
  int64_t area() const { return size[0] * size[1] * size[2]; }
};

template <class F>
std::array<GridTaps, 3> sample_taps(const GridRule& rule, const GridGeometry& g, const Tensor& grid,
                                    int64_t sample) {
  std::array<GridTaps, 3> taps;
  for (int64_t a = 0; a < g.axes; ++a) {
    // Coordinates come innermost axis first.
    const auto axis = static_cast<size_t>(2 - a);
    const int64_t i = sample * g.axes + a;
    const F coordinate = grid.type() == DataType::float32
                             ? static_cast<F>(static_cast<const float*>(grid.data())[i])
                             : static_cast<F>(load_double(grid, i));
    taps[axis] = grid_taps<F>(rule, g.size[axis], coordinate);
  }
  return taps;
}

}  // namespace lathe
